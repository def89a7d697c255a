//! What the servers of a project offer now, put in the place of what is pinned.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::render::visible_line;
use planrun_runs::runs::Workspace;
use planrun_tools::contract::{Change, Lock, LockedServer, OfferedServer};

use crate::cli::Failure;
use crate::cli::run::wait;

/// The lock as it would be written now.
pub(super) struct Renewal {
    pub lock: Lock,
    /// Why servers were left as they are pinned, a sentence for each.
    pub refused: Vec<String>,
    /// The servers that have told what they offer.
    pub asked: BTreeSet<String>,
    /// A sentence for each server that has tools which are left out.
    pub left_out: Vec<String>,
}

/// One tool whose contract is not what it was.
pub(super) struct ChangedTool<'a> {
    pub server: &'a str,
    pub tool: &'a str,
    pub difference: Difference,
}

/// How a tool differs from what is pinned.
pub(super) enum Difference {
    New,
    Gone,
    Changed(Change),
}

impl Renewal {
    /// Asks these servers what they offer, or all where none is named.
    ///
    /// # Errors
    /// Where the project has no server of a name.
    pub(super) fn of(workspace: &Workspace, named: &[String]) -> Result<Self, Failure> {
        let configured = &workspace.project.servers;
        for wanted in named {
            if !configured.iter().any(|server| *server.name == **wanted) {
                let message = format!("there is no server `{wanted}` in planrun.yaml");
                return Err(Failure::Usage(message));
            }
        }
        let wanted: Vec<Arc<str>> = configured
            .iter()
            .map(|server| server.name.clone())
            .filter(|name| named.is_empty() || named.contains(&name.to_string()))
            .collect();
        let before = &workspace.project.lock;
        let mut lock = Lock::clone(before);
        lock.servers
            .retain(|name, _| configured.iter().any(|server| *server.name == **name));
        let (mut refused, mut asked, mut left_out) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (name, offered) in wait(workspace.project.offered(&workspace.host, &wanted))? {
            match offered {
                Ok(offered) => {
                    left_out.extend(unusable(&name, offered.left_out));
                    let known = before.servers.get(&*name).cloned().unwrap_or_default();
                    lock.servers
                        .insert(name.to_string(), known.renewed(offered));
                    asked.insert(name.to_string());
                }
                Err(problem) => refused.push(problem.to_string()),
            }
        }
        Ok(Self {
            lock,
            refused,
            asked,
            left_out,
        })
    }
}

/// What is said of a server's tools that are left out, where there are any.
fn unusable(server: &str, left_out: usize) -> Option<String> {
    let (what, their) = match left_out {
        0 => return None,
        1 => ("a tool".to_owned(), "its name is"),
        more => (format!("{more} tools"), "their names are"),
    };
    let most = OfferedServer::MAX_NAME;
    Some(format!(
        "{what} of {server} left out: {their} empty or longer than {most} characters"
    ))
}

/// The tools that differ between two versions of a server: those that are new or have changed, then those that are gone,
/// each by name.
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
    let gone = before.tools.keys().filter_map(|tool| {
        let is_gone = !after.tools.contains_key(tool);
        is_gone.then_some((tool, Difference::Gone))
    });
    now.chain(gone)
        .map(|(tool, difference)| ChangedTool {
            server,
            tool,
            difference,
        })
        .collect()
}

impl ChangedTool<'_> {
    /// The tool and its difference, for people.
    pub(super) fn sentence(&self) -> String {
        let path = format!("{}.{}", self.server, self.tool);
        let path = visible_line(&path);
        match &self.difference {
            Difference::New => format!("{path} is new"),
            Difference::Gone => format!("{path} is gone"),
            Difference::Changed(Change::None) => format!("{path} is the same"),
            Difference::Changed(Change::Documentation) => {
                format!("{path} has changed its description")
            }
            Difference::Changed(Change::Compatible) => {
                format!("{path} has changed its contract, and every call stays right")
            }
            Difference::Changed(Change::Broken(why)) => {
                format!("{path} has changed its contract: {}", visible_line(why))
            }
        }
    }

    /// The difference in a word, for programs.
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

    /// Why calls may be wrong now, where they may be.
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
