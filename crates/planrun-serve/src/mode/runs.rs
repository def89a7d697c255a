//! `runs`: lists the latest runs, reports the state of one, and returns further parts of its reply.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::tool_of_call;
use planrun_runs::journal::store::JournalError;
use planrun_runs::runs::{CALL, Error, RecordedRun, RunFilter};
use planrun_tools::host::runtime_now;
use tokio::runtime::Handle;

use super::arguments::Arguments;
use super::run::{ReplyFormat, WaitOptions};
use super::{MAX_WAIT, PlanMode, Reply};
use crate::asking::Client;
use crate::blocking::blocking;
use crate::report;
use crate::tokens::cut;

/// Maximum number of listed runs.
const MAX_RUNS: usize = 10;
/// Maximum size of the arguments of a call in the list, in bytes.
const ARGUMENT_BYTES: usize = 100;

impl PlanMode {
    pub(super) async fn runs(
        self: &Arc<Self>,
        arguments: &mut Arguments,
        client: Arc<dyn Client>,
    ) -> Result<Reply, Reply> {
        let id: Option<String> = arguments.optional("id")?;
        let seconds: Option<u64> = arguments.optional("wait_s")?;
        let path: Option<String> = arguments.optional("path")?;
        let from: Option<usize> = arguments.optional("from")?;
        arguments.done()?;
        let Some(id) = id else {
            let latest = blocking(self, |mode| mode.latest());
            return Ok(Reply::text(latest.await?));
        };
        let visible = blocking(self, move |mode| {
            let run = mode.planrun.run(&id)?.run.clone();
            mode.require_visible(&run)?;
            Ok::<_, Reply>(run)
        });
        let run = visible.await?;
        if let Some(path) = path {
            let part = move |mode: &Arc<Self>| mode.part(&run, &path, from.unwrap_or_default());
            return blocking(self, part).await;
        }
        let wait = Duration::from_secs(seconds.unwrap_or_default()).min(MAX_WAIT);
        let options = WaitOptions {
            until: runtime_now() + wait,
            format: ReplyFormat::Report(None),
            is_patient: true,
        };
        self.wait_for_run(&run, client, options).await
    }

    /// Refuses a run that plans with these permissions must not see.
    pub(super) fn require_visible(&self, run: &str) -> Result<(), Reply> {
        if self.planrun.recorded(run)?.is_visible() {
            return Ok(());
        }
        let why = "its plan had other permissions than yours";
        Err(Reply::Failed(format!("run {run} cannot be read: {why}")))
    }

    /// Lists the latest runs, one per line.
    fn latest(&self) -> Result<String, Reply> {
        let filter = RunFilter {
            limit: Some(MAX_RUNS),
            ..RunFilter::default()
        };
        let mut text = String::new();
        let runs = match self.planrun.list(&filter) {
            // No run has been started here yet.
            Err(Error::Journal(JournalError::Absent { .. })) => Vec::new(),
            runs => runs?,
        };
        for run in runs {
            // One run that cannot be read does not hide the others.
            let Ok(recorded) = self.planrun.recorded(&run.run) else {
                continue;
            };
            if recorded.is_visible() {
                let (id, status) = (&run.run, run.status());
                let what = described(&recorded, &run.plan);
                let _ = writeln!(text, "{id} {status} {what}");
            }
        }
        Ok(if text.is_empty() {
            "There are no runs yet.\n".to_owned()
        } else {
            text
        })
    }

    /// Returns a part of a run's reply.
    fn part(&self, run: &str, path: &str, from: usize) -> Result<Reply, Reply> {
        let outcome = self.planrun.recorded(run)?.outcome();
        let outcome = Handle::current().block_on(outcome)?;
        let Some(reply) = outcome.redacted_reply() else {
            return Err(Reply::Failed(format!(
                "run {run} has no reply: it is {}",
                outcome.state.name()
            )));
        };
        let reply = reply.to_json();
        let part = report::at(&reply, path, from, None)
            .map_err(|place| Reply::Failed(place.to_string()))?;
        Ok(Reply::Success {
            text: part.to_string(),
            value: serde_json::to_value(part).ok(),
            blocks: Vec::new(),
        })
    }
}

/// Returns what a run does: the name of its plan, or its call with the arguments.
fn described(recorded: &RecordedRun, plan: &str) -> String {
    let call = tool_of_call(recorded.text()).filter(|_| recorded.file() == CALL);
    let call = call.and_then(|tool| Some((tool, recorded.redacted_inputs().ok()?)));
    let Some((tool, arguments)) = call else {
        return visible_line(plan).into_owned();
    };
    let arguments = arguments.to_string();
    let arguments = visible_line(&arguments);
    format!("{tool} {}", cut(&arguments, ARGUMENT_BYTES))
}
