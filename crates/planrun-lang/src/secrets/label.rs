//! Redacts values by position: paths of fields, in which a list stands for each of its elements.

use std::sync::Arc;

use serde_json::Value as Json;

use super::MARK;
use crate::value::{Key, Value, split_path};

/// Visits every value at a path; the empty path is the value itself.
pub fn at_path(value: &Value, path: &str, visit: &mut dyn FnMut(&Value)) {
    if path.is_empty() {
        return visit(value);
    }
    if let Some(items) = value.as_list() {
        return items.iter().for_each(|item| at_path(item, path, visit));
    }
    let (first, rest) = split_path(path);
    if let Some(inner) = value.get(&first) {
        at_path(inner, rest, visit);
    }
}

/// Returns the value with everything at these paths redacted, except null.
#[must_use]
pub fn redact_paths(value: &Value, paths: &[Arc<str>]) -> Value {
    paths
        .iter()
        .fold(value.clone(), |value, path| redact_path(&value, path))
}

fn redact_path(value: &Value, path: &str) -> Value {
    if path.is_empty() {
        return if value.is_null() {
            Value::Null
        } else {
            Value::from(MARK)
        };
    }
    if let Some(items) = value.as_list() {
        return Value::list(items.iter().map(|item| redact_path(item, path)));
    }
    let (first, rest) = split_path(path);
    match (value.as_map(), value.get(&first)) {
        (Some(map), Some(inner)) => {
            let mut map = map.clone();
            map.insert(Key::from(&*first), redact_path(inner, rest));
            Value::Map(Arc::new(map))
        }
        (None | Some(_), _) => value.clone(),
    }
}

/// Redacts everything at a path in JSON, except null.
pub fn redact_json_path(json: &mut Json, path: &str) {
    match (json, split_path(path)) {
        (Json::Null, _) => {}
        (json, _) if path.is_empty() => *json = MARK.into(),
        (Json::Array(items), _) => items
            .iter_mut()
            .for_each(|item| redact_json_path(item, path)),
        (Json::Object(fields), (first, rest)) => {
            if let Some(inner) = fields.get_mut(&*first) {
                redact_json_path(inner, rest);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::value::path_below;

    #[test]
    fn a_field_with_dots_in_its_name_is_redacted() {
        let json = json!({ "X.Api.Key": [{ "a\\b": "one", "b": "two" }], "X": { "Api": "three" } });
        let redacted =
            json!({ "X.Api.Key": [{ "a\\b": MARK, "b": "two" }], "X": { "Api": "three" } });
        let path: Arc<str> = path_below("X.Api.Key", &path_below("a\\b", ""));
        let value = Value::from_json(&json);
        let mut found = Vec::new();
        at_path(&value, &path, &mut |value| found.push(value.to_json()));
        assert_eq!(found, ["one"]);
        let changed = redact_paths(&value, std::slice::from_ref(&path));
        assert_eq!(changed.to_json(), redacted);
        let mut changed = json;
        redact_json_path(&mut changed, &path);
        assert_eq!(changed, redacted);
    }
}
