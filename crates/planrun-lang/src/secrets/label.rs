//! Redacts values by position: paths of fields, in which a list stands for each of its elements, and a text that is an
//! address has the field [`USERINFO`].

use std::sync::Arc;

use serde_json::Value as Json;

use url::Url;

use super::{MARK, Redactor, credentials_in_address};
use crate::value::{Key, Value, split_path};

/// The name in a path of what is before the host of an address.
pub const USERINFO: &str = "userinfo";

/// Returns an address without what is before its host.
fn without_userinfo(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else {
        return MARK.to_owned();
    };
    // An address that cannot have it has none.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.as_str().replacen("://", &format!("://{MARK}@"), 1)
}

/// Visits every value at a path; the empty path is the value itself.
pub fn at_path(value: &Value, path: &str, visit: &mut dyn FnMut(&Value)) {
    if path.is_empty() {
        return visit(value);
    }
    if let Some(items) = value.as_list() {
        return items.iter().for_each(|item| at_path(item, path, visit));
    }
    let (first, rest) = split_path(path);
    if let (Some(address), USERINFO) = (value.as_str(), &*first) {
        let credentials = credentials_in_address(address).into_iter();
        credentials.for_each(|secret| visit(&Value::from(secret)));
    } else if let Some(inner) = value.get(&first) {
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
    if let (Some(address), USERINFO) = (value.as_str(), &*first) {
        return Value::from(without_userinfo(address));
    }
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
        (Json::String(address), (first, _)) if first == USERINFO => {
            *address = without_userinfo(address);
        }
        (Json::Object(fields), (first, rest)) => {
            if let Some(inner) = fields.get_mut(&*first) {
                redact_json_path(inner, rest);
            }
        }
        _ => {}
    }
}

/// Redacts everything at these paths in JSON, and what was there wherever else it appears in it. Returns what redacts the
/// same secrets in other texts.
pub fn redact_json_paths(json: &mut Json, paths: &[Arc<str>]) -> Redactor {
    let value = Value::from_json(json);
    let mut secrets = Redactor::default();
    for path in paths {
        at_path(&value, path, &mut |secret| secrets.add_value(secret));
        redact_json_path(json, path);
    }
    secrets.json(json);
    secrets
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

    #[test]
    fn only_what_is_before_the_host_of_an_address_is_redacted() {
        let json = json!({ "url": "http://kim:pw%3A1@host:81/a?b=c" });
        let redacted = json!({ "url": format!("http://{MARK}@host:81/a?b=c") });
        let path: Arc<str> = path_below("url", USERINFO);
        let value = Value::from_json(&json);
        let mut found = Vec::new();
        at_path(&value, &path, &mut |value| found.push(value.to_json()));
        assert_eq!(found, ["pw:1"]);
        let changed = redact_paths(&value, std::slice::from_ref(&path));
        assert_eq!(changed.to_json(), redacted);
        let mut changed = json;
        redact_json_path(&mut changed, &path);
        assert_eq!(changed, redacted);
    }

    #[test]
    fn a_secret_is_redacted_wherever_it_appears_again() {
        let mut json = json!({ "pw": "hunter22", "note": "it is hunter22", "n": 1 });
        let secrets = redact_json_paths(&mut json, &["pw".into()]);
        let note = format!("it is {MARK}");
        assert_eq!(json, json!({ "pw": MARK, "note": note, "n": 1 }));
        assert_eq!(secrets.text("hunter22!"), format!("{MARK}!"));
    }
}
