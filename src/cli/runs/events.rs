//! `planrun runs events`: what was written of a run, one event a line.

use std::time::Duration;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::{Look, visible_line};

use crate::cli::question::{Asked, said};
use crate::cli::run::wait;
use crate::cli::{Exit, Failure, Terminal};
use planrun_core::journal::{Event, EventKind, StepError, instant};
use planrun_runs::runs::{EventOptions, Planrun, RunEvent};

/// Print the events of a run.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The run.
    #[arg(value_name = "RUN")]
    run: String,
    /// Only events of this step and of those in it.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Only events of this kind, such as `step.settled`. May be repeated.
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
    /// Begin with this event.
    #[arg(long, value_name = "N", default_value = "1")]
    from: u64,
    /// Go on until the run ends.
    #[arg(long)]
    follow: bool,
    /// How they are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: EventFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EventFormat {
    /// For people.
    Human,
    /// As they were written, with marks for what is secret: one JSON object a line.
    Ndjson,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let options = EventOptions {
        from: arguments.from,
    };
    if arguments.follow {
        let mut events = planrun.follow(&arguments.run, options)?;
        wait(async {
            while let Some(event) = events.next().await {
                arguments.print(&event?, terminal)?;
            }
            Ok::<(), Failure>(())
        })??;
    } else {
        for event in planrun.events(&arguments.run, options)? {
            arguments.print(&event?, terminal)?;
        }
    }
    Ok(Exit::Fine)
}

impl Arguments {
    fn print(&self, event: &RunEvent, terminal: Terminal) -> Result<(), Failure> {
        let told = Event::peek(event.line.as_bytes())
            .map_err(|error| Failure::Environment(format!("event {}: {error}", event.number)))?;
        if !self.wants(&told.kind) {
            return Ok(());
        }
        match self.format {
            EventFormat::Ndjson => terminal.print_json(&format!("{}\n", event.line)),
            EventFormat::Human => {
                terminal.print(&(line(&told) + &asked_or_said(&told, terminal.look)))
            }
        }
    }

    fn wants(&self, event: &EventKind) -> bool {
        let inside = |path: &str, outer: &str| {
            path.strip_prefix(outer)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let at = self
            .path
            .as_deref()
            .is_none_or(|outer| inside(event.path(), outer));
        at && (self.event.is_empty() || self.event.iter().any(|name| name == event.name().name()))
    }
}

/// The question that an event asks, or the answer that it brings.
fn asked_or_said(event: &Event, look: Look) -> String {
    if let EventKind::StepAsks { path, question } = &event.kind {
        let asked = Asked {
            project: None,
            run: None,
            path: &question.path(path),
            question,
        };
        return asked.told(event.at, look);
    }
    if let EventKind::AnswerGiven {
        value, by, note, ..
    } = &event.kind
    {
        return said(value, by.as_deref(), note.as_deref(), look);
    }
    String::new()
}

/// What a line tells of an event beside its kind and its path.
#[derive(Default)]
struct Details<'e> {
    tool: &'e str,
    attempt: u32,
    status: &'e str,
    reason: Option<&'e str>,
    wait: Option<Duration>,
    error: Option<&'e StepError>,
}

impl<'e> Details<'e> {
    fn of(kind: &'e EventKind) -> Self {
        let mut details = Self::default();
        match kind {
            EventKind::StepRunning { tool, attempt, .. } => {
                (details.tool, details.attempt) = (tool, *attempt);
            }
            EventKind::StepAsks { question, .. } => details.tool = &question.tool,
            EventKind::StepWaiting {
                attempt,
                wait,
                error,
                ..
            } => {
                (details.attempt, details.wait) = (*attempt, Some(*wait));
                details.error = error.as_deref();
            }
            EventKind::StepRecovering { error, .. } => details.error = Some(error),
            EventKind::StepSettled {
                state,
                attempts,
                reason,
                error,
                ..
            } => {
                (details.attempt, details.status) = (*attempts, state.name());
                (details.reason, details.error) = (reason.as_deref(), error.as_deref());
            }
            EventKind::RunSettled { state, error, .. } => {
                (details.status, details.error) = (state.name(), error.as_deref());
            }
            EventKind::TaskSet { status, .. } => details.status = status,
            EventKind::TaskMoved {
                status, refused, ..
            } => (details.status, details.reason) = (status, refused.as_deref()),
            EventKind::SignalReceived { refused, .. } => details.reason = refused.as_deref(),
            EventKind::RunStarted { .. }
            | EventKind::RunResumed
            | EventKind::RunCancelling { .. }
            | EventKind::RunPaused { .. }
            | EventKind::RunPatched { .. }
            | EventKind::RunGranted { .. }
            | EventKind::StepQueued { .. }
            | EventKind::StepSleeps { .. }
            | EventKind::AnswerGiven { .. }
            | EventKind::StepCopied { .. }
            | EventKind::StepRetried { .. }
            | EventKind::HandleGiven { .. }
            | EventKind::UsageReported { .. }
            | EventKind::ResultNoted { .. }
            | EventKind::BudgetLow { .. }
            | EventKind::TimerFired { .. }
            | EventKind::ListenerFired { .. } => {}
        }
        details
    }
}

fn line(event: &Event) -> String {
    let mut parts = vec![format!(
        "{:>5}  {}  {:<15}",
        event.number,
        instant(event.at),
        event.name()
    )];
    let details = Details::of(&event.kind);
    let words = |text: &str| (!text.is_empty()).then(|| visible_line(text).into_owned());
    parts.extend(words(event.kind.path()));
    parts.extend(words(details.tool));
    parts.extend((details.attempt > 1).then(|| format!("attempt {}", details.attempt)));
    parts.extend(words(details.status));
    let reason = details.reason.map(visible_line);
    parts.extend(reason.map(|reason| format!("({reason})")));
    let wait = details
        .wait
        .map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    parts.extend(wait.map(|wait| format!("for {}", super::when::length(wait))));
    parts.extend(
        details
            .error
            .map(|error| format!("{}: {}", error.class, visible_line(&error.message))),
    );
    format!("{}\n", parts.join("  ").trim_end())
}
