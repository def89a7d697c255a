//! A simulated world with its own clock: it drives runs, delays and loses their inputs, and kills their processes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::{Event, EventKind, FormField, LineWriter, ReplayState};
use planrun_core::run::{
    CachedCall, CallId, CallRequest, Command, Defaults, Input, Interruption, Moment, Order,
    Outcome, Program, Recalled, Run, Setup, Verifying,
};
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient, Type, Validation};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use crate::generate::{Dice, Project};
use crate::generated::{harness, people};

/// 2026-01-01T00:00:00Z.
const BEGIN: i128 = 1_767_225_600_000_000_000;
/// More inputs than any run of these plans needs.
const MAX_INPUTS: usize = 200_000;
/// A run that needs more processes than this is abandoned.
const MAX_PROCESSES: usize = 200;
/// Maximum number of processes that die.
const MAX_DEATHS: usize = 6;
/// Maximum number of failures of one execution.
const MAX_FAILURES: u32 = 20;
/// Maximum number of times that a failed run is resumed.
const MAX_RETRIES: usize = 8;

/// The result of a simulated run.
pub struct Simulated {
    /// Its events, one JSON object per line.
    pub journal: Vec<String>,
    /// The number of occurrences of each kind of disturbance.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Drives a run to its end, or until it waits for an answer or an event that never comes.
pub fn simulate(made: &Project, program: &Arc<Program>, seed: u64) -> Result<Simulated, String> {
    let mut world = World {
        made,
        program,
        seed,
        dice: Dice::new(seed),
        now: BEGIN,
        journal: Vec::new(),
        kept: BTreeMap::new(),
        sends: BTreeMap::new(),
        keys: BTreeMap::new(),
        completed: BTreeSet::new(),
        undo_arguments: BTreeMap::new(),
        completed_undos: BTreeSet::new(),
        counts: BTreeMap::new(),
        results: BTreeMap::new(),
    };
    world.live()?;
    Ok(Simulated {
        journal: world.journal,
        counts: world.counts,
    })
}

struct World<'a> {
    made: &'a Project,
    program: &'a Arc<Program>,
    seed: u64,
    dice: Dice,
    /// In nanoseconds since the Unix epoch.
    now: i128,
    /// The lines on disk.
    journal: Vec<String>,
    kept: BTreeMap<String, Vec<u8>>,
    /// Number of times that each execution was sent, by idempotency key.
    sends: BTreeMap<Arc<str>, u32>,
    /// By path, the key of the latest call on disk.
    keys: BTreeMap<String, String>,
    /// The keys of calls whose success is on disk.
    completed: BTreeSet<String>,
    /// By path, the arguments of the latest call of an `undo` on disk.
    undo_arguments: BTreeMap<String, String>,
    /// The paths and arguments of calls of an `undo` whose success is on disk.
    completed_undos: BTreeSet<(String, String)>,
    counts: BTreeMap<&'static str, u64>,
    /// Cached results, with their times.
    results: BTreeMap<String, (i128, Value)>,
}

/// How a process ended.
enum End {
    Died,
    Concluded(Box<Outcome>),
}

impl World<'_> {
    fn live(&mut self) -> Result<(), String> {
        let (mut deaths, mut retries, mut resumes) = (0, 0, false);
        for _ in 0..MAX_PROCESSES {
            let dies = deaths < MAX_DEATHS && self.dice.one_in(2);
            let outcome = match self.process(dies, resumes)? {
                End::Died => {
                    deaths += 1;
                    self.count("deaths");
                    self.now += i128::from(self.dice.next() % 5_000_000_000);
                    continue;
                }
                End::Concluded(outcome) => outcome,
            };
            resumes = false;
            match &outcome.interruption {
                None => {
                    self.check_replay(&outcome)?;
                    let class = outcome.error.as_ref().map(|error| &error.class);
                    let unverified = class == Some(&ErrorClass::Validation(Validation::Verify));
                    if outcome.retryable.is_empty() && !unverified || retries == MAX_RETRIES {
                        return Ok(());
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
                }) => self.now = self.now.max(*wake),
                Some(Interruption::Waiting { wake: None, .. }) => return Ok(()),
                Some(Interruption::Failed(_)) if retries == MAX_RETRIES => return Ok(()),
                Some(Interruption::Failed(_)) => (retries, resumes) = (retries + 1, true),
                Some(other) => return Err(format!("the process let go: {other:?}")),
            }
        }
        // It waits again and again, like a poll whose answers get lost.
        self.count("unfinished");
        Ok(())
    }

    /// Runs one process of the run, which may die at any input.
    fn process(&mut self, dies: bool, retries: bool) -> Result<End, String> {
        let replay = self.replay_state()?;
        let last_input = dies.then(|| self.dice.below(40));
        let mut process = Process::new(self, replay, retries);
        for number in 0..MAX_INPUTS {
            if last_input.is_some_and(|last| number > last) {
                return Ok(End::Died);
            }
            if process.step()? {
                return process
                    .conclude()
                    .map(|outcome| End::Concluded(Box::new(outcome)));
            }
        }
        Err(format!("{MAX_INPUTS} inputs do not bring it to its end"))
    }

    fn setup(replay: Option<ReplayState>, retries: bool, replay_only: bool) -> Setup {
        Setup {
            run_id: "simulated".into(),
            defaults: Defaults::default(),
            definitions: BTreeMap::new(),
            approval: None,
            replay,
            copies: None,
            retries,
            replay_only,
            answers: Vec::new(),
            asks: true,
            order: Order::Source,
            until: None,
            verifying: Verifying::Everything,
            durable: !replay_only,
            observed: false,
            watched: false,
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

    /// Checks that a replay without calls gives the same result.
    fn check_replay(&self, ended: &Outcome) -> Result<(), String> {
        let inputs = harness::inputs(&self.program.plan, self.seed);
        let now = Moment {
            wall: self.now,
            monotonic: Duration::ZERO,
        };
        let setup = Self::setup(self.replay_state()?, false, true);
        let (mut run, mut commands) = (Run::new(self.program, &inputs, setup, now), Vec::new());
        for _ in 0..MAX_INPUTS {
            let idle = !run.has_work();
            let input = if idle { Input::Idle } else { Input::Continue };
            run.handle(input, now, &mut commands);
            for command in commands.drain(..) {
                match command {
                    Command::Call(call) => return Err(format!("who looks calls {}", call.path)),
                    Command::End => {
                        let seen = run.conclude(now, &mut Vec::new());
                        let same = seen.state == ended.state
                            && seen.reply == ended.reply
                            && seen.retryable == ended.retryable;
                        let replayed =
                            || format!("{:?} {:?} {:?}", seen.state, seen.reply, seen.retryable);
                        let was =
                            || format!("{:?} {:?} {:?}", ended.state, ended.reply, ended.retryable);
                        return same.then_some(()).ok_or_else(|| {
                            format!("who looks sees {}, and it was {}", replayed(), was())
                        });
                    }
                    _ => {}
                }
            }
        }
        Err("who looks comes to no end".to_owned())
    }

    /// Writes an event to disk; from now on it cannot be lost.
    fn keep(&mut self, line: String) {
        let event: Json = serde_json::from_str(&line).unwrap();
        let path = event["path"].as_str().unwrap_or_default();
        if let Some(key) = event["key"].as_str() {
            self.keys.insert(path.to_owned(), key.to_owned());
            if path.contains(".undo") {
                let arguments = event["arguments"].to_string();
                self.undo_arguments.insert(path.to_owned(), arguments);
            }
        }
        if event["event"] == "step.retried" && path.rsplit('.').next() != Some("undo") {
            // What was called again is undone again.
            let is_inside = |inner: &str| inner.starts_with(path);
            self.completed_undos.retain(|(inner, _)| !is_inside(inner));
        }
        // A `recover` arm may complete the step while its call stays open.
        let completed = event["status"] == "completed" && event["recovered"] != true;
        if event["event"] == "step.settled" && completed {
            self.completed.extend(self.keys.get(path).cloned());
            if let Some(step) = path.strip_suffix(".undo") {
                // What was undone again may be done again, too.
                let is_inside = |inner: &str| inner.starts_with(step) && inner != path;
                self.completed_undos.retain(|(inner, _)| !is_inside(inner));
            }
            // What has been done again has to be undone again.
            let undo = format!("{path}.undo");
            self.completed_undos
                .retain(|(inner, _)| !inner.starts_with(&undo));
            let arguments = self.undo_arguments.remove(path);
            let undo = arguments.map(|arguments| (path.to_owned(), arguments));
            self.completed_undos.extend(undo);
        }
        self.journal.push(line);
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }
}

/// One process that drives the run.
struct Process<'w, 'a> {
    world: &'w mut World<'a>,
    run: Run,
    commands: Vec<Command>,
    /// The inputs that will arrive: their times and sequence numbers.
    arriving: BinaryHeap<Reverse<(i128, u64)>>,
    inputs: BTreeMap<u64, Input>,
    sequence: u64,
    /// Calls whose peers wait for a reply, with their results after it.
    asking: BTreeMap<CallId, CallOutcome>,
    /// Events that were written but are not on disk.
    buffer: Vec<Written>,
    begun: i128,
    waits: bool,
    wake: Option<Duration>,
    over: bool,
}

impl<'w, 'a> Process<'w, 'a> {
    fn new(world: &'w mut World<'a>, replay: Option<ReplayState>, retries: bool) -> Self {
        let inputs = harness::inputs(&world.program.plan, world.seed);
        let setup = World::setup(replay, retries, false);
        let now = Moment {
            wall: world.now,
            monotonic: Duration::ZERO,
        };
        Self {
            run: Run::new(world.program, &inputs, setup, now),
            begun: world.now,
            world,
            commands: Vec::new(),
            arriving: BinaryHeap::new(),
            inputs: BTreeMap::new(),
            sequence: 0,
            asking: BTreeMap::new(),
            buffer: Vec::new(),
            waits: false,
            wake: None,
            over: false,
        }
    }

    /// Gives the run one input. Returns true if the run has ended.
    fn step(&mut self) -> Result<bool, String> {
        let due = self
            .arriving
            .peek()
            .is_some_and(|Reverse((at, _))| *at <= self.world.now);
        let input = if due {
            self.next_arrived()
        } else if self.run.has_work() {
            Some(Input::Continue)
        } else {
            None
        };
        if let Some(input) = input {
            self.give(input)?;
        } else {
            self.waits = false;
            self.flush();
            self.give(Input::Idle)?;
            if self.waits && !self.over {
                self.sleep()?;
            }
        }
        Ok(self.over)
    }

    fn give(&mut self, input: Input) -> Result<(), String> {
        let now = self.moment();
        let mut commands = std::mem::take(&mut self.commands);
        self.run.handle(input, now, &mut commands);
        for command in commands.drain(..) {
            self.carry_out(command)?;
        }
        self.commands = commands;
        Ok(())
    }

    fn carry_out(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Append(event) => self.append(&event),
            Command::Call(request) => self.call(&request)?,
            Command::Ask(asking) => {
                self.world.count("asked");
                if asking.refused.is_some() {
                    return Err(format!("an answer is not taken: {:?}", asking.refused));
                }
                let given = Some(people::given(&asking, self.world.seed));
                self.arrives(60_000, Input::Asked { asking, given });
            }
            Command::Refuse(error) => return Err(format!("an answer is not taken: {error}")),
            Command::Recall {
                call,
                of,
                not_before,
            } => {
                let known = self.world.results.get(&cache_key(&of));
                let known = known.filter(|(at, _)| *at >= not_before);
                let found = known.map(|(_, value)| Recalled {
                    run: "another".into(),
                    value: value.clone(),
                });
                let what = if found.is_some() {
                    "cached"
                } else {
                    "recalled"
                };
                self.world.count(what);
                self.arrives(100, Input::Recalled { call, found });
            }
            Command::Remember { of, at, value } => {
                self.world.results.insert(cache_key(&of), (at, value));
            }
            Command::Reply { call, .. } => {
                if let Some(outcome) = self.asking.remove(&call) {
                    self.arrives(2_000, ended(call, outcome));
                }
            }
            Command::Wait(until) => (self.waits, self.wake) = (true, until),
            Command::End => self.over = true,
            Command::Summarize(_)
            | Command::MessageTaken(_)
            | Command::OpenScope { .. }
            | Command::StopCall(_)
            | Command::Reached { .. } => {}
        }
        Ok(())
    }

    fn append(&mut self, event: &Event) {
        let mut lines = LineWriter::default();
        let kept = &mut self.world.kept;
        let line = lines.entry(event, &mut |digest, content| {
            kept.insert(digest.to_owned(), content.to_vec());
        });
        let calls = match &event.kind {
            EventKind::StepRunning {
                path,
                call: Some(_),
                ..
            } => Some(path.clone()),
            _ => None,
        };
        self.buffer.push(Written {
            number: event.number,
            line: String::from_utf8_lossy(line).into_owned(),
            calls,
        });
    }

    /// Makes a call. Checks that every required event is on disk, and that the execution has not completed before.
    fn call(&mut self, request: &CallRequest) -> Result<(), String> {
        self.world.count("calls");
        let path = &request.path;
        let effect = !request.signature.effect.is_read_only();
        let waits = |event: &Written| event.calls.as_ref() == Some(path);
        if effect && self.buffer.iter().any(waits) {
            return Err(format!("`{path}` goes out before that is on disk"));
        }
        if effect && self.world.completed.contains(&*request.key) {
            return Err(format!("`{path}` has completed, and is called again"));
        }
        let again = (path.to_string(), request.arguments.to_json().to_string());
        if effect && self.world.completed_undos.contains(&again) {
            return Err(format!(
                "`{path}` has undone something, and is called again"
            ));
        }
        let call = request.call;
        let (limit, pure) = (request.timeout, *request.signature.namespace == *"sys");
        let outcome = if pure {
            Ok(Answer::Value(echo(&request.arguments)))
        } else {
            self.outcome(request)
        };
        let fate = if pure {
            None
        } else {
            Some(self.world.dice.below(12))
        };
        match fate {
            // The answer is lost, so the attempt ends with its timeout.
            Some(0) => {
                self.world.count("lost");
                let limit = u64::try_from(limit.as_millis())
                    .unwrap_or(u64::MAX)
                    .min(3_600_000);
                self.arrives_at(limit, ended(call, Err(timed_out())));
            }
            Some(1) => {
                self.world.count("replies");
                self.asking.insert(call, outcome);
                let asks = Input::CallAsks {
                    call,
                    text: format!("Which one for {path}?").into(),
                    form: vec![FormField::plain("number", &Type::Int)],
                    prefilled: Value::object::<&str>([]),
                };
                self.arrives(2_000, asks);
            }
            _ => self.arrives(2_000, ended(call, outcome)),
        }
        Ok(())
    }

    /// Returns the result of a call. It depends on the key and the arguments, so that a repetition gives the same;
    /// after a limited number of failures every call succeeds.
    fn outcome(&mut self, request: &CallRequest) -> CallOutcome {
        let sends = self.world.sends.entry(request.key.clone()).or_default();
        *sends += 1;
        let failing = if *sends > MAX_FAILURES { 0 } else { 8 };
        let signature = &request.signature;
        let arguments = request.arguments.to_json().to_string();
        let text = [&signature.path(), &*request.key, &arguments].concat();
        let name = text.bytes().fold(7_u64, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut dice = Dice::new(self.world.seed ^ name.wrapping_mul(0x9e37));
        if signature.kind.word().is_some() {
            return harness::model_answer(signature, failing, &mut dice);
        }
        let tool = self.world.made.tools.iter();
        let tool = tool
            .filter(|tool| *tool.namespace == *signature.namespace)
            .find(|tool| *tool.name == *signature.name)
            .expect("a tool of the project");
        harness::outcome(tool, failing, &mut dice)
    }

    fn arrives(&mut self, within_ms: u64, input: Input) {
        let delay = *self.world.dice.pick(&[0, 1, within_ms / 10, within_ms]);
        self.arrives_at(delay, input);
    }

    fn arrives_at(&mut self, delay_ms: u64, input: Input) {
        self.sequence += 1;
        let at = self.world.now + i128::from(delay_ms) * 1_000_000;
        self.arriving.push(Reverse((at, self.sequence)));
        self.inputs.insert(self.sequence, input);
    }

    fn next_arrived(&mut self) -> Option<Input> {
        let Reverse((_, sequence)) = self.arriving.pop()?;
        self.inputs.remove(&sequence)
    }

    /// Writes some or all of the buffered events to disk.
    fn flush(&mut self) {
        let whole = self.buffer.len();
        let count = if self.world.dice.one_in(4) {
            self.world.dice.below(whole + 1)
        } else {
            whole
        };
        let mut last = None;
        for event in self.buffer.drain(..count) {
            self.world.keep(event.line);
            last = Some(event.number);
        }
        if let Some(last) = last {
            self.arrives_at(0, Input::Durable(last));
        }
        if count < whole {
            // The rest takes a while.
            self.arrives_at(3, Input::Continue);
        }
    }

    /// Advances the clock to the next input or the wake time.
    fn sleep(&mut self) -> Result<(), String> {
        let arrives = self.arriving.peek().map(|Reverse((at, _))| *at);
        let wakes = self
            .wake
            .map(|until| self.begun + i128::try_from(until.as_nanos()).unwrap_or(i128::MAX));
        match (arrives, wakes) {
            (None, None) if self.buffer.is_empty() => Err("the run stands still".to_owned()),
            (None, None) => Ok(()),
            (Some(at), wakes) if wakes.is_none_or(|wakes| at <= wakes) => {
                self.world.now = self.world.now.max(at);
                Ok(())
            }
            (_, wakes) => {
                self.world.now = wakes.unwrap_or(self.world.now).max(self.world.now);
                self.arrives_at(0, Input::Wake);
                Ok(())
            }
        }
    }

    fn moment(&self) -> Moment {
        let since = u64::try_from(self.world.now - self.begun).unwrap_or(0);
        Moment {
            wall: self.world.now,
            monotonic: Duration::from_nanos(since),
        }
    }

    fn conclude(mut self) -> Result<Outcome, String> {
        let now = self.moment();
        let mut commands = Vec::new();
        let outcome = self.run.conclude(now, &mut commands);
        for command in commands {
            self.carry_out(command)?;
        }
        for event in self.buffer.drain(..) {
            self.world.keep(event.line);
        }
        let internal = outcome.error.as_ref();
        match internal.filter(|error| error.class == ErrorClass::Internal) {
            Some(error) => Err(format!("a fault of the machine: {}", error.message)),
            None => Ok(outcome),
        }
    }
}

/// An event that was written but is not on disk.
struct Written {
    number: u64,
    line: String,
    /// The path of the step whose call follows the event, if any.
    calls: Option<Arc<str>>,
}

fn ended(call: CallId, outcome: CallOutcome) -> Input {
    Input::CallEnded { call, outcome }
}

fn cache_key(of: &CachedCall) -> String {
    format!("{} {}", of.signature.path(), of.arguments.to_json())
}

/// Returns the result of `sys.echo`; plans of this size use no other tool of the namespace.
fn echo(arguments: &Value) -> Value {
    arguments.get("value").cloned().unwrap_or(Value::Null)
}

fn timed_out() -> CallError {
    CallError::new(
        ErrorClass::Transient(Transient::Timeout),
        "no answer",
        Sent::Maybe,
    )
}
