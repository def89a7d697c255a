//! The reply: values in it that callers did not have to handle before.

use planrun_lang::source::Span;

use super::difference::{Change, differences};
use super::{Finding, Pair, Side, kind};

pub(super) fn inspect(pair: &Pair<'_>, found: &mut Vec<Finding>) {
    // Callers read fields by name, so both types are compared as if they had further fields.
    let (was, is) = (
        pair.then.plan.returns.opened(),
        pair.now.plan.returns.opened(),
    );
    for difference in differences(&was, &is, "") {
        let kind = match &difference.change {
            Change::Narrowed(_) | Change::Required => &kind::REPLY_NARROWED,
            Change::Widened(_) | Change::Optional => &kind::REPLY_WIDENED,
            Change::Changed(_) => &kind::REPLY_CHANGED,
            Change::Removed => &kind::REPLY_FIELD_REMOVED,
            Change::Added { .. } => &kind::REPLY_FIELD_ADDED,
        };
        let subject = if difference.path.is_empty() {
            "reply"
        } else {
            &difference.path
        };
        let what = if difference.path.is_empty() {
            "the reply".to_owned()
        } else {
            format!("`{subject}` of the reply")
        };
        let places = (place(pair.then), place(pair.now));
        found.push(pair.finding(
            kind,
            subject,
            format!("{what} {}", difference.change.describe_for_readers()),
            places,
        ));
    }
}

/// Returns the span of the declared type, if there is one.
fn place(side: Side<'_>) -> Option<Span> {
    side.written.returns.as_ref().map(|returns| returns.span)
}
