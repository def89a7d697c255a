//! The replay state: a fold over the events of a journal that yields the state of every step and the external inputs in
//! order.

mod generations;
mod processes;
mod recorded_step;
mod steps;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::FixedState;
use indexmap::IndexMap;
use planrun_lang::protocol::{RunState, is_at_or_below};
use planrun_lang::value::{Value, saturating_duration};
use serde_json::Value as Json;

use self::generations::Generations;
pub use self::processes::RecordedProcesses;
pub use self::recorded_step::{EndWithoutCall, RecordedQuestion, RecordedStep, WithoutCall};
use crate::journal::call::RecordedPhase;
use crate::journal::event::{Event, EventKind, Used};
use crate::journal::external_input::{ExternalInput, ExternalInputKind, ExternalInputs};
use crate::journal::failure::StepError;
use crate::journal::question::{Answer, AnswerError, SubmittedAnswer};
use crate::journal::questions::{Accepted, Questions};
use crate::journal::read::EventError;
use crate::journal::words::{Bound, EventName};

/// Number of crashes without progress in between after which a run is paused; then a person has to resume it.
pub const MAX_CRASHES: u32 = 3;

/// The state of a run after all recorded events.
#[derive(Debug, Default)]
pub struct ReplayState {
    pub run: Arc<str>,
    pub plan: Arc<str>,
    /// Number of the last event.
    pub last: u64,
    /// Wall-clock times of the first and the last event, in nanoseconds since the Unix epoch.
    pub begun_at: i128,
    pub last_at: i128,
    pub state: Option<RunState>,
    pub reply: Option<Value>,
    pub error: Option<Arc<StepError>>,
    /// Whether the run has ended, although it may have been retried since.
    pub has_ended: bool,
    /// Steps whose `undo` had failed when the run ended, and can be retried.
    pub retryable: Vec<Arc<str>>,
    /// Wall-clock time at which the run resumes by itself, in nanoseconds since the Unix epoch.
    pub wake: Option<i128>,
    /// Hash of the pinned document after the last patch; `None` if the run was never patched.
    pub patched: Option<Arc<str>>,
    /// The steps by path, in the order of their first events.
    pub steps: IndexMap<Arc<str>, RecordedStep, FixedState>,
    /// The latest status of each task that was set or moved, by path.
    pub tasks: BTreeMap<Arc<str>, Arc<str>>,
    /// Inputs that the run could not have computed itself, in the order of their arrival.
    pub external_inputs: ExternalInputs,
    /// The questions that people were asked.
    pub questions: Questions,
    /// Positions of the steps that call or wait for a time, without asking anybody.
    busy: HashSet<usize, FixedState>,
    /// Number of times a process took over from one that had died, since the last progress.
    crashes: u32,
    /// The processes that have driven the run, in order.
    pub processes: RecordedProcesses,
    /// Idle periods, in which the run neither worked nor waited for a timer of its own: the end and the length of each.
    idle: Vec<(i128, i128)>,
    /// The time that the run itself waits for while no process drives it.
    waits_until: Option<i128>,
    pub generations: Generations,
    /// Wall-clock time of the event before the last one.
    before_last: i128,
    /// How many events of each kind and path have been recorded and not been replayed yet, by their `place`.
    pub(crate) unreplayed: HashMap<u64, u32>,
}

impl ReplayState {
    /// Applies the next event.
    ///
    /// # Errors
    /// Returns an error if the event does not follow the last one.
    pub fn take(&mut self, event: Event) -> Result<(), EventError> {
        let Event {
            number, at, kind, ..
        } = event;
        if number != self.last + 1 {
            return Err(EventError::new(format!(
                "event {number} follows event {}, so events are missing or in the wrong order",
                self.last
            )));
        }
        self.last = number;
        let idle = self.idle_since_last_event(at);
        self.before_last = self.last_at;
        self.last_at = self.last_at.max(at);
        let path: Option<Arc<str>> = match &kind {
            EventKind::AnswerGiven { path, .. } => self.questions.step(path).cloned(),
            kind => Some(kind.path().into()),
        };
        self.apply_kind(kind, at, idle);
        if let Some(path) = path
            && let Some((position, _, step)) = self.steps.get_full(&*path)
        {
            if step.is_active() && !self.questions.is_asked_by(&path) {
                self.busy.insert(position);
            } else {
                self.busy.remove(&position);
            }
        }
        Ok(())
    }

    fn apply_kind(&mut self, kind: EventKind, at: i128, idle: i128) {
        match kind {
            EventKind::RunStarted {
                run, plan, until, ..
            } => self.started(run, plan, until, at),
            EventKind::RunResumed { until } => self.resumed(idle, until, at),
            EventKind::RunPaused { wake, still } => {
                self.exclude_waits_for_people(at);
                self.paused(wake, still);
            }
            EventKind::RunPatched { after, .. } => (self.patched, self.crashes) = (Some(after), 0),
            EventKind::RunCancelling {
                keep,
                force,
                replaces_end,
            } => {
                self.note_event(EventName::RunCancelling, "");
                let cancel = ExternalInputKind::Cancel {
                    keep,
                    force,
                    replaces_end,
                };
                self.add_external_input(at, cancel);
            }
            settled @ EventKind::RunSettled { .. } => self.run_settled(settled),
            EventKind::LimitReached { path, limit } => {
                self.note_event(EventName::LimitReached, &path);
                self.add_external_input(at, ExternalInputKind::Limit { path, limit });
            }
            EventKind::TimerFired { path, timer } => self.timer(path, timer, at),
            EventKind::TaskSet { path, status, .. } => {
                self.note_event(EventName::TaskSet, &path);
                self.tasks.insert(path, status);
            }
            kind @ (EventKind::TaskMoved { .. }
            | EventKind::SignalReceived { .. }
            | EventKind::AnswerGiven { .. }) => self.apply_external(kind, at),
            kind @ (EventKind::BudgetLow { .. }
            | EventKind::ListenerFired { .. }
            | EventKind::RunGranted { .. }) => {
                self.note_event(kind.name(), kind.path());
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
            | EventKind::StepSettled { .. }) => self.apply_step_event(kind, at),
        }
    }

    /// Applies an input from outside. A refused input has changed nothing, and is not replayed.
    fn apply_external(&mut self, kind: EventKind, at: i128) {
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
            self.note_event(name, &path);
            self.tasks.insert(path.clone(), status.clone());
            let moved = ExternalInputKind::TaskMoved {
                path,
                status,
                context,
            };
            self.add_external_input(at, moved);
        } else if let EventKind::SignalReceived {
            signal,
            payload,
            refused: None,
        } = kind
        {
            self.note_event(name, &signal);
            self.add_external_input(at, ExternalInputKind::Signal { signal, payload });
        }
    }

    fn run_settled(&mut self, kind: EventKind) {
        if let EventKind::RunSettled {
            state,
            reply,
            error,
            retryable,
        } = kind
        {
            (self.state, self.has_ended) = (Some(state), true);
            (self.reply, self.error, self.retryable) = (reply, error, retryable);
        }
    }

    /// Marks one recorded event of this kind and path as replayed. Returns false if there is none left.
    pub fn mark_replayed(&mut self, event: EventName, path: &str) -> bool {
        if self.unreplayed.is_empty() {
            return false;
        }
        let place = place(event, path, self.generations.current(path));
        let Some(count) = self.unreplayed.get_mut(&place) else {
            return false;
        };
        *count -= 1;
        if *count == 0 {
            self.unreplayed.remove(&place);
        }
        if event == EventName::StepSettled
            && let Some(step) = self.steps.get_mut(path)
        {
            step.note_replayed_end(self.generations.current(path));
        }
        true
    }

    /// Returns true if an event of this kind and path has been recorded and not been replayed yet.
    #[must_use]
    pub fn has_unreplayed(&self, event: EventName, path: &str) -> bool {
        let place = place(event, path, self.generations.current(path));
        self.unreplayed.contains_key(&place)
    }

    /// Returns how long the run was idle from `moment` to `now`: it waited for people, or to be resumed. Both are in
    /// nanoseconds since the Unix epoch.
    #[must_use]
    pub fn idle_since(&self, moment: i128, now: i128) -> Duration {
        let known: i128 = self
            .idle
            .iter()
            .filter(|(end, _)| *end > moment)
            .map(|(_, length)| length)
            .sum();
        saturating_duration(known + self.idle_since_last_event(now))
    }

    /// Returns the idle part of the time since the last event, in which no process drove the run.
    fn idle_since_last_event(&self, now: i128) -> i128 {
        let waited = self
            .waits_until
            .map_or(0, |until| (until.min(now) - self.last_at).max(0));
        (now - self.last_at - waited).max(0)
    }

    /// Returns the number of processes that have died since the last progress.
    #[must_use]
    pub fn crashes(&self) -> u32 {
        self.crashes + u32::from(self.state == Some(RunState::Running))
    }

    /// Checks an answer against the questions of the run. `now` is in nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// Returns an error if the answer is refused.
    pub fn accept(&self, given: &SubmittedAnswer, now: i128) -> Result<Accepted, AnswerError> {
        match self.state {
            Some(state) if state.is_ended() => Err(AnswerError::Withdrawn(given.path.clone())),
            _ => self.questions.accept(given, now),
        }
    }

    /// Removes the next answer to be replayed under this path: it was given to another question than the run asks now.
    pub fn forget_next_answer(&mut self, path: &str) {
        if self.external_inputs.remove_first_given(path) {
            self.mark_replayed(EventName::AnswerGiven, path);
        }
    }

    /// Removes the answer that was recorded last under this path: it is not replayed.
    fn forget_last_answer(&mut self, path: &str) {
        if self.external_inputs.remove_last_given(path) {
            self.mark_replayed(EventName::AnswerGiven, path);
        }
    }

    fn started(&mut self, run: Arc<str>, plan: Arc<str>, until: Option<Arc<str>>, at: i128) {
        (self.run, self.plan) = (run, plan);
        self.begun_at = at;
        self.processes.begin(self.last, at, until);
        self.state = Some(RunState::Running);
        self.note_event(EventName::RunStarted, "");
    }

    fn paused(&mut self, wake: Option<i128>, still: bool) {
        self.crashes = 0;
        self.state = Some(RunState::Paused);
        self.wake = wake;
        // A timer of the run itself runs on without a process.
        self.waits_until = self
            .wake
            .filter(|_| !still && !self.only_people_are_awaited());
    }

    fn handle_given(&mut self, path: &str, handle: Json) {
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
        self.note_event(EventName::StepRecovering, path);
        self.failed(path, at, error);
    }

    /// Records that a step, and what it holds, is executed again: its calls so far have ended.
    fn retried(&mut self, path: Arc<str>, at: i128) {
        let inside = self.steps.iter_mut();
        let inside = inside.enumerate();
        for (position, (_, step)) in inside.filter(|(_, (own, _))| is_at_or_below(own, &path)) {
            step.earlier.extend(step.call.take());
            if !step.is_active() {
                self.busy.remove(&position);
            }
        }
        self.generations.note_retry(path.clone());
        self.note_event(EventName::StepRetried, &path);
        self.add_external_input(at, ExternalInputKind::Retried { path });
    }

    fn resumed(&mut self, idle: i128, until: Option<Arc<str>>, at: i128) {
        if self.state == Some(RunState::Running) {
            self.crashes += 1;
        }
        self.processes.begin(self.last, at, until);
        self.idle.push((at, idle));
        self.waits_until = None;
        self.state = Some(RunState::Running);
    }

    fn timer(&mut self, path: Arc<str>, timer: Bound, at: i128) {
        self.exclude_waits_for_people(at);
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
        self.note_event(EventName::TimerFired, &path);
        self.add_external_input(at, ExternalInputKind::Timer { path, timer });
    }

    fn answered(&mut self, answer: Answer, at: i128) {
        self.exclude_waits_for_people(at);
        if self.replied_to_peer(&answer, at) {
            return;
        }
        let step = self.questions.step(&answer.path).cloned();
        self.questions.answered(&answer, at);
        if let Some(asked) = step.and_then(|step| self.steps.get_mut(&step)?.asked.last_mut()) {
            asked.answer = Some(answer.clone());
        }
        self.note_event(EventName::AnswerGiven, &answer.path);
        self.add_external_input(at, ExternalInputKind::Given(answer));
    }

    /// Time in which everything waited for people since the last event counts as idle.
    fn exclude_waits_for_people(&mut self, at: i128) {
        if self.state == Some(RunState::Running) && self.only_people_are_awaited() {
            self.idle.push((at, at - self.before_last));
        }
    }

    fn only_people_are_awaited(&self) -> bool {
        self.questions.any_open() && self.busy.is_empty()
    }

    fn add_external_input(&mut self, at: i128, kind: ExternalInputKind) {
        self.crashes = 0;
        self.external_inputs.push(ExternalInput {
            number: self.last,
            at,
            kind,
        });
    }

    fn note_event(&mut self, event: EventName, path: &str) {
        let place = place(event, path, self.generations.latest(path));
        *self.unreplayed.entry(place).or_default() += 1;
    }

    /// Returns the state of a step that begins or goes on.
    fn step(&mut self, path: Arc<str>, at: i128) -> &mut RecordedStep {
        let process = self.processes.number();
        self.generations.note_begin(&path, process);
        let step = self.steps.entry(path);
        let step = step.or_insert_with(|| RecordedStep::new(at));
        step.begun_in = step.begun_in.or(Some(process));
        step
    }
}

/// Returns a hash of an event kind and a path, wide enough that collisions within a run are negligible. That a step
/// waited for a slot also belongs to its generation, since the step may go on without waiting in another one.
fn place(event: EventName, path: &str, generation: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    let generation = (event == EventName::StepQueued).then_some(generation);
    (event, path, generation).hash(&mut hasher);
    hasher.finish()
}
