//! Driving a run in this process: a new one, or one that another process has begun.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::answer::{self, UpTo};
use super::listener::Listener;
use super::pinned::Pinned;
use super::record::Tape;
use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::runs::shown;
use crate::cli::workspace::Workspace;
use crate::cli::{Exit, Failure, Terminal};
use crate::diag::closest;
use crate::engine::{self, Answering, Context, Copies, Defaults, Observer, Outcome, Program, Silence, Until};
use crate::host::Host;
use crate::journal::store::{Digest, Driver, Journal, RunRow};
use crate::journal::{Entry, Log, MOST_DEATHS, Past, Summary};
use crate::mock::{MockOptions, MockServer};
use crate::project::Location;
use crate::protocol::RunState;
use crate::source::SourceFile;
use crate::tools::Catalog;
use crate::value::Value;

/// How a run is shown.
#[derive(Clone, Copy)]
pub struct Look {
    pub format: RunFormat,
    pub output: RunOutput,
    pub terminal: Terminal,
}

impl Look {
    /// The reply, for people.
    #[must_use]
    pub fn plain(terminal: Terminal) -> Self {
        Self { format: RunFormat::Human, output: RunOutput::Reply, terminal }
    }
}

/// How a run is gone on with.
pub struct Onward {
    pub look: Look,
    pub answering: Answering,
    /// What has failed is done again, where the plan pauses for that.
    pub retries: bool,
    /// Even where it was paused because processes died at it.
    pub again: bool,
    /// The step that this process goes up to.
    pub until: Option<String>,
    /// Where what the tools answer is written.
    pub record: Option<PathBuf>,
}

impl Onward {
    /// Goes on as somebody wants who says nothing more.
    #[must_use]
    pub fn new(look: Look) -> Self {
        Self { look, answering: Answering::default(), retries: true, again: false, until: None, record: None }
    }
}

/// A run and everything that it needs.
pub struct Job {
    pub workspace: Workspace,
    pub program: Arc<Program>,
    /// What each statement of its plan means, by its name.
    pub definitions: BTreeMap<String, String>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    pub run: String,
    pub log: Option<Box<dyn Log>>,
    pub past: Option<Past>,
    pub mock: bool,
    pub max_steps: Option<u64>,
    /// No `recover` arm puts a value in the place of a result.
    pub strict: bool,
    /// What has failed is done again, where the plan pauses for that.
    pub retries: bool,
    /// What another run has to give.
    pub copies: Option<Copies>,
    /// Who answers what the plan asks people.
    pub answering: Answering,
    /// The step that this process goes up to.
    pub until: Option<Until>,
    /// Where what the tools answer is written.
    pub record: Option<PathBuf>,
}

/// Goes on with a run where it was; of one that has ended, tells how.
///
/// # Errors
/// When another process drives it, or what was written cannot be used.
pub fn resume(journal: &Journal, location: &Location, row: &RunRow, onward: Onward) -> Result<Exit, Failure> {
    if row.ended {
        let look = onward.look;
        if look.format == RunFormat::Ndjson {
            let shown = shown(journal, &row.run)?;
            for event in journal.events(&row.run, 1)? {
                look.terminal.print_json(&format!("{}\n", shown.line(&event?.line)))?;
            }
        }
        return answer::print(&seen(journal, location, row)?, None, look);
    }
    go_further(journal, location, row, onward)
}

/// Goes on with a run, though it may have ended.
///
/// # Errors
/// When another process drives it, or what was written cannot be used.
pub fn go_further(
    journal: &Journal,
    location: &Location,
    row: &RunRow,
    Onward { look, answering, retries, again, until, record }: Onward,
) -> Result<Exit, Failure> {
    let driver = journal.drive(&row.run)?;
    let past = fold(journal, &row.run)?;
    if past.deaths() >= MOST_DEATHS && !again {
        return pause(driver, row, &past, look.terminal);
    }
    let mut job = Job::pinned(journal, location, row, &past)?;
    job.log = Some(Box::new(driver));
    job.until = until.map(|step| until_step(&job.program, &step)).transpose()?;
    (job.answering, job.retries, job.record) = (answering, retries, record);
    job.past = Some(past).filter(|past| past.last > 0);
    job.drive(look)
}

/// Pauses a run at which processes die. Its events tell of each death, so that lists alone have to be told.
fn pause(mut driver: Driver, row: &RunRow, past: &Past, terminal: Terminal) -> Result<Exit, Failure> {
    let note = format!("died {} times at event {}", past.deaths(), past.last);
    terminal.say(&format!(
        "the run {run} is paused: it {note} without getting further; `{}` shows what it was about to do, `{}` tries it once \
         more",
        terminal.command(&format!("runs events {}", row.run)),
        terminal.command(&format!("runs resume {} --again", row.run)),
        run = row.run
    ));
    let (note, steps_done, steps_all) = (Some(note), row.steps_done, row.steps_all.unwrap_or(0));
    Log::summarize(
        &mut driver,
        &Summary { state: RunState::Paused, wake: None, error: None, note, steps_done, steps_all },
    );
    driver.close()?;
    Ok(Exit::Paused)
}

/// The step of a plan that a run goes up to.
///
/// # Errors
/// When the plan itself has no such step.
pub fn until_step(program: &Program, step: &str) -> Result<Until, Failure> {
    Until::new(program, step).ok_or_else(|| {
        let hint = match closest(step, Until::steps(program)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("its own steps are {}", Until::steps(program).collect::<Vec<_>>().join(", ")),
        };
        Failure::Usage(format!("`{}` has no step `{step}` to go up to; {hint}", program.plan.name))
    })
}

/// How a run stands, by living through what was written of it and doing nothing.
///
/// # Errors
/// When what was written cannot be used.
pub fn seen(journal: &Journal, location: &Location, row: &RunRow) -> Result<Outcome, Failure> {
    let past = fold(journal, &row.run)?;
    let mut job = Job::pinned(journal, location, row, &past)?;
    job.past = Some(past);
    let state = RunState::find(&row.state).unwrap_or(RunState::Running);
    let mut outcome = runtime()?.block_on(job.look_back());
    (outcome.state, outcome.interruption) = (state, None);
    Ok(outcome)
}

/// The fold of what was written of a run.
///
/// # Errors
/// When what was written cannot be used.
pub fn fold(journal: &Journal, run: &str) -> Result<Past, Failure> {
    let mut past = Past::default();
    let mut kept = |digest: &str| {
        let digest: Digest = digest.parse().map_err(|error| format!("`{digest}`: {error}"))?;
        journal.blob(digest).map_err(|error| error.to_string())
    };
    for event in journal.events(run, 1)? {
        let event = event?;
        let entry = Entry::read(event.line.as_bytes()).and_then(|entry| past.take(entry, &mut kept));
        entry.map_err(|error| {
            Failure::Environment(format!("event {} of the run `{run}` cannot be used: {error}", event.number))
        })?;
    }
    Ok(past)
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::Environment(format!("cannot start: {error}")))
}

impl Job {
    /// A run as it was written down: its plan, its project and its inputs of then.
    ///
    /// # Errors
    /// When what was written cannot be used.
    pub fn pinned(journal: &Journal, location: &Location, row: &RunRow, past: &Past) -> Result<Self, Failure> {
        let pinned = Pinned::of(journal, row, past)?;
        let workspace = Workspace::pinned(location, pinned.has_project_file, pinned.pins(&location.folder))?;
        let source = SourceFile::new(&*pinned.file, &*pinned.text);
        let plan = workspace.check(&source).plans.iter().find(|plan| *plan.name == *pinned.plan).cloned();
        let plan = plan.ok_or_else(|| {
            Failure::Environment(format!("the plan `{}` of the run is not understood by this planrun", pinned.plan))
        })?;
        Ok(Self {
            workspace,
            program: Arc::new(Program::new(plan)),
            definitions: pinned.definitions(),
            inputs: pinned.inputs()?,
            run: row.run.clone(),
            log: None,
            past: None,
            mock: pinned.mock,
            max_steps: pinned.max_steps,
            strict: pinned.strict,
            retries: false,
            copies: None,
            answering: Answering::default(),
            until: None,
            record: None,
        })
    }

    /// Runs to the end, or to where somebody is needed, and prints what came of it.
    ///
    /// # Errors
    /// When the tools cannot be had.
    pub fn drive(self, look: Look) -> Result<Exit, Failure> {
        let until = self.until.as_ref().map(|until| (until.step.clone(), self.log.is_some()));
        let (outcome, written) = runtime()?.block_on(self.execute(look))?;
        let until = until.as_ref().map(|(step, goes_on)| UpTo { step, goes_on: *goes_on });
        let exit = answer::print(&outcome, until, look)?;
        written.map(|()| exit)
    }

    /// The outcome, and whether its events could be written for whoever reads them.
    async fn execute(mut self, look: Look) -> Result<(Outcome, Result<(), Failure>), Failure> {
        let mock = if self.mock { Some(start_mock(&self.workspace).await?) } else { None };
        let tools = match &mock {
            Some(server) => self.workspace.catalog(Some(&|app| server.endpoint(app))),
            None => self.workspace.catalog(None),
        };
        let cancel = CancellationToken::new();
        tokio::spawn(stop_on_interrupt(cancel.clone()));
        // It listens from its first turn on, and the run may be told of before the next one.
        tokio::task::yield_now().await;
        let mut observer = Listener::new(look.format, look.terminal, &self.program.plan);
        let tape = self.record.take().map(|path| Tape::new(path, self.past.is_some(), &tools));
        let stand_in = tape.as_ref().map(Tape::stand_in);
        let context = Context { cancel, stand_in, ..self.context(tools, &mut observer) };
        let outcome = engine::run(&self.program, &self.inputs, context).await;
        let written = observer.close();
        if let Some(server) = mock {
            server.shutdown().await;
        }
        if let Some(tape) = tape {
            tape.write(&*self.workspace.host, &outcome)?;
        }
        Ok((outcome, written))
    }

    async fn look_back(mut self) -> Outcome {
        let (tools, mut nobody) = (self.workspace.catalog(None), Silence);
        let context = Context { only_looks: true, ..self.context(tools, &mut nobody) };
        engine::run(&self.program, &self.inputs, context).await
    }

    fn context<'o>(&mut self, tools: Arc<Catalog>, observer: &'o mut dyn Observer) -> Context<'o> {
        Context {
            limit: self.workspace.limit.clone(),
            root: self.workspace.project.root.clone(),
            defaults: Defaults { max_steps: self.max_steps, strict: self.strict, ..self.workspace.defaults() },
            log: self.log.take(),
            definitions: std::mem::take(&mut self.definitions),
            past: self.past.take(),
            copies: self.copies.take(),
            retries: self.retries,
            answering: std::mem::take(&mut self.answering),
            until: self.until.take(),
            ..Context::new(self.workspace.host.clone(), tools, &self.run, observer)
        }
    }
}

/// The test double of the project's apps, on a free port of the loopback interface.
///
/// # Errors
/// When it cannot listen.
pub async fn start_mock(workspace: &Workspace) -> Result<MockServer, Failure> {
    let started = MockServer::start(&workspace.project.apps, MockOptions::default(), workspace.host.clone()).await;
    started.map_err(|error| Failure::Environment(format!("the mock of the apps cannot start: {error}")))
}

/// The first Ctrl-C stops gracefully: effects in flight are awaited. The second ends the process.
async fn stop_on_interrupt(cancel: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_err() {
        return;
    }
    cancel.cancel();
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(i32::from(Exit::Interrupted.code()));
    }
}

/// A time-ordered identifier (UUID version 7, RFC 9562).
pub fn new_run_id(host: &dyn Host) -> String {
    let millis = u64::try_from(host.now() / 1_000_000).unwrap_or(0);
    let (high, low) = (host.random(), host.random());
    let mut random = [0; 10];
    random[..8].copy_from_slice(&high.to_le_bytes());
    random[8..].copy_from_slice(&low.to_le_bytes()[..2]);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string()
}
