//! `budget-impossible`: every run makes more calls than the budget allows, or executes more steps than `max_steps`.

use super::Subject;
use super::subject::{entry, policy};
use crate::diag::{Diagnostic, codes};
use crate::lint::lower_bounds::LowerBounds;
use crate::value::counted;

/// A setting that limits what a run does, and the least that every successful run does.
struct Limit {
    setting: &'static str,
    /// The limit of the plan, and that of the project, which applies if the plan has none.
    own: Option<u64>,
    project: Option<u64>,
    least: fn(&Subject<'_>) -> u64,
    /// The noun for what is counted, and the verb that a run does with it.
    counts: (&'static str, &'static str),
    more: &'static str,
    /// Names the limit of the plan and that of the project.
    whose: (&'static str, &'static str),
}

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let (own, project) = (&subject.plan.policy, &subject.project.policy);
    let limits = [
        Limit {
            setting: "budget",
            own: own.budget.calls,
            project: project.budget.calls,
            least: |subject| LowerBounds::of(subject).calls(subject.plan),
            counts: ("call", "makes"),
            more: "; retries and loops need more than that",
            whose: ("this budget", "the project's budget"),
        },
        Limit {
            setting: "max_steps",
            own: own.max_steps,
            project: project.max_steps,
            least: |subject| LowerBounds::of(subject).steps(subject.plan),
            counts: ("step", "executes"),
            more: "",
            whose: ("this plan", "the project"),
        },
    ];
    found.extend(limits.iter().filter_map(|limit| limit.finding(subject)));
}

impl Limit {
    fn finding(&self, subject: &Subject<'_>) -> Option<Diagnostic> {
        let limit = self.own.or(self.project)?;
        let least = (self.least)(subject);
        if least <= limit {
            return None;
        }
        let setting = self.setting;
        let settings = subject.setting(policy).filter(|_| self.own.is_some());
        let written = settings.and_then(|policy| entry(policy, setting));
        let span = written.map_or(subject.plan.span, |written| written.span);
        let whose = if self.own.is_some() {
            self.whose.0
        } else {
            self.whose.1
        };
        let (unit, does) = self.counts;
        let (allowed, needed) = (counted(limit, unit), counted(least, unit));
        let message =
            format!("{whose} allows {allowed}, but every successful run {does} at least {least}");
        let finding = codes::safety::BUDGET_IMPOSSIBLE
            .at(span, message)
            .help(format!("allow {needed} or more{}", self.more))
            .expected(format!("{needed} or more"), limit);
        Some(finding)
    }
}
