//! A finding in plain sentences, for forms that have one place for all that is to be said.

use std::borrow::Cow;

use super::visible_text;
use crate::diag::Diagnostic;

/// Names listed behind `available`; the JSON form has them all.
const LISTED_NAMES: usize = 16;

/// The message, and a line each for what was wanted, what was found, what there is and what to do.
#[must_use]
pub(super) fn sentences(diagnostic: &Diagnostic) -> String {
    with_facts(&diagnostic.message, facts(diagnostic))
}

/// A message, and a line for each fact beside it, with its word; nothing in them acts on a terminal.
#[must_use]
pub fn with_facts<'a>(
    message: &str,
    facts: impl IntoIterator<Item = (&'static str, Cow<'a, str>)>,
) -> String {
    let mut text = visible_text(message).into_owned();
    for (word, fact) in facts {
        text.push('\n');
        text.push_str(word);
        text.push_str(": ");
        text.push_str(&visible_text(&fact));
    }
    text
}

/// What is told beside the message, a word each, in the order in which people ask.
pub(super) fn facts(diagnostic: &Diagnostic) -> impl Iterator<Item = (&'static str, Cow<'_, str>)> {
    let available =
        (!diagnostic.available.is_empty()).then(|| Cow::Owned(names(&diagnostic.available)));
    let facts = [
        (
            "expected",
            diagnostic.expected.as_deref().map(Cow::Borrowed),
        ),
        ("actual", diagnostic.actual.as_deref().map(Cow::Borrowed)),
        ("available", available),
        ("help", diagnostic.help.as_deref().map(Cow::Borrowed)),
    ];
    facts
        .into_iter()
        .filter_map(|(word, fact)| Some((word, fact?)))
}

fn names(available: &[String]) -> String {
    let listed = available
        .iter()
        .take(LISTED_NAMES)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match available.len().checked_sub(LISTED_NAMES) {
        Some(more) if more > 0 => format!("{listed} and {more} more"),
        Some(_) | None => listed,
    }
}
