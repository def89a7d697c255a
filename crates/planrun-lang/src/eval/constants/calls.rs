//! Finds calls whose known arguments are refused in every run: they break the contract of the tool, or a built-in tool
//! never accepts them. The same for the values of form fields that are passed on to a tool, and for calls of plans that
//! fail with the known arguments.

use super::Walk;
use super::failure::{BlockFailure, Cause};
use super::names::Site;
use crate::builtins::refused_argument;
use crate::eval::EvalError;
use crate::sema::expr::CheckedExpr;
use crate::sema::{Call, CallArguments, InputField, Node, StepKind, Target};
use crate::types::{BUILT_IN, Signature};
use crate::value::Value;

/// Maximum number of characters of a value in a message.
const MAX_VALUE_CHARACTERS: usize = 60;

/// Evaluates an expression of a node at its site.
pub(super) type Evaluate<'a> = fn(&mut Walk<'a>, Site<'_>, &'a CheckedExpr) -> Option<Value>;

impl<'a> Walk<'a> {
    /// Returns why the call or the form of a node is refused.
    pub(super) fn refused(
        &mut self,
        site: Site<'_>,
        node: &'a Node,
        value: Evaluate<'a>,
    ) -> Option<BlockFailure> {
        let step = node.step()?;
        match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(signature) => self.refused_call(site, call, signature, value),
                // An arm may be there for what fails in the plan.
                Target::Plan(..) if !step.recover.is_empty() => None,
                Target::Plan(index, name) => {
                    let plan = self.plan.plans.get(*index)?;
                    self.failing_plan(site, call, (plan, name), value)
                }
            },
            StepKind::Input(form) => {
                let mut fields = form.fields.iter();
                fields.find_map(|field| refused_field(self, site, field, value))
            }
            _ => None,
        }
    }

    fn refused_call(
        &mut self,
        site: Site<'_>,
        call: &'a Call,
        signature: &Signature,
        value: Evaluate<'a>,
    ) -> Option<BlockFailure> {
        if !call.checked_at_run && !BUILT_IN.contains(&&*signature.namespace) {
            return None;
        }
        let tool = (&*signature.namespace, &*signature.name);
        let mut values = Vec::with_capacity(call.arguments.len());
        for (name, code) in &call.arguments {
            let given = value(self, site, code);
            let refused = given
                .as_ref()
                .and_then(|given| refused_argument(tool, name, given));
            if let Some(message) = refused {
                return Some(BlockFailure::new(EvalError::plain(message, code.span)));
            }
            values.push((std::ptr::from_ref(code), given));
        }
        // If all are literals, they have been compared with the contract before.
        if !call.checked_at_run || values.iter().all(|(_, value)| value.is_none()) {
            return None;
        }
        let arguments = CallArguments {
            signature,
            arguments: &call.arguments,
            span: call.span,
        };
        let judged = arguments.judge(&mut |code| {
            let mut values = values.iter();
            let (_, value) = values.find(|(known, _)| std::ptr::eq(*known, code))?;
            value.clone()
        });
        judged
            .err()
            .map(|broken| BlockFailure::of_contract(broken.message, broken.span))
    }

    /// Returns the names with known values that the argument at this place reads.
    pub(super) fn causes_of_refusal(
        &self,
        site: Site<'_>,
        node: &Node,
        error: &EvalError,
    ) -> Vec<Cause> {
        let mut causes = Vec::new();
        node.codes(&mut |code| {
            if code.span == error.span {
                let reads = code.reads.iter();
                causes.extend(reads.filter_map(|read| self.names.cause(site, read.place)));
            }
        });
        causes
    }
}

/// Returns why the known values of a field are refused.
fn refused_field<'a>(
    walk: &mut Walk<'a>,
    site: Site<'_>,
    field: &'a InputField,
    value: Evaluate<'a>,
) -> Option<BlockFailure> {
    let options = field.options.as_ref().filter(|_| field.must_be_given());
    let mut is_empty = |options: &'a CheckedExpr| {
        let known = value(walk, site, options);
        known.is_some_and(|known| known.as_list().is_some_and(<[_]>::is_empty))
    };
    if let Some(options) = options.filter(|options| is_empty(options)) {
        let message = format!("`{}` has no options, so nobody can answer", field.name);
        return Some(BlockFailure::new(EvalError::plain(message, options.span)));
    }
    // Literals have been compared with the contracts before.
    let mut codes = field.codes().filter(|code| code.constant().is_none());
    codes.find_map(|code| broken_field(field, code, &value(walk, site, code)?))
}

/// Returns why an argument to which a field is passed does not accept one of its values.
fn broken_field(field: &InputField, code: &CheckedExpr, value: &Value) -> Option<BlockFailure> {
    let options = field.options.as_ref();
    let is_options = options.is_some_and(|options| std::ptr::eq(options, code));
    let values = if is_options {
        value.as_list()?
    } else {
        std::slice::from_ref(value)
    };
    let given = values.iter().filter(|value| !value.is_null());
    let message = given.into_iter().find_map(|value| {
        let mut contracts = field.contracts.iter();
        let violation = contracts.find_map(|contract| {
            let violations = contract.violations(&value.to_json());
            violations.into_iter().next()
        })?;
        let (name, value) = (&field.name, value.preview(MAX_VALUE_CHARACTERS));
        Some(format!(
            "`{name}` is passed on to a tool, but {value} {violation}"
        ))
    })?;
    Some(BlockFailure::of_contract(message, code.span))
}
