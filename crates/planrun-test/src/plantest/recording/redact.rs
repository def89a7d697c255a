//! Redacts secrets in recordings, and compares calls with redacted ones.

use std::sync::Arc;

use planrun_lang::secrets::{MARK, Redactor};
use planrun_lang::value::split_path;
use serde_json::Value as Json;

/// Replaces the values at these paths with markers. Values that are not strings keep their type, so that they still
/// satisfy the contract of the tool: numbers become 0, booleans become false.
pub(super) fn redact(json: &mut Json, paths: &[Arc<str>]) {
    for path in paths {
        at(json, path);
    }
}

fn at(json: &mut Json, path: &str) {
    if path.is_empty() {
        return redact_value(json);
    }
    let (first, rest) = split_path(path);
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| at(item, path)),
        Json::Object(fields) => {
            if let Some(inner) = fields.get_mut(&*first) {
                at(inner, rest);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn redact_value(json: &mut Json) {
    match json {
        Json::Null => {}
        Json::Bool(_) => *json = false.into(),
        Json::Number(_) => *json = 0.into(),
        Json::String(_) => *json = MARK.into(),
        Json::Array(items) => items.iter_mut().for_each(redact_value),
        Json::Object(fields) => fields.values_mut().for_each(redact_value),
    }
}

/// Redacts secrets wherever they appear in a result. A number that is one becomes 0.
pub(super) fn redact_secrets(json: &mut Json, secrets: &Redactor) {
    match json {
        Json::Number(_) => {
            let mut redacted = json.clone();
            secrets.json(&mut redacted);
            if redacted != *json {
                redact_value(json);
            }
        }
        Json::Array(items) => {
            for item in items {
                redact_secrets(item, secrets);
            }
        }
        Json::Object(fields) => {
            for value in fields.values_mut() {
                redact_secrets(value, secrets);
            }
            // The names.
            secrets.json(json);
        }
        Json::Null | Json::Bool(_) | Json::String(_) => secrets.json(json),
    }
}

/// Returns true if a value matches the recorded one. A marker matches every value except null.
pub(super) fn fits(recorded: &Json, actual: &Json) -> bool {
    match (recorded, actual) {
        (Json::String(recorded), actual) if recorded == MARK => !actual.is_null(),
        (Json::String(recorded), Json::String(actual)) => text_fits(recorded, actual),
        (Json::Array(recorded), Json::Array(actual)) => {
            recorded.len() == actual.len()
                && recorded
                    .iter()
                    .zip(actual)
                    .all(|(recorded, actual)| fits(recorded, actual))
        }
        (Json::Object(recorded), Json::Object(actual)) => {
            let same = |(name, recorded): (&String, &Json)| {
                actual
                    .get(name)
                    .is_some_and(|actual| fits(recorded, actual))
            };
            recorded.len() == actual.len() && recorded.iter().all(same)
        }
        (recorded, actual) => recorded == actual,
    }
}

fn text_fits(recorded: &str, actual: &str) -> bool {
    let Some((first, others)) = recorded.split_once(MARK) else {
        return recorded == actual;
    };
    let (between, last) = others.rsplit_once(MARK).unwrap_or(("", others));
    let Some(mut rest) = actual
        .strip_prefix(first)
        .and_then(|rest| rest.strip_suffix(last))
    else {
        return false;
    };
    for part in between.split(MARK) {
        match rest.find(part) {
            Some(place) => rest = &rest[place + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mark_fits_what_it_stands_for_and_nothing_else() {
        let mut sent =
            json!({"token": "t0p", "users": [{"pin": 1234, "name": "Ada"}], "ok": {"deep": true}});
        let paths = ["token", "users.pin", "ok", "gone.away"].map(Arc::from);
        let plain = sent.clone();
        redact(&mut sent, &paths);
        assert_eq!(
            sent,
            json!({"token": MARK, "users": [{"pin": 0, "name": "Ada"}], "ok": {"deep": false}})
        );
        let mut other =
            json!({"token": "other", "users": [{"pin": 99, "name": "Ada"}], "ok": {"deep": true}});
        redact(&mut other, &paths);
        assert!(fits(&sent, &other) && !fits(&sent, &plain));
        assert!(fits(&json!("Bearer [redacted]!"), &json!("Bearer x!")));
        for other in ["Basic x!", "Bearer x", "Bearer"] {
            assert!(
                !fits(&json!("Bearer [redacted]!"), &json!(other)),
                "{other}"
            );
        }
        assert!(
            fits(&json!("[redacted]-[redacted]"), &json!("a-b"))
                && !fits(&json!("a[redacted]a"), &json!("a"))
        );
        assert!(
            !fits(&json!("[redacted]"), &Json::Null)
                && !fits(&json!({"a": 1}), &json!({"a": 1, "b": 2}))
        );
    }
}
