//! What a run would do, asked before anything of it happens.

use std::collections::BTreeSet;

use planrun_core::run::Program;
use planrun_lang::bounds::{Around, Bounds, bounds};

use super::{CheckedPlan, Error, Inputs, Planrun, until_step};
use crate::forecast::{Forecast, Surroundings, forecast};

impl Planrun {
    /// What a run of this plan with these inputs would do, up to the step `until` where it names one. Nothing is called and
    /// nothing is written. What depends on results of calls is reported as not known yet, and so is whether it would happen.
    ///
    /// # Errors
    /// [`Error::UnknownStep`] where the plan has no step of that name.
    pub fn forecast(
        &self,
        plan: &CheckedPlan,
        inputs: &Inputs,
        until: Option<&str>,
    ) -> Result<Forecast, Error> {
        let program = Program::new(plan.plan.clone());
        let until = until.map(|step| until_step(&program, step)).transpose()?;
        let workspace = &plan.workspace;
        let around = Surroundings {
            host: &**self.host(),
            root: &workspace.project.root,
            limit: workspace.limit.as_ref(),
            source: &plan.source,
            wanted: until.as_ref().map(|until| &until.needed),
            question_before: &|tool| workspace.question_before(tool),
        };
        let bounds = plan.bounds(around.wanted);
        Ok(forecast(&plan.plan, inputs.values(), bounds, &around))
    }
}

impl CheckedPlan {
    /// What a run of it does at most, whatever its inputs are. `wanted` are the statements of the plan itself that run, by
    /// their numbers; all where it says nothing.
    #[must_use]
    pub fn bounds(&self, wanted: Option<&BTreeSet<u32>>) -> Bounds {
        let defaults = self.workspace.defaults();
        let around = Around {
            policy: &defaults.policy,
            limits: &defaults.limits,
            retry: &|tool| defaults.retry_for(tool).cloned(),
            wanted,
        };
        bounds(&self.plan, &around)
    }
}
