//! `budget-impossible`: every run makes more calls than the budget allows.

use super::Subject;
use super::subject::{entry, policy};
use crate::diag::{Diagnostic, codes};
use crate::lint::lower_bounds::LowerBounds;
use crate::value::counted;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    check_calls(subject, found);
    check_steps(subject, found);
}

fn check_steps(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let own = subject.plan.policy.max_steps;
    let Some(limit) = own.or(subject.project.policy.max_steps) else {
        return;
    };
    let steps = LowerBounds::of(subject).steps(subject.plan);
    if steps <= limit {
        return;
    }
    let written = subject
        .setting(policy)
        .and_then(|policy| entry(policy, "max_steps"));
    let span = written
        .filter(|_| own.is_some())
        .map_or(subject.plan.span, |written| written.span);
    let whose = if own.is_some() {
        "this plan"
    } else {
        "the project"
    };
    let message = format!(
        "{whose} allows {}, but every successful run executes at least {steps}",
        counted(limit, "step")
    );
    let finding = Diagnostic::new(&codes::safety::BUDGET_IMPOSSIBLE, span, message)
        .help(format!("allow {} or more", counted(steps, "step")))
        .expected(format!("{} or more", counted(steps, "step")), limit);
    found.push(finding);
}

fn check_calls(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let own = subject.plan.policy.budget.calls;
    let Some(budget) = own.or(subject.project.policy.budget.calls) else {
        return;
    };
    let calls = LowerBounds::of(subject).calls(subject.plan);
    if calls <= budget {
        return;
    }
    let written = subject
        .setting(policy)
        .and_then(|policy| entry(policy, "budget"));
    let span = written
        .filter(|_| own.is_some())
        .map_or(subject.plan.span, |written| written.span);
    let whose = if own.is_some() {
        "this budget"
    } else {
        "the project's budget"
    };
    let message = format!(
        "{whose} allows {}, but every successful run makes at least {calls}",
        counted(budget, "call")
    );
    let finding = Diagnostic::new(&codes::safety::BUDGET_IMPOSSIBLE, span, message)
        .help(format!(
            "allow {} or more; retries and loops need more than that",
            counted(calls, "call")
        ))
        .expected(format!("{} or more", counted(calls, "call")), budget);
    found.push(finding);
}
