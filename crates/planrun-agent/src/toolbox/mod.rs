//! The tools that a model can call in a loop: those of the project, each call a run of one step, and those that
//! search, run and inspect plans.

mod offer;
mod runs;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use planrun_lang::diag::closest;
use planrun_lang::diag::render::visible_line;
use planrun_lang::permission::Permissions;
use planrun_lang::secrets::Redactor;
use planrun_lang::types::Signature;
use planrun_models::model::{Message, OfferedTool};
use planrun_runs::driver::Asker;
use planrun_runs::runs::{Error, Planrun};
use planrun_serve::asking::{AskChannel, AskMode, AskOutcome, Client, PendingQuestion};
use planrun_serve::mode::{Arguments, Call, PlanMode, Reply};
use planrun_tools::tools::FileAccess;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use crate::file_tools::file_tools;
use offer::Offer;
pub use runs::Called;
use runs::Shape;

/// The tools with which a model finds other tools and runs plans.
const SEARCH: &str = "search";
const DESCRIBE: &str = "describe";
const RUN: &str = "run";
const RUNS: &str = "runs";
const BRIDGE: [&str; 4] = [SEARCH, DESCRIBE, RUN, RUNS];

/// The tools that delegate work to sub-agents, that end a sub-agent, and that read a skill. The loop itself
/// implements them.
pub const DISPATCH: &str = "dispatch_subagents";
pub const TASK_FINISH: &str = "task_finish";
pub const SKILL: &str = "skill";
pub const OWN_TOOLS: [&str; 3] = [DISPATCH, TASK_FINISH, SKILL];

/// Receives a question, with the command that answers it.
pub type ReportQuestion = Arc<dyn Fn(&str) + Send + Sync>;

/// The tools that one agent can call.
pub struct Toolbox {
    mode: Arc<PlanMode>,
    asker: Option<Arc<dyn Asker>>,
    /// Reports a question that somebody else has to answer while a call waits for it.
    report_question: ReportQuestion,
    files: Arc<FileAccess>,
    /// The credentials of the project.
    secrets: Redactor,
    offer: Mutex<Offer>,
}

impl Toolbox {
    /// Creates the toolbox of a project for an agent with this request, confined to what the project allows. `asker`
    /// answers the questions before something is changed. Returns an error if the project cannot be used.
    pub fn new(
        planrun: &Planrun,
        asker: Option<Arc<dyn Asker>>,
        request: &str,
    ) -> Result<Self, Error> {
        let planrun = planrun.clone().confined([]);
        let workspace = planrun.workspace()?;
        let permissions = workspace.limit.clone().unwrap_or_else(Permissions::none);
        let files = Arc::new(FileAccess {
            host: planrun.host().clone(),
            permissions: Arc::new(permissions),
            root: workspace.project.root.clone(),
        });
        let mode = PlanMode::new(planrun.with_tools(file_tools(&files)));
        let offer = Mutex::new(Offer::of(&mode.planrun().workspace()?, request));
        Ok(Self {
            mode,
            asker,
            report_question: Arc::new(|_| {}),
            files,
            secrets: workspace.catalog(None).secrets(),
            offer,
        })
    }

    /// Sets what is done with questions in the middle of a call if there is no asker.
    #[must_use]
    pub fn reporting_questions(self, report_question: ReportQuestion) -> Self {
        Self {
            report_question,
            ..self
        }
    }

    /// Returns the files that the calls can access.
    pub fn files(&self) -> &Arc<FileAccess> {
        &self.files
    }

    /// Returns a text for the model without the credentials of the project.
    pub(crate) fn redacted(&self, text: String) -> String {
        match self.secrets.text(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(redacted) => redacted,
        }
    }

    /// Returns the project with the restrictions for calls.
    pub fn planrun(&self) -> &Planrun {
        self.mode.planrun()
    }

    /// Describes for the model what may be accessed: every list of permissions that applies.
    pub fn reach(&self) -> String {
        let workspace = match self.planrun().workspace() {
            Ok(workspace) => workspace,
            Err(error) => {
                let why = error.to_string();
                let why = visible_line(&why);
                return format!(
                    "Current Allowed URIs: unknown, because the project has an error: {why}"
                );
            }
        };
        let allow = workspace.project.settings.allow.iter();
        let within = workspace.confined.iter().flat_map(|within| within.iter());
        let lists = allow.chain(within.map(|confinement| &confinement.grant));
        let lines = lists.map(|grant| {
            let list = |list: &[String]| Json::from(list.to_vec()).to_string();
            format!(
                "Current Allowed URIs: read {}, write {}, net {}",
                list(&grant.read),
                list(&grant.write),
                list(&grant.net)
            )
        });
        let mut lines: Vec<String> = lines.collect();
        // A list that restricts only tools repeats the file permissions of the one before it.
        lines.dedup();
        if lines.is_empty() {
            return "Current Allowed URIs: none; no file can be read".to_owned();
        }
        lines.join("\nof these only: ")
    }

    /// Returns the path that permissions use for the tool that a model names.
    pub(crate) fn path_of(&self, name: &str) -> String {
        let found = self.offer.lock().find(name);
        found.map_or_else(|| name.to_owned(), |tool| tool.path())
    }

    /// Returns the tools currently offered to the model.
    pub fn offered(&self) -> Vec<OfferedTool> {
        self.offer.lock().tools()
    }

    /// Offers the tools that these earlier messages called or described.
    pub fn recall(&self, messages: &[Message]) {
        let mut offer = self.offer.lock();
        for message in messages {
            let Message::Assistant { calls, .. } = message else {
                continue;
            };
            for call in calls {
                offer.add_called(&call.name);
                if call.name == DESCRIBE
                    && let Ok(arguments) = serde_json::from_str(&call.arguments)
                {
                    offer.add(&names(&arguments));
                }
            }
        }
    }

    /// Returns true if a call with this name changes nothing, so that it can run concurrently with others.
    pub fn only_reads(&self, name: &str) -> bool {
        match self.offer.lock().find(name) {
            Some(tool) => tool.effect.is_read_only(),
            None => name != RUN,
        }
    }

    /// Makes a call. If the call is a run, it gets the id `run`.
    pub async fn call(
        &self,
        name: &str,
        arguments: Map<String, Json>,
        run: &str,
        cancel: &CancellationToken,
    ) -> Called {
        let found = self.offer.lock().find(name);
        if let Some(tool) = found {
            return self.call_tool(&tool, arguments, run, cancel).await;
        }
        match name {
            SEARCH | DESCRIBE | RUNS => {
                let reply = self.look_up(name, arguments.clone()).await;
                if let (DESCRIBE, Called::Answered(_)) = (name, &reply) {
                    self.offer.lock().add(&names(&arguments));
                }
                reply
            }
            RUN => self.run(arguments, run, cancel).await,
            other => Called::Failed(self.unknown(other)),
        }
    }

    /// Disconnects from the servers that were called.
    pub async fn close(&self) {
        self.mode.close().await;
    }

    async fn call_tool(
        &self,
        tool: &Arc<Signature>,
        arguments: Map<String, Json>,
        run: &str,
        cancel: &CancellationToken,
    ) -> Called {
        let given: Vec<&str> = arguments.keys().map(String::as_str).collect();
        let workspace = self.planrun().workspace().map(Arc::new);
        match workspace.and_then(|own| own.checked_call(tool, &given).plan(None)) {
            Ok(plan) => {
                let shape = Shape::Call(tool);
                self.start(&plan, arguments, (run, shape), cancel).await
            }
            Err(error) => Called::of(Reply::from(error)),
        }
    }

    /// `run`: checks a plan, has it approved as a whole, and runs it.
    async fn run(
        &self,
        arguments: Map<String, Json>,
        run: &str,
        cancel: &CancellationToken,
    ) -> Called {
        let read = run_arguments(Arguments::new(arguments));
        let checked = read.and_then(|(text, inputs, shape)| {
            let plan = self.mode.checked(&text)?;
            Ok((plan, inputs, shape))
        });
        match checked {
            Ok((plan, inputs, shape)) => self.start(&plan, inputs, (run, shape), cancel).await,
            Err(reply) => Called::of(reply),
        }
    }

    async fn look_up(&self, tool: &str, arguments: Map<String, Json>) -> Called {
        let call = Call {
            tool,
            arguments,
            client: Arc::new(NoClient),
        };
        Called::of(self.mode.call(call).await)
    }

    fn unknown(&self, name: &str) -> String {
        let offer = self.offer.lock();
        let near = closest(name, offer.names().chain(BRIDGE));
        let near = near.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
        let name: String = name.chars().take(100).collect();
        format!("There is no tool `{name}`.{near} `search` finds the available tools.")
    }
}

/// Reads the plan, its inputs and the shape of a `run` call.
fn run_arguments(
    mut arguments: Arguments,
) -> Result<(String, Map<String, Json>, Shape<'static>), Reply> {
    let text = arguments.required("plan")?;
    let inputs = arguments.optional("inputs")?.unwrap_or_default();
    let shape = Shape::Plan {
        base: arguments.optional("base")?,
        max_tokens: arguments.optional("max_tokens")?,
    };
    arguments.done()?;
    Ok((text, inputs, shape))
}

/// Returns the names that a `describe` call asks about.
fn names(arguments: &Map<String, Json>) -> BTreeSet<String> {
    let names = arguments.get("names").and_then(Json::as_array);
    let names = names.into_iter().flatten().filter_map(Json::as_str);
    names.map(str::to_owned).collect()
}

/// The client of a lookup, which never asks a question.
struct NoClient;

#[async_trait]
impl Client for NoClient {
    fn name(&self) -> String {
        "loop".to_owned()
    }

    fn ask_mode(&self) -> AskMode {
        AskMode::Never
    }

    fn supports_form(&self, _: &PendingQuestion) -> bool {
        false
    }

    fn can_open_pages(&self) -> bool {
        false
    }

    async fn ask(&self, _: &PendingQuestion, _: &AskChannel) -> AskOutcome {
        AskOutcome::Nothing
    }

    async fn page_done(&self, _: &PendingQuestion) {}

    async fn progress(&self, _: u64, _: &str) {}

    async fn cancelled(&self) {
        std::future::pending::<()>().await;
    }
}
