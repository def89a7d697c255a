//! `never-set`: a task is read or listened to, but nothing can move it.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::{EventKind, NameKind, NodeKind, TaskId, TaskTest};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.sound {
        return;
    }
    for (index, task) in subject.plan.tasks.iter().enumerate() {
        let id = TaskId(u32::try_from(index).unwrap_or(u32::MAX));
        if task.external || !is_read(subject, id) || is_set(subject, id) {
            continue;
        }
        let first = task.statuses.first().map_or("", |status| status);
        let message = format!(
            "the task `{}` is never set, so it stays `{first}` forever",
            task.name
        );
        let diagnostic = codes::order::NEVER_SET.at(task.span, message).help(format!(
            "write `set {} …` where its part is done, or make it `external` if it is set from outside",
            task.name
        ));
        found.push(diagnostic);
    }
}

fn is_set(subject: &Subject<'_>, id: TaskId) -> bool {
    let mut nodes = subject.plan.nodes();
    nodes.any(|node| matches!(&node.kind, NodeKind::Set(set) if set.task == id))
}

/// Returns true if its context is read, or if a condition on it can come true.
fn is_read(subject: &Subject<'_>, id: TaskId) -> bool {
    let task = subject.plan.task(id);
    let mut read = false;
    for node in subject.plan.nodes() {
        let mut code = |code: &crate::sema::expr::CheckedExpr| {
            read |= code
                .reads
                .iter()
                .any(|read| read.binding == NameKind::Task && read.name == task.name);
        };
        node.codes(&mut code);
        node.inner_codes(&mut code);
        // A condition on another status never comes true, which another rule reports.
        let mut leaf = |leaf: &crate::sema::Event| {
            if let EventKind::Task { task: own, test } = &leaf.kind {
                let first = crate::sema::Status(0);
                read |= *own == id && (*test == TaskTest::Any || test.holds(task, first));
            }
        };
        node.event()
            .into_iter()
            .for_each(|event| event.leaves(&mut leaf));
    }
    read
}
