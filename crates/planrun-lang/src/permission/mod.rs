//! What calls may reach: the one place that says yes or no. What nobody allows is denied.
//!
//! Only data and judgement: where links lead is asked of a [`PathResolver`], and nothing is opened.

mod paths;
mod pattern;

use std::collections::BTreeSet;
use std::path::Path;

use globset::GlobMatcher;
use url::Url;

pub use paths::{PathResolver, local_path, reached_file};
use pattern::{HostPattern, host_pattern, path_globs, word_glob};

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

/// Why something may not be reached, in one sentence that names what to allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denial {
    pub message: String,
}

#[derive(Clone, Debug)]
struct Compiled {
    net: Vec<HostPattern>,
    read: Vec<GlobMatcher>,
    write: Vec<GlobMatcher>,
    run: Vec<GlobMatcher>,
    env: BTreeSet<String>,
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
    pub fn new(
        grant: &Grant,
        root: &Path,
        resolver: &dyn PathResolver,
    ) -> Result<Self, PermissionError> {
        let paths = |setting, patterns: &[String]| {
            let globs = patterns
                .iter()
                .map(|pattern| path_globs(setting, pattern, root, resolver));
            Ok(globs
                .collect::<Result<Vec<_>, _>>()?
                .into_iter()
                .flatten()
                .collect())
        };
        let words = |setting, patterns: &[String]| {
            patterns
                .iter()
                .map(|pattern| word_glob(setting, pattern))
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
    pub fn net(&self, url: &Url) -> Result<(), Denial> {
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
    pub fn read(&self, path: &Path, written: &str) -> Result<(), Denial> {
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
    pub fn write(&self, path: &Path, written: &str) -> Result<(), Denial> {
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
    pub fn run(&self, program: &str) -> Result<(), Denial> {
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
    pub fn env(&self, name: &str) -> Result<(), Denial> {
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

fn denied(setting: &str, pattern: &str, what: &str) -> Denial {
    let message = if pattern.is_empty() {
        what.to_owned()
    } else {
        let quoted = serde_json::Value::from(pattern);
        format!("{what}; to allow it write `allow {{ {setting}: [{quoted}] }}` in the plan")
    };
    Denial { message }
}

/// Denies what planrun itself keeps: no plan reads or changes what was written of its runs, whatever is allowed.
fn outside_own_folder(path: &Path, written: &str) -> Result<(), Denial> {
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::{Component, PathBuf};

    use super::*;

    /// Two files and their folders, without links.
    struct TwoFiles;

    impl PathResolver for TwoFiles {
        fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
            let mut plain = PathBuf::new();
            for part in path.components() {
                if part == Component::ParentDir {
                    plain.pop();
                } else {
                    plain.push(part);
                }
            }
            let files = ["/project/data/a.txt", "/project/b[1]/x"];
            let exists = files.iter().any(|file| Path::new(file).starts_with(&plain));
            exists
                .then_some(plain)
                .ok_or_else(|| io::ErrorKind::NotFound.into())
        }
    }

    fn permissions(grant: &Grant) -> Permissions {
        Permissions::new(grant, Path::new("/project"), &TwoFiles).unwrap()
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
            Permissions::new(&grant, Path::new("/"), &TwoFiles)
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
