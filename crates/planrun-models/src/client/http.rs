//! A model behind an HTTP API: requests, retries and timeouts.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::secrets::{Redactor, credentials_in_address};
use planrun_tools::host::Host;
use planrun_tools::project::{ModelSettings, Price};
use planrun_tools::tools::ProjectLimit;
use planrun_tools::tools::http::{HttpClient, HttpRequest};
use reqwest::Method;
use reqwest::header::HeaderMap;
use url::Url;

use super::attempt::Attempt;
use super::deadline::Limits;
use crate::model::{ErrorKind, Model, ModelError, Part, PartSender, Parts, Request, produce};
use crate::wire::{self, Addressee};

/// Default timeout of the whole answer.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);
/// Default timeout until the first token of an answer.
pub const DEFAULT_FIRST_TOKEN: Duration = Duration::from_mins(2);
/// Default timeout between two tokens of an answer.
pub const DEFAULT_BETWEEN_TOKENS: Duration = Duration::from_mins(1);
/// Default number of retries of a request.
pub const DEFAULT_RETRIES: u32 = 2;
/// Maximum wait that a server can request before a retry. If it requests a longer one, the request fails without a
/// retry.
pub const MAX_WAIT: Duration = Duration::from_mins(1);

/// Backoff before the first retry; it doubles with each further retry.
const INITIAL_BACKOFF: Duration = Duration::from_millis(500);
/// Maximum backoff before jitter.
const MAX_BACKOFF: Duration = Duration::from_secs(8);
/// Minimum wait before a retry that is reported.
const REPORTED_WAIT: Duration = Duration::from_secs(2);

/// A model behind an HTTP API. Clones share its connections.
#[derive(Clone)]
pub struct HttpModel {
    shared: Arc<Shared>,
}

struct Shared {
    settings: ModelSettings,
    endpoint: Url,
    headers: HeaderMap,
    client: HttpClient,
    host: Arc<dyn Host>,
    secrets: Redactor,
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpModel").field(&self.who()).finish()
    }
}

impl HttpModel {
    /// Creates a model with these settings and this key, if the project is allowed to reach its server. The `known`
    /// secrets are redacted in its answers and errors. Sends nothing yet. Returns an error if the key cannot be sent as
    /// a header, or the server may not be reached.
    pub fn new(
        settings: ModelSettings,
        (key, known): (Option<&str>, &[String]),
        host: Arc<dyn Host>,
        limit: &ProjectLimit,
    ) -> Result<Self, ModelError> {
        let endpoint = wire::endpoint(settings.api, &settings.base_url);
        let mut secrets = Redactor::default();
        let in_url = credentials_in_address(settings.base_url.as_str());
        for secret in in_url.iter().chain(known) {
            secrets.add(secret);
        }
        let headers = wire::headers(settings.api, key).map_err(|_| {
            let message = "its key contains characters that are not valid in a header";
            of(
                &settings,
                ModelError::new(ErrorKind::Authentication, message),
            )
        })?;
        limit
            .url(&endpoint)
            .map_err(|why| of(&settings, ModelError::new(ErrorKind::Denied, why)))?;
        Ok(Self {
            shared: Arc::new(Shared {
                settings,
                endpoint,
                headers,
                client: limit.client(),
                host,
                secrets,
            }),
        })
    }

    /// Returns the name of the model in the project.
    pub fn name(&self) -> &str {
        &self.shared.settings.name
    }

    /// Returns the price of its tokens, if the project configures one.
    pub fn price(&self) -> Option<&Price> {
        self.shared.settings.price.as_ref()
    }

    /// Returns the secrets that are sent to the server, to redact them in its output.
    pub fn secrets(&self) -> &Redactor {
        &self.shared.secrets
    }

    fn who(&self) -> String {
        who(&self.shared.settings)
    }
}

impl Model for HttpModel {
    fn answer(&self, request: Request) -> Parts {
        let shared = Arc::clone(&self.shared);
        produce(move |sender| async move {
            let limit = shared.settings.timeout.unwrap_or(DEFAULT_TIMEOUT);
            let answered = tokio::time::timeout(limit, shared.answer(request, sender)).await;
            let answered = answered.unwrap_or_else(|_| {
                let message = format!("its answer took longer than {limit:?} (`timeout`)");
                Err(ModelError::new(ErrorKind::Timeout, message))
            });
            answered.map_err(|error| shared.complete(error))
        })
    }
}

impl Shared {
    async fn answer(&self, mut request: Request, mut sender: PartSender) -> Result<(), ModelError> {
        let settings = &self.settings;
        request.temperature = request.temperature.or(settings.temperature);
        request.max_tokens = request.max_tokens.or(settings.max_tokens);
        let addressee = Addressee {
            model: &settings.model,
            endpoint: &self.endpoint,
        };
        let body = wire::body(settings.api, addressee, &request).to_string();
        let attempt = Attempt {
            client: &self.client,
            host: &*self.host,
            api: settings.api,
            secrets: &self.secrets,
            limits: Limits {
                first_token: settings.first_token.unwrap_or(DEFAULT_FIRST_TOKEN),
                between_tokens: settings.between_tokens.unwrap_or(DEFAULT_BETWEEN_TOKENS),
            },
        };
        let retries = settings.retries.unwrap_or(DEFAULT_RETRIES);
        for retry in 0.. {
            let request = HttpRequest {
                method: Method::POST,
                url: self.endpoint.clone(),
                headers: self.headers.clone(),
                body: Some(body.clone().into_bytes()),
            };
            let Err(error) = attempt.run(request, &mut sender).await else {
                return Ok(());
            };
            if retry >= retries || sender.has_begun() || !is_retried(&error) {
                return Err(error);
            }
            let Some(after) = wait(retry, error.retry_after, &*self.host) else {
                return Err(with_requested_wait(error));
            };
            if after >= REPORTED_WAIT {
                let why = self.complete(error).message;
                sender.send(Part::Retry { after, why }).await;
            }
            tokio::time::sleep(after).await;
        }
        Ok(())
    }

    /// Adds the model to the message of an error, and redacts secrets in it.
    fn complete(&self, error: ModelError) -> ModelError {
        let error = of(&self.settings, error);
        let message = self.secrets.text(&error.message).into_owned();
        ModelError { message, ..error }
    }
}

/// Returns the wait before a retry: the one that the server requests, or a backoff that doubles; both with jitter.
/// `None` if the server requests more than [`MAX_WAIT`].
fn wait(retry: u32, requested: Option<Duration>, host: &dyn Host) -> Option<Duration> {
    let jitter = |most: Duration| {
        let most = u64::try_from(most.as_millis()).unwrap_or(u64::MAX - 1);
        Duration::from_millis(host.random() % (most + 1))
    };
    if let Some(requested) = requested {
        let wait = requested.saturating_add(jitter(INITIAL_BACKOFF));
        return (requested <= MAX_WAIT).then_some(wait);
    }
    let backoff = INITIAL_BACKOFF.saturating_mul(2_u32.saturating_pow(retry));
    let half = backoff.min(MAX_BACKOFF) / 2;
    Some(half + jitter(half))
}

/// Adds the wait that the server requests, which is too long for a retry, to the message of an error.
fn with_requested_wait(mut error: ModelError) -> ModelError {
    if let Some(requested) = error.retry_after {
        let _ = write!(
            error.message,
            "; it asks for a wait of {requested:?}, and a request is repeated after at most {MAX_WAIT:?}"
        );
    }
    error
}

/// Returns true if the error is retried. A request that timed out may still be processed, so the caller decides about
/// it.
fn is_retried(error: &ModelError) -> bool {
    match error.kind {
        ErrorKind::RateLimited | ErrorKind::Unavailable | ErrorKind::Network => true,
        ErrorKind::Timeout
        | ErrorKind::Authentication
        | ErrorKind::Authorization
        | ErrorKind::Quota
        | ErrorKind::InvalidRequest
        | ErrorKind::TooLong
        | ErrorKind::Protocol
        | ErrorKind::Denied
        | ErrorKind::Internal => false,
    }
}

fn who(settings: &ModelSettings) -> String {
    let url = &settings.base_url;
    let host = url.host_str().unwrap_or_default();
    let port = url
        .port()
        .map_or_else(String::new, |port| format!(":{port}"));
    format!(
        "the model `{}` ({} at {host}{port})",
        settings.name, settings.model
    )
}

/// Adds the model to the message of an error.
fn of(settings: &ModelSettings, mut error: ModelError) -> ModelError {
    error.message = format!("{}: {}", who(settings), error.message);
    error
}

#[cfg(test)]
mod tests {
    use planrun_tools::host::MemoryHost;

    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_differ() {
        let host = MemoryHost::new(7);
        let mut seen = std::collections::BTreeSet::new();
        for retry in 0..40 {
            let full = INITIAL_BACKOFF * 2_u32.pow(retry.min(4));
            let waited = wait(retry, None, &host).unwrap();
            assert!(waited >= full / 2 && waited <= full, "{retry}: {waited:?}");
            seen.insert(waited);
        }
        assert!(seen.len() > 30, "{seen:?}");
        for requested in [Duration::ZERO, Duration::from_secs(7), MAX_WAIT] {
            let waited = wait(0, Some(requested), &host).unwrap();
            assert!(
                waited >= requested && waited <= requested + INITIAL_BACKOFF,
                "{waited:?}"
            );
        }
        let longer = MAX_WAIT + Duration::from_nanos(1);
        assert_eq!(wait(0, Some(longer), &host), None);
    }
}
