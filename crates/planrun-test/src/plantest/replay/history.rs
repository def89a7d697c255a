//! The history of a run, built from its journal, to compare it with another run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planrun_lang::protocol::{RunState, StepState, is_at_or_below};
use planrun_lang::value::{Value, saturating_duration};
use serde_json::Value as Json;

use super::crashes::Crash;
use planrun_core::journal::{
    APPROVAL, ARGUMENTS, Bound, Cancel, Event, EventKind, InboxCommand, Move, OUTPUT, Question,
    Signal, StepError, SubmittedAnswer, Waiting, paths_below,
};

/// The recorded history of a run.
#[derive(Default)]
pub struct History {
    /// When it started, in nanoseconds since the Unix epoch.
    pub begun_at: i128,
    pub state: Option<RunState>,
    pub reply: Option<Json>,
    pub error: Option<Arc<StepError>>,
    /// By path, in the order of their first events.
    pub steps: IndexMap<Arc<str>, StepHistory>,
    /// The last state of each task, by path.
    pub tasks: BTreeMap<Arc<str>, TaskState>,
    pub answers: Answers,
    /// Messages from outside, each with its time since the start.
    pub messages: Vec<(Duration, InboxCommand)>,
    /// The crashes of its processes, in order.
    pub crashes: Vec<Crash>,
    /// The events of the current process.
    process: Crash,
    /// When questions were asked, by the paths of their steps, in nanoseconds since the Unix epoch.
    asked: BTreeMap<Arc<str>, i128>,
}

/// The answers of people, by the path of the question.
pub type Answers = BTreeMap<Arc<str>, VecDeque<Answered>>;

/// An answer of a person.
#[derive(Clone)]
pub struct Answered {
    /// Time since the start of the run.
    pub at: Duration,
    /// Time since the question.
    pub took: Duration,
    pub given: SubmittedAnswer,
}

/// The recorded history of one step.
#[derive(Default)]
pub struct StepHistory {
    /// The calls of the step. Polls whose result did not satisfy `until` are merged with the last one.
    pub attempts: Vec<Attempt>,
    /// The gates and forms at which it waited for people. One that another process asked again counts once.
    pub questions: Vec<Asked>,
    pub end: Option<StepEnd>,
}

/// What people were asked.
#[derive(PartialEq, Eq)]
pub struct Asked {
    pub kind: Waiting,
    pub text: Arc<str>,
    pub role: Option<Arc<str>>,
}

/// The status and the context of a task.
pub type TaskState = (Arc<str>, Value);

/// A call.
#[derive(Default)]
pub struct Attempt {
    pub tool: Arc<str>,
    /// `None` if an earlier result was reused and nothing was called.
    pub arguments: Option<Value>,
    /// The paths of sensitive values in the arguments.
    pub sensitive: Vec<Arc<str>>,
    pub outcome: AttemptResult,
    pub took: Duration,
    /// When it was first sent, since the start of the run.
    pub begun_at: Duration,
    /// How often it was sent, and how often its process died before it returned.
    pub sent: u32,
    pub lost: u32,
    begun: (i128, u64),
    /// The number of the event that ended it.
    ended: Option<u64>,
    /// Whether the result did not satisfy `until`.
    polls: bool,
}

/// The outcome of a call.
#[derive(Default)]
pub enum AttemptResult {
    Value(Value),
    Failed(Arc<StepError>),
    /// No end was recorded.
    #[default]
    Open,
    /// A time limit expired before it ended.
    Cut,
}

/// The end of a step.
pub struct StepEnd {
    pub state: StepState,
    pub reason: Option<Arc<str>>,
    pub recovered: bool,
    pub output: Option<Value>,
    /// The paths of sensitive values in the output.
    pub sensitive: Vec<Arc<str>>,
    pub error: Option<Arc<StepError>>,
}

impl StepHistory {
    /// Returns the numbers of the events between which the step made its calls; `None` if it made none, or if the last
    /// one has no end.
    pub fn called(&self) -> Option<(u64, u64)> {
        let made = |attempt: &&Attempt| attempt.arguments.is_some();
        let first = self.attempts.iter().find(made)?;
        Some((first.begun.1, self.attempts.last()?.ended?))
    }
}

impl History {
    /// Adds the next event. What was retried after the end of the run is not part of the history.
    pub fn take(&mut self, event: Event) {
        if !self.state.is_some_and(RunState::is_ended) {
            self.add(event);
        }
    }

    fn add(&mut self, event: Event) {
        let Event {
            number,
            at,
            kind,
            sensitive,
        } = event;
        self.process.write(&kind);
        match kind {
            EventKind::RunStarted { .. } => {
                (self.begun_at, self.state) = (at, Some(RunState::Running));
            }
            EventKind::RunResumed { .. } => self.resumed(at),
            EventKind::RunPaused { .. } => self.state = Some(RunState::Paused),
            EventKind::RunSettled {
                state,
                reply,
                error,
                ..
            } => {
                let reply = reply.map(|reply| reply.to_json());
                (self.state, self.reply, self.error) = (Some(state), reply, error);
            }
            kind @ (EventKind::RunCancelling { .. }
            | EventKind::SignalReceived { .. }
            | EventKind::TaskMoved { .. }
            | EventKind::AnswerGiven { .. }) => self.receive(kind, at),
            kind @ EventKind::StepRunning { .. } => self.running(kind, &sensitive, (at, number)),
            EventKind::StepWaiting {
                path, what, error, ..
            } => self.waiting(&path, what, error, (at, number)),
            EventKind::StepAsks { path, question } => self.asks(path, &question, at),
            EventKind::TaskSet {
                path,
                status,
                context,
            } => {
                self.tasks.insert(path, (status, context));
            }
            EventKind::StepCopied { path, output, .. } => self.reuse(path, output),
            EventKind::StepRecovering { path, error } => {
                self.failed(&path, (at, number), Some(error));
            }
            kind @ EventKind::StepSettled { .. } => self.settled(kind, &sensitive, (at, number)),
            EventKind::TimerFired { path, timer } => self.timer(&path, timer),
            EventKind::RunPatched { .. }
            | EventKind::RunGranted { .. }
            | EventKind::StepQueued { .. }
            | EventKind::StepSleeps { .. }
            | EventKind::StepRetried { .. }
            | EventKind::HandleGiven { .. }
            | EventKind::UsageReported { .. }
            | EventKind::ResultNoted { .. }
            | EventKind::BudgetLow { .. }
            | EventKind::LimitReached { .. }
            | EventKind::ListenerFired { .. } => {}
        }
    }

    fn resumed(&mut self, at: i128) {
        if self.state == Some(RunState::Running) {
            self.died(Some(since(self.begun_at, at)));
        }
        self.state = Some(RunState::Running);
    }

    /// Records a message from outside.
    fn receive(&mut self, kind: EventKind, at: i128) {
        if let EventKind::RunCancelling { keep, force, .. } = kind {
            let cancel = Cancel {
                cancel: true,
                keep,
                force,
            };
            self.push_message(at, InboxCommand::Cancel(cancel));
        } else if let EventKind::SignalReceived {
            signal: name,
            payload,
            ..
        } = kind
        {
            let payload = payload.to_json();
            self.push_message(at, InboxCommand::Signal(Signal { name, payload }));
        } else if let EventKind::TaskMoved {
            path: task,
            status,
            context,
            refused,
        } = kind
        {
            if refused.is_none() {
                let state = (status.clone(), context.clone());
                self.tasks.insert(task.clone(), state);
            }
            let context = context.to_json();
            let moved = Move {
                task,
                status,
                context,
            };
            self.push_message(at, InboxCommand::Move(moved));
        } else if let EventKind::AnswerGiven {
            path,
            value,
            by,
            note,
        } = kind
        {
            let value = value.to_json();
            let given = SubmittedAnswer {
                path,
                value,
                by,
                note,
            };
            self.answered(given, at);
        }
    }

    /// Records a question, and among those of the plan what is asked: a question about a call whose outcome is unknown
    /// is no part of it.
    fn asks(&mut self, path: Arc<str>, question: &Question, at: i128) {
        // Doubles of peers ask no questions, and tests need no approval.
        if !matches!(question.kind, Waiting::Peer | Waiting::Approval) {
            self.asked.insert(path.clone(), at);
        }
        if !matches!(question.kind, Waiting::Confirm | Waiting::Input) {
            return;
        }
        let asked = Asked {
            kind: question.kind,
            text: question.text.clone(),
            role: question.by.clone(),
        };
        let questions = &mut self.steps.entry(path).or_default().questions;
        if !questions.contains(&asked) {
            questions.push(asked);
        }
    }

    /// Returns the history after its last event. If the run neither ended nor was paused, its process died.
    #[must_use]
    pub fn finish(mut self) -> Self {
        if self.state == Some(RunState::Running) {
            self.died(None);
        }
        self
    }

    /// Records that the process died, which loses all its pending calls.
    fn died(&mut self, next_at: Option<Duration>) {
        self.crashes
            .push(std::mem::take(&mut self.process).until(next_at));
        let last = self
            .steps
            .values_mut()
            .filter_map(|step| step.attempts.last_mut());
        for attempt in
            last.filter(|attempt| matches!(attempt.outcome, AttemptResult::Open) && !attempt.polls)
        {
            attempt.lost += 1;
        }
    }

    fn push_message(&mut self, at: i128, message: InboxCommand) {
        self.messages.push((since(self.begun_at, at), message));
    }

    fn answered(&mut self, given: SubmittedAnswer, at: i128) {
        let path = given.path.clone();
        if *path == *APPROVAL && !self.asked.contains_key(&path) {
            return;
        }
        let step = path.strip_suffix(".confirm").unwrap_or(&path);
        let asked = self.asked.get(step).or(self.asked.get(&path));
        let asked = asked.copied().unwrap_or(at);
        let answered = Answered {
            at: since(self.begun_at, at),
            took: since(asked, at),
            given,
        };
        self.answers.entry(path).or_default().push_back(answered);
    }

    fn running(&mut self, kind: EventKind, labels: &[Arc<str>], begun: (i128, u64)) {
        let EventKind::StepRunning {
            path, tool, call, ..
        } = kind
        else {
            return;
        };
        let step = self.steps.entry(path).or_default();
        let Some(call) = call else { return };
        let attempt = Attempt {
            tool,
            arguments: Some(call.arguments),
            sensitive: paths_below(ARGUMENTS, labels),
            begun_at: since(self.begun_at, begun.0),
            sent: 1,
            begun,
            ..Attempt::default()
        };
        match step.attempts.last_mut() {
            Some(last) if last.polls && matches!(last.outcome, AttemptResult::Open) => {
                *last = Attempt {
                    begun: last.begun,
                    begun_at: last.begun_at,
                    lost: last.lost,
                    ..attempt
                }
            }
            // Its process died before it returned, and another process repeated it.
            Some(last) if matches!(last.outcome, AttemptResult::Open) => {
                *last = Attempt {
                    sent: last.sent + 1,
                    lost: last.lost,
                    ..attempt
                };
            }
            Some(_) | None => step.attempts.push(attempt),
        }
    }

    fn waiting(
        &mut self,
        path: &str,
        what: Waiting,
        error: Option<Arc<StepError>>,
        moment: (i128, u64),
    ) {
        match what {
            Waiting::Retry | Waiting::Outcome | Waiting::Effects => {
                self.failed(path, moment, error);
            }
            Waiting::Poll => {
                if let Some(last) = self.last(path) {
                    last.polls = true;
                }
            }
            Waiting::Confirm
            | Waiting::Approval
            | Waiting::Input
            | Waiting::Answer
            | Waiting::Peer
            | Waiting::Time => {}
        }
    }

    /// Records an earlier result that was reused, as if it had been called.
    fn reuse(&mut self, path: Arc<str>, output: Value) {
        let attempt = Attempt {
            outcome: AttemptResult::Value(output),
            sent: 1,
            ..Attempt::default()
        };
        self.steps.entry(path).or_default().attempts.push(attempt);
    }

    fn failed(&mut self, path: &str, moment: (i128, u64), error: Option<Arc<StepError>>) {
        let Some(error) = error else { return };
        self.ended(path, moment, AttemptResult::Failed(error));
    }

    /// Returns the last call of a step.
    fn last(&mut self, path: &str) -> Option<&mut Attempt> {
        self.steps.get_mut(path)?.attempts.last_mut()
    }

    /// Ends the pending call, if there is one.
    fn ended(&mut self, path: &str, (at, number): (i128, u64), outcome: AttemptResult) {
        let Some(last) = self.last(path) else {
            return;
        };
        if matches!(last.outcome, AttemptResult::Open) && !last.polls && last.arguments.is_some() {
            // If two calls end at the same time, the order of their events decides.
            last.took =
                since(last.begun.0, at) + Duration::from_nanos(number.saturating_sub(last.begun.1));
            last.outcome = outcome;
            last.ended = Some(number);
        }
    }

    /// Cuts the pending calls inside the step whose time limit expired.
    fn timer(&mut self, path: &str, timer: Bound) {
        if !matches!(timer, Bound::Within | Bound::Deadline) {
            return;
        }
        let inside = |own: &str| path.is_empty() || is_at_or_below(own, path);
        for (_, step) in self.steps.iter_mut().filter(|(own, _)| inside(own)) {
            let last = step.attempts.last_mut();
            if let Some(last) = last.filter(|last| matches!(last.outcome, AttemptResult::Open)) {
                last.outcome = AttemptResult::Cut;
            }
        }
    }

    fn settled(&mut self, kind: EventKind, labels: &[Arc<str>], moment: (i128, u64)) {
        let EventKind::StepSettled {
            path,
            state,
            recovered,
            reason,
            output,
            error,
            ..
        } = kind
        else {
            return;
        };
        let succeeded = state == StepState::Completed && !recovered;
        if let Some(output) = output.as_ref().filter(|_| succeeded) {
            if self.last(&path).is_some() {
                self.ended(&path, moment, AttemptResult::Value(output.clone()));
            } else {
                self.reuse(path.clone(), output.clone());
            }
        } else if matches!(state, StepState::Failed | StepState::Unknown) {
            self.failed(&path, moment, error.clone());
        }
        let sensitive = paths_below(OUTPUT, labels);
        self.steps.entry(path).or_default().end = Some(StepEnd {
            state,
            reason,
            recovered,
            output,
            sensitive,
            error,
        });
    }
}

fn since(begun: i128, at: i128) -> Duration {
    saturating_duration(at - begun)
}
