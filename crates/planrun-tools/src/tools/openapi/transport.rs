//! The transport of operations.

use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Type, encode};
use reqwest::Url;
use serde_json::{Map, Value as Json};

use super::access::Access;
use super::operation::Operation;
use super::request::Call;
use crate::contract::arguments_type;
use crate::host::Host;
use crate::tools::http::{HttpClient, HttpRequest, Limits, MAX_BODY_BYTES, same_host};
use crate::tools::{
    BoxFuture, Conversation, Described, Identity, Request, Transport, denied, described,
};

/// The address and credentials of a document's operations.
pub struct Endpoint {
    /// The address that paths are appended to, or why calls to it are denied.
    pub base: Result<Arc<str>, String>,
    pub access: Arc<Access>,
}

/// The transport of one operation.
pub struct OpenApiTransport {
    client: HttpClient,
    host: Arc<dyn Host>,
    operation: Arc<Operation>,
    endpoint: Endpoint,
    /// All arguments as one object type, used to leave out nulls that the operation does not accept.
    arguments: Type,
}

impl OpenApiTransport {
    /// Creates the transport of an operation.
    pub fn new(
        client: HttpClient,
        host: Arc<dyn Host>,
        operation: Arc<Operation>,
        endpoint: Endpoint,
    ) -> Self {
        let arguments = arguments_type(&operation.signature);
        Self {
            client,
            host,
            operation,
            endpoint,
            arguments,
        }
    }

    fn prepare(&self, request: &Request) -> Result<HttpRequest, CallError> {
        request.require_no_handle()?;
        let base = self.endpoint.base.as_ref().map_err(|why| {
            let message = format!(
                "{} cannot be called: {why}",
                self.operation.signature.path()
            );
            denied(message, Sent::No)
        })?;
        let arguments = match encode(&request.arguments, &self.arguments) {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let call = Call {
            operation: &self.operation,
            values: &request.arguments,
            arguments: &arguments,
            key: &request.idempotency_key,
        };
        call.request(base, &self.endpoint.access)
    }
}

impl Transport for OpenApiTransport {
    fn call(&self, request: Request) -> Conversation {
        let prepared = match self.prepare(&request) {
            Ok(prepared) => prepared,
            Err(error) => return Conversation::Now(Err(error)),
        };
        let (client, host) = (self.client.clone(), self.host.clone());
        let operation = self.operation.clone();
        Conversation::with_events(|mut events| async move {
            let path = operation.signature.path();
            let origin = prepared.url.clone();
            let limits = Limits {
                gate: &|target: &Url| same_host(target, &origin, &path),
                max_bytes: MAX_BODY_BYTES,
                cancel: &request.cancel,
            };
            let response = client.send(prepared, limits, &mut events).await?;
            let own = operation.responses.outcome(&response, &path, host.now());
            response.outcome(own)
        })
    }

    fn identify(&self, identity: &mut Identity) {
        identity.add(self.endpoint.base.as_deref().unwrap_or_default().as_bytes());
        for one in &self.endpoint.access.entries {
            for part in [one.place.name(), &one.name, &one.value] {
                identity.add(part.as_bytes());
            }
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.operation.signature.clone()])
    }
}
