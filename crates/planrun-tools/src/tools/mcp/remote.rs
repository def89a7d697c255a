//! Connects to a streamable HTTP server, with the token of a login if it requires one.

use std::collections::HashMap;
use std::sync::Arc;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig,
};

use super::handler::{Refused, Service, serve};
use super::oauth::{Refusal, authorized, remedy};
use super::open_calls::OpenCalls;
use crate::host::Host;
use crate::tools::ProjectLimit;
use crate::tools::credential::Credentials;

/// The address of a server and the headers of each request.
pub(super) struct Remote<'a> {
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    /// The addresses that the project permits.
    pub limit: &'a ProjectLimit,
    /// What is redacted in the server's texts, with the tokens of a login.
    pub credentials: &'a Credentials,
}

impl Remote<'_> {
    /// Connects without a login.
    pub(super) async fn connect(&self, name: &str) -> Result<Service, Refusal> {
        let connected = self.connect_with(self.limit.client_of(self.url)?).await;
        connected.map_err(|refused| self.refusal(name, &refused))
    }

    /// Connects with the token of the user's login.
    pub(super) async fn connect_as(
        &self,
        name: &str,
        host: &Arc<dyn Host>,
    ) -> Result<Service, Refusal> {
        let client = self.limit.client_of(self.url)?;
        let challenge = self.challenge().await?;
        let place = (name, self.url, challenge.as_deref());
        let manager = authorized(place, (self.limit, host), self.credentials).await?;
        let connected = self.connect_with(AuthClient::new(client, manager)).await;
        connected.map_err(|refused| self.refusal(name, &refused))
    }

    /// Returns the challenge that the server sends to a client without a login: where to log in, and with which scopes.
    pub(super) async fn challenge(&self) -> Result<Option<String>, String> {
        match self.connect_with(self.limit.client_of(self.url)?).await {
            Ok(_) => Ok(None),
            Err(refused) => match refused.challenge() {
                Some(challenge) => Ok(Some(challenge.to_owned()).filter(|one| !one.is_empty())),
                None => Err(refused.reason(self.credentials)),
            },
        }
    }

    async fn connect_with<C: StreamableHttpClient + Clone>(
        &self,
        client: C,
    ) -> Result<Service, Refused> {
        let mut custom = HashMap::new();
        for (name, value) in self.headers {
            let header = HeaderName::try_from(name).ok().zip({
                let mut value = HeaderValue::try_from(value).ok();
                if let Some(value) = &mut value {
                    value.set_sensitive(true);
                }
                value
            });
            let (name, value) = header.ok_or_else(|| format!("`{name}` is not a valid header"))?;
            custom.insert(name, value);
        }
        // A server that has ended the session may have been replaced by another version: its tools are compared with
        // their contracts before anything is sent again, which the transport would not do.
        let config = StreamableHttpClientTransportConfig::with_uri(self.url)
            .custom_headers(custom)
            .reinit_on_expired_session(false);
        serve(&OpenCalls::default(), || {
            let (client, config) = (client.clone(), config.clone());
            Ok(StreamableHttpClientTransport::with_client(client, config))
        })
        .await
    }

    fn refusal(&self, name: &str, refused: &Refused) -> Refusal {
        match refused.challenge() {
            Some(challenge) => Refusal::Denied(remedy(name, self.url, challenge)),
            None => refused.reason(self.credentials).into(),
        }
    }
}
