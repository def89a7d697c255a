//! The requests that a test double receives, and the turns that answer them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use planrun_lang::secrets::MARK;
use planrun_tools::mock::Recent;
use serde::Serialize;
use serde_json::Value as Json;

use super::script::{Script, ScriptTurn};

/// Maximum number of requests that are kept.
const MAX_REQUESTS: usize = 1_000;
/// Maximum number of characters of a message that are quoted in an error.
const MAX_QUOTED: usize = 80;

#[derive(Clone, PartialEq, Serialize)]
pub struct ReceivedRequest {
    /// The turn that answered it, from 1; `None` if no turn did.
    pub turn: Option<usize>,
    pub path: String,
    /// Keys are redacted.
    pub headers: BTreeMap<String, String>,
    pub body: Json,
    /// The key that was sent; it is not logged.
    #[serde(skip)]
    pub key: Option<String>,
}

impl std::fmt::Debug for ReceivedRequest {
    /// Leaves out the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReceivedRequest")
            .field("turn", &self.turn)
            .field("path", &self.path)
            .field("headers", &self.headers)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

/// The parts of a request that scripts match against.
#[derive(Debug, Default)]
pub(super) struct RequestSummary {
    pub user: String,
    /// The result of a tool, if the last message is one.
    pub tool: Option<String>,
    pub streams: bool,
}

/// The remaining turns, and the received requests.
#[derive(Debug)]
pub(super) struct Requests {
    turns: Vec<(ScriptTurn, Option<u64>)>,
    received: Recent<ReceivedRequest>,
    calls: u64,
}

impl Requests {
    pub(super) fn new(script: Script) -> Self {
        let turns = script.turns.into_iter().map(|turn| {
            let left = turn.repeat;
            (turn, left)
        });
        Self {
            turns: turns.collect(),
            received: Recent::new(MAX_REQUESTS),
            calls: 0,
        }
    }

    /// Takes the first remaining turn that matches a request, with its number.
    pub(super) fn take(&mut self, summary: &RequestSummary) -> Option<(usize, ScriptTurn)> {
        let holds = |turn: &ScriptTurn| {
            let user = turn.when.user.as_ref();
            let tool = turn.when.tool.as_ref();
            let given = summary.tool.as_ref();
            user.is_none_or(|user| summary.user.contains(user))
                && tool.is_none_or(|tool| given.is_some_and(|given| given.contains(tool)))
        };
        let mut turns = self.turns.iter_mut().enumerate();
        let (index, (turn, left)) =
            turns.find(|(_, (turn, left))| *left != Some(0) && holds(turn))?;
        if let Some(left) = left {
            *left -= 1;
        }
        Some((index + 1, turn.clone()))
    }

    /// Returns a new number for a generated call, so that ids are unique.
    pub(super) fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// Describes why no turn answers.
    pub(super) fn refusal(&self, summary: &RequestSummary) -> String {
        let mut text = "the script has no turn for this request".to_owned();
        let mut quote = |what: &str, message: &str| {
            let excerpt: String = message.chars().take(MAX_QUOTED).collect();
            // Writing to a string cannot fail.
            let _ = write!(text, ", {what} {excerpt:?}");
        };
        quote("with the last user message", &summary.user);
        if let Some(tool) = &summary.tool {
            quote("and the tool result", tool);
        }
        let left = self.turns.iter().enumerate();
        let left = left.filter(|(_, (_, left))| *left != Some(0));
        let left = left.map(|(index, (turn, left))| {
            let times = match left {
                None | Some(1) => String::new(),
                Some(times) => format!(", {times} times"),
            };
            format!("turn {} {}{times}", index + 1, turn.when)
        });
        let left: Vec<String> = left.collect();
        let left = if left.is_empty() {
            "no turns remain".to_owned()
        } else {
            format!("remaining: {}", left.join("; "))
        };
        format!("{text}: {left}")
    }

    /// Keeps a request, whose body has this number of bytes.
    pub(super) fn record(&mut self, request: ReceivedRequest, bytes: usize) {
        self.received.add(request, bytes);
    }

    pub(super) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.iter().cloned().collect()
    }
}

/// Returns the headers of a request with keys redacted, and the key.
pub(super) fn headers(
    headers: &axum::http::HeaderMap,
) -> (BTreeMap<String, String>, Option<String>) {
    let mut key = None;
    let entries = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        let redacted = match name.as_str() {
            "authorization" | "x-api-key" | "api-key" => {
                let bare = value.strip_prefix("Bearer ").unwrap_or(&value);
                key = Some(bare.to_owned());
                MARK.to_owned()
            }
            _ => value.into_owned(),
        };
        (name.to_string(), redacted)
    });
    (entries.collect(), key)
}
