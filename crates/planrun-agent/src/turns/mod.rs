//! The agent loop: a model calls tools, round by round, until it answers without a call.

mod delegate;
mod expansion;
mod prompt;
mod round;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::diag::render::command;
use planrun_lang::permission::{Confinement, Grant};
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
pub use tree::{AgentInfo, Status, agent_types};
use tree::{AgentTree, FIRST, Position};

/// Default number of rounds.
pub const DEFAULT_ROUNDS: usize = 30;
/// Default time limit of a sub-agent.
const DEFAULT_CHILD_TIME: Duration = Duration::from_mins(10);

/// Receives the events of a loop.
pub type Watch = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// The events of a loop.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The model is asked for the n-th time.
    Round(usize),
    /// A part of the model's answer.
    Part(&'a Part),
    /// The result of a call, as the model reads it.
    Called {
        call: &'a ToolCall,
        text: &'a str,
        is_error: bool,
    },
    /// A sub-agent has started or ended.
    SubAgent(&'a AgentInfo),
    /// A call waits for the answer to this question, which nobody is asked here.
    Asked(&'a str),
}

/// The options of a loop.
#[derive(Clone, Debug)]
pub struct Options {
    /// Maximum number of times that the model is asked.
    pub rounds: usize,
    pub profile: Profile,
    /// Time limit of a sub-agent.
    pub child_time: Duration,
}

/// The dependencies of a loop.
#[derive(Clone)]
pub struct Setup {
    pub planrun: Planrun,
    /// The available agent types, and the one of this agent.
    pub types: Arc<AgentTypes>,
    pub agent_type: AgentType,
    pub model: Arc<dyn Model>,
    /// Answers the questions before something is changed. Without an asker, the loop ends at such a question and can
    /// be continued.
    pub asker: Option<Arc<dyn Asker>>,
    /// Where the conversation is stored after every round.
    pub sessions: Option<Sessions>,
    pub watch: Watch,
    /// Cancelled when the user stops the loop.
    pub cancel: CancellationToken,
    pub options: Options,
}

/// Why a loop has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The model has given its final answer, with the stop reason if the server reports one.
    Done {
        text: String,
        stop: Option<StopReason>,
    },
    /// A sub-agent has finished its task with this report.
    Finished(String),
    /// The model gave an empty answer.
    Empty,
    /// The maximum number of rounds was reached, and the model still requested calls.
    Limit(usize),
    /// The user has stopped the loop.
    Cancelled,
    /// A call waits for an answer that no one here can give.
    Waits { run: String, question: String },
    /// The model gave no complete answer.
    Failed(ModelError),
}

/// The outcome of a loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub ended: Ended,
    /// The messages added by the loop; earlier messages are unchanged.
    pub messages: Vec<Message>,
    /// Number of times that the model was asked.
    pub rounds: usize,
    /// The usage of all agents, including sub-agents.
    pub usage: Usage,
    /// All agents of the loop, the main agent first.
    pub agents: Vec<AgentInfo>,
}

/// A model with its tools.
pub struct Agent {
    setup: Setup,
    toolbox: Toolbox,
    rules: Rules,
    /// Its position among the agents.
    position: Position,
    tree: Arc<AgentTree>,
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
    /// Creates an agent for a request. Sends nothing yet. Returns an error if the project cannot be used.
    pub fn new(setup: Setup, request: &str) -> Result<Self, Error> {
        let first = (delegate::name_of(request), setup.agent_type.name.clone());
        let tree = AgentTree::of(setup.types.clone(), first);
        Self::at(setup, request, (FIRST.to_vec(), Arc::new(tree)))
    }

    fn at(
        setup: Setup,
        request: &str,
        (position, tree): (Position, Arc<AgentTree>),
    ) -> Result<Self, Error> {
        let mut planrun = setup.planrun.clone();
        if let Some(tools) = &setup.agent_type.tools {
            let grant = allowed(&planrun)?;
            let tools = Some(tools.clone());
            planrun = planrun.confined([Confinement {
                grant: Grant { tools, ..grant },
                agent_type: Some(setup.agent_type.name.to_string()),
            }]);
        }
        let watch = setup.watch.clone();
        let toolbox = Toolbox::new(&planrun, setup.asker.clone(), request)?
            .reporting_questions(Arc::new(move |question| watch(Event::Asked(question))));
        let project = &toolbox.files().root;
        let has_parent = position.len() > FIRST.len();
        let rules = Rules::of(&**planrun.host(), project, &setup.agent_type, has_parent);
        Ok(Self {
            setup: Setup { planrun, ..setup },
            toolbox,
            rules,
            position,
            tree,
            usage: Mutex::default(),
        })
    }

    /// Returns messages about rules and skills of the project that could not be used.
    pub fn problems(&self) -> &[String] {
        &self.rules.problems
    }

    /// Continues a conversation, with a new request or where it stopped. Returns an error if the session cannot be
    /// stored. `session` contains everything up to that point.
    pub async fn run(
        &self,
        session: &mut Session,
        request: Option<&str>,
    ) -> Result<Outcome, SessionError> {
        let before = session.messages.len();
        let mut rounds = 0;
        self.set_status(true, false);
        // The future of the rounds is large, and callers hold it within their own futures.
        let ended = Box::pin(self.run_rounds(session, request, &mut rounds)).await;
        self.toolbox.close().await;
        let is_done = matches!(ended, Ok(Ended::Done { .. } | Ended::Finished(_)));
        self.set_status(false, is_done && self.has_parent());
        Ok(Outcome {
            ended: ended?,
            messages: session.messages.get(before..).unwrap_or_default().to_vec(),
            rounds,
            usage: *self.usage.lock(),
            agents: self.tree.agents(),
        })
    }

    fn has_parent(&self) -> bool {
        self.position.len() > FIRST.len()
    }

    /// Sets the status of the agent, and reports it if it is a sub-agent.
    fn set_status(&self, is_running: bool, is_finished: bool) {
        let status = Status::of(is_running, is_finished, self.has_parent());
        let info = self.tree.set(&self.position, status);
        if let Some(info) = info.filter(|_| self.has_parent()) {
            (self.setup.watch)(Event::SubAgent(&info));
        }
    }

    async fn run_rounds(
        &self,
        session: &mut Session,
        request: Option<&str>,
        rounds: &mut usize,
    ) -> Result<Ended, SessionError> {
        if let Some(ended) = self.answer_open_calls(session).await? {
            return Ok(ended);
        }
        if let Some(ended) = self.submit_pending(session).await? {
            return Ok(ended);
        }
        if let Some(request) = request {
            session.pending = Some(self.pending(request, &session.macros));
            self.save(session)?;
            if let Some(ended) = self.submit_pending(session).await? {
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

    /// Runs one round: the answer of the model, and the results of its calls.
    async fn round(
        &self,
        session: &mut Session,
        system: &str,
    ) -> Result<Option<Ended>, SessionError> {
        let (turn, cut) = self.turn(session, system).await;
        if let Some(ended) = cut {
            // The text up to this point is kept. Calls are dropped, because they may be incomplete.
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

    /// Requests the next turn of the model, and returns it with the reason if it is incomplete.
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
            self.add_usage(used);
        }
        (turn, cut)
    }

    /// Answers calls that an earlier process left without an answer.
    async fn answer_open_calls(
        &self,
        session: &mut Session,
    ) -> Result<Option<Ended>, SessionError> {
        for call in session.unanswered() {
            let called = match session.runs.get(&call.id) {
                Some(_) if call.name == DISPATCH => Called::Failed(BROKEN_OFF.to_owned()),
                Some(run) => self.recover_call(&run.clone()).await,
                None => Called::Failed(NOT_CALLED.to_owned()),
            };
            let (text, is_error) = match called {
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

    /// Returns the result of a call that an earlier process made: that of its run, which is resumed if it is paused. A
    /// run that another process drives now, after an answer for example, is waited for. A run that was interrupted is
    /// only reported, because its call may have happened.
    async fn recover_call(&self, run: &str) -> Called {
        let summary = loop {
            match self.toolbox.planrun().run(run) {
                Ok(summary) if summary.driven && !self.setup.cancel.is_cancelled() => {
                    tokio::select! {
                        () = tokio::time::sleep(POLL_INTERVAL) => {}
                        () = self.setup.cancel.cancelled() => {}
                    }
                }
                Ok(summary) => break summary,
                Err(_) => return Called::Failed(NOT_CALLED.to_owned()),
            }
        };
        let rests = summary
            .state
            .is_some_and(|state| state.is_ended() || state == RunState::Paused);
        if rests && !summary.driven {
            let resumed = self.toolbox.resume(run, &self.setup.cancel).await;
            return resumed.unwrap_or_else(|error| Called::Failed(format!("run {run}: {error}")));
        }
        Called::Failed(format!(
            "[Interrupted] The process that made this call ended in the middle of it, so it may have happened. It is run \
             {run}: runs(id: \"{run}\") shows it, and `{}` resumes it.",
            command(&format!("runs resume {run}"))
        ))
    }

    fn save(&self, session: &mut Session) -> Result<(), SessionError> {
        match &self.setup.sessions {
            Some(sessions) => sessions.save(session),
            None => Ok(()),
        }
    }

    fn add_usage(&self, used: Usage) {
        let mut usage = self.usage.lock();
        usage.input += used.input;
        usage.output += used.output;
        usage.cached += used.cached;
    }
}

/// Returns the permissions of the project, which add no restriction when combined with themselves.
fn allowed(planrun: &Planrun) -> Result<Grant, Error> {
    let workspace = planrun.workspace()?;
    Ok(workspace.project.settings.allow.unwrap_or_default())
}

/// How often the journal is read while another process drives the run of a call.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The answer to a call whose sub-agents were interrupted.
const BROKEN_OFF: &str = "[Interrupted] The process ended while sub-agents were at work, and their reports are lost. What they \
    have called are runs: runs() lists them.";
/// The answer to a call that the process did not make.
const NOT_CALLED: &str = "[Interrupted] Nothing was called: the process ended before the call. Call it again if it is still \
                          needed.";
