//! Everything that is needed to drive a run: its plan, its inputs, its tools and its recorded events.

use std::sync::Arc;

use planrun_lang::sema::{Plan, StepKind};
use planrun_lang::source::SourceFile;
use planrun_tools::tools::Catalog;

use super::next_calls::Resumption;
use super::pinned::{Pinned, PinnedBase};
use super::prefetch::Prefetch;
use super::recorded::RecordedRun;
use super::run::{Driven, ResumeOptions};
use super::{CheckedPlan, Error, Inputs, Journal, Workspace};
use crate::driver::{self, Context, Early, Observer, Silence};
use crate::journal::store::{Created, JournalError, Lease, NewRun};
use crate::journal::{Log, ResultCache};
use planrun_core::journal::ReplayState;
use planrun_core::run::{Outcome, Program, Setup};

/// A run, and everything that is needed to drive it.
pub(super) struct Job {
    pub(super) workspace: Arc<Workspace>,
    /// Connections and reads that began before the run was recorded.
    pub(super) prefetch: Prefetch,
    pub(super) program: Arc<Program>,
    /// Why its plan cannot be run here, although it could be run when it began.
    pub(super) broken: Option<String>,
    pub(super) inputs: Inputs,
    pub(super) setup: Setup,
    pub(super) log: Option<Box<dyn Log>>,
    pub(super) mock: bool,
    /// Where the results that it copies come from.
    pub(super) base: Option<PinnedBase>,
    pub(super) resumption: Resumption,
    pub(super) drive: ResumeOptions,
}

impl Job {
    /// Creates a run of a plan that is not recorded, with nothing but its inputs.
    pub(super) fn new(plan: &CheckedPlan, inputs: Inputs, run: &str) -> Self {
        Self {
            prefetch: plan.prefetch.clone(),
            ..Self::of(plan.workspace.clone(), plan.plan.clone(), inputs, run)
        }
    }

    fn of(workspace: Arc<Workspace>, plan: Arc<Plan>, inputs: Inputs, run: &str) -> Self {
        Self {
            setup: Setup {
                defaults: workspace.defaults(),
                definitions: plan.definitions(),
                ..Setup::new(run)
            },
            workspace,
            prefetch: Prefetch::default(),
            program: Arc::new(Program::new(plan)),
            broken: None,
            inputs,
            log: None,
            mock: false,
            base: None,
            resumption: Resumption::None,
            drive: ResumeOptions::default(),
        }
    }

    /// Restores a recorded run: with its pinned plan, project and inputs.
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
        let mut plans = checked.plans.iter();
        let plan = plans.find(|plan| *plan.name == *pinned.plan).cloned();
        let plan = plan.ok_or_else(|| {
            Error::Unusable(format!(
                "this version of planrun cannot read the plan `{}` of the run",
                pinned.plan
            ))
        })?;
        let is_damaged = |plan: &&Plan| {
            let mut steps = plan.steps();
            steps.any(|step| matches!(step.kind, StepKind::Damaged))
        };
        let damaged = plan.with_called().into_iter().find(is_damaged);
        let mut findings = checked.diagnostics.iter();
        let error = findings.find(|found| found.is_error() && damaged.is_some());
        let broken = error.map(|found| found.message.clone());
        let broken = broken.or_else(|| workspace.changed_contract(&plan, &pinned.own_contracts));
        let run = &recorded.row.run;
        let mut job = Self::of(Arc::new(workspace), plan, pinned.inputs()?, run);
        job.setup.defaults.max_steps = pinned.max_steps;
        job.setup.defaults.strict = pinned.strict;
        job.setup.approval.clone_from(&pinned.approval);
        Ok(Self {
            broken,
            mock: pinned.mock,
            base: pinned.base.clone(),
            ..job
        })
    }

    /// Records what the run is bound to, before anything of it happens.
    pub(super) fn create(
        &self,
        journal: &Journal,
        plan: &CheckedPlan,
    ) -> Result<Created<Box<dyn Lease>>, Error> {
        let (workspace, setup) = (&self.workspace, &self.setup);
        let mut pinned = Pinned::new(
            (plan.source.name(), plan.source.text(), &plan.plan),
            (
                &workspace.location.folder,
                workspace.location.file.is_some(),
                &plan.pins(),
            ),
            &self.inputs,
            (self.mock, setup.defaults.max_steps, setup.defaults.strict),
        );
        pinned.approval.clone_from(&setup.approval);
        pinned.base.clone_from(&self.base);
        pinned.confined = workspace.confined.is_some();
        pinned.within = workspace.confined.clone().unwrap_or_default();
        pinned.own_contracts = workspace.own_contracts(&plan.plan);
        let new = NewRun {
            run: &setup.run_id,
            plan: &plan.plan.name,
            digest: pinned.digest(),
            pinned: &pinned.to_bytes(),
            at: workspace.host.now(),
        };
        journal.create(&new).map_err(|error| match error {
            JournalError::OtherInput { .. } => self.began_differently(journal, &pinned, error),
            other => other.into(),
        })
    }

    /// Says what the run of this id that already exists began with instead; `error` if that cannot be read.
    fn began_differently(&self, journal: &Journal, given: &Pinned, error: JournalError) -> Error {
        let began = journal.pinned(&self.setup.run_id).map_err(Error::from);
        match began.and_then(|bytes| Pinned::read(&bytes)) {
            Ok(began) => Error::BeganDifferently {
                run: self.setup.run_id.to_string(),
                differences: given.differences(&began),
            },
            Err(_) => error.into(),
        }
    }

    /// Returns true if something else answers in place of the tools, so that the results must not be cached for other
    /// runs.
    pub(super) fn is_simulated(&self) -> bool {
        self.mock || self.drive.stand_in.is_some()
    }

    pub(super) async fn execute(
        mut self,
        observer: &mut dyn Observer,
        cache: Arc<dyn ResultCache>,
    ) -> Result<Driven, Error> {
        let mock = if self.mock {
            Some(self.workspace.start_mock().await?)
        } else {
            None
        };
        let prefetch = std::mem::take(&mut self.prefetch);
        let tools = match &mock {
            Some(server) => self.workspace.catalog(Some(&|app| server.endpoint(app))),
            None => prefetch.take_tools(&self.workspace),
        };
        let mut secrets = tools.secrets();
        let (program, inputs) = (self.program.clone(), std::mem::take(&mut self.inputs));
        let early = prefetch.reads.filter(|_| !self.is_simulated());
        let context = Context {
            cache: Some(cache),
            early: early.map(Early::Reuse),
            ..self.context(tools, observer)
        };
        let outcome = driver::run(&program, &inputs.0, context).await;
        if let Some(server) = mock {
            server.shutdown().await;
        }
        secrets.join(outcome.secrets());
        Ok(Driven {
            outcome,
            secrets,
            unwritten: None,
        })
    }

    /// Returns the outcome of the run so far, from a replay of its recorded events that calls nothing.
    pub(super) async fn replay(mut self, replay: ReplayState) -> Outcome {
        self.setup.replay = Some(replay);
        self.setup.replay_only = true;
        let (tools, mut nobody) = (self.workspace.catalog(None), Silence);
        let (program, inputs) = (self.program.clone(), std::mem::take(&mut self.inputs));
        let context = self.context(tools, &mut nobody);
        driver::run(&program, &inputs.0, context).await
    }

    pub(super) fn context(self, tools: Arc<Catalog>, observer: &mut dyn Observer) -> Context<'_> {
        Context {
            limit: self.workspace.limit.clone(),
            root: self.workspace.project.root.clone(),
            log: self.log,
            answering: self.drive.answering,
            stand_in: self.drive.stand_in,
            cancel: self.drive.cancel,
            ..Context::new(self.workspace.host.clone(), tools, self.setup, observer)
        }
    }
}
