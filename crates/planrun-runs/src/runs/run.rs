//! A run that this process drives: a new one, or one that another process has begun.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::diag::closest;
use planrun_lang::protocol::RunState;
use planrun_lang::secrets::Redactor;
use planrun_lang::sema::{Plan, StepKind};
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{json::definitions, parse};
use planrun_lang::types::{ErrorClass, Validation};
use planrun_tools::tools::{Catalog, StandIn};
use tokio_util::sync::CancellationToken;

use super::base::Base;
use super::begun::Begun;
use super::pinned::Pinned;
use super::recorded::RecordedRun;
use super::replay::replay;
use super::run_id::new_run_id;
use super::{CheckedPlan, Error, Inputs, Journal, Planrun, Workspace};
use crate::driver::{self, Answering, Context, Early, Observer, Silence};
use crate::journal::store::{Created, Lease, NewRun, RunRow};
use crate::journal::{Log, MemoryCache, ResultCache};
use planrun_core::journal::{MAX_CRASHES, ReplayState, Summary};
use planrun_core::run::{Approval, Copies, Defaults, Outcome, Program, Until};

/// How a new run is begun.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a wish of its own")]
pub struct RunOptions {
    /// Its id; made up where there is none. A run of this id with the same plan and inputs is resumed.
    pub id: Option<String>,
    /// It ends with its process, and nothing is written down.
    pub ephemeral: bool,
    /// App tools answer from their `mock:` sections, over loopback.
    pub mock: bool,
    pub max_steps: Option<u64>,
    /// No `recover` arm puts a value in the place of a result.
    pub strict: bool,
    /// What somebody has to agree to before it does anything: until then it is paused.
    pub approval: Option<Approval>,
    /// Another run, from which it takes over what need not be done again.
    pub base: Option<Base>,
    /// A step that is done again, with all that comes after it, though the base has done it.
    pub from: Option<String>,
    /// Effects of the base may be done again.
    pub repeats_effects: bool,
    /// How this process drives it.
    pub drive: ResumeOptions,
}

/// How a process drives a run.
pub struct ResumeOptions {
    /// Who answers what the plan asks people.
    pub answering: Answering,
    /// What has failed is done again, where the plan pauses for that.
    pub retries: bool,
    /// Even where the run was paused because processes died at it.
    pub again: bool,
    /// The step of the plan that this process goes up to.
    pub until: Option<String>,
    /// Who answers in place of the tools.
    pub stand_in: Option<Arc<dyn StandIn>>,
    /// Fires when the process has to suspend the run.
    pub cancel: CancellationToken,
}

impl Default for ResumeOptions {
    fn default() -> Self {
        let (answering, cancel) = (Answering::default(), CancellationToken::new());
        Self {
            answering,
            retries: true,
            again: false,
            until: None,
            stand_in: None,
            cancel,
        }
    }
}

/// A run, before this process drives it. It holds the lease of the run from now on.
pub struct Run {
    id: String,
    work: Work,
}

enum Work {
    /// With the journal that it is written to; nothing where it ends with its process.
    Job(Box<Job>, Option<Journal>),
    Ended(Box<RecordedRun>),
}

/// The outcome of a run that this process has driven.
pub struct Driven {
    pub outcome: Outcome,
    /// What the tools send and the run must not show.
    pub secrets: Redactor,
}

impl Planrun {
    /// Begins a run: it is written down before anything of it happens. One of the same id, plan and inputs is resumed.
    ///
    /// # Errors
    /// When the plan could not be done as a whole, effects would be repeated without consent, or the journal refuses.
    pub fn start(
        &self,
        plan: &CheckedPlan,
        inputs: Inputs,
        options: RunOptions,
    ) -> Result<Run, Error> {
        if options.drive.until.is_none() {
            plan.ready()?;
        }
        let run = options.id.clone();
        let run = run.unwrap_or_else(|| new_run_id(&**self.host()));
        let mut job = Job::new(plan, inputs, run);
        if let Some(step) = &options.drive.until {
            job.until = Some(until_step(&job.program, step)?);
        }
        if let Some(base) = &options.base {
            job.copies = Some(copies(base, (&job.program, &plan.source), &options)?);
        }
        job.mock = options.mock;
        job.max_steps = options.max_steps;
        job.strict = options.strict;
        job.approval = options.approval;
        job.drive = options.drive;
        if options.ephemeral {
            return Ok(Run {
                id: job.run.clone(),
                work: Work::Job(Box::new(job), None),
            });
        }
        let journal = self.shared.journal_for_new_runs()?;
        match job.create(&journal, plan)? {
            Created::New(lease) => job.log = Some(lease),
            Created::Exists(row) => return self.resume_row(journal, *row, job.drive),
        }
        Ok(Run {
            id: job.run.clone(),
            work: Work::Job(Box::new(job), Some(journal)),
        })
    }

    /// Goes on with a run where it was; of one that has ended, [`Run::drive`] tells how.
    ///
    /// # Errors
    /// When there is no such run, another process drives it, or what was written cannot be used; [`Error::Stuck`] where
    /// processes died at it and `again` does not ask for another.
    pub fn resume(&self, run: &str, options: ResumeOptions) -> Result<Run, Error> {
        let journal = self.shared.journal()?;
        let row = journal.run(run)?;
        let run = self.resume_row(journal.clone(), row, options)?;
        run.implemented(&journal)
    }

    /// Does again what has failed, as a new execution. Of a run that has completed and was then found not to be as it
    /// should be, that is what found it.
    ///
    /// # Errors
    /// As for [`Self::resume`]; [`Error::Ended`] where the run has ended in another way.
    pub fn retry(&self, run: &str, options: ResumeOptions) -> Result<Run, Error> {
        let journal = self.shared.journal()?;
        let row = journal.run(run)?;
        let unverified = ErrorClass::Validation(Validation::Verify).to_string();
        if row.ended && row.error.as_ref() != Some(&unverified) {
            return Err(Error::Ended {
                run: row.info.run,
                state: row.info.state,
            });
        }
        let run = self.drive_row(journal.clone(), row, options)?;
        run.implemented(&journal)
    }

    pub(super) fn resume_row(
        &self,
        journal: Journal,
        row: RunRow,
        options: ResumeOptions,
    ) -> Result<Run, Error> {
        if row.ended {
            let past = replay(&journal, &row.run)?;
            let recorded = self.recorded_as(journal, row, past)?;
            return Ok(Run {
                id: recorded.row.run.clone(),
                work: Work::Ended(Box::new(recorded)),
            });
        }
        self.drive_row(journal, row, options)
    }

    fn drive_row(&self, journal: Journal, row: RunRow, drive: ResumeOptions) -> Result<Run, Error> {
        let lease = journal.drive(&row.run)?;
        let past = replay(&journal, &row.run)?;
        if past.crashes() >= MAX_CRASHES && !drive.again {
            return Err(pause(lease, row, &past)?);
        }
        let recorded = self.recorded_as(journal, row, past)?;
        let mut job = Job::pinned(&recorded)?;
        job.log = Some(lease);
        job.until = drive
            .until
            .as_deref()
            .map(|step| until_step(&job.program, step))
            .transpose()?;
        job.past = Some(recorded.past).filter(|past| past.last > 0);
        (job.retries, job.drive) = (drive.retries, drive);
        Ok(Run {
            id: job.run.clone(),
            work: Work::Job(Box::new(job), Some(recorded.journal)),
        })
    }
}

/// Pauses a run whose processes keep dying. Its events record each death already, so only its row in lists changes.
fn pause(mut lease: Box<dyn Lease>, row: RunRow, past: &ReplayState) -> Result<Error, Error> {
    let (deaths, event) = (past.crashes(), past.last);
    let note = Some(format!("died {deaths} times at event {event}"));
    let (steps_done, steps_all) = (row.steps_done, row.steps_all.unwrap_or(0));
    let summary = Summary {
        state: RunState::Paused,
        wake: None,
        error: None,
        note,
        steps_done,
        steps_all,
    };
    lease.summarize(&summary);
    lease.close()?;
    Ok(Error::Stuck {
        run: row.info.run,
        deaths,
        event,
    })
}

/// What a new run takes over from another one. Effects are not done again without somebody's consent.
fn copies(
    base: &Base,
    plan: (&Program, &SourceFile),
    options: &RunOptions,
) -> Result<Copies, Error> {
    let (copies, repeated) = base.copies(plan, options.from.as_deref())?;
    if repeated.is_empty() || options.repeats_effects {
        return Ok(Copies {
            repeats_effects: options.repeats_effects,
            ..copies
        });
    }
    Err(Error::RepeatsEffects {
        run: copies.run.to_string(),
        steps: repeated,
    })
}

/// The step of a plan that a run goes up to.
///
/// # Errors
/// When the plan itself has no such step.
pub fn until_step(program: &Program, step: &str) -> Result<Until, Error> {
    Until::new(program, step).ok_or_else(|| {
        let hint = match closest(step, Until::steps(program)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "its own steps are {}",
                Until::steps(program).collect::<Vec<_>>().join(", ")
            ),
        };
        let (plan, step) = (program.plan.name.to_string(), step.to_owned());
        Error::UnknownStep {
            plan,
            step,
            purpose: " to go up to",
            hint,
        }
    })
}

impl Run {
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Refuses a run whose plan calls a tool that nothing here implements, such as one of another program: its call would
    /// fail, and so would the run.
    fn implemented(self, journal: &Journal) -> Result<Self, Error> {
        let Some(why) = self.unimplemented() else {
            return Ok(self);
        };
        let id = self.id;
        drop(self.work);
        // Whoever hears of this can expect that others may have the run at once.
        journal.wait_given_back(&id);
        Err(Error::Unusable(format!(
            "the run `{id}` cannot go on here: {why}"
        )))
    }

    fn unimplemented(&self) -> Option<String> {
        let Work::Job(job, _) = &self.work else {
            return None;
        };
        let stands_in = job.until.is_some() || job.drive.stand_in.is_some();
        let plans = job.program.plan.with_called().into_iter();
        let mut tools = plans.flat_map(Plan::tool_calls);
        let missing = tools
            .find(|tool| !job.workspace.implements(tool))
            .filter(|_| !stands_in)
            .map(|tool| format!("nothing implements `{}`", tool.path()));
        job.broken.clone().or(missing)
    }

    /// Gives the run back without driving it, and tells its id. Once this returns another process can go on with it.
    #[must_use]
    pub fn leave(self) -> String {
        let Self { id, work } = self;
        if let Work::Job(job, Some(journal)) = work {
            drop(job);
            journal.wait_given_back(&id);
        }
        id
    }

    /// Whether nothing of it is left to do.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.work, Work::Ended(_))
    }

    /// Its plan; nothing where it has ended.
    #[must_use]
    pub fn plan(&self) -> Option<&Plan> {
        match &self.work {
            Work::Job(job, _) => Some(&job.program.plan),
            Work::Ended(_) => None,
        }
    }

    /// Whether it goes on from what another process has done of it.
    #[must_use]
    pub fn continues(&self) -> bool {
        matches!(&self.work, Work::Job(job, _) if job.past.is_some())
    }

    /// Whether another process can go on with it after this one.
    #[must_use]
    pub fn is_durable(&self) -> bool {
        matches!(&self.work, Work::Job(_, Some(_)))
    }

    /// Runs to the end, or to where somebody is needed, and gives the run back. Of a run that has ended, what the journal
    /// tells of it.
    ///
    /// # Errors
    /// When the tools cannot be had, or what was written cannot be used.
    pub async fn drive(self, observer: &mut dyn Observer) -> Result<Driven, Error> {
        match self.work {
            Work::Job(job, journal) => {
                let cache: Arc<dyn ResultCache> = match &journal {
                    Some(journal) if !job.is_rehearsal() => journal.cache(),
                    Some(_) | None => Arc::new(MemoryCache::default()),
                };
                let driven = job.execute(observer, cache).await;
                if let Some(journal) = journal {
                    // It waits for the disk. That it cannot be waited for changes nothing of what was written.
                    let _ = tokio::task::spawn_blocking(move || journal.wait_given_back(&self.id))
                        .await;
                }
                driven
            }
            Work::Ended(recorded) => Ok(Driven {
                outcome: recorded.outcome().await?,
                secrets: Redactor::default(),
            }),
        }
    }
}

/// A run and everything that it needs.
pub(super) struct Job {
    workspace: Arc<Workspace>,
    /// What of it has begun before it is written down.
    begun: Begun,
    pub(super) program: Arc<Program>,
    /// What keeps its plan from being run here, where it could be run when it began.
    broken: Option<String>,
    /// What each statement of its plan means, by its name.
    definitions: BTreeMap<String, String>,
    pub(super) inputs: Inputs,
    run: String,
    log: Option<Box<dyn Log>>,
    past: Option<ReplayState>,
    mock: bool,
    pub(super) max_steps: Option<u64>,
    pub(super) strict: bool,
    approval: Option<Approval>,
    /// What another run has to give.
    pub(super) copies: Option<Copies>,
    until: Option<Until>,
    retries: bool,
    drive: ResumeOptions,
}

impl Job {
    /// A run of a plan that nobody writes down, with nothing but its inputs.
    pub(super) fn new(plan: &CheckedPlan, inputs: Inputs, run: String) -> Self {
        Self {
            workspace: plan.workspace.clone(),
            begun: plan.begun.clone(),
            program: Arc::new(Program::new(plan.plan.clone())),
            broken: None,
            definitions: definitions(&parse(&plan.source).file, &plan.plan.name),
            inputs,
            run,
            log: None,
            past: None,
            mock: false,
            max_steps: None,
            strict: false,
            approval: None,
            copies: None,
            until: None,
            retries: false,
            drive: ResumeOptions::default(),
        }
    }

    /// A run as it was written down: its plan, its project and its inputs of then.
    pub(super) fn pinned(recorded: &RecordedRun) -> Result<Self, Error> {
        let (pinned, location) = (&recorded.pinned, recorded.planrun.location());
        let host = recorded.planrun.host().clone();
        let mut workspace = Workspace::pinned(
            host,
            location,
            pinned.has_project_file,
            pinned.pins(&location.folder),
            &recorded.planrun.own_tools,
        )?;
        workspace.project.pool.clone_from(&recorded.planrun.pool);
        let workspace = if pinned.confined {
            workspace.confined(&pinned.within)?
        } else {
            workspace
        };
        let source = SourceFile::new(&*pinned.file, &*pinned.text);
        let checked = workspace.check(&source);
        let plan = checked
            .plans
            .iter()
            .find(|plan| *plan.name == *pinned.plan)
            .cloned();
        let plan = plan.ok_or_else(|| {
            Error::Unusable(format!(
                "the plan `{}` of the run is not understood by this planrun",
                pinned.plan
            ))
        })?;
        let is_damaged = |plan: &&Plan| {
            plan.steps()
                .any(|step| matches!(step.kind, StepKind::Damaged))
        };
        let damaged = plan.with_called().into_iter().find(is_damaged);
        let errors = checked
            .diagnostics
            .iter()
            .find(|found| found.is_error() && damaged.is_some());
        let broken = errors.map(|found| found.message.clone());
        Ok(Self {
            workspace: Arc::new(workspace),
            begun: Begun::default(),
            program: Arc::new(Program::new(plan)),
            broken,
            definitions: pinned.definitions(),
            inputs: pinned.inputs()?,
            run: recorded.row.run.clone(),
            log: None,
            past: None,
            mock: pinned.mock,
            max_steps: pinned.max_steps,
            strict: pinned.strict,
            approval: pinned.approval.clone(),
            copies: None,
            until: None,
            retries: false,
            drive: ResumeOptions::default(),
        })
    }

    /// Writes down what the run is bound to, before anything of it happens.
    fn create(
        &self,
        journal: &Journal,
        plan: &CheckedPlan,
    ) -> Result<Created<Box<dyn Lease>>, Error> {
        let workspace = &self.workspace;
        let mut pinned = Pinned::new(
            (plan.source.name(), plan.source.text(), &plan.plan),
            (
                &workspace.location.folder,
                workspace.location.file.is_some(),
                &plan.pins(),
            ),
            &self.inputs,
            (self.mock, self.max_steps, self.strict),
        );
        pinned.approval.clone_from(&self.approval);
        pinned.confined = workspace.confined.is_some();
        pinned.within = workspace.confined.clone().unwrap_or_default();
        let new = NewRun {
            run: &self.run,
            plan: &plan.plan.name,
            digest: pinned.digest(),
            pinned: &pinned.to_bytes(),
            at: workspace.host.now(),
        };
        Ok(journal.create(&new)?)
    }

    /// Whether somebody else answers in place of the tools, so that no other run may use what they give.
    fn is_rehearsal(&self) -> bool {
        self.mock || self.drive.stand_in.is_some()
    }

    async fn execute(
        mut self,
        observer: &mut dyn Observer,
        cache: Arc<dyn ResultCache>,
    ) -> Result<Driven, Error> {
        let mock = if self.mock {
            Some(self.workspace.start_mock().await?)
        } else {
            None
        };
        let begun = std::mem::take(&mut self.begun);
        let tools = match &mock {
            Some(server) => self.workspace.catalog(Some(&|app| server.endpoint(app))),
            None => begun.tools(&self.workspace).clone(),
        };
        let mut secrets = tools.secrets();
        let (program, inputs) = (self.program.clone(), std::mem::take(&mut self.inputs));
        let early = begun.reads.filter(|_| !self.is_rehearsal());
        let context = Context {
            cache: Some(cache),
            early: early.map(Early::TakesOver),
            ..self.context(tools, observer)
        };
        let outcome = driver::run(&program, &inputs.0, context).await;
        if let Some(server) = mock {
            server.shutdown().await;
        }
        secrets.join(outcome.secrets());
        Ok(Driven { outcome, secrets })
    }

    /// The outcome of the run so far, from a replay of its recorded events that calls nothing.
    pub(super) async fn replay(mut self, past: ReplayState) -> Outcome {
        self.past = Some(past);
        let (tools, mut nobody) = (self.workspace.catalog(None), Silence);
        let (program, inputs) = (self.program.clone(), std::mem::take(&mut self.inputs));
        let context = Context {
            replay_only: true,
            ..self.context(tools, &mut nobody)
        };
        driver::run(&program, &inputs.0, context).await
    }

    pub(super) fn context(self, tools: Arc<Catalog>, observer: &mut dyn Observer) -> Context<'_> {
        Context {
            limit: self.workspace.limit.clone(),
            root: self.workspace.project.root.clone(),
            defaults: Defaults {
                max_steps: self.max_steps,
                strict: self.strict,
                ..self.workspace.defaults()
            },
            log: self.log,
            definitions: self.definitions,
            approval: self.approval,
            past: self.past,
            copies: self.copies,
            retries: self.retries,
            answering: self.drive.answering,
            until: self.until,
            stand_in: self.drive.stand_in,
            cancel: self.drive.cancel,
            ..Context::new(self.workspace.host.clone(), tools, &self.run, observer)
        }
    }
}
