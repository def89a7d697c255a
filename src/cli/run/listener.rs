//! Who listens to a run on the command line.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use planrun_lang::diag::render::{escape_json, visible_line};
use planrun_lang::sema::Plan;

use crate::cli::arguments::RunFormat;
use crate::cli::exit::refusal;
use crate::cli::progress::Progress;
use crate::cli::terminal::written;
use crate::cli::{Failure, Terminal};
use planrun_core::journal::{AnswerError, Event, EventKind};
use planrun_runs::driver::Observer;

/// Who listens to a run on the command line.
pub struct Listener {
    audience: Audience,
    /// Questions that are open: the lines of the terminal are theirs meanwhile.
    open: usize,
    terminal: Terminal,
    /// What the plan calls its tasks, by their names.
    titles: BTreeMap<Arc<str>, Arc<str>>,
    /// Why events could not be written.
    unwritten: Option<io::Error>,
}

enum Audience {
    People(Box<Progress>),
    Programs(io::BufWriter<io::Stdout>),
    Nobody,
}

impl Listener {
    pub fn new(format: RunFormat, terminal: Terminal, plan: Option<&Plan>) -> Self {
        let audience = match format {
            RunFormat::Human => {
                Audience::People(Box::new(Progress::new(!terminal.quiet, terminal.look)))
            }
            RunFormat::Ndjson => Audience::Programs(io::BufWriter::new(io::stdout())),
            RunFormat::Json | RunFormat::Quiet => Audience::Nobody,
        };
        let tasks = plan.into_iter().flat_map(|plan| &plan.tasks);
        let titles = tasks
            .map(|task| (task.name.clone(), task.title.clone()))
            .collect();
        Self {
            audience,
            open: 0,
            terminal,
            titles,
            unwritten: None,
        }
    }

    /// Takes the live lines away.
    ///
    /// # Errors
    /// When events could not be written, as to a full disk. A reader that has gone is no failure.
    pub fn close(&mut self) -> Result<(), Failure> {
        match &mut self.audience {
            Audience::People(progress) => progress.close(),
            Audience::Programs(_) => self.idle(),
            Audience::Nobody => {}
        }
        self.unwritten
            .take()
            .map_or(Ok(()), |error| written(Err(error)))
    }

    /// Notes why something could not be written. It does not stop the run.
    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.unwritten.get_or_insert(error);
        }
    }

    /// Tells what was not taken; the live lines make room for it.
    fn complain(&self, text: &str) {
        match &self.audience {
            Audience::People(progress) => progress.beside(|| self.terminal.complain(text)),
            Audience::Programs(_) | Audience::Nobody => self.terminal.complain(text),
        }
    }

    /// One question less is open; after the last one the live lines come back.
    fn answered(&mut self) {
        self.open = self.open.saturating_sub(1);
        if let (0, Audience::People(progress)) = (self.open, &mut self.audience) {
            **progress = Progress::new(!self.terminal.quiet, self.terminal.look);
        }
    }

    fn show(&mut self, kind: &EventKind) {
        let Audience::People(progress) = &mut self.audience else {
            return;
        };
        let _ = notice(kind).inspect(|notice| self.terminal.say(notice));
        match kind {
            EventKind::StepRunning { path, tool, .. } => progress.started(path, tool),
            EventKind::StepWaiting {
                path,
                attempt,
                wait,
                error: Some(_),
                ..
            } => progress.retrying(path, *attempt, *wait),
            EventKind::StepSettled {
                path,
                state,
                attempts,
                duration,
                error,
                ..
            } => progress.finished(path, *state, *attempts, *duration, error.as_deref()),
            EventKind::TaskSet { path, status, .. }
            | EventKind::TaskMoved {
                path,
                status,
                refused: None,
                ..
            } => {
                progress.moved(path, self.titles.get(path).map(|title| &**title), status);
            }
            EventKind::ListenerFired { path } => progress.fired(path),
            EventKind::StepAsks { .. } => {
                self.open += 1;
                progress.close();
            }
            EventKind::AnswerGiven { .. } => self.answered(),
            EventKind::RunStarted { .. }
            | EventKind::BudgetLow { .. }
            | EventKind::ResultNoted { .. }
            | EventKind::StepQueued { .. }
            | EventKind::StepCopied { .. }
            | EventKind::StepRetried { .. }
            | EventKind::HandleGiven { .. }
            | EventKind::UsageReported { .. }
            | EventKind::StepWaiting { .. }
            | EventKind::StepSleeps { .. }
            | EventKind::StepRecovering { .. }
            | EventKind::TimerFired { .. }
            | EventKind::RunResumed
            | EventKind::RunCancelling { .. }
            | EventKind::RunPaused { .. }
            | EventKind::RunPatched { .. }
            | EventKind::RunGranted { .. }
            | EventKind::TaskMoved { .. }
            | EventKind::SignalReceived { .. }
            | EventKind::RunSettled { .. } => {}
        }
    }
}

/// What is said of an event in a line of its own.
fn notice(kind: &EventKind) -> Option<String> {
    if let EventKind::BudgetLow {
        budget,
        used,
        limit,
    } = kind
    {
        let notice = format!("{used} of the budget of {limit} for {budget} is used");
        Some(notice)
    } else if let EventKind::ResultNoted { path, note } = kind {
        let path = visible_line(path);
        let notice = format!("the result of {path} counts, but breaks a format: {note}");
        Some(notice)
    } else {
        None
    }
}

impl Observer for Listener {
    fn observe(&mut self, event: &Event) {
        if let Audience::Programs(writer) = &mut self.audience {
            let mut line = Vec::new();
            let result = event.write_line(&mut line);
            let line = escape_json(&String::from_utf8_lossy(&line));
            let result = result.and_then(|()| writer.write_all(line.as_bytes()));
            self.note(result);
        }
        self.show(&event.kind);
        if let EventKind::SignalReceived {
            signal,
            refused: Some(why),
            ..
        } = &event.kind
        {
            self.complain(&format!("the signal `{signal}` was not taken: {why}"));
        }
        if let EventKind::TaskMoved {
            path,
            status,
            refused: Some(why),
            ..
        } = &event.kind
        {
            self.complain(&format!("`{path}` was not moved to `{status}`: {why}"));
        }
    }

    fn refused(&mut self, error: &AnswerError) {
        self.complain(&refusal(error));
    }

    fn idle(&mut self) {
        if let Audience::Programs(writer) = &mut self.audience {
            let result = writer.flush();
            self.note(result);
        }
    }
}
