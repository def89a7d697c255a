//! The patterns of a grant: hosts with ports, words, and paths.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use url::Url;

use super::{PathResolver, PermissionError, local_path};

#[derive(Clone, Debug)]
pub(super) struct HostPattern {
    /// Any of the web's where it has none.
    scheme: Option<&'static str>,
    host: GlobMatcher,
    port: PortPattern,
}

#[derive(Clone, Copy, Debug)]
enum PortPattern {
    Any,
    One(u16),
    /// The scheme's own port: 80 for http, 443 for https.
    Default,
}

impl HostPattern {
    /// Whether it stands for this host; `usual` where the address names no port.
    pub(super) fn matches(&self, scheme: &str, host: &str, port: u16, usual: bool) -> bool {
        if self.scheme.is_some_and(|wanted| wanted != scheme) {
            return false;
        }
        let port = match self.port {
            PortPattern::Any => true,
            PortPattern::One(wanted) => wanted == port,
            PortPattern::Default => usual || port == 80 || port == 443,
        };
        port && self
            .host
            .is_match(host.trim_end_matches('.').to_ascii_lowercase())
    }
}

/// `api.example.com`, `*.example.com:8443`, `127.0.0.1:*`, `[::1]:80`, `https://api.example.com`
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
            "is an address; write only the host and its port, such as `api.example.com:443`",
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
        return Err(error("names no host"));
    }
    let port = match port {
        None if place == "*" => PortPattern::Any,
        None => PortPattern::Default,
        Some("*") => PortPattern::Any,
        Some(digits) => PortPattern::One(
            digits
                .parse()
                .map_err(|_| error("has a port that is no number"))?,
        ),
    };
    // Brackets of an IPv6 address are no class of characters, and Chinese names are matched as they are sent.
    let host = if host.starts_with('[') {
        globset::escape(host)
    } else {
        ascii_host(host).ok_or_else(|| error("is no name of a host"))?
    };
    Ok(HostPattern {
        scheme,
        host: glob("net", &host.to_ascii_lowercase(), written)?,
        port,
    })
}

/// The form in which a name goes over the wire. Names with wild cards stay as they are.
fn ascii_host(host: &str) -> Option<String> {
    if host.is_ascii() {
        return Some(host.to_owned());
    }
    Url::parse(&format!("http://{host}/"))
        .ok()?
        .host_str()
        .map(str::to_owned)
}

/// A word with wild cards.
pub(super) fn word_glob(
    setting: &'static str,
    pattern: &str,
) -> Result<GlobMatcher, PermissionError> {
    glob(setting, pattern, pattern)
}

/// A pattern as globs over canonical paths. What stands before the first wild card is resolved; a pattern without one
/// also allows everything below it.
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
    let parts: Vec<&str> = local.split('/').collect();
    let plain = parts
        .iter()
        .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
        .count();
    let literal = if local.starts_with('/') && plain == 1 {
        "/".into()
    } else {
        parts[..plain].join("/")
    };
    let base = resolved(&root.join(literal), resolver);
    let base = globset::escape(base.to_str().ok_or_else(|| PermissionError {
        setting,
        pattern: written.to_owned(),
        problem: "stands for a path that is not Unicode".into(),
    })?);
    let base = base.trim_end_matches('/');
    if plain < parts.len() {
        return Ok(vec![glob(
            setting,
            &format!("{base}/{}", parts[plain..].join("/")),
            written,
        )?]);
    }
    Ok(vec![
        glob(setting, if base.is_empty() { "/" } else { base }, written)?,
        glob(setting, &format!("{base}/**"), written)?,
    ])
}

/// The canonical path of the nearest ancestor that exists, with the rest behind it.
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
    let problem = |error: globset::Error| PermissionError {
        setting,
        pattern: written.to_owned(),
        problem: format!("is no pattern: {}", error.kind()),
    };
    let glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(problem)?;
    Ok(glob.compile_matcher())
}
