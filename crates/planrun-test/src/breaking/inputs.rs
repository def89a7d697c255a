//! Inputs: required, optional and removed inputs, their types and their defaults.

use planrun_lang::sema::PlanParameter;
use planrun_lang::source::Span;
use planrun_lang::types::Type;

use super::difference::{Change, differences};
use super::{Finding, Kind, Pair, Side, kind};

pub(super) fn inspect(pair: &Pair<'_>, found: &mut Vec<Finding>) {
    let (then, now) = (&pair.then.plan.parameters, &pair.now.plan.parameters);
    let mut note = |name: &str, path: &str, change: &Change| {
        let places = (place(pair.then, name), place(pair.now, name));
        found.push(pair.finding(
            kind_of(change),
            path,
            format!("the input `{path}` {}", change.describe()),
            places,
        ));
    };
    for was in then {
        match now.iter().find(|is| is.name == was.name) {
            None => note(&was.name, &was.name, &Change::Removed),
            Some(is) => {
                match (was.required, is.required) {
                    (true, false) => note(&is.name, &is.name, &Change::Optional),
                    (false, true) => note(&is.name, &is.name, &Change::Required),
                    (true, true) | (false, false) => {}
                }
                let same = was.required == is.required;
                for difference in differences(
                    &accepted_type(was, same),
                    &accepted_type(is, same),
                    &is.name,
                ) {
                    note(&is.name, &difference.path, &difference.change);
                }
            }
        }
    }
    for is in now
        .iter()
        .filter(|is| then.iter().all(|was| was.name != is.name))
    {
        note(
            &is.name,
            &is.name,
            &Change::Added {
                required: is.required,
            },
        );
    }
    for (was, is) in common_parameters(then, now) {
        defaults(pair, was, is, found);
        secrets(pair, was, is, found);
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

fn common_parameters<'a>(
    then: &'a [PlanParameter],
    now: &'a [PlanParameter],
) -> impl Iterator<Item = (&'a PlanParameter, &'a PlanParameter)> {
    now.iter()
        .filter_map(|is| Some((then.iter().find(|was| was.name == is.name)?, is)))
}

/// Reports a change of the default of an input that is optional in both versions.
fn defaults(pair: &Pair<'_>, was: &PlanParameter, is: &PlanParameter, found: &mut Vec<Finding>) {
    if was.required || is.required {
        return;
    }
    let text = |side: Side<'_>, span: Span| {
        side.source
            .slice(span)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let name = &is.name;
    let (kind, message) = match (&was.default, &is.default) {
        (None, None) => return,
        (Some(was), Some(is)) => {
            let same = was
                .constant()
                .zip(is.constant())
                .is_some_and(|(was, is)| was == is);
            let (was, is) = (text(pair.then, was.span), text(pair.now, is.span));
            if same || was == is {
                return;
            }
            (
                &kind::DEFAULT_CHANGED,
                format!("the default of `{name}` changed from `{was}` to `{is}`"),
            )
        }
        (Some(was), None) => (
            &kind::DEFAULT_REMOVED,
            format!(
                "`{name}` no longer has a default; it was `{}`",
                text(pair.then, was.span)
            ),
        ),
        (None, Some(is)) => (
            &kind::DEFAULT_ADDED,
            format!("`{name}` now has the default `{}`", text(pair.now, is.span)),
        ),
    };
    let default = |parameter: &PlanParameter| parameter.default.as_ref().map(|code| code.span);
    let places = (
        default(was).or(place(pair.then, name)),
        default(is).or(place(pair.now, name)),
    );
    found.push(pair.finding(kind, &**name, message, places));
}

/// Reports the paths of an input that became sensitive or are no longer sensitive.
fn secrets(pair: &Pair<'_>, was: &PlanParameter, is: &PlanParameter, found: &mut Vec<Finding>) {
    let mut note = |kind: &'static Kind, path: &str, change_text: &str| {
        let subject = super::difference::below(&is.name, path);
        let subject = subject.trim_end_matches('.');
        let places = (place(pair.then, &was.name), place(pair.now, &is.name));
        found.push(pair.finding(kind, subject, format!("`{subject}` {change_text}"), places));
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
