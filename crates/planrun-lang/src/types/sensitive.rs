//! The parts of a call that must not be shown: what a contract says, and what names tell.

use std::sync::Arc;

use super::Signature;
use crate::value::Value;

/// Words in the name of a variable that say that its value is a secret.
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

/// Headers whose value is a credential.
const HEADERS: [&str; 5] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "set-cookie",
    "www-authenticate",
];

/// The places in the arguments of a call that must not be shown: what its contract says, and credentials in headers and
/// variables whose names a plan chooses.
#[must_use]
pub fn sensitive_arguments(signature: &Signature, arguments: &Value) -> Vec<Arc<str>> {
    let labelled = signature
        .sensitive
        .iter()
        .filter(|path| in_result(path).is_none());
    let mut paths: Vec<Arc<str>> = labelled.cloned().collect();
    let (argument, is_secret): (&str, fn(&str) -> bool) =
        match (&*signature.namespace, &*signature.name) {
            ("http", "fetch") => ("headers", is_credential),
            ("proc", "run") => ("env", sounds_secret),
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
    paths.extend(names.map(|name| Arc::from(format!("{argument}.{name}"))));
    paths
}

/// The places in the result of a tool that must not be shown; the empty path is all of it.
#[must_use]
pub fn sensitive_result(signature: &Signature) -> Vec<Arc<str>> {
    signature
        .sensitive
        .iter()
        .filter_map(|path| in_result(path))
        .map(Arc::from)
        .collect()
}

/// The part of a path behind `result`.
fn in_result(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("result")?;
    rest.is_empty()
        .then_some(rest)
        .or_else(|| rest.strip_prefix('.'))
}

fn is_credential(header: &str) -> bool {
    HEADERS
        .iter()
        .any(|known| known.eq_ignore_ascii_case(header))
        || sounds_secret(header)
}

/// Whether somebody who named a variable so keeps a secret in it: `HR_TOKEN`, `db_password`.
#[must_use]
pub fn sounds_secret(name: &str) -> bool {
    name.split(['_', '-', '.'])
        .any(|word| WORDS.contains(&word.to_ascii_uppercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_secrets() {
        for name in [
            "HR_TOKEN",
            "db_password",
            "AWS_SECRET_ACCESS_KEY",
            "api-key",
        ] {
            assert!(sounds_secret(name), "{name}");
        }
        for name in ["HOME", "PATH", "MONKEY", "PWD", "NODE_ENV", "KEYBOARD"] {
            assert!(!sounds_secret(name), "{name}");
        }
    }
}
