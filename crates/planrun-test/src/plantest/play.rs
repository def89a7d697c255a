//! Plays a case: its run goes on in as many processes as it takes, on a virtual clock.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::permission::Permissions;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::test::TestSignal;
use planrun_tools::host::{Host, MemoryHost, VirtualHost};
use planrun_tools::tools::{Catalog, StandIn};
use tokio::task::JoinSet;

use super::case::Case;
use super::generated::MadeUp;
use super::recording::{Recorder, Replay, Replayed};
use super::replay::Crashes;
use super::responder::ScriptedResponder;
use super::slots::Slots;
use super::world::{Called, Source, Unanswered, World};
use planrun_core::journal::{InboxCommand, MAX_CRASHES, Move, ReplayState, Signal};
use planrun_core::run::{Defaults, Interruption, Order, Outcome, Program};
use planrun_runs::driver::{self, Answering, Asker, Context, Observer};
use planrun_runs::journal::{Log, MemoryCache, MemoryLog};

/// More processes than this no run needs.
const MAX_PROCESSES: usize = 100;
/// No run takes longer, on the clock of the test.
const MAX_DURATION: Duration = Duration::from_hours(24 * 365 * 20);
/// What a run is called in tests: jitter and keys follow from it.
const RUN: &str = "test";

/// What all cases of a project share.
#[derive(Clone)]
pub struct TestEnvironment {
    /// What the project lets plans reach.
    pub limit: Option<Permissions>,
    pub defaults: Defaults,
    /// Where relative paths in permissions begin.
    pub root: PathBuf,
    pub made_up: Arc<MadeUp>,
}

/// How a case is played.
#[derive(Clone, Copy, Default)]
pub struct RunOptions {
    pub order: Order,
    /// Chance: what is made up, and `sys.uuid`.
    pub seed: u64,
    /// What is made up stands at this edge of its contract.
    pub edge: Option<u64>,
}

/// Who plays the world.
pub struct Doubles {
    /// They answer calls, the first of them first.
    pub sources: Vec<Box<dyn Source>>,
    /// Answers what people are asked.
    pub responder: ScriptedResponder,
    /// The recording among the sources, which is asked afterwards how much of it was used.
    pub replay: Option<Arc<Replay>>,
    /// Calls to which nobody has an answer go to the real tools.
    pub live: Option<Live>,
    /// Set where a recorded run is replayed.
    pub again: Option<RecordedInputs>,
}

/// What a recorded run that is replayed got from outside.
pub struct RecordedInputs {
    /// What it is called: jitter and keys follow from it.
    pub run: Arc<str>,
    /// When it began, in nanoseconds since 1970.
    pub begun_at: i128,
    /// What was said to it from outside, each at its time since then.
    pub said: Vec<(Duration, InboxCommand)>,
    /// Answers what people are asked.
    pub people: Arc<dyn Asker>,
    /// Where its processes died.
    pub crashes: Arc<Crashes>,
}

/// The real world, for what is recorded of it.
pub struct Live {
    pub recorder: Arc<Recorder>,
    pub tools: Arc<Catalog>,
    pub host: Arc<dyn Host>,
    /// What the run is called. No two are called the same, so that no system takes one for a repetition of the other.
    pub run: String,
}

/// The outcome of a case.
pub struct Played {
    /// The end, or where it waits for somebody who never comes; nothing where it stood still.
    pub outcome: Option<Outcome>,
    /// Where the run stands: paused where somebody would have to come.
    pub state: RunState,
    pub calls: Vec<Called>,
    pub unanswered: Vec<Unanswered>,
    /// The numbers of answers that were not taken, with the reason.
    pub refused: Vec<(usize, String)>,
    /// The numbers of answers that nobody asked for.
    pub unused: Vec<usize>,
    /// The journal of the run: one JSON object an event.
    pub events: MemoryLog,
    /// How many processes it took.
    pub processes: usize,
    /// On the clock of the test.
    pub took: Duration,
    /// How much of the recording that answered its calls was used.
    pub replayed: Option<Replayed>,
}

/// Plays a case to its end, or until only somebody who never comes could go on with it.
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
        again,
    } = doubles;
    let log = MemoryLog::default();
    let mut world = World::new(sources, log.clone());
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
        again,
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
    /// Results that the case may use again, whatever process gave them.
    cache: MemoryCache,
    replay: Option<Arc<Replay>>,
    live: Option<Live>,
    again: Option<RecordedInputs>,
}

impl TestRun<'_> {
    async fn live(self, observer: &mut dyn Observer) -> Played {
        let host = self.host();
        if let Some(again) = &self.again {
            again.crashes.begin();
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
        if let Some(again) = &self.again {
            memory.set_now(again.begun_at);
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
            refused: self.responder.refused(),
            unused: self.responder.unused(),
            events: self.log,
            processes,
            took,
            replayed: self.replay.map(|replay| replay.replayed()),
        }
    }

    /// One process after the other, until the run has ended or nobody is there to wake it.
    async fn processes(
        &self,
        host: &Arc<dyn Host>,
        signals: &mut JoinSet<()>,
        observer: &mut dyn Observer,
    ) -> (Option<Outcome>, usize) {
        for number in 1..=MAX_PROCESSES {
            let Some(outcome) = self.process(host, observer).await else {
                drop(self.log.clone().living());
                if let Some(again) = &self.again {
                    if again.crashes.next().await {
                        continue;
                    }
                    return (self.recorded_outcome(host).await, number);
                }
                if self.past().is_none_or(|past| past.crashes() >= MAX_CRASHES) {
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

    /// One process of the run; nothing where it died.
    async fn process(&self, host: &Arc<dyn Host>, observer: &mut dyn Observer) -> Option<Outcome> {
        let people = self.again.as_ref().map(|again| again.people.clone());
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
        if let Some(again) = &self.again {
            again.crashes.arm(&self.log);
        }
        let overdue = async {
            match &self.again {
                Some(again) => again.crashes.overdue().await,
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

    /// The outcome that its journal has recorded, from a replay that calls nothing.
    async fn recorded_outcome(&self, host: &Arc<dyn Host>) -> Option<Outcome> {
        let mut nobody = driver::Silence;
        let context = Context {
            replay_only: true,
            ..self.context(host, &mut nobody)
        };
        let mut outcome = driver::run(self.program, &self.case.inputs, context).await;
        outcome.interruption = Some(Interruption::Asked);
        Some(outcome)
    }

    fn past(&self) -> Option<ReplayState> {
        self.log.past().ok()
    }

    fn context<'o>(&self, host: &Arc<dyn Host>, observer: &'o mut dyn Observer) -> Context<'o> {
        let stand_in: Arc<dyn StandIn> = self.world.clone();
        let again = self.again.as_ref().map_or(RUN, |again| &again.run);
        let run = self.live.as_ref().map_or(again, |live| &live.run);
        Context {
            limit: self.environment.limit.clone(),
            root: self.environment.root.clone(),
            defaults: self.environment.defaults.clone(),
            past: self.past().filter(|past| past.last > 0),
            order: self.options.order,
            stand_in: Some(stand_in),
            cache: Some(Arc::new(self.cache.clone())),
            ..Context::new(host.clone(), self.tools(host.clone()), run, observer)
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

    /// What is said to the run from outside, each at its time.
    fn signals(&self) -> JoinSet<()> {
        let mut signals = JoinSet::new();
        let written = self
            .case
            .test
            .signals
            .iter()
            .map(|signal| (signal.at, said(signal)));
        let again = self
            .again
            .iter()
            .flat_map(|again| again.said.iter().cloned());
        for (at, said) in written.chain(again) {
            let log = self.log.clone();
            signals.spawn(async move {
                tokio::time::sleep(at).await;
                log.say(&said.to_text());
            });
        }
        signals
    }
}

/// Waits until a run wakes or gets a message; false where neither ever comes.
async fn sleep(host: &dyn Host, wake: Option<i128>, signals: &mut JoinSet<()>) -> bool {
    let left = wake.map(|wake| Duration::from_nanos(u64::try_from(wake - host.now()).unwrap_or(0)));
    tokio::select! {
        biased;
        Some(_) = signals.join_next() => true,
        () = tokio::time::sleep(left.unwrap_or_default()), if left.is_some() => true,
        else => false,
    }
}

/// A signal of a test, as it is said to a run.
fn said(signal: &TestSignal) -> InboxCommand {
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
