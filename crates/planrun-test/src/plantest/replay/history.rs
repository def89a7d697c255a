//! The history of a run from its journal, as far as another run can be compared with it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::lives::Death;
use planrun_core::journal::{
    ARGUMENTS, Bound, Cancel, Entry, EntryError, EventName, Given, Kept, Move, OUTPUT, Said,
    Signal, StepError, Waiting, paths_below,
};

/// What the events of a run have recorded.
#[derive(Default)]
pub struct History {
    /// In nanoseconds since 1970.
    pub begun_at: i128,
    pub state: Option<RunState>,
    pub reply: Option<Json>,
    pub error: Option<StepError>,
    /// By path, in the order of their first events.
    pub steps: IndexMap<Arc<str>, StepHistory>,
    pub answers: Answers,
    /// What was said from outside, each at its time since the beginning.
    pub said: Vec<(Duration, Said)>,
    /// Where its processes died, in that order.
    pub deaths: Vec<Death>,
    /// What the process has written that is at work.
    life: Death,
    /// When questions were asked, by the paths of their steps.
    asked: BTreeMap<Arc<str>, i128>,
}

/// What people answered, by the path of the question.
pub type Answers = BTreeMap<Arc<str>, VecDeque<Answered>>;

/// What somebody answered.
#[derive(Clone)]
pub struct Answered {
    /// Since the beginning of the run.
    pub at: Duration,
    /// Since the question.
    pub took: Duration,
    pub given: Given,
}

/// What the events have recorded of one step.
#[derive(Default)]
pub struct StepHistory {
    /// The calls that came to something. Those that `until` found not enough are one with the last.
    pub attempts: Vec<Attempt>,
    pub end: Option<End>,
}

/// A call.
pub struct Attempt {
    pub tool: Arc<str>,
    /// Absent where a result of before was taken, and nothing was called.
    pub arguments: Option<Value>,
    /// The places in them that must not be shown.
    pub sensitive: Vec<Arc<str>>,
    pub outcome: Ended,
    pub took: Duration,
    /// When it went out, since the beginning of the run.
    pub begun_at: Duration,
    /// How often it went out, and how often its process died before it came back.
    pub sent: u32,
    pub lost: u32,
    begun: (i128, u64),
    /// The answer was not what `until` waits for.
    polls: bool,
}

/// What a call came to.
pub enum Ended {
    Value(Value),
    Failed(Arc<StepError>),
    /// Nobody heard of its end.
    Open,
    /// A bound was over before it ended.
    Cut,
}

/// The end of a step.
pub struct End {
    pub state: StepState,
    pub reason: Option<Arc<str>>,
    pub recovered: bool,
    pub output: Option<Value>,
    /// The places in it that must not be shown.
    pub sensitive: Vec<Arc<str>>,
    pub error: Option<Arc<StepError>>,
}

impl History {
    /// Takes the next event.
    ///
    /// # Errors
    /// When its values cannot be had.
    pub fn take(&mut self, mut entry: Entry, kept: &mut Kept<'_>) -> Result<(), EntryError> {
        let at = entry.instant();
        self.life.write(&entry);
        match entry.event {
            EventName::RunStarted => (self.begun_at, self.state) = (at, Some(RunState::Running)),
            EventName::RunResumed => {
                if self.state == Some(RunState::Running) {
                    self.died(Some(since(self.begun_at, at)));
                }
                self.state = Some(RunState::Running);
            }
            EventName::RunPaused => self.state = Some(RunState::Paused),
            EventName::RunSettled => {
                self.state = entry.run_state();
                (self.reply, self.error) = (entry.reply, entry.error);
            }
            EventName::RunCancelling => {
                let (cancel, keep, force) = (true, entry.keep, false);
                let cancel = Cancel {
                    cancel,
                    keep,
                    force,
                };
                self.say(at, Said::Cancel(cancel));
            }
            EventName::SignalReceived => {
                let payload = payload(&mut entry, kept)?;
                let name = entry.signal.unwrap_or_default();
                self.say(at, Said::Signal(Signal { name, payload }));
            }
            EventName::TaskMoved => self.moved(entry, at, kept)?,
            EventName::AnswerGiven => self.answered(entry, at, kept)?,
            EventName::StepRunning => self.running(entry, at, kept)?,
            EventName::StepWaiting => self.waiting(entry, at),
            EventName::StepCopied => {
                let output = entry.output(kept)?.unwrap_or(Value::Null);
                self.taken(entry.path.unwrap_or_default(), output);
            }
            EventName::StepRecovering => {
                let (moment, error) = ((at, entry.number), entry.error.map(Arc::new));
                self.failed(&entry.path.unwrap_or_default(), moment, error);
            }
            EventName::StepSettled => self.settled(entry, at, kept)?,
            EventName::TimerFired => self.timer(&entry.path.unwrap_or_default(), entry.timer),
            EventName::RunPatched
            | EventName::StepQueued
            | EventName::StepRetried
            | EventName::HandleGiven
            | EventName::UsageReported
            | EventName::ResultNoted
            | EventName::BudgetLow
            | EventName::TaskSet
            | EventName::ListenerFired => {}
        }
        Ok(())
    }

    fn moved(&mut self, mut entry: Entry, at: i128, kept: &mut Kept<'_>) -> Result<(), EntryError> {
        let context = payload(&mut entry, kept)?;
        let (task, status) = (
            entry.path.unwrap_or_default(),
            entry.status.unwrap_or_default(),
        );
        let moved = Move {
            task,
            status,
            context,
        };
        self.say(at, Said::Move(moved));
        Ok(())
    }

    /// The history after its last event. A run that neither ended nor was paused has lost its process.
    #[must_use]
    pub fn finish(mut self) -> Self {
        if self.state == Some(RunState::Running) {
            self.died(None);
        }
        self
    }

    /// The process has died, and all calls that were out are lost with it.
    fn died(&mut self, next_at: Option<Duration>) {
        self.deaths
            .push(std::mem::take(&mut self.life).until(next_at));
        let last = self
            .steps
            .values_mut()
            .filter_map(|step| step.attempts.last_mut());
        for attempt in
            last.filter(|attempt| matches!(attempt.outcome, Ended::Open) && !attempt.polls)
        {
            attempt.lost += 1;
        }
    }

    fn say(&mut self, at: i128, said: Said) {
        self.said.push((since(self.begun_at, at), said));
    }

    fn answered(
        &mut self,
        mut entry: Entry,
        at: i128,
        kept: &mut Kept<'_>,
    ) -> Result<(), EntryError> {
        let value = entry
            .answer(kept)?
            .map_or(Json::Null, |value| value.to_json());
        let path = entry.path.unwrap_or_default();
        let step = path.strip_suffix(".confirm").unwrap_or(&path);
        let asked = self
            .asked
            .get(step)
            .or_else(|| self.asked.get(&path))
            .copied()
            .unwrap_or(at);
        let given = Given {
            path: path.clone(),
            value,
            by: entry.by,
            note: entry.note,
        };
        let answered = Answered {
            at: since(self.begun_at, at),
            took: since(asked, at),
            given,
        };
        self.answers.entry(path).or_default().push_back(answered);
        Ok(())
    }

    fn running(
        &mut self,
        mut entry: Entry,
        at: i128,
        kept: &mut Kept<'_>,
    ) -> Result<(), EntryError> {
        let begun = (at, entry.number);
        let arguments = entry.arguments(kept)?;
        let sensitive = paths_below(ARGUMENTS, &entry.sensitive);
        let step = self
            .steps
            .entry(entry.path.unwrap_or_default())
            .or_default();
        if entry.execution.is_none() {
            return Ok(());
        }
        let attempt = Attempt {
            tool: entry.tool.unwrap_or_default(),
            arguments: Some(arguments.unwrap_or(Value::Null)),
            sensitive,
            outcome: Ended::Open,
            took: Duration::ZERO,
            begun_at: since(self.begun_at, at),
            sent: 1,
            lost: 0,
            begun,
            polls: false,
        };
        match step.attempts.last_mut() {
            Some(last) if last.polls && matches!(last.outcome, Ended::Open) => {
                *last = Attempt {
                    begun: last.begun,
                    begun_at: last.begun_at,
                    lost: last.lost,
                    ..attempt
                }
            }
            // Its process died with it, and another one has made it again.
            Some(last) if matches!(last.outcome, Ended::Open) => {
                *last = Attempt {
                    sent: last.sent + 1,
                    lost: last.lost,
                    ..attempt
                };
            }
            Some(_) | None => step.attempts.push(attempt),
        }
        Ok(())
    }

    fn waiting(&mut self, entry: Entry, at: i128) {
        let path = entry.path.unwrap_or_default();
        match entry.waits_for.unwrap_or(Waiting::Retry) {
            Waiting::Retry | Waiting::Outcome => {
                self.failed(&path, (at, entry.number), entry.error.map(Arc::new));
            }
            Waiting::Poll => {
                if let Some(last) = self
                    .steps
                    .get_mut(&path)
                    .and_then(|step| step.attempts.last_mut())
                {
                    last.polls = true;
                }
            }
            Waiting::Confirm | Waiting::Input | Waiting::Answer => {
                self.asked.insert(path, at);
            }
            // A double asks nothing.
            Waiting::Peer | Waiting::Time => {}
        }
    }

    /// A result of before is taken, as if it had been called.
    fn taken(&mut self, path: Arc<str>, output: Value) {
        let attempt = Attempt {
            tool: Arc::default(),
            arguments: None,
            sensitive: Vec::new(),
            outcome: Ended::Value(output),
            took: Duration::ZERO,
            begun_at: Duration::ZERO,
            sent: 1,
            lost: 0,
            begun: (0, 0),
            polls: false,
        };
        self.steps.entry(path).or_default().attempts.push(attempt);
    }

    fn failed(&mut self, path: &str, moment: (i128, u64), error: Option<Arc<StepError>>) {
        let Some(error) = error else { return };
        self.ended(path, moment, Ended::Failed(error));
    }

    /// The call in flight ends; where none is, nothing.
    fn ended(&mut self, path: &str, (at, number): (i128, u64), outcome: Ended) {
        let Some(last) = self
            .steps
            .get_mut(path)
            .and_then(|step| step.attempts.last_mut())
        else {
            return;
        };
        if matches!(last.outcome, Ended::Open) && !last.polls && last.arguments.is_some() {
            // Where two end at one moment, the order of their events decides.
            last.took =
                since(last.begun.0, at) + Duration::from_nanos(number.saturating_sub(last.begun.1));
            last.outcome = outcome;
        }
    }

    /// A bound that is over ends what was called below it.
    fn timer(&mut self, path: &str, timer: Option<Bound>) {
        if !matches!(timer, Some(Bound::Within | Bound::Deadline)) {
            return;
        }
        let inside = |own: &str| {
            path.is_empty()
                || own
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        for (_, step) in self.steps.iter_mut().filter(|(own, _)| inside(own)) {
            if let Some(last) = step
                .attempts
                .last_mut()
                .filter(|last| matches!(last.outcome, Ended::Open))
            {
                last.outcome = Ended::Cut;
            }
        }
    }

    fn settled(
        &mut self,
        mut entry: Entry,
        at: i128,
        kept: &mut Kept<'_>,
    ) -> Result<(), EntryError> {
        let path = entry.path.take().unwrap_or_default();
        let (state, output) = (
            entry.step_state().unwrap_or(StepState::Unknown),
            entry.output(kept)?,
        );
        let error = entry.error.take().map(Arc::new);
        let moment = (at, entry.number);
        if let Some(output) = output
            .as_ref()
            .filter(|_| state == StepState::Completed && !entry.recovered)
        {
            if self
                .steps
                .get(&path)
                .is_some_and(|step| !step.attempts.is_empty())
            {
                self.ended(&path, moment, Ended::Value(output.clone()));
            } else {
                self.taken(path.clone(), output.clone());
            }
        } else if matches!(state, StepState::Failed | StepState::Unknown) {
            self.failed(&path, moment, error.clone());
        }
        let sensitive = paths_below(OUTPUT, &entry.sensitive);
        let (reason, recovered) = (entry.reason, entry.recovered);
        self.steps.entry(path).or_default().end = Some(End {
            state,
            reason,
            recovered,
            output,
            sensitive,
            error,
        });
        Ok(())
    }
}

fn since(begun: i128, at: i128) -> Duration {
    Duration::from_nanos(u64::try_from(at - begun).unwrap_or(0))
}

/// What came with a signal or a move; null where nothing did.
fn payload(entry: &mut Entry, kept: &mut Kept<'_>) -> Result<Json, EntryError> {
    let payload = entry.payload(kept)?;
    Ok(payload.map_or(Json::Null, |payload| payload.to_json()))
}
