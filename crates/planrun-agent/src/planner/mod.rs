//! The planner: a conversation with a model that ends in a plan without errors, or in why there is none.

mod form;
mod prompt;
mod round;

pub use form::Form;

use std::sync::Arc;

use planrun_lang::diag::render::FileReport;
use planrun_lang::types::Contract;
use planrun_models::arguments::{ReadCall, calls};
use planrun_models::model::{
    Message, Model, ModelError, Part, Request, ToolCall, Turn, Usage, next,
};
use planrun_runs::runs::{Base, CheckedPlan, Draft, Error, Planrun, Workspace};
use planrun_serve::discovery::Index;
use planrun_tools::host::random_hex;

use crate::answer::{plan_text, unfinished_plan};
use crate::profile::Profile;
use form::Callable;
use round::{Progress, Round, check, has_error};

/// How often a model may hand in a plan that has errors.
pub const DEFAULT_ROUNDS: usize = 6;
/// How often it may look tools up for one request.
const MAX_LOOKUPS: usize = 16;
/// How often it may answer without a plan that could be run.
const MAX_WITHOUT_PLAN: usize = 1;
/// Bytes of an answer without a plan that are told.
const MAX_TOLD: usize = 2_000;

/// What a request may take.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often a plan that has errors goes back.
    pub rounds: usize,
    /// The most steps that a run of the plan may execute, where that is limited.
    pub max_steps: Option<u64>,
    /// How the model writes plans.
    pub form: Form,
    /// Pure and read steps of a plan begin while the model writes the rest of it.
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

/// What happens while a plan is made, for whoever looks on.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The model is asked, for the n-th time.
    Asked(usize),
    /// It thinks or writes.
    Part(&'a Part),
    /// It looks something up.
    LookedUp { tool: &'a str, arguments: &'a str },
    /// It has handed in a plan.
    Plan(&'a str),
    /// What is wrong with it, as the model is told it.
    Findings(&'a str),
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the model gave no answer: {0}")]
    Model(#[from] ModelError),
    #[error(transparent)]
    Project(Box<Error>),
    /// What it said in place of a plan, cut.
    #[error("the model wrote no plan, but: {0}")]
    NoPlan(String),
    /// The last plan, and what is still wrong with it.
    #[error("the model's plan still has errors after {rounds} rounds")]
    Errors {
        rounds: usize,
        text: String,
        reports: Vec<FileReport>,
    },
    /// It has no errors, and cannot be run as it is.
    #[error("the model's plan cannot be run: {0}")]
    Unusable(String),
    #[error("the model has looked tools up {MAX_LOOKUPS} times and written no plan")]
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
    /// How often the model was asked for it.
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
    /// What plans in JSON can call, where the model writes such.
    callable: Option<Callable>,
    /// The plan as far as it is written, where its reads begin early.
    draft: Option<Draft>,
    watch: &'a mut dyn FnMut(Event<'_>),
    turns: usize,
    usage: Usage,
}

impl<'a> Planner<'a> {
    /// A planner for the plans of a project, which are confined. Nothing is asked yet.
    ///
    /// # Errors
    /// Where the project cannot be used, or has errors.
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
            // No plan can mend the project.
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

    /// The project, as plans of models see it.
    #[must_use]
    pub fn planrun(&self) -> &Planrun {
        &self.planrun
    }

    /// What all turns so far have used.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// A plan for a request in plain words.
    ///
    /// # Errors
    /// Why there is none.
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

    /// A plan for what a failed run has left undone, from the report of its failure. What it completed stays.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn repair(&mut self, run: &str, report: &str) -> Result<Planned, Refusal> {
        let text = prompt::after_failure(report);
        self.request.messages.push(Message::User { text });
        let base = self.planrun.base(run).await?;
        self.write(Some(base)).await
    }

    /// A plan without errors, whose reads begin while it is written where that is wanted.
    async fn write(&mut self, base: Option<Base>) -> Result<Planned, Refusal> {
        let (workspace, max_steps) = (self.workspace.clone(), self.options.max_steps);
        let begins_early = self.options.begins_early;
        self.draft = begins_early.then(|| Draft::new(workspace, max_steps, base));
        let planned = self.rounds().await;
        self.draft = None;
        planned
    }

    /// Rounds with the model until a plan has no errors.
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
            let Some(text) = plan_text(&turn.text) else {
                if without == MAX_WITHOUT_PLAN {
                    let end = turn.text.floor_char_boundary(MAX_TOLD);
                    let told = turn.text.get(..end).unwrap_or_default();
                    return Err(Refusal::NoPlan(told.to_owned()));
                }
                without += 1;
                self.say(prompt::WITHOUT_PLAN.to_owned());
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
                    self.say(why);
                    continue;
                }
            };
            let Some(told) = progress.findings(&reports) else {
                return Err(Refusal::Errors {
                    rounds: progress.rounds(),
                    text,
                    reports,
                });
            };
            (self.watch)(Event::Findings(&told));
            self.say(prompt::with_findings(&told));
        }
    }

    /// What the model says next; it becomes part of the conversation.
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

    /// Asks for JSON under the schema of what can be called, where the model writes such.
    fn shape_answer(&mut self) {
        if let Some(callable) = &self.callable {
            self.request.answer = callable.shape();
        }
    }

    fn say(&mut self, text: String) {
        self.request.messages.push(Message::User { text });
    }

    /// The calls of the last turn with their arguments, several of one call taken apart.
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

    /// Answers what the model wants to know of tools.
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
