//! Effects, tools and failures: which tools are called, their contracts, and the errors with which the plan may fail.

use std::sync::Arc;

use planrun_lang::source::Span;
use planrun_lang::types::{Contract, Effect, Field, Rest, Signature, Type};

use super::constraints::{Changed, changed};
use super::difference::{Difference, differences};
use super::survey::{COMPUTED_ROLE, Called, Survey};
use super::{Finding, Pair, kind};

pub(super) fn inspect(pair: &Pair<'_>, then: &Survey, now: &Survey, found: &mut Vec<Finding>) {
    plan_class(pair, found);
    for (path, is) in &now.tools {
        match then.tools.get(path) {
            None => added(pair, path, is, found),
            Some(was) => {
                class(pair, path, was, is, found);
                gates(pair, path, was, is, found);
                contract(pair, path, was, is, found);
            }
        }
    }
    for (path, was) in then
        .tools
        .iter()
        .filter(|(path, _)| !now.tools.contains_key(*path))
    {
        let kind = if was.effect.is_read_only() {
            &kind::TOOL_REMOVED
        } else {
            &kind::CALL_REMOVED
        };
        let message = format!(
            "`{path}`, whose effect class is {}, is no longer called",
            was.effect
        );
        found.push(pair.finding(kind, path, message, (Some(was.span), None)));
    }
    failures(pair, then, now, found);
}

/// Reports a change of the effect class of the whole plan.
fn plan_class(pair: &Pair<'_>, found: &mut Vec<Finding>) {
    let (was, is) = (pair.then.plan.does.effect, pair.now.plan.does.effect);
    if was == is {
        return;
    }
    let kind = if is > was {
        &kind::EFFECT_RAISED
    } else {
        &kind::EFFECT_LOWERED
    };
    let name = &pair.now.plan.name;
    found.push(pair.finding(
        kind,
        &**name,
        format!("the effect class of `{name}` changed from {was} to {is}"),
        (None, None),
    ));
}

/// Reports a tool that the old version does not call.
fn added(pair: &Pair<'_>, path: &str, is: &Called, found: &mut Vec<Finding>) {
    let (kind, change_text) = match (is.effect, is.unconfirmed) {
        (Effect::Irreversible, Some(_)) => (
            &kind::IRREVERSIBLE_UNCONFIRMED,
            "is now called without confirmation",
        ),
        (effect, _) if effect.is_read_only() => (&kind::TOOL_ADDED, "is now called"),
        (_, _) => (&kind::CALL_ADDED, "is now called"),
    };
    let message = format!("`{path}` {change_text}; its effect class is {}", is.effect);
    found.push(pair.finding(
        kind,
        path,
        message,
        (None, Some(is.unconfirmed.unwrap_or(is.span))),
    ));
}

/// Reports a change of the effect class of the calls of a tool.
fn class(pair: &Pair<'_>, path: &str, was: &Called, is: &Called, found: &mut Vec<Finding>) {
    if was.effect == is.effect {
        return;
    }
    let kind = if is.effect > was.effect {
        &kind::TOOL_EFFECT_RAISED
    } else {
        &kind::TOOL_EFFECT_LOWERED
    };
    let message = format!(
        "the effect class of `{path}` changed from {} to {}",
        was.effect, is.effect
    );
    found.push(pair.finding(kind, path, message, (Some(was.span), Some(is.span))));
}

/// Reports a change of who has to confirm the calls of a tool.
fn gates(pair: &Pair<'_>, path: &str, was: &Called, is: &Called, found: &mut Vec<Finding>) {
    let (kind, message, now) = match (was.unconfirmed, is.unconfirmed) {
        (None, Some(span)) if is.effect == Effect::Irreversible => {
            let message =
                format!("`{path}` cannot be undone and is now called without confirmation");
            (&kind::IRREVERSIBLE_UNCONFIRMED, message, span)
        }
        (None, Some(span)) => (
            &kind::CONFIRM_REMOVED,
            format!("`{path}` is now called without confirmation"),
            span,
        ),
        (Some(_), None) => (
            &kind::CONFIRM_ADDED,
            format!("`{path}` now needs a confirmation before it is called"),
            is.span,
        ),
        (None, None) | (Some(_), Some(_)) if was.roles == is.roles => return,
        (None, None) | (Some(_), Some(_)) => {
            let describe = |called: &Called| match called
                .roles
                .iter()
                .map(|role| describe_role(role))
                .collect::<Vec<_>>()
            {
                roles if roles.is_empty() => "no one".to_owned(),
                roles => roles.join(" and "),
            };
            let message = format!(
                "the approver of `{path}` changed from {} to {}",
                describe(was),
                describe(is)
            );
            (&kind::ROLE_CHANGED, message, is.span)
        }
    };
    found.push(pair.finding(kind, path, message, (Some(was.span), Some(now))));
}

/// Formats a role for a message.
pub(super) fn describe_role(role: &str) -> String {
    match role {
        "" => "anyone".to_owned(),
        COMPUTED_ROLE => COMPUTED_ROLE.to_owned(),
        _ => format!("`{role}`"),
    }
}

/// Reports changes of the arguments and the result of a tool.
fn contract(pair: &Pair<'_>, path: &str, was: &Called, is: &Called, found: &mut Vec<Finding>) {
    let places: (Option<Span>, Option<Span>) = (Some(was.span), Some(is.span));
    let mut note = |kind, what: &str, difference: &Difference, change: String| {
        let part = &difference.path;
        let of = if part.is_empty() {
            format!("the {what}")
        } else {
            format!("`{part}` of the {what}")
        };
        found.push(pair.finding(kind, path, format!("{of} of `{path}` {change}"), places));
    };
    for difference in differences(&arguments(&was.signature), &arguments(&is.signature), "") {
        let kind = difference.change.select_kind(
            &kind::TOOL_ARGUMENTS_NARROWED,
            &kind::TOOL_ARGUMENTS_WIDENED,
        );
        note(kind, "arguments", &difference, difference.change.describe());
    }
    for difference in differences(
        &was.signature.returns.opened(),
        &is.signature.returns.opened(),
        "",
    ) {
        let widened = difference.change.may_break_readers();
        let kind = if widened {
            &kind::TOOL_RESULT_WIDENED
        } else {
            &kind::TOOL_RESULT_NARROWED
        };
        note(
            kind,
            "result",
            &difference,
            difference.change.describe_for_readers(),
        );
    }
    constraints_of(pair, path, was, is, found);
}

/// Reports changed constraints of the arguments and the result of a tool that types do not express.
fn constraints_of(
    pair: &Pair<'_>,
    path: &str,
    was: &Called,
    is: &Called,
    found: &mut Vec<Finding>,
) {
    let places = (Some(was.span), Some(is.span));
    let changes = |schema: fn(&Signature) -> Option<&Arc<Contract>>| {
        let both = schema(&was.signature).zip(schema(&is.signature));
        both.map_or_else(Vec::new, |(before, after)| {
            changed(before.schema(), after.schema())
        })
    };
    let mut note = |kind, what: &str, change: &Changed| {
        let part = if change.path.is_empty() {
            format!("the {what}")
        } else {
            format!("`{}` of the {what}", change.path)
        };
        let message = format!("{part} of `{path}` {}", change.text);
        found.push(pair.finding(kind, path, message, places));
    };
    for change in changes(|signature| signature.input_schema.as_ref()) {
        let kind = if change.is_looser {
            &kind::TOOL_ARGUMENTS_WIDENED
        } else {
            &kind::TOOL_ARGUMENTS_NARROWED
        };
        note(kind, "arguments", &change);
    }
    for change in changes(|signature| signature.output_schema.as_ref()) {
        let kind = if change.is_tighter {
            &kind::TOOL_RESULT_NARROWED
        } else {
            &kind::TOOL_RESULT_WIDENED
        };
        note(kind, "result", &change);
    }
}

/// Returns all arguments as one object type.
fn arguments(signature: &Signature) -> Type {
    let field = |parameter: &planrun_lang::types::Parameter| Field {
        name: parameter.name.clone(),
        ty: parameter.ty.clone(),
        required: parameter.required,
    };
    let rest = if signature.extra_arguments {
        Rest::Open
    } else {
        Rest::Closed
    };
    Type::object(signature.parameters.iter().map(field).collect(), rest)
}

/// Reports the error classes that were added or removed.
fn failures(pair: &Pair<'_>, then: &Survey, now: &Survey, found: &mut Vec<Finding>) {
    for (name, (_, span)) in now
        .errors
        .iter()
        .filter(|(name, _)| !then.errors.contains_key(*name))
    {
        let message = format!("the plan may now fail with `{name}`");
        found.push(pair.finding(&kind::ERROR_ADDED, name, message, (None, Some(*span))));
    }
    for (name, (_, span)) in then
        .errors
        .iter()
        .filter(|(name, _)| !now.errors.contains_key(*name))
    {
        let message = format!("the plan no longer fails with `{name}`");
        found.push(pair.finding(&kind::ERROR_REMOVED, name, message, (Some(*span), None)));
    }
}
