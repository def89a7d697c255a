//! The wording of a question to a person, in which external text cannot pass for planrun's own.

use std::fmt::Write as _;
use std::sync::Arc;

use planrun_core::journal::{Question, Waiting};
use planrun_lang::diag::render::{command, visible_line, visible_text};
use serde_json::Value as Json;

use crate::report::shorten;
use crate::tokens::cut;

/// Maximum length of a question in characters. An approval is limited by the one who writes it.
const MAX_CHARACTERS: usize = 1_200;
/// Maximum size of the text of a question in bytes, without and with a call below it, and of its reason.
const TEXT_BYTES: usize = 900;
const TEXT_OF_CALL_BYTES: usize = 500;
const WHY_BYTES: usize = 160;
/// Maximum size of the displayed arguments, in tokens.
const MAX_ARGUMENTS: usize = 90;

/// A question of a run that a person has to answer.
#[derive(Clone, Debug)]
pub struct PendingQuestion {
    pub run: String,
    /// The path under which it is answered.
    pub path: Arc<str>,
    /// The question as text. It says so if something is left out.
    pub text: String,
    pub question: Arc<Question>,
}

impl PendingQuestion {
    /// Creates the question of a run at a path.
    pub fn new(run: &str, path: &Arc<str>, question: Arc<Question>) -> Self {
        let text = text(run, path, &question);
        Self {
            run: run.to_owned(),
            path: path.clone(),
            text,
            question,
        }
    }

    /// Returns the value of a refusal; `None` if the question cannot be refused.
    pub fn refusal(&self) -> Option<Json> {
        match self.question.kind {
            Waiting::Confirm | Waiting::Approval => Some(false.into()),
            Waiting::Peer => Some(Json::Null),
            Waiting::Input
            | Waiting::Answer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => None,
        }
    }

    /// Returns a shell command with which a person answers the question: one that agrees, if the question is for
    /// anyone, can be agreed to, and has a path that needs no quoting; otherwise one that asks interactively.
    pub fn command(&self) -> String {
        let Self { run, path, .. } = self;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let is_yes = matches!(self.question.kind, Waiting::Confirm | Waiting::Approval);
        if is_yes && self.question.by.is_none() && path.bytes().all(is_plain) {
            command(&format!("runs answer {run} {path}=true --resume"))
        } else {
            command(&format!("runs answer {run} --interactive --resume"))
        }
    }
}

fn text(run: &str, path: &str, question: &Question) -> String {
    if question.kind == Waiting::Approval {
        // The text is planrun's own, and external text in it was escaped when it was written.
        return question.text.to_string();
    }
    let mut text = format!("Run {run} asks at {}:\n", visible_line(path));
    let is_call = !question.tool.is_empty();
    let most = if is_call {
        TEXT_OF_CALL_BYTES
    } else {
        TEXT_BYTES
    };
    let own = quoted(&question.text);
    let shown = cut(&own, most);
    if !own.is_empty() {
        let _ = writeln!(text, "{}", shown.trim_end());
    }
    let mut is_cut = shown != own;
    if let Some(why) = &question.why {
        let why = visible_line(why);
        let shown = cut(&why, WHY_BYTES);
        let _ = writeln!(text, "Why: {shown}");
        is_cut |= shown != why;
    }
    if is_call {
        let effect = question.effect.map_or("", |effect| effect.name());
        let _ = writeln!(
            text,
            "It calls {} ({effect}) with",
            visible_line(&question.tool)
        );
        let arguments = shorten(&question.arguments.to_json(), Some(MAX_ARGUMENTS));
        text.push_str(&quoted(&arguments.value.to_string()));
        is_cut |= !arguments.cuts.is_empty();
    }
    let more = more();
    let room = MAX_CHARACTERS.saturating_sub(more.len() + 1);
    if let Some((end, _)) = text.char_indices().nth(room) {
        text.truncate(end);
        text.push('\n');
        is_cut = true;
    }
    if is_cut {
        text.push_str(&more);
    }
    text
}

/// Returns the last line of a question that is not shown as a whole.
fn more() -> String {
    let inbox = command("runs inbox --format json");
    format!("Some of it is left out here. All of it: {inbox}\n")
}

/// Returns external text with a mark before each line, so that no line can pass for one of planrun's own.
fn quoted(outside: &str) -> String {
    let mut text = String::new();
    for line in visible_text(outside).lines() {
        let _ = writeln!(text, "| {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gate(text: &str, arguments: &Json) -> String {
        let question = Question {
            tool: "desk.close".into(),
            arguments: planrun_lang::value::Value::from_json(arguments),
            ..Question::plain(Waiting::Confirm, text)
        };
        PendingQuestion::new("r1", &"a.confirm".into(), question.into()).text
    }

    #[test]
    fn what_is_left_out_is_said() {
        let short = gate("Close it?", &json!({ "id": 7 }));
        assert_eq!(
            short,
            "Run r1 asks at a.confirm:\n| Close it?\nIt calls desk.close () with\n| {\"id\":7}\n"
        );
        let long = json!({ "note": "x".repeat(900), "id": 7 });
        let texts = ["Close it?".to_owned(), "y".repeat(600), "\n".repeat(900)];
        for text in texts {
            let shown = gate(&text, &long);
            assert!(shown.ends_with(&format!("\n{}", more())), "{shown}");
            assert!(shown.chars().count() <= MAX_CHARACTERS, "{shown}");
            assert!(shown.contains("It calls desk.close") && shown.contains("\"id\":7"));
        }
    }
}
