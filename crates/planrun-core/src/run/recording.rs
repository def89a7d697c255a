//! The journal as a run sees it: the recorded and the durable events, and the replay of those of earlier processes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::StepState;
use planrun_lang::value::{Value, saturating_duration};

use super::clock::microseconds;
use super::frame::{Microseconds, NodeRef};
use crate::journal::{
    Bound, EndWithoutCall, EventKind, EventName, ExternalInput, ExternalInputKind, Questions,
    RecordedCall, RecordedQuestion, RecordedStep, ReplayState, Waiting,
};

/// How a recorded step stopped waiting for a slot.
#[derive(Clone, Copy)]
pub(super) enum LeftQueue {
    /// It went on with the event of this number.
    At(u64),
    Never,
}

/// The journal of earlier processes, as the run replays it.
#[derive(Default)]
pub(super) struct Recording {
    /// Whether events are recorded.
    is_durable: bool,
    /// Whether the driver wants events.
    is_observed: bool,
    /// Number of the last durable event.
    durable: u64,
    /// Number of the event that must be durable before a call is sent, whatever it does: the first one of this process,
    /// if an earlier one has died.
    pub sends_after: u64,
    replay: Option<ReplayState>,
    /// Recorded calls that have begun again and whose answers are among the external inputs.
    expecting: HashMap<Arc<str>, NodeRef>,
    /// The time of the replayed input, since the run began; `None` after the replay.
    replay_time: Option<Microseconds>,
    /// Whether something recorded was taken up after the replay, because a patch has put something before it. Recorded
    /// inputs may have a receiver now. The run clears it when none has.
    pub is_late: bool,
    /// Time between the beginning of the run and the beginning of this process, and how long the run was idle in it.
    time_before: Microseconds,
    idle_before: Duration,
    /// Number of the last event.
    events: u64,
    steps: StepCounts,
}

/// Numbers of the plan's own steps. The paths of other steps contain the name of the step that holds them.
#[derive(Default)]
struct StepCounts {
    settled: u64,
    all: u64,
}

impl StepCounts {
    fn note(&mut self, kind: &EventKind) {
        if let EventKind::RunStarted { steps, .. } = kind {
            self.all = *steps as u64;
        }
        if let EventKind::StepSettled {
            path,
            state,
            reason,
            ..
        } = kind
            && !path.contains(['.', '['])
        {
            let passed_over = *state == StepState::Skipped && reason.as_deref() != Some("upstream");
            self.settled += u64::from(*state == StepState::Completed || passed_over);
        }
    }
}

impl Recording {
    pub(super) fn new(
        (is_durable, is_observed): (bool, bool),
        replay: Option<ReplayState>,
        now: i128,
    ) -> Self {
        let (mut events, mut time_before, mut idle_before) = (0, 0, Duration::ZERO);
        let mut sends_after = 0;
        if let Some(replay) = &replay {
            events = replay.last;
            // What is sent may be what kills the processes of the run. Their deaths are counted by what they record.
            sends_after = events + u64::from(replay.crashes() > 0);
            idle_before = replay.idle_since(replay.begun_at, now);
            // If the clock was set back in between, the run is still not younger than its last event.
            let age = now.max(replay.last_at) - replay.begun_at;
            time_before = microseconds(saturating_duration(age));
        }
        Self {
            is_durable,
            is_observed,
            durable: events,
            sends_after,
            replay_time: replay.as_ref().map(|_| 0),
            replay,
            time_before,
            idle_before,
            events,
            ..Self::default()
        }
    }

    /// Returns true while events of earlier processes are replayed.
    pub(super) fn is_replaying(&self) -> bool {
        self.replay_time.is_some()
    }

    /// Returns what earlier processes have recorded; `None` if this is the first one.
    pub(super) fn replay(&self) -> Option<&ReplayState> {
        self.replay.as_ref()
    }

    pub(super) fn replay_mut(&mut self) -> Option<&mut ReplayState> {
        self.replay.as_mut()
    }

    /// Returns the number of a new event; `None` if an earlier process has recorded it.
    pub(super) fn next_event(&mut self, kind: &EventKind) -> Option<u64> {
        self.steps.note(kind);
        if let Some(replay) = &mut self.replay {
            if replay.mark_replayed(kind.name(), kind.path()) {
                self.is_late = self.replay_time.is_none();
                return None;
            }
            if let EventKind::StepRunning {
                path,
                call: Some(_),
                ..
            } = kind
            {
                // A patch may have put something before a step that had failed. It then ends once more.
                for ended in [EventName::StepWaiting, EventName::StepSettled] {
                    while replay.mark_replayed(ended, path) {}
                }
            }
        }
        self.events += 1;
        Some(self.events)
    }

    /// Returns what became of a step that is recorded to have waited for a slot; `None` if it is not recorded to have
    /// waited, or if it has begun and the replay is over.
    pub(super) fn left_queue(&self, path: &str) -> Option<LeftQueue> {
        let replay = self.replay.as_ref()?;
        if !replay.has_unreplayed(EventName::StepQueued, path) {
            return None;
        }
        let generation = replay.generations.current(path);
        let step = replay.steps.get(path);
        if let Some(call) = step.and_then(|step| step.peek_call(generation)) {
            return Some(LeftQueue::At(call.began.0)).filter(|_| self.is_replaying());
        }
        let without = step.and_then(|step| step.without_call(generation));
        let went_on = without.and_then(|without| without.event);
        let limit = replay.external_inputs.limit();
        let limit = limit.filter(|(_, step)| ***step == *path);
        let event = went_on
            .map(|(event, _)| event)
            .or(limit.map(|(event, _)| event));
        Some(event.map_or(LeftQueue::Never, LeftQueue::At))
    }

    /// Returns true if everything that earlier processes have recorded is replayed.
    pub(super) fn is_replayed(&self) -> bool {
        let is_replayed = |replay: &ReplayState| {
            replay.external_inputs.first_number().is_none() && replay.unreplayed.is_empty()
        };
        self.replay.as_ref().is_none_or(is_replayed)
    }

    /// Returns the time at which a step begins, since the run began. In a replay, it may be replayed before it has begun,
    /// since it waited for a slot or for a later process; a step that no process has begun begins `now`. `is_call`:
    /// whether it is a call, which begins with its first event.
    pub(super) fn start_of(&self, path: &str, is_call: bool, now: Microseconds) -> Microseconds {
        let (Some(replay), Some(time)) = (&self.replay, self.replay_time) else {
            return now;
        };
        let generation = replay.generations.current(path);
        let step = replay.steps.get(path);
        let step = step.filter(|step| step.begun_in.is_some());
        let begun = match step.map(|step| (step, step.peek_call(generation))) {
            Some((_, Some(call))) => call.began.1,
            Some((step, None)) => {
                let without = step.without_call(generation).filter(|_| is_call);
                let event = without.and_then(|without| without.event);
                event.map_or(step.begun_at, |(_, at)| at)
            }
            None => return now.max(time),
        };
        microseconds(saturating_duration(begun - replay.begun_at)).max(time)
    }

    /// Records that a call begins. If it had to wait for a slot before, it has none to wait for in the replay.
    pub(super) fn begin_unqueued(&mut self, path: &str) {
        if let Some(replay) = &mut self.replay {
            replay.mark_replayed(EventName::StepQueued, path);
        }
    }

    /// Moves the replayed time on to a wall-clock time, in nanoseconds since the Unix epoch. It does not go back, even if
    /// the clock was set back.
    pub(super) fn advance_to(&mut self, at: i128) {
        if let (Some(replay), Some(time)) = (&self.replay, &mut self.replay_time) {
            let age = microseconds(saturating_duration(at - replay.begun_at));
            *time = age.max(*time);
        }
    }

    /// Ends the replay, after all external inputs have been replayed that have a receiver.
    pub(super) fn end_replay(&mut self) {
        self.replay_time = None;
    }

    /// Returns the number of the last event.
    pub(super) fn last_event(&self) -> u64 {
        self.events
    }

    /// Returns the number of settled steps of the plan, and the number of all of its steps.
    pub(super) fn steps(&self) -> (u64, u64) {
        (self.steps.settled, self.steps.all)
    }

    /// Returns the time of the replayed input, since the run began; `None` after the replay.
    pub(super) fn replay_time(&self) -> Option<Microseconds> {
        self.replay_time
    }

    /// Returns the time between the beginning of the run and the beginning of this process.
    pub(super) fn time_before(&self) -> Microseconds {
        self.time_before
    }

    /// Returns true if the driver wants events.
    pub(super) fn is_observed(&self) -> bool {
        self.is_observed
    }

    /// Returns true if events are neither recorded nor observed, and there are none of earlier processes.
    pub(super) fn is_silent(&self) -> bool {
        !self.is_durable && !self.is_observed && self.replay.is_none()
    }

    /// Returns true if events are recorded.
    pub(super) fn is_durable(&self) -> bool {
        self.is_durable
    }

    /// Returns the number of the last durable event.
    pub(super) fn durable(&self) -> u64 {
        if self.is_durable {
            self.durable
        } else {
            u64::MAX
        }
    }

    pub(super) fn set_durable(&mut self, number: u64) {
        self.durable = self.durable.max(number);
    }

    /// Takes the next recorded call of a step. If the call was made again after it had ended, its calls are returned in
    /// order, each with its latest execution.
    pub(super) fn begun(&mut self, path: &str) -> Option<RecordedCall> {
        let replay = self.replay.as_mut()?;
        let generation = replay.generations.current(path);
        let call = replay.steps.get_mut(path)?.next_call(generation)?;
        self.is_late = self.replay_time.is_none();
        Some(*call)
    }

    /// Replays a retry of a step.
    pub(super) fn replay_retry(&mut self, path: &str) {
        if let Some(replay) = &mut self.replay {
            replay.generations.replay_retry(path);
        }
    }

    /// Takes the retry of another failed step that is recorded directly after the one that was replayed last.
    pub(super) fn next_retry(&mut self, has_failed: impl Fn(&str) -> bool) -> Option<Arc<str>> {
        let replay = self.replay.as_mut()?;
        replay.external_inputs.take_retry(has_failed)
    }

    /// Returns true if there is a recorded call of a step that was not taken yet.
    pub(super) fn has_begun(&self, path: &str) -> bool {
        let Some(replay) = &self.replay else {
            return false;
        };
        let generation = replay.generations.current(path);
        let step = replay.steps.get(path);
        step.is_some_and(|step| step.peek_call(generation).is_some())
    }

    /// Returns how a step is recorded to have ended without a call, as the run itself decides: its arguments are invalid,
    /// a budget is spent, its approval has expired, it may not be repeated, or its result was known. No other event tells
    /// that it has begun. `None` after the replay, too.
    pub(super) fn end_without_call(&self, path: &str) -> Option<EndWithoutCall> {
        let replay = self.replay.as_ref().filter(|_| self.is_replaying())?;
        let generation = replay.generations.current(path);
        let step = replay.steps.get(path)?;
        let without = step.without_call(generation)?;
        without.end.filter(|_| step.peek_call(generation).is_none())
    }

    /// Takes the recorded result that a step copied from another run.
    pub(super) fn copied(&mut self, path: &str) -> Option<Value> {
        self.replay.as_mut()?.steps.get_mut(path)?.copied.take()
    }

    /// Returns true if the last process that drove the run found the step already settled, as its end shows that was
    /// replayed last. Used when a run is only inspected.
    pub(super) fn was_reused(&self, path: &str) -> bool {
        let Some(replay) = &self.replay else {
            return false;
        };
        let step = replay.steps.get(path);
        step.is_some_and(|step| step.had_ended_before(replay.processes.number()))
    }

    /// Returns the recorded duration of a step whose end is being replayed.
    pub(super) fn recorded_duration(&self, path: &str) -> Option<Microseconds> {
        let replay = self.replay.as_ref()?;
        let ended = replay.has_unreplayed(EventName::StepSettled, path);
        let step = replay.steps.get(path).filter(|_| ended)?;
        Some(step.duration_ms.saturating_mul(1000))
    }

    /// Returns true if the run had ended before it was retried.
    pub(super) fn had_ended(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.has_ended)
    }

    /// Returns true if an event of this kind and path is recorded and has not been replayed yet.
    pub(super) fn has_unreplayed(&self, event: EventName, path: &str) -> bool {
        self.replay
            .as_ref()
            .is_some_and(|replay| replay.has_unreplayed(event, path))
    }

    /// Returns what earlier processes recorded of a step.
    pub(super) fn step(&self, path: &str) -> Option<&RecordedStep> {
        self.replay.as_ref()?.steps.get(path)
    }

    /// Registers a recorded call that has begun again and whose answer is among the external inputs.
    pub(super) fn expect(&mut self, path: Arc<str>, at: NodeRef) {
        self.expecting.insert(path, at);
    }

    /// Takes the recorded question of a step about this execution.
    pub(super) fn asked(
        &mut self,
        path: &str,
        kind: Waiting,
        execution: u32,
    ) -> Option<RecordedQuestion> {
        self.take_asked(path, |asked| {
            asked.question.concerns(kind, execution) && !asked.after_end
        })
    }

    /// Takes the recorded question about a step that had already ended, which is asked for its undo.
    pub(super) fn asked_after_end(
        &mut self,
        path: &str,
        execution: u32,
    ) -> Option<RecordedQuestion> {
        self.take_asked(path, |asked| {
            asked.question.concerns(Waiting::Answer, execution) && asked.after_end
        })
    }

    fn take_asked(
        &mut self,
        path: &str,
        matches: impl Fn(&RecordedQuestion) -> bool,
    ) -> Option<RecordedQuestion> {
        let replay = self.replay.as_mut()?;
        let generation = replay.generations.current(path);
        let asked = &mut replay.steps.get_mut(path)?.asked;
        let index = asked
            .iter()
            .position(|asked| asked.generation == generation && matches(asked))?;
        self.is_late = self.replay_time.is_none();
        Some(asked.remove(index))
    }

    /// Returns the recorded question of a step about this execution, if it was not taken yet.
    pub(super) fn question(
        &self,
        path: &str,
        kind: Waiting,
        execution: u32,
    ) -> Option<&RecordedQuestion> {
        let replay = self.replay.as_ref()?;
        let generation = replay.generations.current(path);
        let is_this = |asked: &&RecordedQuestion| {
            asked.generation == generation
                && asked.question.concerns(kind, execution)
                && !asked.after_end
        };
        replay.steps.get(path)?.asked.iter().find(is_this)
    }

    /// Removes the next recorded answer, so that it is not replayed.
    pub(super) fn forget_answer(&mut self, path: &str) {
        if let Some(replay) = &mut self.replay {
            replay.forget_next_answer(path);
        }
    }

    /// Takes the recorded time that a step waits for.
    pub(super) fn slept_until(&mut self, path: &str) -> Option<i128> {
        let replay = self.replay.as_mut()?;
        let generation = replay.generations.current(path);
        let until = replay.steps.get_mut(path)?.next_wait(generation)?;
        self.is_late = self.replay_time.is_none();
        Some(until)
    }

    /// Returns how long the run was idle, waiting for people or to be resumed: before the replayed time, and since then.
    /// After the replay, all of it was before.
    pub(super) fn idle(&self, now: i128) -> (Duration, Duration) {
        let (Some(replay), Some(time)) = (&self.replay, self.replay_time) else {
            return (self.idle_before, Duration::ZERO);
        };
        let since = replay.idle_since(replay.begun_at + i128::from(time) * 1000, now);
        let all = replay.idle_since(replay.begun_at, now);
        (all.saturating_sub(since), since)
    }

    /// Takes the next external input that has a receiver, if it is recorded before this event. A patch may have put
    /// something before the receiver of an earlier one. `is_bounded`: whether such a timer of a step is running.
    /// `has_failed`: whether a step can be retried.
    pub(super) fn next_external_input(
        &mut self,
        before: Option<u64>,
        questions: &Questions,
        is_bounded: impl Fn(&str, Bound) -> bool,
        has_failed: impl Fn(&str) -> bool,
    ) -> Option<(ExternalInput, Option<NodeRef>)> {
        let Self {
            replay, expecting, ..
        } = self;
        let replay = replay.as_mut()?;
        let is_late = |number: u64| before.is_some_and(|before| number >= before);
        let goes_to = |input: &ExternalInput| match &input.kind {
            _ if is_late(input.number) => None,
            ExternalInputKind::Answer { path, .. } => expecting.get(path).map(|at| Some(*at)),
            ExternalInputKind::Given(answer) => questions.step(&answer.path).map(|_| None),
            ExternalInputKind::Timer { path, timer } => is_bounded(path, *timer).then_some(None),
            ExternalInputKind::Retried { path } => has_failed(path).then_some(None),
            ExternalInputKind::Signal { .. }
            | ExternalInputKind::TaskMoved { .. }
            | ExternalInputKind::Limit { .. }
            | ExternalInputKind::Cancel { .. } => Some(None),
        };
        let (input, at) = replay.external_inputs.take_first(goes_to)?;
        if let ExternalInputKind::Answer { path, .. } = &input.kind {
            expecting.remove(path);
        }
        self.advance_to(input.at);
        Some((input, at))
    }
}
