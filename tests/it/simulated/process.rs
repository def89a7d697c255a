//! One process of a simulated run: it carries out the commands of the machine, and delivers inputs to it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::{
    AnswerError, Event, EventKind, FormField, LineWriter, ReplayState, SubmittedAnswer, Used,
    Waiting,
};
use planrun_core::run::{
    Asking, CachedCall, CallId, CallRequest, Command, Input, Moment, Order, Outcome, Recalled, Run,
    Setup,
};
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::MARK;
use planrun_lang::types::{Denied, ErrorClass, Transient, Type};
use planrun_lang::value::Value;
use serde_json::json;

use super::world::{Disturbances, Latest, World};
use crate::generate::Dice;
use crate::generated::{harness, people};

/// Maximum number of failures of one execution.
const MAX_FAILURES: u32 = 20;

/// One process that drives the run.
pub(super) struct Process<'w, 'a> {
    world: &'w mut World<'a>,
    run: Run,
    commands: Vec<Command>,
    /// The inputs that will arrive: their times and sequence numbers.
    arriving: BinaryHeap<Reverse<(i128, u64)>>,
    inputs: BTreeMap<u64, Input>,
    sequence: u64,
    /// Calls that have been made and have not ended, with their paths.
    in_flight: BTreeMap<CallId, Arc<str>>,
    /// Calls whose peers wait for a reply, with their results after it.
    asking: BTreeMap<CallId, CallOutcome>,
    /// Events that were written but are not on disk.
    buffer: Vec<Written>,
    /// By path, when the next attempt may be made.
    earliest: BTreeMap<Arc<str>, i128>,
    /// By path, the execution that was announced last.
    announced: BTreeMap<Arc<str>, u32>,
    /// The questions that no earlier process has asked.
    asked_first: BTreeSet<Arc<str>>,
    /// The questions to which an answer was refused because they were not open.
    withdrawn: BTreeSet<Arc<str>>,
    /// Whether the journal cannot be written any more.
    pub is_broken: bool,
    begun: i128,
    waits: bool,
    wake: Option<Duration>,
    over: bool,
}

/// Returns the answers that a process is given in advance: to an open question, or to a gate that it may come to.
fn answers_in_advance(world: &mut World<'_>, replay: Option<&ReplayState>) -> Vec<SubmittedAnswer> {
    if !world.dice.one_in(4) {
        return Vec::new();
    }
    let open: Vec<_> = replay
        .iter()
        .flat_map(|replay| replay.questions.open())
        .collect();
    if !open.is_empty() {
        let (path, question) = *world.dice.pick(&open);
        world.count("given");
        return vec![people::given(path, question, world.seed)];
    }
    let nodes = world.program.plan.body().nodes.iter();
    let asking = nodes.filter(|node| {
        let confirm = node.step().and_then(|step| step.confirm());
        confirm.is_some_and(|confirm| confirm.by.is_none())
    });
    let gates: Vec<Arc<str>> = asking
        .filter_map(|node| Some(format!("{}.confirm", node.name.as_ref()?).into()))
        .collect();
    if gates.is_empty() {
        return Vec::new();
    }
    world.count("given");
    vec![SubmittedAnswer {
        path: world.dice.pick(&gates).clone(),
        value: json!(!world.dice.one_in(4)),
        by: None,
        note: None,
    }]
}

impl<'w, 'a> Process<'w, 'a> {
    pub fn new(world: &'w mut World<'a>, replay: Option<ReplayState>, retries: bool) -> Self {
        let (order, until) = (world.order(), world.target());
        let answers = answers_in_advance(world, replay.as_ref());
        world.effects.had_target |= until.is_some();
        world.latest = Latest {
            is_drawn: order != Order::Source,
            has_answers: !answers.is_empty(),
        };
        let setup = Setup {
            answers,
            order,
            until,
            asks: !world.answers || world.dice.one_in(3),
            ..world.setup(replay, retries, false)
        };
        let messages = world.outside.waiting().to_vec();
        let now = Moment {
            wall: world.now,
            monotonic: Duration::ZERO,
        };
        let mut process = Self {
            run: Run::new(&world.program, &world.inputs, setup, now),
            begun: world.now,
            world,
            commands: Vec::new(),
            arriving: BinaryHeap::new(),
            inputs: BTreeMap::new(),
            sequence: 0,
            in_flight: BTreeMap::new(),
            asking: BTreeMap::new(),
            buffer: Vec::new(),
            earliest: BTreeMap::new(),
            announced: BTreeMap::new(),
            asked_first: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            is_broken: false,
            waits: false,
            wake: None,
            over: false,
        };
        for message in messages {
            process.arrives(1_000, Input::Message(message));
        }
        process
    }

    /// Lets the disturbances happen that belong to an input.
    pub fn disturb(&mut self, disturbances: &Disturbances, number: usize) -> Result<(), String> {
        let now = |at: Option<usize>| at == Some(number);
        if now(disturbances.stops) {
            self.give(Input::Stop)?;
        }
        if now(disturbances.breaks) {
            self.is_broken = true;
            self.give(Input::JournalBroken("the disk is full".to_owned()))?;
        }
        if now(disturbances.message) {
            let answers = self.world.answers && self.world.dice.one_in(2);
            let sent = if answers {
                self.world.answer()?
            } else {
                let world = &mut *self.world;
                world.outside.send(&mut world.dice, world.now)
            };
            if sent {
                self.deliver();
            }
        }
        Ok(())
    }

    /// Delivers the last message that was sent to the run.
    fn deliver(&mut self) {
        if let Some(message) = self.world.outside.waiting().last().cloned() {
            self.world.count("messages");
            self.arrives(1_000, Input::Message(message));
        }
    }

    /// Gives the run one input. Returns true if the run has ended.
    pub fn step(&mut self) -> Result<bool, String> {
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
        match &input {
            Input::CallEnded { call, .. } | Input::CallAsks { call, .. } => {
                self.in_flight.remove(call);
            }
            _ => {}
        }
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
            Command::Append(event) => self.append(&event)?,
            Command::Call(request) => self.call(&request)?,
            Command::Ask(asking) => {
                self.world.count("asked");
                // Whoever does not know the secret among the options cannot choose it.
                let refused = asking.refused.as_deref().unwrap_or_default();
                let is_hidden = refused.contains(MARK);
                let expires = asking.question.expires;
                let is_late = expires.is_some_and(|expires| expires <= self.world.now);
                let may_be = is_hidden || is_late || self.world.answers;
                if asking.refused.is_some() && !may_be {
                    return Err(format!("an answer is not taken: {refused}"));
                }
                self.check_grant(&asking)?;
                // Somebody may leave a question to others.
                let leaves = is_hidden || self.world.answers && self.world.dice.one_in(6);
                let given = (!leaves)
                    .then(|| people::given(&asking.path, &asking.question, self.world.seed));
                self.arrives(60_000, Input::Asked { asking, given });
            }
            Command::StopAsking(path) => {
                let is_reply = |input: &Input| matches!(input, Input::Asked { asking, .. } if asking.path == path);
                self.inputs.retain(|_, input| !is_reply(input));
                let inputs = &self.inputs;
                self.arriving
                    .retain(|Reverse((_, sequence))| inputs.contains_key(sequence));
            }
            Command::Refuse(error) => self.refused(&error)?,
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
                self.world.count("recalled");
                if found.is_some() {
                    self.world.count("cached");
                }
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
            Command::MessageTaken(message) => match self.buffer.last_mut() {
                Some(event) => event.messages.push(message),
                None => self.world.outside.taken(message),
            },
            Command::StopCall(call) => {
                self.in_flight.remove(&call);
            }
            Command::Summarize(_) | Command::OpenScope { .. } | Command::Reached { .. } => {}
        }
        Ok(())
    }

    /// An answer may come too late only if answers come from elsewhere, too.
    fn refused(&mut self, error: &AnswerError) -> Result<(), String> {
        let is_late = matches!(
            error,
            AnswerError::Twice { .. } | AnswerError::Late { .. } | AnswerError::Withdrawn(_)
        );
        let is_unfit = matches!(error, AnswerError::Misfit { .. });
        let may_be_unfit = self.world.counts.contains_key("unfit answers");
        let was_sent = self.world.answers || self.world.counts.contains_key("answers");
        let is_expected = is_late && (was_sent || self.world.latest.has_answers);
        if !(is_expected || is_unfit && may_be_unfit) {
            return Err(format!("an answer is not taken: {error}"));
        }
        if let AnswerError::Withdrawn(path) = error {
            self.withdrawn.insert(path.clone());
        }
        self.world.count("late answers");
        Ok(())
    }

    /// Checks that no answer is lost: one that is refused because its question is not open is not asked for again.
    fn check_answers(&self, outcome: &Outcome) -> Result<(), String> {
        let mut open = outcome.questions.iter().map(|(path, _)| path);
        let is_lost =
            |path: &&Arc<str>| self.withdrawn.contains(*path) && !self.asked_first.contains(*path);
        match open.find(is_lost) {
            Some(path) => Err(format!(
                "the answer to {path} was refused, though it is open"
            )),
            None => Ok(()),
        }
    }

    /// Checks that nobody is asked for a call that the approval of the whole run covers.
    fn check_grant(&mut self, asking: &Asking) -> Result<(), String> {
        let Some(consent) = &self.world.consent else {
            return Ok(());
        };
        let is_same = consent.approval.grant.plan == self.world.program.plan.digest;
        let why = asking.question.why.as_deref().unwrap_or_default();
        if asking.question.kind == Waiting::Approval {
            self.world.count("granted");
        } else if why.contains("approved") || why.contains("approval") {
            // A later patch may have restored the plan that was approved.
            let has_changed = why.contains("plan has changed");
            let was_changed = has_changed && self.world.counts.contains_key("patches");
            if consent.is_complete && is_same && !was_changed {
                return Err(format!("`{}` is to be approved again: {why}", asking.path));
            }
            self.world.count("beyond the grant");
        }
        Ok(())
    }

    fn append(&mut self, event: &Event) -> Result<(), String> {
        let mut lines = LineWriter::default();
        let kept = &mut self.world.kept;
        let line = lines.entry(event, &mut |digest, content| {
            kept.insert(digest.to_owned(), content.to_vec());
        });
        let calls = match &event.kind {
            EventKind::StepWaiting { path, wait, .. } => {
                let wait = i128::try_from(wait.as_nanos()).unwrap();
                self.earliest.insert(path.clone(), self.world.now + wait);
                None
            }
            EventKind::StepRunning {
                path,
                call: Some(call),
                ..
            } => {
                let earliest = self.earliest.remove(path);
                if earliest.is_some_and(|earliest| self.world.now < earliest) {
                    return Err(format!("`{path}` is tried again too early"));
                }
                self.announced.insert(path.clone(), call.execution);
                Some(path.clone())
            }
            EventKind::StepAsks { path, question } => {
                self.asked_first.insert(question.path(path));
                None
            }
            _ => None,
        };
        self.buffer.push(Written {
            number: event.number,
            line: String::from_utf8_lossy(line).into_owned(),
            calls,
            messages: Vec::new(),
        });
        Ok(())
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
        // A call that is reattached to by its handle is not announced again.
        let known = self.announced.get(path).map(|number| u64::from(*number));
        let execution = known.or(self.world.executions.get(&**path).copied());
        let answered = execution.map(|number| (path.to_string(), number));
        if answered.is_some_and(|answered| self.world.answered.contains(&answered)) {
            return Err(format!("`{path}` has an answer, and is called again"));
        }
        let copied = (self.world.copies.as_ref()).and_then(|copies| copies.results.get(path));
        let is_copied = copied
            .is_some_and(|copied| copied.again.is_none() && copied.arguments == request.arguments);
        if is_copied && !self.world.has_effects {
            return Err(format!("`{path}` could be copied, and is called"));
        }
        let arguments = request.arguments.to_json().to_string();
        if effect && self.world.has_undone(path, arguments) {
            return Err(format!(
                "`{path}` has undone something, and is called again"
            ));
        }
        self.world.calls.call(request)?;
        let (plan, defaults) = (&self.world.program.plan, &self.world.defaults);
        let call = request.call;
        // What an earlier process had sent cannot wait.
        let is_reattached = request.handle.is_some();
        if !is_reattached {
            self.in_flight.insert(call, path.clone());
        }
        let limit = (plan.policy.concurrency).or(defaults.policy.concurrency);
        if !is_reattached && limit.is_some_and(|limit| self.in_flight.len() > limit as usize) {
            return Err(format!(
                "more calls are in flight than may be: {:?}",
                self.in_flight
            ));
        }
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
            // The tool has another contract than the one that the plan was checked against.
            Some(3) if self.world.dice.one_in(8) => {
                self.world.count("broken contracts");
                self.arrives(2_000, ended(call, Err(broken_contract())));
            }
            Some(2) => {
                self.world.count("handles");
                let handle = json!({ "call": path });
                self.arrives(1_000, Input::CallHandle { call, handle });
                let used = Used {
                    tokens: 3,
                    cost: 0.5,
                };
                self.arrives(1_000, Input::CallUsed { call, used });
                self.arrives(20_000, ended(call, outcome));
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
        if self.is_broken {
            return;
        }
        let whole = self.buffer.len();
        let count = if self.world.dice.one_in(4) {
            self.world.dice.below(whole + 1)
        } else {
            whole
        };
        let mut last = None;
        for event in self.buffer.drain(..count) {
            last = Some(event.number);
            self.world.keep(event);
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
            // A peer may ask during a call while nobody is at this process.
            (None, wakes)
                if self.world.answers
                    && (wakes.is_none() || self.world.dice.one_in(2))
                    && self.world.answer()? =>
            {
                self.deliver();
                Ok(())
            }
            (None, None) if self.buffer.is_empty() || self.is_broken => {
                Err("the run stands still".to_owned())
            }
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

    pub fn conclude(mut self) -> Result<Outcome, String> {
        let now = self.moment();
        let mut commands = Vec::new();
        let outcome = self.run.conclude(now, &mut commands);
        for command in commands {
            self.carry_out(command)?;
        }
        for event in self.buffer.drain(..).filter(|_| !self.is_broken) {
            self.world.keep(event);
        }
        self.check_answers(&outcome)?;
        let internal = outcome.error.as_ref();
        match internal.filter(|error| error.class == ErrorClass::Internal) {
            Some(error) => Err(format!("a fault of the machine: {}", error.message)),
            None => Ok(outcome),
        }
    }
}

/// An event that was written but is not on disk.
pub(super) struct Written {
    pub number: u64,
    pub line: String,
    /// The path of the step whose call follows the event, if any.
    pub calls: Option<Arc<str>>,
    /// The messages that it and the events before it record.
    pub messages: Vec<u64>,
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

fn broken_contract() -> CallError {
    let class = ErrorClass::Denied(Denied::Contract);
    CallError::new(class, "it has another contract", Sent::No)
}

fn timed_out() -> CallError {
    CallError::new(
        ErrorClass::Transient(Transient::Timeout),
        "no answer",
        Sent::Maybe,
    )
}
