//! Keeps servers connected between runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
    /// The settings as `Debug` prints them. Values of headers and variables are included only if they are secret.
    settings: String,
    server: Arc<dyn Server>,
}

impl ServerPool {
    /// Returns the server of this name with these settings, opening it with `open` if there is none yet.
    pub fn server(
        &self,
        name: &Arc<str>,
        settings: String,
        open: impl FnOnce() -> Arc<dyn Server>,
    ) -> Arc<dyn Server> {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
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
            let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
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
