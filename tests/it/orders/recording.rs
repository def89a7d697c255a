//! What the double of the apps answers once, over real HTTP, and the tools that say it again on paused time.

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

/// Answers come after a whole number of these, so that many come at the same moment.
const GRAIN: u128 = 10;

/// The attempts at one call, by tool and arguments, with how long each took.
type Answers = BTreeMap<String, VecDeque<(CallOutcome, Duration)>>;

/// What was answered.
#[derive(Clone, Default)]
pub struct Recording {
    answers: Arc<Mutex<Answers>>,
}

impl Recording {
    /// The same tools, with every answer kept.
    pub fn of(&self, catalog: &Catalog) -> Catalog {
        let wrap = |inner: &Arc<dyn Transport>| -> Arc<dyn Transport> {
            Arc::new(Recorder {
                inner: inner.clone(),
                answers: self.answers.clone(),
            })
        };
        rewired(catalog, wrap)
    }

    /// The same tools, answering as they did.
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
        // A run that ends early may have come less far when it was recorded; the call is told, and never answered.
        let unknown = || {
            CallError::new(
                ErrorClass::Cancelled,
                "nobody called this when it was recorded",
                Sent::Maybe,
            )
        };
        let (outcome, took) = answer.unwrap_or_else(|| (Err(unknown()), Duration::ZERO));
        // One that was stopped then never answered.
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
