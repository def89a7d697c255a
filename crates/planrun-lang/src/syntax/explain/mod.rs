//! Explains text that could not be parsed, by parsing it again on its own with a grammar that names every token.

mod context;
mod expected;
mod foreign;
mod foreign_statements;
mod foreign_tests;
mod foreign_values;
mod hint;
mod hints;
mod messages;

use std::sync::Arc;

use pest::Parser as _;
use pest::error::{ErrorVariant, InputLocation};

use super::grammar::diagnose::{PlanParser, Rule};
use super::lower::{Damage, DamageKind, ReservedName};
use super::scan::{MAX_FINDINGS, Scan};
use crate::diag::{Diagnostic, Edit};
use crate::source::Span;
use context::Context;
use expected::Expected;

/// Reports each damaged text that no other diagnostic accounts for, and returns the spans of those reported.
pub(super) fn explain(
    scan: &Scan<'_>,
    damage: &[Damage],
    reserved: &[ReservedName],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Span> {
    let mut explained = Vec::new();
    let mut reported = scan.reported.clone();
    reported.sort_unstable();
    let mut places = Vec::new();
    let longest = reported.iter().map(|span| span.len()).max().unwrap_or(0);
    for damage in damage {
        if explained.len() >= MAX_FINDINGS {
            return explained;
        }
        if touches(&reported, longest, damage.span) {
            continue;
        }
        let context = place(scan, *damage);
        // The head of a plan fails where a parameter in it does.
        if places.contains(&context.found_span()) {
            continue;
        }
        places.push(context.found_span());
        if let Some(owner) = reserved_reader(&context, reserved) {
            add_quotes(diagnostics, owner, &context);
            continue;
        }
        diagnostics.push(messages::diagnostic(&context));
        explained.push(damage.span);
    }
    explained
}

/// Returns the diagnostic for a text that should have been one expression, type or pattern.
pub(super) fn explain_whole(scan: &Scan<'_>, kind: DamageKind) -> Option<Diagnostic> {
    if scan.diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let (offset, expected) = failure(rule(kind), &scan.text)?;
    let damage = Damage {
        span: Span::new(0, scan.author.len()),
        kind,
    };
    Some(messages::diagnostic(&Context::new(
        scan, damage, offset, expected,
    )))
}

/// Returns true if one of the sorted spans touches `span`; `longest` is the length of the longest of them.
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

/// Finds the position in the damaged text where parsing fails, and what was expected there.
fn place<'s>(scan: &'s Scan<'_>, damage: Damage) -> Context<'s> {
    let rule = rule(damage.kind);
    let text: &str = &scan.text;
    let slice = text.get(damage.span.range()).unwrap_or("");
    let behind = text.get(damage.span.end as usize..).unwrap_or("");
    let has_body = behind.trim_start().starts_with('{');
    // A head is parsed with an empty body, so that errors in its body do not interfere.
    let headed: Arc<str> = if has_body {
        Arc::from(format!("{slice} {{}}"))
    } else {
        Arc::from(slice)
    };
    let (offset, expected) = failure(rule, &headed).unwrap_or_default();
    Context::new(scan, damage, damage.span.start as usize + offset, expected)
}

/// The grammar rule that a damaged text is parsed with.
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

/// Returns the offset where the rule fails and what was expected there; `None` if the text matches the rule.
fn failure(rule: Rule, text: &str) -> Option<(usize, Vec<Expected>)> {
    let error = PlanParser::parse(rule, text).err()?;
    let offset = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let expected = match error.variant {
        ErrorVariant::ParsingError { positives, .. } => expected::of_rules(&positives),
        ErrorVariant::CustomError { .. } => Vec::new(),
    };
    Some((offset, expected))
}

/// If parsing failed at a use of a reserved name that has been reported, returns the index of that diagnostic.
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
