//! What the mock remembers: calls, configured failures, and answers by idempotency key.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Map, Value as Json};

/// So many calls are kept for reading back; the log file keeps all.
const MAX_CALLS: usize = 10_000;
/// So many answers are kept for repetitions.
const MAX_ANSWERS: usize = 10_000;

/// One call, as it stands in the log.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct LoggedCall {
    /// RFC 3339.
    pub timestamp: String,
    pub tool: String,
    pub args: Map<String, Json>,
    pub source: &'static str,
    pub success: bool,
    /// Which call of this tool it was, from 1.
    pub attempt: u64,
    /// `success` or `failed`.
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An answer as it goes over the wire.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub status: u16,
    /// Seconds.
    pub retry_after: Option<u64>,
    pub body: Json,
}

/// The state behind the server.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Of each tool, how many calls fail first, and how many calls there were since that was said.
    failures: BTreeMap<String, u64>,
    counts: BTreeMap<String, u64>,
    /// Of each case with `times`, how often it answered: tool and position.
    used: HashMap<(String, usize), u64>,
    log: VecDeque<LoggedCall>,
    answers: HashMap<String, Remembered>,
    order: VecDeque<String>,
}

#[derive(Debug)]
struct Remembered {
    /// The call it was the answer to.
    request: String,
    answer: Answer,
}

/// What is known of an idempotency key.
pub(super) enum Known {
    New,
    /// The same call: the same answer.
    Repeated(Answer),
    /// Another call with this key.
    Misused,
}

impl Calls {
    /// Lets the first calls of these tools fail. Takes the place of what was said before, and counts anew.
    pub fn configure(&mut self, failures: BTreeMap<String, u64>) {
        self.failures = failures;
        self.counts.clear();
        self.used.clear();
    }

    pub fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// Counts a call: its number, from 1.
    pub fn count(&mut self, tool: &str) -> u64 {
        let count = self.counts.entry(tool.to_owned()).or_default();
        *count += 1;
        *count
    }

    /// The failure that was configured for the call with this number.
    pub fn failure(&self, tool: &str, attempt: u64) -> Option<String> {
        let failing = self.failures.get(tool).copied().unwrap_or(0);
        (attempt <= failing)
            .then(|| format!("Mock failure for {tool} (attempt {attempt}/{failing})"))
    }

    /// Takes one of the `times` that a case answers, if one is left.
    pub fn take(&mut self, tool: &str, case: usize, times: Option<u64>) -> bool {
        let Some(times) = times else { return true };
        let used = self.used.entry((tool.to_owned(), case)).or_default();
        let left = *used < times;
        *used += u64::from(left);
        left
    }

    pub fn record(&mut self, call: LoggedCall) {
        if self.log.len() == MAX_CALLS {
            self.log.pop_front();
        }
        self.log.push_back(call);
    }

    /// The calls so far, oldest first.
    pub fn log(&self) -> Vec<LoggedCall> {
        self.log.iter().cloned().collect()
    }

    /// What is known of a key under which `request` was sent.
    pub fn known(&self, key: &str, request: &str) -> Known {
        match self.answers.get(key) {
            None => Known::New,
            Some(known) if known.request == request => Known::Repeated(known.answer.clone()),
            Some(_) => Known::Misused,
        }
    }

    /// Keeps a definite answer for repetitions of its call.
    pub fn remember(&mut self, key: String, request: String, answer: Answer) {
        if self.order.len() == MAX_ANSWERS
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
        self.order.push_back(key.clone());
        self.answers.insert(key, Remembered { request, answer });
    }
}
