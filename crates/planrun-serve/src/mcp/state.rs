//! The request state that a client returns with the answer to a question. It is sealed, so that only servers of this
//! project can have created it. The journal ensures that it is used only once, because a question can be answered only
//! once.

use std::io::ErrorKind;
use std::time::Duration;

use planrun_lang::value::sorted_json;
use planrun_runs::runs::Planrun;
use planrun_tools::host::random_hex;
use planrun_tools::project::{check_own_folder, journal_file, make_own_folder};
use rmcp::model::{ElicitResult, InputResponses, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::elicitation::outcome_of;
use crate::asking::{AskChannel, AskOutcome, PendingQuestion};

/// The file of the key, next to the journal and readable only by the user.
const KEY_FILE: &str = "serve.key";
/// How long an answer may take.
const VALID_FOR: Duration = Duration::from_hours(24);

/// Seals request states.
pub(super) struct Seal {
    codec: Option<RequestStateCodec>,
}

/// The state of a question that a client returns.
#[derive(Serialize, Deserialize)]
pub(super) struct RequestState {
    pub run: String,
    pub path: String,
    /// Whether the question was asked with the address of a page.
    pub by_page: bool,
    /// When the question was asked, in milliseconds since the Unix epoch.
    asked_at: u64,
}

/// What distinguishes calls: the tool and its arguments. A state of one call does not continue another.
pub(super) struct CallMark(Vec<u8>);

impl CallMark {
    pub(super) fn of(tool: &str, arguments: Option<&Map<String, Json>>) -> Self {
        let arguments = arguments.cloned().unwrap_or_default();
        let arguments = sorted_json(&Json::Object(arguments));
        Self(format!("{tool}\n{arguments}").into_bytes())
    }
}

impl Seal {
    /// Creates the seal of a project. All servers of a project use the same key, so that an answer reaches its run
    /// after a restart.
    pub(super) fn of(planrun: &Planrun) -> Self {
        let key = key(planrun);
        Self {
            codec: RequestStateCodec::try_new(key.into_bytes()).ok(),
        }
    }

    /// Returns the sealed state of a question, which the client returns with the same call of a tool.
    pub(super) fn seal(
        &self,
        call: &CallMark,
        (question, channel): (&PendingQuestion, &AskChannel),
        now: i128,
    ) -> Option<String> {
        let request_state = RequestState {
            run: question.run.clone(),
            path: question.path.to_string(),
            by_page: matches!(channel, AskChannel::Page(_)),
            asked_at: milliseconds(now),
        };
        let bytes = serde_json::to_vec(&request_state).ok()?;
        let options = SealOptions::new().associated_data(&call.0).ttl(VALID_FOR);
        Some(self.codec.as_ref()?.seal_with(&bytes, &options))
    }

    /// Opens a sealed state. Returns an error if it was not sealed here for this call, or too long ago.
    pub(super) fn open(&self, call: &CallMark, sealed: &str) -> Result<RequestState, String> {
        let refused = "this requestState was not issued for this call, or has expired";
        let opened = self
            .codec
            .as_ref()
            .and_then(|codec| codec.open_with(sealed, &call.0).ok());
        let request_state = opened.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        request_state.ok_or_else(|| refused.to_owned())
    }
}

impl RequestState {
    /// Returns the outcome of the question; `None` if the client did not return an answer to it.
    pub(super) fn outcome(
        &self,
        question: &PendingQuestion,
        answers: Option<&InputResponses>,
        now: i128,
    ) -> Option<AskOutcome> {
        let answer = answers?.get(&*question.path)?;
        let answer = ElicitResult::deserialize(answer).ok()?;
        let after = milliseconds(now).saturating_sub(self.asked_at);
        let after = Duration::from_millis(after);
        Some(outcome_of(question, self.by_page, answer, after))
    }
}

fn milliseconds(nanoseconds: i128) -> u64 {
    u64::try_from(nanoseconds / 1_000_000).unwrap_or(0)
}

/// Returns the key of a project, which is created if it does not exist. If its file cannot be read or written, the key
/// is valid for this process only.
fn key(planrun: &Planrun) -> String {
    let (host, folder) = (planrun.host(), &planrun.location().folder);
    let file = journal_file(folder).with_file_name(KEY_FILE);
    let stored = host.read_file(&file);
    let may_be_written = match &stored {
        Ok(key) if key.len() >= RequestStateCodec::MIN_KEY_LENGTH => return key.clone(),
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    let key = random_hex(&**host, 4);
    if may_be_written
        && check_own_folder(&**host, folder).is_ok()
        && make_own_folder(&**host, folder).is_ok()
    {
        // If the key cannot be stored, it is used until this process exits.
        let _ = host.write_private_file(&file, key.as_bytes());
    }
    key
}
