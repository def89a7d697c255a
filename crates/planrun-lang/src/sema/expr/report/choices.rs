//! Findings about the arms of a `match`.

use super::{meant, short};
use crate::diag::codes::types::{NON_EXHAUSTIVE_MATCH, UNREACHABLE_ARM, WRONG_TYPE};
use crate::diag::{Diagnostic, nearest};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::{Field, Literal, Type};

/// So many missing cases are told one by one; beyond, `_` is proposed.
const TOLD_CASES: usize = 12;

/// A literal that the subject never is.
pub(in crate::sema::expr) fn impossible_pattern(
    pattern: &Type,
    subject: &Type,
    span: Span,
) -> Diagnostic {
    let texts: Vec<&str> = subject.members().iter().filter_map(text_of).collect();
    let diagnostic = Diagnostic::new(
        &WRONG_TYPE,
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

/// An arm behind others that take all that it could.
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
    Diagnostic::new(
        &UNREACHABLE_ARM,
        pattern.span,
        "the arms above take everything that this one could",
    )
    .note("never taken")
    .help("leave the arm out, or move it up")
    .fix("leave the arm out", whole, "")
}

/// Cases that no arm takes. Behind the last arm of a step, arms can be added that fail; of a value nobody knows which one
/// is meant.
pub(in crate::sema::expr) fn non_exhaustive(
    cases: &[Type],
    head: Span,
    last: Option<Span>,
) -> Diagnostic {
    let mut patterns: Vec<String> = cases.iter().map(pattern_of).collect();
    patterns.dedup();
    if patterns.len() > TOLD_CASES || patterns.iter().any(|pattern| pattern == "_") {
        patterns = vec!["_".to_owned()];
    }
    let told: Vec<String> = cases.iter().take(TOLD_CASES).map(short).collect();
    let diagnostic = Diagnostic::new(
        &NON_EXHAUSTIVE_MATCH,
        head,
        format!("no arm of this `match` takes {}", told.join(", ")),
    )
    .note("not every value has an arm")
    .expected(
        "an arm for every value",
        format!("none for {}", told.join(", ")),
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
        span: Span::at(last.end as usize),
        text: arms,
    };
    diagnostic.unsafe_fix("add arms that fail", vec![edit])
}

/// A pattern that takes exactly a case, where there is one; else `_`.
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
