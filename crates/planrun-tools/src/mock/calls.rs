//! The state of the mock: logged calls, configured failures, and answers by idempotency key.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value as Json};

use super::recent::Recent;

/// Maximum number of calls kept in memory for reading back. The log file keeps all calls.
const MAX_CALLS: usize = 10_000;
/// Maximum number of answers kept for repeated calls.
const MAX_ANSWERS: usize = 10_000;

/// One call as it is written to the log.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct LoggedCall {
    /// An RFC 3339 timestamp.
    pub timestamp: String,
    pub tool: String,
    pub args: Map<String, Json>,
    pub source: &'static str,
    pub success: bool,
    /// Number of the call among the calls of this tool, from 1.
    pub attempt: u64,
    /// `success` or `failed`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An answer as it is sent.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub status: u16,
    /// The value of `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    pub body: Json,
}

/// The mutable state of the server.
#[derive(Debug)]
pub(super) struct Calls {
    /// By tool: the number of first calls that fail, and the number of calls since that was configured.
    failures: BTreeMap<String, u64>,
    counts: BTreeMap<String, u64>,
    /// How often each case with `times` has answered, by tool and index of the case.
    used: HashMap<(String, usize), u64>,
    log: Recent<LoggedCall>,
    answers: HashMap<String, Remembered>,
    /// The keys of the answers.
    order: Recent<String>,
}

#[derive(Debug)]
struct Remembered {
    /// The call that was answered.
    request: String,
    answer: Answer,
}

/// Whether an idempotency key was used before.
pub(super) enum Known {
    New,
    /// The key was used for the same call, which gets the same answer.
    Repeated(Answer),
    /// The key was used for another call.
    Misused,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            failures: BTreeMap::new(),
            counts: BTreeMap::new(),
            used: HashMap::new(),
            log: Recent::new(MAX_CALLS),
            answers: HashMap::new(),
            order: Recent::new(MAX_ANSWERS),
        }
    }
}

impl Calls {
    /// Makes the first calls of these tools fail. Replaces the previous configuration and resets all counts.
    pub fn configure(&mut self, failures: BTreeMap<String, u64>) {
        self.failures = failures;
        self.counts.clear();
        self.used.clear();
    }

    pub fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// Counts a call and returns its number, from 1. Requests choose the names of tools, so calls of further tools are
    /// not counted once there are [`MAX_CALLS`] names.
    pub fn count(&mut self, tool: &str) -> u64 {
        if self.counts.len() == MAX_CALLS && !self.counts.contains_key(tool) {
            return 1;
        }
        let count = self.counts.entry(tool.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// Returns the configured failure for the call with this number, if any.
    pub fn failure(&self, tool: &str, attempt: u64) -> Option<String> {
        let failing = self.failures.get(tool).copied().unwrap_or(0);
        (attempt <= failing)
            .then(|| format!("Mock failure for {tool} (attempt {attempt}/{failing})"))
    }

    /// Uses one of the `times` that a case answers. Returns false if none is left.
    pub fn take(&mut self, tool: &str, case: usize, times: Option<u64>) -> bool {
        let Some(times) = times else { return true };
        let used = self.used.entry((tool.to_owned(), case)).or_default();
        let left = *used < times;
        *used += u64::from(left);
        left
    }

    /// Keeps a call, whose line in the log has this number of bytes.
    pub fn record(&mut self, call: LoggedCall, bytes: usize) {
        self.log.add(call, bytes);
    }

    /// Returns the kept calls, oldest first.
    pub fn log(&self) -> Vec<LoggedCall> {
        self.log.iter().cloned().collect()
    }

    /// Looks up an idempotency key that was sent with `request`.
    pub fn known(&self, key: &str, request: &str) -> Known {
        match self.answers.get(key) {
            None => Known::New,
            Some(known) if known.request == request => Known::Repeated(known.answer.clone()),
            Some(_) => Known::Misused,
        }
    }

    /// Keeps an answer for repetitions of its call.
    pub fn remember(&mut self, key: String, request: String, answer: Answer) {
        let bytes = request.len() + answer.body.to_string().len();
        for oldest in self.order.add(key.clone(), bytes) {
            self.answers.remove(&oldest);
        }
        self.answers.insert(key, Remembered { request, answer });
    }
}
