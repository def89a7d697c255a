//! Logs in to a server: opens an address in a browser and receives its answer at a loopback port.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthorizationCallback, AuthorizationManager, OAuthClientConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::store::TokenFile;
use super::{Discovered, OAuth, Refusal, endpoint_permitted, why};
use crate::host::Host;
use crate::tools::ProjectLimit;
use crate::tools::credential::Credentials;
use crate::tools::mcp::remote::Remote;

/// Maximum size of a request at the loopback port, in bytes.
const MAX_REQUEST_BYTES: u64 = 16 * 1024;
/// Timeout for the server's authentication challenge.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout of one request at the loopback port, so that a stalled client cannot block the browser.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// A login in progress.
pub struct Login {
    manager: AuthorizationManager,
    listener: TcpListener,
    redirect: Url,
    address: String,
    issuer: String,
    file: PathBuf,
}

impl Login {
    /// Discovers the authorization server, registers planrun there, and listens for the browser's answer. `further` are
    /// scopes that are requested in addition to those of the previous login. Fails with one sentence for the user,
    /// parts of which may be untrusted text. Also fails if the project does not permit the server.
    pub async fn begin(
        (url, headers): (&str, &[(String, String)]),
        oauth: &OAuth,
        further: &[String],
        (limit, host): (&ProjectLimit, &Arc<dyn Host>),
    ) -> Result<Self, String> {
        limit.url(&Url::parse(url).map_err(|problem| problem.to_string())?)?;
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|problem| format!("cannot open a port: {problem}"))?;
        let port = listener.local_addr().map_err(|problem| problem.to_string());
        let redirect = format!("http://127.0.0.1:{}/callback", port?.port());
        let remote = Remote {
            url,
            headers,
            limit,
            credentials: &Credentials::default(),
        };
        let challenge = tokio::time::timeout(CHALLENGE_TIMEOUT, remote.challenge()).await;
        let challenge = challenge.map_err(|_| "its server does not answer".to_owned())??;
        let found = Discovered::of(url, challenge.as_deref(), limit);
        let mut found = registrable(found.await, oauth, limit)?;
        let mut file = TokenFile::new(host, url, &found.issuer)?;
        let scopes = scopes(&found, oauth, further, &file).await?;
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let documents = found.reads_client_documents();
        let is_usable = |client: &&String| documents || !client.starts_with("https://");
        let manager = &mut found.manager;
        let client = match oauth.client.as_ref().filter(is_usable) {
            Some(client) => {
                let mut config = OAuthClientConfig::new(client, &redirect);
                config.client_secret.clone_from(&oauth.secret);
                let configured = manager.configure_client(config.clone());
                configured.map(|()| config)
            }
            None => manager.register_client("planrun", &redirect, &scopes).await,
        };
        let issuer = &found.issuer;
        let client = client.map_err(|error| {
            format!(
                "{issuer} does not accept planrun as a client: {}; register planrun there manually and write `auth: {{ \
                 oauth: {{ client: ID }} }}`",
                why(&error)
            )
        })?;
        file.client_secret = client.client_secret;
        let path = file.path().to_owned();
        manager.set_credential_store(file);
        let address = manager.get_authorization_url(&scopes).await;
        let address = address.map_err(|error| why(&error)).and_then(web_address);
        let address = address.map_err(|why| format!("{issuer} cannot be used: {why}"))?;
        let redirect = Url::parse(&redirect).map_err(|problem| problem.to_string())?;
        Ok(Self {
            manager: found.manager,
            listener,
            redirect,
            address,
            issuer: found.issuer,
            file: path,
        })
    }

    /// The address that the user's browser has to open. Untrusted text.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The authorization server that asks the user. Untrusted text.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The file that the tokens will be stored in.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Waits for the browser's answer and stores the tokens. Fails with one sentence for the user, parts of which may
    /// be untrusted text.
    pub async fn finish(self, limit: Duration) -> Result<(), String> {
        let callback_url = tokio::time::timeout(limit, self.answer()).await;
        let callback_url = callback_url.map_err(|_| {
            let seconds = limit.as_secs();
            format!(
                "the login at {} was not completed within {seconds} s",
                self.issuer
            )
        })??;
        let query = |name: &str| {
            let pair = callback_url.query_pairs().find(|(key, _)| key == name);
            pair.map(|(_, value)| value.into_owned())
        };
        // An answer from another issuer is not accepted, even if it is a refusal.
        if let Some(other) = query("iss").filter(|issuer| *issuer != self.issuer) {
            return Err(format!(
                "the answer is from {other}, not from {}; nothing was stored",
                self.issuer
            ));
        }
        if let Some(refusal) = query("error") {
            let more = query("error_description").map(|more| format!(": {more}"));
            let more = more.unwrap_or_default();
            return Err(format!(
                "{} refused the login: {refusal}{more}",
                self.issuer
            ));
        }
        let callback = AuthorizationCallback::from_redirect_url(callback_url.as_str());
        let callback = callback.map_err(|error| why(&error))?;
        let exchanged = self.manager.exchange_code_for_token_with_issuer(
            &callback.code,
            &callback.csrf_token,
            callback.issuer.as_deref(),
        );
        match exchanged.await {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{} issued no token: {}", self.issuer, why(&error))),
        }
    }

    /// Returns the address that the browser was redirected to. All other requests at the port are answered with 404.
    async fn answer(&self) -> Result<Url, String> {
        let sent = Url::parse(&self.address).map_err(|problem| problem.to_string())?;
        let state = |url: &Url| {
            let pair = url.query_pairs().find(|(key, _)| key == "state");
            pair.map(|(_, value)| value.into_owned())
        };
        loop {
            let accepted = self.listener.accept().await;
            let (mut stream, _) = accepted.map_err(|problem| problem.to_string())?;
            let requested = tokio::time::timeout(REQUEST_TIMEOUT, target(&mut stream)).await;
            let requested = requested.ok().flatten();
            let requested = requested.and_then(|target| self.redirect.join(&target).ok());
            let is_answer = |url: &Url| {
                url.origin() == self.redirect.origin()
                    && url.path() == self.redirect.path()
                    && state(url) == state(&sent)
            };
            let answer = requested.filter(is_answer);
            let (status, text) = match answer {
                Some(_) => (
                    "200 OK",
                    "planrun has received the answer; its terminal shows the result. You can close this window.\n",
                ),
                None => ("404 Not Found", "There is nothing here.\n"),
            };
            let length = text.len();
            let response = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{text}"
            );
            // If the browser is gone, it needs no answer.
            let _ =
                tokio::time::timeout(REQUEST_TIMEOUT, stream.write_all(response.as_bytes())).await;
            if let Some(answer) = answer {
                return Ok(answer);
            }
        }
    }
}

/// Checks whether the project permits that planrun registers itself at an authorization server, if it has to.
fn registrable(
    found: Result<Discovered, Refusal>,
    oauth: &OAuth,
    limit: &ProjectLimit,
) -> Result<Discovered, String> {
    let found = found.map_err(Refusal::into_reason)?;
    let endpoint = found.metadata.registration_endpoint.as_deref();
    if let Some(endpoint) = endpoint.filter(|_| oauth.client.is_none()) {
        endpoint_permitted(endpoint, limit).map_err(Refusal::into_reason)?;
    }
    Ok(found)
}

/// Refuses the address of a login page that is not one for a browser. It is untrusted text.
fn web_address(address: String) -> Result<String, String> {
    let page = Url::parse(&address).ok();
    if page.is_some_and(|page| matches!(page.scheme(), "https" | "http")) {
        return Ok(address);
    }
    Err(format!(
        "the address of its login page is {address}, which is not a web address"
    ))
}

/// Returns the target of a GET request.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    let mut bounded = stream.take(MAX_REQUEST_BYTES);
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        if bounded.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
    let text = String::from_utf8(read).ok()?;
    let target = text.strip_prefix("GET ")?.split(' ').next()?;
    target.starts_with('/').then(|| target.to_owned())
}

/// Returns the scopes to request: those in the project's configuration, otherwise those that the server names. With
/// `further` scopes, they are added to those of the previous login.
async fn scopes(
    found: &Discovered,
    oauth: &OAuth,
    further: &[String],
    file: &TokenFile,
) -> Result<Vec<String>, String> {
    let mut scopes = match (further, &*oauth.scopes) {
        ([], []) => found.manager.select_initial_scopes(&[]).await,
        ([], named) => named.to_vec(),
        (further, _) => {
            let before = file.read()?.map(|kept| kept.credentials.granted_scopes);
            let before = before.unwrap_or_default().into_iter();
            let new = further.iter().cloned();
            before.chain(new).collect()
        }
    };
    let offered = found.metadata.scopes_supported.iter().flatten();
    // With this scope, the login outlives the first token.
    let offline = offered.filter(|_| !scopes.is_empty());
    scopes.extend(
        offline
            .filter(|scope| *scope == "offline_access")
            .cloned()
            .collect::<Vec<_>>(),
    );
    let mut seen = std::collections::BTreeSet::new();
    scopes.retain(|scope| seen.insert(scope.clone()));
    Ok(scopes)
}
