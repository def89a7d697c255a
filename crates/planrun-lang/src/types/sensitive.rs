//! Finds the sensitive parts of a call: those that the contract declares, and those that names indicate.

use std::sync::Arc;

use super::{Signature, marked_paths};
use crate::value::{Value, path_below, path_in};

/// The first field of the paths in the result of a tool.
const RESULT: &str = "result";
/// Words in the name of a variable or header that indicate a secret value.
const WORDS: [&str; 19] = [
    "APIKEY",
    "AUTH",
    "AUTHORIZATION",
    "BEARER",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "KEY",
    "KEYS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PRIVATE",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];

/// Headers whose values are credentials.
const HEADERS: [&str; 5] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "www-authenticate",
];

/// Returns the paths of the arguments to redact: those that the contract declares, and credentials in headers and
/// environment variables, whose names the plan chooses.
#[must_use]
pub fn sensitive_arguments(signature: &Signature, arguments: &Value) -> Vec<Arc<str>> {
    let labelled = signature
        .sensitive
        .iter()
        .filter(|path| path_in(RESULT, path).is_none());
    let mut paths: Vec<Arc<str>> = labelled.cloned().collect();
    let (argument, is_secret): (&str, fn(&str) -> bool) =
        match (&*signature.namespace, &*signature.name) {
            ("http", "fetch") => ("headers", is_credential),
            ("proc", "run") => ("env", is_secret_name),
            _ => return paths,
        };
    let names = arguments
        .get(argument)
        .and_then(Value::as_map)
        .into_iter()
        .flat_map(|map| map.keys());
    let names = names
        .filter_map(|name| name.as_str())
        .filter(|name| is_secret(name));
    paths.extend(names.map(|name| path_below(argument, &path_below(name, ""))));
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

fn is_credential(header: &str) -> bool {
    HEADERS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(header))
        || is_secret_name(header)
}

/// Returns true if the name of a variable indicates a secret: `HR_TOKEN`, `db_password`.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    name.split(['_', '-', '.'])
        .any(|word| WORDS.contains(&word.to_ascii_uppercase().as_str()))
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

    #[test]
    fn names_tell_secrets() {
        for name in [
            "HR_TOKEN",
            "db_password",
            "AWS_SECRET_ACCESS_KEY",
            "api-key",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["HOME", "PATH", "MONKEY", "PWD", "NODE_ENV", "KEYBOARD"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
