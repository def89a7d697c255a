//! Diagnostics that several parts of the checker create, with one constructor each.

use std::fmt::Write as _;

use crate::diag::{Code, Diagnostic, Near, codes, nearest};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};

/// The characters between the parts of the path of a step.
const PATH_SEPARATORS: [char; 3] = ['.', '[', ']'];
/// Maximum number of names that a message lists before it gives the number of the others.
const LISTED: usize = 12;

/// Creates the diagnostic for an unknown name, with the known ones and the nearest of them.
pub(super) fn unknown<'a>(
    code: &'static Code,
    what: &str,
    name: &str,
    span: Span,
    candidates: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    // Error classes and diagnostic codes are written without back quotes.
    let whole = code == &codes::names::UNKNOWN_ERROR_CLASS || code == &codes::tests::UNKNOWN_CODE;
    let written = |near: &str| {
        if whole {
            near.to_owned()
        } else {
            canonical_name(near)
        }
    };
    unknown_as(code, what, name, span, candidates, written)
}

/// Like [`unknown`], but also returns the nearest name if there is one.
pub(super) fn unknown_near<'a>(
    code: &'static Code,
    what: &str,
    name: &str,
    span: Span,
    candidates: impl Iterator<Item = &'a str>,
) -> (Diagnostic, Option<Near<'a>>) {
    suggest(code, what, name, span, candidates.collect(), canonical_name)
}

/// Like [`unknown`], but also returns the name that must be intended. If it is not certain there is no fix: the rest of
/// the text is not checked against that name, so the fix could cause other errors.
pub(super) fn unknown_meant<'a>(
    code: &'static Code,
    what: &str,
    name: &ast::Name,
    candidates: impl Iterator<Item = &'a str>,
) -> (Diagnostic, Option<&'a str>) {
    let (mut diagnostic, near) = unknown_near(code, what, &name.text, name.span, candidates);
    let meant = near.filter(|near| near.certain).map(|near| near.name);
    if meant.is_none() {
        diagnostic.fix = None;
    }
    (diagnostic, meant)
}

/// Like [`unknown`], for names that are written in a special form.
pub(super) fn unknown_as<'a>(
    code: &'static Code,
    what: &str,
    name: &str,
    span: Span,
    candidates: impl Iterator<Item = &'a str>,
    written: impl Fn(&str) -> String,
) -> Diagnostic {
    suggest(code, what, name, span, candidates.collect(), written).0
}

fn suggest<'a>(
    code: &'static Code,
    what: &str,
    name: &str,
    span: Span,
    mut candidates: Vec<&'a str>,
    written: impl Fn(&str) -> String,
) -> (Diagnostic, Option<Near<'a>>) {
    candidates.dedup();
    let diagnostic = code.at(span, format!("there is no {what} `{name}`"));
    let ended = same_end(code, name, &candidates);
    let near = ended
        .filter(|near| near.certain)
        .or_else(|| nearest(name, candidates.iter().copied()))
        .or(ended);
    let diagnostic = match near {
        Some(near) => diagnostic.did_you_mean(near, span, written(near.name)),
        None if candidates.is_empty() => diagnostic,
        None => {
            let one_of = if candidates.len() == 1 { "" } else { "one of " };
            diagnostic.help(format!("use {one_of}{}", listed(&candidates)))
        }
    };
    if let Some(Near { name: near, .. }) = near {
        candidates.retain(|candidate| *candidate != near);
        candidates.insert(0, near);
    }
    (diagnostic.available(candidates), near)
}

/// Returns the error class with the same last part as a dotted name, such as `expired` for `denied.expired`; it is
/// certain if that class has no family.
fn same_end<'a>(code: &'static Code, name: &str, candidates: &[&'a str]) -> Option<Near<'a>> {
    let (_, end) = name
        .rsplit_once('.')
        .filter(|_| code == &codes::names::UNKNOWN_ERROR_CLASS)?;
    let name = candidates
        .iter()
        .copied()
        .find(|candidate| candidate.rsplit('.').next() == Some(end))?;
    Some(Near {
        name,
        certain: name == end,
    })
}

/// Creates the diagnostic for a second definition of a name.
pub(super) fn duplicate_name(what: &str, name: &ast::Name, first: Span) -> Diagnostic {
    codes::names::DUPLICATE_NAME
        .at(
            name.span,
            format!("the {what} `{}` is declared twice", name.text),
        )
        .note("again here")
        .label(first, "first here")
        .help(
            "rename one of them: names are unique in their block, so that every step has one path",
        )
}

/// Creates the diagnostic for a name that is already defined around its block.
pub(super) fn hiding_name(what: &str, name: &ast::Name, outer: Span) -> Diagnostic {
    let message = format!(
        "the {what} `{}` would hide the same name in an enclosing block",
        name.text
    );
    codes::names::DUPLICATE_NAME
        .at(name.span, message)
        .note("this is the inner one")
        .label(outer, "this one would be hidden")
        .help("rename one of the two: sibling blocks may use the same name, but nested blocks may not")
}

/// Creates the diagnostic for a name that looks like several parts of a path.
pub(super) fn separated_name(what: &str, name: &ast::Name) -> Option<Diagnostic> {
    if !name.text.contains(PATH_SEPARATORS) {
        return None;
    }
    let message = format!(
        "the name of the {what} `{}` has a dot or a bracket",
        name.text
    );
    let help = "rename it: dots and brackets separate the parts of a step's path";
    Some(
        codes::names::AMBIGUOUS_PATH
            .at(name.span, message)
            .help(help),
    )
}

/// Returns names in back quotes, and the number of those left out.
pub(super) fn listed(names: &[&str]) -> String {
    let mut text = names
        .iter()
        .take(LISTED)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > LISTED {
        // Writing to a string cannot fail.
        let _ = write!(text, " and {} more", names.len() - LISTED);
    }
    text
}

/// Returns dotted names as a plan writes them.
pub(super) fn quoted_path(path: &str) -> String {
    path.split('.')
        .map(canonical_name)
        .collect::<Vec<_>>()
        .join(".")
}
