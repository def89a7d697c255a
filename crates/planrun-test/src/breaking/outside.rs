//! External tasks with their statuses, and signals.

use planrun_lang::sema::{Plan, Task};
use planrun_lang::types::{Field, Type};

use super::difference::differences;
use super::survey::{Signal, Survey};
use super::{Finding, Pair, kind};

pub(super) fn inspect(pair: &Pair<'_>, then: &Survey, now: &Survey, found: &mut Vec<Finding>) {
    tasks(pair, found);
    for (name, is) in &now.signals {
        let Some(was) = then.signals.get(name) else {
            let message = format!("the plan now listens for the signal \"{name}\"");
            found.push(pair.finding(&kind::SIGNAL_ADDED, &**name, message, (None, Some(is.span))));
            continue;
        };
        let places = (Some(was.span), Some(is.span));
        let (Some(old), Some(new)) = (was.payload(), is.payload()) else {
            if was.payloads.keys().ne(is.payloads.keys()) {
                let message = format!("the types of the payload of the signal \"{name}\" changed");
                found.push(pair.finding(&kind::SIGNAL_NARROWED, &**name, message, places));
            }
            continue;
        };
        for difference in differences(&old, &new, name) {
            let kind = difference
                .change
                .select_kind(&kind::SIGNAL_NARROWED, &kind::SIGNAL_WIDENED);
            let message = format!(
                "`{}` of the signal's payload {}",
                difference.path,
                difference.change.describe()
            );
            found.push(pair.finding(kind, difference.path, message, places));
        }
    }
    for (name, was) in then
        .signals
        .iter()
        .filter(|(name, _)| !now.signals.contains_key(*name))
    {
        let message = format!("the plan no longer listens for the signal \"{name}\"");
        found.push(pair.finding(
            &kind::SIGNAL_REMOVED,
            &**name,
            message,
            (Some(was.span), None),
        ));
    }
}

fn external(plan: &Plan) -> impl Iterator<Item = &Task> {
    plan.tasks.iter().filter(|task| task.external)
}

fn tasks(pair: &Pair<'_>, found: &mut Vec<Finding>) {
    let (then, now) = (pair.then.plan, pair.now.plan);
    for was in external(then).filter(|was| external(now).all(|is| is.name != was.name)) {
        let today = now.tasks.iter().find(|is| is.name == was.name);
        let change_text = if today.is_some() {
            "can no longer be moved from outside"
        } else {
            "was removed"
        };
        let places = (Some(was.span), today.map(|is| is.span));
        found.push(pair.finding(
            &kind::TASK_REMOVED,
            &*was.name,
            format!("the task `{}` {change_text}", was.name),
            places,
        ));
    }
    for is in external(now) {
        let name = &is.name;
        let Some(was) = external(then).find(|was| was.name == *name) else {
            let message = format!("the task `{name}` can now be moved from outside");
            found.push(pair.finding(&kind::TASK_ADDED, &**name, message, (None, Some(is.span))));
            continue;
        };
        let places = (Some(was.span), Some(is.span));
        statuses(pair, was, is, found);
        for difference in differences(&merged(&was.context), &merged(&is.context), name) {
            let kind = difference
                .change
                .select_kind(&kind::SIGNAL_NARROWED, &kind::SIGNAL_WIDENED);
            let message = format!(
                "`{}` of the task's context {}",
                difference.path,
                difference.change.describe()
            );
            found.push(pair.finding(kind, difference.path, message, places));
        }
    }
}

/// Reports the statuses that only one of two versions of a task has.
fn statuses(pair: &Pair<'_>, was: &Task, is: &Task, found: &mut Vec<Finding>) {
    let name = &is.name;
    let places = (Some(was.span), Some(is.span));
    let mut report = |kind, status: &str, change_text: &str| {
        let message = format!("the task `{name}` {change_text}");
        found.push(pair.finding(kind, format!("{name}.{status}"), message, places));
    };
    for status in was
        .statuses
        .iter()
        .filter(|status| !is.statuses.contains(status))
    {
        report(
            &kind::STATUS_REMOVED,
            status,
            &format!("no longer has the status `{status}`"),
        );
    }
    for status in is
        .statuses
        .iter()
        .filter(|status| !was.statuses.contains(status))
    {
        report(
            &kind::STATUS_ADDED,
            status,
            &format!("has the new status `{status}`"),
        );
    }
}

/// Returns the type of the context that a move may pass. It is merged into the existing context, so every field is
/// optional.
fn merged(context: &Type) -> Type {
    let Type::Object(object) = context else {
        return context.clone();
    };
    let fields = object
        .fields
        .iter()
        .map(|field| Field {
            required: false,
            ..field.clone()
        })
        .collect();
    Type::object(fields, object.rest.clone())
}

impl Signal {
    /// Returns the type of its payload, `any` if none is declared; `None` if several types are declared.
    fn payload(&self) -> Option<Type> {
        let mut declared = self.payloads.values();
        let first = declared.next().cloned().unwrap_or(Type::Any);
        declared.next().is_none().then_some(first)
    }
}
