//! An agent of the project. Its card is fetched when it is first needed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::permission::Permissions;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};

use super::AgentAddress;
use super::card::{Binding, interface, offered};
use super::client::Agent;
use super::transport::AgentTransport;
use super::wire::AgentCard;
use crate::contract::{OfferedServer, OfferedTool};
use crate::host::Host;
use crate::tools::credential::Credentials;
use crate::tools::http::{HttpClient, HttpRequest, body, display_url};
use crate::tools::shared::Shared;
use crate::tools::{BoxFuture, PinnedTool, Server, ServerError, Transport};

/// Timeout for fetching the card.
const CARD_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a card, in bytes.
const MAX_CARD_BYTES: usize = 1024 * 1024;

/// The content of the card of an agent that calls need.
pub(super) struct Known {
    /// The client for the address on the card.
    pub agent: Agent,
    tools: BTreeMap<String, Arc<OfferedTool>>,
}

/// An agent that the project configures, by the name that the project gives it.
pub struct AgentServer {
    name: Arc<str>,
    address: AgentAddress,
    /// The permissions for addresses on the card that are not at the origin of the card.
    elsewhere: Option<Permissions>,
    host: Arc<dyn Host>,
    client: HttpClient,
    /// What is sent to it, which is redacted in its card.
    credentials: Credentials,
    /// `None` before the card is first needed, and after the connection was closed.
    known: Shared<Known>,
}

impl AgentServer {
    pub fn new(
        name: Arc<str>,
        address: AgentAddress,
        elsewhere: Option<Permissions>,
        host: Arc<dyn Host>,
    ) -> Self {
        // Resolved addresses are checked against the same permissions.
        let permitted = elsewhere.clone().map(Arc::new);
        Self {
            name,
            address,
            elsewhere,
            host,
            client: permitted.map_or_else(HttpClient::default, HttpClient::within),
            credentials: Credentials::default(),
            known: Shared::new(),
        }
    }

    /// Redacts these credentials in the card.
    #[must_use]
    pub fn redacting(self, secrets: &[String]) -> Self {
        self.credentials.add(secrets);
        self
    }

    /// Returns the configured address.
    pub fn address(&self) -> &AgentAddress {
        &self.address
    }

    /// Returns what is known from the card, which is fetched once. Concurrent callers share one request.
    pub(super) async fn known(&self) -> Result<Arc<Known>, ServerError> {
        let known = self.known.get(|_| true, Box::pin(self.fetch())).await;
        known.unwrap_or_else(|| Err(self.unusable("it was closed")))
    }

    /// Fetches the card for what is known from it.
    async fn fetch(&self) -> Result<Known, ServerError> {
        let (card, url, binding, tenant) = self.card().await?;
        let agent = Agent {
            client: self.client.clone(),
            host: self.host.clone(),
            url,
            binding,
            tenant,
            headers: self.headers()?,
            streams: card.capabilities.streaming,
        };
        let tools = self.offered_by(card).tools.into_iter();
        let tools = tools.map(|(name, tool)| (name, Arc::new(tool))).collect();
        Ok(Known { agent, tools })
    }

    /// Fetches the card, and returns it with the address, binding and tenant of the interface.
    async fn card(&self) -> Result<(AgentCard, Url, Binding, Option<String>), ServerError> {
        let url = self.address.card().map_err(|why| self.unusable(&why))?;
        let mut headers = self.headers()?;
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, json);
        let request = HttpRequest {
            method: Method::GET,
            url: url.clone(),
            headers,
            body: None,
        };
        let fetching = async {
            let mut response = self.client.open(request).await?;
            let status = response.status();
            let body = body(&mut response, MAX_CARD_BYTES, |_| {}).await?;
            Ok::<_, CallError>((status, body))
        };
        let fetched = tokio::time::timeout(CARD_TIMEOUT, fetching).await;
        let place = display_url(&url);
        let (status, body) = match fetched {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(self.unusable(&error.message)),
            Err(_) => {
                let seconds = CARD_TIMEOUT.as_secs();
                return Err(self.unusable(&format!("{place} did not answer within {seconds} s")));
            }
        };
        if !status.is_success() {
            let why = format!("its card at {place} was answered with status {status}");
            return Err(self.unusable(&why));
        }
        let card = serde_json::from_slice(&body).map_err(|problem| {
            self.unusable(&format!(
                "the document at {place} is not an agent card: {problem}"
            ))
        })?;
        let elsewhere = self.elsewhere.as_ref();
        let place = interface(&card, &url, elsewhere).map_err(|why| self.unusable(&why))?;
        let (url, binding, tenant) = place;
        Ok((card, url, binding, tenant))
    }

    fn headers(&self) -> Result<HeaderMap, ServerError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.address.headers {
            let header = HeaderName::try_from(name)
                .ok()
                .zip(HeaderValue::try_from(value).ok());
            let Some((name, mut value)) = header else {
                return Err(self.unusable(&format!("`{name}` is not a valid header")));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn offered_by(&self, card: AgentCard) -> OfferedServer {
        let mut offered = offered(card);
        offered.redact(&self.credentials.known());
        offered
    }

    fn unusable(&self, why: &str) -> ServerError {
        ServerError::Unavailable(format!("the agent `{}` cannot be used: {why}", self.name))
    }
}

impl Server for AgentServer {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn offered(&self) -> BoxFuture<'_, Result<OfferedServer, ServerError>> {
        Box::pin(async {
            let (card, ..) = self.card().await?;
            Ok(self.offered_by(card))
        })
    }

    fn current<'a>(
        &'a self,
        tool: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<OfferedTool>>, ServerError>> {
        Box::pin(async move { Ok(self.known().await?.tools.get(tool).cloned()) })
    }

    fn transport(self: Arc<Self>, tool: PinnedTool) -> Arc<dyn Transport> {
        Arc::new(AgentTransport::new(self, tool))
    }

    fn agent(self: Arc<Self>) -> Option<Arc<dyn Transport>> {
        Some(Arc::new(AgentTransport::for_ask(self)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.known.take().await;
        })
    }
}
