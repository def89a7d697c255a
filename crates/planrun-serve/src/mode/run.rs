//! `read` and `run`: a plan is checked, approved where it changes something, started, and waited for.

use std::sync::Arc;
use std::time::Duration;

use planrun_core::run::Outcome;
use planrun_lang::diag::render::visible_line;
use planrun_lang::protocol::RunState;
use planrun_lang::value::Value;
use planrun_runs::runs::{CheckedPlan, ErrorKind, InputReader, PlanText, RunOptions, new_run_id};
use planrun_tools::host::runtime_now;
use serde_json::{Map, Value as Json};
use tokio::time::{Instant, sleep, sleep_until};

use super::approval::approval;
use super::arguments::Arguments;
use super::driving::Standing;
use super::saved::PREFIX;
use super::{MAX_WAIT, PlanMode, Reply};
use crate::asking::{Client, PutQuestion};
use crate::report;

/// How often a run is looked at that this process does not drive.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often a client is told how far a run has come.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// How a plan is run.
#[derive(Clone, Debug)]
pub(super) struct How {
    pub only_reads: bool,
    /// The run that it repairs.
    pub base: Option<String>,
    pub told: Told,
}

/// What is told of a run that has completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// A report, with so many tokens of the reply at most.
    Report(Option<usize>),
    /// The reply alone, as the plan's own tool declares it.
    Reply,
}

/// How a call waits for a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attendance {
    pub until: Instant,
    pub told: Told,
    /// Whether it waits, too, for a person whom the client cannot ask.
    pub is_patient: bool,
}

impl Attendance {
    /// That of a call that began the run, or answers what it asks.
    pub(super) fn of_call(told: Told) -> Self {
        Self {
            until: runtime_now() + MAX_WAIT,
            told,
            is_patient: false,
        }
    }
}

impl PlanMode {
    pub(super) async fn read(
        self: &Arc<Self>,
        arguments: &mut Arguments,
        client: Arc<dyn Client>,
    ) -> Result<Reply, Reply> {
        self.run_with(arguments, true, None, client).await
    }

    pub(super) async fn run(
        self: &Arc<Self>,
        arguments: &mut Arguments,
        client: Arc<dyn Client>,
    ) -> Result<Reply, Reply> {
        let base = arguments.optional("base")?;
        self.run_with(arguments, false, base, client).await
    }

    async fn run_with(
        self: &Arc<Self>,
        arguments: &mut Arguments,
        only_reads: bool,
        base: Option<String>,
        client: Arc<dyn Client>,
    ) -> Result<Reply, Reply> {
        let text: String = arguments.required("plan")?;
        let inputs: Option<Map<String, Json>> = arguments.optional("inputs")?;
        let how = How {
            only_reads,
            base,
            told: Told::Report(arguments.optional("max_tokens")?),
        };
        arguments.done()?;
        self.run_text(&text, inputs.unwrap_or_default(), how, client)
            .await
    }

    /// The only plan of a text, or of the saved one that `plan:NAME` names, without errors.
    ///
    /// # Errors
    /// What is wrong with it, for a model.
    pub fn checked(&self, text: &str) -> Result<CheckedPlan, Reply> {
        let text = match text.trim().strip_prefix(PREFIX) {
            Some(name) => self.snapshot()?.saved.text(name.trim()).ok_or_else(|| {
                let name = visible_line(name);
                Reply::Failed(format!(
                    "Nothing was called: there is no saved plan `{name}`; `search` finds them."
                ))
            })?,
            None => PlanText::handed_in(&self.planrun.location().folder, text),
        };
        Ok(self.planrun.check(text)?.plan(None)?)
    }

    pub(super) async fn run_text(
        self: &Arc<Self>,
        text: &str,
        inputs: Map<String, Json>,
        how: How,
        client: Arc<dyn Client>,
    ) -> Result<Reply, Reply> {
        let plan = self.checked(text)?;
        let bounds = plan.bounds(None);
        let grant = plan.grant(&bounds);
        if let Some(grant) = grant.as_ref().filter(|_| how.only_reads) {
            let tools: Vec<&str> = grant.calls.iter().map(|calls| &*calls.tool).collect();
            return Err(Reply::Failed(format!(
                "Nothing was called. `read` takes plans that change nothing, and this one may call {}: use `run`, which asks \
                 the person once.",
                visible_line(&tools.join(", "))
            )));
        }
        let base = match &how.base {
            Some(run) => Some(self.planrun.base(run).await?),
            None => None,
        };
        let mut reader = InputReader::new(&plan.plan);
        if let Some(base) = &base {
            reader.take_over(base.inputs());
        }
        reader.take_object(inputs)?;
        let inputs = reader.finish()?;
        plan.verify_contracts().await?;
        let run = new_run_id(&**self.planrun.host());
        let approval = match grant {
            Some(grant) => {
                let standing = plan.standing_grant(&self.planrun, &grant)?;
                let grant = standing.unwrap_or(grant);
                Some(approval(&run, &plan.plan, &bounds, grant))
            }
            None => None,
        };
        let options = RunOptions {
            id: Some(run.clone()),
            approval,
            base,
            drive: self.drives.options(),
            ..RunOptions::default()
        };
        let started = self.planrun.start(&plan, inputs, options)?;
        self.drives.begin(started);
        let attendance = Attendance::of_call(how.told);
        self.attend(&run, client, attendance).await
    }

    /// Waits for a run, and puts its questions to whoever sits at the client, as long as somebody waits for the answer.
    pub(super) async fn attend(
        self: &Arc<Self>,
        run: &str,
        client: Arc<dyn Client>,
        how: Attendance,
    ) -> Result<Reply, Reply> {
        tokio::select! {
            reply = self.attended(run, &client, how) => reply,
            () = client.cancelled() => Ok(Reply::text(self.goes_on(run))),
        }
    }

    async fn attended(
        self: &Arc<Self>,
        run: &str,
        client: &Arc<dyn Client>,
        how: Attendance,
    ) -> Result<Reply, Reply> {
        // Questions that this client has put, and nobody has answered.
        let mut put: Vec<Arc<str>> = Vec::new();
        loop {
            if let Some(standing) = self.drives.standing(run) {
                let rest = self.rest(standing, &**client, how.until).await;
                if rest.is_none() {
                    return Ok(Reply::text(self.goes_on(run)));
                }
                if let Some(Err(why)) = rest.as_deref() {
                    return Err(Reply::Failed(format!("run {run}: {why}")));
                }
            }
            let summary = self.planrun.run(run)?;
            let is_ended = RunState::find(&summary.state).is_some_and(RunState::is_ended);
            if is_ended {
                self.pages.keep(run, |_| false);
                let outcome = self.planrun.recorded(run)?.outcome().await?;
                return Ok(told(&outcome, how.told));
            }
            let open = self.planrun.questions(run)?.questions();
            self.pages
                .keep(run, |path| open.iter().any(|(asked, _)| **asked == *path));
            let open = open.into_iter().next();
            let Some((path, question)) = open else {
                if runtime_now() >= how.until {
                    return Ok(Reply::text(self.goes_on(run)));
                }
                if summary.driven {
                    sleep(POLL_INTERVAL).await;
                } else if let Some(reply) = self.go_on(run, how).await? {
                    return Ok(reply);
                }
                continue;
            };
            let question = PutQuestion::new(run, &path, Arc::new(question));
            if let Some(reply) = self.put(question, client, how, &mut put).await {
                return Ok(reply);
            }
        }
    }

    /// Goes on with a run that nobody drives and that asks nothing. What it waits for is told where it rests at once.
    async fn go_on(&self, run: &str, how: Attendance) -> Result<Option<Reply>, Reply> {
        let standing = match self.drives.resume(run) {
            Ok(standing) => standing,
            // Somebody else was faster.
            Err(error) if error.kind() == ErrorKind::Busy => {
                sleep(POLL_INTERVAL).await;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mut standing = standing;
        let is_rest = |standing: &Standing| matches!(standing, Standing::Rests(_));
        let rested = tokio::time::timeout(POLL_INTERVAL, standing.wait_for(is_rest)).await;
        let Ok(Ok(rest)) = rested else {
            return Ok(None);
        };
        let Standing::Rests(rest) = &*rest else {
            return Ok(None);
        };
        let told = match &**rest {
            Ok(outcome) if outcome.questions.is_empty() => Some(told(outcome, how.told)),
            Ok(_) => None,
            Err(why) => return Err(Reply::Failed(format!("run {run}: {why}"))),
        };
        Ok(told)
    }

    /// Waits until a run rests, and tells the client how far it has come; nothing where the time is over first.
    async fn rest(
        &self,
        mut standing: tokio::sync::watch::Receiver<Standing>,
        client: &dyn Client,
        until: Instant,
    ) -> Option<Arc<Result<Outcome, String>>> {
        let mut told_at = runtime_now();
        loop {
            let (goes, path) = match &*standing.borrow_and_update() {
                Standing::Rests(rest) => return Some(rest.clone()),
                Standing::Goes { steps, path } => (*steps, path.clone()),
            };
            if told_at.elapsed() >= PROGRESS_INTERVAL && goes > 0 {
                told_at = runtime_now();
                client.progress(goes, &visible_line(&path)).await;
            }
            tokio::select! {
                () = sleep_until(until) => return None,
                // Told again at least every ten seconds, so that nobody takes it for dead.
                () = sleep(PROGRESS_INTERVAL) => {}
                changed = standing.changed() => if changed.is_err() {
                    return match &*standing.borrow() {
                        Standing::Rests(rest) => Some(rest.clone()),
                        Standing::Goes { .. } => None,
                    };
                },
            }
        }
    }

    /// What is told of a run for which the time of a call is too short.
    fn goes_on(&self, run: &str) -> String {
        let path = self
            .drives
            .standing(run)
            .and_then(|standing| match &*standing.borrow() {
                Standing::Goes { path, .. } => Some(path.clone()),
                Standing::Rests(_) => None,
            });
        let at = path.map_or(String::new(), |path| format!(" at {}", visible_line(&path)));
        format!(
            "run {run} goes on{at}, also without anybody waiting: runs(id: \"{run}\", wait_s: 45)"
        )
    }
}

/// What is told of a run that has ended, or waits for what no person answers.
fn told(outcome: &Outcome, told: Told) -> Reply {
    if outcome.state != RunState::Completed {
        return Reply::Failed(report::failure(outcome));
    }
    let Told::Report(max_tokens) = told else {
        return result_of_tool(outcome);
    };
    let (text, blocks) = report::success(outcome, max_tokens);
    let value = serde_json::from_str(&text).ok();
    Reply::Told {
        text,
        value,
        blocks,
    }
}

/// The reply of a saved plan, as its tool declares it: whole or not at all.
fn result_of_tool(outcome: &Outcome) -> Reply {
    let reply = outcome.shown_reply().unwrap_or(Value::Null);
    let (reply, blocks) = report::separated(&reply);
    let shortened = report::shorten(&reply, Some(report::MAX_RESULT_TOKENS));
    if shortened.cuts.is_empty() {
        return Reply::Told {
            text: report::text(&reply),
            value: Some(reply),
            blocks,
        };
    }
    let (run, pages) = (&outcome.run, shortened.cuts);
    let places: Vec<&str> = pages.iter().take(5).map(|cut| &*cut.path).collect();
    Reply::Failed(format!(
        "run {run} completed, and its reply is too large for one result: runs(id: \"{run}\", path: \"…\") gives it in parts, \
         such as of {}",
        places.join(", ")
    ))
}
