//! The loop: a model calls tools, round by round, until it has said what it has to say.

mod asked;
mod delegate;
mod family;
mod prompt;
mod round;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planrun_lang::permission::Grant;
use planrun_lang::protocol::RunState;
use planrun_models::model::{
    Message, Model, ModelError, Part, Request, StopReason, ToolCall, Turn, Usage, next,
};
use planrun_runs::driver::Asker;
use planrun_runs::runs::{Error, Planrun};
use planrun_tools::project::{AgentType, AgentTypes};
use tokio_util::sync::CancellationToken;

use crate::profile::Profile;
use crate::rules::Rules;
use crate::session::{Answered, Session, SessionError, Sessions};
use crate::toolbox::{Called, DISPATCH, Toolbox};
use family::{FIRST, Family, Place};
pub use family::{Member, Status, agent_types};

/// How often a model is asked where nobody says otherwise.
pub const DEFAULT_ROUNDS: usize = 30;
/// How long a sub-agent may take where nobody says otherwise.
const DEFAULT_CHILD_TIME: Duration = Duration::from_mins(10);

/// Who looks on while a loop goes on.
pub type Watch = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// What happens in a loop.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The model is asked, for the n-th time.
    Round(usize),
    /// It thinks, writes, or wants calls.
    Part(&'a Part),
    /// A call has its result, as the model reads it.
    Called {
        call: &'a ToolCall,
        text: &'a str,
        is_error: bool,
    },
    /// A sub-agent begins, or has ended.
    SubAgent(&'a Member),
}

/// How a loop is to go on.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often the model is asked.
    pub rounds: usize,
    pub profile: Profile,
    /// How long a sub-agent may take.
    pub child_time: Duration,
}

/// What a loop works with.
#[derive(Clone)]
pub struct Setup {
    pub planrun: Planrun,
    /// The types of agents that there are, and that of this one.
    pub types: Arc<AgentTypes>,
    pub agent_type: AgentType,
    pub model: Arc<dyn Model>,
    /// Who is asked before something is changed; where nobody is, the loop ends there and can be gone on with.
    pub asker: Option<Arc<dyn Asker>>,
    /// Where the conversation is kept after every round.
    pub sessions: Option<Sessions>,
    pub watch: Watch,
    /// Fires when the user wants it to stop.
    pub cancel: CancellationToken,
    pub options: Options,
}

/// Why a loop has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The model has said everything; why it stopped there, where its server tells.
    Done {
        text: String,
        stop: Option<StopReason>,
    },
    /// A sub-agent has finished its task with this report.
    Finished(String),
    /// It has said nothing at all.
    Empty,
    /// It was asked so often and still wanted calls.
    Limit(usize),
    /// The user has stopped it.
    Cancelled,
    /// A call waits for somebody who is not here.
    Waits { run: String, question: String },
    /// The model gave no whole answer.
    Failed(ModelError),
}

/// What a loop came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub ended: Ended,
    /// What was said in it; messages of before are as they were.
    pub messages: Vec<Message>,
    /// How often the model was asked.
    pub rounds: usize,
    /// What all of them have used, those of sub-agents included.
    pub usage: Usage,
    /// All agents that have worked on it, the first one and those below it.
    pub agents: Vec<Member>,
}

/// A model with its tools.
pub struct Agent {
    setup: Setup,
    toolbox: Toolbox,
    rules: Rules,
    /// Where it stands among the others.
    place: Place,
    family: Arc<Family>,
    usage: Mutex<Usage>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rounds: DEFAULT_ROUNDS,
            profile: Profile::default(),
            child_time: DEFAULT_CHILD_TIME,
        }
    }
}

impl Agent {
    /// An agent for a request. Nothing is asked yet.
    ///
    /// # Errors
    /// Where the project cannot be used.
    pub fn new(setup: Setup, request: &str) -> Result<Self, Error> {
        let first = (delegate::name_of(request), setup.agent_type.name.clone());
        let family = Family::of(setup.types.clone(), first);
        Self::at(setup, request, (FIRST.to_vec(), Arc::new(family)))
    }

    fn at(
        setup: Setup,
        request: &str,
        (place, family): (Place, Arc<Family>),
    ) -> Result<Self, Error> {
        let mut planrun = setup.planrun.clone();
        if let Some(tools) = &setup.agent_type.tools {
            let grant = allowed(&planrun)?;
            let tools = Some(tools.clone());
            planrun = planrun.confined([Grant { tools, ..grant }]);
        }
        let toolbox = Toolbox::new(&planrun, setup.asker.clone(), request)?;
        let project = &toolbox.files().root;
        let has_parent = place.len() > FIRST.len();
        let rules = Rules::of(&**planrun.host(), project, &setup.agent_type, has_parent);
        Ok(Self {
            setup: Setup { planrun, ..setup },
            toolbox,
            rules,
            place,
            family,
            usage: Mutex::default(),
        })
    }

    /// Rules and skills of the project that could not be used.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.rules.problems
    }

    /// Goes on with a conversation: with a request, or where it was left.
    ///
    /// # Errors
    /// Where it cannot be kept. What was said until then is in the session all the same.
    pub async fn run(
        &self,
        session: &mut Session,
        request: Option<&str>,
    ) -> Result<Outcome, SessionError> {
        let before = session.messages.len();
        let mut rounds = 0;
        self.becomes(true, false);
        let ended = self.go_on(session, request, &mut rounds).await;
        self.toolbox.close().await;
        let is_done = matches!(ended, Ok(Ended::Done { .. } | Ended::Finished(_)));
        self.becomes(false, is_done && self.has_parent());
        Ok(Outcome {
            ended: ended?,
            messages: session.messages.get(before..).unwrap_or_default().to_vec(),
            rounds,
            usage: *self.usage(),
            agents: self.family.members(),
        })
    }

    fn has_parent(&self) -> bool {
        self.place.len() > FIRST.len()
    }

    /// Notes what it does now, and tells whoever looks on of a sub-agent.
    fn becomes(&self, is_running: bool, is_finished: bool) {
        let status = Status::of(is_running, is_finished, self.has_parent());
        let member = self.family.set(&self.place, status);
        if let Some(member) = member.filter(|_| self.has_parent()) {
            (self.setup.watch)(Event::SubAgent(&member));
        }
    }

    async fn go_on(
        &self,
        session: &mut Session,
        request: Option<&str>,
        rounds: &mut usize,
    ) -> Result<Ended, SessionError> {
        if let Some(ended) = self.settle(session).await? {
            return Ok(ended);
        }
        if let Some(ended) = self.ask(session).await? {
            return Ok(ended);
        }
        if let Some(request) = request {
            session.pending = Some(self.pending(request, &session.macros));
            self.save(session)?;
            if let Some(ended) = self.ask(session).await? {
                return Ok(ended);
            }
        } else if let Some(Message::Assistant { text, calls, .. }) = session.messages.last()
            && calls.is_empty()
        {
            let text = text.clone();
            return Ok(Ended::Done { text, stop: None });
        }
        self.toolbox.recall(&session.messages);
        let system = prompt::system(self).await;
        while *rounds < self.setup.options.rounds {
            if self.setup.cancel.is_cancelled() {
                return Ok(Ended::Cancelled);
            }
            *rounds += 1;
            (self.setup.watch)(Event::Round(*rounds));
            let ended = self.round(session, &system).await;
            self.save(session)?;
            if let Some(ended) = ended? {
                return Ok(ended);
            }
        }
        Ok(Ended::Limit(*rounds))
    }

    /// One round: what the model says, and the results of its calls.
    async fn round(
        &self,
        session: &mut Session,
        system: &str,
    ) -> Result<Option<Ended>, SessionError> {
        let (turn, cut) = self.turn(session, system).await;
        if let Some(ended) = cut {
            // What it had said until then stays; of calls nobody knows whether they were whole.
            if !turn.text.is_empty() {
                let calls = Vec::new();
                session.messages.push(Turn { calls, ..turn }.into_message());
            }
            return Ok(Some(ended));
        }
        if turn.calls.is_empty() {
            let (text, stop) = (turn.text.clone(), turn.stop.clone());
            let is_empty = text.is_empty() && turn.reasoning.is_empty();
            session.messages.push(turn.into_message());
            return Ok(Some(if is_empty {
                Ended::Empty
            } else {
                Ended::Done { text, stop }
            }));
        }
        self.calls(session, turn).await
    }

    /// What the model says next, and why that was cut, where it was.
    async fn turn(&self, session: &Session, system: &str) -> (Turn, Option<Ended>) {
        let system = Message::System {
            text: system.to_owned(),
        };
        let messages = [system].into_iter().chain(session.messages.iter().cloned());
        let request = Request {
            messages: messages.collect(),
            tools: self.offered(),
            ..Request::default()
        };
        let mut turn = Turn::default();
        let mut parts = self.setup.model.answer(request);
        let cut = loop {
            let next = self.setup.cancel.run_until_cancelled(next(&mut parts));
            match next.await {
                None => break Some(Ended::Cancelled),
                Some(None) => break None,
                Some(Some(Ok(part))) => {
                    (self.setup.watch)(Event::Part(&part));
                    turn.add(part);
                }
                Some(Some(Err(error))) => break Some(Ended::Failed(error)),
            }
        };
        if let Some(used) = turn.usage {
            self.used(used);
        }
        (turn, cut)
    }

    /// Answers calls that an earlier process has left without an answer.
    async fn settle(&self, session: &mut Session) -> Result<Option<Ended>, SessionError> {
        for call in session.unanswered() {
            let came = match session.runs.get(&call.id) {
                Some(_) if call.name == DISPATCH => Called::Failed(BROKEN_OFF.to_owned()),
                Some(run) => self.left_behind(&run.clone()).await,
                None => Called::Failed(NOT_CALLED.to_owned()),
            };
            let (text, is_error) = match came {
                Called::Answered(text) => (text, false),
                Called::Failed(text) => (text, true),
                Called::Waits { run, question } => {
                    self.save(session)?;
                    return Ok(Some(Ended::Waits { run, question }));
                }
            };
            session.answer(vec![Answered {
                call,
                text,
                is_error,
            }]);
        }
        Ok(None)
    }

    /// What became of a call that an earlier process made.
    async fn left_behind(&self, run: &str) -> Called {
        let Ok(summary) = self.toolbox.planrun().run(run) else {
            return Called::Failed(NOT_CALLED.to_owned());
        };
        let state = RunState::find(&summary.state);
        let rests = state.is_some_and(|state| state.is_ended() || state == RunState::Paused);
        if rests && !summary.driven {
            let resumed = self.toolbox.resume(run, &self.setup.cancel).await;
            return resumed.unwrap_or_else(|error| Called::Failed(format!("run {run}: {error}")));
        }
        Called::Failed(format!(
            "[Interrupted] The process that made this call ended in the middle of it, so it may have happened. It is run {run}: \
             runs(id: \"{run}\") tells, and `planrun runs resume {run}` goes on with it."
        ))
    }

    fn save(&self, session: &mut Session) -> Result<(), SessionError> {
        match &self.setup.sessions {
            Some(sessions) => sessions.save(session),
            None => Ok(()),
        }
    }

    fn used(&self, used: Usage) {
        let mut usage = self.usage();
        usage.input += used.input;
        usage.output += used.output;
        usage.cached += used.cached;
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a project allows: a list that narrows nothing where it stands beside others.
fn allowed(planrun: &Planrun) -> Result<Grant, Error> {
    let workspace = planrun.workspace()?;
    Ok(workspace.project.settings.allow.unwrap_or_default())
}

/// The answer to a call in which sub-agents were at work.
const BROKEN_OFF: &str = "[Interrupted] The process ended while sub-agents were at work, and their reports are lost. What they \
    have called are runs: runs() lists them.";
/// The answer to a call that a process did not come to.
const NOT_CALLED: &str = "[Interrupted] Nothing was called: the process ended before. Call it again if it is still wanted.";
