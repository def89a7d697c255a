//! REST requests in app files: the request of a call, and the positions of the value and of the failure reason in its
//! answer.

use planrun_lang::call::{Answer, CallOutcome};
use planrun_lang::diag::closest;
use planrun_lang::protocol::Sent;
use planrun_lang::source::Span;
use planrun_lang::types::{Parameter, Signature, Type};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value as Json};

use super::section::{Mistakes, Section};
use super::{Reason, access};
use crate::contract::Arguments;
use crate::tools::http::parameter::Serialization;
use crate::tools::http::{
    Content, HttpRequest, HttpResponse, failure, failure_detail, path, percent, value,
};
use crate::tools::{failed, invalid_result, json};
use planrun_lang::yaml::{Content as NodeContent, Entry, Node};

const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
const REQUEST: [&str; 5] = ["method", "path", "query", "headers", "body"];

/// The request and response of a tool. A text that is exactly `{argument}` is replaced by that argument; if the
/// argument is missing, the entry with the text is left out.
#[derive(Clone)]
pub struct Rest {
    pub method: Method,
    /// Appended to the endpoint, with arguments in braces.
    pub path: String,
    query: Vec<(String, Json)>,
    headers: Vec<(HeaderName, Json)>,
    body: Option<Json>,
    /// A JSON pointer to the value in an answer.
    value: String,
    /// A JSON pointer to the reason of a failure. If it resolves to a value, the call has failed, whatever the status.
    error: Option<String>,
}

/// Reads `request` and `response` of a tool, if it has them.
pub(super) fn read(section: &Section, arguments: &Arguments) -> Option<Rest> {
    let found = section.found;
    if section.get("request").is_none() {
        if let Some(node) = section.get("response") {
            let message = "`response` has no effect without a `request`";
            found.explain(
                node.span,
                message,
                "add `request: { method: GET, path: \"/…\" }`",
            );
        }
        return None;
    }
    let request = section.inner("request", &REQUEST)?;
    request.required("method")?;
    let method = |word: &str| {
        Method::from_bytes(word.as_bytes())
            .ok()
            .filter(|_| METHODS.contains(&word))
    };
    let method = request.word("method", &METHODS, method)?;
    let path = request.required("path")?;
    let mut placeholders = Placeholders {
        arguments,
        found,
        used: Vec::new(),
    };
    placeholders.path(&request, &path);
    let body = request.get("body");
    if let (Some(node), true) = (body, matches!(method, Method::GET | Method::HEAD)) {
        let message = format!("a {method} request has no `body`");
        found.explain(node.span, message, "put it into `query`");
    }
    let query = pairs(&request, "query", &mut placeholders);
    let headers = pairs(&request, "headers", &mut placeholders);
    let headers = settable(headers, found);
    if let Some(node) = body {
        placeholders.within(node);
    }
    placeholders.report_unused(section);
    let pointer = |name: &str| pointer(section, name);
    Some(Rest {
        method,
        path,
        query: query
            .into_iter()
            .map(|(name, template, _)| (name, template))
            .collect(),
        headers,
        body: body.map(Node::to_json),
        value: pointer("value").unwrap_or_default(),
        error: pointer("error"),
    })
}

/// Returns the headers that an app file can set, and reports the others.
fn settable(headers: Vec<(String, Json, Span)>, found: &Mistakes) -> Vec<(HeaderName, Json)> {
    let known = headers.into_iter().filter_map(|(name, template, span)| {
        let known = access::settable(&name);
        if known.is_none() {
            let message = format!("`{name}` is not a header that an app file can set");
            found.add(span, message);
        }
        Some((known?, template))
    });
    known.collect()
}

/// The arguments that are used in a request.
struct Placeholders<'a> {
    arguments: &'a Arguments,
    found: &'a Mistakes,
    used: Vec<String>,
}

impl Placeholders<'_> {
    fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.arguments
            .parameters
            .iter()
            .find(|one| *one.name == *name)
    }

    fn expect(&mut self, name: &str, span: Span) {
        self.used.push(name.to_owned());
        let names = || self.arguments.parameters.iter().map(|one| &*one.name);
        if self.arguments.extra || names().any(|known| known == name) {
            return;
        }
        let message = format!("`request` names `{{{name}}}`, which is not a parameter");
        let finding = self.found.at(span, message).available(names());
        self.found.push(match closest(name, names()) {
            Some(near) => finding.help(format!("did you mean `{{{near}}}`?")),
            None => finding.help(
                "list it under `parameters`, or write `{{name}}` for the literal text `{name}`",
            ),
        });
    }

    fn path(&mut self, request: &Section, template: &str) {
        let span = request.get("path").map_or(request.span(), |node| node.span);
        if !template.starts_with('/') {
            let message = "`path` must begin with `/`; it is appended to the endpoint";
            self.found.add(span, message);
        }
        for name in path::names(template) {
            self.expect(name, span);
            let optional = self
                .parameter(name)
                .is_some_and(|one| !one.required && one.default.is_none());
            if optional {
                let message = format!("`{name}` is part of the path, but is optional");
                let help = "add it to `required` of `parameters`, or put it into `query`";
                self.found.explain(span, message, help);
            }
        }
    }

    /// Checks every text of a template.
    fn within(&mut self, node: &Node) {
        match &node.content {
            NodeContent::Text(text) => {
                if let Some(name) = argument(text) {
                    self.expect(name, node.span);
                } else if !is_literal(text)
                    && let Some(name) =
                        path::names(text).find(|name| self.parameter(name).is_some())
                {
                    let message =
                        format!("`{{{name}}}` is inside a longer string, which is sent unchanged");
                    let help = "use an argument as a whole value, \"{name}\"; let plans build longer strings";
                    self.found.warn(node.span, message, help);
                }
            }
            NodeContent::List(items) => {
                for item in items {
                    self.within(item);
                }
            }
            NodeContent::Map(entries) => {
                for entry in entries {
                    self.within(&entry.value);
                }
            }
            NodeContent::Null | NodeContent::Bool(_) | NodeContent::Number(_) => {}
        }
    }

    fn report_unused(&self, section: &Section) {
        let key = section
            .get("key")
            .and_then(|key| key.get("argument")?.scalar());
        let parameters = section.get("parameters");
        let properties = parameters.and_then(|node| node.get("properties")?.entries());
        for Entry { name, span, .. } in properties.unwrap_or_default() {
            if self.used.contains(name) || key.as_ref() == Some(name) {
                continue;
            }
            let message = format!("the parameter `{name}` is not used in `request`");
            let help = format!(
                "put \"{{{name}}}\" into `path`, `query`, `headers` or `body`, or remove it"
            );
            self.found.explain(*span, message, help);
        }
    }
}

/// Returns the names and templates under a key of `request`.
fn pairs(
    request: &Section,
    key: &str,
    placeholders: &mut Placeholders,
) -> Vec<(String, Json, Span)> {
    let entries = request.entries(key, &format!("`{key}` of `request`"));
    for entry in entries {
        placeholders.within(&entry.value);
    }
    let entries = entries.iter();
    entries
        .map(|entry| (entry.name.clone(), entry.value.to_json(), entry.span))
        .collect()
}

/// Reads a JSON pointer of `response`.
fn pointer(section: &Section, name: &str) -> Option<String> {
    let response = Section::new("`response`", section.get("response")?, section.found)?;
    if name == "value" {
        response.expect_keys(&["value", "error"]);
    }
    let pointer = response.text(name)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let span = response.get(name)?.span;
        let message = format!("`{name}` of `response` must be a JSON pointer, such as `/data`");
        response.report(span, message);
        return None;
    }
    Some(pointer)
}

/// Returns the argument that a text is replaced by.
fn argument(text: &str) -> Option<&str> {
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    (!name.is_empty() && !name.contains(['{', '}', ' '])).then_some(name)
}

/// Returns true if a text is in double braces, which is the literal text in single braces.
fn is_literal(text: &str) -> bool {
    text.starts_with("{{") && text.ends_with("}}")
}

/// Fills the arguments into a template; `None` if it is an argument that is missing.
fn filled(template: &Json, arguments: &Map<String, Json>) -> Option<Json> {
    Some(match template {
        Json::String(text) => match argument(text) {
            Some(name) => arguments.get(name)?.clone(),
            None if is_literal(text) => text.get(1..text.len() - 1)?.into(),
            None => template.clone(),
        },
        Json::Array(items) => items
            .iter()
            .filter_map(|item| filled(item, arguments))
            .collect(),
        Json::Object(fields) => {
            let fields = fields.iter();
            fields
                .filter_map(|(name, field)| Some((name.clone(), filled(field, arguments)?)))
                .collect()
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => template.clone(),
    })
}

impl Rest {
    /// Returns the request of a call with these arguments. Returns an error if an argument cannot be sent, as a message
    /// that follows the name of the tool.
    pub(super) fn request(
        &self,
        endpoint: &Url,
        headers: HeaderMap,
        arguments: &Map<String, Json>,
    ) -> Result<HttpRequest, String> {
        let path = path::fill(&self.path, |name| {
            let value = arguments.get(name).filter(|value| !value.is_null())?;
            Some(Serialization::simple(name).path(value))
        })?;
        let (mut url, mut headers) = (endpoint.clone(), headers);
        url.set_query(None);
        let mut url = Url::parse(&format!("{}{path}", url.as_str().trim_end_matches('/')))
            .map_err(|problem| format!("its URL is invalid: {problem}"))?;
        let own = endpoint.query().into_iter().map(str::to_owned);
        let given = self.query.iter().flat_map(|(name, template)| {
            let value = filled(template, arguments).filter(|value| !value.is_null());
            value
                .map(|value| Serialization::field(name).query(&value))
                .unwrap_or_default()
        });
        let query: Vec<String> = own.chain(given).collect();
        url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
        for (name, template) in &self.headers {
            let Some(value) = filled(template, arguments).filter(|value| !value.is_null()) else {
                continue;
            };
            let line = Serialization::simple(name.as_str()).line(&value);
            let line = HeaderValue::from_str(&line).map_err(|_| {
                format!("the header {name} contains characters that are not valid in a header")
            })?;
            headers.insert(name.clone(), line);
        }
        let body = self.body.as_ref().and_then(|body| filled(body, arguments));
        if body.is_none() {
            headers.remove(header::CONTENT_TYPE);
        }
        Ok(HttpRequest {
            method: self.method.clone(),
            url,
            headers,
            body: body.map(|body| body.to_string().into_bytes()),
        })
    }

    /// Returns the outcome of an answer.
    pub(super) fn outcome(
        &self,
        response: &HttpResponse,
        path: &str,
        errors: &[Reason],
        now: i128,
    ) -> CallOutcome {
        let json = json::parse(&response.body).ok();
        let reason = self
            .error
            .as_ref()
            .and_then(|pointer| json.as_ref()?.pointer(pointer));
        let reason = reason
            .filter(|reason| !reason.is_null())
            .map(|reason| match reason {
                Json::String(text) => text.clone(),
                other => other.to_string(),
            });
        let is_success = (200..=299).contains(&response.status) && reason.is_none();
        if is_success {
            return self.value(response, json, path);
        }
        let detail = failure_detail(json.as_ref().and_then(Json::as_object), &response.body);
        let known = errors
            .iter()
            .find(|one| reason.as_deref() == Some(&one.reason));
        let error = match known {
            Some(known) => Some(known.error(response, format!("{path}: {detail}"), now)),
            None => failure(response.status, &response.headers, now, path, &detail),
        };
        let error = error.unwrap_or_else(|| {
            let message = format!("{path} answered with status {}: {detail}", response.status);
            failed(message, Sent::Answered)
        });
        Err(error.with_details(&json.unwrap_or_default()))
    }

    fn value(&self, response: &HttpResponse, json: Option<Json>, path: &str) -> CallOutcome {
        if self.value.is_empty() {
            return value(response, Some(Content::Json), path);
        }
        let value = json.and_then(|json| json.pointer(&self.value).cloned());
        value.map(Answer::Json).ok_or_else(|| {
            let message = format!("{path} answered without a value at `{}`", self.value);
            invalid_result(message)
        })
    }

    /// Returns the arguments of a request that calls this tool; `None` if it does not. Anything before the path is
    /// ignored.
    pub fn arguments(
        &self,
        received: &Received,
        signature: &Signature,
    ) -> Option<Map<String, Json>> {
        let expected = self.path.matches('/').count();
        let slashes: Vec<usize> = received.path.match_indices('/').map(|(at, _)| at).collect();
        let own = received
            .path
            .get(*slashes.get(slashes.len().checked_sub(expected)?)?..)?;
        let in_path = path::matched(&self.path, own).filter(|_| received.method == self.method)?;
        let ty = |name: &str| {
            signature
                .parameter(name)
                .map_or(Type::Any, |one| one.ty.clone())
        };
        let mut arguments = Map::new();
        for (name, written) in in_path {
            arguments.insert(
                name.to_owned(),
                Serialization::simple(name).from_text(written, &ty(name)),
            );
        }
        for (name, template) in &self.query {
            let Some(argument) = template.as_str().and_then(argument) else {
                continue;
            };
            let value = Serialization::field(name).from_pairs(&received.query, &ty(argument));
            arguments.extend(value.map(|value| (argument.to_owned(), value)));
        }
        for (name, template) in &self.headers {
            let Some(argument) = template.as_str().and_then(argument) else {
                continue;
            };
            let line = received
                .headers
                .get(name)
                .and_then(|line| line.to_str().ok());
            let serialization = Serialization::simple(name.as_str());
            let value = line.map(|line| serialization.from_line(line, &ty(argument)));
            arguments.extend(value.map(|value| (argument.to_owned(), value)));
        }
        if let Some(body) = &self.body {
            let received = serde_json::from_slice(&received.body).unwrap_or(Json::Null);
            collect(body, &received, &mut arguments);
        }
        Some(arguments)
    }

    /// Returns an answer with this value, or with the reason and message of a failure.
    pub fn answer(&self, outcome: Result<Json, (Option<&str>, &str)>) -> Json {
        match outcome {
            Ok(value) => placed(&self.value, value),
            Err((reason, message)) => {
                let reason = reason.unwrap_or("failed");
                let mut answer = placed(self.error.as_deref().unwrap_or("/reason"), reason.into());
                if let Some(answer) = answer.as_object_mut() {
                    answer.entry("message").or_insert_with(|| message.into());
                }
                answer
            }
        }
    }
}

/// A request as it was received.
pub struct Received {
    pub method: Method,
    /// Still percent-encoded.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Received {
    /// Parses the pairs of a query or a form.
    pub fn pairs(text: &str) -> Vec<(String, String)> {
        let plain = |text: &str| percent::decode(&text.replace('+', " "));
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (plain(name), plain(value))
            })
            .collect()
    }
}

/// Collects the arguments from a body at the positions where its template has placeholders.
fn collect(template: &Json, received: &Json, arguments: &mut Map<String, Json>) {
    match (template, received) {
        (Json::String(text), _) => {
            if let Some(name) = argument(text).filter(|_| !received.is_null()) {
                arguments.insert(name.to_owned(), received.clone());
            }
        }
        (Json::Object(fields), _) => {
            for (name, field) in fields {
                collect(field, received.get(name).unwrap_or(&Json::Null), arguments);
            }
        }
        (Json::Array(items), Json::Array(received)) => {
            items
                .iter()
                .zip(received)
                .for_each(|(item, received)| collect(item, received, arguments));
        }
        _ => {}
    }
}

/// Nests a value at the position of a JSON pointer.
fn placed(pointer: &str, value: Json) -> Json {
    let parts = pointer
        .split('/')
        .skip(1)
        .collect::<Vec<_>>()
        .into_iter()
        .rev();
    parts.fold(value, |value, part| {
        let name = part.replace("~1", "/").replace("~0", "~");
        Json::Object(Map::from_iter([(name, value)]))
    })
}
