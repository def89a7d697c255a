//! Interprets the answers of an operation: its value, or the class of its failure.

use std::borrow::Cow;
use std::sync::Arc;

use planrun_lang::call::{CallError, CallOutcome, status_class, status_name};
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::redact_json_paths;
use planrun_lang::types::{ErrorClass, marked_paths};
use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

use super::body::preferred;
use super::document::At;
use super::schema::{Bundle, Direction, Schemas, bytes};
use crate::tools::http::{Content, HttpResponse, failure, failure_detail, value};
use crate::tools::json;

/// The answers that a document declares for an operation.
#[derive(Clone, Debug, Default)]
pub struct Responses {
    pub declared: Vec<Declared>,
}

/// One declared answer.
#[derive(Clone, Debug)]
pub struct Declared {
    pub status: Status,
    /// Its media type, encoding and schema; `None` if no content is declared.
    pub content: Option<(String, Content, Option<Json>)>,
    /// The schema of a failure with its secrets, which are redacted; `None` if nothing is marked.
    received: Option<Json>,
}

/// Words in documents that mark secrets in schemas.
const MARKS: [&str; 3] = ["writeOnly", "password", "x-sensitive"];

/// The statuses that an answer is declared for, most specific first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    Exactly(u16),
    /// `4XX`, as its first digit.
    Range(u16),
    Default,
}

impl Status {
    fn read(written: &str) -> Option<Self> {
        if written == "default" {
            return Some(Self::Default);
        }
        if let Some(digit) = written.strip_suffix("XX").or(written.strip_suffix("xx")) {
            return digit
                .parse()
                .ok()
                .filter(|digit| (1..=5).contains(digit))
                .map(Self::Range);
        }
        let status = written.parse().ok();
        status
            .filter(|status| (100..=599).contains(status))
            .map(Self::Exactly)
    }

    fn holds_for(self, status: u16) -> bool {
        match self {
            Self::Exactly(own) => own == status,
            Self::Range(digit) => status / 100 == digit,
            Self::Default => true,
        }
    }

    /// Returns true if an answer with the status has no body, by the definition of the status.
    fn has_no_body(self) -> bool {
        match self {
            Self::Exactly(status) => matches!(status, 204 | 205),
            Self::Range(_) | Self::Default => false,
        }
    }

    fn is_success(self) -> bool {
        match self {
            Self::Exactly(status) => (200..=299).contains(&status),
            Self::Range(digit) => digit == 2,
            Self::Default => false,
        }
    }
}

/// An answer with its content, before its schema is copied.
type Found<'d> = (Status, Option<(&'d str, Content, At<'d>)>);

/// The schemas of a result.
pub(super) struct Output {
    /// The schema of the fields that the server sends; `None` if it is not declared.
    pub schema: Option<Json>,
    /// The same with the `writeOnly` fields, which a server may send nevertheless; `None` if nothing is marked.
    pub received: Option<Json>,
}

impl Output {
    /// Returns the schemas of an answer without a body.
    pub(super) fn nothing() -> Self {
        Self {
            schema: Some(json!({"type": "null"})),
            received: None,
        }
    }
}

/// Reads the answers of an operation and the schemas of its result. Fails with the reason in one sentence if a
/// reference cannot be resolved.
pub(super) fn read(schemas: &Schemas, operation: &At) -> Result<(Responses, Output), String> {
    let mut found = Vec::new();
    for (status, at) in operation.get("responses").iter().flat_map(At::entries) {
        let Some(status) = Status::read(status) else {
            continue;
        };
        let at = schemas.document.follow(at)?;
        let content = at.get("content").as_ref().and_then(preferred);
        found.push((status, content));
    }
    found.sort_by_key(|(status, _)| *status);
    let alone = |(content, media): (Content, &At), direction| {
        let schema = media.get("schema").filter(|_| content == Content::Json)?;
        let mut bundle = schemas.bundle(direction);
        let copied = bundle.add(schema.json);
        Some(bundle.finish(copied))
    };
    // A received response has the same schemas, so they are not counted again.
    let uncounted = |copy: &dyn Fn() -> Option<Json>| {
        let left = schemas.left.get();
        let copied = copy();
        schemas.left.set(left);
        copied
    };
    let has_marks = MARKS.iter().any(|mark| schemas.document.mentions(mark));
    let declared = found.iter().map(|(status, content)| {
        let received = content
            .as_ref()
            .filter(|_| has_marks && !status.is_success());
        let received = received.and_then(|(_, content, media)| {
            uncounted(&|| alone((*content, media), Direction::Received))
        });
        Declared {
            status: *status,
            content: content.as_ref().map(|(media_type, content, media)| {
                let schema = alone((*content, media), Direction::Response);
                ((*media_type).to_owned(), *content, schema)
            }),
            received,
        }
    });
    let responses = Responses {
        declared: declared.collect(),
    };
    let output = |direction| output(schemas.bundle(direction), &responses, &found);
    let schema = output(Direction::Response);
    let received = has_marks.then(|| uncounted(&|| output(Direction::Received)));
    let received = received.flatten();
    Ok((responses, Output { schema, received }))
}

/// Returns a schema of the result; `None` if it is not declared.
fn output(mut bundle: Bundle, responses: &Responses, found: &[Found]) -> Option<Json> {
    let mut alternatives: Vec<Json> = Vec::new();
    for (status, content) in found
        .iter()
        .filter(|(status, _)| responses.is_success(*status))
    {
        let schema = match content {
            None if status.has_no_body() => json!({"type": "null"}),
            // Many documents declare no content for answers that have some.
            None => return None,
            Some((_, Content::Json, media)) => bundle.add(media.get("schema")?.json),
            Some((_, Content::Text, _)) => json!({"type": "string"}),
            Some((_, Content::Bytes | Content::Form | Content::Multipart, _)) => bytes(),
        };
        if !alternatives.contains(&schema) {
            alternatives.push(schema);
        }
    }
    let schema = match alternatives.len() {
        0 => return None,
        1 => alternatives.pop()?,
        _ => json!({ "anyOf": alternatives }),
    };
    Some(bundle.finish(schema))
}

impl Responses {
    /// Returns the answer that is declared for a status.
    pub fn of(&self, status: u16) -> Option<&Declared> {
        self.declared
            .iter()
            .find(|one| one.status.holds_for(status))
    }

    /// Returns the answers that are not failures.
    pub fn successes(&self) -> impl Iterator<Item = &Declared> {
        self.declared
            .iter()
            .filter(|one| self.is_success(one.status))
    }

    /// Returns true if a status is a success. `default` is one if no other success is declared.
    fn is_success(&self, status: Status) -> bool {
        let declares_success = || self.declared.iter().any(|one| one.status.is_success());
        status.is_success() || (status == Status::Default && !declares_success())
    }

    /// Returns the names of the declared errors.
    pub(super) fn raises(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = vec!["failed".into()];
        for declared in &self.declared {
            if let Status::Exactly(status) = declared.status
                && let Some(name) = error_name(status)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }

    /// Returns the value of the `Accept` header.
    pub(super) fn accept(&self) -> String {
        let types = self.successes().filter_map(|one| one.content.as_ref());
        let mut types: Vec<&str> = types
            .map(|(media_type, _, _)| media_type.as_str())
            .collect();
        types.dedup();
        if types.is_empty() {
            "*/*".to_owned()
        } else {
            types.join(", ")
        }
    }

    /// Returns the outcome of an answer. `now` is the wall-clock time in nanoseconds since the Unix epoch.
    pub(super) fn outcome(&self, response: &HttpResponse, path: &str, now: i128) -> CallOutcome {
        let declared = self.of(response.status);
        if (200..=299).contains(&response.status) {
            let content = declared.and_then(|one| one.content.as_ref());
            return value(response, content.map(|(_, content, _)| *content), path);
        }
        let mut json = json::parse(&response.body).unwrap_or_default();
        let mut body = Cow::Borrowed(&response.body[..]);
        if let Some(received) = declared.and_then(|one| one.received.as_ref()) {
            let secrets = marked_paths(received, &Value::from_json(&json));
            redact_json_paths(&mut json, &secrets);
            if !secrets.is_empty() {
                body = Cow::Owned(json.to_string().into_bytes());
            }
        }
        let detail = failure_detail(json.as_object(), &body);
        if let Some(error) = failure(response.status, &response.headers, now, path, &detail) {
            return Err(error.with_details(&json));
        }
        let exact = declared.is_some_and(|one| matches!(one.status, Status::Exactly(_)));
        let name = error_name(response.status).filter(|_| exact);
        // A declared refusal means that nothing happened. For any other answer it is unknown.
        let sent = if name.is_some() && (400..=499).contains(&response.status) {
            Sent::Refused
        } else {
            Sent::Answered
        };
        let class = ErrorClass::Tool(name.unwrap_or_else(|| "failed".into()));
        let message = format!("{path} answered with status {}: {detail}", response.status);
        Err(CallError::new(class, message, sent).with_details(&json))
    }
}

/// Returns the name of the error for a declared status; `None` if the status has a standard error class.
fn error_name(status: u16) -> Option<Arc<str>> {
    (status >= 300 && status_class(status).is_none()).then(|| status_name(status).into())
}
