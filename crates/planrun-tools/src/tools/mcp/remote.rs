//! Connecting to a server of streamable HTTP, with the token of a login where it wants one.

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

/// Where a server is, and what each request to it has.
pub(super) struct Remote<'a> {
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    /// What the project lets be reached.
    pub limit: &'a ProjectLimit,
}

impl Remote<'_> {
    /// Connects in nobody's name.
    pub(super) async fn connect(&self, name: &str) -> Result<Service, Refusal> {
        let connected = self.over(self.limit.client_of(self.url)?).await;
        connected.map_err(|refused| self.refusal(name, &refused))
    }

    /// Connects in the name of whoever has logged in.
    pub(super) async fn connect_as(
        &self,
        name: &str,
        host: &Arc<dyn Host>,
        credentials: &Credentials,
    ) -> Result<Service, Refusal> {
        let client = self.limit.client_of(self.url)?;
        let challenge = self.challenge().await?;
        let place = (name, self.url, challenge.as_deref());
        let manager = authorized(place, host, credentials).await?;
        let connected = self.over(AuthClient::new(client, manager)).await;
        connected.map_err(|refused| self.refusal(name, &refused))
    }

    /// What the server says to somebody who has not logged in: where that is done, and for what.
    pub(super) async fn challenge(&self) -> Result<Option<String>, String> {
        match self.over(self.limit.client_of(self.url)?).await {
            Ok(_) => Ok(None),
            Err(refused) => match refused.challenge() {
                Some(challenge) => Ok(Some(challenge.to_owned()).filter(|one| !one.is_empty())),
                None => Err(refused.to_string()),
            },
        }
    }

    async fn over<C: StreamableHttpClient + Clone>(&self, client: C) -> Result<Service, Refused> {
        let mut custom = HashMap::new();
        for (name, value) in self.headers {
            let header = HeaderName::try_from(name).ok().zip({
                let mut value = HeaderValue::try_from(value).ok();
                if let Some(value) = &mut value {
                    value.set_sensitive(true);
                }
                value
            });
            let (name, value) = header.ok_or_else(|| format!("`{name}` is no header"))?;
            custom.insert(name, value);
        }
        let config = StreamableHttpClientTransportConfig::with_uri(self.url).custom_headers(custom);
        serve(&OpenCalls::default(), || {
            let (client, config) = (client.clone(), config.clone());
            Ok(StreamableHttpClientTransport::with_client(client, config))
        })
        .await
    }

    fn refusal(&self, name: &str, refused: &Refused) -> Refusal {
        match refused.challenge() {
            Some(challenge) => Refusal::Login(remedy(name, self.url, challenge)),
            None => refused.to_string().into(),
        }
    }
}
