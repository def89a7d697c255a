//! `planrun runs events`: prints the recorded events of a run, one per line.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::{Appearance, visible_line};
use planrun_lang::protocol::is_at_or_below;

use crate::cli::question::{QuestionView, render_answer};
use crate::cli::run::wait;
use crate::cli::suggest::did_you_mean;
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_core::journal::{Event, EventKind, EventName, StepError, Waiting, instant};
use planrun_runs::runs::{EventOptions, Planrun, RunEvent};

/// Print the events of a run
#[derive(Debug, Args)]
pub struct Arguments {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN")]
    run: String,
    /// Print only events of this step and of the steps inside it
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Print only events of this kind, such as `step.settled` (repeatable)
    #[arg(long, value_name = "EVENT", value_parser = event_name)]
    event: Vec<String>,
    /// Start at the event with this number
    #[arg(long, value_name = "N", default_value = "1")]
    from: u64,
    /// Keep printing new events until the run ends
    #[arg(long)]
    follow: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: EventFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum EventFormat {
    /// One line of text per event
    Human,
    /// The recorded JSON objects, one per line, with secrets redacted
    Ndjson,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let options = EventOptions {
        from: arguments.from,
    };
    if arguments.follow {
        let mut events = planrun.follow(&arguments.run, options)?;
        wait(async {
            while let Some(event) = events.next().await.filter(|_| !terminal.is_closed()) {
                arguments.print(&event?, terminal)?;
            }
            Ok::<_, Failure>(())
        })??;
    } else {
        let (mut prints, mut paths) = (false, BTreeSet::new());
        let events = planrun.events(&arguments.run, options)?;
        for event in events.take_while(|_| !terminal.is_closed()) {
            let kind = arguments.print(&event?, terminal)?;
            prints |= arguments.matches(&kind);
            paths.insert(kind.path().to_owned());
        }
        if !prints {
            let path = arguments
                .path
                .as_deref()
                .filter(|path| !paths.contains(*path));
            let hint = path.map(|path| did_you_mean(path, paths.iter().map(String::as_str)));
            terminal.note(&format!("no such events{}", hint.unwrap_or_default()));
        }
    }
    Ok(Exit::Fine)
}

fn event_name(text: &str) -> Result<String, String> {
    let names = || EventName::ALL.iter().map(|event| event.name());
    if names().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    let hint = did_you_mean(text, names());
    Err(format!("there is no such event{hint}"))
}

impl Arguments {
    /// Prints an event unless it is left out, and returns what it is.
    fn print(&self, event: &RunEvent, terminal: Terminal) -> Result<EventKind> {
        let decoded = Event::peek(event.line.as_bytes())
            .map_err(|error| Failure::Environment(format!("event {}: {error}", event.number)))?;
        if self.matches(&decoded.kind) {
            match self.format {
                EventFormat::Ndjson => terminal.print_json(&format!("{}\n", event.line))?,
                EventFormat::Human => terminal
                    .print(&(line(&decoded) + &question_or_answer(&decoded, terminal.style)))?,
            }
        }
        Ok(decoded.kind)
    }

    fn matches(&self, event: &EventKind) -> bool {
        let at = self
            .path
            .as_deref()
            .is_none_or(|outer| is_at_or_below(event.path(), outer));
        at && (self.event.is_empty() || self.event.iter().any(|name| name == event.name().name()))
    }
}

/// Renders the question that an event asks, or the answer that it holds; empty for other events.
fn question_or_answer(event: &Event, style: Appearance) -> String {
    if let EventKind::StepAsks { path, question } = &event.kind {
        let view = QuestionView {
            project: None,
            run: None,
            path: &question.path(path),
            question,
        };
        return view.render(event.at, style);
    }
    if let EventKind::AnswerGiven {
        value, by, note, ..
    } = &event.kind
    {
        return render_answer(value, by.as_deref(), note.as_deref(), style);
    }
    String::new()
}

/// The details of an event besides its kind and its path.
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
                what,
                wait,
                error,
                ..
            } => {
                (details.attempt, details.error) = (*attempt, error.as_deref());
                details.wait = Some(*wait).filter(|wait| !wait.is_zero());
                if *what == Waiting::Effects {
                    details.status = "for the effects above";
                }
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
            | EventKind::RunResumed { .. }
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
            | EventKind::LimitReached { .. }
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
    parts.extend(wait.map(|wait| format!("for {}", super::time::format_millis(wait))));
    parts.extend(
        details
            .error
            .map(|error| format!("{}: {}", error.class, visible_line(&error.message))),
    );
    format!("{}\n", parts.join("  ").trim_end())
}
