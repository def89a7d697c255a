//! Calls app tools: sends the request that the app file defines; without one, posts `{tool, args}` and expects
//! `{success, data}` or `{success, reason, error}`.

use std::sync::Arc;

use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Signature, Type, encode};
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use serde_json::{Map, Value as Json, json};

use super::{App, AppTool, Reason, Rest};
use crate::contract::arguments_type;
use crate::host::Host;
use crate::tools::http::{
    HttpClient, HttpRequest, HttpResponse, Limits, MAX_BODY_BYTES, failure, failure_detail,
    same_host,
};
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, ProjectLimit, Request, Transport, described,
    failed,
};
use crate::tools::{invalid_arguments, invalid_result, json};

/// The transport of one app tool.
pub struct AppTransport {
    client: HttpClient,
    host: Arc<dyn Host>,
    /// The address of calls, or why there is none.
    endpoint: Result<Url, (ErrorClass, String)>,
    headers: HeaderMap,
    errors: Arc<[Reason]>,
    rest: Option<Arc<Rest>>,
    signature: Arc<Signature>,
    /// All arguments as one object type, used to leave out nulls that the tool does not accept.
    arguments: Type,
}

impl AppTransport {
    /// Creates the transport of a tool. Its calls are denied if the project does not permit its address.
    pub fn new(
        client: HttpClient,
        host: Arc<dyn Host>,
        (app, tool): (&App, &AppTool),
        limit: &ProjectLimit,
    ) -> Self {
        let endpoint = match app.unset_variable(&tool.signature.name) {
            Some(variable) => Err((
                ErrorClass::Internal,
                format!("the environment variable {variable} is not set"),
            )),
            None => address(&tool.endpoint).and_then(|url| match limit.url(&url) {
                Ok(()) => Ok(url),
                Err(why) => Err((ErrorClass::Denied(Denied::Policy), why)),
            }),
        };
        let mut transport = Self::mocked(client, host, tool, "");
        (transport.endpoint, transport.headers) = (endpoint, app.headers.clone());
        transport
    }

    /// Creates the transport of a tool that is mocked at `endpoint`.
    pub fn mocked(client: HttpClient, host: Arc<dyn Host>, tool: &AppTool, endpoint: &str) -> Self {
        Self {
            client,
            host,
            endpoint: address(endpoint),
            headers: HeaderMap::new(),
            errors: tool.errors.clone().into(),
            rest: tool.rest.clone(),
            signature: tool.signature.clone(),
            arguments: arguments_type(&tool.signature),
        }
    }

    /// Returns the endpoint and the request of a call.
    fn post(&self, request: &Request) -> Result<(Url, HttpRequest), CallError> {
        let url = self.endpoint.as_ref().map_err(|(class, why)| {
            let message = format!("{} cannot be called: {why}", self.signature.path());
            CallError::new(class.clone(), message, Sent::No)
        })?;
        let key = &*request.idempotency_key;
        let json = HeaderValue::from_static("application/json");
        let mut headers = self.headers.clone();
        headers.insert(header::CONTENT_TYPE, json.clone());
        headers.insert(header::ACCEPT, json);
        if let Ok(key) = HeaderValue::from_str(key) {
            headers.insert("idempotency-key", key);
        }
        let arguments = self.arguments(request, key);
        if let Some(rest) = &self.rest {
            let prepared = rest.request(url, headers, &arguments);
            let prepared = prepared.map_err(|problem| {
                let message = format!("{}: {problem}", self.signature.path());
                invalid_arguments(message)
            })?;
            return Ok((url.clone(), prepared));
        }
        let body = json!({"tool": &*request.signature.name, "args": arguments});
        let body = Some(body.to_string().into_bytes());
        let method = Method::POST;
        Ok((
            url.clone(),
            HttpRequest {
                method,
                url: url.clone(),
                headers,
                body,
            },
        ))
    }

    fn arguments(&self, request: &Request, key: &str) -> Map<String, Json> {
        let signature = &request.signature;
        let mut arguments = match encode(&request.arguments, &self.arguments) {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        if let Some(name) = &signature.key_argument {
            arguments.entry(name.as_ref()).or_insert_with(|| key.into());
        }
        arguments
    }
}

impl Transport for AppTransport {
    fn call(&self, request: Request) -> Conversation {
        let (url, post) = match request
            .require_no_handle()
            .and_then(|()| self.post(&request))
        {
            Ok(prepared) => prepared,
            Err(error) => return Conversation::Now(Err(error)),
        };
        let path = self.signature.path();
        let (client, host, errors) = (self.client.clone(), self.host.clone(), self.errors.clone());
        let rest = self.rest.clone();
        Conversation::with_events(|mut events| async move {
            let limits = Limits {
                gate: &|target: &Url| same_host(target, &url, &path),
                max_bytes: MAX_BODY_BYTES,
                cancel: &request.cancel,
            };
            let response = client.send(post, limits, &mut events).await?;
            response.outcome(match rest {
                Some(rest) => rest.outcome(&response, &path, &errors, host.now()),
                None => answer(&response, &path, &errors, host.now()),
            })
        })
    }

    fn identify(&self, identity: &mut Identity) {
        identity.add(self.endpoint.as_ref().map_or("", Url::as_str).as_bytes());
        for (name, value) in &self.headers {
            identity.add(name.as_str().as_bytes());
            identity.add(value.as_bytes());
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

fn address(written: &str) -> Result<Url, (ErrorClass, String)> {
    Url::parse(written).map_err(|problem| {
        let why = format!("its endpoint is not a valid URL: {problem}");
        (ErrorClass::Internal, why)
    })
}

fn answer(response: &HttpResponse, path: &str, errors: &[Reason], now: i128) -> CallOutcome {
    let body = json::parse(&response.body).unwrap_or_default();
    let object = body.as_object();
    let success = object
        .and_then(|object| object.get("success"))
        .and_then(Json::as_bool);
    let reason = object
        .and_then(|object| object.get("reason"))
        .and_then(Json::as_str);
    let declared = errors
        .iter()
        .find(|known| success == Some(false) && reason == Some(&known.reason));
    let detail = failure_detail(object, &response.body);
    if let Some(known) = declared {
        return Err(known
            .error(response, format!("{path}: {detail}"), now)
            .with_details(&body));
    }
    if let Some(error) = failure(response.status, &response.headers, now, path, &detail) {
        return Err(error.with_details(&body));
    }
    match (response.status, success) {
        (200..=299, Some(true)) => {
            let data = object.and_then(|object| object.get("data")).cloned();
            Ok(Answer::Json(data.unwrap_or(Json::Null)))
        }
        (_, Some(false)) => {
            let error = failed(format!("{path}: {detail}"), Sent::Answered);
            Err(error.with_details(&body))
        }
        (200..=299, None) => {
            let message =
                format!("{path} did not answer with an object that has `success`: {detail}");
            Err(invalid_result(message))
        }
        (status, _) => {
            let message = format!("{path} answered with status {status}: {detail}");
            let error = failed(message, Sent::Answered);
            Err(error.with_details(&body))
        }
    }
}
