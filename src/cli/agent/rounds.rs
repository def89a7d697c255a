//! `planrun agent --mode loop`: a model calls tools until it is done, in a conversation that can be continued.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use owo_colors::OwoColorize as _;
use parking_lot::Mutex;
use planrun_agent::blocks::{Block, Blocks};
use planrun_agent::session::{HeldSession, Session, SessionError, Sessions};
use planrun_agent::turns::{
    Agent, AgentInfo, DEFAULT_ROUNDS, Ended, Event, Options, Outcome, Setup, agent_types,
};
use planrun_lang::diag::render::{command, human, visible_text};
use planrun_lang::value::counted;
use planrun_models::model::{Part, StopReason};
use planrun_runs::runs::{Error, Planrun, new_run_id};
use planrun_tools::project::{AgentType, AgentTypes};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Arguments;
use crate::cli::arguments::RunFormat;
use crate::cli::run::wait;
use crate::cli::signals::stop_on_signal;
use crate::cli::suggest::did_you_mean;
use crate::cli::{Exit, Failure, Result, Terminal, ask};

/// Continues a session, or starts a new one. Returns an error if the project, the model or the session is not
/// available.
pub(super) fn run(planrun: Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    reject_plan_flags(arguments)?;
    let request = super::request(arguments)?;
    let request = (!request.is_empty()).then_some(request);
    let folder = planrun.location().folder.clone();
    let sessions = Sessions::of(planrun.host().clone(), folder);
    let id = arguments.session.clone();
    let id = id.unwrap_or_else(|| new_run_id(&**planrun.host()));
    let (mut session, _held) = open_session(&sessions, &id, request.as_deref(), arguments)?;
    let types = match agent_types(&planrun) {
        Err(Error::Findings(found)) => {
            terminal.eprint(&human(&found, terminal.style));
            return Ok(Exit::Findings);
        }
        types => types?,
    };
    let requested = arguments.agent.as_ref().or(session.agent_type.as_ref());
    let agent_type = agent_type(&types, requested.map(String::as_str))?;
    session.agent_type = Some(agent_type.name.to_string());
    let model = arguments.model.as_ref().or(agent_type.model.as_ref());
    let cancel = CancellationToken::new();
    let screen = Arc::new(Screen::new(arguments, terminal));
    let watching = screen.clone();
    let is_present = terminal.is_watched() && io::stdin().is_terminal();
    let setup = Setup {
        model: Arc::new(super::model(&planrun, model.map(String::as_str))?),
        asker: is_present.then(|| ask::at_terminal(terminal)),
        sessions: Some(sessions),
        watch: Arc::new(move |event| watching.handle(event)),
        cancel: cancel.clone(),
        options: Options {
            rounds: arguments.rounds.unwrap_or(DEFAULT_ROUNDS),
            profile: super::profile(arguments)?,
            ..Options::default()
        },
        planrun,
        types,
        agent_type,
    };
    // Without a request, the conversation continues with its last one, which names the agent and selects its tools.
    let current = request.as_deref().or_else(|| session.last_request());
    let agent = Agent::new(setup, current.unwrap_or_default())?;
    for problem in agent.problems() {
        terminal.note(problem);
    }
    stop_on_signal(cancel);
    let outcome = wait(agent.run(&mut session, request.as_deref()))?;
    let outcome = outcome.map_err(|error| session_failure(&error))?;
    screen.end();
    print_summary(&outcome, &session, (arguments.format, &screen), terminal)
}

/// Opens a session for this process alone. Returns an error if another process holds it, it cannot be read, or there is
/// nothing to do in it.
fn open_session(
    sessions: &Sessions,
    id: &str,
    request: Option<&str>,
    arguments: &Arguments,
) -> Result<(Session, HeldSession)> {
    let open = || sessions.open(id).map_err(|error| session_failure(&error));
    if request.is_none() && open()?.is_new() {
        return Err(Failure::Usage(if arguments.session.is_some() {
            format!("there is no session `{id}` yet; add a request")
        } else {
            "the request is empty".to_owned()
        }));
    }
    let held = sessions.hold(id);
    let held = held.map_err(|error| session_failure(&error))?;
    // Until it was held, another process may have continued it.
    Ok((open()?, held))
}

/// Returns the type of the root agent: the one with this name, or the project's default.
fn agent_type(types: &AgentTypes, name: Option<&str>) -> Result<AgentType> {
    let name = name.unwrap_or(&types.default);
    types.find(name).cloned().ok_or_else(|| {
        let near = did_you_mean(name, types.names());
        let names = types.names().collect::<Vec<_>>().join(", ");
        Failure::Usage(format!(
            "there is no agent type `{name}`; available: {names}{near}"
        ))
    })
}

fn reject_plan_flags(arguments: &Arguments) -> Result<()> {
    let given = [
        ("--save", arguments.save.is_some()),
        ("--dry-run", arguments.dry_run),
        ("--max-steps", arguments.max_steps.is_some()),
        ("--form", arguments.form.is_some()),
        ("--repairs", arguments.repairs.is_some()),
        ("--output", arguments.output.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(Failure::Usage(format!(
            "`{name}` requires `--mode plan`: it is about the plan of the whole request, and a loop has none"
        ))),
    }
}

fn session_failure(error: &SessionError) -> Failure {
    match error {
        SessionError::Name(_) => Failure::Usage(error.to_string()),
        SessionError::Unreadable { .. }
        | SessionError::Changed(_)
        | SessionError::InUse(_)
        | SessionError::Files { .. } => Failure::Environment(error.to_string()),
    }
}

/// The result of a loop, for scripts and for people.
struct Summary<'a> {
    word: &'static str,
    /// The last text of the model.
    text: &'a str,
    why: Option<String>,
    exit: Exit,
}

impl<'a> Summary<'a> {
    fn of(ended: &'a Ended, again: &str) -> Self {
        let done = |text, why: Option<&str>| Self {
            word: "done",
            text,
            why: why.map(str::to_owned),
            exit: Exit::Fine,
        };
        let (word, why, exit) = match ended {
            Ended::Done { text, stop } => {
                let is_cut = *stop == Some(StopReason::Length);
                let why = "the answer is truncated at the output limit of the model";
                return done(text, is_cut.then_some(why));
            }
            Ended::Finished(report) => return done(report, None),
            Ended::Empty => (
                "empty",
                format!(
                    "the model gave an empty answer; send another request with `{again} \"…\"`"
                ),
                Exit::Findings,
            ),
            Ended::Limit(rounds) => (
                "limit_reached",
                format!(
                    "the model is not done after {}; continue with `{again}`",
                    counted(*rounds, "round")
                ),
                Exit::Findings,
            ),
            Ended::Cancelled => (
                "cancelled",
                format!("stopped; continue with `{again}`"),
                Exit::Interrupted,
            ),
            Ended::Waits { run, question } => (
                "waits",
                format!(
                    "run {run} is waiting for an answer; then continue with `{again}`:\n{question}"
                ),
                Exit::Paused,
            ),
            Ended::Failed(error) => (
                "failed",
                format!(
                    "the model gave no answer: {error}; the conversation so far is saved, continue with `{again}`"
                ),
                Exit::Environment,
            ),
        };
        Self {
            word,
            text: "",
            why: Some(why),
            exit,
        }
    }
}

/// Prints the result of a loop, and the command that continues it.
fn print_summary(
    outcome: &Outcome,
    session: &Session,
    (format, screen): (RunFormat, &Screen),
    terminal: Terminal,
) -> Result<Exit> {
    let again = command(&format!("agent --mode loop --session {}", session.id));
    let summary = Summary::of(&outcome.ended, &again);
    match format {
        RunFormat::Human | RunFormat::Quiet => {
            if !summary.text.is_empty() && !screen.has_printed_result() {
                terminal.print(&format!("{}\n", visible_text(summary.text.trim_end())))?;
            }
        }
        RunFormat::Json | RunFormat::Ndjson => {
            let usage = outcome.usage;
            let agents = outcome.agents.iter().map(|one| {
                json!({
                    "id": one.id,
                    "name": one.name,
                    "type": one.agent_type,
                    "status": one.status.name(),
                })
            });
            let document = json!({
                "session": session.id,
                "ended": summary.word,
                "text": summary.text,
                "why": summary.why,
                "rounds": outcome.rounds,
                "agents": agents.collect::<Vec<_>>(),
                "usage": { "input": usage.input, "output": usage.output, "cached": usage.cached },
            });
            terminal.print_json(&format!("{document}\n"))?;
        }
    }
    match summary.why {
        Some(why) if summary.exit == Exit::Fine => terminal.note(&why),
        Some(why) => terminal.error(&why),
        None => terminal.note(&format!("continue this conversation with `{again} \"…\"`")),
    }
    Ok(summary.exit)
}

/// Live output of a loop on a terminal. Prints nothing elsewhere, unless `--debug` is given.
struct Screen {
    terminal: Terminal,
    is_live: bool,
    painted: Mutex<Painted>,
}

#[derive(Default)]
struct Painted {
    blocks: Blocks,
    /// Number of blocks that are printed completely.
    done: usize,
    /// Number of bytes of the next block that are printed.
    begun: usize,
}

impl Screen {
    fn new(arguments: &Arguments, terminal: Terminal) -> Self {
        let is_watched = terminal.is_watched() && arguments.format == RunFormat::Human;
        Self {
            terminal,
            is_live: !terminal.quiet && (is_watched || arguments.debug),
            painted: Mutex::default(),
        }
    }

    fn handle(&self, event: Event<'_>) {
        if let Event::Asked(question) = event {
            let text = format!("a call waits for an answer: {question}\n");
            self.terminal.eprint(&visible_text(&text));
            return;
        }
        if !self.is_live {
            return;
        }
        let mut painted = self.painted.lock();
        match event {
            Event::Round(_) => painted.blocks.commit(),
            Event::Part(Part::Retry { after, why }) => {
                super::note_retry(*after, why, self.terminal);
            }
            Event::Part(part) => painted.blocks.part(part),
            Event::Called {
                call,
                text,
                is_error,
            } => painted
                .blocks
                .called(&call.name, &call.arguments, text, is_error),
            Event::SubAgent(info) => {
                let AgentInfo { id, name, .. } = info;
                let (kind, status) = (&info.agent_type, info.status.name());
                let text = format!("sub-agent {id} '{name}' ({kind}) is {status}");
                self.terminal.note(&visible_text(&text));
            }
            Event::Asked(_) => {}
        }
        painted.paint(self.terminal);
    }

    fn end(&self) {
        let mut painted = self.painted.lock();
        painted.blocks.commit();
        painted.paint(self.terminal);
    }

    /// Returns true if the last text of the model is already on the terminal where the result would be printed.
    fn has_printed_result(&self) -> bool {
        self.is_live && self.terminal.is_watched() && io::stdout().is_terminal()
    }
}

impl Painted {
    /// Prints what is new. Printed text is never printed again.
    fn paint(&mut self, terminal: Terminal) {
        while let Some(block) = self.blocks.committed().get(self.done) {
            let text = drawn(block);
            paint(&text, self.begun, block, terminal);
            terminal.eprint("\n");
            self.done += 1;
            self.begun = 0;
        }
        if let Some(block) = self.blocks.active() {
            let text = drawn(block);
            paint(&text, self.begun, block, terminal);
            self.begun = text.len();
        }
    }
}

fn paint(text: &str, from: usize, block: &Block, terminal: Terminal) {
    let new = visible_text(text.get(from..).unwrap_or_default());
    if new.is_empty() {
        return;
    }
    match block {
        Block::Reasoning(_) => terminal.eprint(&new.dimmed().to_string()),
        Block::Call { is_error: true, .. } => terminal.eprint(&new.red().to_string()),
        Block::Content(_) | Block::Call { .. } => terminal.eprint(&new),
    }
}

fn drawn(block: &Block) -> String {
    match block {
        Block::Reasoning(text) | Block::Content(text) => text.clone(),
        Block::Call {
            name,
            arguments,
            result,
            ..
        } => format!("{name} {arguments}\n{result}"),
    }
}
