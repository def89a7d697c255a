//! A store in memory, for runs that end with their process, and for tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::protocol::run_id_fault;
use planrun_tools::host::Host;
use tokio::sync::watch;

use super::digest::{Digest, Origin, link};
use super::failure::JournalError;
use super::interface::{Lease, Message, Prune, Pruned, Recorded, RecordedEvents, Seen, Store};
use super::nanos;
use super::run_row::{Created, Filter, Holder, NewRun, RunInfo, RunRow};
use crate::journal::{Log, MemoryCache, ResultCache};
use planrun_core::journal::{self, Summary};

/// Maximum number of runs that an error for an ambiguous prefix lists.
const MAX_NAMED: usize = 5;

/// A store in memory; clones share their content.
#[derive(Clone)]
pub struct MemoryStore {
    host: Arc<dyn Host>,
    content: Arc<Mutex<Content>>,
}

#[derive(Default)]
struct Content {
    /// In the order in which they were created.
    runs: Vec<StoredRun>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    cache: MemoryCache,
    /// Numbers of the last message and of the last lease.
    messages: u64,
    leases: u64,
}

struct StoredRun {
    row: RunRow,
    lines: Vec<String>,
    messages: Vec<Message>,
    /// Hashes of its values.
    values: Vec<Digest>,
    /// Number of the newest message.
    newest_message: watch::Sender<u64>,
}

impl MemoryStore {
    #[must_use]
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self {
            host,
            content: Arc::default(),
        }
    }

    /// Gives the lease of a run to a new driver of this process.
    fn lease(&self, content: &mut Content, run: &str) -> Result<MemoryLease, JournalError> {
        content.leases += 1;
        let (driver, since) = (format!("memory-{}", content.leases), self.host.now());
        let stored = content.find(run)?;
        if let Some(holder) = stored.row.holder.clone() {
            return Err(JournalError::Driven {
                run: run.into(),
                holder: Box::new(holder),
            });
        }
        let (process, machine) = (std::process::id(), "memory".to_owned());
        let mut newest_message = stored.newest_message.subscribe();
        newest_message.mark_changed();
        stored.row.holder = Some(Holder {
            driver: driver.clone(),
            process,
            machine,
            since,
            until: i128::MAX,
        });
        Ok(MemoryLease {
            store: self.clone(),
            run: run.to_owned(),
            last: stored.row.events,
            durable: stored.row.events,
            batch: Batch::default(),
            newest_message,
            seen: 0,
            driver,
            misused: None,
        })
    }
}

impl Content {
    fn find(&mut self, run: &str) -> Result<&mut StoredRun, JournalError> {
        let found = self.runs.iter_mut().find(|stored| stored.row.run == run);
        found.ok_or_else(|| JournalError::NotFound { run: run.into() })
    }

    fn post(&mut self, run: &str, text: &str, at: i128) -> Result<u64, JournalError> {
        let id = self.messages + 1;
        let stored = self.find(run)?;
        stored.messages.push(Message {
            id,
            at,
            text: text.to_owned(),
        });
        stored.newest_message.send_replace(id);
        self.messages = id;
        Ok(id)
    }

    /// Deletes runs, and the values that no other run refers to.
    fn delete(&mut self, runs: Vec<String>) -> Pruned {
        let Self {
            runs: stored,
            blobs,
            ..
        } = self;
        stored.retain(|stored| !runs.contains(&stored.row.run));
        let before = blobs.len();
        blobs.retain(|digest, _| stored.iter().any(|stored| stored.values.contains(digest)));
        let values = before - blobs.len();
        Pruned { runs, values }
    }

    /// Returns the runs that have ended and may be deleted, newest first.
    fn prunable(&self, prune: Prune) -> Vec<RunRow> {
        let mut ended: Vec<&RunRow> = self
            .runs
            .iter()
            .rev()
            .map(|stored| &stored.row)
            .filter(|row| row.ended)
            .collect();
        ended.sort_by_key(|row| std::cmp::Reverse(row.created_at));
        let old = |row: &&RunRow| prune.before.is_none_or(|before| row.updated_at < before);
        ended
            .into_iter()
            .skip(prune.keep)
            .filter(|row| row.holder.is_none())
            .filter(old)
            .cloned()
            .collect()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MemoryStore")
            .finish_non_exhaustive()
    }
}

impl Store for MemoryStore {
    fn create(&self, new: &NewRun<'_>) -> Result<Created<Box<dyn Lease>>, JournalError> {
        if let Some(fault) = run_id_fault(new.run) {
            return Err(JournalError::Misused(fault));
        }
        let mut content = self.content.lock();
        if let Ok(there) = content.find(new.run) {
            let row = there.row.clone();
            if row.digest == new.digest {
                return Ok(Created::Exists(Box::new(row)));
            }
            let (run, there, given) = (row.info.run, row.digest, new.digest);
            return Err(JournalError::OtherInput { run, there, given });
        }
        let pinned = Digest::of(new.pinned);
        let created_at = nanos(new.at);
        let chain = Origin {
            run: new.run,
            plan: new.plan,
            digest: new.digest,
            pinned,
            created_at,
        }
        .head();
        let info = RunInfo {
            run: new.run.to_owned(),
            plan: new.plan.to_owned(),
            state: None,
            ended: false,
            created_at: new.at,
            updated_at: new.at,
            wake_at: None,
            error: None,
            note: None,
            steps_done: 0,
            steps_all: None,
            events: 0,
        };
        let row = RunRow {
            info,
            digest: new.digest,
            pinned,
            head: chain,
            holder: None,
        };
        let (lines, messages, values, newest_message) =
            (Vec::new(), Vec::new(), vec![pinned], watch::Sender::new(0));
        content.runs.push(StoredRun {
            row,
            lines,
            messages,
            values,
            newest_message,
        });
        content.blobs.insert(pinned, new.pinned.to_vec());
        Ok(Created::New(Box::new(self.lease(&mut content, new.run)?)))
    }

    fn drive(&self, run: &str) -> Result<Box<dyn Lease>, JournalError> {
        Ok(Box::new(self.lease(&mut self.content.lock(), run)?))
    }

    fn run(&self, prefix: &str) -> Result<RunRow, JournalError> {
        let mut content = self.content.lock();
        if let Ok(stored) = content.find(prefix) {
            return Ok(stored.row.clone());
        }
        let begins = |row: &&RunRow| !prefix.is_empty() && row.run.starts_with(prefix);
        let mut found: Vec<&RunRow> = content
            .runs
            .iter()
            .map(|stored| &stored.row)
            .filter(begins)
            .collect();
        found.sort_by(|one, other| one.run.cmp(&other.run));
        match found.as_slice() {
            [] => Err(JournalError::NotFound { run: prefix.into() }),
            [one] => Ok((*one).clone()),
            many => {
                let runs = many
                    .iter()
                    .take(MAX_NAMED)
                    .map(|row| row.run.clone())
                    .collect();
                Err(JournalError::Ambiguous {
                    prefix: prefix.into(),
                    runs,
                })
            }
        }
    }

    fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, JournalError> {
        let content = self.content.lock();
        let passes = |row: &&RunRow| {
            filter.plan.as_ref().is_none_or(|plan| row.plan == *plan)
                && (filter.states.is_empty() && !filter.pending
                    || row
                        .state
                        .map_or(filter.pending, |state| filter.states.contains(&state)))
                && filter.since.is_none_or(|since| row.created_at >= since)
                && filter
                    .due
                    .is_none_or(|due| row.wake_at.is_some_and(|wake| wake <= due))
        };
        let mut rows: Vec<RunRow> = content
            .runs
            .iter()
            .rev()
            .map(|stored| &stored.row)
            .filter(passes)
            .cloned()
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
        rows.truncate(filter.limit.unwrap_or(usize::MAX));
        Ok(rows)
    }

    fn is_driven(&self, row: &RunRow) -> bool {
        let mut content = self.content.lock();
        row.holder.is_some()
            && content
                .find(&row.run)
                .is_ok_and(|stored| stored.row.holder == row.holder)
    }

    fn wait_released(&self, _: &str) {
        // Dropping a lease releases it at once.
    }

    fn events(&self, run: &str, from: u64) -> Result<RecordedEvents, JournalError> {
        let (from, mut content) = (from.max(1), self.content.lock());
        let lines = &content.find(run)?.lines;
        let before = usize::try_from(from - 1).unwrap_or(usize::MAX);
        // A reader that follows the run is given the new events only, so it copies no others.
        let lines = lines.get(before..).unwrap_or_default().to_vec();
        let events = (from..).zip(lines);
        Ok(Box::new(
            events.map(|(number, line)| Ok(Recorded { number, line })),
        ))
    }

    fn pinned(&self, run: &str) -> Result<Vec<u8>, JournalError> {
        let pinned = self.content.lock().find(run)?.row.pinned;
        self.blob(pinned)
    }

    fn values(&self, run: &str) -> Result<Vec<Digest>, JournalError> {
        let mut content = self.content.lock();
        let stored = content.find(run)?;
        let pinned = stored.row.pinned;
        let mut values = stored.values.clone();
        values.sort_by_key(|digest| (*digest != pinned, *digest));
        Ok(values)
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        self.content
            .lock()
            .blobs
            .get(&digest)
            .cloned()
            .ok_or(JournalError::NoValue { digest })
    }

    fn post(&self, run: &str, text: &str) -> Result<u64, JournalError> {
        self.content.lock().post(run, text, self.host.now())
    }

    fn post_all(&self, run: &str, texts: &[String], seen: Seen) -> Result<bool, JournalError> {
        let (mut content, now) = (self.content.lock(), self.host.now());
        let stored = content.find(run)?;
        let newest = stored.messages.last().map_or(0, |message| message.id);
        if seen
            .events
            .is_some_and(|events| stored.row.events != events)
            || newest > seen.message
        {
            return Ok(false);
        }
        for text in texts {
            content.post(run, text, now)?;
        }
        Ok(true)
    }

    fn inbox(&self, run: &str) -> Result<Vec<Message>, JournalError> {
        Ok(self.content.lock().find(run)?.messages.clone())
    }

    fn cache(&self) -> Arc<dyn ResultCache> {
        Arc::new(self.content.lock().cache.clone())
    }

    fn prunable(&self, prune: Prune) -> Result<Vec<RunRow>, JournalError> {
        Ok(self.content.lock().prunable(prune))
    }

    fn prune(&self, prune: Prune, kept: &BTreeSet<String>) -> Result<Pruned, JournalError> {
        let mut content = self.content.lock();
        let runs: Vec<String> = content
            .prunable(prune)
            .into_iter()
            .map(|row| row.info.run)
            .filter(|run| !kept.contains(run))
            .collect();
        Ok(content.delete(runs))
    }

    fn delete(&self, run: &str) -> Result<Pruned, JournalError> {
        let mut content = self.content.lock();
        if let Some(holder) = content.find(run)?.row.holder.clone() {
            return Err(JournalError::Driven {
                run: run.into(),
                holder: Box::new(holder),
            });
        }
        Ok(content.delete(vec![run.to_owned()]))
    }

    fn compact(&self) -> Result<(), JournalError> {
        Ok(())
    }
}

/// The appended events and values that a driver has not flushed.
#[derive(Default)]
struct Batch {
    lines: Vec<String>,
    blobs: Vec<(Digest, Vec<u8>)>,
    summary: Option<Summary>,
    taken: Vec<u64>,
}

/// The lease of a run that is driven in this process.
struct MemoryLease {
    store: MemoryStore,
    run: String,
    /// Numbers of the last appended and of the last flushed event.
    last: u64,
    durable: u64,
    batch: Batch,
    newest_message: watch::Receiver<u64>,
    /// Number of the newest message that was returned.
    seen: u64,
    /// Distinguishes the lease from those of other drivers.
    driver: String,
    /// Why the lease was misused; nothing is written after that.
    misused: Option<String>,
}

impl MemoryLease {
    fn write(&mut self) -> Result<(), JournalError> {
        let store = self.store.clone();
        self.write_to(&mut store.content.lock())
    }

    fn write_to(&mut self, content: &mut Content) -> Result<(), JournalError> {
        if let Some(why) = &self.misused {
            return Err(JournalError::Misused(why.clone()));
        }
        let Batch {
            lines,
            blobs,
            summary,
            taken,
        } = std::mem::take(&mut self.batch);
        let now = self.store.host.now();
        let stored = content.find(&self.run)?;
        for line in lines {
            stored.row.head = link(&stored.row.head, &line);
            stored.row.info.events += 1;
            stored.lines.push(line);
        }
        self.durable = stored.row.events;
        stored
            .messages
            .retain(|message| !taken.contains(&message.id));
        if let Some(Summary {
            state,
            wake,
            error,
            note,
            steps_done,
            steps_all,
        }) = summary
        {
            let row = &mut stored.row;
            (row.info.state, row.info.ended) = (Some(state), state.is_ended());
            (
                row.info.error,
                row.info.note,
                row.info.wake_at,
                row.info.updated_at,
            ) = (error, note, wake, now);
            (row.info.steps_done, row.info.steps_all) = (steps_done, Some(steps_all));
        }
        for (digest, _) in &blobs {
            if !stored.values.contains(digest) {
                stored.values.push(*digest);
            }
        }
        content.blobs.extend(blobs);
        Ok(())
    }
}

impl MemoryLease {
    /// Releases the lease if it is still held. Returns the number of the newest message then.
    fn end(&self, content: &mut Content) -> Option<u64> {
        let stored = content.find(&self.run).ok()?;
        stored
            .row
            .holder
            .take_if(|holder| holder.driver == self.driver)?;
        stored.messages.last().map(|message| message.id)
    }
}

impl Log for MemoryLease {
    fn append(&mut self, number: u64, line: &[u8]) {
        let fault = match str::from_utf8(line) {
            Err(_) => Some(format!("event {number} is not valid UTF-8")),
            Ok(_) if number != self.last + 1 => Some(format!(
                "event {number} was appended after event {}",
                self.last
            )),
            Ok(line) if line.is_empty() || line.contains('\n') => {
                Some(format!("event {number} is not one line"))
            }
            Ok(_) => None,
        };
        if self.misused.is_some() || fault.is_some() {
            self.misused = self.misused.take().or(fault);
            return;
        }
        self.last = number;
        self.batch
            .lines
            .push(String::from_utf8_lossy(line).into_owned());
    }

    fn keep(&mut self, _digest: &str, content: &[u8]) {
        self.batch
            .blobs
            .push((Digest::of(content), content.to_vec()));
    }

    fn summarize(&mut self, summary: &Summary) {
        self.batch.summary = Some(summary.clone());
    }

    fn flush(&mut self) {
        // `broken` reports the error.
        let _ = self.write();
    }

    fn durable(&self) -> u64 {
        self.durable
    }

    fn broken(&self) -> Option<String> {
        self.misused
            .clone()
            .map(|why| JournalError::Misused(why).to_string())
    }

    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            if self.newest_message.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn messages(&mut self) -> Vec<journal::Message> {
        self.newest_message.mark_unchanged();
        let inbox = self.store.inbox(&self.run).unwrap_or_default();
        let new: Vec<Message> = inbox
            .into_iter()
            .filter(|message| message.id > self.seen)
            .collect();
        self.seen = new.last().map_or(self.seen, |message| message.id);
        new.into_iter()
            .map(|message| journal::Message {
                id: message.id,
                at: Some(message.at),
                text: message.text,
            })
            .collect()
    }

    fn taken(&mut self, id: u64) {
        self.batch.taken.push(id);
    }

    fn release(mut self: Box<Self>) -> Pin<Box<dyn Future<Output = Result<bool, String>> + Send>> {
        let store = self.store.clone();
        let mut content = store.content.lock();
        let written = self.write_to(&mut content);
        let newest = self.end(&mut content).unwrap_or(0);
        let released = written.map(|()| newest > self.seen);
        let released = released.map_err(|failure| failure.to_string());
        Box::pin(std::future::ready(released))
    }
}

impl Lease for MemoryLease {
    fn last(&self) -> u64 {
        self.last
    }

    fn close(mut self: Box<Self>) -> Result<(), JournalError> {
        self.write()
    }
}

impl Drop for MemoryLease {
    fn drop(&mut self) {
        self.end(&mut self.store.content.lock());
    }
}
