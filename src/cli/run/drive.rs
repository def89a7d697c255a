//! Drives a run in this process, with output on the terminal.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::answer;
use super::observer::ProgressObserver;
use super::record::Recording;
use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::signals::{end_on_signal, stop_on_signal};
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_lang::diag::render::command;
use planrun_runs::driver::Silence;
use planrun_runs::runs::{Driven, Error, EventOptions, Planrun, ResumeOptions, Run};

/// How to print a run.
#[derive(Clone, Copy)]
pub struct OutputOptions<'a> {
    pub format: RunFormat,
    pub output: RunOutput,
    pub terminal: Terminal,
    /// Where the JSON document of the run is added; without it, the document is printed.
    pub collected: Option<&'a RefCell<Vec<String>>>,
    /// Whether each event names its run, because the output has the events of several runs.
    pub names_run: bool,
    /// Whether the command would have taken `--mock`.
    pub may_mock: bool,
}

impl OutputOptions<'_> {
    /// Returns options that print the reply for people.
    pub fn plain(terminal: Terminal) -> Self {
        Self {
            format: RunFormat::Human,
            output: RunOutput::Reply,
            terminal,
            collected: None,
            names_run: false,
            may_mock: false,
        }
    }
}

/// Starts or resumes a run and prints its outcome; records the answers of the tools if requested. Returns an error if
/// the service refuses, the tools are not available, or the output or the recording cannot be written; the latter is
/// tried before the run starts.
pub fn drive(
    planrun: &Planrun,
    (mut options, record): (ResumeOptions, Option<PathBuf>),
    output: OutputOptions,
    begin: impl FnOnce(ResumeOptions) -> Result<Run, Error>,
) -> Result<Exit> {
    let recording = record
        .map(|path| Recording::to(path, &**planrun.host()))
        .transpose()?;
    options.stand_in = recording.as_ref().map(Recording::stand_in);
    let (cancel, until) = (options.cancel.clone(), options.until.clone());
    let run = match begin(options) {
        Err(Error::Stuck { run, deaths, event }) => {
            if output.format == RunFormat::Json {
                let outcome = wait(planrun.recorded(&run)?.outcome())??;
                answer::print_document(&outcome, output)?;
            }
            print_stuck(&run, (deaths, event), output.terminal);
            return Ok(Exit::Paused);
        }
        run => run?,
    };
    if run.has_ended() {
        return print_ended(planrun, run, output);
    }
    drive_run(planrun, run, (cancel, until.as_deref(), recording), output)
}

/// Drives a run that has not ended, and prints its outcome. Returns an error if the tools are not available, or the
/// output or the recording cannot be written.
pub fn drive_run(
    planrun: &Planrun,
    run: Run,
    (cancel, until, recording): (CancellationToken, Option<&str>, Option<Recording>),
    output: OutputOptions,
) -> Result<Exit> {
    let continues = run.continues();
    let (driven, written) = drive_with_progress(run, cancel, output)?;
    let (host, secrets) = (&**planrun.host(), &driven.secrets);
    let recorded = recording.map_or(Ok(()), |recording| {
        recording.write(host, secrets, (&driven.outcome, continues))
    });
    // What has happened is reported even if its answers could not be recorded.
    let exit = answer::print(&driven.outcome, until, output)?;
    // The process is about to exit, which frees the memory faster than dropping the outcome.
    std::mem::forget(driven.outcome);
    written.and(recorded).map(|()| exit)
}

/// Drives a run until this process suspends it or it ends, and prints its progress. The inner result is an error if the
/// progress, or the result file of a deferred call, could not be written. Returns an error if the tools are not
/// available, or the record of the run cannot be used.
pub fn drive_with_progress(
    run: Run,
    cancel: CancellationToken,
    output: OutputOptions,
) -> Result<(Driven, Result<()>)> {
    let mut observer = ProgressObserver::new(output, &run)?;
    stop_on_signal(cancel);
    let driven = wait(run.drive(&mut observer));
    let written = observer.close();
    let mut driven = driven??;
    let unwritten = driven.unwritten.take().map(Failure::from);
    Ok((driven, written.and(unwritten.map_or(Ok(()), Err))))
}

/// Prints the outcome of a run that has already ended, with its events if they are requested.
fn print_ended(planrun: &Planrun, run: Run, output: OutputOptions) -> Result<Exit> {
    if output.format == RunFormat::Ndjson {
        for event in planrun.events(run.id(), EventOptions::default())? {
            output.terminal.print_json(&format!("{}\n", event?.line))?;
        }
    }
    let driven = wait(run.drive(&mut Silence))??;
    let exit = answer::print(&driven.outcome, None, output)?;
    driven.unwritten.map_or(Ok(exit), |error| Err(error.into()))
}

/// Prints why a run is not resumed whose process died repeatedly at the same event.
fn print_stuck(run: &str, (deaths, event): (u32, u64), terminal: Terminal) {
    terminal.note(&format!(
        "the run {run} is paused: its process died {deaths} times at event {event} without making progress; see what it was \
         about to do with `{}`, or try once more with `{}`",
        command(&format!("runs events {run}")),
        command(&format!("runs resume {run} --again")),
    ));
}

/// Waits for a future. All futures of the process share one runtime, so that a connection opened by one is reused by
/// the next. Returns an error if the runtime cannot be created.
pub fn wait<T>(future: impl Future<Output = T>) -> Result<T> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    end_on_signal();
    let runtime = RUNTIME.get_or_init(|| Builder::new_current_thread().enable_all().build());
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(future)),
        Err(error) => Err(Failure::Environment(format!(
            "cannot start the runtime: {error}"
        ))),
    }
}
