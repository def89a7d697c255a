//! Result files of deferred calls: the file exists before the call is made, and holds its current status.
//!
//! The file is named after the run of the call. It is written to a folder that only the user can read, and is
//! replaced as a whole. `planrun run` and the commands of `planrun runs` update it when they drive the run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use planrun_core::journal::StepError;
use planrun_core::run::{Interruption, Outcome};
use planrun_lang::diag::render::escape_json;
use planrun_lang::protocol::RunState;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_runs::runs::{Planrun, Run};
use planrun_tools::host::Host;
use planrun_tools::project::own_folder;
use serde_json::{Map, Value as Json, json};

use super::{Exit, Failure};

/// Writes the result file of a run that has been started, and hands the run to a new process. Returns the notice for
/// the caller: the path of the file, the run, and the tool that is called.
///
/// # Errors
/// Returns an error if the file cannot be written, or the process cannot be started.
pub fn begin(
    planrun: &Planrun,
    run: Run,
    (tool, arguments): (&str, Map<String, Json>),
) -> Result<Json, Failure> {
    let folder = planrun.location().folder.clone();
    let id = run.release();
    let host = &**planrun.host();
    let path = file(&folder, &id);
    let pending = json!({
        "status": "pending",
        "message": "The call runs in the background; this file will contain its result.",
        "run": id,
        "tool": tool,
    });
    let written = host
        .make_private_folder(path.parent().unwrap_or(&folder))
        .and_then(|()| host.write_private_file(&path, text(&pending).as_bytes()));
    written.map_err(|error| {
        Failure::Environment(format!("cannot write `{}`: {error}", path.display()))
    })?;
    hand_over(&folder, &id).map_err(|error| {
        // The caller must not wait for a result that will never be written.
        let _ = host.remove_file(&path);
        Failure::Environment(format!(
            "cannot start the process that makes the call: {error}"
        ))
    })?;
    let path = path.display().to_string();
    Ok(json!({
        "status": "pending", "result": path, "run": id, "tool": tool, "input": arguments,
    }))
}

/// Starts a process that resumes a run and outlives this one.
fn hand_over(folder: &Path, run: &str) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    if !folder.as_os_str().is_empty() {
        command.current_dir(folder);
    }
    command
        .args(["runs", "resume", run])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop)
}

/// Updates the result file of a run, if it has one.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn update(host: &dyn Host, folder: &Path, outcome: &Outcome) -> Result<(), Failure> {
    let path = file(folder, &outcome.run);
    if host.kind(&path).is_err() {
        return Ok(());
    }
    let (document, _) = envelope(outcome);
    let written = host.write_private_file(&path, text(&document).as_bytes());
    written.map_err(|error| {
        Failure::Environment(format!("cannot write `{}`: {error}", path.display()))
    })
}

/// Returns the status of a call as JSON, and the exit code for it.
#[must_use]
pub fn envelope(outcome: &Outcome) -> (Json, Exit) {
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
                let answer = format!("planrun runs answer {run} {path}=VALUE --resume");
                json!({ "path": path, "question": question.text, "answer_with": answer })
            })
            .collect();
        let document = json!({
            "success": false, "status": status, "run": run, "questions": questions, "error": error,
        });
        return (document, Exit::Paused);
    }
    if outcome.state == RunState::Completed {
        let data = outcome.redacted_reply().map(|reply| reply.to_json());
        let document = json!({ "success": true, "status": "done", "run": run, "data": data });
        return (document, Exit::Fine);
    }
    let error = outcome.error.as_deref();
    let status = match (outcome.state, error.map(|error| &error.class)) {
        (RunState::Cancelled, _) => "cancelled",
        (_, Some(ErrorClass::Denied(Denied::Human))) => "rejected",
        (_, Some(ErrorClass::Expired)) => "expired",
        _ => "error",
    };
    let error = error.map(error_json);
    let document = json!({ "success": false, "status": status, "run": run, "error": error });
    (document, Exit::Findings)
}

fn error_json(error: &StepError) -> Json {
    json!({ "code": error.class.to_string(), "message": error.message })
}

/// Returns the path of the result file of a run. Run ids are random and only the user can read the folder, so no one
/// else can guess the path or read the file.
fn file(folder: &Path, run: &str) -> PathBuf {
    own_folder(folder)
        .join("results")
        .join(format!("{run}.json"))
}

fn text(document: &Json) -> String {
    let text = serde_json::to_string_pretty(document).unwrap_or_default();
    escape_json(&text) + "\n"
}
