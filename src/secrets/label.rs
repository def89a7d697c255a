//! What is labelled as sensitive by its place: dotted paths of fields, in which a list stands for each of its elements.

use std::sync::Arc;

use serde_json::Value as Json;

use super::MARK;
use crate::value::{Key, Value};

/// Visits every value that stands at a path; an empty path is the value itself.
pub fn at_path(value: &Value, path: &str, visit: &mut dyn FnMut(&Value)) {
    match (value, path.split_once('.').unwrap_or((path, ""))) {
        _ if path.is_empty() => visit(value),
        (Value::List(items), _) => items.iter().for_each(|item| at_path(item, path, visit)),
        (Value::Map(map), (first, rest)) => map.get(first).into_iter().for_each(|inner| at_path(inner, rest, visit)),
        _ => {}
    }
}

/// The value with a mark for everything that stands at one of these paths.
#[must_use]
pub fn hidden(value: &Value, paths: &[Arc<str>]) -> Value {
    paths.iter().fold(value.clone(), |value, path| hide(&value, path))
}

fn hide(value: &Value, path: &str) -> Value {
    match (value, path.split_once('.').unwrap_or((path, ""))) {
        (Value::Null, _) => Value::Null,
        _ if path.is_empty() => Value::from(MARK),
        (Value::List(items), _) => Value::list(items.iter().map(|item| hide(item, path))),
        (Value::Map(map), (first, rest)) => {
            let mut map = (**map).clone();
            if let Some(inner) = map.get(first) {
                let inner = hide(inner, rest);
                map.insert(Key::from(first), inner);
            }
            Value::Map(Arc::new(map))
        }
        _ => value.clone(),
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
