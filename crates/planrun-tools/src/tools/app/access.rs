//! Authentication of app calls: headers, and credentials from environment variables.

use std::collections::BTreeSet;

use planrun_lang::diag::codes::contracts::APP_INVALID;
use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::secrets::{MIN_LENGTH, Redactor, credentials_in, credentials_in_address};
use planrun_lang::source::Span;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::section::Section;
use super::variables::Variable;
use planrun_lang::yaml::Node;

/// Headers that belong to the call or to the connection.
const OWN: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "idempotency-key",
    "te",
    "transfer-encoding",
];

/// Returns the header with this name; `None` if an app file cannot set it.
pub(super) fn settable(name: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok();
    name.filter(|name| !OWN.contains(&name.as_str()))
}

/// Reads the headers that every call of the app sends.
pub(super) fn headers(section: &Section) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for entry in section.entries("headers", "`headers`") {
        let Some(name) = settable(&entry.name) else {
            let message = format!("`{}` is not a header that an app file can set", entry.name);
            section.report(entry.span, message);
            continue;
        };
        // The value may be a secret, so it is not reported.
        let value = entry.value.scalar();
        if let Some(mut value) = value.and_then(|text| HeaderValue::from_str(&text).ok()) {
            value.set_sensitive(true);
            headers.insert(name, value);
        } else {
            let name = &entry.name;
            let message = format!("the value of the header `{name}` is not a valid header value");
            section.report(entry.value.span, message);
        }
    }
    headers
}

/// Returns the spans in which environment variables may be used: headers and endpoints.
pub(super) fn places(node: &Node) -> BTreeSet<Span> {
    let headers = node.get("headers").and_then(Node::entries);
    let headers = headers.unwrap_or_default().iter().map(|entry| &entry.value);
    let tools = node.get("tools").and_then(Node::items).unwrap_or_default();
    let endpoints = tools.iter().filter_map(|tool| tool.get("endpoint"));
    headers.chain(endpoints).map(|node| node.span).collect()
}

/// Returns the credentials of an app: the values of environment variables, and the credentials that headers and
/// endpoints contain.
pub(super) fn credentials(section: &Section, filled: &[Variable]) -> Redactor {
    let mut known = Redactor::default();
    let mut short = BTreeSet::new();
    let mut add = |span: Span, secret: &str| {
        if !known.add(secret) && !secret.is_empty() {
            short.insert(span);
        }
    };
    for variable in filled {
        add(variable.span, variable.value.as_deref().unwrap_or_default());
    }
    let tools = section.get("tools").and_then(Node::items);
    let tools = tools.unwrap_or_default();
    let requests = tools.iter().filter_map(|tool| tool.get("request"));
    let headers = requests.map(|request| request.get("headers"));
    let headers = headers.chain([section.get("headers")]).flatten();
    for entry in headers.filter_map(Node::entries).flatten() {
        // A text with braces contains an argument, which is not part of the file.
        let text = entry.value.scalar().filter(|text| !text.contains('{'));
        for secret in credentials_in(&entry.name, &text.unwrap_or_default()) {
            add(entry.value.span, &secret);
        }
    }
    for node in tools.iter().filter_map(|tool| tool.get("endpoint")) {
        for secret in credentials_in_address(node.text().unwrap_or_default()) {
            add(node.span, &secret);
        }
    }
    for span in short {
        section.found.push(too_short(span));
    }
    known
}

fn too_short(span: Span) -> Diagnostic {
    let message = format!(
        "a secret of fewer than {MIN_LENGTH} characters cannot be distinguished from the text around it"
    );
    let mut finding = Diagnostic::new(&APP_INVALID, span, message)
        .note("if the tool returns it, it appears in results and in the journal")
        .help("use a longer secret");
    finding.severity = Severity::Warning;
    finding
}
