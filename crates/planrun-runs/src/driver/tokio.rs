//! Drives a run with tokio: makes its calls, keeps its clock, writes its events, asks people.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::{Event, LineWriter};
use planrun_core::run::{
    Asking, CachedCall, CallId, CallRequest, Command, Input, Interruption, Moment, Outcome,
    Program, Run,
};
use planrun_lang::value::Value;
use planrun_tools::host::{Host, runtime_now};
use planrun_tools::tools::{Conversation, Handle, Request, begin_call};
use tokio::task::spawn_blocking;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::askings::Askings;
use super::attempt::{Attempt, DriverMessage, MAX_MESSAGES, unknown_place};
use super::context::{Asker, Context};
use super::in_flight::InFlight;
use super::observer::Observer;
use super::peer_question::OpenAsk;
use super::result_cache::{Cacheable, RunCache};
use super::spans::{self, StepSpans};
use super::toolbox::Toolbox;

/// Number of turns in a row after which the driver reads its clocks and takes what has arrived.
const TURNS: u32 = 64;

/// The longest wait for which the driver sets a timer, 30 years.
const MAX_WAIT: Duration = Duration::from_hours(24 * 365 * 30);

/// A run with at least this many events takes milliseconds to free, so it is freed in the background.
const MANY_EVENTS: u64 = 10_000;

/// Runs a plan until it ends or this process suspends it. The inputs have been checked against its parameters.
pub async fn run(
    program: &Arc<Program>,
    inputs: &BTreeMap<Arc<str>, Value>,
    context: Context<'_>,
) -> Outcome {
    let span = spans::run(&context.setup.run_id, &program.plan.name);
    // The state of a run is large, and callers hold it within their own futures.
    let driving = Box::pin(Driver::new(program, inputs, context).drive());
    driving.instrument(span).await
}

/// Carries out the commands of one run.
struct Driver<'a> {
    run: Run,
    host: Arc<dyn Host>,
    toolbox: Toolbox,
    observer: &'a mut dyn Observer,
    in_flight: InFlight,
    asker: Option<Arc<dyn Asker>>,
    askings: Askings,
    cancel: CancellationToken,
    /// Inputs that the run has not handled yet.
    inputs: VecDeque<Input>,
    commands: Vec<Command>,
    /// Number of the last event that was written, and of the last event that the run knows to be durable.
    written: u64,
    durable: u64,
    /// Calls that wait until attempts at effects, which were told to stop, have ended.
    held: VecDeque<CallRequest>,
    /// Open questions of peers of attempts in flight.
    asks: HashMap<CallId, OpenAsk>,
    cache: RunCache,
    /// The token of an attempt that ended at once. Nothing has kept it, so it is used for the next one.
    spare_token: Option<CancellationToken>,
    /// Whether the run waits for an input, or until `wake`.
    waits: bool,
    wake: Option<Duration>,
    epoch: Instant,
    now: Moment,
    lines: LineWriter,
    spans: Option<StepSpans>,
    ended: bool,
}

impl<'a> Driver<'a> {
    fn new(
        program: &Arc<Program>,
        inputs: &BTreeMap<Arc<str>, Value>,
        mut context: Context<'a>,
    ) -> Self {
        let epoch = runtime_now();
        let now = Moment {
            wall: context.host.now(),
            monotonic: Duration::ZERO,
        };
        let cache = RunCache::new(context.cache.take(), &context.setup.run_id);
        let confirm = context.setup.defaults.confirm.clone();
        context.complete_setup();
        let written = context
            .setup
            .replay
            .as_ref()
            .map_or(0, |replay| replay.last);
        Self {
            run: Run::new(program, inputs, context.setup, now),
            toolbox: Toolbox::new(
                context.tools,
                (context.limit, context.root, confirm),
                (context.stand_in, context.early),
                context.host.clone(),
            ),
            host: context.host,
            observer: context.observer,
            in_flight: InFlight::new(context.log),
            asker: context.answering.asker,
            askings: Askings::default(),
            cancel: context.cancel,
            inputs: VecDeque::new(),
            commands: Vec::new(),
            written,
            durable: written,
            held: VecDeque::new(),
            asks: HashMap::new(),
            cache,
            spare_token: None,
            waits: false,
            wake: None,
            epoch,
            now,
            lines: LineWriter::default(),
            spans: StepSpans::new(),
            ended: false,
        }
    }

    async fn drive(mut self) -> Outcome {
        // A message that has been sent before is known before anything is decided.
        self.read_messages();
        while let Some(message) = self.inputs.pop_front() {
            self.give(message);
        }
        self.give(Input::Continue);
        let mut turns = 0_u32;
        while !self.ended {
            if let Some(input) = self.inputs.pop_front() {
                self.give(input);
            } else if self.run.has_work() {
                self.give(Input::Continue);
                turns += 1;
                // A replay has nothing in flight whose answer could have arrived.
                let may_have_arrived = self.inputs.is_empty() && !self.run.is_catching_up();
                if may_have_arrived || turns.is_multiple_of(TURNS) {
                    self.take_pending().await;
                }
            } else {
                if self.run.holds_calls() {
                    self.flush();
                }
                self.give(Input::Idle);
                let waits = std::mem::take(&mut self.waits);
                // If the flush has made events durable, the run may be able to continue without waiting.
                if waits && self.inputs.is_empty() && !self.flush() {
                    self.wait().await;
                }
            }
        }
        self.conclude().await
    }

    /// Reads the clocks. Calls that return at once share a reading.
    fn read_clocks(&mut self) {
        self.now = Moment {
            wall: self.host.now(),
            monotonic: self.epoch.elapsed(),
        };
    }

    /// Passes an input to the run, and carries out the resulting commands.
    fn give(&mut self, input: Input) {
        let mut commands = std::mem::take(&mut self.commands);
        self.run.handle(input, self.now, &mut commands);
        for command in commands.drain(..) {
            self.carry_out(command);
        }
        self.commands = commands;
    }

    fn carry_out(&mut self, command: Command) {
        match command {
            Command::Append(event) => self.append(event),
            Command::Summarize(summary) => {
                if let Some(log) = &mut self.in_flight.log {
                    log.summarize(&summary);
                }
            }
            Command::MessageTaken(id) => {
                if let Some(log) = &mut self.in_flight.log {
                    log.taken(id);
                }
            }
            Command::OpenScope {
                scope,
                outer,
                program,
            } => self.toolbox.open_scope(scope, outer, &program.plan),
            Command::Call(request) if !self.in_flight.is_stopping() => self.call(request),
            Command::Call(request) => self.held.push_back(request),
            Command::Recall {
                call,
                of,
                not_before,
            } => self.recall(call, of, not_before),
            Command::Remember { of, at, value } => {
                if let Some(cacheable) = self.cacheable(of) {
                    self.cache.remember(cacheable, at, value);
                }
            }
            Command::StopCall(call) => self.stop(call),
            Command::Reply { call, reply } => {
                if let Some(asked) = self.asks.remove(&call) {
                    asked.reply(&reply);
                }
            }
            Command::Ask(asking) => self.ask(asking),
            Command::StopAsking(path) => self.askings.stop(&path),
            Command::Refuse(error) => self.observer.refused(&error),
            Command::Reached {
                program,
                block,
                node,
                what,
            } => self.observer.reached(&program.plan, block, node, &what),
            Command::Wait(until) => (self.waits, self.wake) = (true, until),
            Command::End => self.ended = true,
        }
    }

    fn stop(&mut self, call: CallId) {
        self.asks.remove(&call);
        self.held.retain(|request| request.call != call);
        self.in_flight.stop(call);
    }

    fn append(&mut self, mut event: Event) {
        self.written = event.number;
        if let Some(log) = &mut self.in_flight.log {
            let line = self.lines.entry(&event, &mut |digest, content| {
                log.keep(digest, content);
            });
            log.append(event.number, line);
        }
        if let Some(spans) = &mut self.spans {
            spans.note(&event, self.run.redactor());
        }
        // The journal needs the secrets to resume the run; observers do not.
        event.redact(self.run.redactor());
        self.observer.observe(&event);
    }

    fn call(&mut self, request: CallRequest) {
        let CallRequest {
            call,
            scope,
            signature,
            timeout,
            ..
        } = request;
        let Some(transport) = self.toolbox.transport(scope, &signature) else {
            let outcome = Err(unknown_place(&signature.path()));
            return self.inputs.push_back(Input::CallEnded { call, outcome });
        };
        let span = self.spans.as_ref().map_or_else(Span::none, |spans| {
            spans.attempt(&request.path, &signature.path())
        });
        let cancel = self.spare_token.take().unwrap_or_default();
        let changes = !signature.effect.is_read_only();
        let reply = span.in_scope(|| {
            let request = Request {
                path: request.path.clone(),
                signature,
                arguments: request.arguments,
                idempotency_key: request.key,
                handle: request.handle.and_then(|content| Handle::new(content).ok()),
                cancel: cancel.clone(),
            };
            begin_call(&*transport, request)
        });
        match reply {
            Conversation::Now(outcome) => {
                span.in_scope(|| spans::ended(&outcome));
                self.spare_token = Some(cancel);
                self.inputs.push_back(Input::CallEnded { call, outcome });
            }
            Conversation::Later(events) => {
                self.in_flight.add(call, cancel.clone(), changes);
                let attempt = Attempt {
                    call,
                    path: request.path,
                    events,
                    cancel,
                    timeout,
                    sender: self.in_flight.sender.clone(),
                };
                tokio::spawn(attempt.drive().instrument(span));
            }
        }
    }

    fn recall(&mut self, call: CallId, of: CachedCall, not_before: i128) {
        let cacheable = self.cacheable(of);
        let sender = &self.in_flight.sender;
        if !self.cache.recall(call, cacheable, not_before, sender) {
            let found = None;
            self.inputs.push_back(Input::Recalled { call, found });
        }
    }

    /// Returns a call with its transport, if the call is permitted.
    fn cacheable(&mut self, of: CachedCall) -> Option<Cacheable> {
        let transport = self
            .toolbox
            .permitted(of.scope, &of.signature, &of.arguments)?;
        Some(Cacheable { of, transport })
    }

    fn ask(&mut self, asking: Asking) {
        match &self.asker {
            Some(asker) => {
                let sender = self.in_flight.sender.clone();
                self.askings.ask(&**asker, asking, sender);
            }
            None => self.inputs.push_back(Input::Asked {
                asking,
                given: None,
            }),
        }
    }

    /// Takes the inputs that arrived while the run was working, and yields to other tasks.
    async fn take_pending(&mut self) {
        self.take_arrived();
        if self.inputs.is_empty() {
            tokio::task::yield_now().await;
            self.take_arrived();
        }
        if self.cancel.is_cancelled() && !self.run.is_stopped() {
            self.inputs.push_back(Input::Stop);
        }
        self.read_clocks();
    }

    /// Takes the messages that have arrived, but not those that keep arriving meanwhile.
    fn take_arrived(&mut self) {
        for _ in 0..MAX_MESSAGES {
            let Ok(message) = self.in_flight.receiver.try_recv() else {
                return;
            };
            self.arrived(message);
        }
    }

    fn arrived(&mut self, message: DriverMessage) {
        match message {
            DriverMessage::Progress(path, progress) => self.observer.progressed(&path, &progress),
            DriverMessage::Asked(call, ask) => {
                let asked = OpenAsk::new(ask);
                self.inputs.push_back(Input::CallAsks {
                    call,
                    text: asked.text(),
                    form: asked.form(),
                    prefilled: asked.prefilled(),
                });
                self.asks.insert(call, asked);
            }
            DriverMessage::Replied {
                number,
                asking,
                given,
            } => {
                if self.askings.close(&asking.path, number) {
                    self.inputs.push_back(Input::Asked { asking, given });
                }
            }
            DriverMessage::Input(input) => {
                if let Input::CallEnded { call, .. } = &input {
                    self.in_flight.ended(*call);
                    self.asks.remove(call);
                }
                self.inputs.push_back(input);
                self.send_held();
            }
        }
    }

    /// Sends the calls that waited for attempts to stop.
    fn send_held(&mut self) {
        while !self.in_flight.is_stopping()
            && let Some(request) = self.held.pop_front()
        {
            self.call(request);
        }
    }

    /// Flushes the log, and reports to the run which events are durable. Returns true if there are new ones.
    fn flush(&mut self) -> bool {
        let Some(log) = &mut self.in_flight.log else {
            return false;
        };
        log.flush();
        let durable = log.durable();
        let new = durable > self.durable;
        if new {
            self.durable = durable;
            self.give(Input::Durable(durable));
        }
        new
    }

    /// Waits for an input, or until the time that the run waits for.
    async fn wait(&mut self) {
        self.observer.idle();
        let cancel = self.cancel.clone();
        // A run that is woken too early waits again.
        let soonest = self.epoch + self.now.monotonic.saturating_add(MAX_WAIT);
        let wake = self.wake.map(|at| match self.epoch.checked_add(at) {
            Some(at) => at.min(soonest),
            None => soonest,
        });
        let InFlight { log, receiver, .. } = &mut self.in_flight;
        let journal = async {
            match log {
                Some(log) => log.changed().await,
                None => std::future::pending().await,
            }
        };
        let timer = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !self.run.is_stopped() => self.inputs.push_back(Input::Stop),
            message = receiver.recv() => {
                if let Some(message) = message {
                    self.arrived(message);
                }
                self.take_arrived();
            }
            () = journal => self.read_journal(),
            () = timer => self.inputs.push_back(Input::Wake),
        }
        self.read_clocks();
    }

    /// Takes the failure of the journal's writer, if any, and messages.
    fn read_journal(&mut self) {
        if let Some(why) = self.in_flight.log.as_ref().and_then(|log| log.broken()) {
            self.inputs.push_back(Input::JournalBroken(why));
        }
        self.read_messages();
    }

    fn read_messages(&mut self) {
        let messages = self.in_flight.log.as_mut().map(|log| log.messages());
        let messages = messages.unwrap_or_default();
        self.inputs.extend(messages.into_iter().map(Input::Message));
    }

    async fn conclude(mut self) -> Outcome {
        self.held.clear();
        // Wait for cancelled attempts: a process that resumes the run, or a person who answers a question about an
        // attempt, must not act while it is still running.
        while self.in_flight.is_stopping()
            && let Some(message) = self.in_flight.receiver.recv().await
        {
            self.arrived(message);
        }
        // Nothing is received any more, so release the senders that wait for room.
        self.in_flight.receiver.close();
        self.in_flight.leave();
        self.read_clocks();
        let mut commands = Vec::new();
        let mut inputs = self.inputs.iter();
        let is_behind = inputs.any(|input| matches!(input, Input::Message(_)));
        let is_behind = is_behind || self.run.has_message();
        let mut outcome = self.run.conclude(self.now, &mut commands);
        for command in commands {
            self.carry_out(command);
        }
        self.cache.close().await;
        self.toolbox.close().await;
        if let Some(log) = self.in_flight.log.take() {
            match log.release().await {
                Ok(is_unread) => outcome.is_behind = is_behind || is_unread,
                Err(broken) => {
                    outcome.pause();
                    outcome.interruption = Some(Interruption::Journal(broken));
                }
            }
        }
        if self.written >= MANY_EVENTS {
            let run = self.run;
            // Nothing waits for it.
            drop(spawn_blocking(move || drop(run)));
        }
        outcome
    }
}
