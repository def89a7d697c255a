//! Forms: the fields of each `input`, and who fills them in.

use super::called::describe_role;
use super::difference::differences;
use super::survey::Survey;
use super::{Finding, Pair, kind};

pub(super) fn inspect(pair: &Pair<'_>, then: &Survey, now: &Survey, found: &mut Vec<Finding>) {
    for (key @ (path, _), is) in &now.forms {
        let Some(was) = then.forms.get(key) else {
            let message = format!(
                "the run now waits until {} fills in `{path}`",
                describe_role(&is.role)
            );
            found.push(pair.finding(&kind::FORM_ADDED, path, message, (None, Some(is.span))));
            continue;
        };
        let places = (Some(was.span), Some(is.span));
        if was.role != is.role {
            let message = format!(
                "the person who fills in `{path}` changed from {} to {}",
                describe_role(&was.role),
                describe_role(&is.role)
            );
            found.push(pair.finding(&kind::ROLE_CHANGED, path, message, places));
        }
        for difference in differences(&was.takes, &is.takes, path) {
            let kind = difference
                .change
                .select_kind(&kind::FORM_NARROWED, &kind::FORM_WIDENED);
            let message = format!(
                "`{}` of the form {}",
                difference.path,
                difference.change.describe()
            );
            found.push(pair.finding(kind, difference.path, message, places));
        }
    }
    for ((path, _), was) in then
        .forms
        .iter()
        .filter(|(key, _)| !now.forms.contains_key(*key))
    {
        let message = format!(
            "the form `{path}`, filled in by {}, was removed",
            describe_role(&was.role)
        );
        found.push(pair.finding(&kind::FORM_REMOVED, path, message, (Some(was.span), None)));
    }
}
