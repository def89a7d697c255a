//! What is labelled as sensitive by its place: dotted paths of fields, in which a list stands for each of its elements.

use std::sync::Arc;

use serde_json::Value as Json;

use super::MARK;
use crate::value::{Key, Value};

/// Visits every value that stands at a path; an empty path is the value itself.
pub fn at_path(value: &Value, path: &str, visit: &mut dyn FnMut(&Value)) {
    if path.is_empty() {
        return visit(value);
    }
    if let Some(items) = value.as_list() {
        return items.iter().for_each(|item| at_path(item, path, visit));
    }
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(inner) = value.get(first) {
        at_path(inner, rest, visit);
    }
}

/// The value with a mark for everything that stands at one of these paths.
#[must_use]
pub fn hidden(value: &Value, paths: &[Arc<str>]) -> Value {
    paths
        .iter()
        .fold(value.clone(), |value, path| hide(&value, path))
}

fn hide(value: &Value, path: &str) -> Value {
    if path.is_empty() {
        return if value.is_null() {
            Value::Null
        } else {
            Value::from(MARK)
        };
    }
    if let Some(items) = value.as_list() {
        return Value::list(items.iter().map(|item| hide(item, path)));
    }
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    match (value.as_map(), value.get(first)) {
        (Some(map), Some(inner)) => {
            let mut map = map.clone();
            map.insert(Key::from(first), hide(inner, rest));
            Value::Map(Arc::new(map))
        }
        (None | Some(_), _) => value.clone(),
    }
}

/// The same in JSON.
pub fn hide_json(json: &mut Json, path: &str) {
    match (json, path.split_once('.').unwrap_or((path, ""))) {
        (Json::Null, _) => {}
        (json, _) if path.is_empty() => *json = MARK.into(),
        (Json::Array(items), _) => items.iter_mut().for_each(|item| hide_json(item, path)),
        (Json::Object(fields), (first, rest)) => {
            if let Some(inner) = fields.get_mut(first) {
                hide_json(inner, rest);
            }
        }
        _ => {}
    }
}
