//! Finds the sensitive parts of a call: those that the contract declares, and those that names indicate.

use std::sync::Arc;

use crate::secrets::{USERINFO, credentials_in_address, is_secret_name};
use crate::types::{Signature, marked_paths};
use crate::value::{Value, path_below, path_in};

/// The first field of the paths in the result of a tool.
const RESULT: &str = "result";
/// The argument of `http.fetch` that is an address.
const ADDRESS: &str = "url";

/// Returns the argument of a built-in tool that maps names which the plan chooses to values: headers or variables.
#[must_use]
pub fn named_values(signature: &Signature) -> Option<&'static str> {
    match (&*signature.namespace, &*signature.name) {
        ("http", "fetch") => Some("headers"),
        ("proc", "run") => Some("env"),
        _ => None,
    }
}

/// Returns the paths of the arguments to redact: those that the contract declares, credentials in headers and
/// environment variables, whose names the plan chooses, and those in the address of a request.
#[must_use]
pub fn sensitive_arguments(signature: &Signature, arguments: &Value) -> Vec<Arc<str>> {
    let labelled = signature
        .sensitive
        .iter()
        .filter(|path| path_in(RESULT, path).is_none());
    let mut paths: Vec<Arc<str>> = labelled.cloned().collect();
    let Some(argument) = named_values(signature) else {
        return paths;
    };
    let names = arguments
        .get(argument)
        .and_then(Value::as_map)
        .into_iter()
        .flat_map(|map| map.keys());
    let names = names
        .filter_map(|name| name.as_str())
        .filter(|name| is_secret_name(name));
    paths.extend(names.map(|name| path_below(argument, &path_below(name, ""))));
    let address = arguments.get(ADDRESS).and_then(Value::as_str);
    if address.is_some_and(|text| !credentials_in_address(text).is_empty()) {
        paths.push(path_below(ADDRESS, USERINFO));
    }
    paths
}

/// Returns the paths in a result of a tool to redact; the empty path means the whole result.
#[must_use]
pub fn sensitive_result(signature: &Signature, result: &Value) -> Vec<Arc<str>> {
    let declared = signature.sensitive.iter();
    let declared = declared.filter_map(|path| path_in(RESULT, path));
    let mut paths: Vec<Arc<str>> = declared.map(Arc::from).collect();
    if let Some(received) = &signature.received_schema {
        paths.extend(marked_paths(received, result));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_dots_in_its_name_is_one_field() {
        let signature = Signature::unknown("http".into(), "fetch".into());
        let headers = serde_json::json!({ "headers": { "X.Api.Key": "a", "Accept": "b" } });
        let paths = sensitive_arguments(&signature, &Value::from_json(&headers));
        assert_eq!(paths, [r"headers.X\.Api\.Key".into()]);
    }
}
