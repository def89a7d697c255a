//! The script of a test double: the answers to requests, turn by turn.

use std::time::Duration;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::codes::contracts::CONFIG_KEY;
use planrun_lang::source::SourceFile;
use planrun_lang::yaml::{self, Node};
use planrun_tools::tools::app::section::{Mistakes, Section};
use serde_json::{Number, Value as Json};

use crate::model::{ToolCall, Usage};

/// The keys of a turn.
const KEYS: [&str; 19] = [
    "when",
    "repeat",
    "text",
    "json",
    "reasoning",
    "calls",
    "stop",
    "usage",
    "status",
    "retry_after",
    "error",
    "code",
    "raw",
    "delay",
    "pace",
    "stall",
    "cut",
    "chunks",
    "stream",
];
/// The keys that define the content of an answer.
const CONTENT_KEYS: [&str; 5] = ["text", "json", "reasoning", "calls", "stop"];
/// Maximum delay and pace.
const MAX_DELAY: Duration = Duration::from_hours(24);
/// Maximum size of a piece of a stream, in bytes.
const MAX_PIECE: u64 = 1 << 20;

/// The answers of a test double, turn by turn.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub(super) turns: Vec<ScriptTurn>,
}

#[derive(Clone, Debug)]
pub(super) struct ScriptTurn {
    pub when: When,
    /// Number of requests that the turn answers; `None` for any number.
    pub repeat: Option<u64>,
    pub reply: Reply,
    /// Delay before the answer.
    pub delay: Duration,
    pub delivery: Delivery,
}

/// The conditions under which a turn answers a request.
#[derive(Clone, Debug, Default)]
pub(super) struct When {
    /// The last message of the user contains this text.
    pub user: Option<String>,
    /// The last message is the result of a tool and contains this text.
    pub tool: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Reply {
    Answer(Answer),
    /// An error response instead of an answer.
    Status {
        status: u16,
        retry_after: Option<String>,
        failure: Failure,
    },
    /// The body of the response, byte for byte.
    Raw(String),
}

/// The answer of a model in one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub reasoning: String,
    pub text: String,
    pub calls: Vec<ToolCall>,
    /// The stop reason in the API's vocabulary; by default it is derived from the rest of the answer.
    pub stop: Option<String>,
    pub usage: ScriptedUsage,
    /// An error that ends the answer early.
    pub failure: Option<Failure>,
    /// Whether a request for a stream gets one.
    pub stream: bool,
}

/// The reported token usage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum ScriptedUsage {
    /// An estimate from the lengths of the texts.
    #[default]
    Estimated,
    Missing,
    Exactly(Usage),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Failure {
    pub message: Option<String>,
    pub code: Option<String>,
}

/// How the body of an answer is sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Delivery {
    pub chunks: Chunks,
    /// Pause between two pieces.
    pub pace: Duration,
    /// Number of tokens after which the stream stalls.
    pub stall: Option<usize>,
    /// Number of bytes after which the connection is reset.
    pub cut: Option<usize>,
}

/// How the bytes of a body are split.
#[derive(Clone, Debug, Default)]
pub(super) enum Chunks {
    /// One piece for each event.
    #[default]
    Events,
    /// Pieces of these sizes, repeated.
    Sizes(Vec<usize>),
    /// Pieces of random sizes.
    Seed(u64),
}

impl Script {
    /// Parses a script. Fails with every error, in the order of the text.
    pub fn read(source: &SourceFile) -> Result<Self, Vec<Diagnostic>> {
        let node = yaml::parse(source.text()).map_err(|problem| {
            let message = format!("this is not valid YAML: {}", problem.message);
            vec![Diagnostic::new(&CONFIG_KEY, problem.span, message)]
        })?;
        let found = Mistakes::in_project();
        let mut script = Self::default();
        if let Some(section) = Section::new("a script", &node, &found) {
            section.expect_keys(&["turns"]);
            if section.get("turns").is_none() {
                section.report(section.span(), "a script lacks the key `turns`");
            }
            for (index, node) in section.list("turns").iter().enumerate() {
                script.turns.extend(turn(index, node, &found));
            }
        }
        let found = found.sorted();
        if found.is_empty() {
            Ok(script)
        } else {
            Err(found)
        }
    }
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.user, &self.tool) {
            (None, None) => f.write_str("for any request"),
            (Some(user), None) => write!(f, "when the user says {user:?}"),
            (None, Some(tool)) => write!(f, "when a tool returns {tool:?}"),
            (Some(user), Some(tool)) => {
                write!(f, "when the user says {user:?} and a tool returns {tool:?}")
            }
        }
    }
}

fn turn(index: usize, node: &Node, found: &Mistakes) -> Option<ScriptTurn> {
    let what = format!("turn {}", index + 1);
    let section = Section::new(what, node, found)?;
    let before = found.count();
    section.expect_keys(&KEYS);
    if found.count() > before {
        return None;
    }
    let delay = section.time("delay", MAX_DELAY);
    Some(ScriptTurn {
        when: when(&section),
        repeat: repeat(&section),
        reply: reply(&section)?,
        delay: delay.unwrap_or_default(),
        delivery: Delivery {
            chunks: chunks(&section),
            pace: section.time("pace", MAX_DELAY).unwrap_or_default(),
            stall: size(&section, "stall"),
            cut: size(&section, "cut"),
        },
    })
}

/// Parses `when: { user: weather }` or `when: { tool: degrees }`.
fn when(section: &Section) -> When {
    let Some(when) = section.inner("when", &["user", "tool"]) else {
        return When::default();
    };
    When {
        user: when.text("user"),
        tool: when.text("tool"),
    }
}

/// Parses `repeat: 3` or `repeat: forever`.
fn repeat(section: &Section) -> Option<u64> {
    let node = section.get("repeat");
    if node.and_then(Node::text) == Some("forever") {
        return None;
    }
    let count = node.and_then(Node::number).and_then(Number::as_u64);
    let count = count.filter(|count| *count > 0);
    if let (Some(node), None) = (node, count) {
        let message = "`repeat` must be a whole number from 1, or `forever`";
        section.report(node.span, message);
    }
    Some(count.unwrap_or(1))
}

fn reply(section: &Section) -> Option<Reply> {
    let failure = Failure {
        message: section.text("error"),
        code: section.text("code"),
    };
    let content = CONTENT_KEYS.iter().find(|name| section.get(name).is_some());
    let kinds = ["status", "raw"].into_iter();
    let kinds: Vec<&str> = kinds
        .filter(|name| section.get(name).is_some())
        .chain(content.copied())
        .collect();
    if let [one, other, ..] = &*kinds {
        let span = section.get(other).map_or(section.span(), |node| node.span);
        let message = format!("a turn cannot have both `{one}` and `{other}`");
        section.report(span, message);
        return None;
    }
    match kinds.first() {
        Some(&"status") => {
            let status = section.count("status", (300, 599))?;
            Some(Reply::Status {
                status: u16::try_from(status).ok()?,
                retry_after: section.text("retry_after"),
                failure,
            })
        }
        Some(&"raw") => section.text("raw").map(Reply::Raw),
        Some(_) => answer(section, Some(failure)).map(Reply::Answer),
        None if failure.message.is_some() => answer(section, Some(failure)).map(Reply::Answer),
        None => {
            let message = "a turn has no reply";
            let help = "add `text: …`, `calls: …`, `json: …`, `status: …`, `error: …` or `raw: …`";
            section.found.explain(section.span(), message, help);
            None
        }
    }
}

fn answer(section: &Section, failure: Option<Failure>) -> Option<Answer> {
    let text = match (section.get("json"), section.get("text")) {
        (Some(json), None) => json.to_json().to_string(),
        (None, _) => section.text("text").unwrap_or_default(),
        (Some(json), Some(_)) => {
            let message = "a turn cannot have both `text` and `json`";
            section.report(json.span, message);
            return None;
        }
    };
    let calls = section.list("calls").iter();
    let calls = calls
        .map(|node| call(node, section.found))
        .collect::<Option<_>>()?;
    Some(Answer {
        reasoning: section.text("reasoning").unwrap_or_default(),
        text,
        calls,
        stop: section.text("stop"),
        usage: usage(section),
        failure: failure.filter(|failure| failure.message.is_some()),
        stream: section.get("stream").is_none() || section.flag("stream"),
    })
}

/// Parses `{ name: weather, arguments: { city: Oslo } }`. Arguments that are text are sent unchanged.
fn call(node: &Node, found: &Mistakes) -> Option<ToolCall> {
    let section = Section::new("a call", node, found)?;
    section.expect_keys(&["id", "name", "arguments"]);
    let arguments = match section.get("arguments") {
        None => "{}".to_owned(),
        Some(node) => node
            .text()
            .map_or_else(|| node.to_json().to_string(), str::to_owned),
    };
    Some(ToolCall {
        id: section.text("id").unwrap_or_default(),
        name: section.required("name")?,
        arguments,
    })
}

/// Parses `usage: { input: 12, output: 5, cached: 8 }` or `usage: none`.
fn usage(section: &Section) -> ScriptedUsage {
    let Some(node) = section.get("usage") else {
        return ScriptedUsage::Estimated;
    };
    if node.text() == Some("none") {
        return ScriptedUsage::Missing;
    }
    let Some(usage) = section.inner("usage", &["input", "output", "cached"]) else {
        return ScriptedUsage::Estimated;
    };
    let count = |name| usage.count(name, (0, u64::MAX)).unwrap_or(0);
    ScriptedUsage::Exactly(Usage {
        input: count("input"),
        output: count("output"),
        cached: count("cached"),
    })
}

/// Parses `chunks: 3`, `chunks: [1, 7]` or `chunks: { seed: 4 }`.
fn chunks(section: &Section) -> Chunks {
    let Some(node) = section.get("chunks") else {
        return Chunks::Events;
    };
    if node.entries().is_some() {
        let seed = section.inner("chunks", &["seed"]);
        let seed = seed.and_then(|section| section.count("seed", (0, u64::MAX)));
        return Chunks::Seed(seed.unwrap_or(0));
    }
    let items = node.items().unwrap_or(std::slice::from_ref(node));
    let size = |node: &Node| {
        let size = node
            .to_json()
            .as_u64()
            .filter(|size| (1..=MAX_PIECE).contains(size));
        size.and_then(|size| usize::try_from(size).ok())
    };
    match items.iter().map(size).collect::<Option<Vec<usize>>>() {
        Some(sizes) if !sizes.is_empty() => Chunks::Sizes(sizes),
        Some(_) | None => {
            let message =
                format!("`chunks` must be sizes in bytes from 1 to {MAX_PIECE}, or have a `seed`");
            section.report(node.span, message);
            Chunks::Events
        }
    }
}

fn size(section: &Section, name: &str) -> Option<usize> {
    let size = section.count(name, (0, u64::MAX))?;
    usize::try_from(size).ok()
}

/// Estimates the number of tokens of a text.
pub(super) fn estimate(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

impl Answer {
    /// Returns the reported token usage for a request with this body; `None` if none is reported.
    pub(super) fn usage(&self, body: &Json) -> Option<Usage> {
        match self.usage {
            ScriptedUsage::Missing => None,
            ScriptedUsage::Exactly(usage) => Some(usage),
            ScriptedUsage::Estimated => {
                let calls = self.calls.iter().map(|call| estimate(&call.arguments));
                Some(Usage {
                    input: estimate(&body.to_string()),
                    output: estimate(&self.reasoning) + estimate(&self.text) + calls.sum::<u64>(),
                    cached: 0,
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let source = SourceFile::new("s", text);
        let found = Script::read(&source).err().unwrap_or_default();
        let messages = found.iter().map(|one| {
            let place = source.position(one.span.start);
            format!("{}:{} {}", place.line, place.column, one.message)
        });
        messages.collect()
    }

    #[test]
    fn what_a_script_cannot_mean_has_its_place() {
        let cases = [
            (
                "turns: [",
                "1:8 this is not valid YAML: unclosed bracket '['",
            ),
            ("- a", "1:1 a script must be a mapping, but is a list"),
            ("turn: []", "1:1 a script has no key `turn`"),
            ("turns: [{}]", "1:9 a turn has no reply"),
            ("turns: [{ txt: a }]", "1:11 turn 1 has no key `txt`"),
            (
                "turns: [{ text: a, status: 500 }]",
                "1:17 a turn cannot have both `status` and `text`",
            ),
            (
                "turns: [{ text: a, json: 1 }]",
                "1:26 a turn cannot have both `text` and `json`",
            ),
            (
                "turns: [{ status: 200 }]",
                "1:19 `status` must be a whole number from 300 to 599",
            ),
            (
                "turns: [{ text: a, repeat: often }]",
                "1:28 `repeat` must be a whole number from 1, or `forever`",
            ),
            (
                "turns: [{ text: a, repeat: 0 }]",
                "1:28 `repeat` must be a whole number from 1, or `forever`",
            ),
            (
                "turns: [{ text: a, delay: 5 }]",
                "1:27 `delay` must be a duration such as `30s`, at most 86400s",
            ),
            (
                "turns: [{ text: a, chunks: 0 }]",
                "1:28 `chunks` must be sizes in bytes from 1 to 1048576, or have a `seed`",
            ),
            (
                "turns: [{ calls: [{ arguments: {} }] }]",
                "1:21 a call lacks the key `name`",
            ),
        ];
        for (text, expected) in cases {
            let problems = problems(text);
            assert!(
                problems.iter().any(|one| one == expected),
                "{text}: {problems:?}"
            );
        }
        assert_eq!(problems("turns: []"), [""; 0]);
    }
}
