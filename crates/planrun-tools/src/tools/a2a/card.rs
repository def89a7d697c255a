//! Reads the card of an agent: its address, and its skills as contracts.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use planrun_lang::permission::Permissions;
use planrun_lang::secrets::{credentials_in, credentials_in_address};
use planrun_lang::types::ANY_SKILL;
use reqwest::Url;
use serde_json::{Value as Json, json};

use super::wire::{AgentCard, Interface};
use crate::contract::{OfferedServer, OfferedTool};
use crate::tools::http::{display_url, displayed};

/// Maximum number of skills of one agent.
const MAX_SKILLS: usize = 10_000;
/// The path of an agent's card relative to its address.
const WELL_KNOWN: [&str; 2] = [".well-known", "agent-card.json"];

/// The address of an agent. Variables have been filled in.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AgentAddress {
    /// The address of its card if it ends with `.json`, otherwise the part before `/.well-known/agent-card.json`.
    pub url: String,
    /// Sent with each request.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for AgentAddress {
    /// Leaves out the values of headers, which may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("AgentAddress")
            .field("url", &displayed(&self.url))
            .field("headers", &names)
            .finish()
    }
}

impl AgentAddress {
    /// Returns the credentials that are sent to the agent, as far as names and its URL show them.
    pub(crate) fn credentials(&self) -> Vec<String> {
        let headers = self.headers.iter();
        let mut found = credentials_in_address(&self.url);
        found.extend(headers.flat_map(|(name, value)| credentials_in(name, value)));
        found
    }

    /// Returns the address of its card.
    pub(super) fn card(&self) -> Result<Url, String> {
        let mut url = Url::parse(&self.url).map_err(|problem| problem.to_string())?;
        let is_card = Path::new(url.path()).extension() == Some(OsStr::new("json"));
        if !is_card && let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(WELL_KNOWN);
        }
        Ok(url)
    }
}

/// The protocol binding of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    Rest,
}

/// Returns the address and binding of the agent: the first interface on its card that is supported and permitted. Fails
/// with the reason in one sentence if there is none.
pub(super) fn interface(
    card: &AgentCard,
    at: &Url,
    elsewhere: Option<&Permissions>,
) -> Result<(Url, Binding, Option<String>), String> {
    if card.supported_interfaces.is_empty() {
        return Err(match &card.protocol_version {
            Some(version) => format!("it speaks A2A {version}, but only 1.0 is supported"),
            None => "its card lists no interfaces".to_owned(),
        });
    }
    let known = card.supported_interfaces.iter();
    let known = known.filter_map(|one| Some((one, binding(one)?)));
    let mut refused = None;
    for (interface, binding) in known {
        match Url::parse(&interface.url) {
            Ok(url) if may_be_reached(&url, at, elsewhere) => {
                let tenant = interface.tenant.clone().filter(|tenant| !tenant.is_empty());
                return Ok((url, binding, tenant));
            }
            Ok(url) => {
                refused = Some(format!(
                    "its card at {} sends calls to {}; add that host to `allow.net` in planrun.yaml if this is intended",
                    display_url(at),
                    display_url(&url)
                ));
            }
            Err(problem) => refused = Some(format!("its card contains an invalid URL: {problem}")),
        }
    }
    Err(refused.unwrap_or_else(|| {
        let named = card.supported_interfaces.iter();
        let named = named.map(|one| format!("{} {}", one.protocol_binding, one.protocol_version));
        let named = named.collect::<Vec<_>>().join(", ");
        format!("it speaks {named}, but only JSONRPC and HTTP+JSON of A2A 1.0 are supported")
    }))
}

fn binding(interface: &Interface) -> Option<Binding> {
    let version = &interface.protocol_version;
    if !version.is_empty() && version != "1" && !version.starts_with("1.") {
        return None;
    }
    match interface.protocol_binding.as_str() {
        "JSONRPC" => Some(Binding::JsonRpc),
        "HTTP+JSON" => Some(Binding::Rest),
        _ => None,
    }
}

/// Returns true if calls may be sent to an address: the origin of the card, or a host that the project grants by name.
fn may_be_reached(url: &Url, card: &Url, elsewhere: Option<&Permissions>) -> bool {
    let is_web = matches!(url.scheme(), "http" | "https");
    let is_granted = || elsewhere.is_some_and(|granted| granted.net(url).is_ok());
    is_web && (url.origin() == card.origin() || is_granted())
}

/// Returns the tools of an agent: one for each skill, and [`ANY_SKILL`].
pub(super) fn offered(card: AgentCard) -> OfferedServer {
    let send = OfferedTool {
        title: Some(card.name.clone()),
        description: card.description,
        input: input(),
        ..OfferedTool::default()
    };
    let mut tools = BTreeMap::from([(ANY_SKILL.to_owned(), send)]);
    for skill in card.skills.into_iter().take(MAX_SKILLS) {
        let examples = skill.examples.iter();
        let examples = examples.map(|example| format!("\nFor example: {example}"));
        let description = skill.description.unwrap_or_default() + &examples.collect::<String>();
        let tool = OfferedTool {
            title: skill.name,
            description: Some(description),
            input: input(),
            ..OfferedTool::default()
        };
        tools.insert(skill.id, tool);
    }
    let offered = OfferedServer {
        name: card.name,
        version: card.version,
        tools,
        left_out: 0,
    };
    offered.with_names()
}

/// Returns the schema of the arguments of every tool of an agent.
fn input() -> Json {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let bytes = json!({
        "type": "string", "contentEncoding": "base64", "x-planrun-type": "bytes",
        "description": "Its content; alternatively, use `url`.",
    });
    let file = json!({
        "type": "object",
        "properties": {
            "name": text("The name of the file."),
            "mime": text("Its media type."),
            "bytes": bytes,
            "url": text("Its URL; alternatively, use `bytes`."),
        },
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "text": text("The message to the agent."),
            "data": { "description": "Structured data for the agent." },
            "files": { "type": "array", "items": file, "description": "Files for the agent." },
            "context": text("Calls with the same context belong to one conversation."),
        },
        "additionalProperties": false,
        "minProperties": 1,
    })
}

#[cfg(test)]
mod tests {
    use planrun_lang::permission::Grant;

    use super::*;
    use crate::host::MemoryHost;

    fn chosen(interfaces: &Json, net: &[&str]) -> Result<(String, Binding), String> {
        let card = json!({ "supportedInterfaces": interfaces });
        let card: AgentCard = serde_json::from_value(card).unwrap();
        let grant = Grant {
            net: net.iter().map(|host| (*host).to_owned()).collect(),
            ..Grant::default()
        };
        let permissions = Permissions::new(&grant, Path::new("/"), &MemoryHost::new(1)).unwrap();
        let at = Url::parse("https://a.example/.well-known/agent-card.json").unwrap();
        let (url, binding, _) = interface(&card, &at, Some(&permissions))?;
        Ok((url.to_string(), binding))
    }

    fn one(url: &str, binding: &str, version: &str) -> Json {
        json!({ "url": url, "protocolBinding": binding, "protocolVersion": version })
    }

    #[test]
    fn the_first_interface_that_is_spoken_and_may_be_reached_is_called() {
        let grpc = one("https://a.example:1", "GRPC", "1.0");
        let rest = one("https://a.example/r", "HTTP+JSON", "1.0");
        let old = one("https://a.example/0", "JSONRPC", "0.3");
        let away = one("https://b.example/x", "JSONRPC", "1.0");
        let expected = Ok(("https://a.example/r".to_owned(), Binding::Rest));
        assert_eq!(chosen(&json!([grpc, old, away, rest]), &[]), expected);
        let error = chosen(&json!([away]), &[]).unwrap_err();
        assert!(error.contains("sends calls to https://b.example/x; add that host to `allow.net`"));
        let expected = Ok(("https://b.example/x".to_owned(), Binding::JsonRpc));
        assert_eq!(chosen(&json!([away]), &["b.example"]), expected);
        let error = chosen(&json!([grpc, old]), &[]).unwrap_err();
        assert!(
            error.starts_with("it speaks GRPC 1.0, JSONRPC 0.3, but"),
            "{error}"
        );
        for away in [
            "file:///etc/passwd",
            "https://a.example:444/",
            "http://a.example/",
        ] {
            assert!(
                chosen(&json!([one(away, "JSONRPC", "1.0")]), &[]).is_err(),
                "{away}"
            );
        }
    }

    #[test]
    fn the_card_is_at_its_well_known_place_or_where_it_is_named() {
        let card = |url: &str| {
            let address = AgentAddress {
                url: url.to_owned(),
                headers: Vec::new(),
            };
            address.card().unwrap().to_string()
        };
        for (url, expected) in [
            (
                "https://a.example",
                "https://a.example/.well-known/agent-card.json",
            ),
            (
                "https://a.example/x/",
                "https://a.example/x/.well-known/agent-card.json",
            ),
            (
                "https://a.example/x/card.json?a=b",
                "https://a.example/x/card.json?a=b",
            ),
        ] {
            assert_eq!(card(url), expected);
        }
    }
}
