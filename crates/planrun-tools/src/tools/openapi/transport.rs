//! Operations as the engine calls them.

use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Type, encode};
use reqwest::Url;
use serde_json::{Map, Value as Json};

use super::access::Access;
use super::operation::Operation;
use super::request::Call;
use crate::contract::arguments_type;
use crate::host::Host;
use crate::tools::http::{HttpClient, HttpRequest, Limits, MAX_BODY_BYTES, same_host};
use crate::tools::{BoxFuture, Conversation, Described, Identity, Request, Transport, described};

/// Where the operations of a document are called, and as whom.
pub struct Place {
    /// The address that paths are added to, or why nothing may be called there.
    pub base: Result<Arc<str>, String>,
    pub access: Arc<Access>,
}

/// The transport of one operation.
pub struct OpenApiTransport {
    client: HttpClient,
    host: Arc<dyn Host>,
    operation: Arc<Operation>,
    place: Place,
    /// All arguments as one object, for leaving out nulls that the operation does not take.
    arguments: Type,
}

impl OpenApiTransport {
    /// The way to an operation.
    #[must_use]
    pub fn new(
        client: HttpClient,
        host: Arc<dyn Host>,
        operation: Arc<Operation>,
        place: Place,
    ) -> Self {
        let arguments = arguments_type(&operation.signature);
        Self {
            client,
            host,
            operation,
            place,
            arguments,
        }
    }

    fn prepare(&self, request: &Request) -> Result<HttpRequest, CallError> {
        request.begins()?;
        let base = self.place.base.as_ref().map_err(|why| {
            let message = format!(
                "{} cannot be called: {why}",
                self.operation.signature.path()
            );
            CallError::new(ErrorClass::Denied(Denied::Policy), message, Sent::No)
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
        call.request(base, &self.place.access)
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
            let home = prepared.url.clone();
            let limits = Limits {
                gate: &|target: &Url| same_host(target, &home, &path),
                max_bytes: MAX_BODY_BYTES,
                cancel: &request.cancel,
            };
            let response = client.send(prepared, limits, &mut events).await?;
            operation.responses.outcome(&response, &path, host.now())
        })
    }

    fn identify(&self, identity: &mut Identity) {
        identity.add(self.place.base.as_deref().unwrap_or_default().as_bytes());
        for one in &self.place.access.entries {
            for part in [one.place.name(), &one.name, &one.value] {
                identity.add(part.as_bytes());
            }
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.operation.signature.clone()])
    }
}
