//! What calls may reach: the one place that says yes or no. What nobody allows is denied.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use reqwest::Url;

use super::{CallError, local_path};
use crate::host::Host;
use crate::protocol::Sent;
use crate::types::{Denied, ErrorClass};

/// The folder of a project in which planrun keeps what is its own.
pub const OWN_FOLDER: &str = ".planrun";

/// What an `allow` lists, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grant {
    /// Hosts with ports: `127.0.0.1:*`, `*.example.com:8443`, `api.example.com` for the ports 80 and 443. With a scheme
    /// before it, such as `https://api.example.com`, only by that.
    pub net: Vec<String>,
    /// Globs of files, and folders with all that is in them. Relative ones begin at the project's root; `file:///…` is an
    /// absolute one.
    pub read: Vec<String>,
    pub write: Vec<String>,
    /// Programs, by the word that calls them.
    pub run: Vec<String>,
    /// Environment variables that programs get to see, by their names.
    pub env: Vec<String>,
}

/// What may be reached: what every one of its grants allows, and nothing where there is none.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    grants: Vec<Compiled>,
}

/// A grant that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("allow.{setting}: `{pattern}` {problem}")]
pub struct PermissionError {
    /// `net`, `read`, `write`, `run` or `env`.
    pub setting: &'static str,
    pub pattern: String,
    pub problem: String,
}

#[derive(Clone, Debug)]
struct Compiled {
    net: Vec<HostPattern>,
    read: Vec<GlobMatcher>,
    write: Vec<GlobMatcher>,
    run: Vec<GlobMatcher>,
    env: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct HostPattern {
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

impl Permissions {
    /// Nothing at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// What this grant allows. Relative paths begin at `root`.
    ///
    /// # Errors
    /// The first pattern that cannot be understood.
    pub fn new(grant: &Grant, root: &Path, host: &dyn Host) -> Result<Self, PermissionError> {
        let paths = |setting, patterns: &[String]| {
            let globs = patterns
                .iter()
                .map(|pattern| path_globs(setting, pattern, root, host));
            Ok(globs
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten()
                .collect())
        };
        let words = |setting, patterns: &[String]| {
            patterns
                .iter()
                .map(|pattern| glob(setting, pattern, pattern))
                .collect::<Result<Vec<_>, _>>()
        };
        let compiled = Compiled {
            net: grant
                .net
                .iter()
                .map(|pattern| host_pattern(pattern))
                .collect::<Result<_, _>>()?,
            read: paths("read", &grant.read)?,
            write: paths("write", &grant.write)?,
            run: words("run", &grant.run)?,
            env: grant.env.iter().cloned().collect(),
        };
        Ok(Self {
            grants: vec![compiled],
        })
    }

    /// What both allow: a plan within its project, a sub-plan within its caller.
    #[must_use]
    pub fn within(&self, outer: &Self) -> Self {
        if self.grants.is_empty() || outer.grants.is_empty() {
            return Self::none();
        }
        Self {
            grants: self.grants.iter().chain(&outer.grants).cloned().collect(),
        }
    }

    /// Whether a request may go to this address.
    ///
    /// # Errors
    /// A denial that names what to allow.
    pub fn net(&self, url: &Url) -> Result<(), CallError> {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(denied(
                "net",
                "",
                &format!("the address {url} names no host"),
            ));
        };
        let usual = url.port().is_none();
        if self.all(|grant| {
            grant
                .net
                .iter()
                .any(|pattern| pattern.matches(url.scheme(), host, port, usual))
        }) {
            return Ok(());
        }
        Err(denied(
            "net",
            &format!("{host}:{port}"),
            &format!("requests to {host}:{port} are not allowed"),
        ))
    }

    /// Whether this file may be read. The path must be canonical, so that no link leads out of what is allowed.
    ///
    /// # Errors
    /// A denial that names what to allow, as the plan has `written` it: a plan names no machine.
    pub fn read(&self, path: &Path, written: &str) -> Result<(), CallError> {
        outside_own_folder(path, written)?;
        let allowed = self.all(|grant| matches_path(&grant.read, path));
        if allowed {
            Ok(())
        } else {
            Err(denied(
                "read",
                written,
                &format!("reading {written} is not allowed"),
            ))
        }
    }

    /// Whether this file may be written. The path must be canonical, so that no link leads out of what is allowed.
    ///
    /// # Errors
    /// A denial that names what to allow, as the plan has `written` it: a plan names no machine.
    pub fn write(&self, path: &Path, written: &str) -> Result<(), CallError> {
        outside_own_folder(path, written)?;
        let allowed = self.all(|grant| matches_path(&grant.write, path));
        if allowed {
            Ok(())
        } else {
            Err(denied(
                "write",
                written,
                &format!("writing {written} is not allowed"),
            ))
        }
    }

    /// Whether this program may be run, by the word that calls it.
    ///
    /// # Errors
    /// A denial that names what to allow.
    pub fn run(&self, program: &str) -> Result<(), CallError> {
        let allowed = self.all(|grant| grant.run.iter().any(|pattern| pattern.is_match(program)));
        if allowed {
            Ok(())
        } else {
            Err(denied(
                "run",
                program,
                &format!("running {program} is not allowed"),
            ))
        }
    }

    /// Whether programs may see this environment variable.
    ///
    /// # Errors
    /// A denial that names what to allow.
    pub fn env(&self, name: &str) -> Result<(), CallError> {
        let allowed = self.all(|grant| grant.env.contains(name));
        if allowed {
            Ok(())
        } else {
            Err(denied(
                "env",
                name,
                &format!("setting the variable {name} is not allowed"),
            ))
        }
    }

    /// The environment variables that programs may see.
    pub fn env_names(&self) -> impl Iterator<Item = &str> {
        let first = self.grants.first().into_iter().flat_map(|grant| &grant.env);
        first
            .map(String::as_str)
            .filter(|name| self.env(name).is_ok())
    }

    fn all(&self, allows: impl Fn(&Compiled) -> bool) -> bool {
        !self.grants.is_empty() && self.grants.iter().all(allows)
    }
}

impl HostPattern {
    fn matches(&self, scheme: &str, host: &str, port: u16, usual: bool) -> bool {
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

fn denied(setting: &str, pattern: &str, what: &str) -> CallError {
    let message = if pattern.is_empty() {
        what.to_owned()
    } else {
        let quoted = serde_json::Value::from(pattern);
        format!("{what}; to allow it write `allow {{ {setting}: [{quoted}] }}` in the plan")
    };
    CallError {
        class: ErrorClass::Denied(Denied::Policy),
        message,
        sent: Sent::No,
        retry_after: None,
    }
}

/// Denies what planrun itself keeps: no plan reads or changes what was written of its runs, whatever is allowed.
fn outside_own_folder(path: &Path, written: &str) -> Result<(), CallError> {
    if path.components().all(|part| part.as_os_str() != OWN_FOLDER) {
        return Ok(());
    }
    Err(denied(
        "",
        "",
        &format!("{written} is in `{OWN_FOLDER}`, which is planrun's own: no plan reaches it"),
    ))
}

fn matches_path(globs: &[GlobMatcher], path: &Path) -> bool {
    globs.iter().any(|glob| glob.is_match(path))
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

/// `api.example.com`, `*.example.com:8443`, `127.0.0.1:*`, `[::1]:80`, `https://api.example.com`
fn host_pattern(written: &str) -> Result<HostPattern, PermissionError> {
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

/// A pattern as globs over canonical paths. What stands before the first wild card is resolved; a pattern without one
/// also allows everything below it.
fn path_globs(
    setting: &'static str,
    written: &str,
    root: &Path,
    host: &dyn Host,
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
    let base = resolved(&root.join(literal), host);
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
fn resolved(path: &Path, host: &dyn Host) -> PathBuf {
    let mut behind = Vec::new();
    let mut ancestor = path;
    loop {
        if let Ok(canonical) = host.canonical(ancestor) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::MemoryHost;

    fn permissions(grant: &Grant) -> Permissions {
        let host = MemoryHost::new(1)
            .with_file("/project/data/a.txt", "")
            .with_file("/project/b[1]/x", "");
        Permissions::new(grant, Path::new("/project"), &host).unwrap()
    }

    fn list(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(ToString::to_string).collect()
    }

    fn reaches(patterns: &[&str], url: &str) -> bool {
        permissions(&Grant {
            net: list(patterns),
            ..Grant::default()
        })
        .net(&Url::parse(url).unwrap())
        .is_ok()
    }

    #[test]
    fn nothing_is_allowed_that_nobody_allows() {
        assert!(Permissions::none().run("git").is_err());
        let error = permissions(&Grant::default())
            .net(&Url::parse("https://example.com/x").unwrap())
            .unwrap_err();
        assert_eq!(error.class.to_string(), "denied.policy");
        assert_eq!(
            error.message,
            "requests to example.com:443 are not allowed; to allow it write `allow { net: [\"example.com:443\"] }` in the plan"
        );
    }

    #[test]
    fn what_planrun_keeps_is_reached_by_no_plan() {
        let all = permissions(&Grant {
            read: list(&["**"]),
            write: list(&["**"]),
            ..Grant::default()
        });
        assert!(
            all.read(Path::new("/project/data/a.txt"), "data/a.txt")
                .is_ok()
        );
        for path in ["/project/.planrun", "/project/.planrun/journal.db"] {
            let error = all.write(Path::new(path), ".planrun").unwrap_err();
            assert_eq!(
                error.message,
                ".planrun is in `.planrun`, which is planrun's own: no plan reaches it"
            );
            assert!(all.read(Path::new(path), ".planrun").is_err());
        }
    }

    #[test]
    fn hosts_and_ports() {
        assert!(reaches(&["127.0.0.1:*"], "http://127.0.0.1:8009/tool"));
        assert!(!reaches(&["127.0.0.1:*"], "http://127.0.0.2:8009/tool"));
        assert!(reaches(&["api.example.com"], "https://API.example.com./x"));
        assert!(!reaches(
            &["api.example.com"],
            "https://api.example.com:8443/x"
        ));
        assert!(reaches(
            &["*.example.com:8443"],
            "https://a.b.example.com:8443"
        ));
        assert!(!reaches(
            &["*.example.com:8443"],
            "https://example.com.evil.org:8443"
        ));
        assert!(reaches(&["[::1]:80"], "http://[::1]/"));
        assert!(reaches(&["例子.测试"], "http://例子.测试/"));
        assert!(reaches(&["*"], "http://example.com:1/"));
        assert!(reaches(&["https://example.com"], "https://example.com/x"));
        assert!(!reaches(&["https://example.com"], "http://example.com/x"));
        assert!(!reaches(
            &["https://example.com"],
            "https://example.com:8443/x"
        ));
        assert!(reaches(&["http://[::1]:8080"], "http://[::1]:8080/x"));
        assert!(!reaches(
            &["127.0.0.1:*"],
            "http://127.0.0.1:80@evil.example/"
        ));
    }

    #[test]
    fn patterns_that_cannot_be_meant_are_told() {
        let broken = |grant: Grant| {
            Permissions::new(&grant, Path::new("/"), &MemoryHost::new(1))
                .unwrap_err()
                .to_string()
        };
        let net = |pattern: &str| {
            broken(Grant {
                net: list(&[pattern]),
                ..Grant::default()
            })
        };
        assert_eq!(
            net("a.b:x"),
            "allow.net: `a.b:x` has a port that is no number"
        );
        assert!(net("https://a.b/x").contains("write only the host"));
        assert!(net("ftp://a.b").contains("write only the host"));
        assert!(
            broken(Grant {
                read: list(&["a/{b"]),
                ..Grant::default()
            })
            .starts_with("allow.read: `a/{b` is no pattern")
        );
    }

    #[test]
    fn folders_and_globs() {
        let reads = |patterns: &[&str], path: &str| {
            permissions(&Grant {
                read: list(patterns),
                ..Grant::default()
            })
            .read(Path::new(path), path)
            .is_ok()
        };
        assert!(reads(&["data"], "/project/data/deep/a.txt"));
        assert!(reads(&["data/*.txt"], "/project/data/a.txt"));
        assert!(!reads(&["data/*.txt"], "/project/data/deep/a.txt"));
        assert!(reads(&["data/**"], "/project/data/deep/a.txt"));
        assert!(!reads(&["data"], "/project/database"));
        assert!(reads(&["b\\[1\\]/**", "b[1]"], "/project/b[1]/x"));
        assert!(reads(&["/**"], "/etc/passwd"));
        assert!(reads(&["."], "/project/x"));
        assert!(!reads(&["."], "/other/x"));
        assert!(!reads(&["data/../data"], "/project/other"));
    }

    #[test]
    fn both_must_allow() {
        let wide = permissions(&Grant {
            run: list(&["git", "ls"]),
            ..Grant::default()
        });
        let narrow = permissions(&Grant {
            run: list(&["ls", "rm"]),
            ..Grant::default()
        });
        let both = narrow.within(&wide);
        assert!(both.run("ls").is_ok());
        assert!(both.run("git").is_err() && both.run("rm").is_err());
        assert!(wide.within(&Permissions::none()).run("git").is_err());
    }
}
