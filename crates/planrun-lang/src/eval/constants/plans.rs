//! Evaluates called plans with the arguments that are known.

use std::sync::Arc;

use super::bodies::Ending;
use super::calls::Evaluate;
use super::failure::{BlockFailure, CalledPlan};
use super::names::Site;
use super::{Constants, Walk};
use crate::eval::EvalError;
use crate::eval::known::Evaluated;
use crate::sema::{BlockId, Call, Plan, PlanParameter};
use crate::types::convert;
use crate::value::Value;

/// The work of beginning with a plan, beyond one unit for each of its blocks.
const WORK_PER_PLAN: u64 = 50;

/// The argument of a call for a parameter.
enum Argument {
    Known(Value),
    Unknown,
    LeftOut,
}

impl<'a> Walk<'a> {
    /// Returns why a call of a plan fails whenever it is made, if its known arguments are the reason.
    pub(super) fn failing_plan(
        &mut self,
        site: Site<'_>,
        call: &'a Call,
        (plan, name): (&'a Plan, &Arc<str>),
        value: Evaluate<'a>,
    ) -> Option<BlockFailure> {
        let mut known = Vec::new();
        let mut given = Vec::with_capacity(plan.parameters.len());
        for parameter in &plan.parameters {
            let mut arguments = call.arguments.iter();
            let argument = arguments.find(|(name, _)| *name == parameter.name);
            given.push(match argument {
                None => Argument::LeftOut,
                Some((_, code)) => match value(self, site, code) {
                    None => Argument::Unknown,
                    // A null that the parameter does not admit is left out.
                    Some(Value::Null) if !parameter.required && !parameter.ty.admits_null() => {
                        Argument::LeftOut
                    }
                    Some(value) => {
                        known.push(code.span);
                        Argument::Known(value)
                    }
                },
            });
        }
        if given.iter().all(|given| matches!(given, Argument::Unknown)) {
            return None;
        }
        let (error, place) = self.failure_of(plan, &given)?;
        // A failure that is independent of the arguments is reported in the called plan.
        let (always, left) = Constants::and_work(plan, self.work);
        self.work = left;
        let mut always = always.failures().iter();
        if always.any(|always| always.error.span == error.span) {
            return None;
        }
        let span = match known[..] {
            [only] => only,
            _ => call.span,
        };
        let called = CalledPlan {
            name: name.clone(),
            place,
        };
        Some(BlockFailure::of_plan(called, EvalError { span, ..error }))
    }

    /// Returns the first failure of a plan that certainly occurs when it is called with these arguments, and its place.
    fn failure_of(&mut self, plan: &'a Plan, given: &[Argument]) -> Option<(EvalError, String)> {
        let blocks = u64::try_from(plan.blocks.len()).unwrap_or(u64::MAX);
        let work = blocks.saturating_add(WORK_PER_PLAN);
        let mut called = Walk::new(plan, self.work.checked_sub(work)?);
        for ((parameter, argument), slot) in plan.parameters.iter().zip(given).zip(0..) {
            match called.parameter(parameter, argument) {
                Evaluated::Value(value) => called.names.bind(BlockId(0), slot, value),
                Evaluated::Unknown => {}
                Evaluated::Fails(error) => {
                    self.work = called.work;
                    let place = plan.source.place(error.span);
                    return Some((error, place));
                }
            }
        }
        let ending = called.nodes(BlockId(0));
        self.work = called.work;
        match ending {
            Ending::Failed(mut failure) => {
                let inner = failure.called.take().map(|called| called.place);
                let error = failure.into_error();
                let place = inner.unwrap_or_else(|| plan.source.place(error.span));
                Some((error, place))
            }
            Ending::Completed | Ending::Next(..) | Ending::Open => None,
        }
    }

    /// Returns the value of a parameter if it is known, and the failure of its default.
    fn parameter(&mut self, parameter: &PlanParameter, argument: &Argument) -> Evaluated {
        match (argument, &parameter.default) {
            (Argument::Known(value), _) => {
                convert(value.clone(), &parameter.ty).map_or(Evaluated::Unknown, Evaluated::Value)
            }
            (Argument::Unknown, _) => Evaluated::Unknown,
            (Argument::LeftOut, None) => Evaluated::Value(Value::Null),
            (Argument::LeftOut, Some(default)) => self.whole(Site::of(BlockId(0)), default),
        }
    }
}
