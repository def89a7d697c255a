//! The HTTP client: one attempt, redirects followed by hand under the permissions, a bounded body.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::permission::{Denial, Permissions};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Transient, Validation};
use reqwest::header::{self, HeaderMap};
use reqwest::{Client, Method, Response, Url};
use tokio_util::sync::CancellationToken;

use super::resolver::{PermittedResolver, REQUESTED};
use crate::tools::{EventSender, Progress};

/// A chain of redirects longer than this is a failure.
pub(in crate::tools) const MAX_REDIRECTS: usize = 5;
/// A connection that takes longer to open counts as refused: nothing was sent.
pub(in crate::tools) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that HTTP tools share. It is made when first used, so that a check costs no TLS set-up.
#[derive(Clone, Debug, Default)]
pub struct HttpClient {
    client: Arc<OnceLock<Result<Client, String>>>,
    /// What the addresses are held to that names resolve to.
    permissions: Option<Arc<Permissions>>,
}

/// One request.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
}

/// A response with its whole body.
#[derive(Clone, Debug)]
pub struct HttpResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// Whether a request may go to an address.
pub type Gate<'a> = &'a (dyn Fn(&Url) -> Result<(), CallError> + Send + Sync);

/// What bounds one request.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Asked before each request, those after a redirect included.
    pub gate: Gate<'a>,
    /// Of the body of the response.
    pub max_bytes: usize,
    pub cancel: &'a CancellationToken,
}

impl HttpClient {
    /// One that connects to what these permit alone, whatever names resolve to.
    #[must_use]
    pub fn within(permissions: Arc<Permissions>) -> Self {
        Self {
            client: Arc::default(),
            permissions: Some(permissions),
        }
    }

    /// Sends a request and reads the response, whose arriving bytes are told as progress.
    ///
    /// # Errors
    /// What kept the whole response from arriving, and whether the request may have been seen. A response of any
    /// status is no error here.
    pub async fn send(
        &self,
        request: HttpRequest,
        limits: Limits<'_>,
        events: &mut EventSender,
    ) -> Result<HttpResponse, CallError> {
        let whole = async {
            let response = self.follow(request, limits.gate).await?;
            read(response, limits.max_bytes, events).await
        };
        let stopped = || {
            Err(error(
                ErrorClass::Cancelled,
                "the request was stopped",
                Sent::Maybe,
            ))
        };
        limits
            .cancel
            .run_until_cancelled(whole)
            .await
            .unwrap_or_else(stopped)
    }

    /// Sends a request whose answer is read in pieces. Redirects are refused: what is meant for one place goes nowhere else.
    ///
    /// # Errors
    /// As for [`HttpClient::send`].
    pub async fn open(&self, request: HttpRequest) -> Result<Response, CallError> {
        let response = self.once(&request).await?;
        if !response.status().is_redirection() {
            return Ok(response);
        }
        let message = format!(
            "{} redirects, and redirects are not followed here",
            shown(&request.url)
        );
        Err(error(
            ErrorClass::Denied(Denied::Policy),
            message,
            Sent::Refused,
        ))
    }

    async fn follow(
        &self,
        mut request: HttpRequest,
        gate: Gate<'_>,
    ) -> Result<Response, CallError> {
        for redirects in 0..=MAX_REDIRECTS {
            // Once a server has answered, later trouble does not mean that nothing happened.
            let later = |error: CallError| {
                if redirects > 0 && error.sent == Sent::No {
                    CallError {
                        sent: Sent::Answered,
                        ..error
                    }
                } else {
                    error
                }
            };
            check_scheme(&request.url)
                .and_then(|()| gate(&request.url))
                .map_err(later)?;
            let response = self.once(&request).await.map_err(later)?;
            match redirected(request, &response) {
                Some(next) => request = next,
                None => return Ok(response),
            }
        }
        let message = format!("the server redirected more than {MAX_REDIRECTS} times");
        Err(error(
            ErrorClass::Tool("failed".into()),
            message,
            Sent::Answered,
        ))
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
        let client =
            client.map_err(|problem| error(ErrorClass::Internal, problem.as_str(), Sent::No))?;
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

impl HttpResponse {
    /// The media type of the body in lower case, without its parameters.
    #[must_use]
    pub fn media_type(&self) -> String {
        let value = self
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        value
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    }
}

/// An address as messages show it: no credentials, no query.
pub(in crate::tools) fn shown(url: &Url) -> String {
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

pub(in crate::tools) fn error(
    class: ErrorClass,
    message: impl Into<String>,
    sent: Sent,
) -> CallError {
    CallError::new(class, message.into(), sent)
}

/// A client that follows no redirect, tries nothing again and goes through no proxy. With permissions, names resolve to the
/// addresses that they let be reached, for a request to `requested` or to what the current task asks for.
///
/// # Errors
/// Why there can be none, in one sentence.
pub(in crate::tools) fn build(
    permitted: Option<(&Arc<Permissions>, Option<&Url>)>,
) -> Result<Client, String> {
    // A second installation is refused because the first one stands, which is what is wanted.
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
    // A machine without certificates can still talk plain HTTP.
    let client = builder()
        .build()
        .or_else(|_| builder().tls_certs_only([]).build());
    client.map_err(|problem| format!("no HTTP client could be made: {}", told(&problem)))
}

fn check_scheme(url: &Url) -> Result<(), CallError> {
    if matches!(url.scheme(), "http" | "https") {
        return Ok(());
    }
    let message = format!("{}: addresses of tools are http or https", shown(url));
    Err(error(
        ErrorClass::Validation(Validation::Arguments),
        message,
        Sent::No,
    ))
}

/// The request that a redirect asks for, and nothing for every other response.
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

/// Drops whatever could be a secret meant for the first host.
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

async fn read(
    mut response: Response,
    most_bytes: usize,
    events: &mut EventSender,
) -> Result<HttpResponse, CallError> {
    let total = response.content_length();
    let body = body(&mut response, most_bytes, |bytes| {
        tell_progress(events, bytes, total);
    })
    .await?;
    Ok(HttpResponse {
        status: response.status().as_u16(),
        headers: response.headers().clone(),
        body,
    })
}

/// The whole body of a response, with how much of it has come so far.
///
/// # Errors
/// Where it breaks off, or is longer than that.
pub(in crate::tools) async fn body(
    response: &mut Response,
    max_bytes: usize,
    mut told: impl FnMut(usize),
) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    while let Some(chunk) = piece(response).await? {
        let chunk = chunk.as_ref();
        if body.len() + chunk.len() > max_bytes {
            return Err(too_large(response.url(), max_bytes));
        }
        body.extend_from_slice(chunk);
        told(body.len());
    }
    Ok(body)
}

/// The next piece of a body; `None` at its end.
pub(super) async fn piece(
    response: &mut Response,
) -> Result<Option<impl AsRef<[u8]> + use<>>, CallError> {
    let piece = response.chunk().await;
    piece.map_err(|problem| {
        let message = format!(
            "{} broke off in the middle of its answer: {}",
            shown(response.url()),
            told(&problem)
        );
        error(
            ErrorClass::Transient(Transient::Network),
            message,
            Sent::Maybe,
        )
    })
}

pub(super) fn too_large(url: &Url, max_bytes: usize) -> CallError {
    let message = format!("{} answered with more than {max_bytes} bytes", shown(url));
    error(
        ErrorClass::Validation(Validation::Result),
        message,
        Sent::Answered,
    )
}

/// A body that is complete needs no progress.
fn tell_progress(events: &mut EventSender, bytes: usize, total: Option<u64>) {
    let bytes = bytes as u64;
    match total {
        Some(total) if bytes < total => events.progress(Progress::of(bytes, total)),
        Some(_) => {}
        None => events.progress(Progress::message(&format!("{bytes} bytes"))),
    }
}

fn not_answered(problem: &reqwest::Error, url: &Url) -> CallError {
    let place = shown(url);
    if problem.is_builder() {
        let message = format!("{place} cannot be requested: {}", told(problem));
        return error(
            ErrorClass::Validation(Validation::Arguments),
            message,
            Sent::No,
        );
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
        let message = format!("{place} cannot be reached: {}", told(problem));
        return error(ErrorClass::Transient(class), message, Sent::No);
    }
    let class = if problem.is_timeout() {
        Transient::Timeout
    } else {
        Transient::Network
    };
    error(
        ErrorClass::Transient(class),
        format!("{place} did not answer: {}", told(problem)),
        Sent::Maybe,
    )
}

/// The innermost cause, which is the one that says something.
fn told(problem: &reqwest::Error) -> String {
    causes(problem)
        .last()
        .map_or_else(String::new, ToString::to_string)
}

/// An error with what has caused it, from outside to inside.
fn causes(problem: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    let outermost: &(dyn std::error::Error + 'static) = problem;
    std::iter::successors(Some(outermost), |cause| cause.source())
}
