//! `planrun runs patch`: replaces the parts of a run's plan that have not started.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use planrun_lang::diag::render::{command, human, visible_line};

use super::resume;
use crate::cli::plan_files::checked_plan;
use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::{Error, Patched, Planrun, RecordedRun, ResumeOptions, Workspace};

/// Replace the parts of a run's plan that have not started
///
/// Started steps, and everything that they have read, are kept. Resume the run with `planrun runs resume` or
/// `--resume`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN")]
    run: String,
    /// Plan file with the new text
    #[arg(value_name = "PLAN")]
    file: PathBuf,
    /// Resume the run in this process
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    output: super::OutputArguments,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let run = wait(RecordedRun::patchable(planrun, &arguments.run))??;
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
                terminal.eprint(&human(&[*report], terminal.style));
            }
            Failure::Usage(
                "parts of the remaining plan cannot be executed, so nothing was changed".to_owned(),
            )
        }
        error => error.into(),
    })?;
    terminal.note(&format!("patched: {}", describe(&patched)));
    if !arguments.resume {
        terminal.note(&format!(
            "resume the run with `{}`",
            command(&format!("runs resume {id}"))
        ));
        return Ok(Exit::Fine);
    }
    resume(
        planrun,
        &id,
        ResumeOptions::default(),
        arguments.output.options(terminal),
    )
}

fn describe(patched: &Patched) -> String {
    let parts = [
        ("added", &patched.added),
        ("replaced", &patched.replaced),
        ("removed", &patched.removed),
    ];
    let mut parts: Vec<String> = parts
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
        parts.push("no named statement has changed".to_owned());
    }
    let files = patched.files.iter();
    parts
        .extend(files.map(|file| format!("the run takes over the changed {}", visible_line(file))));
    parts.join("; ")
}
