//! External tasks with their statuses, and signals.

use planrun_lang::sema::{Plan, Task};
use planrun_lang::types::{Field, Type};

use super::survey::{Signal, Survey};
use super::{Changes, Kind, kind, only_in};

/// The kinds of changes of a payload or a context.
const KINDS: [&Kind; 2] = [&kind::SIGNAL_NARROWED, &kind::SIGNAL_WIDENED];

pub(super) fn inspect(changes: &mut Changes<'_>, then: &Survey, now: &Survey) {
    tasks(changes);
    for (name, is) in &now.signals {
        let Some(was) = then.signals.get(name) else {
            let message = format!("the plan now listens for the signal \"{name}\"");
            changes.note(&kind::SIGNAL_ADDED, &**name, message, (None, Some(is.span)));
            continue;
        };
        let places = (Some(was.span), Some(is.span));
        if let (Some(was), Some(is)) = (was.payload(), is.payload()) {
            changes.note_types((&was, &is), (name, "signal's payload"), KINDS, places);
        } else if was.payloads.keys().ne(is.payloads.keys()) {
            let message = format!("the types of the payload of the signal \"{name}\" changed");
            changes.note(&kind::SIGNAL_NARROWED, &**name, message, places);
        }
    }
    for (name, was) in only_in(&then.signals, &now.signals) {
        let message = format!("the plan no longer listens for the signal \"{name}\"");
        let places = (Some(was.span), None);
        changes.note(&kind::SIGNAL_REMOVED, &**name, message, places);
    }
}

fn external(plan: &Plan) -> impl Iterator<Item = &Task> {
    plan.tasks.iter().filter(|task| task.external)
}

fn tasks(changes: &mut Changes<'_>) {
    let (then, now) = (changes.then.plan, changes.now.plan);
    for was in external(then).filter(|was| external(now).all(|is| is.name != was.name)) {
        let name = &was.name;
        let today = now.tasks.iter().find(|is| is.name == *name);
        let message = match today {
            Some(_) => format!("the task `{name}` can no longer be moved from outside"),
            None => format!("the task `{name}` was removed"),
        };
        let places = (Some(was.span), today.map(|is| is.span));
        changes.note(&kind::TASK_REMOVED, &**name, message, places);
    }
    for is in external(now) {
        let name = &is.name;
        let Some(was) = external(then).find(|was| was.name == *name) else {
            let message = format!("the task `{name}` can now be moved from outside");
            changes.note(&kind::TASK_ADDED, &**name, message, (None, Some(is.span)));
            continue;
        };
        let places = (Some(was.span), Some(is.span));
        let mut report = |kind, status: &str, change_text: &str| {
            let message = format!("the task `{name}` {change_text} `{status}`");
            changes.note(kind, format!("{name}.{status}"), message, places);
        };
        for status in was.statuses.iter().filter(|one| !is.statuses.contains(one)) {
            report(&kind::STATUS_REMOVED, status, "no longer has the status");
        }
        for status in is.statuses.iter().filter(|one| !was.statuses.contains(one)) {
            report(&kind::STATUS_ADDED, status, "has the new status");
        }
        let contexts = (&merged(&was.context), &merged(&is.context));
        changes.note_types(contexts, (name, "task's context"), KINDS, places);
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
