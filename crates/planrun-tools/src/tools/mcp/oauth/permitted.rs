//! Sends the requests of a login only to hosts that `allow` of planrun.yaml permits.

use std::time::Duration;

use axum::http::{Response, StatusCode};
use parking_lot::Mutex;
use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::ErrorClass;
use reqwest::Url;
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy,
    OAuthHttpRequest,
};

use crate::tools::http::{HttpClient, HttpRequest, display_url};
use crate::tools::{ProjectLimit, denied};

/// Maximum size of an answer, in bytes.
const MAX_BYTES: usize = 1024 * 1024;
/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The HTTP client for authorization servers, if the project has an `allow`. Servers name these hosts at run time, so
/// each request is checked, including those after redirects.
pub(super) struct PermittedClient {
    limit: ProjectLimit,
    client: HttpClient,
    /// Why the latest request that is not permitted was not sent.
    refusal: Mutex<Option<String>>,
}

impl PermittedClient {
    pub(super) fn new(limit: &ProjectLimit) -> Self {
        Self {
            client: limit.client(),
            limit: limit.clone(),
            refusal: Mutex::default(),
        }
    }

    /// Returns why a request was not sent, if one was not permitted.
    pub(super) fn refusal(&self) -> Option<String> {
        let refusal = self.refusal.lock();
        refusal.clone()
    }

    async fn send(&self, request: OAuthHttpRequest) -> Result<Response<Vec<u8>>, CallError> {
        let follows = request.redirect_policy == OAuthHttpRedirectPolicy::Follow;
        let (parts, body) = request.request.into_parts();
        let url = Url::parse(&parts.uri.to_string());
        let url = url.map_err(|problem| internal(&format!("it has an invalid URL: {problem}")))?;
        let request = HttpRequest {
            method: parts.method,
            url,
            headers: parts.headers,
            body: Some(body).filter(|body| !body.is_empty()),
        };
        let gate = |url: &Url| permitted(&self.limit, url).map_err(|why| denied(why, Sent::No));
        let answer = self.client.exchange(request, (&gate, follows), MAX_BYTES);
        let answer = answer.await.inspect_err(|error| {
            if matches!(error.class, ErrorClass::Denied(_)) {
                let mut refusal = self.refusal.lock();
                *refusal = Some(error.message.clone());
            }
        })?;
        let mut response = Response::new(answer.body);
        *response.headers_mut() = answer.headers;
        let status = StatusCode::from_u16(answer.status);
        *response.status_mut() =
            status.map_err(|_| internal("it answered with an invalid status"))?;
        Ok(response)
    }
}

impl OAuthHttpClient for PermittedClient {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let limit = request.timeout.unwrap_or(TIMEOUT);
            let answer = tokio::time::timeout(limit, self.send(request)).await;
            let answer =
                answer.map_err(|_| internal(&format!("it did not answer within {limit:?}")));
            let answer = answer.flatten();
            answer.map_err(|error| OAuthHttpClientError::from(error.message))
        })
    }
}

/// Checks whether the project permits requests to an address that a server names. Fails with the reason in one
/// sentence, with what to add to planrun.yaml.
pub(super) fn permitted(limit: &ProjectLimit, url: &Url) -> Result<(), String> {
    let checked = limit.url(url);
    checked.map_err(|why| format!("{} may not be reached: {why}", display_url(url)))
}

fn internal(why: &str) -> CallError {
    CallError::new(ErrorClass::Internal, why, Sent::Maybe)
}
