//! The planner: a conversation with a model that results in a plan without errors, or in the reason why there is
//! none.

mod form;
mod prompt;
mod round;

pub use form::Form;

use std::sync::Arc;

use planrun_lang::diag::render::FileReport;
use planrun_lang::types::Contract;
use planrun_lang::value::counted;
use planrun_models::arguments::{ReadCall, calls};
use planrun_models::model::{
    Message, Model, ModelError, Part, Request, StopReason, ToolCall, Turn, Usage, next,
};
use planrun_runs::runs::{Base, CheckedPlan, Draft, Error, Planrun, Repeated, Workspace};
use planrun_serve::discovery::Index;
use planrun_serve::mode::would_repeat;
use planrun_serve::report;
use planrun_tools::host::random_hex;

use crate::answer::{plan_text, unfinished_plan};
use crate::profile::Profile;
use form::Callable;
use round::{Progress, Round, check, has_error};

/// Default number of rounds in which a model may submit a plan with errors.
pub const DEFAULT_ROUNDS: usize = 6;
/// Maximum number of lookups of tools for one request.
const MAX_LOOKUPS: usize = 16;
/// Number of answers without a runnable plan that are tolerated.
const MAX_WITHOUT_PLAN: usize = 1;
/// Tells the model which calls a plan with errors has made if its reads began while it was being written.
const READS_CALLED: &str = "Nothing was changed, but reads of the plan may have been called";
/// Maximum number of bytes quoted from an answer without a plan.
const MAX_EXCERPT_BYTES: usize = 2_000;

/// Options and limits of a request.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of rounds with a plan that has errors.
    pub rounds: usize,
    /// Maximum number of steps that a run of the plan may execute; `None` for no limit.
    pub max_steps: Option<u64>,
    /// The form of the plans that the model writes.
    pub form: Form,
    /// Whether pure and read steps of a plan start while the model is still writing the rest of it.
    pub begins_early: bool,
    pub profile: Profile,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rounds: DEFAULT_ROUNDS,
            max_steps: None,
            form: Form::default(),
            begins_early: false,
            profile: Profile::default(),
        }
    }
}

/// An event while a plan is made, for display.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The model is asked for the n-th time.
    Asked(usize),
    /// A part of the model's answer.
    Part(&'a Part),
    /// The model looks up a tool.
    LookedUp { tool: &'a str, arguments: &'a str },
    /// The model has submitted a plan.
    Plan(&'a str),
    /// The errors of the plan, as they are reported to the model.
    Findings(&'a str),
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the model gave no answer: {0}")]
    Model(#[from] ModelError),
    #[error(transparent)]
    Project(Box<Error>),
    /// The answer of the model instead of a plan, truncated.
    #[error("the model answered without a plan: {0}")]
    NoPlan(String),
    /// The last plan, and its remaining errors.
    #[error("the model's plan still has errors after {}", counted(*rounds, "round"))]
    Errors {
        rounds: usize,
        text: String,
        reports: Vec<FileReport>,
    },
    /// The plan has no errors, but cannot be run as it is.
    #[error("the model's plan cannot be run: {0}")]
    Unusable(String),
    #[error("the model looked up tools {MAX_LOOKUPS} times without writing a plan")]
    Lookups,
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Project(Box::new(error))
    }
}

/// A plan without errors.
pub struct Planned {
    pub text: String,
    pub plan: CheckedPlan,
    /// Number of turns of the model.
    pub turns: usize,
}

/// A conversation with a model about one request.
pub struct Planner<'a> {
    planrun: Planrun,
    workspace: Arc<Workspace>,
    model: &'a dyn Model,
    index: Arc<Index>,
    options: Options,
    request: Request,
    /// The tools that plans in JSON can call; `None` if the model writes text.
    callable: Option<Callable>,
    /// The plan as far as it is written, if its reads start early.
    draft: Option<Draft>,
    watch: &'a mut dyn FnMut(Event<'_>),
    turns: usize,
    usage: Usage,
}

impl<'a> Planner<'a> {
    /// Creates a planner for the plans of a project, which are confined. Sends nothing yet. Returns an error if the
    /// project cannot be used, or has errors.
    pub fn new(
        planrun: Planrun,
        model: &'a dyn Model,
        options: Options,
        watch: &'a mut dyn FnMut(Event<'_>),
    ) -> Result<Self, Error> {
        let planrun = planrun.confined([]);
        let workspace = Arc::new(planrun.workspace()?);
        let found = workspace.findings();
        if found.iter().any(has_error) {
            // A plan cannot fix errors of the project.
            return Err(Error::Findings(found));
        }
        let tools: Vec<_> = workspace.catalog(None).signatures().cloned().collect();
        Ok(Self {
            planrun,
            workspace,
            model,
            index: Arc::new(Index::new(tools, [])),
            options,
            request: Request {
                tools: prompt::lookups(),
                ..Request::default()
            },
            callable: None,
            draft: None,
            watch,
            turns: 0,
            usage: Usage::default(),
        })
    }

    /// Returns the project with the restrictions for plans of models.
    pub fn planrun(&self) -> &Planrun {
        &self.planrun
    }

    /// Returns the token usage of all turns so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Makes a plan for a request in natural language. Fails with the reason why there is no plan.
    pub async fn plan(&mut self, request: &str) -> Result<Planned, Refusal> {
        let system = prompt::system(&self.options, &self.index, request);
        self.request.messages = vec![
            Message::System { text: system },
            Message::User {
                text: request.to_owned(),
            },
        ];
        self.callable = (self.options.form == Form::Json).then(|| {
            let catalog = self.workspace.catalog(None);
            Callable::new(catalog.signatures().cloned().collect(), request)
        });
        self.shape_answer();
        self.write(None).await
    }

    /// Makes a plan for the rest of a failed run, from the report of its failure. Completed steps are kept. Fails with
    /// the reason why there is no plan.
    pub async fn repair(&mut self, run: &str, report: &str) -> Result<Planned, Refusal> {
        self.continue_from(run, prompt::after_failure(report)).await
    }

    /// Makes another plan for the rest of a failed run, since the last one would repeat these effects. Fails with the
    /// reason why there is no plan.
    pub async fn keep_effects(
        &mut self,
        run: &str,
        steps: &[Repeated],
    ) -> Result<Planned, Refusal> {
        let text = prompt::would_repeat(&would_repeat(run, steps));
        self.continue_from(run, text).await
    }

    async fn continue_from(&mut self, run: &str, message: String) -> Result<Planned, Refusal> {
        self.push_user(message);
        let base = self.planrun.base(run).await?;
        self.write(Some(base)).await
    }

    /// Makes a plan without errors. If enabled, its reads start while it is written.
    async fn write(&mut self, base: Option<Base>) -> Result<Planned, Refusal> {
        let (workspace, max_steps) = (self.workspace.clone(), self.options.max_steps);
        let begins_early = self.options.begins_early;
        self.draft = begins_early.then(|| Draft::new(workspace, max_steps, base));
        let planned = self.rounds().await;
        self.draft = None;
        planned
    }

    /// Runs rounds with the model until a plan has no errors.
    async fn rounds(&mut self) -> Result<Planned, Refusal> {
        let (mut lookups, mut without) = (0, 0);
        let mut progress = Progress::new(self.options.rounds);
        loop {
            let turn = self.turn().await?;
            if !turn.calls.is_empty() {
                let calls = self.read(turn.calls);
                lookups += calls.len();
                if lookups > MAX_LOOKUPS {
                    return Err(Refusal::Lookups);
                }
                self.look_up(calls);
                continue;
            }
            // The beginning of a plan may lack an `undo`, a check, or the last steps.
            let is_cut = turn.stop == Some(StopReason::Length);
            let Some(text) = plan_text(&turn.text).filter(|_| !is_cut) else {
                if without == MAX_WITHOUT_PLAN {
                    return Err(no_plan(&turn.text));
                }
                without += 1;
                if is_cut {
                    self.refuse(prompt::CUT_OFF);
                } else {
                    self.push_user(prompt::WITHOUT_PLAN.to_owned());
                }
                continue;
            };
            (self.watch)(Event::Plan(&text));
            let reports = match check(&self.workspace, &text)? {
                Round::Clean(text, plan) => {
                    let turns = self.turns;
                    let plan = match self.draft.take() {
                        Some(draft) => draft.finish(*plan),
                        None => *plan,
                    };
                    return Ok(Planned { text, plan, turns });
                }
                Round::Errors(reports) => reports,
                Round::Refused(why) if without == MAX_WITHOUT_PLAN => {
                    return Err(Refusal::Unusable(why));
                }
                Round::Refused(why) => {
                    without += 1;
                    self.refuse(&why);
                    continue;
                }
            };
            let Some(report) = progress.findings(self.called(), &reports) else {
                return Err(Refusal::Errors {
                    rounds: progress.rounds(),
                    text,
                    reports,
                });
            };
            (self.watch)(Event::Findings(&report));
            self.push_user(prompt::with_findings(&report));
        }
    }

    /// Requests the next turn of the model, and appends it to the conversation.
    async fn turn(&mut self) -> Result<Turn, ModelError> {
        self.turns += 1;
        (self.watch)(Event::Asked(self.turns));
        let mut parts = self.model.answer(self.request.clone());
        let mut turn = Turn::default();
        while let Some(part) = next(&mut parts).await {
            let part = part?;
            (self.watch)(Event::Part(&part));
            let ends_line = matches!(&part, Part::Text(text) if text.contains('\n'));
            turn.add(part);
            if let Some(draft) = &mut self.draft
                && ends_line
                && let Some(plan) = unfinished_plan(&turn.text)
            {
                draft.read(plan);
            }
        }
        if let Some(used) = turn.usage {
            self.usage.input += used.input;
            self.usage.output += used.output;
            self.usage.cached += used.cached;
        }
        self.request.messages.push(turn.clone().into_message());
        Ok(turn)
    }

    /// Requires JSON that conforms to the schema of the callable tools, if the model writes JSON.
    fn shape_answer(&mut self) {
        if let Some(callable) = &self.callable {
            self.request.answer = callable.shape();
        }
    }

    /// Describes what was called for a plan that cannot run.
    fn called(&self) -> &'static str {
        match &self.draft {
            Some(draft) if draft.has_begun() => READS_CALLED,
            Some(_) | None => report::NOTHING_CALLED,
        }
    }

    /// Tells the model why its plan cannot run.
    fn refuse(&mut self, why: &str) {
        self.push_user(format!("{}: {why}", self.called()));
    }

    fn push_user(&mut self, text: String) {
        self.request.messages.push(Message::User { text });
    }

    /// Parses the arguments of the calls of a turn; a call with several argument objects becomes several calls.
    fn read(&mut self, written: Vec<ToolCall>) -> Vec<ReadCall> {
        let host = &**self.planrun.host();
        let tools = &self.request.tools;
        let read = written.into_iter().flat_map(|call| {
            let tool = tools.iter().find(|tool| tool.name == call.name);
            let schema = tool.map(|tool| Contract::of_arguments(tool.parameters.clone()));
            let new_id = || format!("call_{}", random_hex(host, 1));
            calls(call, schema.as_ref(), false, new_id)
        });
        let read: Vec<ReadCall> = read.collect();
        let restated = read.iter().map(|read| read.call.clone()).collect();
        self.request.restate(restated);
        read
    }

    /// Answers the lookups of the model.
    fn look_up(&mut self, calls: Vec<ReadCall>) {
        for ReadCall { call, arguments } in calls {
            let (tool, written) = (&*call.name, &*call.arguments);
            (self.watch)(Event::LookedUp {
                tool,
                arguments: written,
            });
            if let (Some(callable), Ok(arguments)) = (&mut self.callable, &arguments) {
                callable.add(&prompt::described(tool, arguments));
            }
            let answer = arguments
                .map_err(|fault| fault.to_string())
                .and_then(|arguments| prompt::look_up(&self.index, tool, arguments));
            self.request.messages.push(Message::Tool {
                is_error: answer.is_err(),
                text: answer.unwrap_or_else(|why| why),
                call: call.id,
                name: call.name,
            });
        }
        self.shape_answer();
    }
}

/// Returns the refusal of an answer that contains no plan.
fn no_plan(answer: &str) -> Refusal {
    let end = answer.floor_char_boundary(MAX_EXCERPT_BYTES);
    Refusal::NoPlan(answer.get(..end).unwrap_or_default().to_owned())
}
