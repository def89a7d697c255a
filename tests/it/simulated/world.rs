//! A simulated world with its own clock: it drives runs, delays and loses their inputs, sends them messages, and kills
//! their processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::{
    Accepted, AnswerError, Event, EventKind, InboxCommand, LineWriter, ReplayState,
};
use planrun_core::run::{
    Command, Copies, Defaults, Input, Interruption, Moment, Order, Outcome, Program, Run, Setup,
    StepReport, Until,
};
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::sema::OnFailure;
use planrun_lang::types::{Budget, ErrorClass, Validation};
use planrun_lang::value::{Value, parse_timestamp};
use serde_json::{Value as Json, json};

use super::approvals::Consent;
use super::effects::Effects;
use super::forks::Fork;
use super::gates::Gates;
use super::outside::Outside;
use super::patches::patched;
use super::process::{Process, Written};
use super::sends::Sends;
use super::{secrets, settings};
use crate::generate::{Dice, Project};
use crate::generated::project_context::ProjectContext;
use crate::generated::{harness, people};

/// 2026-01-01T00:00:00Z.
const BEGIN: i128 = 1_767_225_600_000_000_000;
/// More inputs than any run of these plans needs.
const MAX_INPUTS: usize = 200_000;
/// A run that needs more processes than this is abandoned.
const MAX_PROCESSES: usize = 200;
/// Maximum number of processes that die, are stopped, or find the disk full.
const MAX_DISTURBED: usize = 6;
/// Maximum number of times that a failed run is resumed.
const MAX_RETRIES: usize = 8;

/// The result of a simulated run.
pub struct Simulated {
    /// Its events, one JSON object per line.
    pub journal: Vec<String>,
    /// The number of occurrences of each kind of disturbance.
    pub counts: BTreeMap<&'static str, u64>,
}

/// What is the same each time that a run is simulated.
pub struct Setting<'a> {
    pub context: &'a ProjectContext,
    pub made: &'a Project,
    pub program: &'a Arc<Program>,
    /// Whether the plan is edited during the run.
    pub patches: bool,
}

/// Drives a run to its end, or until it waits for an answer or an event that never comes. A run that has ended may be
/// the base of another one.
pub fn simulate(setting: &Setting<'_>, seed: u64) -> Result<Simulated, String> {
    let mut world = World::new(setting, seed, None);
    let ended = world.live()?;
    let mut simulated = Simulated {
        journal: world.journal,
        counts: world.counts,
    };
    if let Some(outcome) = ended.filter(|_| world.dice.one_in(6)) {
        let base = Fork::new(&outcome, &world.program, &mut world.dice);
        let described = |fault: String| format!("as a run that is based on another: {fault}");
        let setting = Setting {
            made: &world.made,
            program: &world.program,
            ..*setting
        };
        let mut fork = World::new(&setting, seed, Some(base));
        fork.live().map_err(described)?;
        fork.count("forks");
        simulated.journal.extend(fork.journal);
        for (what, count) in fork.counts {
            *simulated.counts.entry(what).or_default() += count;
        }
    }
    Ok(simulated)
}

/// A run, and the world that it is in.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the run"
)]
pub(super) struct World<'a> {
    setting: &'a Setting<'a>,
    /// As the latest patch has left it.
    pub made: Project,
    pub program: Arc<Program>,
    pub latest: Latest,
    /// The settings of the project.
    pub defaults: Defaults,
    pub consent: Option<Consent>,
    /// The run on which this one is based, and the results that it copies.
    fork: Option<Fork>,
    pub copies: Option<Copies>,
    definitions: BTreeMap<String, String>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    pub seed: u64,
    pub dice: Dice,
    /// In nanoseconds since the Unix epoch.
    pub now: i128,
    /// The lines on disk.
    pub journal: Vec<String>,
    pub outside: Outside,
    /// Whether an input is a secret.
    has_secret: bool,
    /// Whether answers to questions are sent to the run, since often nobody is asked by its process.
    pub answers: bool,
    /// Whether processes may take what comes in any order in a drawn one.
    draws: bool,
    pub kept: BTreeMap<String, Vec<u8>>,
    /// Number of times that each execution was sent, by idempotency key.
    pub sends: BTreeMap<Arc<str>, u32>,
    /// By path, the key of the latest call on disk.
    pub keys: BTreeMap<String, String>,
    /// The keys of calls whose success is on disk.
    pub completed: BTreeSet<String>,
    /// By path, the latest execution on disk.
    pub executions: BTreeMap<String, u64>,
    /// Whether an attempt at an effect is on disk, below which results of another run are not copied as they are.
    pub has_effects: bool,
    /// By path and number, the executions whose success, or whose failure that takes effect later, is on disk.
    pub answered: BTreeSet<(String, u64)>,
    /// By path, the arguments of the latest call of an `undo` on disk.
    pub undo_arguments: BTreeMap<String, String>,
    /// By path, how often the end of a step is on disk.
    pub settled: BTreeMap<String, u32>,
    /// How often the success of a call of an `undo` is on disk, by its path and arguments.
    pub completed_undos: BTreeMap<(String, String), u32>,
    pub effects: Effects,
    pub calls: Sends,
    pub gates: Gates,
    /// The first promise that the journal shows to be broken.
    broken: Option<String>,
    pub counts: BTreeMap<&'static str, u64>,
    /// Cached results, with their times.
    pub results: BTreeMap<String, (i128, Value)>,
}

/// How the latest process drives the run.
#[derive(Default)]
pub(super) struct Latest {
    /// In an order that is drawn, instead of source order.
    pub is_drawn: bool,
    /// Whether it was given answers in advance.
    pub has_answers: bool,
}

/// How a process ended.
enum End {
    Died,
    /// What it has concluded is not on disk.
    Broken,
    Concluded(Box<Outcome>),
}

/// How a process is disturbed: the number of the input at which each disturbance happens, if it does.
#[derive(Default)]
pub(super) struct Disturbances {
    pub dies: Option<usize>,
    /// The journal cannot be written any more.
    pub breaks: Option<usize>,
    /// The process is asked to stop.
    pub stops: Option<usize>,
    /// Somebody sends a message to the run.
    pub message: Option<usize>,
}

impl<'a> World<'a> {
    fn new(setting: &'a Setting<'a>, seed: u64, fork: Option<Fork>) -> Self {
        let mut dice = Dice::new(seed);
        let defaults = settings::drawn(setting.made, &mut dice);
        let mut consent = Consent::of(setting.program, &mut dice);
        if let Some(consent) = &mut consent {
            consent.is_complete &= !settings::add_calls(&defaults);
        }
        let (answers, draws) = (dice.one_in(2), dice.one_in(2));
        let mut inputs = harness::inputs(&setting.program.plan, seed);
        let has_secret = secrets::fill_in(&setting.program.plan, &mut inputs);
        World {
            defaults,
            consent,
            copies: fork.as_ref().map(|fork| fork.copies(setting.program)),
            fork,
            setting,
            made: setting.made.clone(),
            program: setting.program.clone(),
            latest: Latest::default(),
            definitions: setting.program.plan.definitions(),
            inputs,
            has_secret,
            seed,
            dice,
            now: BEGIN,
            journal: Vec::new(),
            outside: Outside::new(setting.program),
            answers,
            draws,
            kept: BTreeMap::new(),
            sends: BTreeMap::new(),
            keys: BTreeMap::new(),
            completed: BTreeSet::new(),
            executions: BTreeMap::new(),
            has_effects: false,
            answered: BTreeSet::new(),
            undo_arguments: BTreeMap::new(),
            settled: BTreeMap::new(),
            completed_undos: BTreeMap::new(),
            effects: Effects::default(),
            calls: Sends::default(),
            gates: Gates::default(),
            broken: None,
            counts: BTreeMap::new(),
            results: BTreeMap::new(),
        }
    }

    /// Returns the outcome of a run that has ended.
    fn live(&mut self) -> Result<Option<Outcome>, String> {
        let outcome = self.processes()?;
        *self.counts.entry("awaited").or_default() += self.effects.awaited;
        *self.counts.entry("undone before").or_default() += self.effects.undone_before;
        *self.counts.entry("sent again").or_default() += self.calls.again;
        *self.counts.entry("kept").or_default() += self.calls.kept;
        *self.counts.entry("reattached").or_default() += self.calls.reattached;
        *self.counts.entry("approved calls").or_default() += self.gates.passed;
        Ok(outcome)
    }

    fn processes(&mut self) -> Result<Option<Outcome>, String> {
        let (mut disturbed, mut retries, mut resumes) = (0, 0, false);
        for _ in 0..MAX_PROCESSES {
            let disturbances = if disturbed < MAX_DISTURBED {
                self.disturbances()
            } else {
                Disturbances::default()
            };
            self.patch()?;
            let end = self.process(&disturbances, resumes)?;
            if let Some(fault) = self.broken.take() {
                return Err(fault);
            }
            // Nobody can look at a run of which nothing is recorded.
            let is_recorded = !self.journal.is_empty();
            let seen = is_recorded.then(|| self.look()).transpose()?;
            let outcome = match end {
                End::Died | End::Broken => {
                    disturbed += 1;
                    let is_dead = matches!(end, End::Died);
                    self.count(if is_dead { "deaths" } else { "full disks" });
                    self.now += i128::from(self.dice.next() % 5_000_000_000);
                    continue;
                }
                End::Concluded(outcome) => outcome,
            };
            resumes = false;
            let on_failure = self.program.plan.policy.on_failure;
            let on_failure = on_failure.or(self.defaults.policy.on_failure);
            let undoes = on_failure.unwrap_or_default() == OnFailure::Undo;
            self.effects
                .check_undone(&outcome, &self.program.plan, undoes)?;
            if let Some(seen) = seen {
                self.check_replay(&seen, &outcome)?;
            }
            if self.has_secret {
                self.count("secrets");
                secrets::check_views(&self.journal, &self.kept, &outcome)?;
            }
            match &outcome.interruption {
                None => {
                    let class = outcome.error.as_ref().map(|error| &error.class);
                    let unverified = class == Some(&ErrorClass::Validation(Validation::Verify));
                    if outcome.retryable.is_empty() && !unverified || retries == MAX_RETRIES {
                        return Ok(Some(*outcome));
                    }
                    self.count(if unverified {
                        "checks retried"
                    } else {
                        "undos retried"
                    });
                    (retries, resumes) = (retries + 1, true);
                }
                Some(Interruption::Waiting {
                    wake: Some(wake), ..
                }) => {
                    let is_called = self.outside.expects_events() && self.dice.one_in(2);
                    let is_called = is_called && self.outside.send(&mut self.dice, self.now);
                    let is_answered = self.dice.one_in(2) && self.answer()?;
                    if !is_called && !is_answered {
                        self.now = self.now.max(*wake);
                    }
                }
                Some(Interruption::Waiting { wake: None, .. }) => {
                    if !self.answer()? && !self.outside.send(&mut self.dice, self.now) {
                        return Ok(None);
                    }
                }
                Some(Interruption::Failed(_)) if retries == MAX_RETRIES => return Ok(None),
                Some(Interruption::Failed(_)) => (retries, resumes) = (retries + 1, true),
                Some(Interruption::Asked) if disturbances.stops.is_some() => {
                    self.count("stopped");
                    disturbed += 1;
                }
                Some(Interruption::Reached) => self.count("reached"),
                Some(other) => return Err(format!("the process let go: {other:?}")),
            }
            if self.dice.one_in(8) {
                // The clock is set back.
                self.now -= i128::from(self.dice.next() % 100_000_000_000);
                self.count("set back");
            }
        }
        // It waits again and again, like a poll whose answers get lost.
        self.count("unfinished");
        Ok(None)
    }

    /// Sends an answer to one of the open questions. Returns false if there is none that takes it.
    pub fn answer(&mut self) -> Result<bool, String> {
        let has_ended = |replay: &ReplayState| replay.state.is_some_and(RunState::is_ended);
        let Some(mut replay) = self.replay_state()?.filter(|replay| !has_ended(replay)) else {
            return Ok(false);
        };
        for message in self.outside.waiting() {
            let Ok(InboxCommand::Answer(given)) = InboxCommand::read(&message.text) else {
                continue;
            };
            if let Ok(Accepted::New(answer)) = replay.accept(&given, self.now) {
                replay.questions.answered(&answer, self.now);
            }
        }
        let open: Vec<_> = replay.questions.open().collect();
        if open.is_empty() {
            return Ok(false);
        }
        let (path, question) = *self.dice.pick(&open);
        let mut given = people::given(path, question, self.seed);
        let fits = !self.dice.one_in(6);
        if !fits {
            given.value = json!({ "nothing": ["of this kind"] });
        }
        match replay.accept(&given, self.now) {
            Ok(Accepted::New(_)) if fits => self.count("answers"),
            Err(AnswerError::Misfit { .. }) if !fits => self.count("unfit answers"),
            Err(AnswerError::Late { .. }) => return Ok(false),
            other => return Err(format!("what becomes of an answer: {other:?}")),
        }
        self.outside.answer(given, self.now);
        Ok(true)
    }

    /// Edits the plan of the run, sometimes.
    fn patch(&mut self) -> Result<(), String> {
        if !(self.setting.patches && self.dice.one_in(6)) {
            return Ok(());
        }
        let Some(replay) = self.replay_state()?.filter(|replay| !replay.has_ended) else {
            return Ok(());
        };
        if self.look()?.plan_has_ended {
            return Ok(());
        }
        let (made, program, inputs) = (&self.made, &self.program, &self.inputs);
        let Some(patched) = patched(
            self.setting.context,
            made,
            program,
            &replay,
            inputs,
            &mut self.dice,
        ) else {
            return Ok(());
        };
        (self.made, self.program) = patched;
        self.copies = self.fork.as_ref().map(|fork| fork.copies(&self.program));
        self.definitions = self.program.plan.definitions();
        self.count("patches");
        let digest: Arc<str> = format!("text {}", replay.last).into();
        let event = Event {
            number: replay.last + 1,
            at: self.now,
            kind: EventKind::RunPatched {
                before: "text".into(),
                after: digest,
            },
            sensitive: Vec::new(),
        };
        let mut lines = LineWriter::default();
        let line = lines.entry(&event, &mut |_, _| {});
        self.journal
            .push(String::from_utf8_lossy(line).into_owned());
        Ok(())
    }

    /// Checks that a replay without calls gives the result that the process has concluded, and the same report if the
    /// process did everything that it could, in source order.
    fn check_replay(&self, seen: &Outcome, concluded: &Outcome) -> Result<(), String> {
        if !self.draws && !self.counts.contains_key("set back") {
            self.began_as_seen(seen, concluded)?;
        }
        // Up to a step, a process does nothing that the step does not need. The next one does it.
        let had_target = self.effects.had_target;
        let could_continue = match &concluded.interruption {
            Some(Interruption::Asked | Interruption::Reached) => true,
            Some(Interruption::Waiting { .. } | Interruption::Failed(_)) => had_target,
            _ => false,
        };
        if could_continue {
            // What has begun before the process stopped depends on the order.
            return if self.draws {
                Ok(())
            } else {
                ended_as_seen(seen, concluded)
            };
        }
        let facts = |outcome: &Outcome| {
            // Which of two steps fails first depends on the order, and so does what begins before that.
            let has_order = !self.latest.is_drawn;
            let error = outcome.error.as_ref().filter(|_| has_order);
            let questions = outcome.questions.iter().filter(|_| has_order);
            let questions: BTreeSet<String> = questions.map(|(path, _)| path.to_string()).collect();
            (
                outcome.state,
                outcome.reply.clone(),
                error.map(|error| error.message.clone()),
                outcome.retryable.clone(),
                questions,
            )
        };
        let (shown, was) = (facts(seen), facts(concluded));
        if shown != was {
            return Err(format!("who looks sees {shown:?}, and it was {was:?}"));
        }
        if self.latest.is_drawn {
            return Ok(());
        }
        // A run that ends at a limit on steps has cancelled what a replay may decide before it comes to the limit.
        let limit = concluded.error.as_ref();
        let at_limit = limit.is_some_and(|error| error.class == ErrorClass::Budget(Budget::Calls));
        let is_left = |was: &str| {
            had_target && was.contains(" open ")
                || at_limit && was.contains(" cancelled None Null ")
        };
        let (shown, was) = (reported(seen), reported(concluded));
        let mut both = shown.iter().zip(&was);
        let differs = both.find(|(shown, was)| shown != was && !is_left(was));
        match differs {
            Some((shown, was)) => Err(format!("who looks sees {shown:?}, and it was {was:?}")),
            None if shown.len() != was.len() => Err(format!(
                "who looks sees {} parts, and there were {}",
                shown.len(),
                was.len()
            )),
            None => Ok(()),
        }
    }

    fn disturbances(&mut self) -> Disturbances {
        let mut at = |times: usize| {
            let happens = self.dice.one_in(times);
            happens.then(|| self.dice.below(40))
        };
        Disturbances {
            dies: at(2),
            breaks: at(12),
            stops: at(12),
            message: at(4),
        }
    }

    /// Runs one process of the run, which may die at any input.
    fn process(&mut self, disturbances: &Disturbances, retries: bool) -> Result<End, String> {
        let replay = self.replay_state()?;
        let mut process = Process::new(self, replay, retries);
        for number in 0..MAX_INPUTS {
            if disturbances.dies.is_some_and(|last| number > last) {
                return Ok(End::Died);
            }
            process.disturb(disturbances, number)?;
            if process.step()? {
                let is_broken = process.is_broken;
                let outcome = process.conclude()?;
                return Ok(if is_broken {
                    End::Broken
                } else {
                    End::Concluded(Box::new(outcome))
                });
            }
        }
        Err(format!("{MAX_INPUTS} inputs do not bring it to its end"))
    }

    pub fn setup(&self, replay: Option<ReplayState>, retries: bool, replay_only: bool) -> Setup {
        let run = match &self.fork {
            Some(_) => "fork",
            None => "simulated",
        };
        Setup {
            defaults: self.defaults.clone(),
            definitions: self.definitions.clone(),
            approval: self
                .consent
                .as_ref()
                .map(|consent| consent.approval.clone()),
            replay,
            copies: self.copies.clone(),
            retries,
            replay_only,
            asks: true,
            durable: !replay_only,
            ..Setup::new(run)
        }
    }

    fn replay_state(&self) -> Result<Option<ReplayState>, String> {
        if self.journal.is_empty() {
            return Ok(None);
        }
        let mut replay = ReplayState::default();
        for line in &self.journal {
            let mut kept = |digest: &str| {
                let known = self.kept.get(digest).cloned();
                known.ok_or_else(|| format!("no value is stored under {digest}"))
            };
            let event = Event::read(line.as_bytes(), &mut kept);
            event
                .and_then(|event| replay.take(event))
                .map_err(|error| error.to_string())?;
        }
        Ok(Some(replay))
    }

    /// Checks that no step seems to have begun before it did: its `within` would end too early. It may seem to have begun
    /// as late as its first call, after the search of the cache or an approval. The journal has milliseconds.
    fn began_as_seen(&self, seen: &Outcome, concluded: &Outcome) -> Result<(), String> {
        let times = |outcome: &Outcome| -> BTreeMap<String, i128> {
            let steps = outcome.steps().into_iter();
            let started = steps.filter_map(|step| {
                let at = parse_timestamp(&step.started_at?)?;
                Some((step.path.to_string(), at))
            });
            started.collect()
        };
        let is_recorded = |path: &str| {
            let path = format!("\"path\":{}", json!(path));
            let mut lines = self.journal.iter();
            lines.any(|line| line.contains("step.running") && line.contains(&path))
        };
        let shown = times(seen);
        let earlier = times(concluded).into_iter().find_map(|(path, was)| {
            let by = was - shown.get(&path)?;
            (by > 3_000_000 && is_recorded(&path)).then_some((path, by))
        });
        match earlier {
            Some((path, by)) => Err(format!(
                "`{path}` seems to have begun {} ms before it did",
                by / 1_000_000
            )),
            None => Ok(()),
        }
    }

    /// Replays the journal without calls.
    fn look(&self) -> Result<Outcome, String> {
        let now = Moment {
            wall: self.now,
            monotonic: Duration::ZERO,
        };
        let replay = self.replay_state()?;
        let setup = self.setup(replay, false, true);
        let (mut run, mut commands) = (
            Run::new(&self.program, &self.inputs, setup, now),
            Vec::new(),
        );
        for _ in 0..MAX_INPUTS {
            let idle = !run.has_work();
            let input = if idle { Input::Idle } else { Input::Continue };
            run.handle(input, now, &mut commands);
            for command in commands.drain(..) {
                match command {
                    Command::Call(call) => return Err(format!("who looks calls {}", call.path)),
                    Command::End => return Ok(run.conclude(now, &mut Vec::new())),
                    _ => {}
                }
            }
        }
        Err("who looks comes to no end".to_owned())
    }

    /// Writes an event to disk; from now on it cannot be lost.
    pub fn keep(&mut self, event: Written) {
        let Written { line, messages, .. } = event;
        for message in messages {
            self.outside.taken(message);
        }
        let event: Json = serde_json::from_str(&line).unwrap();
        let sent = self.calls.take(&event);
        let approved = self.gates.take(&event, &self.program.plan, &self.defaults);
        let in_order = self.effects.take(&event, &self.program.plan);
        if let Err(fault) = in_order.and(approved).and(sent) {
            self.broken.get_or_insert(fault);
        }
        let path = event["path"].as_str().unwrap_or_default();
        if let Some(key) = event["key"].as_str() {
            self.keys.insert(path.to_owned(), key.to_owned());
            if path.contains(".undo") {
                let arguments = event["arguments"].to_string();
                self.undo_arguments.insert(path.to_owned(), arguments);
            }
        }
        if event["event"] == "step.running" && event["execution"].is_number() {
            let execution = event["execution"].as_u64().unwrap_or_default();
            self.executions.insert(path.to_owned(), execution);
            let effect = event["effect"].as_str();
            self.has_effects |= effect.is_some_and(|effect| !["pure", "read"].contains(&effect));
        }
        let succeeds = event["event"] == "step.settled" && event["status"] == "completed";
        if succeeds && event["recovered"] != true || event["for"] == "effects" {
            let ended = self.executions.remove(path);
            self.answered
                .extend(ended.map(|number| (path.to_owned(), number)));
        }
        let mut arguments = None;
        if event["event"] == "step.settled" {
            *self.settled.entry(path.to_owned()).or_default() += 1;
            arguments = self.undo_arguments.remove(path);
        }
        // A `recover` arm may complete the step while its call stays open.
        let completed = event["status"] == "completed" && event["recovered"] != true;
        if event["event"] == "step.settled" && completed {
            self.completed.extend(self.keys.get(path).cloned());
            if let Some(arguments) = arguments {
                let undo = (path.to_owned(), arguments);
                *self.completed_undos.entry(undo).or_default() += 1;
            }
        }
        self.journal.push(line);
    }

    /// Returns the order in which the next process takes what may come in any order. A replay takes it in source order,
    /// and which call is the first that a budget refuses depends on the order.
    pub fn order(&mut self) -> Order {
        let mut plans = self.made.plans.iter();
        if self.draws && self.dice.one_in(2) && !plans.any(|(_, text)| text.contains("budget: {")) {
            Order::Seeded(self.dice.next())
        } else {
            Order::Source
        }
    }

    /// Returns the step up to which the next process drives the run, sometimes.
    pub fn target(&mut self) -> Option<Box<Until>> {
        if !self.dice.one_in(12) {
            return None;
        }
        let steps: Vec<&str> = Until::steps(&self.program).collect();
        let step = steps.get(self.dice.below(steps.len().max(1)))?;
        Until::new(&self.program, step).map(Box::new)
    }

    /// Returns true if a call with these arguments has undone everything that its step has done.
    pub fn has_undone(&self, path: &str, arguments: String) -> bool {
        let settled = |step: &str| self.settled.get(step).copied().unwrap_or(0);
        let step = path.rsplit_once(".undo").map_or("", |(step, _)| step);
        // What has been undone inside of the `undo` may be done again.
        let inside = path.match_indices(['.', '[']).map(|(end, _)| &path[..end]);
        let inside = inside
            .chain([path])
            .filter(|outer| outer.len() > step.len());
        let done_again: u32 = inside.map(|outer| settled(&format!("{outer}.undo"))).sum();
        let done = settled(step).max(1) + done_again;
        let undone = self.completed_undos.get(&(path.to_owned(), arguments));
        undone.is_some_and(|undone| *undone >= done)
    }

    pub fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

/// Checks that who looks sees the end of each step that has ended. More may have ended for them, since a replay does
/// everything that can be done without calls.
fn ended_as_seen(seen: &Outcome, concluded: &Outcome) -> Result<(), String> {
    let shown: BTreeSet<String> = reported_steps(seen).collect();
    let mut ended = reported_steps(concluded).filter(|was| !was.contains(" open "));
    match ended.find(|was| !shown.contains(was)) {
        Some(was) => Err(format!("who looks does not see {was:?}")),
        None => Ok(()),
    }
}

/// Returns what the report of an outcome says of each step, task and listener.
fn reported(outcome: &Outcome) -> Vec<String> {
    let tasks = outcome.tasks.iter();
    let tasks = tasks.map(|task| format!("{} {} {:?}", task.name, task.status, task.context));
    let listeners = outcome.listeners.iter();
    let listeners = listeners.map(|own| format!("{} {} {}", own.path, own.fired, own.surplus));
    reported_steps(outcome)
        .chain(tasks)
        .chain(listeners)
        .collect()
}

fn reported_steps(outcome: &Outcome) -> impl Iterator<Item = String> {
    outcome.steps().into_iter().map(|step| {
        let error = step.error.as_ref();
        let class = error.and_then(|error| error.get("class").cloned());
        let StepReport {
            path,
            output,
            attributes,
            ..
        } = &step;
        // Whether a block has begun, or a call that something else ends at once, depends on the order.
        let (status, calls, class) = match step.status {
            StepState::Pending | StepState::Queued | StepState::Running | StepState::Waiting => {
                ("open", None, None)
            }
            StepState::Cancelled => ("cancelled", None, class),
            ended => (ended.name(), Some((step.attempts, &step.arguments)), class),
        };
        format!("{path} {status} {calls:?} {output:?} {class:?} {attributes:?}")
    })
}
