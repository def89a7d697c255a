//! Prints the progress of a run to the terminal, or its events for programs.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use indicatif::ProgressDrawTarget;
use parking_lot::Mutex;
use planrun_lang::diag::render::{project, visible_line};
use planrun_lang::value::saturating_duration;

use super::answer::print_effect;
use super::drive::OutputOptions;
use super::event_output::EventOutput;
use crate::cli::arguments::RunFormat;
use crate::cli::exit::refusal;
use crate::cli::progress::Progress;
use crate::cli::question::QuestionView;
use crate::cli::signals::{Interrupt, listen};
use crate::cli::terminal::written;
use crate::cli::{Failure, Result, Terminal};
use planrun_core::journal::{AnswerError, Event, EventKind, Question, Questions, Waiting};
use planrun_runs::driver::Observer;
use planrun_runs::runs::Run;

/// A question that expires within this time is printed when it is asked, since the process may wait for its end.
const SOON: Duration = Duration::from_mins(1);

/// The observer of a run on the command line.
pub struct ProgressObserver {
    output: Output,
    /// While any is open, the live lines are removed from the terminal.
    questions: Questions,
    terminal: Terminal,
    /// The titles of the plan's tasks, by name.
    titles: BTreeMap<Arc<str>, Arc<str>>,
    /// The paths and tools of the calls with effects that have begun, if no journal records them.
    effects: Option<Effects>,
    /// The run and its plan, if its questions are answered by commands only.
    unattended: Option<(String, Arc<str>)>,
}

type Effects = Arc<Mutex<IndexMap<Arc<str>, Arc<str>>>>;

enum Output {
    Progress(Box<Progress>),
    Events(EventOutput),
    Silent,
}

impl ProgressObserver {
    /// Returns an error if the thread that writes events cannot be started.
    pub fn new(options: OutputOptions, run: &Run) -> Result<Self> {
        let terminal = options.terminal;
        let output = match options.format {
            RunFormat::Human => {
                Output::Progress(Box::new(Progress::new(!terminal.quiet, terminal.style)))
            }
            RunFormat::Ndjson => {
                let named = options.names_run.then(|| run.id());
                let events = EventOutput::new(io::stdout(), named);
                Output::Events(events.map_err(|error| {
                    Failure::Environment(format!("cannot start a thread: {error}"))
                })?)
            }
            RunFormat::Json | RunFormat::Quiet => Output::Silent,
        };
        let tasks = run.plan().into_iter().flat_map(|plan| &plan.tasks);
        let titles = tasks
            .map(|task| (task.name.clone(), task.title.clone()))
            .collect();
        let observer = Self {
            output,
            questions: Questions::default(),
            terminal,
            titles,
            effects: (!run.is_durable()).then(Effects::default),
            unattended: run
                .plan()
                .filter(|_| run.is_durable() && !run.asks_people())
                .map(|plan| (run.id().to_owned(), plan.name.clone())),
        };
        observer.listen();
        Ok(observer)
    }

    /// Tells the user what follows from a signal, and which effects are recorded nowhere.
    fn listen(&self) {
        let (terminal, effects) = (self.terminal, self.effects.clone());
        let lines = match &self.output {
            Output::Progress(progress) => progress.lines(),
            Output::Events(_) | Output::Silent => None,
        };
        listen(Some(Box::new(move |interrupt| {
            let print = || match interrupt {
                Interrupt::Stops => terminal.note(
                    "stops after the calls that have been sent; press Ctrl-C again to end at once",
                ),
                Interrupt::Ends => {
                    if let Some(effects) = &effects {
                        let effects = effects.lock();
                        for (path, tool) in &*effects {
                            print_effect("may have been done", (path, tool), terminal);
                        }
                    }
                }
            };
            match &lines {
                Some(lines) if interrupt == Interrupt::Stops => lines.suspend(print),
                Some(lines) => {
                    // A closed terminal displays nothing.
                    let _ = lines.clear();
                    lines.set_draw_target(ProgressDrawTarget::hidden());
                    print();
                }
                None => print(),
            }
        })));
    }

    /// Removes the live lines, or waits until all events are written. Returns an error if events could not be written,
    /// for example to a full disk. A closed pipe is not an error.
    pub fn close(self) -> Result<()> {
        listen(None);
        let closed = match self.output {
            Output::Progress(mut progress) => {
                progress.close();
                Ok(())
            }
            Output::Events(events) => events.close(),
            Output::Silent => Ok(()),
        };
        written(closed)
    }

    /// Prints an error above the live lines.
    fn print_error(&self, text: &str) {
        match &self.output {
            Output::Progress(progress) => progress.suspend(|| self.terminal.error(text)),
            Output::Events(_) | Output::Silent => self.terminal.error(text),
        }
    }

    /// Follows the questions: the live lines return when the last one is answered, has expired or is withdrawn.
    fn follow_questions(&mut self, event: &Event) {
        self.questions.follow(event);
        if let Output::Progress(progress) = &mut self.output {
            if self.questions.open().next().is_some() {
                progress.hide();
            } else {
                progress.show();
            }
        }
    }

    /// Prints a question that nobody is asked at a terminal, and that expires soon.
    fn print_question(&self, at: i128, path: &str, question: &Question) {
        let left = question
            .expires
            .map(|expires| saturating_duration(expires - at));
        let is_soon = left.is_some_and(|left| left <= SOON);
        let is_printed = is_soon && matches!(self.output, Output::Progress(_));
        if let Some((run, plan)) = self.unattended.as_ref().filter(|_| is_printed) {
            let view = QuestionView {
                project: project(),
                run: Some((run, plan)),
                path,
                question,
            };
            let text = view.render(at, self.terminal.style);
            self.terminal.note(text.trim_end());
        }
    }

    fn update(&mut self, kind: &EventKind) {
        let Output::Progress(progress) = &mut self.output else {
            return;
        };
        match kind {
            EventKind::StepRunning { path, tool, .. } => progress.started(path, tool),
            EventKind::StepWaiting {
                path,
                attempt,
                what: Waiting::Retry | Waiting::Poll | Waiting::Outcome,
                wait,
                error: Some(_),
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
                progress.task_changed(path, self.titles.get(path).map(|title| &**title), status);
            }
            EventKind::ListenerFired { path } => progress.fired(path),
            EventKind::RunStarted { .. }
            | EventKind::StepAsks { .. }
            | EventKind::AnswerGiven { .. }
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
            | EventKind::LimitReached { .. }
            | EventKind::TimerFired { .. }
            | EventKind::RunResumed { .. }
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

/// Returns the message for an event that is printed as a line of its own; `None` for other events.
fn notice(kind: &EventKind) -> Option<String> {
    if let EventKind::BudgetLow {
        budget,
        used,
        limit,
    } = kind
    {
        let notice = format!("budget for {budget}: {used} of {limit} used");
        Some(notice)
    } else if let EventKind::ResultNoted { path, note } = kind {
        let path = visible_line(path);
        let notice = format!("the result of {path} is accepted, but violates a format: {note}");
        Some(notice)
    } else {
        None
    }
}

impl Observer for ProgressObserver {
    fn observe(&mut self, event: &Event) {
        if let Output::Events(events) = &mut self.output {
            events.write(event);
        }
        if let (
            Some(effects),
            EventKind::StepRunning {
                path, tool, call, ..
            },
        ) = (&self.effects, &event.kind)
            && call
                .as_ref()
                .is_some_and(|call| !call.effect.is_read_only())
        {
            let mut effects = effects.lock();
            effects.insert(path.clone(), tool.clone());
        }
        if let (Output::Progress(progress), Some(notice)) = (&self.output, notice(&event.kind)) {
            progress.suspend(|| self.terminal.note(&notice));
        }
        self.follow_questions(event);
        self.update(&event.kind);
        if let EventKind::StepAsks { path, question } = &event.kind {
            self.print_question(event.at, &question.path(path), question);
        }
        if let EventKind::SignalReceived {
            signal,
            refused: Some(why),
            ..
        } = &event.kind
        {
            self.print_error(&format!("the signal `{signal}` was rejected: {why}"));
        }
        if let EventKind::TaskMoved {
            path,
            status,
            refused: Some(why),
            ..
        } = &event.kind
        {
            self.print_error(&format!("`{path}` was not moved to `{status}`: {why}"));
        }
    }

    fn refused(&mut self, error: &AnswerError) {
        self.print_error(&refusal(error));
    }

    fn idle(&mut self) {
        if let Output::Events(events) = &mut self.output {
            events.flush();
        }
    }
}
