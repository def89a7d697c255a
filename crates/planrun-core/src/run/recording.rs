//! The journal as a run sees it: what is recorded, what is durable, and the replay of what earlier processes recorded.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::value::Value;

use super::frame::{Microseconds, NodeRef};
use crate::journal::{
    EventKind, EventName, ExternalInput, ExternalInputKind, Message, Questions, RecordedCall,
    RecordedQuestion, ReplayState, StepError, Waiting,
};

/// What a run knows of its journal.
#[derive(Default)]
pub(super) struct Recording {
    /// Whether anything is written down.
    is_durable: bool,
    /// Whether anybody wants events.
    is_observed: bool,
    /// The number of the last event that cannot be lost any more.
    durable: u64,
    past: Option<ReplayState>,
    /// Calls that have begun again and whose answer is among the external inputs.
    expecting: HashMap<Arc<str>, NodeRef>,
    /// The moment of the run that is being replayed.
    then: Option<Microseconds>,
    /// Time of the run before this process took it over.
    before: Microseconds,
    /// Said, and not taken yet.
    mail: VecDeque<Message>,
    /// The number of the last event that was told.
    events: u64,
    /// The steps that have settled, and all that the plan itself holds.
    steps_done: u64,
    steps_all: u64,
}

impl Recording {
    pub(super) fn new(
        (is_durable, is_observed): (bool, bool),
        past: Option<ReplayState>,
        now: i128,
    ) -> Self {
        let (mut events, mut before) = (0, 0);
        if let Some(past) = &past {
            events = past.last;
            // A clock that was set back in between does not make the run younger than its last event.
            let age = now.max(past.last_at) - past.begun_at;
            before = u64::try_from(age / 1000).unwrap_or(0);
        }
        Self {
            is_durable,
            is_observed,
            durable: events,
            then: past.as_ref().map(|_| 0),
            past,
            before,
            events,
            ..Self::default()
        }
    }

    /// Whether what an earlier process wrote is still being replayed.
    pub(super) fn is_replaying(&self) -> bool {
        self.then.is_some()
    }

    /// The number of a change that is told of now; nothing where an earlier process has told of it.
    pub(super) fn next_event(&mut self, kind: &EventKind) -> Option<u64> {
        self.count_steps(kind);
        if let Some(past) = &mut self.past
            && past.cross_off(kind.name(), kind.path())
        {
            return None;
        }
        self.events += 1;
        Some(self.events)
    }

    /// Everything that earlier processes have written down is replayed: from here on the run is younger than its journal.
    pub(super) fn end_replay(&mut self) {
        self.then = None;
    }

    /// The number of the latest event.
    pub(super) fn last_event(&self) -> u64 {
        self.events
    }

    /// How many steps of the plan have settled, and how many it has.
    pub(super) fn steps(&self) -> (u64, u64) {
        (self.steps_done, self.steps_all)
    }

    /// The moment of the run that is being replayed.
    pub(super) fn then(&self) -> Option<Microseconds> {
        self.then
    }

    /// Time of the run before this process took it over.
    pub(super) fn time_before(&self) -> Microseconds {
        self.before
    }

    /// Whether anybody wants events.
    pub(super) fn is_observed(&self) -> bool {
        self.is_observed
    }

    /// Whether nobody hears of events, and none is left from an earlier process.
    pub(super) fn is_silent(&self) -> bool {
        !self.is_durable && !self.is_observed && self.past.is_none()
    }

    /// Whether anything is written down.
    pub(super) fn is_durable(&self) -> bool {
        self.is_durable
    }

    /// The number of the last event that cannot be lost any more.
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

    /// A call that an earlier process has begun: where it was made again after it had ended, the first time; of the last
    /// time the latest execution. Each is given once.
    pub(super) fn begun(&mut self, path: &str) -> Option<RecordedCall> {
        let past = self.past.as_mut()?;
        let generation = past.generations.current(path);
        let call = past.steps.get_mut(path)?.next_call(generation)?;
        Some(*call)
    }

    /// Something is done again in what is being replayed.
    pub(super) fn replay_retry(&mut self) {
        if let Some(past) = &mut self.past {
            past.generations.replay_retry();
        }
    }

    /// Whether an earlier process has begun a call, and it was not given yet.
    pub(super) fn has_begun(&self, path: &str) -> bool {
        let Some(past) = &self.past else { return false };
        let generation = past.generations.current(path);
        let step = past.steps.get(path);
        step.is_some_and(|step| step.has_next_call(generation))
    }

    /// What an earlier process has taken over from another run for a step. It is given once.
    pub(super) fn copied(&mut self, path: &str) -> Option<Value> {
        self.past.as_mut()?.steps.get_mut(path)?.copied.take()
    }

    /// Whether an earlier process has taken over the value of a step.
    pub(super) fn has_copied(&self, path: &str) -> bool {
        let step = self.past.as_ref().and_then(|past| past.steps.get(path));
        step.is_some_and(|step| step.copied.is_some())
    }

    /// Whether the last process that drove a run that is only inspected found a step settled already.
    pub(super) fn was_reused(&self, path: &str) -> bool {
        let Some(past) = &self.past else { return false };
        past.steps
            .get(path)
            .is_some_and(|step| step.process < past.processes)
    }

    /// Whether what has failed is done again later in what is being replayed.
    pub(super) fn is_retried_later(&self, path: &str) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| past.tells(EventName::StepRetried, path))
    }

    /// Whether an earlier process has written down that it was in doubt about a call, and it was not replayed yet.
    pub(super) fn has_waited(&self, path: &str) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| past.tells(EventName::StepWaiting, path))
    }

    /// Whether an earlier process has written down the end of a step, and it was not replayed yet.
    pub(super) fn has_settled(&self, path: &str) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| past.tells(EventName::StepSettled, path))
    }

    /// Whether the run has got another text.
    pub(super) fn is_patched(&self) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| past.patched.is_some())
    }

    /// Whether an earlier process has come to a step.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.past
            .as_ref()
            .is_some_and(|past| past.steps.contains_key(path))
    }

    /// Somebody has said something to the run.
    pub(super) fn post(&mut self, message: Message) {
        if self.mail.iter().all(|known| known.id != message.id) {
            self.mail.push_back(message);
        }
    }

    /// Whether something was said that was not taken yet.
    pub(super) fn has_mail(&self) -> bool {
        !self.mail.is_empty()
    }

    /// The oldest of what others have said to the run and no event tells of.
    pub(super) fn next_message(&mut self) -> Option<Message> {
        self.mail.pop_front()
    }

    /// The answer to a call that begins again when everything else was replayed.
    pub(super) fn late_answer(&mut self, path: &str) -> Option<Result<Value, Arc<StepError>>> {
        self.past
            .as_mut()
            .filter(|_| self.then.is_none())?
            .late_answer(path)
    }

    /// A call whose answer is among the external inputs has begun again.
    pub(super) fn expect(&mut self, path: Arc<str>, at: NodeRef) {
        self.expecting.insert(path, at);
    }

    /// What an earlier process asked at a step about this execution. It is given once.
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

    /// What an earlier process asked about a step that had ended, so that it can be undone. It is given once.
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
        wanted: impl Fn(&RecordedQuestion) -> bool,
    ) -> Option<RecordedQuestion> {
        let asked = &mut self.past.as_mut()?.steps.get_mut(path)?.asked;
        let index = asked.iter().position(wanted)?;
        Some(asked.remove(index))
    }

    /// Whether an earlier process asked at a step about this execution.
    pub(super) fn has_asked(&self, path: &str, kind: Waiting, execution: u32) -> bool {
        let asked = self
            .past
            .as_ref()
            .and_then(|past| past.steps.get(path))
            .map(|step| &step.asked);
        asked.is_some_and(|asked| {
            asked
                .iter()
                .any(|asked| asked.question.concerns(kind, execution) && !asked.after_end)
        })
    }

    /// An answer that an earlier process took is not replayed again.
    pub(super) fn forget_answer(&mut self, path: &str) {
        if let Some(past) = &mut self.past {
            past.forget_answer(path);
        }
    }

    /// The moment until which a step waited in an earlier process.
    pub(super) fn slept_until(&mut self, path: &str) -> Option<i128> {
        self.past.as_mut()?.steps.get_mut(path)?.until.take()
    }

    /// How long the run has waited for people, or for somebody to resume it, since the moment that is replayed.
    pub(super) fn idle(&self, now: i128) -> std::time::Duration {
        let (Some(past), Some(then)) = (&self.past, self.then) else {
            return std::time::Duration::ZERO;
        };
        past.idle_since(past.begun_at + i128::from(then) * 1000, now)
    }

    /// Counts the plan's own steps: the paths of others name the step that holds them.
    fn count_steps(&mut self, kind: &EventKind) {
        if let EventKind::RunStarted { steps, .. } = kind {
            self.steps_all = *steps as u64;
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
            self.steps_done += u64::from(*state == StepState::Completed || passed_over);
        }
    }

    /// The next external input that has a receiver.
    pub(super) fn next_external_input(
        &mut self,
        questions: &Questions,
    ) -> Option<(ExternalInput, Option<NodeRef>)> {
        let Self {
            past, expecting, ..
        } = self;
        let past = past.as_mut()?;
        let goes_to = |input: &ExternalInput| match &input.kind {
            ExternalInputKind::Answer { path, .. } => expecting.get(path).map(|at| Some(*at)),
            ExternalInputKind::Given(answer) => questions.step(&answer.path).map(|_| None),
            ExternalInputKind::Timer { .. }
            | ExternalInputKind::Signal { .. }
            | ExternalInputKind::TaskMoved { .. }
            | ExternalInputKind::Cancel { .. }
            | ExternalInputKind::Retried { .. } => Some(None),
        };
        let (index, at) = past
            .external_inputs
            .iter()
            .enumerate()
            .find_map(|(index, input)| Some((index, goes_to(input)?)))?;
        let input = past.external_inputs.remove(index)?;
        if let ExternalInputKind::Answer { path, .. } = &input.kind {
            expecting.remove(path);
        }
        let age = u64::try_from((input.at - past.begun_at) / 1000).unwrap_or(0);
        // Time does not go back where the clock was set back.
        self.then = self.then.max(Some(age));
        Some((input, at))
    }
}
