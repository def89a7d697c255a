//! Plan mode: what a model can do with plans, independent of a protocol.
//!
//! [`PlanMode::call`] answers a call of one of the six tools, or of a saved plan. A run belongs to the journal and not
//! to the call that started it: a call waits for a run for at most [`MAX_WAIT`], and the run continues after that.

mod approval;
mod arguments;
mod definitions;
mod driving;
mod listing;
mod questions;
mod reply;
mod run;
mod runs;
mod save;
mod saved;
mod snapshot;

use std::sync::{Arc, Weak};
use std::time::Duration;

use planrun_lang::diag::closest;
use planrun_lang::diag::render::visible_line;
use planrun_lang::syntax::canonical_name;
use planrun_lang::syntax::spelling::value_text;
use planrun_lang::value::Value;
use planrun_runs::runs::{Error, Planrun};
use planrun_tools::tools::ServerPool;
use serde_json::{Map, Value as Json};

pub use approval::run_options;
pub use arguments::Arguments;
pub use definitions::{Definition, Hints, INSTRUCTIONS, definitions};

use self::driving::DrivenRuns;
pub use self::listing::Listing;
pub use self::questions::AskedQuestion;
pub use self::reply::{Reply, would_repeat};
pub use self::save::SaveError;
use crate::asking::{AskOutcome, Client, PendingQuestion};
use crate::blocking::blocking;
use crate::page::{Answers, Pages};
use crate::tokens::cut;

/// Maximum time that a call waits for a run.
pub const MAX_WAIT: Duration = Duration::from_secs(45);

/// The operations of models on the plans of one project.
pub struct PlanMode {
    planrun: Planrun,
    driven: DrivenRuns,
    pages: Arc<Pages>,
    /// The servers that runs call.
    pool: Arc<ServerPool>,
    listing: Listing,
}

/// A call of a tool.
pub struct Call<'a> {
    pub tool: &'a str,
    pub arguments: Map<String, Json>,
    pub client: Arc<dyn Client>,
}

impl PlanMode {
    /// Creates plan mode for a project. Plans of models are always confined, whatever the settings of `planrun`.
    pub fn new(planrun: Planrun) -> Arc<Self> {
        let pool = Arc::new(ServerPool::default());
        let planrun = planrun.confined([]).pooled(pool.clone());
        Arc::new_cyclic(|mode: &Weak<Self>| Self {
            driven: DrivenRuns::new(planrun.clone()),
            pages: Pages::new(mode.clone(), planrun.host().clone()),
            listing: Listing::new(planrun.clone()),
            planrun,
            pool,
        })
    }

    pub fn planrun(&self) -> &Planrun {
        &self.planrun
    }

    /// Returns the tools and plans that models are shown.
    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// Suspends running runs and disconnects from the servers that they have called. The runs can be resumed later.
    pub async fn close(&self) {
        self.driven.close().await;
        self.pool.close().await;
    }

    /// Answers a call.
    pub async fn call(self: &Arc<Self>, call: Call<'_>) -> Reply {
        let Call {
            tool,
            arguments,
            client,
        } = call;
        blocking(self, |mode| mode.listing.check_for_changes()).await;
        let mut arguments = Arguments::new(arguments);
        let reply = match tool {
            "search" => blocking(self, move |mode| mode.search(&mut arguments)).await,
            "describe" => blocking(self, move |mode| mode.describe(&mut arguments)).await,
            "read" => self.read(&mut arguments, client).await,
            "run" => self.run(&mut arguments, client).await,
            "runs" => self.runs(&mut arguments, client).await,
            "save" => blocking(self, move |mode| mode.save(&mut arguments)).await,
            other => self.saved_plan(other, arguments.take_all(), client).await,
        };
        reply.unwrap_or_else(|failed| failed)
    }

    fn search(&self, arguments: &mut Arguments) -> Result<Reply, Reply> {
        let query: String = arguments.required("query")?;
        let namespace: Option<String> = arguments.optional("ns")?;
        let limit: Option<usize> = arguments.optional("limit")?;
        arguments.done()?;
        let limit = limit.unwrap_or(10);
        let snapshot = self.listing.snapshot()?;
        let text = snapshot.index.search(&query, namespace.as_deref(), limit);
        Ok(Reply::text(text))
    }

    fn describe(&self, arguments: &mut Arguments) -> Result<Reply, Reply> {
        let names: Vec<String> = arguments.required("names")?;
        let full: Option<bool> = arguments.optional("full")?;
        arguments.done()?;
        let snapshot = self.listing.snapshot()?;
        let text = snapshot.index.describe(&names, full.unwrap_or_default());
        Ok(Reply::text(text))
    }

    /// Answers a call of a tool that is not one of the six: a saved plan, or a tool that only plans can call.
    async fn saved_plan(
        self: &Arc<Self>,
        name: &str,
        inputs: Map<String, Json>,
        client: Arc<dyn Client>,
    ) -> Result<Reply, Reply> {
        let own = name.to_owned();
        let is_saved = blocking(self, move |mode| {
            Ok::<_, Error>(mode.listing.snapshot()?.saved.text(&own).is_some())
        });
        if is_saved.await? {
            let plan = format!("{}{name}", saved::PREFIX);
            let run_mode = run::RunMode {
                only_reads: false,
                base: None,
                format: run::ReplyFormat::Reply,
            };
            return self.run_text(plan, inputs, run_mode, client).await;
        }
        let name = name.to_owned();
        blocking(self, move |mode| no_tool(&mode.planrun, &name, &inputs)).await
    }
}

impl Answers for PlanMode {
    fn accept(
        &self,
        question: &PendingQuestion,
        outcome: AskOutcome,
        channel: &str,
    ) -> Result<(), String> {
        let taken = PlanMode::accept(self, question, outcome, channel);
        taken.map_err(|error| error.to_string())
    }

    fn plan(&self, run: &str) -> Option<String> {
        let recorded = self.planrun.recorded(run).ok()?;
        Some(recorded.text().to_owned())
    }
}

/// Refuses a call of a tool that only plans can call, or that does not exist.
fn no_tool(planrun: &Planrun, name: &str, inputs: &Map<String, Json>) -> Result<Reply, Reply> {
    let index = planrun.workspace()?.catalog(None);
    if let Some(tool) = index.signatures().find(|tool| tool.path() == name) {
        let given = inputs.iter().map(|(name, value)| {
            let value = Value::from_json(value);
            format!("{}: {}", canonical_name(name), value_text(&value))
        });
        let given = given.collect::<Vec<_>>().join(", ");
        let (namespace, own) = (canonical_name(&tool.namespace), canonical_name(&tool.name));
        let plan = format!("step r = {namespace}.{own}({given}) reply r");
        let run = if tool.effect.is_read_only() {
            "read"
        } else {
            "run"
        };
        return Err(Reply::Failed(format!(
            "Nothing was called. Plans call {}: {run}(plan: {})",
            tool.path(),
            Json::from(plan)
        )));
    }
    let own = definitions();
    let near = closest(name, own.iter().map(|one| one.name.as_str()));
    let near = near.map_or(String::new(), |near| format!(" Did you mean `{near}`?"));
    let name = visible_line(name);
    Err(Reply::Unknown(format!(
        "There is no tool `{}`.{near} `search` finds what plans can call.",
        cut(&name, 80)
    )))
}
