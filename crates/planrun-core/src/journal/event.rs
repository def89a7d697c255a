//! The events of a run: one for every change of state, by the stable names under which they are told and written down.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::failure::StepError;
use super::question::Question;

/// One change. Its number orders it, from 1; `at` is the wall clock in nanoseconds since 1970.
#[derive(Clone, Debug)]
pub struct Event {
    pub number: u64,
    pub at: i128,
    pub kind: EventKind,
    /// The places in its values that must not be shown, such as `arguments.password`.
    pub sensitive: Vec<Arc<str>>,
}

#[derive(Clone, Debug)]
pub enum EventKind {
    RunStarted {
        run: Arc<str>,
        plan: Arc<str>,
        /// The steps that the plan itself holds.
        steps: usize,
    },
    /// Another process goes on with the run: what follows happened after everything above had been read.
    RunResumed,
    /// Somebody asked for the run to end.
    RunCancelling {
        /// What it did shall not be taken back.
        keep: bool,
    },
    /// The process lets go of the run until somebody answers, a signal comes or a time is there.
    RunPaused {
        /// When it wants to go on by itself, in nanoseconds since 1970.
        wake: Option<i128>,
        /// Only people and signals are awaited, so that the clock of the deadline stands still.
        still: bool,
    },
    /// The run has got another text for what it has not started.
    RunPatched {
        /// The hashes of what it was bound to, and of what it is bound to now.
        before: Arc<str>,
        after: Arc<str>,
    },
    StepQueued {
        path: Arc<str>,
    },
    /// A step that holds others begins, or an attempt at a call does.
    StepRunning {
        path: Arc<str>,
        /// What is called; empty for steps that hold others.
        tool: Arc<str>,
        attempt: u32,
        call: Option<Dispatch>,
    },
    /// It waits, and holds no slot meanwhile.
    StepWaiting {
        path: Arc<str>,
        attempt: u32,
        what: Waiting,
        wait: Duration,
        /// The failure that is behind the wait; a poll has none.
        error: Option<Arc<StepError>>,
    },
    /// It waits for somebody's answer.
    StepAsks {
        path: Arc<str>,
        question: Arc<Question>,
    },
    /// It waits until a moment, in nanoseconds since 1970.
    StepSleeps {
        path: Arc<str>,
        until: i128,
    },
    /// Somebody answered: `STEP.confirm` is the path of a gate, `STEP` that of a form, `STEP.asked` that of what a peer
    /// asks in the middle of a call.
    AnswerGiven {
        path: Arc<str>,
        value: Value,
        by: Option<Arc<str>>,
        note: Option<Arc<str>>,
    },
    /// The result of another run is taken over: nothing is called.
    StepCopied {
        path: Arc<str>,
        run: Arc<str>,
        output: Value,
    },
    /// What had failed, and what worked for it, is done again as a new execution: somebody has resumed the run.
    StepRetried {
        path: Arc<str>,
    },
    /// A call can be taken up again with this by a later process, and nothing is sent a second time then.
    HandleGiven {
        path: Arc<str>,
        /// Only the transport that gave it can read it.
        handle: Json,
    },
    /// A call says what it has cost so far, or its answer does.
    UsageReported {
        path: Arc<str>,
        used: Used,
    },
    /// A result that counts is not quite what its contract tells of it.
    ResultNoted {
        path: Arc<str>,
        note: Arc<str>,
    },
    /// Four fifths of a budget are used.
    BudgetLow {
        /// `calls`, `tokens`, `cost` or `time`.
        budget: &'static str,
        /// In seconds for time.
        used: f64,
        limit: f64,
    },
    /// A failure that an arm catches; what the arm calls follows under paths of its own.
    StepRecovering {
        path: Arc<str>,
        error: Arc<StepError>,
    },
    StepSettled {
        path: Arc<str>,
        state: StepState,
        attempts: u32,
        duration: Duration,
        recovered: bool,
        /// Why it was skipped: `guard`, `upstream` or `replied`.
        reason: Option<&'static str>,
        /// The value of a completed call; steps that hold others have theirs computed again.
        output: Option<Value>,
        error: Option<Arc<StepError>>,
    },
    /// A time bound is over.
    TimerFired {
        /// The step; empty for the run.
        path: Arc<str>,
        timer: Bound,
    },
    /// A `set`: status and context have changed together.
    TaskSet {
        path: Arc<str>,
        status: Arc<str>,
        /// All of it, as it is now.
        context: Value,
    },
    /// Somebody outside moved an `external` task, or wanted to.
    TaskMoved {
        path: Arc<str>,
        status: Arc<str>,
        context: Value,
        /// Why it was refused, where it was.
        refused: Option<Arc<str>>,
    },
    /// An event has fired a listener; the path is that of the firing.
    ListenerFired {
        path: Arc<str>,
    },
    /// A signal has come.
    SignalReceived {
        signal: Arc<str>,
        payload: Value,
        /// Why nobody gets it, where nobody does.
        refused: Option<Arc<str>>,
    },
    RunSettled {
        state: RunState,
        reply: Option<Value>,
        error: Option<Arc<StepError>>,
    },
}

/// What goes out with an attempt: enough to make the same one again.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Executions end with an answer; attempts of one execution share key and arguments.
    pub execution: u32,
    /// Of the current series of retries, from 1.
    pub trial: u32,
    pub key: Arc<str>,
    pub effect: Effect,
    pub arguments: Value,
    /// Why it is made although another run has made it.
    pub again: Option<&'static str>,
}

/// What calls have cost, as their answers report it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    pub tokens: u64,
    /// In the unit of the tools.
    pub cost: f64,
}

impl Used {
    /// Adds what others have used. Costs are money: they are kept to nine decimals, so that ten tenths are one.
    pub fn add(&mut self, other: Self) {
        const PARTS: f64 = 1e9;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
        let parts = (self.cost * PARTS).round();
        if parts.is_finite() {
            self.cost = parts / PARTS;
        }
    }

    /// Whether that is nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// The next attempt.
    Retry,
    /// The next poll.
    Poll,
    /// Somebody's yes or no.
    Confirm,
    /// A form that somebody fills in.
    Input,
    /// What can tell whether an attempt happened whose answer was lost.
    Outcome,
    /// Somebody who knows whether it happened.
    Answer,
    /// Somebody's reply to what is called, which asks in the middle of the call.
    Peer,
    /// A moment.
    Time,
}

/// A bound that a timer keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    Within,
    Deadline,
    /// The time that people have for an answer.
    Expires,
    /// The moment that a step waits for.
    Wait,
}

/// The kinds of events, as journals and listeners name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum EventName {
    #[serde(rename = "run.started")]
    RunStarted,
    #[serde(rename = "run.resumed")]
    RunResumed,
    #[serde(rename = "run.cancelling")]
    RunCancelling,
    #[serde(rename = "run.paused")]
    RunPaused,
    #[serde(rename = "run.patched")]
    RunPatched,
    #[serde(rename = "step.queued")]
    StepQueued,
    #[serde(rename = "step.running")]
    StepRunning,
    #[serde(rename = "step.waiting")]
    StepWaiting,
    #[serde(rename = "answer.given")]
    AnswerGiven,
    #[serde(rename = "step.copied")]
    StepCopied,
    #[serde(rename = "step.retried")]
    StepRetried,
    #[serde(rename = "handle.given")]
    HandleGiven,
    #[serde(rename = "usage.reported")]
    UsageReported,
    #[serde(rename = "result.noted")]
    ResultNoted,
    #[serde(rename = "budget.low")]
    BudgetLow,
    #[serde(rename = "step.recovering")]
    StepRecovering,
    #[serde(rename = "step.settled")]
    StepSettled,
    #[serde(rename = "timer.fired")]
    TimerFired,
    #[serde(rename = "task.set")]
    TaskSet,
    #[serde(rename = "task.moved")]
    TaskMoved,
    #[serde(rename = "listener.fired")]
    ListenerFired,
    #[serde(rename = "signal.received")]
    SignalReceived,
    #[serde(rename = "run.settled")]
    RunSettled,
}

impl EventName {
    /// Every kind.
    pub const ALL: [Self; 23] = [
        Self::RunStarted,
        Self::RunResumed,
        Self::RunCancelling,
        Self::RunPaused,
        Self::RunPatched,
        Self::StepQueued,
        Self::StepRunning,
        Self::StepWaiting,
        Self::AnswerGiven,
        Self::StepCopied,
        Self::StepRetried,
        Self::HandleGiven,
        Self::UsageReported,
        Self::ResultNoted,
        Self::BudgetLow,
        Self::StepRecovering,
        Self::StepSettled,
        Self::TimerFired,
        Self::TaskSet,
        Self::TaskMoved,
        Self::ListenerFired,
        Self::SignalReceived,
        Self::RunSettled,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunStarted => "run.started",
            Self::RunResumed => "run.resumed",
            Self::RunCancelling => "run.cancelling",
            Self::RunPaused => "run.paused",
            Self::RunPatched => "run.patched",
            Self::StepQueued => "step.queued",
            Self::StepRunning => "step.running",
            Self::StepWaiting => "step.waiting",
            Self::AnswerGiven => "answer.given",
            Self::StepCopied => "step.copied",
            Self::StepRetried => "step.retried",
            Self::HandleGiven => "handle.given",
            Self::UsageReported => "usage.reported",
            Self::ResultNoted => "result.noted",
            Self::BudgetLow => "budget.low",
            Self::StepRecovering => "step.recovering",
            Self::StepSettled => "step.settled",
            Self::TimerFired => "timer.fired",
            Self::TaskSet => "task.set",
            Self::TaskMoved => "task.moved",
            Self::ListenerFired => "listener.fired",
            Self::SignalReceived => "signal.received",
            Self::RunSettled => "run.settled",
        }
    }
}

impl Waiting {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Poll => "poll",
            Self::Confirm => "confirm",
            Self::Input => "input",
            Self::Outcome => "outcome",
            Self::Answer => "answer",
            Self::Peer => "peer",
            Self::Time => "time",
        }
    }
}

impl Bound {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Within => "within",
            Self::Deadline => "deadline",
            Self::Expires => "expires",
            Self::Wait => "wait",
        }
    }
}

impl EventKind {
    /// The step, task, firing or signal that it speaks of; empty where it speaks of the run.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::RunStarted { .. }
            | Self::RunResumed
            | Self::RunCancelling { .. }
            | Self::RunPaused { .. }
            | Self::RunPatched { .. }
            | Self::RunSettled { .. } => "",
            Self::StepQueued { path }
            | Self::StepCopied { path, .. }
            | Self::StepRetried { path }
            | Self::HandleGiven { path, .. }
            | Self::UsageReported { path, .. }
            | Self::ResultNoted { path, .. }
            | Self::StepRunning { path, .. }
            | Self::StepWaiting { path, .. }
            | Self::StepAsks { path, .. }
            | Self::StepSleeps { path, .. }
            | Self::AnswerGiven { path, .. }
            | Self::StepRecovering { path, .. }
            | Self::StepSettled { path, .. }
            | Self::TimerFired { path, .. }
            | Self::TaskSet { path, .. }
            | Self::TaskMoved { path, .. }
            | Self::ListenerFired { path }
            | Self::SignalReceived { signal: path, .. } => path,
            Self::BudgetLow { budget, .. } => budget,
        }
    }

    /// Which kind it is.
    #[must_use]
    pub const fn name(&self) -> EventName {
        match self {
            Self::RunStarted { .. } => EventName::RunStarted,
            Self::RunResumed => EventName::RunResumed,
            Self::RunCancelling { .. } => EventName::RunCancelling,
            Self::RunPaused { .. } => EventName::RunPaused,
            Self::RunPatched { .. } => EventName::RunPatched,
            Self::StepQueued { .. } => EventName::StepQueued,
            Self::StepRunning { .. } => EventName::StepRunning,
            Self::StepWaiting { .. } | Self::StepAsks { .. } | Self::StepSleeps { .. } => {
                EventName::StepWaiting
            }
            Self::AnswerGiven { .. } => EventName::AnswerGiven,
            Self::StepCopied { .. } => EventName::StepCopied,
            Self::StepRetried { .. } => EventName::StepRetried,
            Self::HandleGiven { .. } => EventName::HandleGiven,
            Self::UsageReported { .. } => EventName::UsageReported,
            Self::ResultNoted { .. } => EventName::ResultNoted,
            Self::BudgetLow { .. } => EventName::BudgetLow,
            Self::StepRecovering { .. } => EventName::StepRecovering,
            Self::StepSettled { .. } => EventName::StepSettled,
            Self::TimerFired { .. } => EventName::TimerFired,
            Self::TaskSet { .. } => EventName::TaskSet,
            Self::TaskMoved { .. } => EventName::TaskMoved,
            Self::ListenerFired { .. } => EventName::ListenerFired,
            Self::SignalReceived { .. } => EventName::SignalReceived,
            Self::RunSettled { .. } => EventName::RunSettled,
        }
    }
}

impl Event {
    /// The stable name of the kind of event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.name().name()
    }
}
