//! `planrun.lock`: the contracts that plans are checked against, pinned so that a change of a server is seen before it acts.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::types::Effect;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{OfferedServer, OfferedTool};

/// The version of the file's format.
const VERSION: u32 = 1;

/// The pinned contracts of a project, by server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    pub servers: BTreeMap<String, LockedServer>,
    /// What results looked like that no contract describes, by the dotted names of tools.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observed: BTreeMap<String, ObservedResults>,
}

/// What results of a tool looked like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedResults {
    /// How many there were.
    pub results: u64,
    /// A JSON Schema of all of them.
    pub returns: Json,
}

/// The pinned contracts of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedServer {
    /// What the server called itself when it was pinned.
    pub server: String,
    #[serde(rename = "server_version")]
    pub version: String,
    pub tools: BTreeMap<String, LockedTool>,
}

/// A pinned contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockedTool {
    #[serde(flatten)]
    pub offered: OfferedTool,
    /// Whether what it claims of its effect was accepted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub accepted: bool,
    /// [`OfferedTool::contract_digest`] of the tool.
    contract: String,
    /// [`OfferedTool::documentation_digest`] of the tool.
    documentation: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(value: &bool) -> bool {
    !value
}

/// A lock file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    #[error("it is no lock of planrun: {0}")]
    Malformed(String),
    #[error("it has the version {0} of a newer planrun; this one reads version {VERSION}")]
    Newer(u32),
    #[error("the contract of {0} was changed by hand")]
    Edited(String),
}

/// What every version of the file has.
#[derive(Deserialize)]
struct Head {
    version: u32,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            version: VERSION,
            servers: BTreeMap::new(),
            observed: BTreeMap::new(),
        }
    }
}

impl LockedTool {
    /// Pins what a server says. What it claims of its effect is not accepted yet.
    #[must_use]
    pub fn new(offered: OfferedTool) -> Self {
        Self {
            accepted: false,
            contract: offered.contract_digest(),
            documentation: offered.documentation_digest(),
            offered,
        }
    }

    /// The class of the tool, as far as it was accepted.
    #[must_use]
    pub fn class(&self) -> Effect {
        self.offered.annotations.class(self.accepted)
    }

    /// Whether it claims something of its effect that nobody has accepted.
    #[must_use]
    pub fn waits_for_acceptance(&self) -> bool {
        !self.accepted && self.offered.annotations.claim().is_some()
    }

    /// Whether calls mean the same to both.
    #[must_use]
    pub fn has_contract_of(&self, other: &Self) -> bool {
        self.contract == other.contract
    }

    /// Whether both are described by the same words.
    #[must_use]
    pub fn has_documentation_of(&self, other: &Self) -> bool {
        self.documentation == other.documentation
    }

    fn is_intact(&self) -> bool {
        self.contract == self.offered.contract_digest()
            && self.documentation == self.offered.documentation_digest()
    }
}

impl LockedServer {
    /// Pins what a server says now. What was accepted stays accepted where the contract is the same; a tool whose contract
    /// has changed claims anew.
    #[must_use]
    pub fn renewed(&self, offered: OfferedServer) -> Self {
        let tools = offered.tools.into_iter().map(|(name, tool)| {
            let mut pinned = LockedTool::new(tool);
            let before = self.tools.get(&name);
            pinned.accepted =
                before.is_some_and(|tool| tool.accepted && tool.has_contract_of(&pinned));
            (name, pinned)
        });
        Self {
            server: offered.name,
            version: offered.version,
            tools: tools.collect(),
        }
    }
}

impl Lock {
    /// The name of the file, beside `planrun.yaml`.
    pub const FILE: &str = "planrun.lock";

    /// Reads the text of a lock file.
    ///
    /// # Errors
    /// Where it is none, is of a newer planrun, or does not fit its own hashes.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let malformed = |problem: serde_json::Error| LockError::Malformed(problem.to_string());
        let head: Head = serde_json::from_str(text).map_err(malformed)?;
        if head.version > VERSION {
            return Err(LockError::Newer(head.version));
        }
        let lock: Self = serde_json::from_str(text).map_err(malformed)?;
        for (server, locked) in &lock.servers {
            if let Some((tool, _)) = locked.tools.iter().find(|(_, tool)| !tool.is_intact()) {
                return Err(LockError::Edited(format!("{server}.{tool}")));
            }
        }
        Ok(lock)
    }

    /// The same servers with no contracts but those of these tools, by their dotted names.
    #[must_use]
    pub fn only(&self, used: &BTreeSet<String>) -> Self {
        let mut lock = self.clone();
        for (name, server) in &mut lock.servers {
            server
                .tools
                .retain(|tool, _| used.contains(&format!("{name}.{tool}")));
        }
        lock.observed.retain(|tool, _| used.contains(tool));
        lock
    }

    /// The pinned contract of a tool.
    #[must_use]
    pub fn tool(&self, server: &str, tool: &str) -> Option<&LockedTool> {
        self.servers.get(server)?.tools.get(tool)
    }

    /// The text of the file: sorted, one line for each part of a tool, the same for the same contracts.
    #[must_use]
    pub fn text(&self) -> String {
        // Maps with text keys and plain values have a text.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Annotations;
    use super::*;

    fn server(description: &str, input: serde_json::Value) -> OfferedServer {
        let tool = OfferedTool {
            description: Some(description.to_owned()),
            input,
            annotations: Annotations {
                read_only: Some(true),
                ..Annotations::default()
            },
            ..OfferedTool::default()
        };
        OfferedServer {
            name: "notes".to_owned(),
            version: "1.0.0".to_owned(),
            tools: [("search".to_owned(), tool)].into(),
        }
    }

    #[test]
    fn a_run_takes_the_contracts_that_it_relies_on() {
        let schema = json!({ "type": "object" });
        let lock = locked(LockedServer::default().renewed(server("Searches.", schema)));
        let used = |path: &str| lock.only(&[path.to_owned()].into());
        assert_eq!(used("notes.search"), lock);
        let other = used("notes.other");
        assert!(other.servers.contains_key("notes") && other.tool("notes", "search").is_none());
    }

    fn locked(server: LockedServer) -> Lock {
        Lock {
            servers: [("notes".to_owned(), server)].into(),
            ..Lock::default()
        }
    }

    #[test]
    fn a_lock_is_read_as_it_was_written_and_notices_an_edit() {
        let schema = json!({ "type": "object", "properties": { "query": { "type": "string" } } });
        let mut pinned = LockedServer::default().renewed(server("Searches notes.", schema));
        pinned
            .tools
            .values_mut()
            .for_each(|tool| tool.accepted = true);
        let lock = locked(pinned);
        assert_eq!(Lock::parse(&lock.text()), Ok(lock.clone()));
        assert_eq!(
            Lock::parse(&lock.text()).map(|read| read.text()),
            Ok(lock.text())
        );
        let edited = lock.text().replace("Searches notes.", "Searches all.");
        assert_eq!(
            Lock::parse(&edited),
            Err(LockError::Edited("notes.search".to_owned()))
        );
        let newer = lock.text().replace("\"version\": 1,", "\"version\": 7,");
        assert_eq!(Lock::parse(&newer), Err(LockError::Newer(7)));
        assert!(matches!(Lock::parse("[]"), Err(LockError::Malformed(_))));
    }

    #[test]
    fn what_was_accepted_stays_so_until_the_contract_changes() {
        let schema = json!({ "type": "object" });
        let mut pinned = LockedServer::default().renewed(server("Searches.", schema.clone()));
        let search = |server: &LockedServer| server.tools["search"].clone();
        assert!(search(&pinned).waits_for_acceptance());
        assert_eq!(search(&pinned).class(), Effect::Effect);
        pinned
            .tools
            .values_mut()
            .for_each(|tool| tool.accepted = true);
        assert_eq!(search(&pinned).class(), Effect::Read);
        let retold = pinned.renewed(server("Searches everything.", schema));
        assert!(
            search(&retold).accepted && !search(&retold).has_documentation_of(&search(&pinned))
        );
        let changed = pinned.renewed(server(
            "Searches.",
            json!({ "type": "object", "required": ["query"] }),
        ));
        assert_eq!(search(&changed).class(), Effect::Effect);
    }
}
