//! Driving a run in this process, for whoever sits at the command line.

use std::path::PathBuf;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use super::answer::{self, UpTo};
use super::listener::Listener;
use super::record::Recording;
use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::signals::{end_on_signal, stop_on_signal};
use crate::cli::{Exit, Failure, Terminal, deferred};
use planrun_runs::driver::Silence;
use planrun_runs::runs::{Driven, Error, EventOptions, Planrun, ResumeOptions, Run};

/// How a run is shown.
#[derive(Clone, Copy)]
pub struct OutputOptions {
    pub format: RunFormat,
    pub output: RunOutput,
    pub terminal: Terminal,
}

impl OutputOptions {
    /// The reply, for people.
    #[must_use]
    pub fn plain(terminal: Terminal) -> Self {
        Self {
            format: RunFormat::Human,
            output: RunOutput::Reply,
            terminal,
        }
    }
}

/// Begins a run, or goes on with one, and prints what came of it; what the tools answer is written where that is wanted.
///
/// # Errors
/// When the service refuses, or the output cannot be written.
pub fn drive(
    planrun: &Planrun,
    (mut options, record): (ResumeOptions, Option<PathBuf>),
    output: OutputOptions,
    begin: impl FnOnce(ResumeOptions) -> Result<Run, Error>,
) -> Result<Exit, Failure> {
    let recording = record.map(Recording::new);
    options.stand_in = recording.as_ref().map(Recording::stand_in);
    let (cancel, until) = (options.cancel.clone(), options.until.clone());
    let run = match begin(options) {
        Err(Error::Stuck { run, deaths, event }) => {
            tell_stuck(&run, (deaths, event), output.terminal);
            return Ok(Exit::Paused);
        }
        run => run?,
    };
    if run.has_ended() {
        return print_ended(planrun, run, output);
    }
    let until = until.map(|step| (step, run.is_durable()));
    let until = until.as_ref().map(|(step, goes_on)| UpTo {
        step,
        goes_on: *goes_on,
    });
    drive_run(planrun, run, (cancel, until, recording), output)
}

/// Drives a run that has not ended, and prints what came of it.
///
/// # Errors
/// When the tools cannot be had, or the output cannot be written.
pub fn drive_run(
    planrun: &Planrun,
    run: Run,
    (cancel, until, recording): (CancellationToken, Option<UpTo<'_>>, Option<Recording>),
    output: OutputOptions,
) -> Result<Exit, Failure> {
    let continues = run.continues();
    let (driven, written) = listen(planrun, run, cancel, (output.format, output.terminal))?;
    if let Some(recording) = recording {
        recording.write(
            &**planrun.host(),
            &driven.secrets,
            (&driven.outcome, continues),
        )?;
    }
    let exit = answer::print(&driven.outcome, until, output)?;
    // The process is about to end, and gives its memory back faster as a whole than piece by piece.
    std::mem::forget(driven.outcome);
    written.map(|()| exit)
}

/// Drives a run to where this process lets go of it, and tells of its way; also why that could not all be told.
///
/// # Errors
/// When the tools cannot be had, or the file in which somebody waits for the result cannot be written.
pub fn listen(
    planrun: &Planrun,
    run: Run,
    cancel: CancellationToken,
    (format, terminal): (RunFormat, Terminal),
) -> Result<(Driven, Result<(), Failure>), Failure> {
    let mut listener = Listener::new(format, terminal, run.plan());
    stop_on_signal(cancel);
    let driven = wait(async {
        // It listens from its first turn on, and the run may be told of before the next one.
        tokio::task::yield_now().await;
        run.drive(&mut listener).await
    });
    let written = listener.close();
    let driven = driven??;
    let folder = &planrun.location().folder;
    deferred::tell(&**planrun.host(), folder, &driven.outcome)?;
    Ok((driven, written))
}

/// How a run has ended, with its events for programs that read them.
fn print_ended(planrun: &Planrun, run: Run, output: OutputOptions) -> Result<Exit, Failure> {
    if output.format == RunFormat::Ndjson {
        for event in planrun.events(run.id(), EventOptions::default())? {
            output.terminal.print_json(&format!("{}\n", event?.line))?;
        }
    }
    let driven = wait(run.drive(&mut Silence))??;
    answer::print(&driven.outcome, None, output)
}

/// Why a run at which processes die is not gone on with.
fn tell_stuck(run: &str, (deaths, event): (u32, u64), terminal: Terminal) {
    terminal.say(&format!(
        "the run {run} is paused: it died {deaths} times at event {event} without getting further; `{}` shows what it was \
         about to do, `{}` tries it once more",
        terminal.command(&format!("runs events {run}")),
        terminal.command(&format!("runs resume {run} --again")),
    ));
}

/// What a future comes to. All of a process are waited for by one runtime, so that a connection which one of them has made
/// serves the next.
///
/// # Errors
/// When the process has nothing left to run it with.
pub fn wait<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    end_on_signal();
    let runtime = RUNTIME.get_or_init(|| Builder::new_current_thread().enable_all().build());
    match runtime {
        Ok(runtime) => Ok(runtime.block_on(future)),
        Err(error) => Err(Failure::Environment(format!("cannot start: {error}"))),
    }
}
