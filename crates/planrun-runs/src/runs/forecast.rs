//! Forecasts a run before anything of it happens.

use std::collections::BTreeSet;

use planrun_core::run::Program;
use planrun_lang::bounds::{Bounds, BoundsContext, bounds};

use super::{CheckedPlan, Error, Inputs, Planrun, until_step};
use crate::forecast::{Forecast, ForecastContext, forecast};

impl Planrun {
    /// Forecasts a run of this plan with these inputs, up to the step `until` if there is one. Nothing is called or
    /// written. Whatever depends on results of calls is reported as unknown, including whether it would happen.
    ///
    /// # Errors
    /// [`Error::UnknownStep`] if the plan has no step of that name.
    pub fn forecast(
        &self,
        plan: &CheckedPlan,
        inputs: &Inputs,
        until: Option<&str>,
    ) -> Result<Forecast, Error> {
        let program = Program::new(plan.plan.clone());
        let until = until.map(|step| until_step(&program, step)).transpose()?;
        let workspace = &plan.workspace;
        let context = ForecastContext {
            host: &**self.host(),
            root: &workspace.project.root,
            limit: workspace.limit.as_ref(),
            source: &plan.source,
            statements: until.as_ref().map(|until| &until.needed),
            question_before: &|tool| workspace.question_before(tool),
        };
        let bounds = plan.bounds(context.statements);
        Ok(forecast(&plan.plan, inputs.values(), bounds, &context))
    }
}

impl CheckedPlan {
    /// Returns upper bounds for a run, whatever its inputs are. `statements` are the numbers of the plan's own
    /// statements that run; `None` for all.
    #[must_use]
    pub fn bounds(&self, statements: Option<&BTreeSet<u32>>) -> Bounds {
        let defaults = self.workspace.defaults();
        let context = BoundsContext {
            policy: &defaults.policy,
            limits: &defaults.limits,
            retry: &|tool| defaults.retry_for(tool).cloned(),
            statements,
        };
        bounds(&self.plan, &context)
    }
}
