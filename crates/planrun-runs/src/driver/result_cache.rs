//! The result cache of a run. Results are looked up and stored in the background, because a store waits for its disk,
//! but in the order of the run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use planrun_core::run::{CachedCall, CallId, Input, Recalled};
use planrun_lang::value::{Map, Value};
use planrun_tools::tools::{Identity, Transport};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::attempt::DriverMessage;
use crate::journal::store::{Digest, JournalError};
use crate::journal::{CachedResult, ResultCache};

/// The cache of a run. A lookup waits for every result that the run has stored before it, and so finds them.
pub(super) struct RunCache {
    cache: Option<Arc<dyn ResultCache>>,
    run: Arc<str>,
    worker: Option<Worker>,
}

/// Performs one job after another; a job may wait for a disk.
struct Worker {
    jobs: mpsc::Sender<Job>,
    task: JoinHandle<()>,
}

type Job = Box<dyn FnOnce() + Send>;

/// Maximum number of jobs that wait, with their values.
const MAX_JOBS: usize = 256;

/// A call with the transport that would make it.
pub(super) struct Cacheable {
    pub of: CachedCall,
    pub transport: Arc<dyn Transport>,
}

impl RunCache {
    pub(super) fn new(cache: Option<Arc<dyn ResultCache>>, run: &str) -> Self {
        Self {
            cache,
            run: run.into(),
            worker: None,
        }
    }

    /// Looks for a cached result, and sends it to the driver. Returns false if nothing is sent, because there is no
    /// cache or it is too slow.
    pub(super) fn recall(
        &mut self,
        call: CallId,
        cacheable: Option<Cacheable>,
        not_before: i128,
        sender: &mpsc::Sender<DriverMessage>,
    ) -> bool {
        let (Some(cache), Some(cacheable)) = (self.cache.clone(), cacheable) else {
            return false;
        };
        let sender = sender.clone();
        self.worker().give(move || {
            let recall = || cache.recall(cacheable.key(&*cache)?, not_before);
            // If the cache cannot be read, or its code panics, the call is made.
            let found = catch_unwind(AssertUnwindSafe(recall)).ok();
            let found = found.and_then(Result::ok).flatten();
            let found = found.map(|found| Recalled {
                run: found.run,
                value: found.value,
            });
            // The receiver is closed only when the run has ended.
            let _ = sender.blocking_send(DriverMessage::Input(Input::Recalled { call, found }));
        })
    }

    /// Stores a result, unless the cache is too slow. A failure to store it is ignored.
    pub(super) fn remember(&mut self, cacheable: Cacheable, at: i128, value: Value) {
        let Some(cache) = self.cache.clone() else {
            return;
        };
        let run = self.run.clone();
        // A cache may forget.
        let _ = self.worker().give(move || {
            if let Ok(key) = cacheable.key(&*cache) {
                let _ = cache.remember(key, &CachedResult { at, run, value });
            }
        });
    }

    /// Waits until every result is stored.
    pub(super) async fn close(&mut self) {
        if let Some(Worker { jobs, task }) = self.worker.take() {
            drop(jobs);
            // The task ends with its last job.
            let _ = task.await;
        }
    }

    fn worker(&mut self) -> &Worker {
        self.worker.get_or_insert_with(Worker::start)
    }
}

impl Worker {
    fn start() -> Self {
        let (jobs, mut given) = mpsc::channel::<Job>(MAX_JOBS);
        let task = tokio::spawn(async move {
            while let Some(job) = given.recv().await {
                // The result of a job that panicked is not stored.
                let _ = spawn_blocking(job).await;
            }
        });
        Self { jobs, task }
    }

    /// Adds a job, unless too many are waiting. Returns true if it was added.
    fn give(&self, job: impl FnOnce() + Send + 'static) -> bool {
        // The task runs as long as the sender exists.
        self.jobs.try_send(Box::new(job)).is_ok()
    }
}

impl Cacheable {
    /// Returns the hash of everything that determines the result: the tool, its contract, the arguments in any order,
    /// the address and the credentials.
    fn key(&self, cache: &dyn ResultCache) -> Result<Digest, JournalError> {
        let mut identity = Identity::new(&cache.secret()?);
        let signature = &self.of.signature;
        let arguments = sorted(&self.of.arguments).to_typed_json().to_string();
        for part in [signature.path(), signature.digest(), arguments] {
            identity.add(part.as_bytes());
        }
        self.transport.identify(&mut identity);
        Ok(Digest::from(identity.hash()))
    }
}

/// Returns a value whose maps are sorted by key.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let fields = map.iter();
            let mut fields: Vec<_> = fields
                .map(|(key, value)| (key.clone(), sorted(value)))
                .collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::Map(Arc::new(fields.into_iter().collect::<Map>()))
        }
        Value::List(list) => Value::List(Arc::new(list.iter().map(sorted).collect())),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_cache_keeps_a_bounded_number_of_values() {
        let worker = Worker::start();
        let taken = (0..MAX_JOBS * 2).filter(|_| worker.give(|| ()));
        assert_eq!(taken.count(), MAX_JOBS);
        let Worker { jobs, task } = worker;
        drop(jobs);
        task.await.unwrap();
    }
}
