//! The events of a run: one kind for each change of state, with stable names.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

use super::failure::StepError;
use super::grant::Grant;
use super::question::Question;
use super::wire::{self, ARGUMENTS, OUTPUT, PAYLOAD, REPLY, VALUE};
use super::words::{Bound, EventName, Waiting};

/// One change of state. Events are numbered from 1; `at` is the wall-clock time in nanoseconds since the Unix epoch.
///
/// [`super::LineWriter`] writes it as JSON, and `Event::read` parses it.
#[derive(Clone, Debug)]
pub struct Event {
    pub number: u64,
    pub at: i128,
    pub kind: EventKind,
    /// Paths of sensitive values in the event, such as `arguments.password`. These are redacted in output.
    pub sensitive: Vec<Arc<str>>,
}

/// The change that an event records. The name of the variant is the field `event` of the JSON object. The order of the
/// fields is the order of the JSON keys, and so part of what the journal's hash chain covers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum EventKind {
    #[serde(rename = "run.started")]
    RunStarted {
        run: Arc<str>,
        plan: Arc<str>,
        /// The step up to which the process drives the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Arc<str>>,
        /// Number of steps that the plan itself holds.
        #[serde(skip)]
        steps: usize,
    },
    /// Another process resumed the run. Everything that follows happened after that process had read all events before.
    #[serde(rename = "run.resumed")]
    RunResumed {
        /// The step up to which the process drives the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Arc<str>>,
    },
    /// The run was asked to end.
    #[serde(rename = "run.cancelling")]
    RunCancelling {
        /// Whether the effects of the run are kept instead of undone.
        #[serde(default, skip_serializing_if = "not")]
        keep: bool,
        /// Whether effects that are already being undone are kept, too.
        #[serde(default, skip_serializing_if = "not")]
        force: bool,
        /// Whether every statement had settled, and the run was cancelled before it ended by itself.
        #[serde(default, skip_serializing_if = "not")]
        replaces_end: bool,
    },
    /// The process suspends the run until an answer, a signal or a timer.
    #[serde(rename = "run.paused")]
    RunPaused {
        /// Wall-clock time at which the run resumes by itself, in nanoseconds since the Unix epoch.
        #[serde(
            default,
            with = "wire::moment",
            skip_serializing_if = "Option::is_none"
        )]
        wake: Option<i128>,
        /// Whether the run waits only for people and signals, so that the clock of its deadline is stopped.
        #[serde(default, skip_serializing_if = "not")]
        still: bool,
    },
    /// The part of the plan that had not started was replaced by another text.
    #[serde(rename = "run.patched")]
    RunPatched {
        /// Hashes of the pinned document before and after the patch.
        #[serde(default)]
        before: Arc<str>,
        #[serde(default)]
        after: Arc<str>,
    },
    /// A person approved what the run may do as a whole.
    #[serde(rename = "run.granted")]
    RunGranted { grant: Arc<Grant> },
    #[serde(rename = "step.queued")]
    StepQueued { path: Arc<str> },
    /// A step that holds other steps begins, or an attempt at a call begins.
    #[serde(rename = "step.running", deserialize_with = "running")]
    StepRunning {
        path: Arc<str>,
        /// Name of the called tool; empty for steps that hold other steps.
        #[serde(skip_serializing_if = "str::is_empty")]
        tool: Arc<str>,
        attempt: u32,
        #[serde(flatten)]
        call: Option<Dispatch>,
    },
    /// The step waits, and holds no slot while it does.
    #[serde(rename = "step.waiting")]
    StepWaiting {
        path: Arc<str>,
        #[serde(default)]
        attempt: u32,
        #[serde(rename = "for", default)]
        what: Waiting,
        #[serde(rename = "wait_ms", default, with = "wire::millis")]
        wait: Duration,
        /// The failure that caused the wait; `None` for a poll without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Arc<StepError>>,
    },
    /// The step waits for a person's answer.
    #[serde(rename(serialize = "step.waiting", deserialize = "step.asks"))]
    StepAsks {
        path: Arc<str>,
        #[serde(flatten)]
        question: Arc<Question>,
    },
    /// The step waits until this wall-clock time, in nanoseconds since the Unix epoch.
    #[serde(rename(serialize = "step.waiting", deserialize = "step.sleeps"))]
    StepSleeps {
        path: Arc<str>,
        #[serde(flatten, with = "wire::time")]
        until: i128,
    },
    /// A person answered. The path is `STEP.confirm` for a gate, `STEP.asked` for a question that a peer asks during a
    /// call, `approval` for the approval of the run, and `STEP` for a form and for a call whose answer was lost.
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
    /// An earlier result is used, and nothing is called.
    #[serde(rename = "step.copied")]
    StepCopied {
        path: Arc<str>,
        /// The run that made the call.
        #[serde(default)]
        run: Arc<str>,
        /// Whether the result comes from the cache of the step's `cache` clause; otherwise it is copied from the run
        /// that this run is based on.
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
    /// A failed step, and what it holds, is executed again, because the run was resumed with retries.
    #[serde(rename = "step.retried")]
    StepRetried { path: Arc<str> },
    /// The handle with which a later process can reattach to the call, so that nothing is sent a second time.
    #[serde(rename = "handle.given")]
    HandleGiven {
        path: Arc<str>,
        /// Opaque to everything but the transport that gave it.
        handle: Json,
    },
    /// A call, or its answer, reports usage.
    #[serde(rename = "usage.reported")]
    UsageReported {
        path: Arc<str>,
        #[serde(flatten)]
        used: Used,
    },
    /// A valid result deviates from its contract in a way that is only noted, such as a `format`.
    #[serde(rename = "result.noted")]
    ResultNoted {
        path: Arc<str>,
        #[serde(default)]
        note: Arc<str>,
    },
    /// Four fifths of a budget have been used.
    #[serde(rename = "budget.low")]
    BudgetLow {
        /// `calls`, `tokens`, `cost` or `time`.
        #[serde(rename = "path")]
        budget: Arc<str>,
        /// In seconds for `time`.
        #[serde(default, with = "wire::number")]
        used: f64,
        #[serde(default, with = "wire::number")]
        limit: f64,
    },
    /// A `recover` arm catches the failure of a step. The calls of the arm follow under their own paths.
    #[serde(rename = "step.recovering")]
    StepRecovering {
        path: Arc<str>,
        error: Arc<StepError>,
    },
    #[serde(rename = "step.settled")]
    StepSettled {
        #[serde(deserialize_with = "wire::text")]
        path: Arc<str>,
        #[serde(rename = "status", deserialize_with = "wire::step_state")]
        state: StepState,
        #[serde(rename = "attempt", default)]
        attempts: u32,
        #[serde(rename = "duration_ms", default, with = "wire::millis")]
        duration: Duration,
        #[serde(default, skip_serializing_if = "not")]
        recovered: bool,
        /// Why the step was skipped: `guard`, `upstream`, `replied` or `failed`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Arc<str>>,
        /// The value of a completed call. The values of steps that hold other steps are computed again on replay.
        #[serde(flatten, serialize_with = "wire::output", skip_deserializing)]
        output: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Arc<StepError>>,
    },
    /// A step may not begin, because the plan has executed as many steps as `max_steps` allows. The run fails.
    #[serde(rename = "limit.reached")]
    LimitReached {
        path: Arc<str>,
        /// Number of steps that may be executed.
        #[serde(default)]
        limit: u64,
    },
    /// A timer has fired: a timeout or deadline expired, or the time that a step waits for has come.
    #[serde(rename = "timer.fired")]
    TimerFired {
        /// Path of the step; empty for the run.
        #[serde(default, skip_serializing_if = "str::is_empty")]
        path: Arc<str>,
        #[serde(default)]
        timer: Bound,
    },
    /// A `set` changed the status and the context of a task.
    #[serde(rename = "task.set")]
    TaskSet {
        path: Arc<str>,
        status: Arc<str>,
        /// The complete context after the change.
        #[serde(
            flatten,
            serialize_with = "wire::payload",
            skip_deserializing,
            default = "wire::null"
        )]
        context: Value,
    },
    /// An `external` task was moved from outside, or the move was refused.
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
        /// Why the move was refused; `None` if it was accepted.
        #[serde(rename = "reason", default, skip_serializing_if = "Option::is_none")]
        refused: Option<Arc<str>>,
    },
    /// An event fired a listener. `path` is the path of the firing.
    #[serde(rename = "listener.fired")]
    ListenerFired { path: Arc<str> },
    /// A signal arrived.
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
        /// Why the signal was refused; `None` if it was accepted.
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
        /// Steps whose `undo` has failed and can be retried.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        retryable: Vec<Arc<str>>,
    },
}

/// The data of an attempt: everything that is needed to send the same attempt again.
#[derive(Clone, Debug, Serialize)]
pub struct Dispatch {
    /// Number of the execution. An execution ends with an answer; its attempts share key and arguments.
    pub execution: u32,
    /// Number of the attempt in the current series of retries, from 1.
    pub trial: u32,
    pub effect: Effect,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub key: Arc<str>,
    /// Why the call is made although another run has already made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<Arc<str>>,
    #[serde(flatten, serialize_with = "wire::arguments")]
    pub arguments: Value,
}

/// The fields of [`EventKind::StepRunning`].
type Running = (Arc<str>, Arc<str>, u32, Option<Dispatch>);

/// Deserializes the fields of [`EventKind::StepRunning`]. Most events are of this kind, and a flattened `Dispatch` would
/// be read from a buffer.
fn running<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Running, D::Error> {
    #[derive(Deserialize)]
    struct Fields {
        #[serde(deserialize_with = "wire::text")]
        path: Arc<str>,
        #[serde(default, deserialize_with = "wire::text")]
        tool: Arc<str>,
        #[serde(default)]
        attempt: u32,
        execution: Option<u32>,
        #[serde(default = "first")]
        trial: u32,
        #[serde(default)]
        effect: Effect,
        #[serde(default, deserialize_with = "wire::text")]
        key: Arc<str>,
        again: Option<Arc<str>>,
    }

    let fields = Fields::deserialize(deserializer)?;
    let call = fields.execution.map(|execution| Dispatch {
        execution,
        trial: fields.trial,
        effect: fields.effect,
        key: fields.key,
        again: fields.again,
        arguments: Value::Null,
    });
    Ok((fields.path, fields.tool, fields.attempt, call))
}

fn first() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde expects"
)]
fn not(flag: &bool) -> bool {
    !flag
}

/// Usage of calls, as reported by their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Used {
    #[serde(default, deserialize_with = "wire::whole")]
    pub tokens: u64,
    /// In the unit that the tools use.
    #[serde(default, with = "wire::number")]
    pub cost: f64,
}

impl Used {
    /// Adds the usage of another call. Costs are money, so they are rounded to nine decimals: ten tenths are exactly
    /// one.
    pub fn add(&mut self, other: Self) {
        const PARTS: f64 = 1e9;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
        let parts = (self.cost * PARTS).round();
        if parts.is_finite() {
            self.cost = parts / PARTS;
        }
    }

    /// Returns true if nothing was used.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl EventKind {
    /// Returns the path of the step, task or firing, or the name of the signal or budget, that the event is about;
    /// empty for events about the run.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::RunStarted { .. }
            | Self::RunResumed { .. }
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
            | Self::LimitReached { path, .. }
            | Self::TimerFired { path, .. }
            | Self::TaskSet { path, .. }
            | Self::TaskMoved { path, .. }
            | Self::ListenerFired { path }
            | Self::SignalReceived { signal: path, .. } => path,
            Self::BudgetLow { budget, .. } => budget,
        }
    }

    /// Returns the kind of the event.
    #[must_use]
    pub const fn name(&self) -> EventName {
        match self {
            Self::RunStarted { .. } => EventName::RunStarted,
            Self::RunResumed { .. } => EventName::RunResumed,
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
            Self::LimitReached { .. } => EventName::LimitReached,
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
    /// Returns the value that the event carries, with the name of its field.
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
            | Self::RunResumed { .. }
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
            | Self::LimitReached { .. }
            | Self::TimerFired { .. }
            | Self::ListenerFired { .. } => None,
        }
    }

    /// Sets the value, which is parsed separately from the other fields.
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
    /// Returns the stable name of the kind of event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.name().name()
    }
}
