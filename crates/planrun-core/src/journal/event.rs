//! The events of a run: one kind for each change of state, with stable names.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::failure::StepError;
use super::grant::Grant;
use super::question::Question;
use super::wire::{self, ARGUMENTS, OUTPUT, PAYLOAD, REPLY, VALUE};
use super::words::{Bound, EventName, Waiting};

/// One change. Its number orders it, from 1; `at` is the wall clock in nanoseconds since 1970.
///
/// Its JSON is what a journal has of it. `Event::read` reads that back.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    pub number: u64,
    #[serde(serialize_with = "wire::at::serialize")]
    pub at: i128,
    #[serde(flatten)]
    pub kind: EventKind,
    /// The places in its values that must not be shown, such as `arguments.password`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sensitive: Vec<Arc<str>>,
}

/// What changed. The order of the fields is that of the JSON, and so part of what the chain over a journal proves.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event")]
pub enum EventKind {
    #[serde(rename = "run.started")]
    RunStarted {
        run: Arc<str>,
        plan: Arc<str>,
        /// The steps that the plan itself holds.
        #[serde(skip)]
        steps: usize,
    },
    /// Another process goes on with the run: what follows happened after everything above had been read.
    #[serde(rename = "run.resumed")]
    RunResumed,
    /// Somebody asked for the run to end.
    #[serde(rename = "run.cancelling")]
    RunCancelling {
        /// What it did shall not be taken back.
        #[serde(default, skip_serializing_if = "not")]
        keep: bool,
    },
    /// The process lets go of the run until somebody answers, a signal comes or a time is there.
    #[serde(rename = "run.paused")]
    RunPaused {
        /// When it wants to go on by itself, in nanoseconds since 1970.
        #[serde(
            default,
            with = "wire::moment",
            skip_serializing_if = "Option::is_none"
        )]
        wake: Option<i128>,
        /// Only people and signals are awaited, so that the clock of the deadline stands still.
        #[serde(default, skip_serializing_if = "not")]
        still: bool,
    },
    /// The run has got another text for what it has not started.
    #[serde(rename = "run.patched")]
    RunPatched {
        /// The hashes of what it was bound to, and of what it is bound to now.
        #[serde(default)]
        before: Arc<str>,
        #[serde(default)]
        after: Arc<str>,
    },
    /// Somebody has agreed to what the run may do as a whole.
    #[serde(rename = "run.granted")]
    RunGranted { grant: Arc<Grant> },
    #[serde(rename = "step.queued")]
    StepQueued { path: Arc<str> },
    /// A step that holds others begins, or an attempt at a call does.
    #[serde(rename = "step.running")]
    StepRunning {
        path: Arc<str>,
        /// What is called; empty for steps that hold others.
        #[serde(default, skip_serializing_if = "str::is_empty")]
        tool: Arc<str>,
        #[serde(default)]
        attempt: u32,
        #[serde(flatten)]
        call: Option<Dispatch>,
    },
    /// It waits, and holds no slot meanwhile.
    #[serde(rename = "step.waiting")]
    StepWaiting {
        path: Arc<str>,
        #[serde(default)]
        attempt: u32,
        #[serde(rename = "for", default)]
        what: Waiting,
        #[serde(rename = "wait_ms", default, with = "wire::millis")]
        wait: Duration,
        /// The failure that is behind the wait; a poll has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Arc<StepError>>,
    },
    /// It waits for somebody's answer.
    #[serde(rename(serialize = "step.waiting", deserialize = "step.asks"))]
    StepAsks {
        path: Arc<str>,
        #[serde(flatten)]
        question: Arc<Question>,
    },
    /// It waits until a moment, in nanoseconds since 1970.
    #[serde(rename(serialize = "step.waiting", deserialize = "step.sleeps"))]
    StepSleeps {
        path: Arc<str>,
        #[serde(flatten, with = "wire::time")]
        until: i128,
    },
    /// Somebody answered: `STEP.confirm` is the path of a gate, `STEP` that of a form, `STEP.asked` that of what a peer
    /// asks in the middle of a call.
    #[serde(rename = "answer.given")]
    AnswerGiven {
        path: Arc<str>,
        #[serde(
            flatten,
            serialize_with = "wire::answer",
            skip_deserializing,
            default = "wire::null"
        )]
        value: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Arc<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Arc<str>>,
    },
    /// A result that was given before is taken over: nothing is called.
    #[serde(rename = "step.copied")]
    StepCopied {
        path: Arc<str>,
        /// The run that has called.
        #[serde(default)]
        run: Arc<str>,
        /// Whether the plan lets results be used again; else this run is made from that one.
        #[serde(default, skip_serializing_if = "not")]
        cached: bool,
        #[serde(
            flatten,
            serialize_with = "wire::output",
            skip_deserializing,
            default = "wire::null"
        )]
        output: Value,
    },
    /// What had failed, and what worked for it, is done again as a new execution: somebody has resumed the run.
    #[serde(rename = "step.retried")]
    StepRetried { path: Arc<str> },
    /// A call can be taken up again with this by a later process, and nothing is sent a second time then.
    #[serde(rename = "handle.given")]
    HandleGiven {
        path: Arc<str>,
        /// Only the transport that gave it can read it.
        handle: Json,
    },
    /// A call says what it has cost so far, or its answer does.
    #[serde(rename = "usage.reported")]
    UsageReported {
        path: Arc<str>,
        #[serde(flatten)]
        used: Used,
    },
    /// A result that counts is not quite what its contract tells of it.
    #[serde(rename = "result.noted")]
    ResultNoted {
        path: Arc<str>,
        #[serde(default)]
        note: Arc<str>,
    },
    /// Four fifths of a budget are used.
    #[serde(rename = "budget.low")]
    BudgetLow {
        /// `calls`, `tokens`, `cost` or `time`.
        #[serde(rename = "path")]
        budget: Arc<str>,
        /// In seconds for time.
        #[serde(default, serialize_with = "wire::number")]
        used: f64,
        #[serde(default, serialize_with = "wire::number")]
        limit: f64,
    },
    /// A failure that an arm catches; what the arm calls follows under paths of its own.
    #[serde(rename = "step.recovering")]
    StepRecovering {
        path: Arc<str>,
        error: Arc<StepError>,
    },
    #[serde(rename = "step.settled")]
    StepSettled {
        path: Arc<str>,
        #[serde(rename = "status", deserialize_with = "wire::step_state")]
        state: StepState,
        #[serde(rename = "attempt", default)]
        attempts: u32,
        #[serde(rename = "duration_ms", default, with = "wire::millis")]
        duration: Duration,
        #[serde(default, skip_serializing_if = "not")]
        recovered: bool,
        /// Why it was skipped: `guard`, `upstream` or `replied`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
        /// The value of a completed call; steps that hold others have theirs computed again.
        #[serde(flatten, serialize_with = "wire::output", skip_deserializing)]
        output: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Arc<StepError>>,
    },
    /// A time bound is over.
    #[serde(rename = "timer.fired")]
    TimerFired {
        /// The step; empty for the run.
        #[serde(default, skip_serializing_if = "str::is_empty")]
        path: Arc<str>,
        #[serde(default)]
        timer: Bound,
    },
    /// A `set`: status and context have changed together.
    #[serde(rename = "task.set")]
    TaskSet {
        path: Arc<str>,
        status: Arc<str>,
        /// All of it, as it is now.
        #[serde(
            flatten,
            serialize_with = "wire::payload",
            skip_deserializing,
            default = "wire::null"
        )]
        context: Value,
    },
    /// Somebody outside moved an `external` task, or wanted to.
    #[serde(rename = "task.moved")]
    TaskMoved {
        path: Arc<str>,
        status: Arc<str>,
        #[serde(
            flatten,
            serialize_with = "wire::payload",
            skip_deserializing,
            default = "wire::null"
        )]
        context: Value,
        /// Why it was refused, where it was.
        #[serde(rename = "reason", default, skip_serializing_if = "Option::is_none")]
        refused: Option<Arc<str>>,
    },
    /// An event has fired a listener; the path is that of the firing.
    #[serde(rename = "listener.fired")]
    ListenerFired { path: Arc<str> },
    /// A signal has come.
    #[serde(rename = "signal.received")]
    SignalReceived {
        #[serde(flatten, with = "wire::signal")]
        signal: Arc<str>,
        #[serde(
            flatten,
            serialize_with = "wire::payload",
            skip_deserializing,
            default = "wire::null"
        )]
        payload: Value,
        /// Why nobody gets it, where nobody does.
        #[serde(rename = "reason", default, skip_serializing_if = "Option::is_none")]
        refused: Option<Arc<str>>,
    },
    #[serde(rename = "run.settled")]
    RunSettled {
        #[serde(rename = "status", deserialize_with = "wire::run_state")]
        state: RunState,
        #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
        reply: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Arc<StepError>>,
    },
}

/// What goes out with an attempt: enough to make the same one again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Dispatch {
    /// Executions end with an answer; attempts of one execution share key and arguments.
    pub execution: u32,
    /// Of the current series of retries, from 1.
    #[serde(default = "first")]
    pub trial: u32,
    #[serde(default)]
    pub effect: Effect,
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub key: Arc<str>,
    /// Why it is made although another run has made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Arc<str>>,
    #[serde(
        flatten,
        serialize_with = "wire::arguments",
        skip_deserializing,
        default = "wire::null"
    )]
    pub arguments: Value,
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde hands it over")]
fn not(flag: &bool) -> bool {
    !flag
}

/// What calls have cost, as their answers report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    #[serde(default)]
    pub tokens: u64,
    /// In the unit of the tools.
    #[serde(default, serialize_with = "wire::number")]
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
            | Self::RunGranted { .. }
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
            Self::RunGranted { .. } => EventName::RunGranted,
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

impl EventKind {
    /// The value that it brings, by the name of its field.
    pub(super) fn value_mut(&mut self) -> Option<(&'static str, &mut Value)> {
        match self {
            Self::StepRunning { call, .. } => Some((ARGUMENTS, &mut call.as_mut()?.arguments)),
            Self::StepAsks { question, .. } => {
                Some((ARGUMENTS, &mut Arc::make_mut(question).arguments))
            }
            Self::AnswerGiven { value, .. } => Some((VALUE, value)),
            Self::StepCopied { output, .. } => Some((OUTPUT, output)),
            Self::StepSettled { output, .. } => Some((OUTPUT, output.as_mut()?)),
            Self::RunSettled { reply, .. } => Some((REPLY, reply.as_mut()?)),
            Self::TaskSet { context: value, .. }
            | Self::TaskMoved { context: value, .. }
            | Self::SignalReceived { payload: value, .. } => Some((PAYLOAD, value)),
            Self::RunStarted { .. }
            | Self::RunResumed
            | Self::RunCancelling { .. }
            | Self::RunPaused { .. }
            | Self::RunPatched { .. }
            | Self::RunGranted { .. }
            | Self::StepQueued { .. }
            | Self::StepWaiting { .. }
            | Self::StepSleeps { .. }
            | Self::StepRetried { .. }
            | Self::HandleGiven { .. }
            | Self::UsageReported { .. }
            | Self::ResultNoted { .. }
            | Self::BudgetLow { .. }
            | Self::StepRecovering { .. }
            | Self::TimerFired { .. }
            | Self::ListenerFired { .. } => None,
        }
    }

    /// Puts the value in its place that was read apart from the other fields.
    pub(super) fn set_value(&mut self, value: Value) {
        if let Self::StepSettled { output: place, .. } | Self::RunSettled { reply: place, .. } =
            self
        {
            *place = Some(value);
        } else if let Some((_, place)) = self.value_mut() {
            *place = value;
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
