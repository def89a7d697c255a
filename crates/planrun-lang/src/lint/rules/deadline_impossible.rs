//! `deadline-impossible`: the pauses of a plan are longer than its deadline.

use super::Subject;
use super::subject::{entry, policy};
use crate::diag::{Diagnostic, codes};
use crate::lint::lower_bounds::{LowerBounds, format_duration};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let own = subject.plan.policy.deadline;
    let Some(deadline) = own.or(subject.project.policy.deadline) else {
        return;
    };
    let takes = LowerBounds::of(subject).time(subject.plan);
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
        "every run takes at least {}, but {whose} is {}",
        format_duration(takes),
        format_duration(deadline)
    );
    let finding = codes::failure::DEADLINE_IMPOSSIBLE
        .at(span, message)
        .help(format!(
            "set it to more than {}, or wait less",
            format_duration(takes)
        ))
        .expected(
            format!("{} or more", format_duration(takes)),
            format_duration(deadline),
        );
    found.push(finding);
}
