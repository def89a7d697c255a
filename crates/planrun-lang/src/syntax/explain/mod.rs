//! Says what is wrong with a text that could not be read: it is read alone once more, with every token named.

mod context;
mod foreign;
mod foreign_values;
mod hint;
mod hints;
mod messages;
mod wants;

use std::sync::Arc;

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};

use super::grammar::diagnose::{PlanParser, Rule};
use super::lower::{Damage, DamageKind, ReservedName};
use super::scan::{MAX_FINDINGS, Scan};
use crate::diag::{Diagnostic, Edit};
use crate::source::Span;
use context::Context;
use wants::Want;

/// Explains every damage that no other finding accounts for, and returns where.
pub(super) fn explain(
    scan: &Scan<'_>,
    damage: &[Damage],
    reserved: &[ReservedName],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Span> {
    let mut explained = Vec::new();
    let mut reported = scan.reported.clone();
    reported.sort_unstable();
    let longest = reported.iter().map(|span| span.len()).max().unwrap_or(0);
    for damage in damage {
        if explained.len() >= MAX_FINDINGS {
            return explained;
        }
        if touches(&reported, longest, damage.span) {
            continue;
        }
        let context = place(scan, *damage);
        if let Some(owner) = reserved_reader(&context, reserved) {
            add_quotes(diagnostics, owner, &context);
            continue;
        }
        diagnostics.push(messages::diagnostic(&context));
        explained.push(damage.span);
    }
    explained
}

/// Explains a text that should have been one expression, type or pattern.
pub(super) fn explain_whole(scan: &Scan<'_>, kind: DamageKind) -> Option<Diagnostic> {
    if scan.diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let (offset, wants) = failure(rule(kind), &scan.text)?;
    let damage = Damage {
        span: Span::new(0, scan.author.len()),
        kind,
    };
    Some(messages::diagnostic(&Context::new(
        scan, damage, offset, wants,
    )))
}

/// Whether one of the sorted ranges, the longest of which is given, meets the range.
fn touches(reported: &[Span], longest: usize, span: Span) -> bool {
    let from = Span::at((span.start as usize).saturating_sub(longest + 1));
    let first = reported.partition_point(|other| *other < from);
    let near = reported
        .get(first..)
        .unwrap_or_default()
        .iter()
        .take_while(|other| other.start <= span.end);
    near.into_iter().any(|other| other.end >= span.start)
}

/// The place in the damaged text where reading had to stop, and what could have stood there.
fn place<'s>(scan: &'s Scan<'_>, damage: Damage) -> Context<'s> {
    let rule = rule(damage.kind);
    let text: &str = &scan.text;
    let slice = text.get(damage.span.range()).unwrap_or("");
    let behind = text.get(damage.span.end as usize..).unwrap_or("");
    let has_body = behind.trim_start().starts_with('{');
    // A head is read with an empty body, so that nothing in its body is in the way.
    let headed: Arc<str> = if has_body {
        Arc::from(format!("{slice} {{}}"))
    } else {
        Arc::from(slice)
    };
    let (offset, wants) = failure(rule, &headed).unwrap_or_default();
    Context::new(scan, damage, damage.span.start as usize + offset, wants)
}

/// What a damaged text is read as.
fn rule(kind: DamageKind) -> Rule {
    match kind {
        DamageKind::Item => Rule::one_item,
        DamageKind::Statement => Rule::one_statement,
        DamageKind::TestStatement => Rule::one_test_statement,
        DamageKind::Clause => Rule::one_clause,
        DamageKind::Parameter => Rule::one_parameter,
        DamageKind::RaceArm => Rule::one_race_arm,
        DamageKind::StepArm => Rule::one_step_arm,
        DamageKind::Expression => Rule::one_expression,
        DamageKind::Type => Rule::one_type,
        DamageKind::Pattern => Rule::one_pattern,
    }
}

/// Where and why the text cannot be read by a rule; `None` where it can.
fn failure(rule: Rule, text: &str) -> Option<(usize, Vec<Want>)> {
    let error = PlanParser::parse(rule, text).err()?;
    let offset = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let wants = match error.variant {
        ErrorVariant::ParsingError { positives, .. } => wants::of(&positives),
        ErrorVariant::CustomError { .. } => Vec::new(),
    };
    Some((offset, wants))
}

/// The report about the reserved name that is read where the text went wrong, if that is the reason.
fn reserved_reader(context: &Context<'_>, reserved: &[ReservedName]) -> Option<usize> {
    let word = context.found_text();
    reserved
        .iter()
        .find(|name| &*name.word == word)
        .map(|name| name.diagnostic)
}

fn add_quotes(diagnostics: &mut [Diagnostic], owner: usize, context: &Context<'_>) {
    let edit = Edit::new(context.found_span(), format!("`{}`", context.found_text()));
    if let Some(fix) = diagnostics
        .get_mut(owner)
        .and_then(|diagnostic| diagnostic.fix.as_mut())
    {
        fix.edits.push(edit);
    }
}
