//! The HTTP client: makes one attempt, follows redirects itself so that each is checked against the permissions, and
//! limits the size of the body.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::permission::{Denial, Permissions};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient};
use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Method, Response, Url};
use tokio_util::sync::CancellationToken;

use super::charset::to_utf8;
use super::resolver::{PermittedResolver, REQUESTED};
use crate::tools::{
    EventSender, Progress, causes, denied, failed, innermost, invalid_arguments, invalid_result,
};

/// Maximum number of redirects of a request.
pub(in crate::tools) const MAX_REDIRECTS: usize = 5;
/// Maximum time for opening a connection. After that, the connection counts as refused and nothing was sent.
pub(in crate::tools) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The client that HTTP tools share. It is created on first use, so that `check` does not pay for the TLS setup.
#[derive(Clone, Debug, Default)]
pub struct HttpClient {
    client: Arc<OnceLock<Result<Client, String>>>,
    /// The permissions that resolved addresses are checked against.
    permissions: Option<Arc<Permissions>>,
}

#[derive(Clone)]
pub struct HttpRequest {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
}

/// A response with its whole body.
#[derive(Clone)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body; a text in UTF-8, whatever charset it was sent in.
    pub body: Vec<u8>,
    /// Whether the request itself was answered before, with a redirect to an address that was then read with `GET`.
    pub from_redirect: bool,
}

/// A response whose body is still to be read, with [`HttpResponse::from_redirect`].
type Followed = (Response, bool);

/// Checks whether a request may be sent to an address.
pub type Gate<'a> = &'a (dyn Fn(&Url) -> Result<(), CallError> + Send + Sync);

/// The limits of one request.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Called before each request, including those after a redirect.
    pub gate: Gate<'a>,
    /// Maximum size of the response's body, in bytes.
    pub max_bytes: usize,
    pub cancel: &'a CancellationToken,
}

impl HttpClient {
    /// Creates a client that connects only to addresses that `permissions` permit, whatever names resolve to.
    pub fn within(permissions: Arc<Permissions>) -> Self {
        Self {
            client: Arc::default(),
            permissions: Some(permissions),
        }
    }

    /// Sends a request and reads the response. The number of received bytes is reported as progress. Returns an error
    /// if the whole response did not arrive, with whether the request may have been received. A response with any
    /// status is not an error.
    pub async fn send(
        &self,
        request: HttpRequest,
        limits: Limits<'_>,
        events: &mut EventSender,
    ) -> Result<HttpResponse, CallError> {
        let whole = async {
            let followed = self.follow(request, limits.gate).await?;
            read(followed, limits.max_bytes, events).await
        };
        let stopped = || {
            Err(CallError::new(
                ErrorClass::Cancelled,
                "the request was cancelled",
                Sent::Maybe,
            ))
        };
        limits
            .cancel
            .run_until_cancelled(whole)
            .await
            .unwrap_or_else(stopped)
    }

    /// Sends a request whose answer is read in pieces. Redirects are refused, because the request must not reach
    /// another address. Fails with the errors of [`HttpClient::send`].
    pub async fn open(&self, request: HttpRequest) -> Result<Response, CallError> {
        let response = self.once(&request).await?;
        if !response.status().is_redirection() {
            return Ok(response);
        }
        let message = format!(
            "{} redirects, but redirects are not followed here",
            display_url(&request.url)
        );
        Err(denied(message, Sent::Refused))
    }

    /// Sends a request and reads the response. `gate` is called before each request. Unless it `follows` redirects, a
    /// redirect is returned like any other response. Fails with the errors of [`HttpClient::send`].
    pub(in crate::tools) async fn exchange(
        &self,
        request: HttpRequest,
        (gate, follows): (Gate<'_>, bool),
        max_bytes: usize,
    ) -> Result<HttpResponse, CallError> {
        let (mut response, from_redirect) = if follows {
            self.follow(request, gate).await?
        } else {
            check_scheme(&request.url).and_then(|()| gate(&request.url))?;
            (self.once(&request).await?, false)
        };
        let body = body(&mut response, max_bytes, |_| {}).await?;
        Ok(HttpResponse::new(&response, body, from_redirect))
    }

    async fn follow(
        &self,
        mut request: HttpRequest,
        gate: Gate<'_>,
    ) -> Result<Followed, CallError> {
        let method = request.method.clone();
        for redirects in 0..=MAX_REDIRECTS {
            let from_redirect = request.method != method;
            let later = |error: CallError| match error.sent {
                _ if from_redirect => read_after_redirect(error),
                Sent::No if redirects > 0 => CallError {
                    sent: Sent::Answered,
                    ..error
                },
                Sent::No | Sent::Maybe | Sent::Answered | Sent::Refused => error,
            };
            let checked = match redirects {
                0 => check_scheme(&request.url),
                _ => check_redirect(&request.url),
            };
            checked.and_then(|()| gate(&request.url)).map_err(later)?;
            let response = self.once(&request).await.map_err(later)?;
            match redirected(request, &response) {
                Some(next) => request = next,
                None => return Ok((response, from_redirect)),
            }
        }
        let message = format!("the server redirected more than {MAX_REDIRECTS} times");
        let failed = failed(message, Sent::Answered);
        Err(if request.method == method {
            failed
        } else {
            read_after_redirect(failed)
        })
    }

    async fn once(&self, request: &HttpRequest) -> Result<Response, CallError> {
        let build = || {
            build(
                self.permissions
                    .as_ref()
                    .map(|permissions| (permissions, None)),
            )
        };
        let client = self.client.get_or_init(build).as_ref();
        let client = client
            .map_err(|problem| CallError::new(ErrorClass::Internal, problem.as_str(), Sent::No))?;
        let mut builder = client
            .request(request.method.clone(), request.url.clone())
            .headers(request.headers.clone());
        if let Some(body) = &request.body {
            builder = builder.body(body.clone());
        }
        REQUESTED
            .scope(request.url.clone(), builder.send())
            .await
            .map_err(|problem| not_answered(&problem, &request.url))
    }
}

impl fmt::Debug for HttpRequest {
    /// Leaves out the values of headers, the query and the body, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &display_url(&self.url))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("bytes", &self.body.as_ref().map(Vec::len))
            .finish()
    }
}

impl fmt::Debug for HttpResponse {
    /// Leaves out the values of headers and the body, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("bytes", &self.body.len())
            .field("from_redirect", &self.from_redirect)
            .finish()
    }
}

impl HttpResponse {
    /// Returns the outcome of a call, given what this response alone would mean.
    pub(in crate::tools) fn outcome(&self, own: CallOutcome) -> CallOutcome {
        if self.from_redirect {
            own.map_err(read_after_redirect)
        } else {
            own
        }
    }

    fn new(response: &Response, body: Vec<u8>, from_redirect: bool) -> Self {
        let headers = response.headers().clone();
        let body = to_utf8(content_type(&headers), body);
        Self {
            status: response.status().as_u16(),
            headers,
            body,
            from_redirect,
        }
    }

    /// Returns the media type of the body in lower case, without its parameters.
    pub fn media_type(&self) -> String {
        let value = content_type(&self.headers);
        let media_type = value.split(';').next().unwrap_or_default();
        media_type.trim().to_ascii_lowercase()
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    let value = headers.get(header::CONTENT_TYPE);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

/// Formats an address for messages, without credentials and query.
pub(in crate::tools) fn display_url(url: &Url) -> String {
    let port = url
        .port()
        .map_or_else(String::new, |port| format!(":{port}"));
    format!(
        "{}://{}{port}{}",
        url.scheme(),
        url.host_str().unwrap_or_default(),
        url.path()
    )
}

/// Formats the text of an address like [`display_url`].
pub(crate) fn displayed(url: &str) -> String {
    Url::parse(url).map_or_else(|_| "(not a URL)".to_owned(), |url| display_url(&url))
}

/// Creates a client that does not follow redirects, does not retry and uses no proxy. With permissions, names resolve
/// only to permitted addresses, for a request to `requested` or to the address that the current task requests. Fails
/// with the reason in one sentence if no client can be created.
pub(in crate::tools) fn build(
    permitted: Option<(&Arc<Permissions>, Option<&Url>)>,
) -> Result<Client, String> {
    // A second installation fails because the provider is already installed, which is the required state.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let client = match permitted {
            Some((permissions, requested)) => Client::builder().dns_resolver(PermittedResolver {
                permissions: Arc::clone(permissions),
                requested: requested.cloned(),
            }),
            None => Client::builder(),
        };
        client
            .user_agent(concat!("planrun/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
    };
    // A machine without certificates can still use plain HTTP.
    let client = builder()
        .build()
        .or_else(|_| builder().tls_certs_only([]).build());
    client.map_err(|problem| format!("cannot create an HTTP client: {}", innermost(&problem)))
}

fn check_scheme(url: &Url) -> Result<(), CallError> {
    if matches!(url.scheme(), "http" | "https") {
        return Ok(());
    }
    let message = format!(
        "{}: the URL of a tool must begin with http or https",
        display_url(url)
    );
    Err(invalid_arguments(message))
}

/// Checks that a redirect leads to an address of HTTP. The arguments of the call are not at fault if it does not.
fn check_redirect(url: &Url) -> Result<(), CallError> {
    check_scheme(url).map_err(|_| {
        let message = format!(
            "the server redirected to {}, but only addresses with http or https are followed",
            display_url(url)
        );
        denied(message, Sent::Answered)
    })
}

/// Returns the request that a redirect leads to; `None` for any other response.
fn redirected(request: HttpRequest, response: &Response) -> Option<HttpRequest> {
    let status = response.status().as_u16();
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = response.headers().get(header::LOCATION)?.to_str().ok()?;
    let url = request.url.join(location).ok()?;
    let reading = matches!(request.method, Method::GET | Method::HEAD);
    let becomes_get = (status == 303 && !reading)
        || (matches!(status, 301 | 302) && request.method == Method::POST);
    let mut next = HttpRequest { url, ..request };
    if becomes_get {
        next.method = Method::GET;
        next.body = None;
        next.headers.remove(header::CONTENT_TYPE);
    }
    if next.url.origin() != response.url().origin() {
        keep_harmless(&mut next.headers);
    }
    Some(next)
}

/// Removes all headers that could be secrets meant for the first host.
fn keep_harmless(headers: &mut HeaderMap) {
    let harmless = [
        header::ACCEPT,
        header::ACCEPT_LANGUAGE,
        header::CONTENT_TYPE,
        header::USER_AGENT,
    ];
    let kept = headers
        .iter()
        .filter(|(name, _)| harmless.contains(name) || *name == "idempotency-key");
    *headers = kept
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
}

/// Returns the failure of a call whose request was answered with a redirect, after which only the result could not be
/// read: what the request does may have been done.
fn read_after_redirect(error: CallError) -> CallError {
    CallError {
        message: format!(
            "{}; it had accepted the request with a redirect",
            error.message
        ),
        sent: Sent::Maybe,
        ..error
    }
}

async fn read(
    (mut response, from_redirect): Followed,
    most_bytes: usize,
    events: &mut EventSender,
) -> Result<HttpResponse, CallError> {
    let total = response.content_length();
    let body = body(&mut response, most_bytes, |bytes| {
        report_progress(events, bytes, total);
    })
    .await?;
    Ok(HttpResponse::new(&response, body, from_redirect))
}

/// Reads the whole body of a response. `progress` is called with the number of bytes received so far. Returns an error
/// if the body is incomplete or larger than `max_bytes`.
pub(in crate::tools) async fn body(
    response: &mut Response,
    max_bytes: usize,
    mut progress: impl FnMut(usize),
) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    while let Some(chunk) = piece(response).await? {
        let chunk = chunk.as_ref();
        if body.len() + chunk.len() > max_bytes {
            return Err(too_large(response.url(), max_bytes));
        }
        body.extend_from_slice(chunk);
        progress(body.len());
    }
    Ok(body)
}

/// Returns the next piece of a body; `None` at its end.
pub(super) async fn piece(
    response: &mut Response,
) -> Result<Option<impl AsRef<[u8]> + use<>>, CallError> {
    let piece = response.chunk().await;
    piece.map_err(|problem| {
        let message = format!(
            "the answer of {} was interrupted: {}",
            display_url(response.url()),
            innermost(&problem)
        );
        CallError::new(
            ErrorClass::Transient(Transient::Network),
            message,
            Sent::Maybe,
        )
    })
}

pub(super) fn too_large(url: &Url, max_bytes: usize) -> CallError {
    let message = format!(
        "{} answered with more than {max_bytes} bytes",
        display_url(url)
    );
    invalid_result(message)
}

/// Reports progress, except for a complete body.
fn report_progress(events: &mut EventSender, bytes: usize, total: Option<u64>) {
    let bytes = bytes as u64;
    match total {
        Some(total) if bytes < total => events.progress(Progress::of(bytes, total)),
        Some(_) => {}
        None => events.progress(Progress::message(&format!("{bytes} bytes"))),
    }
}

fn not_answered(problem: &reqwest::Error, url: &Url) -> CallError {
    let place = display_url(url);
    if problem.is_builder() {
        let message = format!("{place} cannot be requested: {}", innermost(problem));
        return invalid_arguments(message);
    }
    if let Some(denial) = causes(problem).find_map(|cause| cause.downcast_ref::<Denial>()) {
        return denial.clone().into();
    }
    if problem.is_connect() {
        let class = if problem.is_timeout() {
            Transient::Timeout
        } else {
            Transient::Network
        };
        let message = format!("{place} cannot be reached: {}", innermost(problem));
        return CallError::new(ErrorClass::Transient(class), message, Sent::No);
    }
    let class = if problem.is_timeout() {
        Transient::Timeout
    } else {
        Transient::Network
    };
    CallError::new(
        ErrorClass::Transient(class),
        format!("{place} did not answer: {}", innermost(problem)),
        Sent::Maybe,
    )
}
