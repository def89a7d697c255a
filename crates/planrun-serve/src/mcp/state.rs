//! What a client carries from a question to the request that brings the answer: sealed, so that only this project's servers
//! can have made it. That it is used once is the journal's to see to: a question is answered once.

use std::time::Duration;

use planrun_runs::runs::Planrun;
use planrun_tools::host::random_hex;
use planrun_tools::project::{check_own_folder, journal_file, make_own_folder};
use rmcp::model::{ElicitResult, InputResponses, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};

use super::elicitation::said;
use crate::asking::{AskOutcome, PutQuestion, Way};

/// The file of the key, beside the journal, readable by its user only.
const KEY_FILE: &str = "serve.key";
/// How long an answer may take.
const VALID_FOR: Duration = Duration::from_hours(24);

/// Seals what clients carry.
pub(super) struct Seal {
    codec: Option<RequestStateCodec>,
}

/// A question that a client brings back.
#[derive(Serialize, Deserialize)]
pub(super) struct Carried {
    pub run: String,
    pub path: String,
    /// Whether it was put as the address of a page.
    pub by_page: bool,
    /// When it was asked, in milliseconds since 1970.
    asked_at: u64,
}

impl Seal {
    /// The seal of a project: all its servers have the same, so that an answer finds the run after a restart.
    pub(super) fn of(planrun: &Planrun) -> Self {
        let key = key(planrun);
        Self {
            codec: RequestStateCodec::try_new(key.into_bytes()).ok(),
        }
    }

    /// What a client carries of a question to the same call of a tool.
    pub(super) fn seal(
        &self,
        tool: &str,
        (question, way): (&PutQuestion, &Way),
        now: i128,
    ) -> Option<String> {
        let carried = Carried {
            run: question.run.clone(),
            path: question.path.to_string(),
            by_page: matches!(way, Way::Page(_)),
            asked_at: milliseconds(now),
        };
        let bytes = serde_json::to_vec(&carried).ok()?;
        let options = SealOptions::new()
            .associated_data(tool.as_bytes())
            .ttl(VALID_FOR);
        Some(self.codec.as_ref()?.seal_with(&bytes, &options))
    }

    /// What a client has carried.
    ///
    /// # Errors
    /// When it was not sealed here for this tool, or too long ago.
    pub(super) fn open(&self, tool: &str, sealed: &str) -> Result<Carried, String> {
        let refused = "this requestState was not given for this call, or too long ago";
        let opened = self
            .codec
            .as_ref()
            .and_then(|codec| codec.open_with(sealed, tool.as_bytes()).ok());
        let carried = opened.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        carried.ok_or_else(|| refused.to_owned())
    }
}

impl Carried {
    /// What somebody has said to the question meanwhile; nothing where what came back is no answer to it.
    pub(super) fn said(
        &self,
        question: &PutQuestion,
        answers: Option<&InputResponses>,
        now: i128,
    ) -> Option<AskOutcome> {
        let answer = answers?.get(&*question.path)?;
        let answer = ElicitResult::deserialize(answer).ok()?;
        let after = milliseconds(now).saturating_sub(self.asked_at);
        let after = Duration::from_millis(after);
        Some(said(question, self.by_page, answer, after))
    }
}

fn milliseconds(nanoseconds: i128) -> u64 {
    u64::try_from(nanoseconds / 1_000_000).unwrap_or(0)
}

/// The key of a project, which is made where there is none; where it cannot be kept, one of this process.
fn key(planrun: &Planrun) -> String {
    let (host, folder) = (planrun.host(), &planrun.location().folder);
    let file = journal_file(folder).with_file_name(KEY_FILE);
    if let Ok(key) = host.read_file(&file)
        && key.len() >= RequestStateCodec::MIN_KEY_LENGTH
    {
        return key;
    }
    let key = random_hex(&**host, 4);
    if check_own_folder(&**host, folder).is_ok() && make_own_folder(&**host, folder).is_ok() {
        // One of this process is as good until it ends.
        let _ = host.write_private_file(&file, key.as_bytes());
    }
    key
}
