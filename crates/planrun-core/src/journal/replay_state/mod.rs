//! The fold of a journal: where every step stood when the last event was written, and what came from outside, in order.

mod steps;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use indexmap::IndexMap;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use crate::journal::call::{RecordedCall, RecordedPhase};
use crate::journal::event::{Event, EventKind, Used};
use crate::journal::external_input::{ExternalInput, ExternalInputKind};
use crate::journal::failure::StepError;
use crate::journal::question::{Answer, AnswerError, Given, Question};
use crate::journal::questions::{Accepted, Questions};
use crate::journal::read::EventError;
use crate::journal::words::{Bound, EventName};

/// How often processes of a run may crash at one place before it is paused; a person has to resume it then.
pub const MAX_CRASHES: u32 = 3;

/// What a journal tells of a run.
#[derive(Debug, Default)]
pub struct ReplayState {
    pub run: Arc<str>,
    pub plan: Arc<str>,
    /// The number of the last event.
    pub last: u64,
    /// When the first and the last event happened, in nanoseconds since 1970.
    pub begun_at: i128,
    pub last_at: i128,
    pub state: Option<RunState>,
    pub reply: Option<Value>,
    pub error: Option<Arc<StepError>>,
    /// When it wants to go on by itself, in nanoseconds since 1970.
    pub wake: Option<i128>,
    /// The hash of what the run is bound to, where it was patched.
    pub patched: Option<Arc<str>>,
    /// By path, in the order in which they were first told of.
    pub steps: IndexMap<Arc<str>, RecordedStep, FixedState>,
    /// The status of each task that was ever moved, by path.
    pub tasks: BTreeMap<Arc<str>, Arc<str>>,
    /// What the dispatcher could not have computed itself, in the order in which it learned of it.
    pub external_inputs: VecDeque<ExternalInput>,
    /// What people were asked.
    pub questions: Questions,
    /// How often a process took the run over from one that had died, without anything new since.
    crashes: u32,
    /// How many processes have driven it.
    pub processes: u32,
    /// Times in which it neither went on nor waited for a moment of its own: when each ended, and how long it was.
    idle: Vec<(i128, i128)>,
    /// The moment that the run itself waits for while no process drives it.
    rests_until: Option<i128>,
    pub generations: Generations,
    /// The moment of the event before the last one.
    before_last: i128,
    /// How often each kind of event was told of each path and has not been lived through again, by their `place`.
    told: HashMap<u64, u32>,
}

/// Where a step stood.
#[derive(Debug)]
pub struct RecordedStep {
    pub state: StepState,
    pub tool: Option<Arc<str>>,
    /// When it began and ended, in nanoseconds since 1970.
    pub begun_at: i128,
    pub duration_ms: u64,
    pub attempts: u32,
    pub recovered: bool,
    pub reason: Option<Arc<str>>,
    /// The number of the process that it has last settled in, from 1.
    pub process: u32,
    pub error: Option<Arc<StepError>>,
    pub output: Option<Value>,
    /// Of a call that was dispatched at least once.
    pub call: Option<Box<RecordedCall>>,
    /// Executions of it that ended, and after which it was made again, oldest first.
    pub earlier: VecDeque<Box<RecordedCall>>,
    /// What was taken over from another run.
    pub copied: Option<Value>,
    /// What people were asked about it, one question an execution.
    pub asked: Vec<RecordedQuestion>,
    /// The moment that it waits for, in nanoseconds since 1970.
    pub until: Option<i128>,
}

/// A question that was asked.
#[derive(Clone, Debug)]
pub struct RecordedQuestion {
    pub question: Arc<Question>,
    pub answer: Option<Answer>,
    /// Whether the step had ended: it is asked what it gave, since it is taken back.
    pub after_end: bool,
    /// Whether an attempt went out on the answer.
    used: bool,
    /// Whether what asked it is done again since, so that the same question is another one.
    over: bool,
}

impl ReplayState {
    /// Takes the next event.
    ///
    /// # Errors
    /// When the event does not follow on those before it.
    pub fn take(&mut self, event: Event) -> Result<(), EventError> {
        let Event {
            number, at, kind, ..
        } = event;
        if number != self.last + 1 {
            return Err(EventError::new(format!(
                "event {number} follows on event {}",
                self.last
            )));
        }
        self.last = number;
        let idle = self.rest_since_last(at);
        self.before_last = self.last_at;
        self.last_at = self.last_at.max(at);
        self.live(kind, at, idle);
        Ok(())
    }

    fn live(&mut self, kind: EventKind, at: i128, idle: i128) {
        match kind {
            EventKind::RunStarted { run, plan, .. } => self.started(run, plan, at),
            EventKind::RunResumed => self.resumed(idle, at),
            EventKind::RunPaused { wake, still } => {
                self.leave_out_people(at);
                self.paused(wake, still);
            }
            EventKind::RunPatched { after, .. } => (self.patched, self.crashes) = (Some(after), 0),
            EventKind::RunCancelling { keep } => self.cancelling(keep, at),
            settled @ EventKind::RunSettled { .. } => self.run_settled(settled),
            EventKind::TimerFired { path, timer } => self.timer(path, timer, at),
            EventKind::TaskSet { path, status, .. } => {
                self.told(EventName::TaskSet, &path);
                self.tasks.insert(path, status);
            }
            kind @ (EventKind::TaskMoved { .. }
            | EventKind::SignalReceived { .. }
            | EventKind::AnswerGiven { .. }) => self.heard(kind, at),
            kind @ (EventKind::BudgetLow { .. }
            | EventKind::ListenerFired { .. }
            | EventKind::RunGranted { .. }) => {
                self.told(kind.name(), kind.path());
            }
            kind @ (EventKind::StepQueued { .. }
            | EventKind::StepRunning { .. }
            | EventKind::StepWaiting { .. }
            | EventKind::StepAsks { .. }
            | EventKind::StepSleeps { .. }
            | EventKind::StepCopied { .. }
            | EventKind::StepRetried { .. }
            | EventKind::HandleGiven { .. }
            | EventKind::UsageReported { .. }
            | EventKind::ResultNoted { .. }
            | EventKind::StepRecovering { .. }
            | EventKind::StepSettled { .. }) => self.step_told(kind, at),
        }
    }

    /// What somebody outside has said. What was refused has changed nothing, and is not lived through again.
    fn heard(&mut self, kind: EventKind, at: i128) {
        let name = kind.name();
        if let EventKind::AnswerGiven {
            path,
            value,
            by,
            note,
        } = kind
        {
            let answer = Answer {
                path,
                value,
                by,
                note,
            };
            self.answered(answer, at);
        } else if let EventKind::TaskMoved {
            path,
            status,
            context,
            refused: None,
        } = kind
        {
            self.told(name, &path);
            self.tasks.insert(path.clone(), status.clone());
            let moved = ExternalInputKind::TaskMoved {
                path,
                status,
                context,
            };
            self.learn(at, moved);
        } else if let EventKind::SignalReceived {
            signal,
            payload,
            refused: None,
        } = kind
        {
            self.told(name, &signal);
            self.learn(at, ExternalInputKind::Signal { signal, payload });
        }
    }

    fn run_settled(&mut self, kind: EventKind) {
        if let EventKind::RunSettled {
            state,
            reply,
            error,
        } = kind
        {
            self.state = Some(state);
            (self.reply, self.error) = (reply, error);
        }
    }

    /// Whether an event of this kind and place was written down that has not been lived through again; it is crossed
    /// off then.
    pub fn cross_off(&mut self, event: EventName, path: &str) -> bool {
        if self.told.is_empty() {
            return false;
        }
        let place = place(event, path);
        let Some(count) = self.told.get_mut(&place) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.told.remove(&place);
        }
        true
    }

    /// Whether an event of this kind and place was written down that has not been lived through again.
    #[must_use]
    pub fn tells(&self, event: EventName, path: &str) -> bool {
        self.told.contains_key(&place(event, path))
    }

    /// The answer to a call whose step begins only after everything else was lived through: a patch has put something
    /// before it.
    pub fn late_answer(&mut self, path: &str) -> Option<Result<Value, Arc<StepError>>> {
        let of_call = |input: &ExternalInput| matches!(&input.kind, ExternalInputKind::Answer { path: own, .. } if **own == *path);
        let index = self.external_inputs.iter().position(of_call)?;
        match self.external_inputs.remove(index)?.kind {
            ExternalInputKind::Answer { outcome, .. } => Some(outcome),
            _ => None,
        }
    }

    /// How long, from a moment to now, the run neither went on nor waited for a moment of its own: waits for people, and
    /// for somebody to resume it. Both are in nanoseconds since 1970.
    #[must_use]
    pub fn idle_since(&self, moment: i128, now: i128) -> Duration {
        let known: i128 = self
            .idle
            .iter()
            .filter(|(end, _)| *end > moment)
            .map(|(_, length)| length)
            .sum();
        Duration::from_nanos(u64::try_from(known + self.rest_since_last(now)).unwrap_or(0))
    }

    /// The idle part of the time since the last event, after which no process drove the run.
    fn rest_since_last(&self, now: i128) -> i128 {
        let rested = self
            .rests_until
            .map_or(0, |until| (until.min(now) - self.last_at).max(0));
        (now - self.last_at - rested).max(0)
    }

    /// How many processes have died since it last got further.
    #[must_use]
    pub fn crashes(&self) -> u32 {
        self.crashes + u32::from(self.state == Some(RunState::Running))
    }

    /// Holds an answer against what the run asks. `now` is in nanoseconds since 1970.
    ///
    /// # Errors
    /// When the answer cannot be taken.
    pub fn accept(&self, given: &Given, now: i128) -> Result<Accepted, AnswerError> {
        match self.state {
            Some(state) if state.is_ended() => Err(AnswerError::Withdrawn(given.path.clone())),
            _ => self.questions.accept(given, now),
        }
    }

    /// Takes an answer out: what it was given for is not what the run asks now.
    pub fn forget_answer(&mut self, path: &str) {
        self.external_inputs
            .retain(|input| !matches!(&input.kind, ExternalInputKind::Given(answer) if *answer.path == *path));
        self.cross_off(EventName::AnswerGiven, path);
    }

    fn started(&mut self, run: Arc<str>, plan: Arc<str>, at: i128) {
        (self.run, self.plan) = (run, plan);
        self.begun_at = at;
        self.processes = 1;
        self.state = Some(RunState::Running);
        self.told(EventName::RunStarted, "");
    }

    fn cancelling(&mut self, keep: bool, at: i128) {
        self.told(EventName::RunCancelling, "");
        self.learn(at, ExternalInputKind::Cancel { keep });
    }

    fn paused(&mut self, wake: Option<i128>, still: bool) {
        self.crashes = 0;
        self.state = Some(RunState::Paused);
        self.wake = wake;
        // A moment that the run itself waits for comes nearer without a process, too.
        self.rests_until = self
            .wake
            .filter(|_| !still && !self.only_people_are_awaited());
    }

    fn handed(&mut self, path: &str, handle: Json) {
        self.crashes = 0;
        let step = self.steps.get_mut(path);
        if let Some(call) = step.and_then(|step| step.call.as_mut()) {
            call.handle = Some(handle);
        }
    }

    fn used(&mut self, path: &str, used: Used) {
        let step = self.steps.get_mut(path);
        if let Some(call) = step.and_then(|step| step.call.as_mut()) {
            call.used.add(used);
        }
    }

    fn recovering(&mut self, path: &Arc<str>, error: Arc<StepError>, at: i128) {
        self.told(EventName::StepRecovering, path);
        self.failed(path, at, error);
    }

    /// A step is done again, and so is what worked for it: what was called so far has ended.
    fn retried(&mut self, path: Arc<str>, at: i128) {
        let inside = self.steps.iter_mut();
        for (_, step) in inside.filter(|(own, _)| holds(&path, own)) {
            step.earlier.extend(step.call.take());
            step.asked.iter_mut().for_each(|asked| asked.over = true);
        }
        self.generations.retries.push(path.clone());
        self.told(EventName::StepRetried, &path);
        self.learn(at, ExternalInputKind::Retried { path });
    }

    fn resumed(&mut self, idle: i128, at: i128) {
        if self.state == Some(RunState::Running) {
            self.crashes += 1;
        }
        self.processes += 1;
        self.idle.push((at, idle));
        self.rests_until = None;
        self.state = Some(RunState::Running);
    }

    fn timer(&mut self, path: Arc<str>, timer: Bound, at: i128) {
        self.leave_out_people(at);
        match timer {
            Bound::Within | Bound::Deadline => {
                let call = self
                    .steps
                    .get_mut(&path)
                    .and_then(|step| step.call.as_mut());
                if let Some(call) = call.filter(|call| call.phase == RecordedPhase::InFlight) {
                    call.phase = RecordedPhase::Ended;
                }
            }
            Bound::Expires => self.questions.close(&path, true),
            Bound::Wait => {}
        }
        self.told(EventName::TimerFired, &path);
        self.learn(at, ExternalInputKind::Timer { path, timer });
    }

    fn answered(&mut self, answer: Answer, at: i128) {
        self.leave_out_people(at);
        if self.replied_to_peer(&answer, at) {
            return;
        }
        let step = self.questions.step(&answer.path).cloned();
        self.questions.answered(&answer, at);
        if let Some(asked) = step.and_then(|step| self.steps.get_mut(&step)?.asked.last_mut()) {
            asked.answer = Some(answer.clone());
        }
        self.told(EventName::AnswerGiven, &answer.path);
        self.learn(at, ExternalInputKind::Given(answer));
    }

    /// Where everything has waited for people since the event before, that time is nobody's.
    fn leave_out_people(&mut self, at: i128) {
        if self.state == Some(RunState::Running) && self.only_people_are_awaited() {
            self.idle.push((at, at - self.before_last));
        }
    }

    fn only_people_are_awaited(&self) -> bool {
        let questions = self
            .questions
            .open()
            .filter_map(|(path, _)| self.questions.step(path));
        let asked: BTreeSet<&Arc<str>> = questions.collect();
        let goes_on = |step: &RecordedStep| {
            let calls = step.call.as_ref().is_some_and(|call| match call.phase {
                RecordedPhase::InFlight | RecordedPhase::Waiting { .. } => true,
                RecordedPhase::Answered | RecordedPhase::Ended => false,
            });
            !step.state.is_settled() && (calls || step.until.is_some())
        };
        !asked.is_empty()
            && self
                .steps
                .iter()
                .all(|(path, step)| asked.contains(path) || !goes_on(step))
    }

    fn learn(&mut self, at: i128, kind: ExternalInputKind) {
        self.crashes = 0;
        self.external_inputs.push_back(ExternalInput {
            number: self.last,
            at,
            kind,
        });
    }

    fn told(&mut self, event: EventName, path: &str) {
        *self.told.entry(place(event, path)).or_default() += 1;
    }

    fn step(&mut self, path: Arc<str>, at: i128) -> &mut RecordedStep {
        self.steps.entry(path).or_insert_with(|| RecordedStep {
            state: StepState::Pending,
            tool: None,
            begun_at: at,
            duration_ms: 0,
            attempts: 0,
            recovered: false,
            reason: None,
            process: 0,
            error: None,
            output: None,
            call: None,
            earlier: VecDeque::new(),
            copied: None,
            asked: Vec::new(),
            until: None,
        })
    }
}

/// A kind of event and a path as one number, wide enough that two of a run do not meet.
fn place(event: EventName, path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (event, path).hash(&mut hasher);
    hasher.finish()
}

/// The generations of steps: one that is done again, and what works for it, begins a new one.
#[derive(Debug, Default)]
pub struct Generations {
    /// The paths of what was done again, in order.
    retries: Vec<Arc<str>>,
    /// How many of them were replayed.
    replayed: usize,
}

impl Generations {
    /// The next retry is replayed.
    pub fn replay_retry(&mut self) {
        self.replayed += 1;
    }

    /// The latest generation of a step.
    fn latest(&self, path: &str) -> usize {
        count(&self.retries, path)
    }

    /// Its generation in what was replayed so far.
    #[must_use]
    pub fn current(&self, path: &str) -> usize {
        count(
            self.retries.get(..self.replayed).unwrap_or(&self.retries),
            path,
        )
    }
}

fn count(retries: &[Arc<str>], path: &str) -> usize {
    retries.iter().filter(|outer| holds(outer, path)).count()
}

/// Whether a step is another one, or works for it.
fn holds(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl RecordedStep {
    /// The next call of the step in what is replayed, of those of this generation.
    pub fn next_call(&mut self, generation: usize) -> Option<Box<RecordedCall>> {
        while self
            .earlier
            .front()
            .is_some_and(|call| call.generation < generation)
        {
            self.earlier.pop_front();
        }
        match self.earlier.front() {
            Some(call) if call.generation > generation => None,
            Some(_) => self.earlier.pop_front(),
            None => self.call.take_if(|call| call.generation <= generation),
        }
    }

    /// Whether there is such a call.
    #[must_use]
    pub fn has_next_call(&self, generation: usize) -> bool {
        let mut earlier = self
            .earlier
            .iter()
            .filter(|call| call.generation >= generation);
        match earlier.next() {
            Some(call) => call.generation == generation,
            None => self
                .call
                .as_ref()
                .is_some_and(|call| call.generation <= generation),
        }
    }
}
