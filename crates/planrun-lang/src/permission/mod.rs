//! Decides what calls may reach. Nothing is allowed unless it is granted.
//!
//! This module only evaluates data: links are resolved by a [`PathResolver`], and no file is opened.

mod paths;
mod pattern;
mod remedy;

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use globset::GlobMatcher;
use url::Url;

pub use paths::{PathResolver, ReachedProgram, local_path, reached_file};
pub use pattern::too_large;
use pattern::{
    HostPattern, ProgramPattern, ToolPattern, agent_names, host_pattern, is_internal, path_globs,
    program_pattern, tool_pattern,
};
pub use remedy::{Giver, entry, quoted, remedy};

/// The folder of a project in which planrun keeps its own data.
pub const OWN_FOLDER: &str = ".planrun";

/// The files that say what plans may do, in whatever folder. A plan that wrote one could give itself permissions.
const POWERS: [&str; 2] = ["planrun.yaml", "planrun.lock"];
/// The folder whose files instruct agents.
const AGENTS_FOLDER: &str = ".agents";

/// The namespace whose tools access nothing outside the run.
const HARMLESS: &str = "sys";

/// The lists of an `allow` setting, as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grant {
    /// Hosts with ports: `127.0.0.1:*`, `*.example.com:8443`; `api.example.com` means the ports 80 and 443. With a
    /// scheme, such as `https://api.example.com`, only requests with that scheme are allowed. Addresses of the local
    /// machine and network are allowed only if listed as addresses, such as `10.*`, or as `localhost`.
    pub net: Vec<String>,
    /// Globs of files, and folders including their contents. Relative paths start at the project's root; absolute paths
    /// may be written as `file:///…`.
    pub read: Vec<String>,
    pub write: Vec<String>,
    /// Programs: the words that call them, or globs of their files if they contain a `/`. Relative paths start at the
    /// project's root.
    pub run: Vec<String>,
    /// Names of the environment variables that are passed on to programs.
    pub env: Vec<String>,
    /// Tools that may be called by the plan and everything it starts, as `desk.find` or `desk.*`. `None` allows every
    /// tool.
    pub tools: Option<Vec<String>>,
    /// Namespaces of the agents that may be called; `*` means all. `None` allows every agent.
    pub agents: Option<Vec<String>>,
}

impl Grant {
    /// Returns true if the list of tools allows this tool; an invalid pattern matches nothing.
    #[must_use]
    pub fn may_call(&self, namespace: &str, name: &str) -> bool {
        let matches = |pattern: &String| {
            tool_pattern(pattern).is_ok_and(|pattern| pattern.matches(namespace, name))
        };
        let tools = self.tools.as_ref();
        tools.is_none_or(|tools| tools.iter().any(matches))
    }

    /// Returns true if the list of agents allows this agent.
    #[must_use]
    pub fn may_ask(&self, agent: &str) -> bool {
        let matches = |name: &String| name == agent || name == "*";
        let agents = self.agents.as_ref();
        agents.is_none_or(|agents| agents.iter().any(matches))
    }
}

/// A grant that restricts the plans of a model in addition to the project's `allow`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Confinement {
    #[serde(flatten)]
    pub grant: Grant,
    /// The agent type whose settings it contains; `None` if it is that of the agent that has started the one whose
    /// plans it restricts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
}

impl From<Grant> for Confinement {
    fn from(grant: Grant) -> Self {
        Self {
            grant,
            agent_type: None,
        }
    }
}

/// The permissions of a plan: what all of its grants allow. Without any grant, nothing is allowed.
#[derive(Clone, Debug, Default)]
pub struct Permissions {
    grants: Vec<Compiled>,
    /// The lists of tools of those grants that have one.
    tools: Vec<(Giver, Vec<ToolPattern>)>,
    /// The lists of agents of those grants that have one.
    agents: Vec<(Giver, BTreeSet<String>)>,
    /// What the project's settings name, which is never written.
    protected: Vec<GlobMatcher>,
}

/// An invalid pattern in a grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("allow.{setting}: `{pattern}` {problem}")]
pub struct PermissionError {
    /// `net`, `read`, `write`, `run`, `env`, `tools` or `agents`.
    pub setting: &'static str,
    pub pattern: String,
    pub problem: String,
}

/// The reason why something is not allowed, in one sentence that names the setting that would allow it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denial {
    pub message: String,
    /// Whose grants do not allow it; empty if no grant could.
    pub by: Vec<Giver>,
}

#[derive(Clone, Debug)]
struct Compiled {
    giver: Giver,
    net: Vec<HostPattern>,
    read: Vec<GlobMatcher>,
    write: Vec<GlobMatcher>,
    run: Vec<ProgramPattern>,
    env: BTreeSet<String>,
}

impl Permissions {
    /// Allows nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Compiles a grant. Relative paths start at `root`.
    ///
    /// # Errors
    /// If a pattern is invalid; the first one is reported.
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
        let compiled = Compiled {
            giver: Giver::Plan,
            net: grant
                .net
                .iter()
                .map(|pattern| host_pattern(pattern))
                .collect::<Result<_, _>>()?,
            read: paths("read", &grant.read)?,
            write: paths("write", &grant.write)?,
            run: grant
                .run
                .iter()
                .map(|pattern| program_pattern(pattern, root, resolver))
                .collect::<Result<_, _>>()?,
            env: grant.env.iter().cloned().collect(),
        };
        let patterns = |list: &Vec<String>| {
            let patterns = list.iter().map(|pattern| tool_pattern(pattern));
            patterns.collect::<Result<_, _>>()
        };
        let tools = grant.tools.as_ref().map(patterns).transpose()?;
        let agents = grant.agents.as_deref().map(agent_names).transpose()?;
        Ok(Self {
            grants: vec![compiled],
            tools: tools.map(|list| (Giver::Plan, list)).into_iter().collect(),
            agents: agents.map(|list| (Giver::Plan, list)).into_iter().collect(),
            protected: Vec::new(),
        })
    }

    /// Returns the same permissions without writing the files that these patterns match, whatever is granted. A pattern
    /// that is invalid matches nothing.
    #[must_use]
    pub fn protecting(
        mut self,
        patterns: &[String],
        root: &Path,
        resolver: &dyn PathResolver,
    ) -> Self {
        let globs = patterns
            .iter()
            .filter_map(|pattern| path_globs("write", pattern, root, resolver).ok());
        self.protected.extend(globs.flatten());
        self
    }

    /// Returns the same permissions as those that somebody else than a plan gives.
    #[must_use]
    pub fn given_by(mut self, giver: &Giver) -> Self {
        let grants = self.grants.iter_mut().map(|grant| &mut grant.giver);
        let tools = self.tools.iter_mut().map(|(tools_by, _)| tools_by);
        let agents = self.agents.iter_mut().map(|(agents_by, _)| agents_by);
        for known in grants.chain(tools).chain(agents) {
            *known = giver.clone();
        }
        self
    }

    /// Returns the intersection: a plan is limited by its project, a sub-plan by its caller.
    #[must_use]
    pub fn within(&self, outer: &Self) -> Self {
        let has_both = !self.grants.is_empty() && !outer.grants.is_empty();
        let grants = self.grants.iter().chain(&outer.grants);
        Self {
            grants: grants.filter(|_| has_both).cloned().collect(),
            tools: self.tools.iter().chain(&outer.tools).cloned().collect(),
            agents: self.agents.iter().chain(&outer.agents).cloned().collect(),
            protected: self
                .protected
                .iter()
                .chain(&outer.protected)
                .cloned()
                .collect(),
        }
    }

    /// Checks whether a request to this URL is allowed.
    ///
    /// # Errors
    /// If it is not. The denial names the setting that would allow it.
    pub fn net(&self, url: &Url) -> Result<(), Denial> {
        let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
            return Err(Denial {
                message: format!("the URL {url} has no host"),
                by: Vec::new(),
            });
        };
        self.require(
            |grant| grant.net.iter().any(|pattern| pattern.matches(url)),
            ("net", &format!("{host}:{port}")),
            &format!("requests to {host}:{port} are not allowed"),
        )
    }

    /// Checks whether a request to `url` may connect to this address, to which its host has resolved. [`Self::net`] has
    /// already allowed the name; addresses of the local machine and network have to be listed in addition.
    ///
    /// # Errors
    /// If it may not. The denial names the setting that would allow it.
    pub fn resolved(&self, url: &Url, address: IpAddr) -> Result<(), Denial> {
        let name = url.host_str().unwrap_or_default();
        let here = address.is_loopback() && name.trim_end_matches('.') == "localhost";
        let names = |pattern: &HostPattern| {
            (here && pattern.is_localhost() && pattern.matches(url))
                || pattern.matches_address(url, address)
        };
        if !is_internal(address) {
            return Ok(());
        }
        let place = SocketAddr::new(address, url.port_or_known_default().unwrap_or_default());
        self.require(
            |grant| grant.net.iter().any(names),
            ("net", &place.to_string()),
            &format!(
                "{name} resolves to {address}, an address of this machine or its network, which must be listed explicitly"
            ),
        )
    }

    /// Checks whether this file may be read. The path must be canonical, so that links cannot lead out of the allowed
    /// folders.
    ///
    /// # Errors
    /// If it may not. The denial shows the path as `written` in the plan, because the canonical one depends on the
    /// machine.
    pub fn read(&self, path: &Path, written: &str) -> Result<(), Denial> {
        unless_forbidden(self.forbidden(path, false), written)?;
        self.require(
            |grant| matches_path(&grant.read, path),
            ("read", written),
            &format!("reading {written} is not allowed"),
        )
    }

    /// Checks whether this file may be written. The path must be canonical, so that links cannot lead out of the
    /// allowed folders.
    ///
    /// # Errors
    /// If it may not. The denial shows the path as `written` in the plan, because the canonical one depends on the
    /// machine.
    pub fn write(&self, path: &Path, written: &str) -> Result<(), Denial> {
        unless_forbidden(self.forbidden(path, true), written)?;
        self.require(
            |grant| matches_path(&grant.write, path),
            ("write", written),
            &format!("writing {written} is not allowed"),
        )
    }

    /// Returns why no plan may access the file at a canonical path, whatever is allowed: the records of runs are neither
    /// read nor changed, and what gives permissions is not changed. `None` if permissions decide.
    #[must_use]
    pub fn forbidden(&self, path: &Path, writes: bool) -> Option<&'static str> {
        if is_in(path, OWN_FOLDER) {
            return Some(OWN_DATA);
        }
        let gives_power = gives_power(path) || matches_path(&self.protected, path);
        (writes && gives_power).then_some(GIVES_POWER)
    }

    /// Checks whether this program may be run.
    ///
    /// # Errors
    /// If it may not. The denial names the setting that would allow it.
    pub fn run(&self, program: &ReachedProgram) -> Result<(), Denial> {
        let written = program.written();
        self.require(
            |grant| grant.run.iter().any(|pattern| pattern.matches(program)),
            ("run", written),
            &format!("running {written} is not allowed"),
        )
    }

    /// Checks whether programs may see this environment variable.
    ///
    /// # Errors
    /// If they may not. The denial names the setting that would allow it.
    pub fn env(&self, name: &str) -> Result<(), Denial> {
        self.require(
            |grant| grant.env.contains(name),
            ("env", name),
            &format!("setting the variable {name} is not allowed"),
        )
    }

    /// Returns true if nothing is allowed by `net`, `read`, `write` or `run`: the list of some grant is empty.
    #[must_use]
    pub fn allows_none(&self, setting: &str) -> bool {
        self.grants.iter().any(|grant| match setting {
            "net" => grant.net.is_empty(),
            "read" => grant.read.is_empty(),
            "write" => grant.write.is_empty(),
            "run" => grant.run.is_empty(),
            _ => false,
        })
    }

    /// Checks whether a tool may be called. Tools of `sys` access nothing outside the run and are always allowed.
    ///
    /// # Errors
    /// If it may not. The denial names the setting that would allow it.
    pub fn tool(&self, namespace: &str, name: &str) -> Result<(), Denial> {
        let may = |list: &Vec<ToolPattern>| list.iter().any(|one| one.matches(namespace, name));
        let path = format!("{namespace}.{name}");
        let what = format!("calling {path} is not allowed");
        let lists = self.tools.iter().filter(|_| namespace != HARMLESS);
        must_list(lists, may, ("tools", &path), &what)
    }

    /// Checks whether any tool of this namespace may be called.
    ///
    /// # Errors
    /// If none may. The denial names the setting that would allow it.
    pub fn any_tool_of(&self, namespace: &str) -> Result<(), Denial> {
        let may = |list: &Vec<ToolPattern>| list.iter().any(|one| one.is_of(namespace));
        let path = format!("{namespace}.*");
        let what = format!("calling tools of {namespace} is not allowed");
        must_list(&self.tools, may, ("tools", &path), &what)
    }

    /// Checks whether an agent may be called.
    ///
    /// # Errors
    /// If it may not. The denial names the setting that would allow it.
    pub fn agent(&self, namespace: &str) -> Result<(), Denial> {
        let may = |names: &BTreeSet<String>| names.contains(namespace) || names.contains("*");
        let what = format!("calling the agent {namespace} is not allowed");
        must_list(&self.agents, may, ("agents", namespace), &what)
    }

    /// Returns true if calls of tools or agents are restricted.
    #[must_use]
    pub fn narrows_calls(&self) -> bool {
        self.lists_tools() || self.lists_agents()
    }

    /// Returns true if a list restricts which tools may be called.
    #[must_use]
    pub fn lists_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// Returns true if a list restricts which agents may be called.
    #[must_use]
    pub fn lists_agents(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Returns the names of the environment variables that programs may see.
    pub fn env_names(&self) -> impl Iterator<Item = &str> {
        let first = self.grants.first().into_iter().flat_map(|grant| &grant.env);
        first
            .map(String::as_str)
            .filter(|name| self.env(name).is_ok())
    }

    /// Checks that all grants allow something. The denial says what to add to the lists `setting` of those that do not, so
    /// that they cover what is `written`.
    fn require(
        &self,
        allows: impl Fn(&Compiled) -> bool,
        (setting, written): (&str, &str),
        what: &str,
    ) -> Result<(), Denial> {
        if self.grants.is_empty() {
            return Err(denied(what, (setting, written), vec![Giver::Plan]));
        }
        let lacking = self.grants.iter().filter(|grant| !allows(grant));
        let by = lacking.map(|grant| grant.giver.clone()).collect();
        unless_none(what, (setting, written), by)
    }
}

/// Checks that all lists contain something. The denial says what to add to those that do not.
fn must_list<'a, L: 'a>(
    lists: impl IntoIterator<Item = &'a (Giver, L)>,
    contains: impl Fn(&L) -> bool,
    (setting, written): (&str, &str),
    what: &str,
) -> Result<(), Denial> {
    let lacking = lists.into_iter().filter(|(_, list)| !contains(list));
    let by = lacking.map(|(giver, _)| giver.clone()).collect();
    unless_none(what, (setting, written), by)
}

/// Denies something because of those who do not allow it, if there are any.
fn unless_none(what: &str, (setting, written): (&str, &str), by: Vec<Giver>) -> Result<(), Denial> {
    if by.is_empty() {
        return Ok(());
    }
    Err(denied(what, (setting, written), by))
}

fn denied(what: &str, (setting, written): (&str, &str), by: Vec<Giver>) -> Denial {
    let by = Giver::to_ask(by);
    let remedy = remedy(setting, written, &by);
    Denial {
        message: format!("{what}; {remedy}"),
        by,
    }
}

const OWN_DATA: &str = "is in `.planrun`, planrun's own folder, which no plan may access";
const GIVES_POWER: &str = "says what plans and agents may do, so no plan may write it";

/// Returns true if a file is one of those that say what plans and agents may do, whatever the project.
fn gives_power(path: &Path) -> bool {
    let is_power = |name: &OsStr| POWERS.iter().any(|power| name.eq_ignore_ascii_case(power));
    is_in(path, AGENTS_FOLDER) || path.file_name().is_some_and(is_power)
}

/// Returns true if a path leads through a folder of this name, on some file systems in whatever case.
fn is_in(path: &Path, folder: &str) -> bool {
    path.components()
        .any(|part| part.as_os_str().eq_ignore_ascii_case(folder))
}

fn unless_forbidden(why: Option<&str>, written: &str) -> Result<(), Denial> {
    why.map_or(Ok(()), |why| {
        Err(Denial {
            message: format!("{written} {why}"),
            by: Vec::new(),
        })
    })
}

fn matches_path(globs: &[GlobMatcher], path: &Path) -> bool {
    globs.iter().any(|glob| glob.is_match(path))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::{Component, PathBuf};

    use super::*;

    /// A few files with their folders, and one link.
    struct FewFiles;

    impl PathResolver for FewFiles {
        fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
            let mut plain = PathBuf::new();
            for part in path.components() {
                if part == Component::ParentDir {
                    plain.pop();
                } else {
                    plain.push(part);
                }
            }
            if plain == Path::new("/project/bin/link") {
                return Ok("/bin/sh".into());
            }
            let files = [
                "/project/data/a.txt",
                "/project/b[1]/x",
                "/project/bin/tool",
                "/bin/sh",
            ];
            let exists = files.iter().any(|file| Path::new(file).starts_with(&plain));
            exists
                .then_some(plain)
                .ok_or_else(|| io::ErrorKind::NotFound.into())
        }
    }

    #[test]
    fn a_list_of_tools_narrows_what_may_be_called_and_no_list_does_not() {
        let of = |tools: Option<&[&str]>| {
            permissions(&Grant {
                tools: tools.map(list),
                ..Grant::default()
            })
        };
        let open = of(None);
        assert!(open.tool("desk", "find").is_ok() && !open.lists_tools());
        let narrow = of(Some(&["desk.*", "shop.order"]));
        for (namespace, name, may) in [
            ("desk", "find", true),
            ("desk", "a.b", true),
            ("shop", "order", true),
            ("shop", "refund", false),
            ("sys", "now", true),
            ("fs", "read", false),
        ] {
            assert_eq!(
                narrow.tool(namespace, name).is_ok(),
                may,
                "{namespace}.{name}"
            );
        }
        let message = narrow.tool("shop", "refund").unwrap_err().message;
        assert!(
            message.contains("`allow { tools: [\"shop.refund\"] }`"),
            "{message}"
        );
        // A caller's list also applies to a plan without a list, and to one that allows nothing else.
        assert!(of(None).within(&narrow).tool("shop", "refund").is_err());
        assert!(
            Permissions::none()
                .within(&narrow)
                .tool("shop", "refund")
                .is_err()
        );
        assert!(
            of(Some(&["*"]))
                .within(&narrow)
                .tool("shop", "order")
                .is_ok()
        );
        assert!(of(Some(&[])).tool("desk", "find").is_err());
        for wrong in ["desk", "desk.", ".find", ""] {
            let grant = Grant {
                tools: Some(list(&[wrong])),
                ..Grant::default()
            };
            let error = Permissions::new(&grant, Path::new("/"), &FewFiles).unwrap_err();
            assert_eq!(error.setting, "tools", "{wrong}");
        }
    }

    #[test]
    fn a_list_of_agents_narrows_which_agents_may_be_called_and_nothing_else() {
        let of = |agents: Option<&[&str]>| {
            let agents = agents.map(list);
            Grant {
                agents,
                ..Grant::default()
            }
        };
        let of = |agents| permissions(&of(agents));
        let narrow = of(Some(&["review"]));
        assert!(narrow.lists_agents() && !narrow.lists_tools() && !of(None).lists_agents());
        assert!(narrow.agent("review").is_ok());
        assert!(narrow.tool("painter", "send").is_ok());
        assert_eq!(
            narrow.agent("painter").unwrap_err().message,
            "calling the agent painter is not allowed; to allow it, write `allow { agents: [\"painter\"] }` in the plan"
        );
        assert!(of(None).agent("painter").is_ok());
        assert!(of(Some(&["*"])).within(&narrow).agent("painter").is_err());
        assert!(of(Some(&["*"])).within(&of(None)).agent("painter").is_ok());
        assert!(of(Some(&[])).agent("review").is_err());
        for wrong in ["", "review.*", "review.send"] {
            let agents = Some(list(&[wrong]));
            let grant = Grant {
                agents,
                ..Grant::default()
            };
            let error = Permissions::new(&grant, Path::new("/"), &FewFiles).unwrap_err();
            assert_eq!(error.setting, "agents", "{wrong}");
        }
    }

    fn permissions(grant: &Grant) -> Permissions {
        Permissions::new(grant, Path::new("/project"), &FewFiles).unwrap()
    }

    fn program(written: &str) -> ReachedProgram {
        ReachedProgram::of(&FewFiles, Path::new("/project"), written)
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
        assert!(Permissions::none().run(&program("git")).is_err());
        let error = permissions(&Grant::default())
            .net(&Url::parse("https://example.com/x").unwrap())
            .unwrap_err();
        assert_eq!(
            error.message,
            "requests to example.com:443 are not allowed; to allow it, write `allow { net: [\"example.com:443\"] }` in the plan"
        );
    }

    #[test]
    fn a_denial_names_those_who_would_have_to_allow_it() {
        let of = |read: &[&str], tools: &[&str]| {
            let (read, tools) = (list(read), Some(list(tools)));
            permissions(&Grant {
                read,
                tools,
                ..Grant::default()
            })
        };
        let plan = of(&["data"], &["*"]);
        let project = of(&["data", "b[1]"], &["*"]).given_by(&Giver::Project);
        let starter = of(&["data/deep"], &["fs.*"]).given_by(&Giver::Starter);
        let typed = of(&["data", "b[1]"], &["desk.*"]);
        let typed = typed.given_by(&Giver::AgentType("helper".to_owned()));
        let all = plan.within(&typed.within(&starter.within(&project)));
        let reading = |path: &str| {
            let denial = all.read(&Path::new("/project").join(path), path);
            denial.unwrap_err().message
        };
        assert_eq!(
            reading("data/a.txt"),
            "reading data/a.txt is not allowed; to allow it, the agent that started this one has to pass \"data/a.txt\" in `allowed_uris` when it starts it"
        );
        assert_eq!(
            reading("other"),
            "reading other is not allowed; to allow it, write `allow { read: [\"other\"] }` in the plan, and add \"other\" to `read` of `allow` in planrun.yaml"
        );
        assert_eq!(
            all.tool("fs", "read").unwrap_err().message,
            "calling fs.read is not allowed; to allow it, add \"fs.read\" to `tools` of the agent type `helper`"
        );
        let both = all.tool("shop", "order").unwrap_err().by;
        assert_eq!(
            both,
            [Giver::Starter, Giver::AgentType("helper".to_owned())]
        );
        assert_eq!(
            project.tool("shop", "order"),
            Ok(()),
            "a list that contains everything refuses nothing"
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
                ".planrun is in `.planrun`, planrun's own folder, which no plan may access"
            );
            assert!(all.read(Path::new(path), ".planrun").is_err());
        }
    }

    #[test]
    fn what_gives_permissions_is_written_by_no_plan() {
        let all = permissions(&Grant {
            read: list(&["**"]),
            write: list(&["/**"]),
            ..Grant::default()
        });
        let named = list(&["data/tools", "data/*.app.yaml"]);
        let limit = all
            .clone()
            .protecting(&named, Path::new("/project"), &FewFiles);
        let all = all.within(&limit);
        for path in [
            "planrun.yaml",
            "sub/Planrun.yaml",
            "planrun.lock",
            ".agents/rules/a.md",
            "data/tools/x",
            "data/b.app.yaml",
        ] {
            let place = Path::new("/project").join(path);
            let error = all.write(&place, path).unwrap_err();
            let why = "says what plans and agents may do, so no plan may write it";
            assert_eq!(error.message, format!("{path} {why}"));
            assert!(all.read(&place, path).is_ok());
        }
        assert!(all.write(Path::new("/project/data/a.yaml"), "").is_ok());
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
            Permissions::new(&grant, Path::new("/"), &FewFiles)
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
            "allow.net: `a.b:x` has a port that is not a number"
        );
        assert!(net("https://a.b/x").contains("write only the host"));
        assert!(net("ftp://a.b").contains("write only the host"));
        assert!(
            broken(Grant {
                read: list(&["a/{b"]),
                ..Grant::default()
            })
            .starts_with("allow.read: `a/{b` is not a valid pattern")
        );
    }

    #[test]
    fn patterns_that_are_too_large_to_compile_are_refused() {
        let deep = format!("{}a{}", "{".repeat(250), "}".repeat(250));
        let read = |pattern: &str| Grant {
            read: list(&[pattern]),
            ..Grant::default()
        };
        let run = |pattern: &str| Grant {
            run: list(&[pattern]),
            ..Grant::default()
        };
        let net = |pattern: &str| Grant {
            net: list(&[pattern]),
            ..Grant::default()
        };
        for of in [read as fn(&str) -> Grant, run, net] {
            for pattern in [&deep, &"?".repeat(200_000)] {
                let error = Permissions::new(&of(pattern), Path::new("/p"), &FewFiles).unwrap_err();
                let message = error.to_string();
                assert!(message.contains("is not a valid pattern: it"), "{message}");
                assert!(message.len() < 4096);
            }
        }
        let fine = format!("{}a,b{}", "{".repeat(16), "}".repeat(16));
        assert!(Permissions::new(&read(&fine), Path::new("/p"), &FewFiles).is_ok());
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
        assert!(both.run(&program("ls")).is_ok());
        assert!(both.run(&program("git")).is_err() && both.run(&program("rm")).is_err());
        let nothing = wide.within(&Permissions::none());
        assert!(nothing.run(&program("git")).is_err());
    }

    #[test]
    fn programs_are_resolved_before_they_are_matched() {
        let runs = |pattern: &str, written: &str| {
            let grant = Grant {
                run: list(&[pattern]),
                ..Grant::default()
            };
            permissions(&grant).run(&program(written)).is_ok()
        };
        assert!(runs("bin/**", "bin/tool") && runs("bin/*", "./bin/tool"));
        assert!(!runs("bin/**", "bin/../../bin/sh") && !runs("bin/**", "/bin/sh"));
        // A link stands for its target but is called by its own name.
        assert!(!runs("bin/**", "bin/link") && runs("bin/link", "bin/link"));
        assert!(!runs("bin/link", "/bin/sh") && !runs("/bin/sh", "bin/link"));
        assert!(runs("/bin/sh", "/bin/sh") && runs("/bin/sh", "bin/../../bin/sh"));
        // A word is looked up in the search path and does not name a file.
        assert!(runs("g*", "git") && !runs("g*", "./git") && !runs("sh", "/bin/sh"));
        assert!(runs("**", "git") && runs("**", "/bin/sh"));
    }

    #[test]
    fn addresses_of_this_machine_and_its_network_need_naming() {
        assert!(!reaches(&["192.168.*"], "http://192.168.evil.com/"));
        assert!(reaches(&["192.168.*"], "http://192.168.1.7/"));
        assert!(reaches(&["*"], "http://8.8.8.8/"));
        for internal in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://10.1.2.3/",
            "http://169.254.169.254/",
            "http://100.64.0.1/",
            "http://0.0.0.0/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[64:ff9b::a00:1]/",
            "http://[fd00::1]/",
            "http://[fe80::1]/",
        ] {
            assert!(!reaches(&["*", "*:*"], internal), "{internal}");
        }
    }

    #[test]
    fn names_are_held_to_the_addresses_that_they_resolve_to() {
        let connects = |patterns: &[&str], url: &str, address: &str| {
            let net = list(patterns);
            let grant = Grant {
                net,
                ..Grant::default()
            };
            let permitted =
                permissions(&grant).resolved(&Url::parse(url).unwrap(), address.parse().unwrap());
            permitted.map_err(|denial| denial.message)
        };
        let url = "http://a.example:8080/";
        assert_eq!(connects(&["a.example:*"], url, "93.184.216.34"), Ok(()));
        assert_eq!(
            connects(&["a.example:*", "*"], url, "10.0.0.1").unwrap_err(),
            "a.example resolves to 10.0.0.1, an address of this machine or its network, which must be listed explicitly; to allow it, write `allow { net: [\"10.0.0.1:8080\"] }` in the plan"
        );
        assert_eq!(connects(&["10.*:8080"], url, "10.0.0.1"), Ok(()));
        assert!(connects(&["10.*:80"], url, "10.0.0.1").is_err());
        assert!(connects(&["[::1]:8080"], url, "::1").is_ok());
        let local = "http://localhost/";
        assert!(connects(&["localhost"], local, "127.0.0.1").is_ok());
        assert!(connects(&["local*"], local, "127.0.0.1").is_err());
        assert!(connects(&["localhost"], local, "10.0.0.1").is_err());
        assert!(connects(&["localhost"], "http://a.example/", "127.0.0.1").is_err());
    }
}
