//! Effects, tools and failures: which tools are called, their contracts, and the errors with which the plan may fail.

use std::sync::Arc;

use planrun_lang::source::Span;
use planrun_lang::types::{Contract, Effect, Field, Rest, Signature, Type};

use super::constraints::changed;
use super::difference::{Difference, differences};
use super::survey::{COMPUTED_ROLE, Called, Survey};
use super::{Changes, Kind, kind, only_in};

pub(super) fn inspect(changes: &mut Changes<'_>, then: &Survey, now: &Survey) {
    plan_class(changes);
    for (path, is) in &now.tools {
        let Some(was) = then.tools.get(path) else {
            added(changes, path, is);
            continue;
        };
        let call = Both { path, was, is };
        call.class(changes);
        call.gates(changes);
        call.contract(changes);
        call.constraints(changes);
    }
    for (path, was) in only_in(&then.tools, &now.tools) {
        let kind = if was.effect.is_read_only() {
            &kind::TOOL_REMOVED
        } else {
            &kind::CALL_REMOVED
        };
        let class = was.effect;
        let message = format!("`{path}`, whose effect class is {class}, is no longer called");
        changes.note(kind, path, message, (Some(was.span), None));
    }
    failures(changes, then, now);
}

/// Reports a change of the effect class of the whole plan.
fn plan_class(changes: &mut Changes<'_>) {
    let [was, is] = [changes.then, changes.now].map(|side| side.plan.does.effect);
    if was == is {
        return;
    }
    let kind = if is > was {
        &kind::EFFECT_RAISED
    } else {
        &kind::EFFECT_LOWERED
    };
    let name = &changes.now.plan.name;
    let message = format!("the effect class of `{name}` changed from {was} to {is}");
    changes.note(kind, &**name, message, (None, None));
}

/// Reports a tool that the old version does not call.
fn added(changes: &mut Changes<'_>, path: &str, is: &Called) {
    let (kind, change_text) = match (is.effect, is.unconfirmed) {
        (Effect::Irreversible, Some(_)) => (
            &kind::IRREVERSIBLE_UNCONFIRMED,
            "is now called without confirmation",
        ),
        (effect, _) if effect.is_read_only() => (&kind::TOOL_ADDED, "is now called"),
        (_, _) => (&kind::CALL_ADDED, "is now called"),
    };
    let message = format!("`{path}` {change_text}; its effect class is {}", is.effect);
    let place = is.unconfirmed.unwrap_or(is.span);
    changes.note(kind, path, message, (None, Some(place)));
}

/// A tool that both versions call.
struct Both<'a> {
    path: &'a str,
    was: &'a Called,
    is: &'a Called,
}

impl Both<'_> {
    fn places(&self) -> (Option<Span>, Option<Span>) {
        (Some(self.was.span), Some(self.is.span))
    }

    /// Reports a change of a part of the arguments or the result.
    fn note(&self, changes: &mut Changes<'_>, kind: &'static Kind, part: [&str; 2], change: &str) {
        let path = self.path;
        let message = match part {
            ["", whole] => format!("the {whole} of `{path}` {change}"),
            [part, whole] => format!("`{part}` of the {whole} of `{path}` {change}"),
        };
        changes.note(kind, path, message, self.places());
    }

    /// Reports a change of the effect class of the calls.
    fn class(&self, changes: &mut Changes<'_>) {
        let (path, was, is) = (self.path, self.was.effect, self.is.effect);
        if was == is {
            return;
        }
        let kind = if is > was {
            &kind::TOOL_EFFECT_RAISED
        } else {
            &kind::TOOL_EFFECT_LOWERED
        };
        let message = format!("the effect class of `{path}` changed from {was} to {is}");
        changes.note(kind, path, message, self.places());
    }

    /// Reports a change of who has to confirm the calls.
    fn gates(&self, changes: &mut Changes<'_>) {
        let Self { path, was, is } = self;
        let (kind, message, now) = match (was.unconfirmed, is.unconfirmed) {
            (None, Some(span)) if is.effect == Effect::Irreversible => {
                let message =
                    format!("`{path}` cannot be undone and is now called without confirmation");
                (&kind::IRREVERSIBLE_UNCONFIRMED, message, span)
            }
            (None, Some(span)) => {
                let message = format!("`{path}` is now called without confirmation");
                (&kind::CONFIRM_REMOVED, message, span)
            }
            (Some(_), None) => {
                let message = format!("`{path}` now needs a confirmation before it is called");
                (&kind::CONFIRM_ADDED, message, is.span)
            }
            (None, None) | (Some(_), Some(_)) if was.roles == is.roles => return,
            (None, None) | (Some(_), Some(_)) => {
                let [before, after] = [was, is].map(|called| {
                    let roles = called.roles.iter().map(|role| describe_role(role));
                    let roles = roles.collect::<Vec<_>>().join(" and ");
                    if roles.is_empty() {
                        "no one".to_owned()
                    } else {
                        roles
                    }
                });
                let message = format!("the approver of `{path}` changed from {before} to {after}");
                (&kind::ROLE_CHANGED, message, is.span)
            }
        };
        changes.note(kind, *path, message, (Some(was.span), Some(now)));
    }

    /// Reports changes of the types of the arguments and the result.
    fn contract(&self, changes: &mut Changes<'_>) {
        let [was, is] = [self.was, self.is].map(|called| &called.signature);
        let kinds = (
            &kind::TOOL_ARGUMENTS_NARROWED,
            &kind::TOOL_ARGUMENTS_WIDENED,
        );
        for Difference { path, change } in differences(&arguments(was), &arguments(is), "") {
            let kind = change.select_kind(kinds.0, kinds.1);
            self.note(changes, kind, [&path, "arguments"], &change.describe());
        }
        let results = (&was.returns.opened(), &is.returns.opened());
        for Difference { path, change } in differences(results.0, results.1, "") {
            let kind = if change.may_break_readers() {
                &kind::TOOL_RESULT_WIDENED
            } else {
                &kind::TOOL_RESULT_NARROWED
            };
            self.note(
                changes,
                kind,
                [&path, "result"],
                &change.describe_for_readers(),
            );
        }
    }

    /// Reports changed constraints of the arguments and the result that types do not express.
    fn constraints(&self, changes: &mut Changes<'_>) {
        let between = |schema: fn(&Signature) -> Option<&Arc<Contract>>| {
            let both = schema(&self.was.signature).zip(schema(&self.is.signature));
            both.map_or_else(Vec::new, |(before, after)| {
                changed(before.schema(), after.schema())
            })
        };
        for change in between(|signature| signature.input_schema.as_ref()) {
            let kind = if change.is_looser {
                &kind::TOOL_ARGUMENTS_WIDENED
            } else {
                &kind::TOOL_ARGUMENTS_NARROWED
            };
            self.note(changes, kind, [&change.path, "arguments"], &change.text);
        }
        for change in between(|signature| signature.output_schema.as_ref()) {
            let kind = if change.is_tighter {
                &kind::TOOL_RESULT_NARROWED
            } else {
                &kind::TOOL_RESULT_WIDENED
            };
            self.note(changes, kind, [&change.path, "result"], &change.text);
        }
    }
}

/// Formats a role for a message.
pub(super) fn describe_role(role: &str) -> String {
    match role {
        "" => "anyone".to_owned(),
        COMPUTED_ROLE => COMPUTED_ROLE.to_owned(),
        _ => format!("`{role}`"),
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
fn failures(changes: &mut Changes<'_>, then: &Survey, now: &Survey) {
    for (name, (_, span)) in only_in(&now.errors, &then.errors) {
        let message = format!("the plan may now fail with `{name}`");
        changes.note(&kind::ERROR_ADDED, name, message, (None, Some(*span)));
    }
    for (name, (_, span)) in only_in(&then.errors, &now.errors) {
        let message = format!("the plan no longer fails with `{name}`");
        changes.note(&kind::ERROR_REMOVED, name, message, (Some(*span), None));
    }
}
