//! `planrun.lock`: the contracts that plans are checked against, pinned so that a change of a server is seen before it acts.

mod pinned;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::types::Effect;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::{OfferedServer, OfferedTool};

pub use pinned::Pinned;

/// The version of the file's format.
const VERSION: u32 = 1;

/// What stands in the text of a lock before the digest of all the rest of it. A text that fits its digest is what planrun has
/// written, and no tool of it has to be held against its own before a plan uses it.
const INTEGRITY: &str = "\n  \"integrity\": \"";
/// What stands behind the digest.
const INTEGRITY_END: &str = "\",";

/// The pinned contracts of a project, by server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    version: u32,
    pub servers: BTreeMap<String, LockedServer>,
    /// What results looked like that no contract describes, by the dotted names of tools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockedServer {
    /// What the server called itself when it was pinned.
    pub server: String,
    #[serde(rename = "server_version")]
    pub version: String,
    pub tools: BTreeMap<String, Pinned>,
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

/// The file as it is written, the tools as text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: u32,
    #[serde(default, rename = "integrity")]
    _integrity: serde::de::IgnoredAny,
    servers: BTreeMap<String, WrittenServer>,
    #[serde(default)]
    observed: BTreeMap<String, ObservedResults>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenServer {
    server: String,
    server_version: String,
    tools: BTreeMap<String, Box<RawValue>>,
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
            (name, pinned.into())
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

    /// Reads the text of a lock file. A contract is read when somebody looks at it, where the text fits its digest.
    ///
    /// # Errors
    /// Where it is none, is of a newer planrun, or does not fit its own hashes.
    pub fn parse(text: &str) -> Result<Self, LockError> {
        let malformed = |problem: serde_json::Error| LockError::Malformed(problem.to_string());
        let written =
            serde_json::from_str(text).map_err(|problem| match serde_json::from_str(text) {
                Ok(Head { version }) if version > VERSION => LockError::Newer(version),
                Ok(_) | Err(_) => malformed(problem),
            });
        let written: Written = written?;
        if written.version > VERSION {
            return Err(LockError::Newer(written.version));
        }
        let lock = Self {
            version: written.version,
            servers: written.servers.into_iter().map(LockedServer::of).collect(),
            observed: written.observed,
        };
        if !fits_its_digest(text) {
            lock.hold_against_hashes()?;
        }
        Ok(lock)
    }

    /// Holds every tool against its own hashes.
    fn hold_against_hashes(&self) -> Result<(), LockError> {
        for (server, locked) in &self.servers {
            for (name, tool) in &locked.tools {
                let tool = tool.read();
                let tool = tool.map_err(|problem| LockError::Malformed(problem.to_string()))?;
                if !tool.is_intact() {
                    return Err(LockError::Edited(format!("{server}.{name}")));
                }
            }
        }
        Ok(())
    }

    /// The same servers with no contracts but those of these tools, by their dotted names.
    #[must_use]
    pub fn only(&self, used: &BTreeSet<String>) -> Self {
        let servers = self.servers.iter().map(|(name, server)| {
            let tools = server.tools.iter();
            let tools = tools.filter(|(tool, _)| used.contains(&format!("{name}.{tool}")));
            let only = LockedServer {
                server: server.server.clone(),
                version: server.version.clone(),
                tools: tools
                    .map(|(tool, pinned)| (tool.clone(), pinned.clone()))
                    .collect(),
            };
            (name.clone(), only)
        });
        let observed = self.observed.iter();
        let observed = observed.filter(|(tool, _)| used.contains(*tool));
        Self {
            version: self.version,
            servers: servers.collect(),
            observed: observed
                .map(|(tool, seen)| (tool.clone(), seen.clone()))
                .collect(),
        }
    }

    /// The pinned contract of a tool.
    #[must_use]
    pub fn tool(&self, server: &str, tool: &str) -> Option<&LockedTool> {
        self.servers
            .get(server)?
            .tools
            .get(tool)
            .map(|tool| &**tool)
    }

    /// The text of the file: sorted, one line for each part of a tool, the same for the same contracts.
    #[must_use]
    pub fn text(&self) -> String {
        // Maps with text keys and plain values have a text.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        let digest = blake3::hash(text.as_bytes()).to_hex();
        if let Some(version) = text.find(',') {
            text.insert_str(version + 1, &format!("{INTEGRITY}{digest}{INTEGRITY_END}"));
        }
        text
    }
}

impl LockedServer {
    fn of((name, written): (String, WrittenServer)) -> (String, Self) {
        let tools = written.tools.into_iter();
        let server = Self {
            server: written.server,
            version: written.server_version,
            tools: tools.map(|(name, text)| (name, Pinned::of(text))).collect(),
        };
        (name, server)
    }
}

/// Whether the text of a lock is what was written with its digest.
fn fits_its_digest(text: &str) -> bool {
    let rest = text.split_once(INTEGRITY);
    let rest = rest.and_then(|(before, rest)| Some((before, rest.split_once(INTEGRITY_END)?)));
    rest.is_some_and(|(before, (digest, after))| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(before.as_bytes()).update(after.as_bytes());
        hasher.finalize().to_hex().as_str() == digest
    })
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
            left_out: 0,
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
        pinned.tools.values_mut().for_each(Pinned::accept);
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
        let other = r#"{"version": 7, "tools": []}"#;
        assert_eq!(Lock::parse(other), Err(LockError::Newer(7)));
        assert!(matches!(Lock::parse("[]"), Err(LockError::Malformed(_))));
    }

    #[test]
    fn contracts_are_read_when_they_are_looked_at_unless_the_text_is_not_as_it_was_written() {
        let offer = server("Searches notes.", json!({ "type": "object" }));
        let text = locked(LockedServer::default().renewed(offer)).text();
        let read = |text: &str| {
            Lock::parse(text).map(|lock| lock.servers["notes"].tools["search"].is_read())
        };
        assert_eq!(read(&text), Ok(false));
        // As two branches are merged: every tool is as it was pinned.
        let digest = text.lines().nth(2).unwrap();
        assert!(digest.starts_with("  \"integrity\": "), "{text}");
        assert_eq!(read(&text.replacen(digest, "", 1)), Ok(true));
        assert_eq!(read(&text.replace("1.0.0", "1.0.1")), Ok(true));
        let wrong = text
            .replace("\"Searches notes.\"", "7")
            .replacen(digest, "", 1);
        assert!(matches!(read(&wrong), Err(LockError::Malformed(_))));
    }

    #[test]
    fn what_was_accepted_stays_so_until_the_contract_changes() {
        let schema = json!({ "type": "object" });
        let mut pinned = LockedServer::default().renewed(server("Searches.", schema.clone()));
        let search = |server: &LockedServer| LockedTool::clone(&server.tools["search"]);
        assert!(search(&pinned).waits_for_acceptance());
        assert_eq!(search(&pinned).class(), Effect::Effect);
        pinned.tools.values_mut().for_each(Pinned::accept);
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
