//! What a call is answered with.

use planrun_runs::runs::Error;
use serde_json::Value as Json;

use crate::asking::{PutQuestion, Way};
use crate::report::Block;

/// The answer to a call.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A text for the model, the same as a value where there is one, and what of it is shown.
    Told {
        text: String,
        value: Option<Json>,
        blocks: Vec<Block>,
    },
    /// Why nothing came of it, in words that say what to do.
    Failed(String),
    /// There is no such tool, so nothing could be called.
    Unknown(String),
    /// A run waits for a person whom the client has not asked: a text for the model, the question, and the address of its
    /// page where the person is not there yet.
    Waits {
        text: String,
        question: Box<PutQuestion>,
        page: Option<String>,
    },
    /// Somebody has to be asked, by a client that makes the call again with the answer.
    Asks(Box<PutQuestion>, Way),
}

impl Reply {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Told {
            text: text.into(),
            value: None,
            blocks: Vec::new(),
        }
    }
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Findings(reports) => crate::report::findings(&reports),
            Error::Obstacles(report) => crate::report::findings(std::slice::from_ref(&*report)),
            Error::RepeatsEffects { run, steps } => format!(
                "Nothing was called. Steps above those that you have changed read something else now, so effects of {run} \
                 would be done again: {}. Keep these steps as they were.",
                steps.join(", ")
            ),
            other => format!("Nothing was called: {other}"),
        })
    }
}
