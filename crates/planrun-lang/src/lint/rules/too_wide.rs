//! `too-wide`: a loop may make more calls than the budget allows.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::lint::lower_bounds::LowerBounds;
use crate::sema::StepKind;
use crate::value::{Value, counted};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let Some(budget) = subject
        .plan
        .policy
        .budget
        .calls
        .or(subject.project.policy.budget.calls)
    else {
        return;
    };
    for site in subject.steps() {
        let (max, body) = match &site.step.kind {
            // The calls for a known list are counted exactly by `budget-impossible`.
            StepKind::Each(each) if subject.known(&each.list).is_none() => {
                (each.max.as_ref(), each.body)
            }
            StepKind::Repeat(repeat) => (repeat.max.as_ref(), repeat.body),
            _ => continue,
        };
        let Some((max, Some(Value::Int(rounds)))) = max.map(|max| (max, subject.known(max))) else {
            continue;
        };
        let calls = LowerBounds::of(subject).block_calls(subject.plan, body);
        let rounds = u64::try_from(*rounds).unwrap_or(0);
        let most = calls.saturating_mul(rounds);
        if calls == 0 || most <= budget {
            continue;
        }
        let word = site.step.kind.word().unwrap_or("loop");
        let message = format!(
            "{} of this `{word}` make {}, but the budget allows {budget}",
            counted(rounds, "round"),
            counted(most, "call")
        );
        let fits = budget / calls;
        let diagnostic = codes::order::TOO_WIDE.at(max.span, message)
            .note("the budget is used up before this ends")
            .help(format!("write `max {fits}` or less, or allow more: `policy {{ budget: {{ calls: {most} }} }}`"))
            .expected(format!("at most {fits}"), rounds);
        found.push(diagnostic);
    }
}
