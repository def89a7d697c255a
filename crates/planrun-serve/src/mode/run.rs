//! `read` and `run`: checks a plan, asks for approval if it changes something, starts it and waits for it.

use std::sync::Arc;
use std::time::Duration;

use planrun_core::run::{Interruption, Outcome};
use planrun_lang::diag::render::{command, visible_line};
use planrun_lang::protocol::RunState;
use planrun_lang::value::Value;
use planrun_runs::runs::{
    Base, CheckedPlan, Error, ErrorKind, InputReader, PlanText, RunOptions, new_run_id,
    required_grant,
};
use planrun_tools::host::runtime_now;
use serde_json::{Map, Value as Json};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, sleep_until};

use super::approval::run_options;
use super::arguments::Arguments;
use super::driving::RunStatus;
use super::saved::PREFIX;
use super::{MAX_WAIT, PlanMode, Reply};
use crate::asking::{Client, PendingQuestion};
use crate::blocking::blocking;
use crate::report;

/// Polling interval of a run that another process drives.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// How often the journal is read for a question that a run has published. After that, it has been answered.
const MAX_LOOKS: u32 = 10;
/// How often the journal is asked whether a suspended run can be resumed.
const DUE_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum size of a plan from a model, in bytes.
const MAX_PLAN_BYTES: usize = 256 * 1024;
/// Interval of progress notifications to a client.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// How a plan is run.
#[derive(Clone, Debug)]
pub(super) struct RunMode {
    pub only_reads: bool,
    /// The run that it repairs.
    pub base: Option<String>,
    pub format: ReplyFormat,
}

/// The format of the reply for a completed run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReplyFormat {
    /// A report with at most this number of tokens of the run's reply.
    Report(Option<usize>),
    /// Only the run's reply, as the plan's own tool declares it.
    Reply,
}

/// A checked plan and the run that it repairs.
struct Prepared {
    plan: CheckedPlan,
    base: Option<Base>,
}

impl Prepared {
    /// Checks a plan that is to be run, and reads the run that it repairs.
    fn of(mode: &PlanMode, text: &str, run_mode: &RunMode) -> Result<Self, Reply> {
        let plan = mode.checked(text)?;
        if run_mode.only_reads
            && let Some(grant) = required_grant(&plan.plan, &plan.bounds(None))
        {
            let tools: Vec<&str> = grant.calls.iter().map(|calls| &*calls.tool).collect();
            return Err(Reply::Failed(format!(
                "Nothing was called. `read` takes plans that change nothing, and this one may call {}: use `run`, which asks \
                 the person once.",
                visible_line(&tools.join(", "))
            )));
        }
        let base = match &run_mode.base {
            Some(run) => {
                mode.require_visible(run)?;
                Some(Handle::current().block_on(mode.planrun.base(run))?)
            }
            None => None,
        };
        Ok(Self { plan, base })
    }
}

/// What ended the wait for a run that is driven here.
enum Watched {
    Stopped(Arc<Result<Outcome, String>>),
    /// It has asked something, with the number of this event.
    Asks(u64),
    TimeOver,
}

/// What a run waits for, according to its journal.
enum Standing {
    Ended(Box<Outcome>),
    Asks(PendingQuestion),
    DrivenElsewhere,
    /// Nothing, and a model may resume it.
    Idle,
    /// Nothing, and only a person may resume it; with its status.
    OfPerson(String),
}

impl Standing {
    /// Returns what a run that is not driven here waits for, according to its journal.
    fn of(mode: &PlanMode, run: &str) -> Result<Self, Error> {
        let summary = mode.planrun.run(run)?;
        if summary.state.is_some_and(RunState::is_ended) {
            mode.pages.keep(run, |_| false);
            let outcome = mode.planrun.recorded(run)?.outcome();
            return Ok(Self::Ended(Box::new(Handle::current().block_on(outcome)?)));
        }
        let open = mode.planrun.questions(run)?.questions();
        mode.pages
            .keep(run, |path| open.iter().any(|(own, _)| **own == *path));
        Ok(match open.into_iter().next() {
            Some((path, question)) => {
                Self::Asks(PendingQuestion::new(run, &path, Arc::new(question)))
            }
            None if summary.driven => Self::DrivenElsewhere,
            None if mode.planrun.recorded(run)?.is_by_model() => Self::Idle,
            None => Self::OfPerson(summary.status().to_owned()),
        })
    }
}

/// How a call waits for a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitOptions {
    pub until: Instant,
    pub format: ReplyFormat,
    /// Whether it also waits for a person whom the client cannot ask.
    pub is_patient: bool,
}

impl WaitOptions {
    /// Returns the options of a call that started the run, or that answers its question.
    pub(super) fn of_call(format: ReplyFormat) -> Self {
        Self {
            until: runtime_now() + MAX_WAIT,
            format,
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
        let run_mode = RunMode {
            only_reads,
            base,
            format: ReplyFormat::Report(arguments.optional("max_tokens")?),
        };
        arguments.done()?;
        self.run_text(text, inputs.unwrap_or_default(), run_mode, client)
            .await
    }

    /// Returns the only plan of a text, or the saved plan of `plan:NAME`, if it has no errors. Fails with a reply for
    /// the model that describes what is wrong.
    pub fn checked(&self, text: &str) -> Result<CheckedPlan, Reply> {
        let text = match text.trim().strip_prefix(PREFIX) {
            Some(name) => self
                .listing
                .snapshot()?
                .saved
                .text(name.trim())
                .ok_or_else(|| {
                    let name = visible_line(name);
                    Reply::Failed(format!(
                        "Nothing was called: there is no saved plan `{name}`; `search` finds them."
                    ))
                })?,
            None if text.len() > MAX_PLAN_BYTES => {
                let (given, most) = (text.len().div_ceil(1024), MAX_PLAN_BYTES / 1024);
                return Err(Reply::Failed(format!(
                    "Nothing was called: the plan has {given} KiB, and at most {most} KiB are accepted. Pass large data as inputs, \
                     or save parts of it as plans of their own."
                )));
            }
            None => PlanText::handed_in(&self.planrun.location().folder, text),
        };
        Ok(self.planrun.check(text)?.plan(None)?)
    }

    pub(super) async fn run_text(
        self: &Arc<Self>,
        text: String,
        inputs: Map<String, Json>,
        run_mode: RunMode,
        client: Arc<dyn Client>,
    ) -> Result<Reply, Reply> {
        let format = run_mode.format;
        let prepared = blocking(self, move |mode| Prepared::of(mode, &text, &run_mode));
        let Prepared { plan, base } = prepared.await?;
        let mut reader = InputReader::new(&plan.plan);
        if let Some(base) = &base {
            reader.take_over(&base.inputs_for(&plan.plan));
        }
        reader.take_object(inputs)?;
        let inputs = reader.finish()?;
        plan.verify_contracts().await?;
        let started = blocking(self, move |mode| {
            let run = new_run_id(&**mode.planrun.host());
            let options = RunOptions {
                drive: mode.driven.options(),
                ..run_options(&mode.planrun, &plan, run.clone(), &inputs, base)?
            };
            let started = mode.planrun.start(&plan, inputs, options)?;
            mode.driven.begin(started);
            Ok::<_, Reply>(run)
        });
        let run = started.await?;
        let options = WaitOptions::of_call(format);
        self.wait_for_run(&run, client, options).await
    }

    /// Waits for a run and asks its questions through the client, as long as the answer to the call is needed.
    pub(super) async fn wait_for_run(
        self: &Arc<Self>,
        run: &str,
        client: Arc<dyn Client>,
        options: WaitOptions,
    ) -> Result<Reply, Reply> {
        tokio::select! {
            reply = self.wait_and_ask(run, &client, options) => reply,
            () = client.cancelled() => Ok(self.still_running(run)),
        }
    }

    async fn wait_and_ask(
        self: &Arc<Self>,
        run: &str,
        client: &Arc<dyn Client>,
        options: WaitOptions,
    ) -> Result<Reply, Reply> {
        // Questions that this call has asked and that have not been answered.
        let mut asked: Vec<Arc<str>> = Vec::new();
        // The last question of a run that goes on meanwhile, by its event, and how often the journal was read for it.
        let (mut seen, mut asking, mut looks) = (0, 0, 0);
        loop {
            if let Some(status) = self.driven.status(run) {
                match self.watch(status, &**client, seen, options.until).await {
                    Watched::Asks(event) => asking = event,
                    Watched::TimeOver => return self.out_of_time(run).await,
                    Watched::Stopped(stopped) => {
                        if let Err(why) = &*stopped {
                            return Err(Reply::Failed(format!("run {run}: {why}")));
                        }
                    }
                }
            }
            let id = run.to_owned();
            let standing = blocking(self, move |mode| Standing::of(mode, &id)).await?;
            // The event of a question is published a moment before it is in the journal.
            looks += 1;
            if matches!(standing, Standing::Asks(_)) || looks > MAX_LOOKS {
                (seen, looks) = (asking, 0);
            }
            let reply = match standing {
                Standing::Ended(outcome) => Some(reply_for(&outcome, options.format)),
                Standing::Asks(question) => {
                    self.ask_or_wait(question, client, options, &mut asked)
                        .await
                }
                Standing::DrivenElsewhere if runtime_now() >= options.until => {
                    Some(self.still_running(run))
                }
                Standing::DrivenElsewhere => {
                    sleep(POLL_INTERVAL).await;
                    None
                }
                Standing::Idle => self.resume_idle(run, options).await?,
                Standing::OfPerson(status) => Some(Reply::text(format!(
                    "run {run} is {status}. Only a person can resume it: {}",
                    command(&format!("runs resume {run}"))
                ))),
            };
            if let Some(reply) = reply {
                return Ok(reply);
            }
        }
    }

    /// Resumes a run of a model's plan that no process drives and that has no open question. Returns a reply if the run
    /// stops again immediately.
    async fn resume_idle(
        self: &Arc<Self>,
        run: &str,
        options: WaitOptions,
    ) -> Result<Option<Reply>, Reply> {
        let id = run.to_owned();
        let status = match blocking(self, move |mode| mode.driven.resume(&id)).await {
            Ok(status) => status,
            // Another process was faster.
            Err(error) if error.kind() == ErrorKind::Busy => {
                sleep(POLL_INTERVAL).await;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mut status = status;
        let is_stopped = |status: &RunStatus| matches!(status, RunStatus::Stopped(_));
        let stopped = match tokio::time::timeout(POLL_INTERVAL, status.wait_for(is_stopped)).await {
            Ok(Ok(stopped)) => stopped.clone(),
            Ok(Err(_)) | Err(_) => return Ok(None),
        };
        let RunStatus::Stopped(stopped) = stopped else {
            return Ok(None);
        };
        match &*stopped {
            Ok(outcome) if !outcome.questions.is_empty() => Ok(None),
            Ok(outcome) => {
                let waits = options.is_patient && is_waiting(outcome);
                if waits && self.wait_until_due(run, options.until).await? {
                    return Ok(None);
                }
                Ok(Some(reply_for(outcome, options.format)))
            }
            Err(why) => Err(Reply::Failed(format!("run {run}: {why}"))),
        }
    }

    /// Waits until a suspended run can be resumed. Returns false if the time is over first.
    async fn wait_until_due(self: &Arc<Self>, run: &str, until: Instant) -> Result<bool, Reply> {
        while runtime_now() < until {
            sleep_until(until.min(runtime_now() + DUE_INTERVAL)).await;
            let id = run.to_owned();
            let is_due = blocking(self, move |mode| {
                // Another process may have taken it up.
                let moves = mode.planrun.run(&id)?.state != Some(RunState::Paused);
                Ok::<_, Reply>(moves || mode.planrun.due()?.iter().any(|due| due.run == id))
            });
            if is_due.await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits until a run that is driven here stops or asks something after the event `seen`, and reports its progress to
    /// the client.
    async fn watch(
        &self,
        mut status: tokio::sync::watch::Receiver<RunStatus>,
        client: &dyn Client,
        seen: u64,
        until: Instant,
    ) -> Watched {
        let mut reported_at = runtime_now();
        loop {
            let (steps_done, path) = match &*status.borrow_and_update() {
                RunStatus::Stopped(rest) => return Watched::Stopped(rest.clone()),
                RunStatus::Running { asked, .. } if *asked > seen => return Watched::Asks(*asked),
                RunStatus::Running { steps, path, .. } => (*steps, path.clone()),
            };
            if reported_at.elapsed() >= PROGRESS_INTERVAL && steps_done > 0 {
                reported_at = runtime_now();
                client.progress(steps_done, &visible_line(&path)).await;
            }
            tokio::select! {
                () = sleep_until(until) => return Watched::TimeOver,
                // Progress is reported at least every second, even without a change, so that the client does not time
                // out.
                () = sleep(PROGRESS_INTERVAL) => {}
                changed = status.changed() => if changed.is_err() {
                    return match &*status.borrow() {
                        RunStatus::Stopped(rest) => Watched::Stopped(rest.clone()),
                        RunStatus::Running { .. } => Watched::TimeOver,
                    };
                },
            }
        }
    }

    /// Returns the reply for a run that continues, or waits for a person, after the time of a call is over.
    async fn out_of_time(self: &Arc<Self>, run: &str) -> Result<Reply, Reply> {
        let id = run.to_owned();
        let standing = blocking(self, move |mode| Standing::of(mode, &id)).await?;
        if let Standing::Asks(question) = standing {
            return Ok(self.unanswered(&question).await);
        }
        Ok(self.still_running(run))
    }

    /// Returns the reply for a run that continues after the time of a call is over.
    fn still_running(&self, run: &str) -> Reply {
        let path = self
            .driven
            .status(run)
            .and_then(|status| match &*status.borrow() {
                RunStatus::Running { path, .. } => Some(path.clone()),
                RunStatus::Stopped(_) => None,
            });
        let at = path.map_or(String::new(), |path| format!(" at {}", visible_line(&path)));
        Reply::text(format!(
            "run {run} continues{at} in the background: runs(id: \"{run}\", wait_s: 45)"
        ))
    }
}

/// Returns true if a run is only suspended until a time or an event.
fn is_waiting(outcome: &Outcome) -> bool {
    matches!(outcome.interruption, Some(Interruption::Waiting { .. }))
}

/// Returns the reply for a run that has ended, or that waits for something other than a person.
fn reply_for(outcome: &Outcome, format: ReplyFormat) -> Reply {
    if is_waiting(outcome) {
        return Reply::text(report::failure(outcome));
    }
    if outcome.state != RunState::Completed {
        return Reply::Failed(report::failure(outcome));
    }
    let ReplyFormat::Report(max_tokens) = format else {
        return result_of_tool(outcome);
    };
    let (text, blocks) = report::success(outcome, max_tokens);
    let value = serde_json::from_str(&text).ok();
    Reply::Success {
        text,
        value,
        blocks,
    }
}

/// Returns the reply of a saved plan as its tool declares it: whole, or an error.
fn result_of_tool(outcome: &Outcome) -> Reply {
    let reply = outcome.redacted_reply().unwrap_or(Value::Null);
    let (reply, blocks) = report::separated(&reply);
    let shortened = report::shorten(&reply, Some(report::MAX_RESULT_TOKENS));
    if shortened.cuts.is_empty() {
        return Reply::Success {
            text: report::text(&reply),
            value: Some(reply),
            blocks,
        };
    }
    let (run, pages) = (&outcome.run, shortened.cuts);
    let places: Vec<&str> = pages.iter().take(5).map(|cut| &*cut.path).collect();
    Reply::Failed(format!(
        "run {run} completed, and its reply is too large for one result: runs(id: \"{run}\", path: \"…\") returns it in parts, \
         such as {}",
        places.join(", ")
    ))
}
