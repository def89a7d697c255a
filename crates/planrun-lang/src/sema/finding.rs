//! The findings that several parts of the checker make: one constructor each.

use std::fmt::Write as _;

use crate::diag::{Code, Diagnostic, Near, codes, nearest};
use crate::source::Span;
use crate::syntax::ast;

/// How many names a message lists before it says how many more there are.
const LISTED: usize = 12;

/// A name that does not exist, with what does and the nearest of it.
pub(super) fn unknown<'a>(
    code: &'static Code,
    what: &str,
    name: &str,
    span: Span,
    candidates: impl Iterator<Item = &'a str>,
) -> Diagnostic {
    // Classes and codes have marks of their own, which no back quotes stand around.
    let whole = code == &codes::names::UNKNOWN_ERROR_CLASS || code == &codes::tests::UNKNOWN_CODE;
    let written = |near: &str| if whole { near.to_owned() } else { quoted(near) };
    unknown_as(code, what, name, span, candidates, written)
}

/// The same, with the nearest, where there is one.
pub(super) fn unknown_near<'a>(
    code: &'static Code,
    what: &str,
    name: &str,
    span: Span,
    candidates: impl Iterator<Item = &'a str>,
) -> (Diagnostic, Option<Near<'a>>) {
    suggest(code, what, name, span, candidates.collect(), quoted)
}

/// The same, with the only one that can be meant. Where it may be another there is no fix: nothing else is held against the
/// one that it would write, so it could lead to other errors.
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

/// The same, of something that is written in a form of its own.
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
    let diagnostic = Diagnostic::new(code, span, format!("there is no {what} `{name}`"));
    let ended = same_end(code, name, &candidates);
    let near = ended
        .filter(|near| near.certain)
        .or_else(|| nearest(name, candidates.iter().copied()))
        .or(ended);
    let diagnostic = match near {
        Some(near) => diagnostic.did_you_mean(near, span, written(near.name)),
        None if candidates.is_empty() => diagnostic,
        None => {
            let verb = if candidates.len() == 1 { "is" } else { "are" };
            diagnostic.help(format!("there {verb} {}", listed(&candidates)))
        }
    };
    if let Some(Near { name: near, .. }) = near {
        candidates.retain(|candidate| *candidate != near);
        candidates.insert(0, near);
    }
    (diagnostic.available(candidates), near)
}

/// An error class that ends as this one does: `expired` for `denied.expired`, which can mean no other since it has no family.
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

/// A second thing of the same name.
pub(super) fn duplicate_name(what: &str, name: &ast::Name, first: Span) -> Diagnostic {
    Diagnostic::new(
        &codes::names::DUPLICATE_NAME,
        name.span,
        format!("the {what} `{}` is declared twice", name.text),
    )
    .note("again here")
    .label(first, "first here")
    .help("names are unique in their block, so that every step has one path; rename one of them")
}

/// A name of a block around which the same name stands already.
pub(super) fn hiding_name(what: &str, name: &ast::Name, outer: Span) -> Diagnostic {
    let message = format!(
        "the {what} `{}` would hide what has this name outside of its block",
        name.text
    );
    Diagnostic::new(&codes::names::DUPLICATE_NAME, name.span, message)
        .note("this one is inside")
        .label(outer, "this one could not be read any more")
        .help("blocks beside each other may use the same name, but none that stands around them; rename one of the two")
}

/// Names in back quotes, with a count of those left out.
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

/// Names with dots between them, as they stand in a plan.
pub(super) fn quoted_path(path: &str) -> String {
    path.split('.').map(quoted).collect::<Vec<_>>().join(".")
}

/// A name as it stands in a plan: in back quotes where it is no identifier.
pub(super) fn quoted(name: &str) -> String {
    let mut characters = name.chars();
    let starts = characters
        .next()
        .is_some_and(|first| first == '_' || unicode_ident::is_xid_start(first));
    if starts && characters.all(unicode_ident::is_xid_continue) {
        name.to_owned()
    } else {
        format!("`{name}`")
    }
}
