//! `deadline-impossible`: the pauses of a plan are longer than its deadline.

use super::Subject;
use super::subject::{entry, policy};
use crate::diag::{Diagnostic, codes};
use crate::lint::least::{Least, told};

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let own = subject.plan.policy.deadline;
    let Some(deadline) = own.or(subject.project.policy.deadline) else {
        return;
    };
    let takes = Least::of(subject).time(subject.plan);
    if takes <= deadline {
        return;
    }
    let written = subject
        .setting(policy)
        .and_then(|policy| entry(policy, "deadline"));
    let span = written
        .filter(|_| own.is_some())
        .map_or(subject.plan.span, |written| written.span);
    let whose = if own.is_some() {
        "this deadline"
    } else {
        "the project's deadline"
    };
    let message = format!(
        "every run takes {} at least, and {whose} is {}",
        told(takes),
        told(deadline)
    );
    let finding = Diagnostic::new(&codes::failure::DEADLINE_IMPOSSIBLE, span, message)
        .help(format!("give it more than {}, or wait less", told(takes)))
        .expected(format!("{} or more", told(takes)), told(deadline));
    found.push(finding);
}
