//! The queue between drivers and the writer: everything that arrives during a commit goes into the next one.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use planrun_core::journal::Summary;
use tokio::sync::watch;

// The tests below run threads in many orders, which requires the model of `shuttle`. No other unit test may create a
// queue.
#[cfg(test)]
use shuttle::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(test))]
use std::sync::{Condvar, Mutex, MutexGuard};

use super::super::digest::Digest;
use super::super::failure::JournalError;

/// Number of pending bytes beyond which drivers have to wait. Small in tests, so that they reach it.
const MAX_WAITING: usize = if cfg!(test) { 8 } else { 64 << 20 };

/// Maximum capacity of a buffer that is kept for reuse, in bytes.
const MAX_SPARE: usize = 1 << 20;

/// Progress of writing the events of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durable {
    /// Number of the last event on disk.
    pub through: u64,
    /// Why nothing more can be written.
    pub failure: Option<JournalError>,
}

/// The work that a driver passes to the writer at once.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Lines, each with a line feed.
    pub text: String,
    /// Number of lines.
    pub lines: u64,
    /// With the time at which it was made, in nanoseconds since the Unix epoch.
    pub summary: Option<(Summary, i128)>,
    pub blobs: Vec<(Digest, Vec<u8>)>,
    /// Ids of the messages that the lines record.
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

    /// Appends a later batch and leaves it empty.
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

/// A driven run, as the writer sees it.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub id: i64,
    pub run: String,
    pub epoch: i64,
    /// Number of the last event on disk, and the chain value after it.
    pub last: u64,
    pub head: Digest,
    /// Number of the newest message to the run when its lease was released; 0 if there was none.
    pub newest_message: u64,
}

/// The work of the writer for one run.
#[derive(Debug)]
pub(super) struct Work {
    pub key: u64,
    pub target: Target,
    pub batch: Batch,
    /// Whether the lease is released with it.
    pub close: bool,
    /// Whether the run can no longer be written; its lease can still be released.
    pub failed: bool,
}

#[derive(Debug)]
struct Entry {
    target: Target,
    pending: Batch,
    /// An empty batch whose memory is reused.
    spare: Batch,
    closing: bool,
    durable: watch::Sender<Durable>,
    newest_message: watch::Sender<u64>,
}

impl Entry {
    fn failed(&self) -> bool {
        self.durable.borrow().failure.is_some()
    }

    fn report_message(&mut self, newest: u64) {
        self.newest_message.send_if_modified(|known| {
            let new = *known < newest;
            *known = (*known).max(newest);
            new
        });
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
    /// Number of bytes that are pending or being written.
    bytes: usize,
    stop: bool,
    /// Why the writer has ended.
    ended: Option<JournalError>,
}

/// The queue between drivers and the writer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Signalled when there is work.
    work: Condvar,
    /// Signalled when there is room again, or a lease was released.
    done: Condvar,
}

/// A driver's end of the queue.
pub(super) struct Registration {
    pub key: u64,
    pub durable: watch::Receiver<Durable>,
    pub newest_message: watch::Receiver<u64>,
}

impl Queue {
    pub(super) fn register(&self, target: Target) -> Registration {
        let (durable, durable_receiver) = watch::channel(Durable {
            through: target.last,
            failure: None,
        });
        let (newest_message, message_receiver) = watch::channel(0);
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
            newest_message,
        };
        if let Some(error) = &state.ended {
            entry.fail(error.clone());
        } else {
            state.entries.insert(key, entry);
        }
        Registration {
            key,
            durable: durable_receiver,
            newest_message: message_receiver,
        }
    }

    /// Takes the batch of a driver and leaves it empty. Waits if too much is pending. The caller has to write what is
    /// pending, or wake the writer.
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

    /// Wakes the writer thread.
    pub(super) fn wake(&self) {
        self.work.notify_one();
    }

    /// Lets the lease be released after everything pending is written.
    pub(super) fn close(&self, key: u64) {
        if let Some(entry) = self.state().entries.get_mut(&key) {
            entry.closing = true;
        }
        self.work.notify_one();
    }

    /// Waits until the lease is released.
    pub(super) fn wait_closed(&self, key: u64) {
        let there = |state: &mut State| state.entries.contains_key(&key);
        drop(
            self.done
                .wait_while(self.state(), there)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }

    /// Waits until no dropped lease of this run is being released.
    pub(super) fn wait_released(&self, run: &str) {
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

    /// Lets the writer end after everything is written.
    pub(super) fn stop(&self) {
        self.state().stop = true;
        self.work.notify_one();
    }

    /// Waits for work, but not longer than `at_most`. Returns true if nothing more will come.
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

    /// Takes all pending work. The caller must write it before anything more is taken.
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

    /// Puts back work that could not be written now, before work that came since.
    pub(super) fn put_back(&self, works: Vec<Work>) {
        let mut state = self.state();
        for mut work in works {
            if let Some(entry) = state.entries.get_mut(&work.key) {
                work.batch.extend(&mut entry.pending);
                entry.pending = work.batch;
            }
        }
    }

    /// Reports to a driver how its work ended: the new state of the run, or why it can no longer be written.
    pub(super) fn settle(&self, mut work: Work, outcome: Result<Target, JournalError>) {
        let mut state = self.state();
        let State { entries, bytes, .. } = &mut *state;
        *bytes = bytes.saturating_sub(work.batch.bytes());
        if let Some(entry) = entries.get_mut(&work.key) {
            match outcome {
                Ok(target) => {
                    let through = target.last;
                    entry.report_message(target.newest_message);
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

    /// Returns the runs that can be written.
    pub(super) fn targets(&self) -> Vec<(u64, Target)> {
        let state = self.state();
        let open = state.entries.iter().filter(|(_, entry)| !entry.failed());
        open.map(|(key, entry)| (*key, entry.target.clone()))
            .collect()
    }

    /// Records that nothing more can be written for this run.
    pub(super) fn fail(&self, key: u64, error: JournalError) {
        if let Some(entry) = self.state().entries.get_mut(&key) {
            entry.fail(error);
        }
    }

    /// Reports the number of the newest message to a driver.
    pub(super) fn report_message(&self, key: u64, newest: u64) {
        if let Some(entry) = self.state().entries.get_mut(&key) {
            entry.report_message(newest);
        }
    }

    /// Reports the number of the newest message to the driver of a run, if it has one in this process.
    pub(super) fn report_message_to(&self, run: i64, newest: u64) {
        for entry in self.state().entries.values_mut() {
            if entry.target.id == run {
                entry.report_message(newest);
            }
        }
    }

    /// Records that the writer has ended, so that nothing waits for it.
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

    // Nothing panics while it holds the lock, so a poisoned lock protects a consistent state.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the queue when the writer ends, for whatever reason.
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

    /// Number of executions of each model, with different choices.
    const ROUNDS: usize = 2000;

    /// Runs a model with its threads in many orders: some purely random, others with few context switches.
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
            newest_message: 0,
        }
    }

    fn batch(text: &str) -> Batch {
        Batch {
            text: text.into(),
            lines: text.lines().count() as u64,
            ..Batch::default()
        }
    }

    /// The writer: takes and settles work until it is stopped, or until it has taken `most` batches and breaks off.
    /// Work of the run `refused` is not written. Returns everything that was written, by run.
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

    /// A driver: passes on lines one by one, closes its lease and waits until it is released.
    fn drive(queue: &Queue, run: &str) -> Durable {
        let registration = queue.register(target(run));
        for line in ["1234\n", "5678\n", "90\n"] {
            let mut handed = batch(line);
            queue.hand_over(registration.key, &mut handed);
            queue.wake();
            assert!(handed.is_empty());
        }
        queue.close(registration.key);
        queue.wait_closed(registration.key);
        registration.durable.borrow().clone()
    }

    #[test]
    fn what_waits_is_taken_at_once_and_in_order() {
        let alone = || {
            let queue = Queue::default();
            let (first, second) = (queue.register(target("a")), queue.register(target("b")));
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
            let key = queue.register(target("a")).key;
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
            let late = queue.register(target("late"));
            assert_eq!(late.durable.borrow().failure, Some(gone()));
        });
    }

    #[test]
    fn who_hands_over_waits_while_too_much_waits() {
        in_any_order(|| {
            let queue = Arc::new(Queue::default());
            let key = queue.register(target("a")).key;
            queue.hand_over(key, &mut batch("123456789\n"));
            let works = queue.take();
            let handed = Arc::new(AtomicBool::new(false));
            let (other, flag) = (Arc::clone(&queue), Arc::clone(&handed));
            let handing = thread::spawn(move || {
                other.hand_over(key, &mut batch("y\n"));
                flag.store(true, Ordering::SeqCst);
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
            let key = queue.register(target("a")).key;
            queue.hand_over(key, &mut batch("1\n"));
            // A dropped lease is closed without waiting.
            queue.close(key);
            let behind = Arc::clone(&queue);
            let writer = thread::spawn(move || write(&behind, usize::MAX, ""));
            queue.wait_released("a");
            assert!(queue.targets().is_empty());
            queue.stop();
            assert_eq!(writer.join().unwrap()["a"], "1\n");
        });
    }

    /// The work of a driver is in the next commit, no matter how much others pass on: nothing waits for two commits.
    #[test]
    fn every_commit_has_all_that_waits() {
        shuttle::check_random(
            || {
                let queue = Queue::default();
                let runs = 1000;
                let keys: Vec<u64> = (0..runs)
                    .map(|run| queue.register(target(&run.to_string())).key)
                    .collect();
                // Without bytes, so that nothing waits for room.
                let batch = || Batch {
                    taken: vec![1],
                    ..Batch::default()
                };
                for round in 1..=3 {
                    for key in &keys {
                        queue.hand_over(*key, &mut batch());
                    }
                    // One of them is never idle.
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
