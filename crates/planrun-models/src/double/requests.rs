//! What a double was asked: which turn answers a request, and what was sent.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use planrun_lang::secrets::MARK;
use serde::Serialize;
use serde_json::Value as Json;

use super::script::{Script, ScriptTurn};

/// How many requests are kept.
const MAX_REQUESTS: usize = 1_000;
/// How much of a message is told, in characters.
const MAX_TOLD: usize = 80;

/// A request as it came.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReceivedRequest {
    /// The turn that answered it, from 1; missing where none did.
    pub turn: Option<usize>,
    pub path: String,
    /// With marks for keys.
    pub headers: BTreeMap<String, String>,
    pub body: Json,
    /// The key that was sent. It is in no log.
    #[serde(skip)]
    pub key: Option<String>,
}

/// What a request says that scripts ask for.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub user: String,
    /// The result of a tool, where that is the last message.
    pub tool: Option<String>,
    pub streams: bool,
}

/// The turns that are left, and the requests that came.
#[derive(Debug)]
pub(super) struct Requests {
    turns: Vec<(ScriptTurn, Option<u64>)>,
    received: VecDeque<ReceivedRequest>,
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
            received: VecDeque::new(),
            calls: 0,
        }
    }

    /// The first turn that is left and holds for a request, with its number.
    pub(super) fn take(&mut self, asked: &Asked) -> Option<(usize, ScriptTurn)> {
        let holds = |turn: &ScriptTurn| {
            let user = turn.when.user.as_ref();
            let tool = turn.when.tool.as_ref();
            let given = asked.tool.as_ref();
            user.is_none_or(|user| asked.user.contains(user))
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

    /// A number for each call that is made up, so that no two have the same id.
    pub(super) fn next_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// Why no turn answers.
    pub(super) fn refusal(&self, asked: &Asked) -> String {
        let mut text = "the script has no turn for this request".to_owned();
        let mut say = |what: &str, message: &str| {
            let told: String = message.chars().take(MAX_TOLD).collect();
            // Writing to a string cannot fail.
            let _ = write!(text, ", {what} {told:?}");
        };
        say("in which the user says last", &asked.user);
        if let Some(tool) = &asked.tool {
            say("and a tool gives", tool);
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
            "no turn is left".to_owned()
        } else {
            format!("left are {}", left.join("; "))
        };
        format!("{text}: {left}")
    }

    pub(super) fn record(&mut self, request: ReceivedRequest) {
        if self.received.len() == MAX_REQUESTS {
            self.received.pop_front();
        }
        self.received.push_back(request);
    }

    pub(super) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.iter().cloned().collect()
    }
}

/// The headers of a request, and the key among them.
pub(super) fn headers(
    headers: &axum::http::HeaderMap,
) -> (BTreeMap<String, String>, Option<String>) {
    let mut key = None;
    let told = headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        let shown = match name.as_str() {
            "authorization" | "x-api-key" | "api-key" => {
                let bare = value.strip_prefix("Bearer ").unwrap_or(&value);
                key = Some(bare.to_owned());
                MARK.to_owned()
            }
            _ => value.into_owned(),
        };
        (name.to_string(), shown)
    });
    (told.collect(), key)
}
