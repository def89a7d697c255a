//! Drafts: plans that are being written, whose reads begin before the rest of the text is there.

use std::sync::Arc;

use planrun_lang::source::SourceFile;
use planrun_lang::syntax::complete_prefix;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::base::Base;
use super::job::Job;
use super::plan_text::PlanText;
use super::prefetch::Prefetch;
use super::{CheckedPlan, Inputs, Workspace, new_run_id};
use crate::driver::{self, Context, Early, Silence};

/// How often an addition to a plan may begin more reads.
const MAX_GROWTHS: usize = 64;
/// Maximum length of a text whose reads begin early, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// A plan that is being written. Each statement is checked when the next one begins. Pure and read-only steps that do
/// not depend on anything pending above begin at once, within the permissions of the project and of the plan so far;
/// everything else waits for the whole plan. If the draft has a base, the results that the base has for unchanged
/// statements are copied instead of called, statement by statement, and nothing waits for them. If the draft is dropped
/// before [`Draft::finish`], its reads are stopped.
pub struct Draft {
    workspace: Arc<Workspace>,
    max_steps: Option<u64>,
    /// The run that the plan is based on.
    base: Option<Base>,
    prefetch: Prefetch,
    /// The text whose reads have begun.
    text: String,
    growths: usize,
    /// Ends the run of the previous text.
    running: Option<DropGuard>,
}

impl Draft {
    /// Creates an empty draft, optionally based on a run.
    #[must_use]
    pub fn new(workspace: Arc<Workspace>, max_steps: Option<u64>, base: Option<Base>) -> Self {
        Self {
            workspace,
            max_steps,
            base,
            prefetch: Prefetch::with(Arc::default()),
            text: String::new(),
            growths: 0,
            running: None,
        }
    }

    /// Parses the text so far, which may break off anywhere, and begins the reads that are new in it. Must be called
    /// within a tokio runtime.
    pub fn read(&mut self, text: &str) {
        if self.growths == MAX_GROWTHS || text.len() > MAX_BYTES {
            return;
        }
        let folder = &self.workspace.location.folder;
        let PlanText::Text(source) = PlanText::handed_in(folder, text) else {
            return;
        };
        let Some(source) = complete_prefix(&source).filter(|source| source.text() != self.text)
        else {
            return;
        };
        source.text().clone_into(&mut self.text);
        if let Some(plan) = self.plan(source) {
            self.growths += 1;
            self.begin(plan);
        }
    }

    /// Returns true if reads of the plan may have been called.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.growths > 0
    }

    /// Attaches the reads that have begun to the whole plan. A run of it takes over those that its steps would make.
    #[must_use]
    pub fn finish(self, mut plan: CheckedPlan) -> CheckedPlan {
        plan.prefetch = self.prefetch;
        plan
    }

    /// Returns the plan in the text, if it could be run as it is.
    fn plan(&self, source: SourceFile) -> Option<CheckedPlan> {
        let plan = self.workspace.clone().checked(source).plan(None).ok()?;
        let needs_inputs = plan.plan.parameters.iter().any(|input| input.required);
        (!needs_inputs && plan.ready().is_ok()).then_some(plan)
    }

    fn begin(&mut self, mut plan: CheckedPlan) {
        let Some(reads) = self.prefetch.reads.clone() else {
            return;
        };
        plan.prefetch = self.prefetch.clone();
        let end = CancellationToken::new();
        let early = Early::Start(reads, end.clone());
        let tools = self.prefetch.tools(&self.workspace);
        let run = new_run_id(&*self.workspace.host);
        let mut job = Job::new(&plan, Inputs::default(), &run);
        job.setup.defaults.max_steps = self.max_steps;
        job.setup.copies = self.base.as_ref().and_then(|base| {
            let copies = base.copies(&job.program, None);
            copies.ok().map(|(copies, _)| copies)
        });
        // The run of the previous text ends here.
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
            // After the end was requested, the run begins nothing more.
            tokio::select! {
                biased;
                () = end.cancelled() => {}
                () = run => {}
            }
        });
    }
}
