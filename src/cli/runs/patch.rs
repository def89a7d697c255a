//! `planrun runs patch`: another text for what a run has not started.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use planrun_lang::diag::render::{human, visible_line};

use super::resume;
use crate::cli::plan_files::checked_plan;
use crate::cli::{Exit, Failure, Terminal};
use planrun_runs::runs::{Error, Patched, Planrun, RecordedRun, ResumeOptions, Workspace};

/// Give a run another text for what it has not started.
///
/// What has started, and what that has read, stays as it is. The run goes on with `planrun runs resume`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The run.
    #[arg(value_name = "RUN")]
    run: String,
    /// The file with the new text.
    #[arg(value_name = "PLAN")]
    file: PathBuf,
    /// Go on with the run then.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    look: super::LookArguments,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let run = RecordedRun::patchable(planrun, &arguments.run)?;
    let id = run.summary().run.clone();
    let location = planrun.location();
    let folder = Some(&location.folder)
        .filter(|_| location.file.is_some())
        .map(PathBuf::as_path);
    let workspace = Arc::new(Workspace::open(&arguments.file, folder)?);
    let Some(checked) = checked_plan(&workspace, &arguments.file, Some(run.plan()), terminal)?
    else {
        return Ok(Exit::Findings);
    };
    let patched = run.patch(&checked).map_err(|error| match error {
        Error::Obstacles(report) => {
            if !report.diagnostics.is_empty() {
                terminal.say_plainly(&human(&[*report], terminal.look));
            }
            Failure::Usage(
                "the rest of the plan could not be done as a whole, so nothing was changed"
                    .to_owned(),
            )
        }
        error => error.into(),
    })?;
    terminal.say(&format!("patched: {}", describe(&patched)));
    if !arguments.resume {
        terminal.say(&format!(
            "go on with `{}`",
            terminal.command(&format!("runs resume {id}"))
        ));
        return Ok(Exit::Fine);
    }
    resume(
        planrun,
        &id,
        ResumeOptions::default(),
        arguments.look.look(terminal),
    )
}

fn describe(patched: &Patched) -> String {
    let parts = [
        ("added", &patched.added),
        ("replaced", &patched.replaced),
        ("removed", &patched.removed),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(word, names)| {
            let names = names
                .iter()
                .map(|name| visible_line(name))
                .collect::<Vec<_>>();
            format!("{word} {}", names.join(", "))
        })
        .collect();
    if parts.is_empty() {
        "no named statement differs".to_owned()
    } else {
        parts.join("; ")
    }
}
