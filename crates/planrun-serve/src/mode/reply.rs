//! The reply to a call.

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

fn listed(steps: &[Repeated]) -> String {
    let steps: Vec<String> = steps.iter().map(Repeated::to_string).collect();
    steps.join(", ")
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Findings(reports) => findings(NOTHING_CALLED, &reports),
            Error::Obstacles(report) => findings(NOTHING_CALLED, std::slice::from_ref(&*report)),
            Error::RepeatsEffects { run, steps } => format!(
                "Nothing was called. Steps above those that you have changed read something else now, so effects of {run} \
                 would be repeated: {}. Keep these steps as they were.",
                visible_line(&listed(&steps))
            ),
            other => format!("Nothing was called: {other}"),
        })
    }
}
