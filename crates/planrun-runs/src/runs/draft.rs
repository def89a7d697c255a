//! A plan while it is being written: what only reads begins before the rest is there.

use std::sync::Arc;

use planrun_lang::source::SourceFile;
use planrun_lang::syntax::so_far;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::base::Base;
use super::begun::Begun;
use super::plan_text::PlanText;
use super::run::Job;
use super::{CheckedPlan, Inputs, Workspace, new_run_id};
use crate::driver::{self, Context, Early, Silence};

/// How often what has been added to a plan may begin more of its reads.
const MAX_GROWTHS: usize = 64;
/// The longest text of which reads begin early.
const MAX_BYTES: usize = 16 * 1024;

/// A plan that somebody is writing. Each statement is checked when the next one begins, and pure and read steps that nothing
/// above holds back begin at once, within what the project and the plan so far allow. Everything else waits for the whole.
/// Over a base, what the base has completed and what is written as it was there is not called, and holds nothing back: each
/// statement tells by itself whether it is the same.
/// What has begun ends where this is dropped before [`Draft::finish`].
pub struct Draft {
    workspace: Arc<Workspace>,
    max_steps: Option<u64>,
    /// The run that the plan goes on from.
    base: Option<Base>,
    begun: Begun,
    /// As far as its reads have begun.
    text: String,
    growths: usize,
    /// Ends the run of what was written before.
    running: Option<DropGuard>,
}

impl Draft {
    /// A plan of which nothing is written yet, and that is to go on from this run.
    #[must_use]
    pub fn new(workspace: Arc<Workspace>, max_steps: Option<u64>, base: Option<Base>) -> Self {
        Self {
            workspace,
            max_steps,
            base,
            begun: Begun::with(Arc::default()),
            text: String::new(),
            growths: 0,
            running: None,
        }
    }

    /// Reads the text so far, which may break off anywhere, and begins the reads that are new in it. Called within a tokio
    /// runtime.
    pub fn read(&mut self, text: &str) {
        if self.growths == MAX_GROWTHS || text.len() > MAX_BYTES {
            return;
        }
        let folder = &self.workspace.location.folder;
        let PlanText::Text(source) = PlanText::handed_in(folder, text) else {
            return;
        };
        let Some(source) = so_far(&source).filter(|source| source.text() != self.text) else {
            return;
        };
        source.text().clone_into(&mut self.text);
        if let Some(plan) = self.plan(source) {
            self.growths += 1;
            self.begin(plan);
        }
    }

    /// The whole plan: a run of it takes over the reads that have begun and that its steps would make.
    #[must_use]
    pub fn finish(self, mut plan: CheckedPlan) -> CheckedPlan {
        plan.begun = self.begun;
        plan
    }

    /// What is written, where it could be run as it is.
    fn plan(&self, source: SourceFile) -> Option<CheckedPlan> {
        let plan = self.workspace.clone().checked(source).plan(None).ok()?;
        let needs_inputs = plan.plan.parameters.iter().any(|input| input.required);
        (!needs_inputs && plan.ready().is_ok()).then_some(plan)
    }

    fn begin(&mut self, mut plan: CheckedPlan) {
        let Some(reads) = self.begun.reads.clone() else {
            return;
        };
        plan.begun = self.begun.clone();
        let end = CancellationToken::new();
        let early = Early::Begins(reads, end.clone());
        let tools = self.begun.tools(&self.workspace).clone();
        let run = new_run_id(&*self.workspace.host);
        let mut job = Job::new(&plan, Inputs::default(), run);
        job.max_steps = self.max_steps;
        job.copies = self.base.as_ref().and_then(|base| {
            let copies = base.copies((&job.program, &plan.source), None);
            copies.ok().map(|(copies, _)| copies)
        });
        // The run of what was written before ends here.
        self.running = Some(end.clone().drop_guard());
        tokio::spawn(async move {
            let run = async {
                if plan.verify_contracts().await.is_ok() {
                    let (program, mut nobody) = (job.program.clone(), Silence);
                    let context = Context {
                        early: Some(early),
                        ..job.context(tools, &mut nobody)
                    };
                    driver::run(&program, &Inputs::default().0, context).await;
                }
            };
            // What has ended begins nothing more.
            tokio::select! {
                biased;
                () = end.cancelled() => {}
                () = run => {}
            }
        });
    }
}
