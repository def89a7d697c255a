//! `never-fires`, `dependency-cycle`, `cannot-finish`, `stalls`: a statement waits for what never happens.

use std::collections::BTreeSet;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::lint::flow::{At, Cause, Flow, Link, Root};
use crate::sema::{BlockId, Event, NodeKind, StepKind};
use crate::source::Span;
use crate::value::Value;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let Some(flow) = subject.flow() else { return };
    let mut reported = BTreeSet::new();
    for (at, event) in flow.waiting() {
        if !flow.begins(at) {
            continue;
        }
        if flow.can_occur(at) {
            found.extend(never_allowed(subject, flow, at));
            continue;
        }
        match flow.cause(at, event) {
            Cause::Elsewhere => {}
            Cause::Root(root) => found.push(never_true(subject, flow, at, event, &root)),
            Cause::Cycle(links) => {
                let members = links.iter().map(|link| link.at).collect::<BTreeSet<_>>();
                if reported.insert(members) {
                    found.push(cycle(subject, flow, &links));
                }
            }
        }
    }
}

/// Reports a listener with `max 0`.
fn never_allowed(subject: &Subject<'_>, flow: &Flow<'_>, at: At) -> Option<Diagnostic> {
    let NodeKind::Listener(listener) = &flow.at(at).kind else {
        return None;
    };
    let max = listener.max.as_ref()?;
    let Some(Value::Int(most)) = subject.known(max) else {
        return None;
    };
    let message = format!(
        "{} never fires: it may fire {most} times",
        name(subject, flow, at)
    );
    let found = codes::order::NEVER_FIRES.at(max.span, message);
    (*most < 1)
        .then(|| found.help("remove `max` if once is enough, or write the maximum number of times"))
}

/// Reports a condition that can never come true.
fn never_true(
    subject: &Subject<'_>,
    flow: &Flow<'_>,
    at: At,
    event: &Event,
    root: &Root,
) -> Diagnostic {
    let who = name(subject, flow, at);
    let (code, message) = match &flow.at(at).kind {
        NodeKind::Listener(_) => (&codes::order::NEVER_FIRES, format!("{who} never fires")),
        _ if unavoidable(flow, at) => (
            &codes::order::CANNOT_FINISH,
            format!("this plan never ends: {who} waits forever"),
        ),
        _ => (&codes::order::STALLS, format!("{who} waits forever")),
    };
    let finding = |reason: &str| code.at(event.span, format!("{message}, since {reason}"));
    match root {
        Root::NotSet(id, statuses) => {
            let task = flow.plan.task(*id);
            let required = statuses.iter().map(|status| format!("`{}`", task.status_name(*status)));
            let required = required.collect::<Vec<_>>().join(" or ");
            let mut finding = finding(&format!("`{}` is never set to {required}", task.name));
            finding = finding.label(task.span, "this task");
            for (_, set) in flow.sets().filter(|(_, set)| set.task == *id).take(3) {
                finding = finding.label(set.span, format!("sets it to `{}`", task.status_name(set.status)));
            }
            let status = statuses.first().map_or("", |status| task.status_name(*status));
            finding.help(format!("write `set {} {status}` where that has happened, or make it `external` if it is set from outside", task.name))
        }
        Root::NoState(step) => {
            let own = flow.at(*step).name.as_deref().unwrap_or("it").to_owned();
            let class = flow.at(*step).step().map_or("", |step| step.effect.name());
            finding(&format!("`{own}` is never in that state"))
                .label(flow.at(*step).step().map_or(event.span, |step| step.span), format!("a step of class `{class}`"))
                .help("test for `failed`: a read is repeated if its answer is lost, so its outcome is never unknown")
        }
        Root::Excluded => finding("its parts exclude each other")
            .help("join the alternatives with `||`: a step or task is in one state at a time"),
        Root::PlanEnds => finding("the plan ends only when all its steps have ended")
            .help("to act at the end of the plan, use a listener: `listener l on plan is completed { … }`"),
        Root::NoEvent => finding("its condition is not true after any event")
            .help("test another state: the condition is tested only after an event of what it names, and a step never returns to `pending`"),
    }
}

/// Reports statements that wait for each other in a cycle.
fn cycle(subject: &Subject<'_>, flow: &Flow<'_>, links: &[Link<'_>]) -> Diagnostic {
    let need = |link: &Link<'_>| match link.set {
        Some((_, set)) => {
            let task = flow.plan.task(set.task);
            format!("`{}` is {}", task.name, task.status_name(set.status))
        }
        None => format!("`{}`", subject.source.slice(link.event.span)),
    };
    let who = |link: &Link<'_>| name(subject, flow, link.at);
    let chain = links
        .iter()
        .map(|link| format!("{} -> {}", need(link), who(link)));
    let chain = chain
        .chain(links.first().map(need))
        .collect::<Vec<_>>()
        .join(" -> ");
    if let [only] = links
        && !matches!(flow.at(only.at).kind, NodeKind::Listener(_))
    {
        return only_from_below(flow, only, &who(only), &need(only));
    }
    let last = links.iter().max_by_key(|link| link.event.span.start);
    let span = last.map_or(subject.plan.span, |link| link.event.span);
    let message = match (links, last) {
        ([only], _) => format!(
            "{} waits for something that only happens after it",
            who(only)
        ),
        (_, Some(last)) => format!("{} waits for something that waits for it", who(last)),
        (_, None) => String::new(),
    };
    let mut finding = codes::order::DEPENDENCY_CYCLE
        .at(span, message)
        .note("never happens");
    for link in links {
        if link.event.span != span {
            finding = finding.label(link.event.span, format!("{} waits for this", who(link)));
        }
        if let Some((_, set)) = link.set {
            finding = finding.label(set.span, "this happens too late");
        }
    }
    finding.help(format!("{chain}: none of these can happen first; move one `set` up, or set the task in another place"))
}

/// Reports a step that waits for what only statements below it can cause.
fn only_from_below(flow: &Flow<'_>, link: &Link<'_>, who: &str, need: &str) -> Diagnostic {
    let (code, message) = if unavoidable(flow, link.at) {
        (
            &codes::order::CANNOT_FINISH,
            format!("this plan never ends: {who} waits for something that only happens below it"),
        )
    } else {
        (
            &codes::order::STALLS,
            format!("{who} waits for something that only happens below it"),
        )
    };
    let mut finding = code.at(link.event.span, message).note("never happens");
    if let Some((_, set)) = link.set {
        finding = finding.label(set.span, "this runs after the wait");
    }
    finding.help(format!(
        "move the wait below the statement that causes {need}, or cause it in a listener: statements run from top to bottom"
    ))
}

/// Returns true if every run that does not fail has to complete this statement.
fn unavoidable(flow: &Flow<'_>, mut at: At) -> bool {
    loop {
        let nodes = &flow.plan.block(at.block).nodes;
        let early = |kind: &NodeKind| {
            matches!(
                kind,
                NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Fail(_)
            )
        };
        let ends_above = nodes.iter().take(at.node).any(|node| early(&node.kind));
        let own = flow.at(at);
        let step = own.step();
        let left = step.is_none_or(|step| !step.recover.is_empty());
        if ends_above || left || !own.guard.is_empty() {
            return false;
        }
        if at.block == BlockId(0) {
            return true;
        }
        let Some(owner) = flow.owner(at.block) else {
            return false;
        };
        if !matches!(
            flow.at(owner).step().map(|step| &step.kind),
            Some(StepKind::Do(_))
        ) {
            return false;
        }
        at = owner;
    }
}

/// Returns the name of a statement for messages.
fn name(subject: &Subject<'_>, flow: &Flow<'_>, at: At) -> String {
    let place = |span: Span| subject.source.slice(span).to_owned();
    let node = flow.at(at);
    format!(
        "`{}`",
        node.name
            .as_deref()
            .map_or_else(|| place(node.span), str::to_owned)
    )
}
