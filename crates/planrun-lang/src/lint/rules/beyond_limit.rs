//! `beyond-limit`: a plan allows itself more than the project's limits.

use super::Subject;
use super::subject::{entry, policy};
use crate::diag::{Diagnostic, codes};
use crate::lint::lower_bounds::format_duration;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let (own, limits) = (&subject.plan.policy, subject.project.limits);
    let count = |name, own: Option<u64>, limit: Option<u64>| {
        let (own, limit) = own.zip(limit)?;
        (own > limit).then(|| (name, limit.to_string()))
    };
    let time = |name, own: Option<_>| {
        let (own, limit) = own.zip(limits.time)?;
        (own > limit).then(|| (name, format_duration(limit)))
    };
    let cost = own.budget.cost.zip(limits.cost);
    let cost = cost.filter(|(own, limit)| own > limit);
    let asked = [
        count("calls", own.budget.calls, limits.calls),
        cost.map(|(_, limit)| ("cost", limit.to_string())),
        time("time", own.budget.time),
        time("deadline", own.deadline),
        count("memory", own.budget.memory, limits.memory),
    ];
    let settings = subject.setting(policy);
    for (name, limit) in asked.into_iter().flatten() {
        let around = settings.and_then(|policy| match name {
            "deadline" => Some(policy),
            _ => entry(policy, "budget"),
        });
        let written = around.and_then(|around| entry(around, name));
        let span = written.map_or(subject.plan.span, |written| written.span);
        let of = if name == "deadline" { "time" } else { name };
        let message = format!(
            "`{name}` exceeds the limit of the project: `limits.{of}` in planrun.yaml is {limit}"
        );
        let finding = codes::safety::BEYOND_LIMIT
            .at(span, message)
            .note(format!("a run ends at {limit}"))
            .help(format!(
                "write {limit} or less, or remove it: the limit applies to every plan"
            ));
        found.push(finding);
    }
}
