//! `never-fires`, `dependency-cycle`, `cannot-finish`, `stalls`: what is waited for never comes.

use std::collections::BTreeSet;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::lint::flow::{At, Cause, Flow, Link, Root};
use crate::sema::{BlockId, Event, NodeKind, StepKind};
use crate::source::Span;
use crate::value::Value;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let Some(flow) = subject.flow() else { return };
    let mut told = BTreeSet::new();
    for (at, event) in flow.waiting() {
        if !flow.begins(at) {
            continue;
        }
        if flow.comes(at) {
            found.extend(never_lets(subject, flow, at));
            continue;
        }
        match flow.cause(at, event) {
            Cause::Elsewhere => {}
            Cause::Root(root) => found.push(rootless(subject, flow, at, event, &root)),
            Cause::Circle(links) => {
                let members = links.iter().map(|link| link.at).collect::<BTreeSet<_>>();
                if told.insert(members) {
                    found.push(circle(subject, flow, &links));
                }
            }
        }
    }
}

/// `max 0`
fn never_lets(subject: &Subject<'_>, flow: &Flow<'_>, at: At) -> Option<Diagnostic> {
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
    let found = Diagnostic::new(&codes::order::NEVER_FIRES, max.span, message);
    (*most < 1)
        .then(|| found.help("leave `max` out where once is enough, or give the number of times"))
}

/// A condition that has no way to come true.
fn rootless(
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
            format!("this plan never ends: {who} waits in vain"),
        ),
        _ => (&codes::order::STALLS, format!("{who} waits in vain")),
    };
    let finding =
        |reason: &str| Diagnostic::new(code, event.span, format!("{message}, since {reason}"));
    match root {
        Root::NotSet(id, statuses) => {
            let task = flow.plan.task(*id);
            let wanted = statuses.iter().map(|status| format!("`{}`", task.status_name(*status)));
            let wanted = wanted.collect::<Vec<_>>().join(" or ");
            let mut finding = finding(&format!("nothing moves `{}` to {wanted}", task.name));
            finding = finding.label(task.span, "this task");
            for (_, set) in flow.sets().filter(|(_, set)| set.task == *id).take(3) {
                finding = finding.label(set.span, format!("moves it to `{}`", task.status_name(set.status)));
            }
            let status = statuses.first().map_or("", |status| task.status_name(*status));
            finding.help(format!("write `set {} {status}` where that has happened; or make it `external`, if somebody outside moves it", task.name))
        }
        Root::NoState(step) => {
            let own = flow.at(*step).name.as_deref().unwrap_or("it").to_owned();
            let class = flow.at(*step).step().map_or("", |step| step.effect.name());
            finding(&format!("`{own}` is never in that state"))
                .label(flow.at(*step).step().map_or(event.span, |step| step.span), format!("a step of class `{class}`"))
                .help("a call that only looks is done again where its answer is lost, so its outcome is never unknown; ask for `failed`")
        }
        Root::Excluded => finding("its parts exclude each other")
            .help("one thing is in one state at a time: join the alternatives with `||`"),
        Root::PlanEnds => finding("the plan ends only when all its steps have")
            .help("what happens at the end of the plan is the business of a listener: `listener l on plan is completed { … }`"),
        Root::NoEvent => finding("no event leaves it true")
            .help("a condition is tested right after something has happened to what it names; a step begins as `pending` and never goes back"),
    }
}

/// Each waits for the next.
fn circle(subject: &Subject<'_>, flow: &Flow<'_>, links: &[Link<'_>]) -> Diagnostic {
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
        ([only], _) => format!("{} waits for what only comes after it", who(only)),
        (_, Some(last)) => format!("{} waits for what waits for it", who(last)),
        (_, None) => String::new(),
    };
    let mut finding =
        Diagnostic::new(&codes::order::DEPENDENCY_CYCLE, span, message).note("never comes");
    for link in links {
        if link.event.span != span {
            finding = finding.label(link.event.span, format!("{} waits for this", who(link)));
        }
        if let Some((_, set)) = link.set {
            finding = finding.label(set.span, "this comes too late");
        }
    }
    finding.help(format!("{chain}: none of it comes first; move one `set` above, or let it be moved by something else"))
}

/// A step that waits for what only statements below it bring.
fn only_from_below(flow: &Flow<'_>, link: &Link<'_>, who: &str, need: &str) -> Diagnostic {
    let (code, message) = if unavoidable(flow, link.at) {
        (
            &codes::order::CANNOT_FINISH,
            format!("this plan never ends: {who} waits for what only comes below it"),
        )
    } else {
        (
            &codes::order::STALLS,
            format!("{who} waits for what only comes below it"),
        )
    };
    let mut finding = Diagnostic::new(code, link.event.span, message).note("never comes");
    if let Some((_, set)) = link.set {
        finding = finding.label(set.span, "this runs after the wait");
    }
    finding.help(format!(
        "statements run in the order of the page: move the wait below what brings {need}, or let a listener bring it"
    ))
}

/// Whether every run that does not fail comes to this statement and has to get past it.
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

/// What a statement is called.
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
