//! Authorization of servers of HTTP: who the client is, how somebody logs in, and where the tokens are kept.

mod login;
mod store;

use std::sync::Arc;

use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, OAuthClientConfig,
    WWWAuthenticateParams,
};

use self::store::TokenFile;
use super::handler::innermost;
use crate::host::Host;
use crate::tools::credential::Credentials;

pub use login::Login;
pub(super) use store::identify;

/// How planrun makes itself known to the authorization server of a server.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct OAuth {
    /// The id of a client that was registered beforehand, or the address of its metadata document.
    pub client: Option<String>,
    /// Of a client that was registered with one.
    pub secret: Option<String>,
    /// What is asked for, where it shall not be what the server says.
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

/// Why there is no connection, in one sentence. Parts of it may be text from outside.
pub(super) enum Refusal {
    /// Somebody has to log in first.
    Login(String),
    Broken(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Broken(why)
    }
}

/// The authorization server that a server names, as far as it has been asked.
struct Discovered {
    manager: AuthorizationManager,
    metadata: AuthorizationMetadata,
    issuer: String,
}

impl Discovered {
    /// Asks the server at an address which authorization server is its own, beginning with what it says to somebody who has
    /// not logged in, and asks that server what it can do.
    async fn of(url: &str, challenge: Option<&str>) -> Result<Self, String> {
        let told = |error: AuthError| format!("its authorization cannot be used: {}", why(&error));
        let mut manager = AuthorizationManager::new(url).await.map_err(told)?;
        let resolution = manager.resolve_metadata_from_challenge(challenge).await;
        let resolution = resolution.map_err(told)?;
        if !resolution.source.is_discovered() {
            return Err("it does not say which authorization server is its own".to_owned());
        }
        let metadata = resolution.metadata;
        let issuer = metadata.issuer.clone();
        let issuer = issuer.ok_or("its authorization server does not name itself")?;
        if metadata.code_challenge_methods_supported.is_none() {
            return Err(format!(
                "its authorization server {issuer} does not say that it protects codes (PKCE)"
            ));
        }
        manager.set_metadata(metadata.clone());
        Ok(Self {
            manager,
            metadata,
            issuer,
        })
    }

    /// Whether the id of a client may be the address of a document that describes it.
    fn reads_client_documents(&self) -> bool {
        let key = "client_id_metadata_document_supported";
        self.metadata.additional_fields.get(key) == Some(&serde_json::Value::Bool(true))
    }
}

/// What sends the token of a login with each request, and renews it.
///
/// # Errors
/// Where nobody has logged in at the authorization server that the server names now.
pub(super) async fn authorized(
    (name, url, challenge): (&str, &str, Option<&str>),
    host: &Arc<dyn Host>,
    credentials: &Credentials,
) -> Result<AuthorizationManager, Refusal> {
    let Discovered {
        mut manager,
        issuer,
        ..
    } = Discovered::of(url, challenge).await?;
    let mut file = TokenFile::new(host, url, &issuer)?;
    let Some(kept) = file.read()? else {
        return Err(Refusal::Login(format!(
            "nobody has logged in at {issuer}; `planrun tools login {name}` does"
        )));
    };
    file.goes_on(&kept, credentials);
    let mut client = OAuthClientConfig::new(&kept.credentials.client_id, url);
    client.client_secret = kept.client_secret;
    manager
        .configure_client(client)
        .map_err(|error| why(&error))?;
    manager.set_credential_store(file);
    Ok(manager)
}

/// What a refusal of the server asks for: the command that gives it.
pub(super) fn remedy(name: &str, url: &str, challenge: &str) -> String {
    let asked = Url::parse(url).ok();
    let asked = asked.map(|base| WWWAuthenticateParams::parse(challenge, &base));
    let missing = asked.filter(WWWAuthenticateParams::is_insufficient_scope);
    let Some(scopes) = missing.map(|asked| asked.scope.unwrap_or_default()) else {
        return format!(
            "it wants somebody to log in (again): `planrun tools login {name}`, which needs `auth: oauth` beside its `url`"
        );
    };
    let mut command = format!("planrun tools login {name}");
    // What a shell would read as something else is left for people to quote.
    for scope in scopes.split_whitespace().filter(|scope| is_plain(scope)) {
        command.push_str(" --scope ");
        command.push_str(scope);
    }
    format!("it wants more than the login has: `{command}`")
}

/// Whether a word from outside means the same to every shell as it is.
fn is_plain(word: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._:/@-".contains(letter);
    word.chars().all(plain) && !word.starts_with('-')
}

/// The error with its innermost cause, which is the one that says something.
fn why(error: &AuthError) -> String {
    match (error.to_string(), innermost(error)) {
        (outer, inner) if outer == inner => outer,
        (outer, inner) => format!("{outer}: {inner}"),
    }
}
