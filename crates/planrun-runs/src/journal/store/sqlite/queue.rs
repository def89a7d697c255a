//! What drivers hand over and the writer takes: all that came while the last commit ran goes into the next one.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

// The tests below try threads in every order, which only a model of them can. No other unit test may make a queue.
#[cfg(test)]
use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(test))]
use std::sync::{Condvar, Mutex, MutexGuard};

use super::super::digest::Digest;
use super::super::failure::JournalError;
use super::granted_lease::GrantedLease;

/// Beyond so many bytes that wait, whoever hands over waits, too. Little where it is tried, so that it comes to that.
const MAX_WAITING: usize = if cfg!(test) { 8 } else { 64 << 20 };

/// A buffer that a burst has made larger than this is not kept for later.
const MAX_SPARE: usize = 1 << 20;

/// How far the events of a run are on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// The number of the last event on disk.
    pub through: u64,
    /// Why nothing more will be.
    pub failure: Option<JournalError>,
}

/// Where a run stands, for lists of runs. Moments are nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub state: String,
    /// Nothing more happens to it, so that it may be deleted some day.
    pub ended: bool,
    /// The class of its error.
    pub error: Option<String>,
    /// A short text for people, such as what it waits for.
    pub note: Option<String>,
    /// When it wants to go on by itself.
    pub wake_at: Option<i128>,
    pub updated_at: i128,
    pub steps_done: u64,
    pub steps_all: Option<u64>,
}

/// What one driver hands over at once.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Lines, each ended by a line feed.
    pub text: String,
    /// How many.
    pub lines: u64,
    pub summary: Option<Summary>,
    pub blobs: Vec<(Digest, Vec<u8>)>,
    /// Messages that the lines journal.
    pub taken: Vec<i64>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.lines == 0 && self.summary.is_none() && self.blobs.is_empty() && self.taken.is_empty()
    }

    fn bytes(&self) -> usize {
        self.text.len()
            + self
                .blobs
                .iter()
                .map(|(_, bytes)| bytes.len())
                .sum::<usize>()
    }

    /// Puts a later one behind this, and leaves that empty.
    fn extend(&mut self, later: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, later);
            return;
        }
        self.text.push_str(&later.text);
        self.lines += later.lines;
        self.summary = later.summary.take().or_else(|| self.summary.take());
        self.blobs.append(&mut later.blobs);
        self.taken.append(&mut later.taken);
        later.clear();
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.lines = 0;
        self.summary = None;
        self.blobs.clear();
        self.taken.clear();
    }
}

/// One driven run as the writer sees it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub id: i64,
    pub run: String,
    pub epoch: i64,
    /// The last event on disk, and the chain after it.
    pub last: u64,
    pub head: Digest,
}

impl From<GrantedLease> for Target {
    fn from(lease: GrantedLease) -> Self {
        Self {
            id: lease.id,
            run: lease.run,
            epoch: lease.epoch,
            last: lease.last,
            head: lease.head,
        }
    }
}

/// What the writer has to write of one run.
#[derive(Debug)]
pub(super) struct Work {
    pub key: u64,
    pub target: Target,
    pub batch: Batch,
    /// The lease goes back with it.
    pub close: bool,
    /// The run can no longer be written; its lease can still go back.
    pub failed: bool,
}

#[derive(Debug)]
struct Entry {
    target: Target,
    pending: Batch,
    /// An empty one whose memory is used again.
    spare: Batch,
    closing: bool,
    durable: watch::Sender<Durable>,
    heard: watch::Sender<u64>,
}

impl Entry {
    fn failed(&self) -> bool {
        self.durable.borrow().failure.is_some()
    }

    fn fail(&mut self, error: JournalError) {
        self.durable.send_if_modified(|durable| {
            let first = durable.failure.is_none();
            if first {
                durable.failure = Some(error);
            }
            first
        });
    }
}

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<u64, Entry>,
    next: u64,
    /// Of what waits or is just being written.
    bytes: usize,
    stop: bool,
    /// The writer is gone, and why.
    ended: Option<JournalError>,
}

/// Between drivers and the writer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// There is work.
    work: Condvar,
    /// There is room again, or a run was given back.
    done: Condvar,
}

/// A driver's end of the queue.
pub(super) struct Enrolled {
    pub key: u64,
    pub durable: watch::Receiver<Durable>,
    pub heard: watch::Receiver<u64>,
}

impl Queue {
    pub(super) fn enrol(&self, target: Target) -> Enrolled {
        let (durable, told) = watch::channel(Durable {
            through: target.last,
            failure: None,
        });
        let (heard, ear) = watch::channel(0);
        let mut state = self.state();
        let key = state.next;
        state.next += 1;
        let (pending, spare) = (Batch::default(), Batch::default());
        let mut entry = Entry {
            target,
            pending,
            spare,
            closing: false,
            durable,
            heard,
        };
        if let Some(error) = &state.ended {
            entry.fail(error.clone());
        } else {
            state.entries.insert(key, entry);
        }
        Enrolled {
            key,
            durable: told,
            heard: ear,
        }
    }

    /// Takes what a driver hands over and leaves it an empty batch; waits where too much waits already. Somebody has to
    /// see to it that it is written.
    pub(super) fn hand_over(&self, key: u64, batch: &mut Batch) {
        let full = |state: &mut State| state.bytes > MAX_WAITING && !state.stop;
        let mut state = self
            .done
            .wait_while(self.state(), full)
            .unwrap_or_else(PoisonError::into_inner);
        let State { entries, bytes, .. } = &mut *state;
        let Some(entry) = entries.get_mut(&key).filter(|entry| !entry.failed()) else {
            batch.clear();
            return;
        };
        *bytes += batch.bytes();
        entry.pending.extend(batch);
    }

    /// Wakes the thread that writes.
    pub(super) fn wake(&self) {
        self.work.notify_one();
    }

    /// Has the lease given back when everything that was handed over is written.
    pub(super) fn close(&self, key: u64) {
        if let Some(entry) = self.state().entries.get_mut(&key) {
            entry.closing = true;
        }
        self.work.notify_one();
    }

    /// Waits until the lease was given back.
    pub(super) fn wait_closed(&self, key: u64) {
        let there = |state: &mut State| state.entries.contains_key(&key);
        drop(
            self.done
                .wait_while(self.state(), there)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Waits until nothing of this run that was dropped is still being written.
    pub(super) fn wait_given_back(&self, run: &str) {
        let going = |state: &mut State| {
            state
                .entries
                .values()
                .any(|entry| entry.closing && entry.target.run == run)
        };
        drop(
            self.done
                .wait_while(self.state(), going)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Asks the writer to end when everything is written.
    pub(super) fn stop(&self) {
        self.state().stop = true;
        self.work.notify_one();
    }

    /// Waits so long at most until there is something to write; true where nothing more will come.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let idle = |state: &mut State| {
            !state.stop
                && !state
                    .entries
                    .values()
                    .any(|entry| entry.closing || !entry.pending.is_empty())
        };
        let waited = self.work.wait_timeout_while(self.state(), at_most, idle);
        waited.unwrap_or_else(PoisonError::into_inner).0.stop
    }

    /// All there is to write. Whoever takes it writes it before anybody takes more.
    pub(super) fn take(&self) -> Vec<Work> {
        let mut state = self.state();
        let mut works = Vec::new();
        for (key, entry) in &mut state.entries {
            if !entry.closing && entry.pending.is_empty() {
                continue;
            }
            let batch = std::mem::replace(&mut entry.pending, std::mem::take(&mut entry.spare));
            let (target, failed) = (entry.target.clone(), entry.failed());
            works.push(Work {
                key: *key,
                target,
                batch,
                close: entry.closing,
                failed,
            });
        }
        works
    }

    /// Takes back what could not be written just now, before anything that came since.
    pub(super) fn put_back(&self, works: Vec<Work>) {
        let mut state = self.state();
        for mut work in works {
            if let Some(entry) = state.entries.get_mut(&work.key) {
                work.batch.extend(&mut entry.pending);
                entry.pending = work.batch;
            }
        }
    }

    /// Tells a driver how its work went, which is where the run stands now or why it can no longer be written.
    pub(super) fn settle(&self, mut work: Work, outcome: Result<Target, JournalError>) {
        let mut state = self.state();
        let State { entries, bytes, .. } = &mut *state;
        *bytes = bytes.saturating_sub(work.batch.bytes());
        if let Some(entry) = entries.get_mut(&work.key) {
            match outcome {
                Ok(target) => {
                    let through = target.last;
                    entry.target = target;
                    entry
                        .durable
                        .send_modify(|durable| durable.through = through);
                }
                Err(error) => entry.fail(error),
            }
            if work.batch.text.capacity() <= MAX_SPARE {
                work.batch.clear();
                entry.spare = work.batch;
            }
        }
        if work.close {
            entries.remove(&work.key);
        }
        drop(state);
        self.done.notify_all();
    }

    /// The runs that can be written.
    pub(super) fn targets(&self) -> Vec<(u64, Target)> {
        let state = self.state();
        let open = state.entries.iter().filter(|(_, entry)| !entry.failed());
        open.map(|(key, entry)| (*key, entry.target.clone()))
            .collect()
    }

    /// Nothing of this run can be written any more.
    pub(super) fn fail(&self, key: u64, error: JournalError) {
        if let Some(entry) = self.state().entries.get_mut(&key) {
            entry.fail(error);
        }
    }

    /// Tells a driver the number of the newest message to its run.
    pub(super) fn heard(&self, key: u64, newest: u64) {
        if let Some(entry) = self.state().entries.get_mut(&key) {
            entry.heard.send_if_modified(|heard| {
                let new = *heard < newest;
                *heard = (*heard).max(newest);
                new
            });
        }
    }

    /// The writer is gone: nobody waits for it.
    fn end(&self, error: &JournalError) {
        let mut state = self.state();
        (state.stop, state.ended) = (true, Some(error.clone()));
        for entry in state.entries.values_mut() {
            entry.fail(error.clone());
        }
        state.entries.clear();
        drop(state);
        self.done.notify_all();
    }

    // Nothing panics while it holds the lock, so what is behind a poisoned one is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the queue when the writer ends, however it does.
pub(super) struct Ending(pub Arc<Queue>, pub JournalError);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use shuttle::sync::atomic::{AtomicBool, Ordering};
    use shuttle::thread;

    use super::*;

    /// How often each model runs with other choices.
    const ROUNDS: usize = 2000;

    /// Runs a model with its threads in many orders: some by chance alone, others with few changes from one to another.
    fn in_any_order(model: impl Fn() + Send + Sync + Copy + 'static) {
        shuttle::check_random(model, ROUNDS);
        shuttle::check_pct(model, ROUNDS, 3);
    }

    fn target(run: &str) -> Target {
        Target {
            id: 1,
            run: run.into(),
            epoch: 1,
            last: 0,
            head: Digest::of(b""),
        }
    }

    fn batch(text: &str) -> Batch {
        Batch {
            text: text.into(),
            lines: text.lines().count() as u64,
            ..Batch::default()
        }
    }

    /// The writer: takes and settles until it is told to stop, or until it has written so many batches and breaks off.
    /// What `refused` says of a run is not written. Gives all that was written, by run.
    fn write(queue: &Arc<Queue>, most: usize, refused: &str) -> BTreeMap<String, String> {
        let _ending = Ending(Arc::clone(queue), gone());
        let mut written: BTreeMap<String, String> = BTreeMap::new();
        for _ in 0..most {
            let stop = queue.wait(Duration::ZERO);
            let works = queue.take();
            if works.is_empty() && stop {
                break;
            }
            for work in works {
                let mut target = work.target.clone();
                if target.run == refused {
                    queue.settle(
                        work,
                        Err(JournalError::Fenced {
                            run: refused.into(),
                        }),
                    );
                    continue;
                }
                target.last += work.batch.lines;
                written
                    .entry(target.run.clone())
                    .or_default()
                    .push_str(&work.batch.text);
                queue.settle(work, Ok(target));
            }
        }
        written
    }

    fn gone() -> JournalError {
        JournalError::Misused("gone".into())
    }

    /// A driver: hands over lines one by one, gives its run back and waits for that.
    fn drive(queue: &Queue, run: &str) -> Durable {
        let enrolled = queue.enrol(target(run));
        for line in ["1234\n", "5678\n", "90\n"] {
            let mut handed = batch(line);
            queue.hand_over(enrolled.key, &mut handed);
            queue.wake();
            assert!(handed.is_empty());
        }
        queue.close(enrolled.key);
        queue.wait_closed(enrolled.key);
        enrolled.durable.borrow().clone()
    }

    #[test]
    fn what_waits_is_taken_at_once_and_in_order() {
        let alone = || {
            let queue = Queue::default();
            let (first, second) = (queue.enrol(target("a")), queue.enrol(target("b")));
            for (key, text) in [
                (first.key, "a\n"),
                (second.key, "x\n"),
                (first.key, "b\nc\n"),
            ] {
                queue.hand_over(key, &mut batch(text));
            }
            assert!(!queue.wait(Duration::ZERO), "there is something");
            let works = queue.take();
            let texts: Vec<_> = works
                .iter()
                .map(|work| (work.batch.text.as_str(), work.batch.lines))
                .collect();
            assert_eq!(texts, [("a\nb\nc\n", 3), ("x\n", 1)]);
            queue.stop();
            assert!(queue.wait(Duration::ZERO) && queue.take().is_empty());
        };
        shuttle::check_random(alone, 1);
    }

    #[test]
    fn what_is_put_back_comes_before_what_came_since() {
        let alone = || {
            let queue = Queue::default();
            let key = queue.enrol(target("a")).key;
            queue.hand_over(key, &mut batch("a\n"));
            let works = queue.take();
            queue.hand_over(key, &mut batch("b\n"));
            queue.put_back(works);
            let works = queue.take();
            assert_eq!(
                (works[0].batch.text.as_str(), works[0].batch.lines),
                ("a\nb\n", 2)
            );
        };
        shuttle::check_random(alone, 1);
    }

    #[test]
    fn what_drivers_hand_over_is_written_once_and_in_order() {
        in_any_order(|| {
            let queue = Arc::new(Queue::default());
            let drivers = ["a", "b"].map(|run| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || drive(&queue, run))
            });
            let behind = Arc::clone(&queue);
            let writer = thread::spawn(move || write(&behind, usize::MAX, ""));
            for driver in drivers {
                assert_eq!(
                    driver.join().unwrap(),
                    Durable {
                        through: 3,
                        failure: None
                    }
                );
            }
            queue.stop();
            let written = writer.join().unwrap();
            let whole = || "1234\n5678\n90\n".to_owned();
            assert_eq!(
                written,
                BTreeMap::from([("a".to_owned(), whole()), ("b".to_owned(), whole())])
            );
            assert_eq!(queue.state().bytes, 0, "there is room again for all");
        });
    }

    #[test]
    fn a_run_that_was_lost_holds_up_nobody() {
        in_any_order(|| {
            let queue = Arc::new(Queue::default());
            let [lost, kept] = ["lost", "kept"].map(|run| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || drive(&queue, run))
            });
            let behind = Arc::clone(&queue);
            let writer = thread::spawn(move || write(&behind, usize::MAX, "lost"));
            assert_eq!(
                lost.join().unwrap().failure,
                Some(JournalError::Fenced { run: "lost".into() })
            );
            assert_eq!(
                kept.join().unwrap(),
                Durable {
                    through: 3,
                    failure: None
                }
            );
            queue.stop();
            assert_eq!(writer.join().unwrap().len(), 1);
            assert_eq!(queue.state().bytes, 0);
        });
    }

    #[test]
    fn nobody_waits_for_a_writer_that_is_gone() {
        in_any_order(|| {
            let queue = Arc::new(Queue::default());
            let drivers = ["a", "b"].map(|run| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || drive(&queue, run))
            });
            let written = write(&queue, 2, "");
            for (driver, run) in drivers.into_iter().zip(["a", "b"]) {
                let durable = driver.join().unwrap();
                let lines = written
                    .get(run)
                    .map_or(0, |text| text.lines().count() as u64);
                assert_eq!(durable.through, lines, "what was told is what was written");
                assert!(durable.failure == Some(gone()) || lines == 3, "{durable:?}");
            }
            let late = queue.enrol(target("late"));
            assert_eq!(late.durable.borrow().failure, Some(gone()));
        });
    }

    #[test]
    fn who_hands_over_waits_while_too_much_waits() {
        in_any_order(|| {
            let queue = Arc::new(Queue::default());
            let key = queue.enrol(target("a")).key;
            queue.hand_over(key, &mut batch("123456789\n"));
            let works = queue.take();
            let handed = Arc::new(AtomicBool::new(false));
            let (other, told) = (Arc::clone(&queue), Arc::clone(&handed));
            let handing = thread::spawn(move || {
                other.hand_over(key, &mut batch("y\n"));
                told.store(true, Ordering::SeqCst);
            });
            thread::yield_now();
            assert!(
                !handed.load(Ordering::SeqCst),
                "it waits while the first is being written"
            );
            for work in works {
                queue.settle(work, Ok(target("a")));
            }
            handing.join().unwrap();
            assert_eq!(queue.take()[0].batch.text, "y\n");
        });
    }

    #[test]
    fn a_run_is_opened_again_only_when_it_was_given_back() {
        in_any_order(|| {
            let queue = Arc::new(Queue::default());
            let key = queue.enrol(target("a")).key;
            queue.hand_over(key, &mut batch("1\n"));
            // A driver that is dropped closes and does not wait.
            queue.close(key);
            let behind = Arc::clone(&queue);
            let writer = thread::spawn(move || write(&behind, usize::MAX, ""));
            queue.wait_given_back("a");
            assert!(queue.targets().is_empty());
            queue.stop();
            assert_eq!(writer.join().unwrap()["a"], "1\n");
        });
    }

    /// What a driver has handed over is in the next commit, however much others hand over: nobody waits for two.
    #[test]
    fn every_commit_has_all_that_waits() {
        shuttle::check_random(
            || {
                let queue = Queue::default();
                let runs = 1000;
                let keys: Vec<u64> = (0..runs)
                    .map(|run| queue.enrol(target(&run.to_string())).key)
                    .collect();
                // Without bytes, so that nobody waits for room.
                let batch = || Batch {
                    taken: vec![1],
                    ..Batch::default()
                };
                for round in 1..=3 {
                    for key in &keys {
                        queue.hand_over(*key, &mut batch());
                    }
                    // One of them never rests.
                    queue.hand_over(keys[0], &mut batch());
                    let works = queue.take();
                    let taken: Vec<u64> = works.iter().map(|work| work.key).collect();
                    assert_eq!(taken, keys, "commit {round}");
                    for work in works {
                        let target = work.target.clone();
                        queue.settle(work, Ok(target));
                    }
                    assert!(queue.take().is_empty());
                }
            },
            1,
        );
    }
}
