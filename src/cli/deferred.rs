//! Deferred calls: the result file exists before the call is made, and another process makes the call.

use std::path::Path;
use std::process::{Command, Stdio};

use planrun_runs::runs::{Planrun, ResultFile, Run};
use serde_json::{Value as Json, json};

use super::{Failure, Result};

/// Creates the result file of a run that has been started, and hands the run to a new process. Returns the notice for
/// the caller: the path of the file, the run, and the tool that is called. Returns an error if the file cannot be
/// written, or the process cannot be started.
pub fn begin(planrun: &Planrun, run: Run, (tool, arguments): (&str, Json)) -> Result<Json> {
    let id = run.release();
    let file = ResultFile::of(planrun, &id);
    file.create(&id, tool)?;
    hand_over(&planrun.location().folder, &id).map_err(|error| {
        // The caller must not wait for a result that will never be written.
        file.remove();
        Failure::Environment(format!(
            "cannot start the process that makes the call: {error}"
        ))
    })?;
    let path = file.path().display().to_string();
    Ok(json!({
        "status": "pending", "result": path, "run": id, "tool": tool, "input": arguments,
    }))
}

/// Starts a process that resumes a run and outlives this one.
fn hand_over(folder: &Path, run: &str) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    if !folder.as_os_str().is_empty() {
        command.arg("--project").arg(folder);
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
