//! `within-impossible`: the attempts, waits and pauses of a step take longer than its deadline or timeout.

use std::time::Duration;

use super::Subject;
use super::subject::{StepSite, tool_call};
use crate::diag::{Diagnostic, codes};
use crate::lint::lower_bounds::{LowerBounds, format_duration};
use crate::sema::{Backoff, Jitter};

/// Maximum number of attempts in a displayed schedule.
const MAX_LISTED: usize = 8;
/// Maximum number of attempts that are examined.
const MAX_EXAMINED: u32 = 10_000;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let mut lower_bounds = LowerBounds::of(subject);
    for site in subject.steps() {
        if let Some(within) = subject.length(site.step.within()) {
            retries(subject, site, within, found);
            polls(subject, site, within, found);
            body(subject, site, ("within", within), &mut lower_bounds, found);
        }
        if let Some(timeout) = subject.length(site.step.timeout()) {
            body(
                subject,
                site,
                ("timeout", timeout),
                &mut lower_bounds,
                found,
            );
        }
    }
}

/// Reports retries whose backoff, without jitter, exceeds the deadline.
fn retries(
    subject: &Subject<'_>,
    site: &StepSite<'_>,
    within: Duration,
    found: &mut Vec<Diagnostic>,
) {
    let (Some(_), Some((call, _)), None) =
        (site.step.retry(), tool_call(site.step), site.step.until())
    else {
        return;
    };
    let (backoff, _) = Backoff::of(site.step.retry(), &subject.retry(), call.effect);
    if backoff.jitter != Jitter::None {
        return;
    }
    let (starts, fits) = attempts(&backoff, within);
    let Some(clause) = site
        .step
        .clause_spans("retry")
        .next()
        .filter(|_| fits < backoff.attempts)
    else {
        return;
    };
    let schedule = starts
        .iter()
        .map(|start| format_duration(*start))
        .collect::<Vec<_>>()
        .join(", ");
    let more = if (backoff.attempts as usize) > starts.len() {
        ", …"
    } else {
        ""
    };
    let end = format_duration(within);
    let message = format!(
        "attempt {} of {} would begin after the step has ended",
        fits + 1,
        backoff.attempts
    );
    let mut finding = codes::failure::WITHIN_IMPOSSIBLE
        .at(clause, message)
        .note(format!(
            "attempts begin at {schedule}{more}, not counting the duration of calls"
        ))
        .help(format!(
            "make `within` longer than the waits, or write `attempts: {fits}`"
        ))
        .expected(
            format!("all attempts within {end}"),
            format!("{fits} of {}", backoff.attempts),
        );
    if let Some(within) = site.step.clause_spans("within").next() {
        finding = finding.label(within, format!("the step ends after {end}"));
    }
    found.push(finding);
}

/// Returns when the first attempts begin, and how many of all attempts begin within the deadline. If very many do, all
/// of them are assumed to.
fn attempts(backoff: &Backoff, within: Duration) -> (Vec<Duration>, u32) {
    let (mut start, mut starts, mut fits) = (Duration::ZERO, vec![Duration::ZERO], 1_u32);
    for attempt in 1..backoff.attempts {
        if attempt > MAX_EXAMINED {
            return (starts, backoff.attempts);
        }
        start = start.saturating_add(backoff.base(attempt));
        if start < within {
            fits += 1;
        }
        if starts.len() < MAX_LISTED {
            starts.push(start);
        } else if start >= within {
            break;
        }
    }
    (starts, fits)
}

/// Reports a poll that would call only once.
fn polls(
    subject: &Subject<'_>,
    site: &StepSite<'_>,
    within: Duration,
    found: &mut Vec<Diagnostic>,
) {
    let Some(until) = site.step.until() else {
        return;
    };
    let Some(every) = subject
        .length(Some(&until.every))
        .filter(|every| *every >= within)
    else {
        return;
    };
    let message = format!(
        "this polls only once: the second call at {} would come after the end at {}",
        format_duration(every),
        format_duration(within)
    );
    let mut finding = codes::failure::WITHIN_IMPOSSIBLE
        .at(until.every.span, message)
        .help("poll more often, or longer")
        .expected(
            format!("less than {}", format_duration(within)),
            format_duration(every),
        );
    if let Some(within) = site.step.clause_spans("within").next() {
        finding = finding.label(within, "the step ends here");
    }
    found.push(finding);
}

/// Reports work whose minimum duration exceeds its bound.
fn body(
    subject: &Subject<'_>,
    site: &StepSite<'_>,
    (word, bound): (&str, Duration),
    lower_bounds: &mut LowerBounds,
    found: &mut Vec<Diagnostic>,
) {
    let takes = lower_bounds.work_time(subject.plan, site.step);
    let Some(clause) = site
        .step
        .clause_spans(word)
        .next()
        .filter(|_| takes > bound)
    else {
        return;
    };
    let message = format!(
        "this takes at least {}, but has only {}",
        format_duration(takes),
        format_duration(bound)
    );
    let finding = codes::failure::WITHIN_IMPOSSIBLE
        .at(clause, message)
        .help(format!(
            "allow more than {}, or wait less",
            format_duration(takes)
        ))
        .expected(
            format!("{} or more", format_duration(takes)),
            format_duration(bound),
        );
    found.push(finding);
}
