//! The findings that several parts of the checker make: one constructor each.

use std::fmt::Write as _;

use crate::diag::{Code, Diagnostic, closest, codes};
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
    let mut candidates = candidates.collect::<Vec<_>>();
    candidates.dedup();
    let diagnostic = Diagnostic::new(code, span, format!("there is no {what} `{name}`"));
    let near = closest(name, candidates.iter().copied());
    // These are no names: classes and paths have dots of their own, codes have hyphens.
    let plain = [&codes::names::UNKNOWN_ERROR_CLASS, &codes::tests::TEST_PATH, &codes::tests::UNKNOWN_CODE];
    let written = |near: &str| if plain.contains(&code) { near.to_owned() } else { quoted(near) };
    let diagnostic = match near {
        Some(near) => {
            diagnostic.help(format!("did you mean `{near}`?")).fix(format!("write `{near}`"), span, written(near))
        }
        None if candidates.is_empty() => diagnostic,
        None => {
            let verb = if candidates.len() == 1 { "is" } else { "are" };
            diagnostic.help(format!("there {verb} {}", listed(&candidates)))
        }
    };
    if let Some(near) = near {
        candidates.retain(|candidate| *candidate != near);
        candidates.insert(0, near);
    }
    diagnostic.available(candidates)
}

/// A second thing of the same name.
pub(super) fn duplicate_name(what: &str, name: &ast::Name, first: Span) -> Diagnostic {
    Diagnostic::new(&codes::names::DUPLICATE_NAME, name.span, format!("the {what} `{}` is declared twice", name.text))
        .note("again here")
        .label(first, "first here")
        .help("names are unique, so that every step has one path; rename one of them")
}

/// Names in back quotes, with a count of those left out.
pub(super) fn listed(names: &[&str]) -> String {
    let mut text = names.iter().take(LISTED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > LISTED {
        // Writing to a string cannot fail.
        let _ = write!(text, " and {} more", names.len() - LISTED);
    }
    text
}

/// A name as it stands in a plan: in back quotes where it is no identifier.
pub(super) fn quoted(name: &str) -> String {
    let mut characters = name.chars();
    let starts = characters.next().is_some_and(|first| first == '_' || unicode_ident::is_xid_start(first));
    if starts && characters.all(unicode_ident::is_xid_continue) { name.to_owned() } else { format!("`{name}`") }
}
