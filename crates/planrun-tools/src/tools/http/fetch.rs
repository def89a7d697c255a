//! The tool `http.fetch`: sends one request to an allowed host.

use std::sync::Arc;

use planrun_lang::builtins::refused_argument;
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::permission::Permissions;
use planrun_lang::types::{Effect, Field, Parameter, Rest, Signature, Type};
use planrun_lang::value::{Key, Map, Value};
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::client::display_url;
use super::{HttpClient, HttpRequest, HttpResponse, Limits, MAX_BODY_BYTES, failure};
use crate::host::Host;
use crate::tools::json::{self, JsonFault};
use crate::tools::{BoxFuture, Conversation, Described, Request, Transport, described};
use crate::tools::{invalid_arguments, invalid_result};

/// Maximum length of the body of a failed answer in the error message, in characters.
const MAX_BODY_PREVIEW: usize = 200;
const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

/// The transport of `http.fetch`.
pub struct Fetch {
    pub client: HttpClient,
    pub permissions: Arc<Permissions>,
    pub host: Arc<dyn Host>,
    pub signature: Arc<Signature>,
}

/// Returns the contract of `http.fetch`. With a constant method, the effect class follows from it:
/// [`planrun_lang::types::method_effect`].
pub fn fetch_signature() -> Signature {
    let field = |name: &str, ty: Type| Field {
        name: name.into(),
        ty,
        required: true,
    };
    let returns = vec![
        field("status", Type::Int),
        field("headers", Type::String.map()),
        field("body", Type::Any),
    ];
    Signature {
        description: Some(
            "Sends one HTTP request to an allowed host and returns the status, headers and body of the answer."
                .into(),
        ),
        parameters: parameters(),
        returns: Type::object(returns, Rest::Closed),
        effect: Effect::Effect,
        effect_declared: true,
        // The answer is written by the owner of the address.
        open_world: true,
        raises: vec!["failed".into()],
        ..Signature::unknown("http".into(), "fetch".into())
    }
}

fn parameters() -> Vec<Parameter> {
    let parameter = |name: &str, ty: Type, description: &str| Parameter {
        name: name.into(),
        ty,
        required: name == "url",
        description: Some(description.into()),
        schema: None,
        default: None,
    };
    let scalar = Type::union([Type::String, Type::Int, Type::Double, Type::Bool]);
    let query = Type::union([scalar.clone(), scalar.list()])
        .optional()
        .map();
    let methods = Type::union(METHODS.map(Type::text));
    vec![
        parameter("url", Type::String, "An HTTP or HTTPS URL."),
        parameter("method", methods, "The HTTP method; `GET` by default."),
        parameter("headers", Type::String.map(), "Headers of the request."),
        parameter(
            "body",
            Type::Any,
            "Strings and bytes are sent unchanged, everything else as JSON.",
        ),
        parameter(
            "query",
            query,
            "Added to the query of the URL; a list repeats its name.",
        ),
    ]
}

impl Transport for Fetch {
    fn call(&self, request: Request) -> Conversation {
        let prepared = match request.require_no_handle().and_then(|()| prepare(&request)) {
            Ok(prepared) => prepared,
            Err(error) => return Conversation::Now(Err(error)),
        };
        let (client, permissions, host) = (
            self.client.clone(),
            self.permissions.clone(),
            self.host.clone(),
        );
        Conversation::with_events(|mut events| async move {
            let place = display_url(&prepared.url);
            let limits = Limits {
                gate: &|url: &Url| Ok(permissions.net(url)?),
                max_bytes: MAX_BODY_BYTES,
                cancel: &request.cancel,
            };
            let response = client.send(prepared, limits, &mut events).await?;
            response.outcome(answer(&response, &place, host.now()))
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

fn prepare(request: &Request) -> Result<HttpRequest, CallError> {
    let arguments = &request.arguments;
    for argument in ["url", "headers"] {
        let value = arguments.get(argument).unwrap_or(&Value::Null);
        if let Some(message) = refused_argument(("http", "fetch"), argument, value) {
            return Err(invalid_arguments(message));
        }
    }
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let method = text("method").unwrap_or("GET");
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| invalid_arguments(format!("{method} is not an HTTP method")))?;
    let written = text("url").unwrap_or_default();
    let mut url = Url::parse(written).map_err(|problem| invalid_arguments(problem.to_string()))?;
    if let Some(query) = arguments
        .get("query")
        .and_then(Value::as_map)
        .filter(|query| !query.is_empty())
    {
        add_query(&mut url, query);
    }
    let mut headers = HeaderMap::new();
    for (name, value) in arguments
        .get("headers")
        .and_then(Value::as_map)
        .into_iter()
        .flatten()
    {
        let (name, value) = header(name, value)?;
        headers.append(name, value);
    }
    if !headers.contains_key("idempotency-key")
        && let Ok(key) = HeaderValue::from_str(&request.idempotency_key)
    {
        headers.insert("idempotency-key", key);
    }
    let body = arguments
        .get("body")
        .filter(|body| !body.is_null())
        .map(|body| encode(body, &mut headers));
    Ok(HttpRequest {
        method,
        url,
        headers,
        body,
    })
}

fn add_query(url: &mut Url, query: &Map) {
    let mut pairs = url.query_pairs_mut();
    for (name, value) in query {
        let single = std::slice::from_ref(value);
        for value in value
            .as_list()
            .unwrap_or(single)
            .iter()
            .filter(|value| !value.is_null())
        {
            let text = value
                .as_str()
                .map_or_else(|| value.to_json_text(), str::to_owned);
            pairs.append_pair(&name.to_string(), &text);
        }
    }
}

fn header(name: &Key, value: &Value) -> Result<(HeaderName, HeaderValue), CallError> {
    let name = HeaderName::from_bytes(name.to_string().as_bytes())
        .map_err(|problem| invalid_arguments(problem.to_string()))?;
    let value = HeaderValue::from_str(value.as_str().unwrap_or_default())
        .map_err(|problem| invalid_arguments(problem.to_string()))?;
    Ok((name, value))
}

fn encode(body: &Value, headers: &mut HeaderMap) -> Vec<u8> {
    let (media_type, bytes) = match body {
        Value::String(text) => ("text/plain; charset=utf-8", text.as_bytes().to_vec()),
        Value::Bytes(bytes) => ("application/octet-stream", bytes.to_vec()),
        other => ("application/json", other.to_json_text().into_bytes()),
    };
    headers
        .entry(header::CONTENT_TYPE)
        .or_insert(HeaderValue::from_static(media_type));
    bytes
}

fn answer(response: &HttpResponse, place: &str, now: i128) -> CallOutcome {
    let body = decode(response)
        .map_err(|problem| invalid_result(format!("{place} answered with {problem}")))?;
    if let Some(error) = failure(
        response.status,
        &response.headers,
        now,
        place,
        &body.preview(MAX_BODY_PREVIEW),
    ) {
        return Err(match &body {
            Value::String(_) | Value::Bytes(_) => error,
            json => error.with_details(&json.to_json()),
        });
    }
    let mut headers = Map::new();
    // A cookie is a credential, and everything that a plan reads is written to the journal.
    let is_returned = |name: &&HeaderName| **name != header::SET_COOKIE;
    for name in response.headers.keys().filter(is_returned) {
        let values = response
            .headers
            .get_all(name)
            .iter()
            .map(|value| String::from_utf8_lossy(value.as_bytes()));
        let joined = values.collect::<Vec<_>>().join(", ");
        headers.insert(Key::from(name.as_str()), Value::from(joined));
    }
    Ok(Answer::Value(Value::object([
        ("status", Value::Int(response.status.into())),
        ("headers", Value::from(headers)),
        ("body", body),
    ])))
}

/// Decodes JSON if the server declares it, otherwise text, otherwise bytes. An empty body is null.
fn decode(response: &HttpResponse) -> Result<Value, JsonFault> {
    if response.body.is_empty() {
        return Ok(Value::Null);
    }
    let media_type = response.media_type();
    let is_json = media_type == "application/json" || media_type.ends_with("+json");
    if is_json {
        match json::parse(&response.body) {
            Ok(json) => return Ok(Value::from_json(&json)),
            Err(problem @ JsonFault::TooManyParts) => return Err(problem),
            Err(JsonFault::Invalid(_)) => {}
        }
    }
    Ok(match std::str::from_utf8(&response.body) {
        Ok(text) => Value::from(text),
        Err(_) => Value::Bytes(response.body.as_slice().into()),
    })
}
