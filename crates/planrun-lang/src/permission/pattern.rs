//! Parses and matches the patterns of a grant: hosts with ports, tools, agents, programs and paths.

use core::net::IpAddr;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use url::{Host, Url};

use super::{PathResolver, PermissionError, ReachedProgram, local_path};
use crate::value::shortened;

/// Maximum length of a pattern, in characters.
const MAX_PATTERN: usize = 1024;
/// Maximum nesting of the braces of a pattern.
const MAX_BRACES: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct HostPattern {
    /// `None` matches any scheme.
    scheme: Option<&'static str>,
    host: GlobMatcher,
    /// Whether the pattern matches addresses, such as `192.168.*`, and never a host name that has the same form.
    of_addresses: bool,
    port: PortPattern,
}

#[derive(Clone, Copy, Debug)]
enum PortPattern {
    Any,
    One(u16),
    /// The ports 80 and 443, and the default port of the URL's scheme.
    Default,
}

/// A pattern of tools: all tools, those of a namespace, or a single one.
#[derive(Clone, Debug)]
pub(super) enum ToolPattern {
    All,
    Namespace(String),
    One { namespace: String, name: String },
}

impl ToolPattern {
    pub(super) fn matches(&self, namespace: &str, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(own) => own == namespace,
            Self::One {
                namespace: own,
                name: one,
            } => own == namespace && one == name,
        }
    }

    /// Returns true if the pattern matches any tool of this namespace.
    pub(super) fn is_of(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(own) | Self::One { namespace: own, .. } => own == namespace,
        }
    }
}

/// Parses `desk.find`, `desk.*` or `*`.
pub(super) fn tool_pattern(written: &str) -> Result<ToolPattern, PermissionError> {
    match written.split_once('.') {
        None if written == "*" => Ok(ToolPattern::All),
        Some((namespace, "*")) if !namespace.is_empty() => {
            Ok(ToolPattern::Namespace(namespace.to_owned()))
        }
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok(ToolPattern::One {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            })
        }
        Some(_) | None => Err(PermissionError {
            setting: "tools",
            pattern: written.to_owned(),
            problem: "is not the name of a tool; write `desk.find`, `desk.*` for all of a namespace, or `*`"
                .into(),
        }),
    }
}

/// Parses the names of agents: `review`, `*`.
pub(super) fn agent_names(written: &[String]) -> Result<BTreeSet<String>, PermissionError> {
    match written
        .iter()
        .find(|name| name.is_empty() || name.contains('.'))
    {
        None => Ok(written.iter().cloned().collect()),
        Some(name) => Err(PermissionError {
            setting: "agents",
            pattern: name.clone(),
            problem: "is not the name of an agent; write its namespace, such as `review`, or `*`"
                .into(),
        }),
    }
}

impl HostPattern {
    /// Returns true if the pattern matches the host of this URL. Addresses of the local machine and network have to be
    /// listed as addresses: patterns of host names do not match them.
    pub(super) fn matches(&self, url: &Url) -> bool {
        match url.host() {
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                !self.of_addresses && self.host.is_match(name) && self.has_port_of(url)
            }
            Some(Host::Ipv4(address)) => self.matches_address(url, address.into()),
            Some(Host::Ipv6(address)) => self.matches_address(url, address.into()),
            None => false,
        }
    }

    /// Returns true if the pattern matches this address as the destination of a request to `url`.
    pub(super) fn matches_address(&self, url: &Url, address: IpAddr) -> bool {
        let written = match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        (self.of_addresses || !is_internal(address))
            && self.host.is_match(written)
            && self.has_port_of(url)
    }

    /// Returns true if the pattern is the name `localhost`, which always means the local machine.
    pub(super) fn is_localhost(&self) -> bool {
        self.host.glob().glob() == "localhost"
    }

    fn has_port_of(&self, url: &Url) -> bool {
        let port = url.port_or_known_default();
        self.scheme.is_none_or(|expected| expected == url.scheme())
            && match self.port {
                PortPattern::Any => true,
                PortPattern::One(expected) => port == Some(expected),
                PortPattern::Default => url.port().is_none() || matches!(port, Some(80 | 443)),
            }
    }
}

/// Returns true if an address belongs to the local machine or its private network and is not reachable from the
/// Internet.
pub(super) fn is_internal(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let shared = matches!(address.octets(), [100, 64..=127, ..]);
            address.octets()[0] == 0
                || address.is_loopback()
                || address.is_private()
                || address.is_link_local()
                || address.is_broadcast()
                || shared
        }
        // An IPv4 address in a NAT64 prefix reaches the IPv4 host.
        IpAddr::V6(address) if address.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] => {
            let [.., a, b, c, d] = address.octets();
            is_internal(IpAddr::from([a, b, c, d]))
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
        }
    }
}

/// Parses `api.example.com`, `*.example.com:8443`, `127.0.0.1:*`, `[::1]:80` or `https://api.example.com`.
pub(super) fn host_pattern(written: &str) -> Result<HostPattern, PermissionError> {
    let error = |problem: &str| PermissionError {
        setting: "net",
        pattern: written.to_owned(),
        problem: problem.into(),
    };
    let (scheme, place) = match written.split_once("://") {
        Some(("http", place)) => (Some("http"), place),
        Some(("https", place)) => (Some("https"), place),
        Some(_) | None => (None, written),
    };
    if place.contains('/') {
        return Err(error(
            "is a URL; write only the host and its port, such as `api.example.com:443`",
        ));
    }
    let behind_bracket = place.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match place[behind_bracket..].rfind(':') {
        Some(at) => (
            &place[..behind_bracket + at],
            Some(&place[behind_bracket + at + 1..]),
        ),
        None => (place, None),
    };
    if host.is_empty() {
        return Err(error("has no host"));
    }
    let port = match port {
        None if place == "*" => PortPattern::Any,
        None => PortPattern::Default,
        Some("*") => PortPattern::Any,
        Some(digits) => PortPattern::One(
            digits
                .parse()
                .map_err(|_| error("has a port that is not a number"))?,
        ),
    };
    let of_addresses = host.starts_with('[') || is_address_pattern(host);
    // The brackets of an IPv6 address are not a character class. Internationalized names are matched in their ASCII
    // form.
    let host = if host.starts_with('[') {
        globset::escape(host)
    } else {
        ascii_host(host).ok_or_else(|| error("is not a valid host name"))?
    };
    Ok(HostPattern {
        scheme,
        host: glob("net", &host.to_ascii_lowercase(), written)?,
        of_addresses,
        port,
    })
}

/// Returns true if the pattern can only mean IPv4 addresses: `10.*`, `192.168.{0,1}.7`.
fn is_address_pattern(host: &str) -> bool {
    host.contains(|one: char| one.is_ascii_digit())
        && host
            .chars()
            .all(|one| one.is_ascii_digit() || ".*?{}[],-!".contains(one))
}

/// Returns the ASCII form of a host name, as it is sent; an ASCII name, which may have wildcards, stays unchanged.
/// `None` if there is no such form.
fn ascii_host(host: &str) -> Option<String> {
    if host.is_ascii() {
        return Some(host.to_owned());
    }
    Url::parse(&format!("http://{host}/"))
        .ok()?
        .host_str()
        .map(str::to_owned)
}

/// A pattern of programs: by the word that is looked up in the search path, or by their files.
#[derive(Clone, Debug)]
pub(super) enum ProgramPattern {
    /// `**`.
    Any,
    Word(GlobMatcher),
    File {
        /// Matches the path by which a program is called, with its folder resolved.
        called: GlobMatcher,
        /// Matches the file that the path resolves to.
        file: GlobMatcher,
    },
}

impl ProgramPattern {
    /// Returns true if the pattern matches a program. A link matches if both its own path and its target match.
    pub(super) fn matches(&self, program: &ReachedProgram) -> bool {
        match (self, &program.file) {
            (Self::Any, _) => true,
            (Self::Word(word), None) => word.is_match(&program.written),
            (Self::File { called, file }, Some(reached)) => {
                called.is_match(&reached.called) && file.is_match(&reached.canonical)
            }
            (Self::Word(_), Some(_)) | (Self::File { .. }, None) => false,
        }
    }
}

/// Parses `git`, `bin/check` or `/opt/tools/*`.
pub(super) fn program_pattern(
    written: &str,
    root: &Path,
    resolver: &dyn PathResolver,
) -> Result<ProgramPattern, PermissionError> {
    if written == "**" {
        return Ok(ProgramPattern::Any);
    }
    if !written.contains('/') {
        return Ok(ProgramPattern::Word(glob("run", written, written)?));
    }
    let (base, rest) = literal_and_rest(written);
    let path = root.join(base);
    let compiled = |base: PathBuf| {
        let text = base.to_str().ok_or_else(|| PermissionError {
            setting: "run",
            pattern: written.to_owned(),
            problem: "resolves to a path that is not valid Unicode".into(),
        })?;
        let base = globset::escape(text);
        let whole = match &rest {
            Some(rest) => format!("{}/{rest}", base.trim_end_matches('/')),
            None => base,
        };
        glob("run", &whole, written)
    };
    let file = resolved(&path, resolver);
    // If there are wildcards, the path before them is a folder.
    let called = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if rest.is_none() => resolved(folder, resolver).join(name),
        _ => file.clone(),
    };
    Ok(ProgramPattern::File {
        called: compiled(called)?,
        file: compiled(file)?,
    })
}

/// Compiles a path pattern to globs over canonical paths. The part before the first wildcard is resolved; a pattern
/// without a wildcard also allows everything below the path.
pub(super) fn path_globs(
    setting: &'static str,
    written: &str,
    root: &Path,
    resolver: &dyn PathResolver,
) -> Result<Vec<GlobMatcher>, PermissionError> {
    let local = local_path(written).ok_or_else(|| PermissionError {
        setting,
        pattern: written.to_owned(),
        problem: "is not the address of a file on this machine; write a path, or `file:///…`"
            .into(),
    })?;
    let (literal, rest) = literal_and_rest(&local);
    let base = resolved(&root.join(literal), resolver);
    let base = globset::escape(base.to_str().ok_or_else(|| PermissionError {
        setting,
        pattern: written.to_owned(),
        problem: "resolves to a path that is not valid Unicode".into(),
    })?);
    let base = base.trim_end_matches('/');
    if let Some(rest) = rest {
        return Ok(vec![glob(setting, &format!("{base}/{rest}"), written)?]);
    }
    Ok(vec![
        glob(setting, if base.is_empty() { "/" } else { base }, written)?,
        glob(setting, &format!("{base}/**"), written)?,
    ])
}

/// Splits a path before the first component with a wildcard.
fn literal_and_rest(path: &str) -> (String, Option<String>) {
    let parts: Vec<&str> = path.split('/').collect();
    let plain = parts
        .iter()
        .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
        .count();
    let literal = if path.starts_with('/') && plain == 1 {
        "/".into()
    } else {
        parts[..plain].join("/")
    };
    let rest = (plain < parts.len()).then(|| parts[plain..].join("/"));
    (literal, rest)
}

/// Returns the canonical path of the nearest existing ancestor, joined with the remaining components.
fn resolved(path: &Path, resolver: &dyn PathResolver) -> PathBuf {
    let mut behind = Vec::new();
    let mut ancestor = path;
    loop {
        if let Ok(canonical) = resolver.canonical(ancestor) {
            return behind
                .iter()
                .rev()
                .fold(canonical, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (ancestor.parent(), ancestor.file_name()) else {
            return path.to_path_buf();
        };
        behind.push(name);
        ancestor = parent;
    }
}

fn glob(
    setting: &'static str,
    pattern: &str,
    written: &str,
) -> Result<GlobMatcher, PermissionError> {
    let problem = |why: String| PermissionError {
        setting,
        pattern: shortened(written, MAX_PATTERN),
        problem: format!("is not a valid pattern: {why}"),
    };
    // The folder of the project, which comes before a relative pattern, has no wildcards.
    if let Some(why) = too_large(written) {
        return Err(problem(why));
    }
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| problem(error.kind().to_string()))?;
    Ok(glob.compile_matcher())
}

/// Says why a pattern is too large to be compiled. The library checks only its syntax, and panics if the automaton
/// becomes too large or too deep.
#[must_use]
pub fn too_large(pattern: &str) -> Option<String> {
    if pattern.chars().nth(MAX_PATTERN).is_some() {
        return Some(format!("it has more than {MAX_PATTERN} characters"));
    }
    let braces = pattern.bytes().scan(0_usize, |depth, byte| {
        match byte {
            b'{' => *depth += 1,
            b'}' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        Some(*depth)
    });
    let is_too_deep = braces.max().is_some_and(|depth| depth > MAX_BRACES);
    is_too_deep.then(|| format!("its braces are nested more than {MAX_BRACES} deep"))
}
