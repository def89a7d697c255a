//! `within-impossible`: the attempts, waits and pauses of a step cannot fit into its bounds.

use std::time::Duration;

use super::Subject;
use super::subject::{StepSite, tool_call};
use crate::diag::{Diagnostic, codes};
use crate::lint::least::{Least, told};
use crate::sema::{Backoff, Jitter};

/// How many attempts a printed schedule shows.
const SHOWN: usize = 8;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let mut least = Least::of(subject);
    for site in subject.steps() {
        if let Some(within) = subject.length(site.step.within()) {
            retries(subject, site, within, found);
            polls(subject, site, within, found);
            body(subject, site, ("within", within), &mut least, found);
        }
        if let Some(timeout) = subject.length(site.step.timeout()) {
            body(subject, site, ("timeout", timeout), &mut least, found);
        }
    }
}

/// Waits between attempts, where no luck shortens them.
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
        .map(|start| told(*start))
        .collect::<Vec<_>>()
        .join(", ");
    let more = if (backoff.attempts as usize) > starts.len() {
        ", …"
    } else {
        ""
    };
    let end = told(within);
    let message = format!(
        "attempt {} of {} would begin when the step has ended already",
        fits + 1,
        backoff.attempts
    );
    let mut finding = Diagnostic::new(&codes::failure::WITHIN_IMPOSSIBLE, clause, message)
        .note(format!(
            "attempts begin at {schedule}{more}, answers not counted"
        ))
        .help(format!(
            "make `within` longer than the waits, or say `attempts: {fits}`"
        ))
        .expected(
            format!("all attempts within {end}"),
            format!("{fits} of {}", backoff.attempts),
        );
    if let Some(within) = site.step.clause_spans("within").next() {
        finding = finding.label(within, format!("the step ends {end} after it began"));
    }
    found.push(finding);
}

/// When the first attempts begin, and how many of all do within the time.
fn attempts(backoff: &Backoff, within: Duration) -> (Vec<Duration>, u32) {
    let (mut start, mut starts, mut fits) = (Duration::ZERO, vec![Duration::ZERO], 1_u32);
    for attempt in 1..backoff.attempts {
        start = start.saturating_add(backoff.base(attempt));
        if start < within {
            fits += 1;
        }
        if starts.len() < SHOWN {
            starts.push(start);
        } else if start >= within {
            break;
        }
    }
    (starts, fits)
}

/// A poll that would look once.
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
        "this looks once: the second look at {} comes after the end at {}",
        told(every),
        told(within)
    );
    let mut finding = Diagnostic::new(
        &codes::failure::WITHIN_IMPOSSIBLE,
        until.every.span,
        message,
    )
    .help("poll more often, or longer")
    .expected(format!("less than {}", told(within)), told(every));
    if let Some(within) = site.step.clause_spans("within").next() {
        finding = finding.label(within, "the step ends here");
    }
    found.push(finding);
}

/// Work that takes longer than it may, whatever happens.
fn body(
    subject: &Subject<'_>,
    site: &StepSite<'_>,
    (word, bound): (&str, Duration),
    least: &mut Least,
    found: &mut Vec<Diagnostic>,
) {
    let takes = least.work_time(subject.plan, site.step);
    let Some(clause) = site
        .step
        .clause_spans(word)
        .next()
        .filter(|_| takes > bound)
    else {
        return;
    };
    let message = format!(
        "this takes {} at least, and has {}",
        told(takes),
        told(bound)
    );
    let finding = Diagnostic::new(&codes::failure::WITHIN_IMPOSSIBLE, clause, message)
        .help(format!("allow more than {}, or wait less", told(takes)))
        .expected(format!("{} or more", told(takes)), told(bound));
    found.push(finding);
}
