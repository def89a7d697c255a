//! `planrun.lock`: pins the contracts that plans are checked against, so that a change at a server is noticed before it
//! has an effect.

mod pinned;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::types::Effect;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::{OfferedServer, OfferedTool};

pub use pinned::Pinned;

/// The version of the file format.
const VERSION: u32 = 1;

/// The text before the digest of the rest of the file. If a text matches its digest, planrun has written it, and the
/// digests of single tools do not have to be verified before a plan uses them.
const INTEGRITY: &str = "\n  \"integrity\": \"";
/// The text after the digest.
const INTEGRITY_END: &str = "\",";

/// The pinned contracts of a project, by server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    version: u32,
    pub servers: BTreeMap<String, LockedServer>,
    /// The observed shapes of results that no contract describes, by dotted tool name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub observed: BTreeMap<String, ObservedResults>,
}

/// The observed shape of a tool's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedResults {
    /// Number of observed results.
    pub results: u64,
    /// A JSON Schema that all of them match.
    pub returns: Json,
}

/// The pinned contracts of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LockedServer {
    /// The name that the server reported when it was pinned.
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
    /// Whether the effect that the tool claims was accepted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub accepted: bool,
    /// [`OfferedTool::contract_digest`] of the tool.
    contract: String,
    /// [`OfferedTool::documentation_digest`] of the tool.
    documentation: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// Why a lock file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    #[error("it is not a lock file of planrun: {0}")]
    Malformed(String),
    #[error("it has version {0} of a newer planrun; this one supports version {VERSION}")]
    Newer(u32),
    #[error("the contract of {0} was edited by hand")]
    Edited(String),
}

/// The part that every version of the file has.
#[derive(Deserialize)]
struct Head {
    version: u32,
}

/// The file as it is written, with unparsed tools.
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
    /// Pins what a server declares. The claimed effect is not accepted yet.
    pub fn new(offered: OfferedTool) -> Self {
        Self {
            accepted: false,
            contract: offered.contract_digest(),
            documentation: offered.documentation_digest(),
            offered,
        }
    }

    /// The effect class of the tool, which depends on whether its claim was accepted.
    pub fn class(&self) -> Effect {
        self.offered.annotations.class(self.accepted)
    }

    /// Returns true if the tool claims an effect that has not been accepted.
    pub fn waits_for_acceptance(&self) -> bool {
        !self.accepted && self.offered.annotations.claim().is_some()
    }

    /// Returns true if both have the same contract for calls.
    pub fn has_contract_of(&self, other: &Self) -> bool {
        self.contract == other.contract
    }

    /// Returns true if both have the same documentation.
    pub fn has_documentation_of(&self, other: &Self) -> bool {
        self.documentation == other.documentation
    }

    fn is_intact(&self) -> bool {
        self.contract == self.offered.contract_digest()
            && self.documentation == self.offered.documentation_digest()
    }
}

impl LockedServer {
    /// Pins what a server declares now. An accepted claim stays accepted if the contract is unchanged; a tool with a
    /// changed contract has to be accepted again.
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
    /// The name of the file, which is next to `planrun.yaml`.
    pub const FILE: &str = "planrun.lock";

    /// Parses a lock file. If the text matches its digest, single contracts are parsed when they are first used.
    /// Returns an error if the text is not a lock file, was written by a newer planrun, or does not match its own
    /// digests.
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
        if !matches_digest(text) {
            lock.verify_digests()?;
        }
        Ok(lock)
    }

    /// Verifies every tool against its own digests.
    fn verify_digests(&self) -> Result<(), LockError> {
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

    /// Returns the same servers with only the contracts of these tools, which are given by their dotted names.
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

    /// Returns the pinned contract of a tool.
    pub fn tool(&self, server: &str, tool: &str) -> Option<&LockedTool> {
        self.servers
            .get(server)?
            .tools
            .get(tool)
            .map(|tool| &**tool)
    }

    /// Returns the text of the file: sorted, one line for each part of a tool, and equal for equal contracts.
    pub fn text(&self) -> String {
        // Serializing maps with string keys and plain values cannot fail.
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

fn matches_digest(text: &str) -> bool {
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
        // This is how a merge of two branches leaves the file: every tool is as it was pinned.
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
