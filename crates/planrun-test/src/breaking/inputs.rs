//! Inputs: required, optional and removed inputs, their types and their defaults.

use planrun_lang::sema::PlanParameter;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::source::Span;
use planrun_lang::types::Type;

use super::difference::{Change, Difference, differences};
use super::{Changes, Kind, Side, kind};

pub(super) fn inspect(changes: &mut Changes<'_>) {
    let (then, now) = (changes.then, changes.now);
    let mut note = |name: &str, path: &str, change: &Change| {
        let message = format!("the input `{path}` {}", change.describe());
        let places = (place(then, name), place(now, name));
        changes.note(kind_of(change), path, message, places);
    };
    let (then, now) = (&then.plan.parameters, &now.plan.parameters);
    for was in then {
        let Some(is) = now.iter().find(|is| is.name == was.name) else {
            note(&was.name, &was.name, &Change::Removed);
            continue;
        };
        match (was.required, is.required) {
            (true, false) => note(&is.name, &is.name, &Change::Optional),
            (false, true) => note(&is.name, &is.name, &Change::Required),
            (true, true) | (false, false) => {}
        }
        let same = was.required == is.required;
        let [before, after] = [was, is].map(|one| accepted_type(one, same));
        for Difference { path, change } in differences(&before, &after, &is.name) {
            note(&is.name, &path, &change);
        }
    }
    let is_new = |is: &&PlanParameter| then.iter().all(|was| was.name != is.name);
    for is in now.iter().filter(is_new) {
        let required = is.required;
        note(&is.name, &is.name, &Change::Added { required });
    }
    for is in now {
        if let Some(was) = then.iter().find(|was| was.name == is.name) {
            defaults(changes, was, is);
            secrets(changes, was, is);
        }
    }
}

fn kind_of(change: &Change) -> &'static Kind {
    match change {
        Change::Narrowed(_) => &kind::INPUT_NARROWED,
        Change::Widened(_) => &kind::INPUT_WIDENED,
        Change::Changed(_) => &kind::INPUT_CHANGED,
        Change::Removed => &kind::INPUT_REMOVED,
        Change::Added { required: true } => &kind::INPUT_ADDED_REQUIRED,
        Change::Added { required: false } => &kind::INPUT_ADDED_OPTIONAL,
        Change::Required => &kind::INPUT_REQUIRED,
        Change::Optional => &kind::INPUT_OPTIONAL,
    }
}

/// Returns the type of the values that may be passed. Null is left out if the parameter became optional or required,
/// because that change is reported separately.
fn accepted_type(parameter: &PlanParameter, same: bool) -> Type {
    match (same, !parameter.required && parameter.default.is_none()) {
        (false, _) => parameter.ty.without_null(),
        (true, true) => parameter.ty.clone().optional(),
        (true, false) => parameter.ty.clone(),
    }
}

/// Reports a change of the default of an input that is optional in both versions.
fn defaults(changes: &mut Changes<'_>, was: &PlanParameter, is: &PlanParameter) {
    if was.required || is.required {
        return;
    }
    let text = |side: Side<'_>, code: &CheckedExpr| {
        let words = side.source.slice(code.span).split_whitespace();
        words.collect::<Vec<_>>().join(" ")
    };
    let (then, now, name) = (changes.then, changes.now, &is.name);
    let (kind, message) = match (&was.default, &is.default) {
        (None, None) => return,
        (Some(was), Some(is)) => {
            let values = was.constant().zip(is.constant());
            let same = values.is_some_and(|(was, is)| was == is);
            let (was, is) = (text(then, was), text(now, is));
            if same || was == is {
                return;
            }
            let message = format!("the default of `{name}` changed from `{was}` to `{is}`");
            (&kind::DEFAULT_CHANGED, message)
        }
        (Some(was), None) => {
            let was = text(then, was);
            let message = format!("`{name}` no longer has a default; it was `{was}`");
            (&kind::DEFAULT_REMOVED, message)
        }
        (None, Some(is)) => {
            let message = format!("`{name}` now has the default `{}`", text(now, is));
            (&kind::DEFAULT_ADDED, message)
        }
    };
    let default = |parameter: &PlanParameter| parameter.default.as_ref().map(|code| code.span);
    let places = (
        default(was).or(place(then, name)),
        default(is).or(place(now, name)),
    );
    changes.note(kind, &**name, message, places);
}

/// Reports the paths of an input that became sensitive or are no longer sensitive.
fn secrets(changes: &mut Changes<'_>, was: &PlanParameter, is: &PlanParameter) {
    let places = (place(changes.then, &was.name), place(changes.now, &is.name));
    let mut note = |kind: &'static Kind, path: &str, change_text: &str| {
        let subject = super::difference::below(&is.name, path);
        let subject = subject.trim_end_matches('.');
        changes.note(kind, subject, format!("`{subject}` {change_text}"), places);
    };
    for path in is
        .sensitive
        .iter()
        .filter(|path| !was.sensitive.contains(path))
    {
        note(&kind::INPUT_BECAME_SECRET, path, "is now a secret");
    }
    for path in was
        .sensitive
        .iter()
        .filter(|path| !is.sensitive.contains(path))
    {
        note(&kind::INPUT_BECAME_PUBLIC, path, "is no longer a secret");
    }
}

/// Returns the span of the declaration of an input.
fn place(side: Side<'_>, name: &str) -> Option<Span> {
    side.written
        .parameters
        .iter()
        .find(|parameter| &*parameter.name.text == name)
        .map(|parameter| parameter.span)
}
