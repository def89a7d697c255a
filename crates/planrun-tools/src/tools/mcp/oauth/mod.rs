//! Authorization for HTTP servers: the client, the login, and the storage of tokens.

mod login;
mod permitted;
mod store;

use planrun_lang::diag::render::command;
use std::sync::Arc;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, OAuthClientConfig,
    WWWAuthenticateParams,
};

use self::permitted::{PermittedClient, permitted};
use self::store::TokenFile;
use crate::host::Host;
use crate::tools::credential::Credentials;
use crate::tools::{ProjectLimit, innermost};

pub use login::Login;
pub(super) use store::identify;

/// How planrun identifies itself to the authorization server.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct OAuth {
    /// The id of a pre-registered client, or the address of its metadata document.
    pub client: Option<String>,
    /// The secret of a pre-registered client, if it has one.
    pub secret: Option<String>,
    /// The scopes to request; empty for those that the server names.
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuth")
            .field("client", &self.client)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// Why there is no connection, in one sentence. Parts of it may be untrusted text.
pub(super) enum Refusal {
    /// The user has to log in first, or the project does not permit a host.
    Denied(String),
    Broken(String),
}

impl Refusal {
    pub(super) fn into_reason(self) -> String {
        match self {
            Self::Denied(why) | Self::Broken(why) => why,
        }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

/// The authorization server that a server names, with its metadata.
struct Discovered {
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    issuer: String,
}

impl Discovered {
    /// Discovers the authorization server of a server, starting with the challenge that the server sends to a client
    /// without a login, and gets its metadata. Returns an error if the server or its authorization server cannot be
    /// used, or if the project has an `allow` that does not permit a host that requests would be sent to.
    async fn of(url: &str, challenge: Option<&str>, limit: &ProjectLimit) -> Result<Self, Refusal> {
        let unusable =
            |error: AuthError| format!("its authorization cannot be used: {}", why(&error));
        // Without an `allow`, the library's own client is used, which permits private addresses only if the server has
        // one.
        let client = limit
            .is_set()
            .then(|| Arc::new(PermittedClient::new(limit)));
        let manager = match client.clone() {
            Some(client) => AuthorizationManager::new_with_oauth_http_client(url, client).await,
            None => AuthorizationManager::new(url).await,
        };
        let mut manager = manager.map_err(unusable)?;
        let resolution = manager.resolve_metadata_from_challenge(challenge).await;
        let found = resolution
            .as_ref()
            .is_ok_and(|found| found.source.is_discovered());
        if let Some(refusal) = client
            .and_then(|client| client.refusal())
            .filter(|_| !found)
        {
            return Err(not_permitted(&refusal));
        }
        let resolution = resolution.map_err(unusable)?;
        if !found {
            let message = "it does not specify its authorization server, so nobody can log in there; remove `auth: \
                           oauth`, and put a token into `headers` if it requires one";
            return Err(message.to_owned().into());
        }
        let metadata = resolution.metadata;
        endpoint_permitted(&metadata.token_endpoint, limit)?;
        let issuer = metadata.issuer.clone();
        let issuer = issuer
            .ok_or_else(|| "its authorization server does not state its issuer".to_owned())?;
        if metadata.code_challenge_methods_supported.is_none() {
            let message = format!(
                "its authorization server {issuer} does not declare support for PKCE, which protects the login; put a \
                 token into `headers` instead of `auth: oauth`"
            );
            return Err(message.into());
        }
        manager.set_metadata(metadata.clone());
        Ok(Self {
            manager,
            metadata,
            issuer,
        })
    }

    /// Returns true if a client id may be the address of a document that describes the client.
    fn reads_client_documents(&self) -> bool {
        let key = "client_id_metadata_document_supported";
        self.metadata.additional_fields.get(key) == Some(&serde_json::Value::Bool(true))
    }
}

/// Checks whether the project permits requests to an endpoint of an authorization server, before the user logs in
/// there.
fn endpoint_permitted(endpoint: &str, limit: &ProjectLimit) -> Result<(), Refusal> {
    let url = Url::parse(endpoint);
    let url = url.map_err(|problem| {
        format!("its authorization server has an endpoint that is not a URL: {problem}")
    })?;
    permitted(limit, &url).map_err(|why| not_permitted(&why))
}

fn not_permitted(why: &str) -> Refusal {
    Refusal::Denied(format!("its authorization server cannot be used: {why}"))
}

/// Returns the manager that sends the token of a login with each request and refreshes it. Returns an error if the user
/// has not logged in at the authorization server that the server names now.
pub(super) async fn authorized(
    (name, url, challenge): (&str, &str, Option<&str>),
    (limit, host): (&ProjectLimit, &Arc<dyn Host>),
    credentials: &Credentials,
) -> Result<AuthorizationManager, Refusal> {
    let Discovered {
        mut manager,
        issuer,
        ..
    } = Discovered::of(url, challenge, limit).await?;
    let mut file = TokenFile::new(host, url, &issuer)?;
    let Some(kept) = file.read()? else {
        return Err(Refusal::Denied(format!(
            "not logged in at {issuer}; log in with `{}`",
            command(&format!("tools login {name}"))
        )));
    };
    file.resume(&kept, credentials);
    let mut client = OAuthClientConfig::new(&kept.credentials.client_id, url);
    client.client_secret = kept.client_secret;
    manager
        .configure_client(client)
        .map_err(|error| why(&error))?;
    manager.set_credential_store(file);
    Ok(manager)
}

/// Describes the refusal of a server, with the command that resolves it.
pub(super) fn remedy(name: &str, url: &str, challenge: &str) -> String {
    let base = Url::parse(url).ok();
    let params = base.map(|base| WWWAuthenticateParams::parse(challenge, &base));
    let missing = params.filter(WWWAuthenticateParams::is_insufficient_scope);
    let Some(scopes) = missing.map(|params| params.scope.unwrap_or_default()) else {
        return format!(
            "it requires a new login: `{}`, which needs `auth: oauth` next to its `url`",
            command(&format!("tools login {name}"))
        );
    };
    let mut login = command(&format!("tools login {name}"));
    // Scopes with characters that a shell interprets are left out; the user has to quote them.
    for scope in scopes.split_whitespace().filter(|scope| is_plain(scope)) {
        login.push_str(" --scope ");
        login.push_str(scope);
    }
    format!("it requires more scopes than the login has: `{login}`")
}

/// Returns true if an external word needs no quoting in any shell.
fn is_plain(word: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._:/@-".contains(letter);
    word.chars().all(plain) && !word.starts_with('-')
}

/// Returns the error with its innermost cause, which has the most specific message.
fn why(error: &AuthError) -> String {
    match (error.to_string(), innermost(error)) {
        (outer, inner) if outer == inner => outer,
        (outer, inner) => format!("{outer}: {inner}"),
    }
}
