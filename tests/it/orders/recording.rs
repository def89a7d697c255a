//! Records the answers of the apps' mock once, over real HTTP, and replays them on paused time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::ErrorClass;
use planrun_tools::tools::{
    BoxFuture, Catalog, Conversation, Described, Request, Transport, described,
};
use tokio::time::Instant;

/// Delays are rounded up to multiples of this, in milliseconds, so that many answers arrive at the same time.
const GRAIN: u128 = 10;

/// The attempts of each call, by tool and arguments, with the duration of each.
type Answers = BTreeMap<String, VecDeque<(CallOutcome, Duration)>>;

/// The recorded answers.
#[derive(Clone, Default)]
pub struct Recording {
    answers: Arc<Mutex<Answers>>,
}

impl Recording {
    /// Returns the same tools, with every answer recorded.
    pub fn of(&self, catalog: &Catalog) -> Catalog {
        let wrap = |inner: &Arc<dyn Transport>| -> Arc<dyn Transport> {
            Arc::new(Recorder {
                inner: inner.clone(),
                answers: self.answers.clone(),
            })
        };
        rewired(catalog, wrap)
    }

    /// Returns the same tools with the recorded answers.
    pub fn again(&self, catalog: &Catalog) -> Catalog {
        let answers = Arc::new(Mutex::new(self.answers.lock().unwrap().clone()));
        rewired(catalog, |_| {
            Arc::new(Replayer {
                answers: answers.clone(),
            })
        })
    }
}

fn rewired(catalog: &Catalog, wrap: impl Fn(&Arc<dyn Transport>) -> Arc<dyn Transport>) -> Catalog {
    let mut wired = catalog.clone();
    for signature in catalog.signatures() {
        let tool = catalog.tool(&signature.namespace, &signature.name).unwrap();
        wired.add((**signature).clone(), wrap(&tool.transport));
    }
    wired
}

fn name(request: &Request) -> String {
    format!(
        "{} {}",
        request.signature.path(),
        request.arguments.to_json()
    )
}

struct Recorder {
    inner: Arc<dyn Transport>,
    answers: Arc<Mutex<Answers>>,
}

impl Transport for Recorder {
    fn call(&self, request: Request) -> Conversation {
        let (name, begun, answers) = (name(&request), Instant::now(), self.answers.clone());
        self.inner.call(request).map_outcome(move |outcome| {
            let grains = begun.elapsed().as_millis().div_ceil(GRAIN).max(1) * GRAIN;
            let took = Duration::from_millis(u64::try_from(grains).unwrap());
            let mut answers = answers.lock().unwrap();
            answers
                .entry(name)
                .or_default()
                .push_back((outcome.clone(), took));
            outcome
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.inner.describe()
    }
}

struct Replayer {
    answers: Arc<Mutex<Answers>>,
}

impl Transport for Replayer {
    fn call(&self, request: Request) -> Conversation {
        let answer = self
            .answers
            .lock()
            .unwrap()
            .get_mut(&name(&request))
            .and_then(VecDeque::pop_front);
        // The recorded run may have ended before this call, which then never answers.
        let unknown = || {
            CallError::new(
                ErrorClass::Cancelled,
                "nobody called this when it was recorded",
                Sent::Maybe,
            )
        };
        let (outcome, took) = answer.unwrap_or_else(|| (Err(unknown()), Duration::ZERO));
        // A call that was cancelled in the recorded run never answers.
        let stopped = matches!(&outcome, Err(error) if error.class == ErrorClass::Cancelled);
        Conversation::from_future(async move {
            if !stopped {
                tokio::time::sleep(took).await;
                return outcome;
            }
            request.cancel.cancelled().await;
            outcome
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}
