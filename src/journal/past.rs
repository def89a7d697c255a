//! The fold of a journal: where every step stood when the last event was written, and what came from outside, in order.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use super::entry::{Entry, EntryError, Kept};
use super::event::{Bound, EventName};
use super::failure::StepError;
use crate::protocol::{RunState, StepState};
use crate::value::Value;

/// What a journal tells of a run.
#[derive(Debug, Default)]
pub struct Past {
    pub run: Arc<str>,
    pub plan: Arc<str>,
    /// The number of the last event.
    pub last: u64,
    /// When the first and the last event happened, in nanoseconds since 1970.
    pub begun_at: i128,
    pub last_at: i128,
    pub state: Option<RunState>,
    pub reply: Option<Json>,
    pub error: Option<StepError>,
    /// When it wants to go on by itself, in nanoseconds since 1970.
    pub wake: Option<i128>,
    /// By path.
    pub steps: BTreeMap<Arc<str>, PastStep>,
    /// What the dispatcher could not have computed itself, in the order in which it learned of it.
    pub news: VecDeque<News>,
    /// How often the run was resumed without anything new since.
    pub crashes: u32,
    /// How long processes drove it.
    driven: i128,
    /// When the process that drives it began.
    driven_since: i128,
    /// The moment of the event before the last one.
    before_last: i128,
    told: HashMap<u64, u32>,
}

/// Where a step stood.
#[derive(Debug)]
pub struct PastStep {
    pub state: StepState,
    pub tool: Option<Arc<str>>,
    /// When it began and ended, in nanoseconds since 1970.
    pub begun_at: i128,
    pub duration_ms: u64,
    pub attempts: u32,
    pub recovered: bool,
    pub reason: Option<Arc<str>>,
    pub error: Option<Arc<StepError>>,
    pub output: Option<Value>,
    /// Of a call that was dispatched at least once.
    pub call: Option<PastCall>,
}

/// The latest execution of a call.
#[derive(Clone, Debug)]
pub struct PastCall {
    pub execution: u32,
    /// Of the current series of retries, from 1.
    pub trial: u32,
    pub key: Arc<str>,
    pub arguments: Value,
    pub phase: PastPhase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastPhase {
    /// It had been sent, or was about to be.
    InFlight,
    /// Between two attempts, until this moment in nanoseconds since 1970.
    Waiting(i128),
    /// Its answer is among the news.
    Answered,
    /// It ended because of something else.
    Ended,
}

/// Something that came from outside.
#[derive(Clone, Debug)]
pub struct News {
    /// The event that tells of it.
    pub number: u64,
    pub at: i128,
    pub kind: NewsKind,
}

#[derive(Clone, Debug)]
pub enum NewsKind {
    /// The last attempt at a call ended, and no further one was made.
    Answer { path: Arc<str>, outcome: Result<Value, Arc<StepError>> },
    /// A time bound was over.
    Timer { path: Arc<str>, timer: Bound },
    /// Somebody asked for the end.
    Cancel,
}

impl Past {
    /// Takes the next event.
    ///
    /// # Errors
    /// When the event does not follow on those before it, or its values cannot be had.
    pub fn take(&mut self, mut entry: Entry, kept: &mut Kept<'_>) -> Result<(), EntryError> {
        if entry.number != self.last + 1 {
            return Err(EntryError::new(format!("event {} follows on event {}", entry.number, self.last)));
        }
        self.last = entry.number;
        let at = entry.instant();
        self.before_last = self.last_at;
        self.last_at = self.last_at.max(at);
        match entry.event {
            EventName::RunStarted => self.started(entry, at),
            EventName::RunResumed => self.resumed(at),
            EventName::RunPaused => self.paused(entry.wake.as_deref(), at),
            EventName::RunCancelling => {
                self.told(EventName::RunCancelling, "");
                self.learn(at, NewsKind::Cancel);
            }
            EventName::RunSettled => {
                self.state = entry.run_state();
                (self.reply, self.error) = (entry.reply, entry.error);
            }
            EventName::TimerFired => self.timer(entry.path.unwrap_or_default(), entry.timer, at),
            EventName::StepQueued => self.queued(&entry.path.unwrap_or_default(), at),
            EventName::StepRunning => self.running(&mut entry, at, kept)?,
            EventName::StepWaiting => self.waiting(entry.path.unwrap_or_default(), entry.wait_ms.unwrap_or(0), at),
            EventName::StepRecovering => {
                let path = entry.path.unwrap_or_default();
                self.told(EventName::StepRecovering, &path);
                if let Some(error) = entry.error {
                    self.failed(&path, at, Arc::new(error));
                }
            }
            EventName::StepSettled => self.settled(entry, at, kept)?,
        }
        Ok(())
    }

    /// Whether an event of this kind and place was written down that has not been lived through again; it is crossed
    /// off then.
    pub fn cross_off(&mut self, event: EventName, path: &str) -> bool {
        if self.told.is_empty() {
            return false;
        }
        let place = place(event, path);
        let Some(count) = self.told.get_mut(&place) else { return false };
        *count -= 1;
        if *count == 0 {
            self.told.remove(&place);
        }
        true
    }

    /// How long processes have driven the run, and it wanted to be driven: waits for people do not count.
    #[must_use]
    pub fn driven(&self) -> Duration {
        let open = if self.state == Some(RunState::Running) { self.last_at - self.driven_since } else { 0 };
        Duration::from_nanos(u64::try_from(self.driven + open).unwrap_or(0))
    }

    fn started(&mut self, entry: Entry, at: i128) {
        (self.run, self.plan) = (entry.run.unwrap_or_default(), entry.plan.unwrap_or_default());
        (self.begun_at, self.driven_since) = (at, at);
        self.state = Some(RunState::Running);
        self.told(EventName::RunStarted, "");
    }

    fn paused(&mut self, wake: Option<&str>, at: i128) {
        self.crashes = 0;
        self.driven += at - self.driven_since;
        self.state = Some(RunState::Paused);
        self.wake = wake.and_then(crate::value::parse_timestamp);
    }

    fn resumed(&mut self, at: i128) {
        if self.state == Some(RunState::Running) {
            self.crashes += 1;
            self.driven += self.before_last - self.driven_since;
        }
        self.driven_since = at;
        self.state = Some(RunState::Running);
    }

    fn timer(&mut self, path: Arc<str>, timer: Option<Bound>, at: i128) {
        if let Some(call) = self.steps.get_mut(&path).and_then(|step| step.call.as_mut()) {
            call.phase = PastPhase::Ended;
        }
        let timer = timer.unwrap_or(Bound::Within);
        self.told(EventName::TimerFired, &path);
        self.learn(at, NewsKind::Timer { path, timer });
    }

    fn waiting(&mut self, path: Arc<str>, wait_ms: u64, at: i128) {
        self.crashes = 0;
        let step = self.step(path, at);
        step.state = StepState::Waiting;
        if let Some(call) = &mut step.call {
            call.phase = PastPhase::Waiting(at + i128::from(wait_ms) * 1_000_000);
        }
    }

    /// A call waits for a slot. One that had been announced never went out, then.
    fn queued(&mut self, path: &str, at: i128) {
        let call = self.steps.get_mut(path).and_then(|step| step.call.as_mut());
        match call.filter(|call| call.phase == PastPhase::InFlight) {
            Some(call) => {
                call.phase = PastPhase::Waiting(at);
                call.trial = call.trial.saturating_sub(1);
            }
            None => self.told(EventName::StepQueued, path),
        }
    }

    fn running(&mut self, entry: &mut Entry, at: i128, kept: &mut Kept<'_>) -> Result<(), EntryError> {
        let path = entry.path.take().unwrap_or_default();
        let arguments = entry.arguments(kept)?;
        let Some(execution) = entry.execution else {
            self.told(EventName::StepRunning, &path);
            let step = self.step(path, at);
            (step.state, step.tool) = (StepState::Running, entry.tool.take());
            return Ok(());
        };
        let answered = self.steps.get(&path).and_then(|step| step.call.as_ref());
        if answered.is_some_and(|call| call.phase == PastPhase::Answered) {
            // It was made again after it had ended: the answer of then is void.
            self.news.retain(|news| !matches!(&news.kind, NewsKind::Answer { path: old, .. } if *old == path));
            self.cross_off(EventName::StepSettled, &path);
        }
        let step = self.step(path, at);
        (step.state, step.tool) = (StepState::Running, entry.tool.take());
        step.attempts = entry.attempt.unwrap_or(step.attempts + 1);
        let call = PastCall {
            execution,
            trial: entry.trial.unwrap_or(1),
            key: entry.key.take().unwrap_or_default(),
            arguments: arguments.unwrap_or(Value::Null),
            phase: PastPhase::InFlight,
        };
        step.call = Some(call);
        Ok(())
    }

    fn settled(&mut self, mut entry: Entry, at: i128, kept: &mut Kept<'_>) -> Result<(), EntryError> {
        let path = entry.path.take().unwrap_or_default();
        let output = entry.output(kept)?;
        let error = entry.error.take().map(Arc::new);
        self.told(EventName::StepSettled, &path);
        let state = entry.step_state().unwrap_or(StepState::Unknown);
        match &error {
            Some(error) if matches!(state, StepState::Failed | StepState::Unknown) => {
                self.failed(&path, at, error.clone());
            }
            _ => {}
        }
        let step = self.step(path.clone(), at);
        step.state = state;
        step.duration_ms = entry.duration_ms.unwrap_or(0);
        step.recovered = entry.recovered;
        step.reason = entry.reason;
        step.output.clone_from(&output);
        let Some(call) = step.call.as_mut().filter(|call| call.phase == PastPhase::InFlight) else { return Ok(()) };
        if state == StepState::Completed {
            call.phase = PastPhase::Answered;
            let outcome = Ok(output.unwrap_or(Value::Null));
            self.learn(at, NewsKind::Answer { path, outcome });
        } else {
            call.phase = PastPhase::Ended;
        }
        Ok(())
    }

    /// A failure of a step: news where it is the end of an attempt.
    fn failed(&mut self, path: &Arc<str>, at: i128, error: Arc<StepError>) {
        let step = self.step(path.clone(), at);
        step.error = Some(error.clone());
        if let Some(call) = step.call.as_mut().filter(|call| call.phase == PastPhase::InFlight) {
            call.phase = PastPhase::Answered;
            self.learn(at, NewsKind::Answer { path: path.clone(), outcome: Err(error) });
        }
    }

    fn learn(&mut self, at: i128, kind: NewsKind) {
        self.crashes = 0;
        self.news.push_back(News { number: self.last, at, kind });
    }

    fn told(&mut self, event: EventName, path: &str) {
        *self.told.entry(place(event, path)).or_default() += 1;
    }

    fn step(&mut self, path: Arc<str>, at: i128) -> &mut PastStep {
        self.steps.entry(path).or_insert_with(|| PastStep {
            state: StepState::Pending,
            tool: None,
            begun_at: at,
            duration_ms: 0,
            attempts: 0,
            recovered: false,
            reason: None,
            error: None,
            output: None,
            call: None,
        })
    }
}

/// A kind of event and a path as one number, wide enough that two of a run do not meet.
fn place(event: EventName, path: &str) -> u64 {
    let mut hash = blake3::Hasher::new();
    hash.update(event.name().as_bytes());
    hash.update(b" ");
    hash.update(path.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.finalize().as_bytes()[..8]);
    u64::from_le_bytes(bytes)
}
