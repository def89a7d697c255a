//! Diagnostics about the arms of a `match`.

use super::{meant, short};
use crate::diag::codes::types::{NON_EXHAUSTIVE_MATCH, UNREACHABLE_ARM, WRONG_TYPE};
use crate::diag::{Diagnostic, nearest};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::{Field, Literal, Type};

/// Maximum number of missing cases that are listed; beyond it, `_` is proposed.
const MAX_LISTED_CASES: usize = 12;

/// Creates the diagnostic for a literal that the subject never equals.
pub(in crate::sema::expr) fn impossible_pattern(
    pattern: &Type,
    subject: &Type,
    span: Span,
) -> Diagnostic {
    let texts: Vec<&str> = subject.members().iter().filter_map(text_of).collect();
    let diagnostic = WRONG_TYPE
        .at(
            span,
            format!("the value of this `match` is never {pattern}"),
        )
        .note("never taken")
        .expected(subject, pattern)
        .help(format!("the value is {}", short(subject)))
        .available(&texts);
    match text_of(pattern).and_then(|text| nearest(text, texts.iter().copied())) {
        Some(near) => meant(diagnostic, near, span),
        None => diagnostic,
    }
}

fn text_of(ty: &Type) -> Option<&str> {
    if let Type::Literal(Literal::String(text)) = ty {
        Some(text)
    } else {
        None
    }
}

/// Creates the diagnostic for an arm after others that match everything that it could.
pub(in crate::sema::expr) fn unreachable_arm(
    pattern: &ast::Pattern,
    arm: Span,
    previous: Option<Span>,
    next: Option<Span>,
) -> Diagnostic {
    let whole = match (previous, next) {
        (Some(previous), _) => Span::from(previous.end..arm.end),
        (None, Some(next)) => Span::from(arm.start..next.start),
        (None, None) => arm,
    };
    UNREACHABLE_ARM
        .at(
            pattern.span,
            "the arms above cover everything that this one could",
        )
        .note("never taken")
        .help("remove the arm, or move it up")
        .fix("remove the arm", whole, "")
}

/// Creates the diagnostic for cases without an arm. The fix adds failing arms after the last arm of a step; for an
/// expression it is unknown which value is intended.
pub(in crate::sema::expr) fn non_exhaustive(
    cases: &[Type],
    head: Span,
    last: Option<Span>,
) -> Diagnostic {
    let mut patterns: Vec<String> = cases.iter().map(pattern_of).collect();
    patterns.dedup();
    if patterns.len() > MAX_LISTED_CASES || patterns.iter().any(|pattern| pattern == "_") {
        patterns = vec!["_".to_owned()];
    }
    let missing: Vec<String> = cases.iter().take(MAX_LISTED_CASES).map(short).collect();
    let diagnostic = NON_EXHAUSTIVE_MATCH
        .at(
            head,
            format!("no arm of this `match` covers {}", missing.join(", ")),
        )
        .note("not every value has an arm")
        .expected(
            "an arm for every value",
            format!("none for {}", missing.join(", ")),
        )
        .help(format!(
            "add {}",
            patterns
                .iter()
                .map(|one| format!("`{one} => …`"))
                .collect::<Vec<_>>()
                .join(", ")
        ));
    let Some(last) = last else { return diagnostic };
    let arms = patterns.iter().fold(String::new(), |arms, pattern| {
        arms + ", " + pattern + " => fail tool.unforeseen"
    });
    let edit = crate::diag::Edit {
        span: last.after(),
        text: arms,
    };
    diagnostic.unsafe_fix("add arms that fail", vec![edit])
}

/// Returns a pattern that matches exactly a case, otherwise `_`.
fn pattern_of(case: &Type) -> String {
    match case {
        Type::Literal(literal) => literal.to_string(),
        Type::Null => "null".to_owned(),
        Type::Object(object) => {
            let fixed = |field: &Field| match &field.ty {
                Type::Literal(literal) => {
                    Some(format!("{}: {literal}", canonical_name(&field.name)))
                }
                _ => None,
            };
            let fields: Vec<String> = object.fields.iter().filter_map(fixed).collect();
            if fields.is_empty() {
                "_".to_owned()
            } else {
                format!("{{ {} }}", fields.join(", "))
            }
        }
        _ => "_".to_owned(),
    }
}
