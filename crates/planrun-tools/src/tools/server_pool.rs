//! Keeps servers connected between runs.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::server::Server;

/// The servers of a process that runs many plans, by name. If the settings of a server change, it is disconnected and
/// opened again.
#[derive(Default)]
pub struct ServerPool {
    servers: Mutex<BTreeMap<Arc<str>, Pooled>>,
}

struct Pooled {
    settings: Fingerprint,
    server: Arc<dyn Server>,
}

/// The hash of settings that may contain secrets. It is different for different settings, and nothing can be read back
/// from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint(blake3::Hash);

impl Fingerprint {
    /// Returns the hash of these settings.
    pub fn of(settings: &impl Hash) -> Self {
        let mut digest = Digest(blake3::Hasher::new());
        settings.hash(&mut digest);
        Self(digest.0.finalize())
    }
}

/// Passes on what is hashed to a cryptographic hash function.
struct Digest(blake3::Hasher);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.finalize();
        digest
            .as_bytes()
            .iter()
            .take(8)
            .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
    }
}

impl ServerPool {
    /// Returns the server of this name with these settings, opening it with `open` if there is none yet.
    pub fn server(
        &self,
        name: &Arc<str>,
        settings: Fingerprint,
        open: impl FnOnce() -> Arc<dyn Server>,
    ) -> Arc<dyn Server> {
        let mut servers = self.servers.lock();
        if let Some(known) = servers.get(name)
            && known.settings == settings
        {
            return known.server.clone();
        }
        let server = open();
        let pooled = Pooled {
            settings,
            server: server.clone(),
        };
        if let Some(old) = servers.insert(name.clone(), pooled)
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { old.server.close().await });
        }
        server
    }

    /// Disconnects all servers concurrently. A later call connects again.
    pub async fn close(&self) {
        let servers: Vec<Arc<dyn Server>> = {
            let servers = self.servers.lock();
            servers.values().map(|one| one.server.clone()).collect()
        };
        let mut closing = JoinSet::new();
        for server in servers {
            closing.spawn(async move { server.close().await });
        }
        closing.join_all().await;
    }
}

impl fmt::Debug for ServerPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerPool")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::mcp::{McpAddress, OAuth};
    use crate::tools::process::ProgramContext;

    fn url(header: &str, secret: &str) -> Fingerprint {
        Fingerprint::of(&McpAddress::Url {
            url: "https://a.example/mcp".to_owned(),
            headers: vec![("x-token".to_owned(), header.to_owned())],
            oauth: Some(OAuth {
                secret: Some(secret.to_owned()),
                ..OAuth::default()
            }),
        })
    }

    fn program(command: &[&str], environment: &[(&str, &str)]) -> Fingerprint {
        let environment = environment.iter();
        Fingerprint::of(&McpAddress::Program {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            context: ProgramContext {
                root: "/p".into(),
                folder: "/p".into(),
                environment: environment
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
            },
        })
    }

    #[test]
    fn every_credential_changes_the_fingerprint_and_none_is_readable_in_it() {
        let (one, other) = (url("hunter2-token", "s"), url("hunter3-token", "s"));
        assert_eq!(one, url("hunter2-token", "s"));
        assert!(one != other && one != url("hunter2-token", "t"));
        assert!(!format!("{one:?}").contains("hunter2"));
        let with = program(&["a"], &[("b", "c")]);
        assert!(with != program(&["a"], &[("b", "d")]) && with != program(&["a", "b", "c"], &[]));
    }
}
