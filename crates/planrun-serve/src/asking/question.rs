//! The wording of a question to a person, in which external text cannot pass for planrun's own.

use std::fmt::Write as _;
use std::sync::Arc;

use planrun_core::journal::{Question, Waiting};
use planrun_lang::diag::render::{visible_line, visible_text};
use serde_json::Value as Json;

use crate::report::shorten;
use crate::tokens::cut;

/// Maximum length of a question in characters, and maximum size of its own text and of its reason in bytes.
const MAX_CHARACTERS: usize = 1_200;
const TEXT_BYTES: usize = 900;
const WHY_BYTES: usize = 160;
/// Maximum size of the displayed arguments, in tokens.
const MAX_ARGUMENTS: usize = 90;

/// A question of a run that a person has to answer.
#[derive(Clone, Debug)]
pub struct PendingQuestion {
    pub run: String,
    /// The path under which it is answered.
    pub path: Arc<str>,
    /// The whole question as text, at most 1,200 characters.
    pub text: String,
    pub question: Arc<Question>,
}

impl PendingQuestion {
    /// Creates the question of a run at a path.
    #[must_use]
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
    #[must_use]
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
    #[must_use]
    pub fn command(&self) -> String {
        let Self { run, path, .. } = self;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let is_yes = matches!(self.question.kind, Waiting::Confirm | Waiting::Approval);
        if is_yes && self.question.by.is_none() && path.bytes().all(is_plain) {
            format!("planrun runs answer {run} {path}=true --resume")
        } else {
            format!("planrun runs answer {run} --interactive --resume")
        }
    }
}

fn text(run: &str, path: &str, question: &Question) -> String {
    let mut text = String::new();
    if question.kind == Waiting::Approval {
        // The text is planrun's own, and external text in it was escaped when it was written.
        text.push_str(&question.text);
    } else {
        let _ = writeln!(text, "Run {run} asks at {}:", visible_line(path));
        quoted(&mut text, cut(&question.text, TEXT_BYTES).as_ref());
    }
    if let Some(why) = &question.why {
        let _ = writeln!(text, "Why: {}", cut(&visible_line(why), WHY_BYTES));
    }
    if !question.tool.is_empty() {
        let effect = question.effect.map_or("", |effect| effect.name());
        let _ = writeln!(
            text,
            "It calls {} ({effect}) with",
            visible_line(&question.tool)
        );
        let arguments = shorten(&question.arguments.to_json(), Some(MAX_ARGUMENTS));
        quoted(&mut text, &arguments.value.to_string());
    }
    text.chars().take(MAX_CHARACTERS).collect()
}

/// Adds external text with a mark before each line, so that no line can pass for one of planrun's own.
fn quoted(text: &mut String, outside: &str) {
    for line in visible_text(outside).lines() {
        let _ = writeln!(text, "| {line}");
    }
}
