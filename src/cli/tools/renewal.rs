//! Fetches what the servers of a project offer now, to compare it with the pinned contracts or replace them.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::render::visible_line;
use planrun_runs::runs::Workspace;
use planrun_tools::contract::{Change, Lock, LockedServer, OfferedServer};

use crate::cli::run::wait;
use crate::cli::suggest::did_you_mean;
use crate::cli::{Failure, Result};

/// The lock file as it would be written now.
pub(super) struct Renewal {
    pub lock: Lock,
    /// One message for each server that could not be asked and keeps its pinned contracts.
    pub refused: Vec<String>,
    /// The servers that have answered.
    pub answered: BTreeSet<String>,
    /// Messages about what is left out of the lock: tools, and credentials.
    pub left_out: Vec<String>,
}

/// One tool whose contract has changed.
pub(super) struct ChangedTool<'a> {
    pub server: &'a str,
    pub tool: &'a str,
    pub difference: Difference,
}

/// How a tool differs from its pinned contract.
pub(super) enum Difference {
    New,
    Gone,
    Changed(Change),
}

impl Renewal {
    /// Asks these servers what they offer, or all servers if `requested` is empty. Returns an error if the project has
    /// no server with one of the names.
    pub(super) fn of(workspace: &Workspace, requested: &[String]) -> Result<Self> {
        let configured = &workspace.project.servers;
        for name in requested {
            if !configured.iter().any(|server| *server.name == **name) {
                let hint = did_you_mean(name, configured.iter().map(|server| &*server.name));
                let message = format!("there is no server `{name}` in planrun.yaml{hint}");
                return Err(Failure::Usage(message));
            }
        }
        let names: Vec<Arc<str>> = configured
            .iter()
            .map(|server| server.name.clone())
            .filter(|name| requested.is_empty() || requested.contains(&name.to_string()))
            .collect();
        let before = &workspace.project.lock;
        let mut lock = Lock::clone(before);
        lock.servers
            .retain(|name, _| configured.iter().any(|server| *server.name == **name));
        let (mut refused, mut answered, mut left_out) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (name, offered) in wait(workspace.project.offered(&workspace.host, &names))? {
            match offered {
                Ok(offered) => {
                    left_out.extend(unusable(&name, offered.left_out));
                    left_out.extend(offered.is_redacted().then(|| {
                        format!("{name} describes itself with credentials of the project, which are left out of the lock")
                    }));
                    let known = before.servers.get(&*name).cloned().unwrap_or_default();
                    lock.servers
                        .insert(name.to_string(), known.renewed(offered));
                    answered.insert(name.to_string());
                }
                Err(problem) => refused.push(problem.to_string()),
            }
        }
        Ok(Self {
            lock,
            refused,
            answered,
            left_out,
        })
    }
}

/// Returns the message about a server's tools that are left out; `None` if there are none.
fn unusable(server: &str, left_out: usize) -> Option<String> {
    let (what, their, they) = match left_out {
        0 => return None,
        1 => ("a tool".to_owned(), "its name is", "it is"),
        more => (format!("{more} tools"), "their names are", "they are"),
    };
    let most = OfferedServer::MAX_NAME;
    Some(format!(
        "{what} of {server} omitted: {their} empty or longer than {most} characters, or {they} not described as the protocol requires (no `inputSchema`)"
    ))
}

/// Returns the tools that differ between two versions of a server, each group by name: first new and changed tools,
/// then removed ones.
pub(super) fn differences<'a>(
    server: &'a str,
    before: &'a LockedServer,
    after: &'a LockedServer,
) -> Vec<ChangedTool<'a>> {
    let now = after.tools.iter().filter_map(|(tool, pinned)| {
        let difference = match before.tools.get(tool) {
            None => Difference::New,
            Some(known) => match known.change(Some(&pinned.offered)) {
                Change::None => return None,
                change => Difference::Changed(change),
            },
        };
        Some((tool, difference))
    });
    let removed = before.tools.keys().filter_map(|tool| {
        let is_gone = !after.tools.contains_key(tool);
        is_gone.then_some((tool, Difference::Gone))
    });
    now.chain(removed)
        .map(|(tool, difference)| ChangedTool {
            server,
            tool,
            difference,
        })
        .collect()
}

impl ChangedTool<'_> {
    /// Describes the difference for people.
    pub(super) fn sentence(&self) -> String {
        let path = format!("{}.{}", self.server, self.tool);
        let path = visible_line(&path);
        match &self.difference {
            Difference::New => format!("{path} is new"),
            Difference::Gone => format!("{path} was removed"),
            Difference::Changed(Change::None) => format!("{path} is unchanged"),
            Difference::Changed(Change::Documentation) => {
                format!("{path} has a new description")
            }
            Difference::Changed(Change::Compatible) => {
                format!("{path} has a new contract, and every call stays valid")
            }
            Difference::Changed(Change::Broken(why)) => {
                format!("{path} has a new contract: {}", visible_line(why))
            }
        }
    }

    /// Returns the kind of difference, for programs.
    pub(super) fn word(&self) -> &'static str {
        match &self.difference {
            Difference::New => "new",
            Difference::Gone => "gone",
            Difference::Changed(Change::None) => "none",
            Difference::Changed(Change::Documentation) => "description",
            Difference::Changed(Change::Compatible) => "compatible",
            Difference::Changed(Change::Broken(_)) => "broken",
        }
    }

    /// Returns why existing calls may be invalid now; `None` if they are not.
    pub(super) fn why(&self) -> Option<&str> {
        match &self.difference {
            Difference::Changed(Change::Broken(why)) => Some(why),
            Difference::New
            | Difference::Gone
            | Difference::Changed(Change::None | Change::Documentation | Change::Compatible) => {
                None
            }
        }
    }
}
