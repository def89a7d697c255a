//! An agent of the project: its card is fetched when it is first needed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::permission::Permissions;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Url};
use tokio::sync::Mutex;

use super::AgentAddress;
use super::card::{Binding, interface, offered};
use super::client::Agent;
use super::transport::AgentTransport;
use super::wire::AgentCard;
use crate::contract::{OfferedServer, OfferedTool};
use crate::host::Host;
use crate::tools::http::{HttpClient, HttpRequest, body, shown};
use crate::tools::{BoxFuture, PinnedTool, Server, ServerError, Transport};

/// How long an agent may take to tell what it is.
const CARD_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest card.
const MAX_CARD_BYTES: usize = 1024 * 1024;

/// What an agent has told of itself.
pub(super) struct Known {
    /// The place where it is called.
    pub agent: Agent,
    tools: BTreeMap<String, Arc<OfferedTool>>,
}

/// An agent that the project configures, under the name that the project gives it.
pub struct AgentServer {
    name: Arc<str>,
    address: AgentAddress,
    /// Where its card may send calls to, beside the place where the card is.
    elsewhere: Option<Permissions>,
    host: Arc<dyn Host>,
    client: HttpClient,
    /// `None` before it is first needed, and after it was let go.
    known: Mutex<Option<Arc<Known>>>,
}

impl AgentServer {
    #[must_use]
    pub fn new(
        name: Arc<str>,
        address: AgentAddress,
        elsewhere: Option<Permissions>,
        host: Arc<dyn Host>,
    ) -> Self {
        // What names resolve to is held to the same.
        let permitted = elsewhere.clone().map(Arc::new);
        Self {
            name,
            address,
            elsewhere,
            host,
            client: permitted.map_or_else(HttpClient::default, HttpClient::within),
            known: Mutex::new(None),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> &AgentAddress {
        &self.address
    }

    /// What it has told of itself, which it is asked for once. Those that ask at once share one answer.
    pub(super) async fn known(&self) -> Result<Arc<Known>, ServerError> {
        let mut kept = self.known.lock().await;
        if let Some(known) = kept.as_ref() {
            return Ok(known.clone());
        }
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
        let tools = offered(card).tools.into_iter();
        let tools = tools.map(|(name, tool)| (name, Arc::new(tool))).collect();
        Ok(kept.insert(Arc::new(Known { agent, tools })).clone())
    }

    /// What it says of itself now, and where and how it is called by that.
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
        let place = shown(&url);
        let (status, body) = match fetched {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(self.unusable(&error.message)),
            Err(_) => {
                let seconds = CARD_TIMEOUT.as_secs();
                return Err(self.unusable(&format!("{place} does not answer within {seconds} s")));
            }
        };
        if !status.is_success() {
            let why = format!("its card, at {place}, is answered with status {status}");
            return Err(self.unusable(&why));
        }
        let card = serde_json::from_slice(&body).map_err(|problem| {
            self.unusable(&format!(
                "what is at {place} is no card of an agent: {problem}"
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
                return Err(self.unusable(&format!("`{name}` is no header")));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
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
            Ok(offered(card))
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
        Some(Arc::new(AgentTransport::asked(self)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            *self.known.lock().await = None;
        })
    }
}
