//! The tokens of one login: a file that only the user can read, one for each server and issuer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::secrets::Redactor;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::tools::Identity;
use crate::tools::credential::Credentials;

/// Maximum size of a token file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;
/// The fields of a token response that are credentials.
const SECRET_FIELDS: [&str; 3] = ["access_token", "refresh_token", "id_token"];

/// The file with the tokens of a login at one issuer for one server.
pub(super) struct TokenFile {
    path: PathBuf,
    host: Arc<dyn Host>,
    server: String,
    issuer: String,
    pub client_secret: Option<String>,
    /// A random number that identifies this login. It does not change when the tokens are refreshed.
    login: u64,
    /// Tokens are registered here, so that they are redacted in the answers of tools.
    credentials: Credentials,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    server: String,
    issuer: String,
    login: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    pub credentials: StoredCredentials,
}

impl TokenFile {
    /// Returns the file for a server and the issuer of its tokens. If the server names another issuer, the tokens of
    /// the previous one are not used.
    pub(super) fn new(host: &Arc<dyn Host>, server: &str, issuer: &str) -> Result<Self, String> {
        let folder = server_folder(&**host, server)
            .ok_or("neither XDG_DATA_HOME nor HOME is set, so logins cannot be stored")?;
        let name = format!("{}.json", blake3::hash(issuer.as_bytes()).to_hex());
        Ok(Self {
            path: folder.join(name),
            host: host.clone(),
            server: server.to_owned(),
            issuer: issuer.to_owned(),
            client_secret: None,
            login: host.random(),
            credentials: Credentials::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file; returns `None` if the user has not logged in.
    pub(super) fn read(&self) -> Result<Option<Kept>, String> {
        let text = match self.host.read_bounded(&self.path, MAX_BYTES) {
            Ok(text) => text,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(problem) => return Err(self.unusable(&problem)),
        };
        let kept: Kept = serde_json::from_str(&text).map_err(|problem| self.unusable(&problem))?;
        let is_own = kept.server == self.server && kept.issuer == self.issuer;
        Ok(Some(kept).filter(|kept| is_own && kept.credentials.token_response.is_some()))
    }

    /// Resumes this login. Its current and future tokens are registered for redaction.
    pub(super) fn resume(&mut self, kept: &Kept, credentials: &Credentials) {
        self.credentials = credentials.clone();
        self.register_secrets(&kept.credentials);
        if let Some(secret) = &kept.client_secret {
            let mut sent = Redactor::default();
            sent.add(secret);
            self.credentials.join(&sent);
        }
        self.login = kept.login;
        self.client_secret.clone_from(&kept.client_secret);
    }

    fn register_secrets(&self, credentials: &StoredCredentials) {
        let response = serde_json::to_value(&credentials.token_response).unwrap_or_default();
        let mut sent = Redactor::default();
        for field in SECRET_FIELDS {
            if let Some(secret) = response.get(field).and_then(|secret| secret.as_str()) {
                sent.add(secret);
            }
        }
        self.credentials.join(&sent);
    }

    fn write(&self, credentials: StoredCredentials) -> Result<(), String> {
        let kept = Kept {
            server: self.server.clone(),
            issuer: self.issuer.clone(),
            login: self.login,
            client_secret: self.client_secret.clone(),
            credentials,
        };
        let text = serde_json::to_vec(&kept).map_err(|problem| self.unusable(&problem))?;
        self.make_folder()
            .and_then(|()| self.host.write_private_file(&self.path, &text))
            .map_err(|problem| self.unusable(&problem))
    }

    fn make_folder(&self) -> io::Result<()> {
        match self.path.parent() {
            Some(folder) => self.host.make_private_folder(folder),
            None => Ok(()),
        }
    }

    fn unusable(&self, problem: &dyn std::fmt::Display) -> String {
        format!("{} cannot be used: {problem}", self.path.display())
    }
}

#[async_trait::async_trait]
impl CredentialStore for TokenFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.read().map_err(AuthError::CredentialStoreError)?;
        let credentials = kept.map(|kept| kept.credentials);
        if let Some(known) = &credentials {
            self.register_secrets(known);
        }
        Ok(credentials)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.register_secrets(&credentials);
        self.write(credentials)
            .map_err(AuthError::CredentialStoreError)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match self.host.remove_file(&self.path) {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => {
                Err(AuthError::CredentialStoreError(self.unusable(&problem)))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Only one process refreshes at a time, because issuers treat a token that is used twice as stolen.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let made = self
            .make_folder()
            .map_err(|problem| self.unusable(&problem));
        made.map_err(AuthError::CredentialStoreError)?;
        let (host, path) = (self.host.clone(), self.path.with_extension("lock"));
        let waiting = tokio::task::spawn_blocking(move || host.lock(&path));
        let locked = waiting.await.map_err(io::Error::other).flatten();
        let file = locked.map_err(|problem| self.unusable(&problem));
        let file = file.map_err(AuthError::CredentialStoreError)?;
        Ok(Some(CredentialRefreshGuard::new(file)))
    }
}

/// Adds the logins to a server, because its answers may depend on the user.
pub(in crate::tools::mcp) fn identify(host: &dyn Host, server: &str, identity: &mut Identity) {
    let folder = server_folder(host, server);
    let files = folder.and_then(|folder| host.list_folder(&folder).ok());
    for file in files.unwrap_or_default() {
        let text = host.read_bounded(&file, MAX_BYTES).unwrap_or_default();
        if let Ok(kept) = serde_json::from_str::<Kept>(&text) {
            identity.add(kept.issuer.as_bytes());
            identity.add(&kept.login.to_le_bytes());
        }
    }
}

/// Returns the folder of the logins to a server, in the user's data folder.
fn server_folder(host: &dyn Host, server: &str) -> Option<PathBuf> {
    let named = host.variable("XDG_DATA_HOME").map(PathBuf::from);
    let folder = named.filter(|folder| folder.is_absolute()).or_else(|| {
        let home = host.variable("HOME").filter(|home| !home.is_empty())?;
        Some(Path::new(&home).join(".local/share"))
    })?;
    let server = blake3::hash(server.as_bytes()).to_hex();
    Some(folder.join("planrun/logins").join(&*server))
}
