//! Renders a diagnostic as plain text, for formats with a single text field.

use std::borrow::Cow;

use super::visible_text;
use crate::diag::Diagnostic;

/// Maximum number of names listed after `available`; the JSON format has all of them.
const LISTED_NAMES: usize = 16;

/// Returns the message, followed by a line for each fact: what was expected, what was found, the available names and
/// the remedy.
#[must_use]
pub(super) fn sentences(diagnostic: &Diagnostic) -> String {
    with_facts(&diagnostic.message, facts(diagnostic))
}

/// Returns a message, followed by a line for each fact with its label, with control characters escaped.
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

/// Returns the facts of a diagnostic with their labels, in display order.
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
