//! Applies the events of steps to the replay state: calls, their attempts and ends, and questions.

use std::sync::Arc;
use std::time::Duration;

use super::{EndWithoutCall, RecordedQuestion, RecordedStep, ReplayState};
use crate::journal::call::{PeerQuestion, RecordedCall, RecordedPhase};
use crate::journal::event::{Dispatch, EventKind};
use crate::journal::external_input::ExternalInputKind;
use crate::journal::failure::StepError;
use crate::journal::question::{Answer, Question};
use crate::journal::words::{EventName, Waiting};
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::Value;

impl ReplayState {
    /// Applies an event of a step.
    pub(super) fn apply_step_event(&mut self, kind: EventKind, at: i128) {
        match kind {
            EventKind::StepQueued { path } => self.queued(&path, at),
            EventKind::StepRunning {
                path,
                tool,
                attempt,
                call,
            } => {
                self.running(path, tool, (attempt, call), at);
            }
            EventKind::StepWaiting {
                path,
                what,
                wait,
                error,
                ..
            } => {
                self.waiting(&path, (what, wait), error, at);
            }
            EventKind::StepSleeps { path, until } => {
                self.waiting(&path, (Waiting::Time, Duration::ZERO), None, at);
                let generation = self.generations.latest(&path);
                let step = self.step(path, at);
                step.until = Some(until);
                step.waits.push_back((generation, until));
            }
            EventKind::StepAsks { path, question } => self.asks(path, question, at),
            EventKind::StepCopied {
                path,
                output,
                cached,
                ..
            } => {
                self.copied(path, output, cached, at);
            }
            EventKind::StepRetried { path } => self.retried(path, at),
            EventKind::HandleGiven { path, handle } => self.handle_given(&path, handle),
            EventKind::UsageReported { path, used } => self.used(&path, used),
            EventKind::StepRecovering { path, error } => self.recovering(&path, error, at),
            settled @ EventKind::StepSettled { .. } => self.settled(settled, at),
            // A note accompanies an answer and is not replayed by itself. The other events do not belong to steps.
            EventKind::ResultNoted { .. }
            | EventKind::RunStarted { .. }
            | EventKind::RunResumed { .. }
            | EventKind::RunCancelling { .. }
            | EventKind::RunPaused { .. }
            | EventKind::RunPatched { .. }
            | EventKind::RunGranted { .. }
            | EventKind::RunSettled { .. }
            | EventKind::AnswerGiven { .. }
            | EventKind::BudgetLow { .. }
            | EventKind::LimitReached { .. }
            | EventKind::TimerFired { .. }
            | EventKind::TaskSet { .. }
            | EventKind::TaskMoved { .. }
            | EventKind::ListenerFired { .. }
            | EventKind::SignalReceived { .. } => {}
        }
    }

    fn asks(&mut self, path: Arc<str>, question: Arc<Question>, at: i128) {
        self.crashes = 0;
        if question.kind == Waiting::Peer {
            self.peer_asks(path, question, at);
        } else {
            self.asked(path, question, at);
        }
    }

    fn waiting(
        &mut self,
        path: &Arc<str>,
        (what, wait): (Waiting, Duration),
        error: Option<Arc<StepError>>,
        at: i128,
    ) {
        self.crashes = 0;
        // The attempt has ended, so the question of its peer is withdrawn.
        self.questions.close(path, false);
        if matches!(what, Waiting::Outcome | Waiting::Effects) {
            return self.failed_early(path, at, what, error);
        }
        let step = self.step(path.clone(), at);
        step.state = StepState::Waiting;
        step.until = None;
        let Some(call) = &mut step.call else { return };
        call.phase = RecordedPhase::Waiting { since: at, wait };
        call.asked.retain(|asked| asked.answer.is_some());
        if let Some(error) = error.as_ref().filter(|error| error.sent != Sent::No) {
            call.arrived = call.arrived.or(Some(call.sent_at));
            call.may_have_happened |= error.sent == Sent::Maybe;
        }
        let polls = what == Waiting::Poll;
        if polls || error.as_ref().is_some_and(|error| error.ends_execution()) {
            (call.execution, call.key, call.arrived) = (call.execution + 1, "".into(), None);
        }
        if polls {
            call.trial = 0;
            call.poll_error = error;
        }
    }

    /// Records that an attempt has ended without ending its step. If its answer was lost and it is made again, the next
    /// attempt belongs to the same execution.
    fn failed_early(
        &mut self,
        path: &Arc<str>,
        at: i128,
        what: Waiting,
        error: Option<Arc<StepError>>,
    ) {
        if let Some(error) = error {
            self.failed(path, at, error);
        }
        self.note_event(EventName::StepWaiting, path);
        let step = self.step(path.clone(), at);
        step.state = StepState::Waiting;
        if what == Waiting::Outcome {
            step.earlier.extend(step.call.take());
        }
    }

    /// Records that an earlier result was used for a call. A result from the cache was found in the middle of the run,
    /// so it is an external input and is replayed at its place.
    fn copied(&mut self, path: Arc<str>, output: Value, cached: bool, at: i128) {
        let (number, generation) = (self.last, self.generations.latest(&path));
        let step = self.step(path.clone(), at);
        if !cached {
            step.copied = Some(output);
            return self.note_event(EventName::StepCopied, &path);
        }
        step.call = Some(Box::new(RecordedCall::cached(
            (number, at),
            step.attempts,
            generation,
        )));
        let outcome = Ok(output);
        self.add_external_input(at, ExternalInputKind::Answer { path, outcome });
    }

    /// Records a question of a peer. It is not asked again on replay: the call resumes with the recorded answer.
    fn peer_asks(&mut self, path: Arc<str>, question: Arc<Question>, at: i128) {
        self.questions.ask(&path, question.clone());
        let step = self.step(path, at);
        step.state = StepState::Waiting;
        if let Some(call) = &mut step.call {
            let answer = None;
            call.asked.push(PeerQuestion { question, answer });
        }
    }

    /// Records the answer to a question of a peer. Returns false if the answer is to another question.
    pub(super) fn replied_to_peer(&mut self, answer: &Answer, at: i128) -> bool {
        let question = self.questions.question(&answer.path);
        if question.is_none_or(|question| question.kind != Waiting::Peer) {
            return false;
        }
        let step = self.questions.step(&answer.path).cloned();
        self.questions.answered(answer, at);
        if let Some(step) = step.and_then(|step| self.steps.get_mut(&step)) {
            step.state = StepState::Running;
            let asked = step.call.as_mut().and_then(|call| call.asked.last_mut());
            if let Some(asked) = asked {
                asked.answer = Some(answer.clone());
            }
        }
        true
    }

    /// Records a question to a person.
    fn asked(&mut self, path: Arc<str>, question: Arc<Question>, at: i128) {
        let what = question.kind;
        self.questions.ask(&path, question.clone());
        let generation = self.generations.latest(&path);
        let same = |one: &RecordedQuestion| {
            one.question.concerns(what, question.execution) && one.generation == generation
        };
        // If a gate asks again, its arguments have changed; if a call was lost again, that is another question.
        let again = what == Waiting::Answer;
        let void = self
            .steps
            .get(&path)
            .and_then(|step| step.asked.iter().find(|one| same(one) && !again));
        if let Some(answer) = void
            .and_then(|void| void.answer.as_ref())
            .map(|answer| answer.path.clone())
        {
            self.forget_last_answer(&answer);
        }
        let number = self.last;
        let step = self.step(path, at);
        if step.call.is_none() {
            step.note_without_call(generation, (number, at), None);
        }
        let asked_before = step.asked.last().filter(|one| one.generation == generation);
        let further = step.call.is_some();
        let ended = step.state.is_settled() || asked_before.is_some_and(|one| one.after_end);
        let after_end = again && ended;
        step.state = StepState::Waiting;
        step.asked.retain(|one| again || !same(one));
        step.asked.push(RecordedQuestion {
            question,
            answer: None,
            after_end,
            further,
            generation,
        });
    }

    /// Records that a call waits for a slot. If its attempt had been announced, it was never sent.
    fn queued(&mut self, path: &str, at: i128) {
        let call = self.steps.get_mut(path).and_then(|step| step.call.as_mut());
        if let Some(call) = call.filter(|call| call.phase == RecordedPhase::InFlight) {
            let wait = Duration::ZERO;
            call.phase = RecordedPhase::Waiting { since: at, wait };
            call.trial = call.trial.saturating_sub(1);
            return;
        }
        let generation = self.generations.latest(path);
        if let Some(step) = self.steps.get_mut(path) {
            step.without_call.retain(|one| one.generation != generation);
        }
        self.note_event(EventName::StepQueued, path);
    }

    fn running(
        &mut self,
        path: Arc<str>,
        tool: Arc<str>,
        (attempt, sent): (u32, Option<Dispatch>),
        at: i128,
    ) {
        let tool = Some(tool).filter(|tool| !tool.is_empty());
        let Some(sent) = sent else {
            self.note_event(EventName::StepRunning, &path);
            let step = self.step(path, at);
            (step.state, step.tool) = (StepState::Running, tool);
            return;
        };
        let execution = sent.execution;
        let step = self.steps.get_mut(&path);
        let known = step.and_then(|step| {
            let another = step.call.take_if(|call| call.execution != execution);
            step.earlier.extend(another);
            step.call.as_ref()
        });
        if let Some(call) = known {
            if call.phase == RecordedPhase::Answered {
                // The call was made again after it had ended, so the earlier answer is void.
                self.void_end(&path);
            }
            self.forget_further_approval(&path, execution);
        }
        let (number, generation) = (self.last, self.generations.latest(&path));
        let step = self.step(path, at);
        (step.state, step.tool) = (StepState::Running, tool);
        step.attempts = attempt;
        let before = step.call.take();
        let before = before.as_deref();
        let open = before.filter(|call| !call.phase.has_ended());
        let lost = open.filter(|call| call.phase == RecordedPhase::InFlight);
        let lost_at = lost.map(|lost| lost.sent_at);
        let call = RecordedCall {
            tool: step.tool.clone().unwrap_or_default(),
            execution,
            generation,
            began: before.map_or((number, at), |call| call.began),
            sent_at: at,
            arrived: before.and_then(|call| call.arrived.or(lost_at)),
            may_have_happened: lost.is_some() || before.is_some_and(|call| call.may_have_happened),
            poll_error: open.and_then(|call| call.poll_error.clone()),
            cached: false,
            asked: before.map(|call| call.asked.clone()).unwrap_or_default(),
            handle: None,
            trial: sent.trial,
            attempts: step.attempts,
            again: sent.again,
            effect: sent.effect,
            used: before.map(|call| call.used).unwrap_or_default(),
            key: sent.key,
            arguments: sent.arguments,
            phase: RecordedPhase::InFlight,
        };
        step.call = Some(Box::new(call));
    }

    /// Forgets the last end of a call, and of its step if that has ended, too.
    fn void_end(&mut self, path: &str) {
        self.external_inputs.remove_last_end(path);
        let has_ended = self.mark_replayed(EventName::StepSettled, path);
        if let Some(step) = self.steps.get_mut(path).filter(|_| has_ended) {
            step.void_end();
        }
    }

    /// Forgets the answer that has let a further execution of a step pass its gate, which a replay does not pass again.
    /// The answer before the first call stays, because it dates the start of the step.
    fn forget_further_approval(&mut self, path: &str, execution: u32) {
        let asked = self
            .steps
            .get_mut(path)
            .and_then(|step| step.asked.last_mut());
        let gate = |asked: &&mut RecordedQuestion| {
            asked.question.concerns(Waiting::Confirm, execution) && asked.further
        };
        let Some(asked) = asked.filter(gate) else {
            return;
        };
        asked.further = false;
        let Some(answer) = asked.answer.as_ref().map(|answer| answer.path.clone()) else {
            return;
        };
        self.forget_last_answer(&answer);
    }

    fn settled(&mut self, settled: EventKind, at: i128) {
        let EventKind::StepSettled {
            path,
            state,
            duration,
            recovered,
            reason,
            output,
            error,
            ..
        } = settled
        else {
            return;
        };
        self.note_event(EventName::StepSettled, &path);
        let failed = matches!(state, StepState::Failed | StepState::Unknown);
        if let Some(error) = error.filter(|_| failed) {
            self.failed(&path, at, error);
        }
        self.questions.close(&path, false);
        let (process, number) = (self.processes.number(), self.last);
        let generation = self.generations.latest(&path);
        let (step, end) = if state == StepState::Cancelled {
            let step = self.steps.entry(path.clone());
            let step = step.or_insert_with(|| RecordedStep::new(at));
            (step, EndWithoutCall::Cancelled)
        } else {
            (self.step(path.clone(), at), EndWithoutCall::Other)
        };
        if step.call.is_none() {
            step.note_without_call(generation, (number, at), Some(end));
        }
        step.state = state;
        step.duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        step.recovered = recovered;
        step.note_end(process, generation);
        step.reason = reason;
        step.output.clone_from(&output);
        let call = step.call.as_mut();
        let Some(call) = call.filter(|call| call.phase == RecordedPhase::InFlight) else {
            return;
        };
        call.phase = phase_after(state);
        if state == StepState::Completed {
            let outcome = Ok(output.unwrap_or(Value::Null));
            self.add_external_input(at, ExternalInputKind::Answer { path, outcome });
        }
    }

    /// Records the failure of a step, which is an external input if it ends an attempt.
    pub(super) fn failed(&mut self, path: &Arc<str>, at: i128, error: Arc<StepError>) {
        let (number, generation) = (self.last, self.generations.latest(path));
        let step = self.step(path.clone(), at);
        step.error = Some(error.clone());
        if step.call.is_none() {
            let end = match error.class {
                ErrorClass::Expired => EndWithoutCall::ApprovalExpired,
                ErrorClass::Budget(_) => EndWithoutCall::BudgetSpent,
                ErrorClass::Denied(Denied::Policy) => EndWithoutCall::RepetitionRefused,
                _ => EndWithoutCall::Other,
            };
            step.note_without_call(generation, (number, at), Some(end));
        }
        // A spent budget ends a call before its next attempt, and so does a key that the peer may have forgotten, or an
        // approval that has expired although it was given in time.
        let asked = step.asked.last();
        let spent = match error.class {
            ErrorClass::Budget(_) | ErrorClass::UnknownOutcome => true,
            ErrorClass::Expired => asked.is_some_and(|asked| asked.answer.is_some()),
            _ => false,
        };
        let ends = |phase: RecordedPhase| match phase {
            RecordedPhase::InFlight => true,
            RecordedPhase::Waiting { .. } => spent,
            RecordedPhase::Answered | RecordedPhase::Ended | RecordedPhase::Cancelled => false,
        };
        if let Some(call) = step.call.as_mut().filter(|call| ends(call.phase)) {
            call.phase = RecordedPhase::Answered;
            self.add_external_input(
                at,
                ExternalInputKind::Answer {
                    path: path.clone(),
                    outcome: Err(error),
                },
            );
        }
    }
}

/// Returns the phase of a call in flight whose step has ended otherwise than with the failure of the call.
fn phase_after(state: StepState) -> RecordedPhase {
    match state {
        StepState::Completed => RecordedPhase::Answered,
        StepState::Cancelled => RecordedPhase::Cancelled,
        StepState::Pending
        | StepState::Queued
        | StepState::Running
        | StepState::Waiting
        | StepState::Failed
        | StepState::Skipped
        | StepState::Unknown => RecordedPhase::Ended,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::event::Event;
    use crate::journal::words::Bound;
    use planrun_lang::protocol::RunState;
    use planrun_lang::types::Effect;

    /// Returns what [`ReplayState::only_people_are_awaited`] returns, from all steps and questions.
    fn only_people_are_awaited(state: &ReplayState) -> bool {
        let asks = |path: &Arc<str>| {
            let mut open = state.questions.open();
            open.any(|(question, _)| state.questions.step(question) == Some(path))
        };
        let mut steps = state.steps.iter();
        state.questions.open().next().is_some()
            && steps.all(|(path, step)| asks(path) || !step.is_active())
    }

    fn event(number: u64, kind: EventKind) -> Event {
        Event {
            number,
            at: i128::from(number),
            kind,
            sensitive: Vec::new(),
        }
    }

    fn take(state: &mut ReplayState, kind: EventKind) {
        state.take(event(state.last + 1, kind)).unwrap();
        let (is, expected) = (
            state.only_people_are_awaited(),
            only_people_are_awaited(state),
        );
        assert_eq!(is, expected, "after event {}", state.last);
    }

    fn asks(path: &str, kind: Waiting) -> EventKind {
        EventKind::StepAsks {
            path: path.into(),
            question: Arc::new(Question::plain(kind, "?")),
        }
    }

    fn answers(path: &str) -> EventKind {
        EventKind::AnswerGiven {
            path: path.into(),
            value: Value::Bool(true),
            by: None,
            note: None,
        }
    }

    fn runs(path: &str) -> EventKind {
        EventKind::StepRunning {
            path: path.into(),
            tool: "x.y".into(),
            attempt: 1,
            call: Some(Dispatch {
                execution: 0,
                trial: 1,
                effect: Effect::Effect,
                key: "k".into(),
                again: None,
                arguments: Value::Null,
            }),
        }
    }

    #[test]
    fn whether_only_people_are_awaited_follows_every_event() {
        let mut state = ReplayState::default();
        let started = EventKind::RunStarted {
            run: "r".into(),
            plan: "p".into(),
            until: None,
            steps: 3,
        };
        let events = [
            started,
            asks("a", Waiting::Input),
            runs("b.call"),
            asks("b.call", Waiting::Peer),
            answers("a"),
            answers("b.call.asked"),
            asks("c", Waiting::Confirm),
            EventKind::StepSleeps {
                path: "d".into(),
                until: 9,
            },
            EventKind::StepRetried { path: "b".into() },
            EventKind::TimerFired {
                path: "d".into(),
                timer: Bound::Wait,
            },
            EventKind::TimerFired {
                path: "c".into(),
                timer: Bound::Expires,
            },
            asks("c", Waiting::Confirm),
            EventKind::StepQueued { path: "e".into() },
            answers("c.confirm"),
            runs("c"),
        ];
        for event in events {
            take(&mut state, event);
        }
    }

    /// If each answer looked at all steps, this would take minutes.
    #[test]
    fn many_answers_are_read_in_time() {
        const COUNT: usize = 20_000;
        let mut state = ReplayState::default();
        let asked = (0..COUNT).map(|index| asks(&format!("each[{index}]"), Waiting::Input));
        let answered = (0..COUNT).map(|index| answers(&format!("each[{index}]")));
        state.state = Some(RunState::Running);
        for kind in asked.chain(answered) {
            state.take(event(state.last + 1, kind)).unwrap();
        }
        assert!(!state.questions.any_open());
    }

    /// The branch of a race that waited for its turn until another one had won has begun no call. After a retry, it
    /// has.
    #[test]
    fn a_call_belongs_to_a_generation_of_its_step() {
        let mut state = ReplayState::default();
        let cached =
            |state: &mut ReplayState, path: &str| state.copied(path.into(), Value::Null, true, 0);
        cached(&mut state, "a.first");
        state.retried("a".into(), 0);
        cached(&mut state, "a.b");
        cached(&mut state, "ab");
        let has = |state: &ReplayState, path: &str| {
            let generation = state.generations.current(path);
            state.steps[path].peek_call(generation).is_some()
        };
        assert!(!has(&state, "a.b") && has(&state, "ab") && has(&state, "a.first"));
        let step = state.steps.get_mut("a.b").unwrap();
        assert!(step.next_call(0).is_none());
        state.generations.replay_retry("a");
        assert!(
            has(&state, "a.b") && !has(&state, "a.first"),
            "its generation is over"
        );
        let step = state.steps.get_mut("a.b").unwrap();
        assert!(step.next_call(1).is_some());
    }

    /// An undo that is done for each execution of its step ends as often.
    #[test]
    fn each_end_of_a_step_belongs_to_a_process() {
        let mut state = ReplayState::default();
        let settle = |state: &mut ReplayState| {
            let settled = EventKind::StepSettled {
                path: "a.undo".into(),
                state: StepState::Completed,
                attempts: 1,
                duration: Duration::ZERO,
                recovered: false,
                reason: None,
                output: None,
                error: None,
            };
            state.settled(settled, 0);
        };
        state.processes.begin(1, 0, None);
        settle(&mut state);
        state.processes.begin(1, 0, None);
        settle(&mut state);
        settle(&mut state);
        let mut replayed = || {
            assert!(state.mark_replayed(EventName::StepSettled, "a.undo"));
            state.steps["a.undo"].had_ended_before(2)
        };
        assert_eq!([replayed(), replayed(), replayed()], [true, false, false]);
    }
}
