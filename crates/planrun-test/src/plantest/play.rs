//! Runs a case on a virtual clock, in as many consecutive processes as it needs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::permission::Permissions;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::test::TestSignal;
use planrun_lang::value::saturating_duration;
use planrun_tools::host::{Host, MemoryHost, VirtualHost};
use planrun_tools::tools::{Catalog, StandIn};
use tokio::task::JoinSet;

use super::case::Case;
use super::generated::ResultGenerator;
use super::recording::{Recorder, Replay, Replayed};
use super::replay::Crashes;
use super::responder::ScriptedResponder;
use super::slots::Slots;
use super::world::{Called, MockFault, Source, Unanswered, World};
use planrun_core::journal::{InboxCommand, MAX_CRASHES, Move, ReplayState, Signal};
use planrun_core::run::{Defaults, Interruption, Order, Outcome, Program, Setup, accepts_signal};
use planrun_runs::driver::{self, Answering, Asker, Context, Observer};
use planrun_runs::journal::{Log, MemoryCache, MemoryLog};

/// Maximum number of processes of a run: one for each wait that suspends it. Each replays the events of those before,
/// so that the time of a run grows with the square of their number.
const MAX_PROCESSES: usize = 1000;
/// Maximum duration of a run, on the clock of the test.
pub(super) const MAX_DURATION: Duration = Duration::from_hours(24 * 365 * 20);
/// The id of runs in tests; jitter and idempotency keys are derived from it.
const RUN: &str = "test";

/// Settings that all cases of a project share.
#[derive(Clone)]
pub struct TestEnvironment {
    /// The permissions of the project, which limit those of plans.
    pub limit: Option<Permissions>,
    pub defaults: Defaults,
    /// The base folder of relative paths in permissions.
    pub root: PathBuf,
    pub results: Arc<ResultGenerator>,
}

/// How a case is run.
#[derive(Clone, Copy, Default)]
pub struct RunOptions {
    pub order: Order,
    /// Seed of generated results and of `sys.uuid`.
    pub seed: u64,
    /// The edge case of the contract that generated results take.
    pub edge: Option<u64>,
}

/// The doubles that replace tools and people.
pub struct Doubles {
    /// They answer calls, in this order of precedence.
    pub sources: Vec<Box<dyn Source>>,
    /// Answers questions to people.
    pub responder: ScriptedResponder,
    /// The recording among the sources, which reports afterwards which of its entries were used.
    pub replay: Option<Arc<Replay>>,
    /// Handles calls that no source answers; `None` if they are errors.
    pub live: Option<Live>,
    /// Inputs of a recorded run that is replayed.
    pub recorded: Option<RecordedInputs>,
}

/// The external inputs of a recorded run.
pub struct RecordedInputs {
    /// Id of the run; jitter and idempotency keys are derived from it.
    pub run: Arc<str>,
    /// When it started, in nanoseconds since the Unix epoch.
    pub begun_at: i128,
    /// Messages that it received from outside, each with its time since the start.
    pub messages: Vec<(Duration, InboxCommand)>,
    /// Answers questions to people.
    pub people: Arc<dyn Asker>,
    /// The crashes of its processes.
    pub crashes: Arc<Crashes>,
}

/// The real tools, for recording them.
pub struct Live {
    pub recorder: Arc<Recorder>,
    pub tools: Arc<Catalog>,
    pub host: Arc<dyn Host>,
    /// Id of the run. It is unique, so that no system takes a call for a repetition of an earlier one.
    pub run: String,
}

/// The outcome of a case.
pub struct Played {
    /// The final outcome, or the outcome at a wait for an answer that never comes; `None` if the run got stuck.
    pub outcome: Option<Outcome>,
    /// State of the run: paused if it waits for an answer.
    pub state: RunState,
    pub calls: Vec<Called>,
    pub unanswered: Vec<Unanswered>,
    /// The mocks that could not be evaluated.
    pub mock_faults: Vec<MockFault>,
    /// Indices of answers that were rejected, each with the reason.
    pub refused: Vec<(usize, String)>,
    /// Indices of signals that the plan does not accept, each with the reason.
    pub refused_signals: Vec<(usize, String)>,
    /// Indices of answers that no question used.
    pub unused: Vec<usize>,
    /// The journal of the run: one JSON object per event.
    pub events: MemoryLog,
    /// The step that made too many calls, and their number; the run was stopped there.
    pub endless: Option<(Arc<str>, u32)>,
    /// Number of processes that ran.
    pub processes: usize,
    /// Duration on the clock of the test.
    pub took: Duration,
    /// Which entries of the recording were used.
    pub replayed: Option<Replayed>,
}

/// Runs a case until it ends, or until only an answer that never comes could resume it.
pub fn play(
    environment: &TestEnvironment,
    program: &Arc<Program>,
    case: &Case,
    doubles: Doubles,
    options: RunOptions,
    observer: &mut dyn Observer,
) -> Played {
    let Doubles {
        sources,
        responder,
        replay,
        live,
        recorded,
    } = doubles;
    let log = MemoryLog::default();
    let mut world = World::new(sources, log.clone()).seeded(options.seed);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    if let Some(live) = &live {
        world = world.recording(live.recorder.clone());
        runtime.enable_all();
    } else {
        runtime.enable_time().start_paused(true);
    }
    let world = Arc::new(world);
    let run = TestRun {
        environment,
        program,
        case,
        world,
        responder,
        options,
        log,
        cache: MemoryCache::default(),
        replay,
        live,
        recorded,
    };
    match runtime.build() {
        Ok(runtime) => runtime.block_on(run.live(observer)),
        Err(_) => run.played(None, 0, Duration::ZERO),
    }
}

struct TestRun<'a> {
    environment: &'a TestEnvironment,
    program: &'a Arc<Program>,
    case: &'a Case,
    world: Arc<World>,
    responder: ScriptedResponder,
    options: RunOptions,
    log: MemoryLog,
    /// Results that the case may reuse, in whichever process they were computed.
    cache: MemoryCache,
    replay: Option<Arc<Replay>>,
    live: Option<Live>,
    recorded: Option<RecordedInputs>,
}

impl TestRun<'_> {
    async fn live(self, observer: &mut dyn Observer) -> Played {
        let host = self.host();
        self.world.begin(&host);
        if let Some(recorded) = &self.recorded {
            recorded.crashes.begin();
        }
        let begun = host.monotonic();
        let mut signals = self.signals();
        let run = self.processes(&host, &mut signals, observer);
        let (outcome, processes) = tokio::time::timeout(MAX_DURATION, run)
            .await
            .unwrap_or((None, 0));
        self.played(outcome, processes, host.monotonic().saturating_sub(begun))
    }

    fn host(&self) -> Arc<dyn Host> {
        if let Some(live) = &self.live {
            return live.host.clone();
        }
        let memory = MemoryHost::new(self.options.seed);
        if let Some(recorded) = &self.recorded {
            memory.set_now(recorded.begun_at);
        }
        Arc::new(VirtualHost::new(memory))
    }

    fn played(self, outcome: Option<Outcome>, processes: usize, took: Duration) -> Played {
        let state =
            outcome
                .as_ref()
                .map_or(RunState::Running, |outcome| match outcome.interruption {
                    Some(_) => RunState::Paused,
                    None => outcome.state,
                });
        Played {
            state,
            outcome,
            calls: self.world.calls(),
            unanswered: self.world.unanswered(),
            mock_faults: self.world.mock_faults(),
            refused: self.responder.refused(),
            refused_signals: self.refused_signals(),
            unused: self.responder.unused(),
            events: self.log,
            endless: self.world.endless(),
            processes,
            took,
            replayed: self.replay.map(|replay| replay.replayed()),
        }
    }

    /// Runs one process after another until the run has ended or nothing can wake it.
    async fn processes(
        &self,
        host: &Arc<dyn Host>,
        signals: &mut JoinSet<()>,
        observer: &mut dyn Observer,
    ) -> (Option<Outcome>, usize) {
        for number in 1..=MAX_PROCESSES {
            let Some(outcome) = self.process(host, observer).await else {
                if self.world.endless().is_some() {
                    return (None, number);
                }
                drop(self.log.clone().revived());
                if let Some(recorded) = &self.recorded {
                    if recorded.crashes.next().await {
                        continue;
                    }
                    return (self.recorded_outcome(host).await, number);
                }
                if self
                    .replay_state()
                    .is_none_or(|state| state.crashes() >= MAX_CRASHES)
                {
                    return (self.recorded_outcome(host).await, number);
                }
                continue;
            };
            let wake = match &outcome.interruption {
                Some(Interruption::Waiting { wake, .. }) => *wake,
                Some(
                    Interruption::Asked
                    | Interruption::Reached
                    | Interruption::Failed(_)
                    | Interruption::Journal(_),
                )
                | None => return (Some(outcome), number),
            };
            if !sleep(&**host, wake, signals).await {
                return (Some(outcome), number);
            }
        }
        (None, MAX_PROCESSES)
    }

    /// Runs one process; `None` if it died.
    async fn process(&self, host: &Arc<dyn Host>, observer: &mut dyn Observer) -> Option<Outcome> {
        let people = self
            .recorded
            .as_ref()
            .map(|recorded| recorded.people.clone());
        let asker = people.unwrap_or_else(|| Arc::new(self.responder.clone()));
        let answering = Answering {
            answers: Vec::new(),
            asker: Some(asker),
        };
        let context = Context {
            log: Some(Box::new(self.log.clone()) as Box<dyn Log>),
            answering,
            ..self.context(host, observer)
        };
        let running = driver::run(self.program, &self.case.inputs, context);
        if let Some(recorded) = &self.recorded {
            recorded.crashes.arm(&self.log);
        }
        let overdue = async {
            match &self.recorded {
                Some(recorded) => recorded.crashes.overdue().await,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = self.log.died() => None,
            outcome = running => Some(outcome),
            () = overdue => {
                self.log.die();
                None
            }
        };
        outcome.filter(|_| !self.log.is_dead())
    }

    /// Returns the outcome that the journal records, from a replay that calls nothing.
    async fn recorded_outcome(&self, host: &Arc<dyn Host>) -> Option<Outcome> {
        let mut observer = driver::Silence;
        let mut context = self.context(host, &mut observer);
        context.setup.replay_only = true;
        let mut outcome = driver::run(self.program, &self.case.inputs, context).await;
        outcome.interruption = Some(Interruption::Asked);
        Some(outcome)
    }

    fn replay_state(&self) -> Option<ReplayState> {
        self.log.replay_state().ok()
    }

    fn context<'o>(&self, host: &Arc<dyn Host>, observer: &'o mut dyn Observer) -> Context<'o> {
        let stand_in: Arc<dyn StandIn> = self.world.clone();
        let recorded = self.recorded.as_ref().map_or(RUN, |recorded| &recorded.run);
        let run = self.live.as_ref().map_or(recorded, |live| &live.run);
        let setup = Setup {
            defaults: self.environment.defaults.clone(),
            replay: self.replay_state().filter(|state| state.last > 0),
            order: self.options.order,
            ..Setup::new(run)
        };
        Context {
            limit: self.environment.limit.clone(),
            root: self.environment.root.clone(),
            stand_in: Some(stand_in),
            cache: Some(Arc::new(self.cache.clone())),
            ..Context::new(host.clone(), self.tools(host.clone()), setup, observer)
        }
    }

    fn tools(&self, host: Arc<dyn Host>) -> Arc<Catalog> {
        if let Some(live) = &self.live {
            return live.tools.clone();
        }
        Arc::new(Catalog::new(
            host,
            self.environment.root.clone(),
            &Arc::new(Permissions::none()),
        ))
    }

    /// Sends messages to the run from outside, each at its time.
    fn signals(&self) -> JoinSet<()> {
        let mut signals = JoinSet::new();
        let written = self
            .case
            .test
            .signals
            .iter()
            .map(|signal| (signal.at, signal_command(signal)));
        let recorded = self
            .recorded
            .iter()
            .flat_map(|recorded| recorded.messages.iter().cloned());
        for (at, command) in written.chain(recorded) {
            let log = self.log.clone();
            signals.spawn(async move {
                tokio::time::sleep(at).await;
                log.send(&command.to_text());
            });
        }
        signals
    }

    /// Returns the indices of signals that the plan does not accept, each with the reason.
    fn refused_signals(&self) -> Vec<(usize, String)> {
        let signals = self.case.test.signals.iter().enumerate();
        let refused = signals.filter_map(|(index, signal)| match signal_command(signal) {
            InboxCommand::Signal(Signal { name, payload }) => {
                let reason = accepts_signal(self.program, &name, &payload).err()?;
                Some((index, reason))
            }
            InboxCommand::Move(_) | InboxCommand::Answer(_) | InboxCommand::Cancel(_) => None,
        });
        refused.collect()
    }
}

/// Waits until the run wakes or receives a message. Returns false if neither can happen.
async fn sleep(host: &dyn Host, wake: Option<i128>, signals: &mut JoinSet<()>) -> bool {
    let left = wake.map(|wake| saturating_duration(wake - host.now()));
    tokio::select! {
        biased;
        Some(_) = signals.join_next() => true,
        () = tokio::time::sleep(left.unwrap_or_default()), if left.is_some() => true,
        else => false,
    }
}

/// Returns the inbox command of a signal of a test.
fn signal_command(signal: &TestSignal) -> InboxCommand {
    let payload = signal
        .payload
        .as_ref()
        .and_then(|payload| Slots::none().evaluate(payload).ok());
    let payload = payload.map_or(serde_json::Value::Null, |payload| payload.to_json());
    match signal.name.split_once('=') {
        Some((task, status)) => InboxCommand::Move(Move {
            task: task.into(),
            status: status.into(),
            context: payload,
        }),
        None => InboxCommand::Signal(Signal {
            name: signal.name.clone(),
            payload,
        }),
    }
}
