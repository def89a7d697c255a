//! Effects, tools and failures: which tools are called, what their contracts say, and how the plan may fail for that.

use planrun_lang::source::Span;
use planrun_lang::types::{Effect, Field, Rest, Signature, Type};

use super::difference::{Difference, differences};
use super::survey::{Called, Survey};
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
            "`{path}`, whose class is {}, is not called any more",
            was.effect
        );
        found.push(pair.finding(kind, path, message, (Some(was.span), None)));
    }
    failures(pair, then, now, found);
}

/// The class of the plan as a whole.
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
        format!("the class of `{name}` was {was} and is {is}"),
        (None, None),
    ));
}

/// A tool that was not called.
fn added(pair: &Pair<'_>, path: &str, is: &Called, found: &mut Vec<Finding>) {
    let (kind, why) = match (is.effect, is.unconfirmed) {
        (Effect::Irreversible, Some(_)) => (
            &kind::IRREVERSIBLE_UNCONFIRMED,
            "nobody is asked before it is called",
        ),
        (effect, _) if effect.is_read_only() => (&kind::TOOL_ADDED, "it is called"),
        (_, _) => (&kind::CALL_ADDED, "it is called"),
    };
    let message = format!(
        "`{path}` was not called; {why}, and its class is {}",
        is.effect
    );
    found.push(pair.finding(
        kind,
        path,
        message,
        (None, Some(is.unconfirmed.unwrap_or(is.span))),
    ));
}

/// The class of its calls.
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
        "the class of `{path}` was {} and is {}",
        was.effect, is.effect
    );
    found.push(pair.finding(kind, path, message, (Some(was.span), Some(is.span))));
}

/// Whether somebody is asked before it is called, and who.
fn gates(pair: &Pair<'_>, path: &str, was: &Called, is: &Called, found: &mut Vec<Finding>) {
    let (kind, message, now) = match (was.unconfirmed, is.unconfirmed) {
        (None, Some(span)) if is.effect == Effect::Irreversible => {
            let message = format!(
                "`{path}` cannot be taken back, and nobody is asked any more before it is called"
            );
            (&kind::IRREVERSIBLE_UNCONFIRMED, message, span)
        }
        (None, Some(span)) => (
            &kind::CONFIRM_REMOVED,
            format!("nobody is asked any more before `{path}` is called"),
            span,
        ),
        (Some(_), None) => (
            &kind::CONFIRM_ADDED,
            format!("somebody is asked before `{path}` is called, and was not"),
            is.span,
        ),
        (None, None) | (Some(_), Some(_)) if was.roles == is.roles => return,
        (None, None) | (Some(_), Some(_)) => {
            let describe = |called: &Called| match called
                .roles
                .iter()
                .map(|role| who(role))
                .collect::<Vec<_>>()
            {
                roles if roles.is_empty() => "nobody".to_owned(),
                roles => roles.join(" and "),
            };
            let message = format!(
                "before `{path}` {} had to agree, and now {}",
                describe(was),
                describe(is)
            );
            (&kind::ROLE_CHANGED, message, is.span)
        }
    };
    found.push(pair.finding(kind, path, message, (Some(was.span), Some(now))));
}

/// A role in a sentence.
pub(super) fn who(role: &str) -> String {
    if role.is_empty() {
        "anybody".to_owned()
    } else {
        format!("`{role}`")
    }
}

/// What it takes and gives.
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
        let kind = difference.change.weighed(
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
        let widened = difference.change.surprises();
        let kind = if widened {
            &kind::TOOL_RESULT_WIDENED
        } else {
            &kind::TOOL_RESULT_NARROWED
        };
        note(
            kind,
            "result",
            &difference,
            difference.change.describe_to_readers(),
        );
    }
}

/// All arguments as one object.
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

/// The classes that it fails with.
fn failures(pair: &Pair<'_>, then: &Survey, now: &Survey, found: &mut Vec<Finding>) {
    for (name, (_, span)) in now
        .errors
        .iter()
        .filter(|(name, _)| !then.errors.contains_key(*name))
    {
        let message = format!("the plan may fail with `{name}`, and could not");
        found.push(pair.finding(&kind::ERROR_ADDED, name, message, (None, Some(*span))));
    }
    for (name, (_, span)) in then
        .errors
        .iter()
        .filter(|(name, _)| !now.errors.contains_key(*name))
    {
        let message = format!("the plan does not fail with `{name}` any more");
        found.push(pair.finding(&kind::ERROR_REMOVED, name, message, (Some(*span), None)));
    }
}
