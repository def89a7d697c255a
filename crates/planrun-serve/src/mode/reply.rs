//! The reply to a call.

use std::fmt::Write as _;

use planrun_core::run::RepeatReason;
use planrun_lang::diag::render::visible_line;
use planrun_runs::runs::{Error, Repeated};
use serde_json::Value as Json;

use crate::asking::{AskChannel, PendingQuestion};
use crate::report::{Block, NOTHING_CALLED, findings};

/// The reply to a call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A text for the model, the same as a value if there is one, and the blocks that are displayed.
    Success {
        text: String,
        value: Option<Json>,
        blocks: Vec<Block>,
    },
    /// Why the call has failed, with what to do about it.
    Failed(String),
    /// There is no such tool, so nothing was called.
    Unknown(String),
    /// A run waits for a person whom the client has not asked: a text for the model, the question, and the address of
    /// its page if the person has not opened it yet.
    Waits {
        text: String,
        question: Box<PendingQuestion>,
        page: Option<String>,
    },
    /// A person has to be asked by a client that repeats the call with the answer.
    Asks(Box<PendingQuestion>, AskChannel),
}

impl Reply {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Success {
            text: text.into(),
            value: None,
            blocks: Vec::new(),
        }
    }
}

/// Tells a model why its plan would repeat effects of the run that it is based on, and how to avoid it.
pub fn would_repeat(run: &str, steps: &[Repeated]) -> String {
    let (changed, below): (Vec<_>, Vec<_>) = steps
        .iter()
        .partition(|step| step.reason == RepeatReason::Definition);
    let mut text = String::new();
    if !changed.is_empty() {
        let _ = write!(
            text,
            "The plan changes steps whose effects {run} has made, and which stay made: {}. Keep these steps as they \
             were, and write another call as a new step under another name.",
            listed(&changed)
        );
    }
    if !below.is_empty() {
        let between = if text.is_empty() { "" } else { " " };
        let _ = write!(
            text,
            "{between}Effects of {run} would be repeated, because of what has changed above them or of what has become of \
             them: {}. Keep the steps above them as they were.",
            listed(&below)
        );
    }
    text
}

fn listed(steps: &[&Repeated]) -> String {
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    visible_line(&steps.join(", ")).into_owned()
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Findings(reports) => findings(NOTHING_CALLED, &reports),
            Error::Obstacles(report) => findings(NOTHING_CALLED, std::slice::from_ref(&*report)),
            Error::RepeatsEffects { run, steps } => {
                format!("Nothing was called. {}", would_repeat(&run, &steps))
            }
            other => format!("Nothing was called: {other}"),
        })
    }
}
