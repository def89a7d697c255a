//! Result files of deferred calls: the file exists before the call is made, and holds its current status.
//!
//! The file is named after the run of the call. It is written to a folder that only the user can read, and is
//! replaced as a whole. Whatever process drives the run updates it, so that the one who waits for the result does not
//! depend on how the run is resumed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_core::journal::{Question, StepError};
use planrun_core::run::{Interruption, Outcome};
use planrun_lang::diag::render::{escape_json, quoted, visible_line};
use planrun_lang::protocol::RunState;
use planrun_lang::types::{Denied, Effect, ErrorClass};
use planrun_tools::host::Host;
use planrun_tools::project::own_folder;
use serde_json::{Value as Json, json};

use super::{Error, Planrun};

/// The result file of a run, whether or not it exists.
#[derive(Clone)]
pub struct ResultFile {
    host: Arc<dyn Host>,
    path: PathBuf,
    /// The folder of the project.
    project: PathBuf,
}

impl ResultFile {
    /// Returns the result file of a run. Run ids are random and only the user can read the folder, so no one else can
    /// guess the path or read the file.
    #[must_use]
    pub fn of(planrun: &Planrun, run: &str) -> Self {
        let project = planrun.location().folder.clone();
        let folder = own_folder(&project).join("results");
        // New ids have no slashes, but a journal from elsewhere may: its files stay in this folder.
        let name = run.rsplit(['/', '\\']).next().unwrap_or_default();
        Self {
            host: planrun.host().clone(),
            path: folder.join(format!("{name}.json")),
            project,
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the file for a call that has not been made yet.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn create(&self, run: &str, tool: &str) -> Result<(), Error> {
        let pending = json!({
            "status": "pending",
            "message": "The call runs in the background; this file will contain its result.",
            "run": run,
            "tool": tool,
        });
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let made = self.host.make_private_folder(folder);
        self.written(made.and_then(|()| self.write(&pending)))
    }

    /// Removes the file, if it exists.
    pub fn remove(&self) {
        // Without its run, the file is of no use, so a file that cannot be removed is no failure.
        let _ = self.host.remove_file(&self.path);
    }

    /// Updates the file, if it exists.
    pub(super) fn update(&self, outcome: &Outcome) -> Result<(), Error> {
        match self.host.kind(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            found => {
                self.written(found.and_then(|_| self.write(&call_status(outcome, &self.project))))
            }
        }
    }

    fn write(&self, document: &Json) -> io::Result<()> {
        let text = serde_json::to_string_pretty(document).unwrap_or_default();
        let text = escape_json(&text) + "\n";
        self.host.write_private_file(&self.path, text.as_bytes())
    }

    fn written(&self, result: io::Result<()>) -> Result<(), Error> {
        result.map_err(|error| {
            Error::Unusable(format!("cannot write `{}`: {error}", self.path.display()))
        })
    }
}

/// Returns the status of the call that a run of a project makes, as it is written to its result file.
#[must_use]
pub fn call_status(outcome: &Outcome, project: &Path) -> Json {
    let run = &outcome.run;
    if let Some(interruption) = &outcome.interruption {
        let (status, error) = match interruption {
            Interruption::Failed(error) => ("paused", Some(error_json(error))),
            Interruption::Waiting { .. } if !outcome.questions.is_empty() => {
                ("awaiting_confirmation", None)
            }
            Interruption::Waiting { .. } | Interruption::Reached => ("pending", None),
            Interruption::Asked | Interruption::Journal(_) => ("interrupted", None),
        };
        let questions: Vec<Json> = outcome
            .questions
            .iter()
            .map(|(path, question)| {
                let question = question.redacted(outcome.secrets());
                let tool = Some(&*question.tool).filter(|tool| !tool.is_empty());
                json!({
                    "path": path, "question": question.text, "tool": tool,
                    "effect": question.effect.map(Effect::name),
                    "arguments": question.arguments.to_json(),
                    "answer_with": answer_command(project, run, path, &question),
                })
            })
            .collect();
        return json!({
            "success": false, "status": status, "run": run, "questions": questions, "error": error,
        });
    }
    if outcome.state == RunState::Completed {
        let data = outcome.redacted_reply().map(|reply| reply.to_json());
        return json!({ "success": true, "status": "done", "run": run, "data": data });
    }
    let error = outcome.error.as_deref();
    let status = match (outcome.state, error.map(|error| &error.class)) {
        (RunState::Cancelled, _) => "cancelled",
        (_, Some(ErrorClass::Denied(Denied::Human))) => "rejected",
        (_, Some(ErrorClass::Expired)) => "expired",
        _ => "error",
    };
    let error = error.map(error_json);
    json!({ "success": false, "status": status, "run": run, "error": error })
}

/// Returns the shell command that answers a question, for the current folder of this process. In a form, the parts
/// between `<` and `>` have to be filled in.
fn answer_command(project: &Path, run: &str, path: &str, question: &Question) -> String {
    let project = if project.as_os_str().is_empty() {
        String::new()
    } else {
        let folder = project.display().to_string();
        format!(" --project {}", quoted(&visible_line(&folder)))
    };
    let run = quoted(&visible_line(run));
    let answer = question.answer_to_fill_in(|field| visible_line(&field.ty).into_owned());
    let answer = quoted(&escape_json(&format!("{path}={answer}")));
    let by = question.by.as_ref();
    let by = by.map(|by| format!(" --by {}", quoted(&visible_line(by))));
    format!(
        "planrun{project} runs answer {run} {answer}{} --resume",
        by.unwrap_or_default()
    )
}

fn error_json(error: &StepError) -> Json {
    json!({ "code": error.class.to_string(), "message": error.message })
}
