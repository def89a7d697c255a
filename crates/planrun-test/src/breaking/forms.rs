//! Forms: the fields of each `input`, and who fills them in.

use super::called::describe_role;
use super::survey::Survey;
use super::{Changes, kind, only_in};

pub(super) fn inspect(changes: &mut Changes<'_>, then: &Survey, now: &Survey) {
    for (key @ (path, _), is) in &now.forms {
        let Some(was) = then.forms.get(key) else {
            let role = describe_role(&is.role);
            let message = format!("the run now waits until {role} fills in `{path}`");
            changes.note(&kind::FORM_ADDED, path, message, (None, Some(is.span)));
            continue;
        };
        let places = (Some(was.span), Some(is.span));
        if was.role != is.role {
            let [before, after] = [was, is].map(|form| describe_role(&form.role));
            let message =
                format!("the person who fills in `{path}` changed from {before} to {after}");
            changes.note(&kind::ROLE_CHANGED, path, message, places);
        }
        let kinds = [&kind::FORM_NARROWED, &kind::FORM_WIDENED];
        changes.note_types((&was.takes, &is.takes), (path, "form"), kinds, places);
    }
    for ((path, _), was) in only_in(&then.forms, &now.forms) {
        let role = describe_role(&was.role);
        let message = format!("the form `{path}`, filled in by {role}, was removed");
        changes.note(&kind::FORM_REMOVED, path, message, (Some(was.span), None));
    }
}
