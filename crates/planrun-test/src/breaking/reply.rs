//! The reply: values in it that callers did not have to handle before.

use planrun_lang::source::Span;

use super::difference::{Change, differences};
use super::{Changes, Side, kind};

pub(super) fn inspect(changes: &mut Changes<'_>) {
    let places = (place(changes.then), place(changes.now));
    // Callers read fields by name, so both types are compared as if they had further fields.
    let [was, is] = [changes.then, changes.now].map(|side| side.plan.returns.opened());
    for difference in differences(&was, &is, "") {
        let kind = match &difference.change {
            Change::Narrowed(_) | Change::Required => &kind::REPLY_NARROWED,
            Change::Widened(_) | Change::Optional => &kind::REPLY_WIDENED,
            Change::Changed(_) => &kind::REPLY_CHANGED,
            Change::Removed => &kind::REPLY_FIELD_REMOVED,
            Change::Added { .. } => &kind::REPLY_FIELD_ADDED,
        };
        let change = difference.change.describe_for_readers();
        let (subject, message) = match &*difference.path {
            "" => ("reply", format!("the reply {change}")),
            path => (path, format!("`{path}` of the reply {change}")),
        };
        changes.note(kind, subject, message, places);
    }
}

/// Returns the span of the declared type, if there is one.
fn place(side: Side<'_>) -> Option<Span> {
    side.written.returns.as_ref().map(|returns| returns.span)
}
