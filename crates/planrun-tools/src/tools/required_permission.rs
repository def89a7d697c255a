//! Determines the permission that a call needs, from its tool and arguments, before it is made.

use std::path::{Path, PathBuf};

use planrun_lang::call::CallError;
use planrun_lang::permission::{Permissions, ReachedProgram, reached_file};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Signature, Validation};
use planrun_lang::value::Value;
use reqwest::Url;

use super::BUILT_IN;
use crate::host::Host;

/// The owner of a tool that is not built in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The project configures it; it is called at the addresses in the project's own files.
    Project,
    /// Only the plan declares it, so it cannot be called; a test double answers.
    Plan,
    /// No one.
    Unknown,
}

/// The permission that a call needs.
#[derive(Clone, Debug, PartialEq)]
pub enum RequiredPermission {
    /// None: `allow` has no setting for such calls.
    Nothing,
    Net(Url),
    Read(FilePath),
    Write(FilePath),
    Run(ReachedProgram),
    /// The arguments do not determine what is accessed. Contains the tool's dotted name.
    Unclear(String),
    /// It is unknown what the tool accesses, so no permission is sufficient. Contains the tool's dotted name.
    Denied(String),
}

/// A file that a call accesses.
#[derive(Clone, Debug, PartialEq)]
pub struct FilePath {
    canonical: PathBuf,
    /// The path as the call names it.
    written: String,
}

/// The resources that a tool accesses, independent of its arguments.
#[derive(Clone, Copy)]
enum Reach {
    Nothing,
    Url,
    ReadFile,
    WriteFile,
    Program,
    Unknown,
}

impl Reach {
    fn of(signature: &Signature, origin: Origin) -> Self {
        if signature.kind.word().is_some() {
            // Each tool call of an agent is checked separately.
            return Self::Nothing;
        }
        match (&*signature.namespace, &*signature.name) {
            ("sys", "echo" | "fail" | "nothing" | "now" | "sleep" | "uuid") => Self::Nothing,
            ("http", "fetch") => Self::Url,
            ("fs", "read" | "list") => Self::ReadFile,
            ("fs", "write") => Self::WriteFile,
            ("proc", "run") => Self::Program,
            (namespace, _) if BUILT_IN.contains(&namespace) => Self::Unknown,
            _ => match origin {
                Origin::Project | Origin::Plan => Self::Nothing,
                Origin::Unknown => Self::Unknown,
            },
        }
    }
}

impl RequiredPermission {
    /// Returns the permission that a call with these arguments needs. Relative paths start from `root`.
    pub fn of(
        signature: &Signature,
        origin: Origin,
        arguments: &Value,
        (host, root): (&dyn Host, &Path),
    ) -> Self {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let file = |writes: bool| {
            let written = text("path")?;
            let canonical = reached_file(host, root, written, writes)?;
            Some(FilePath {
                canonical,
                written: written.to_owned(),
            })
        };
        let known = match Reach::of(signature, origin) {
            Reach::Nothing => Some(Self::Nothing),
            Reach::Url => text("url")
                .and_then(|url| Url::parse(url).ok())
                .map(Self::Net),
            Reach::ReadFile => file(false).map(Self::Read),
            Reach::WriteFile => file(true).map(Self::Write),
            Reach::Program => {
                let argv = arguments
                    .get("argv")
                    .and_then(Value::as_list)
                    .unwrap_or_default();
                let program = argv.first().and_then(Value::as_str);
                program.map(|program| Self::Run(ReachedProgram::of(host, root, program)))
            }
            Reach::Unknown => Some(Self::Denied(signature.path())),
        };
        known.unwrap_or_else(|| Self::Unclear(signature.path()))
    }

    /// Returns the setting of `allow` for this permission, and the entry for this call; `None` if no setting covers it.
    pub fn setting(&self) -> Option<(&'static str, String)> {
        match self {
            Self::Net(url) => Some(("net", super::http::display_url(url))),
            Self::Read(file) => Some(("read", file.written.clone())),
            Self::Write(file) => Some(("write", file.written.clone())),
            Self::Run(program) => Some(("run", program.written().to_owned())),
            Self::Nothing | Self::Unclear(_) | Self::Denied(_) => None,
        }
    }

    /// Checks that the permission is granted. Fails with the error that the call fails with.
    pub fn check(&self, permissions: &Permissions) -> Result<(), CallError> {
        match self {
            Self::Nothing => Ok(()),
            Self::Net(url) => Ok(permissions.net(url)?),
            Self::Read(file) => Ok(permissions.read(&file.canonical, &file.written)?),
            Self::Write(file) => Ok(permissions.write(&file.canonical, &file.written)?),
            Self::Run(program) => Ok(permissions.run(program)?),
            Self::Unclear(tool) => Err(refused(
                ErrorClass::Validation(Validation::Arguments),
                format!("the arguments of {tool} do not specify what it accesses"),
            )),
            Self::Denied(tool) => Err(refused(
                ErrorClass::Denied(Denied::Policy),
                format!("calling {tool} is not allowed: it is unknown what it accesses"),
            )),
        }
    }
}

fn refused(class: ErrorClass, message: String) -> CallError {
    CallError::new(class, message, Sent::No)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::MemoryHost;
    use planrun_lang::permission::Grant;

    /// Checks a call when all file and program permissions are granted.
    fn outcome(tool: &str, origin: Origin, arguments: &[(&str, &str)]) -> Result<(), String> {
        let host = MemoryHost::new(1).with_file("/project/a.txt", "");
        let (namespace, name) = tool.split_once('.').unwrap();
        let signature = Signature::unknown(namespace.into(), name.into());
        let all = || vec!["**".to_owned()];
        let grant = Grant {
            read: all(),
            write: all(),
            run: all(),
            ..Grant::default()
        };
        let permissions = Permissions::new(&grant, Path::new("/project"), &host).unwrap();
        let arguments = Value::object(
            arguments
                .iter()
                .map(|(name, value)| (*name, Value::from(*value))),
        );
        let place: (&dyn Host, &Path) = (&host, Path::new("/project"));
        RequiredPermission::of(&signature, origin, &arguments, place)
            .check(&permissions)
            .map_err(|error| error.class.to_string())
    }

    #[test]
    fn every_built_in_tool_is_judged_by_its_name() {
        let path = [("path", "a.txt")];
        assert_eq!(outcome("fs.read", Origin::Project, &path), Ok(()));
        assert_eq!(outcome("fs.write", Origin::Project, &path), Ok(()));
        assert_eq!(outcome("sys.now", Origin::Project, &[]), Ok(()));
        let url = [("url", "https://example.com/")];
        assert_eq!(
            outcome("http.fetch", Origin::Project, &url),
            Err("denied.policy".into())
        );
        // These tools do not exist: whatever they would access, it is not covered by a rule for another tool.
        for tool in ["fs.delete", "http.serve", "proc.kill", "sys.reboot"] {
            for origin in [Origin::Project, Origin::Plan, Origin::Unknown] {
                assert_eq!(
                    outcome(tool, origin, &path),
                    Err("denied.policy".into()),
                    "{tool}"
                );
            }
        }
    }

    #[test]
    fn a_namespace_that_nobody_vouches_for_is_denied() {
        assert_eq!(outcome("hr.create", Origin::Project, &[]), Ok(()));
        assert_eq!(outcome("hr.create", Origin::Plan, &[]), Ok(()));
        assert_eq!(
            outcome("hr.create", Origin::Unknown, &[]),
            Err("denied.policy".into())
        );
    }

    #[test]
    fn arguments_that_name_nothing_are_refused() {
        for (tool, arguments) in [
            ("fs.read", [("file", "a.txt")]),
            ("fs.write", [("path", "https://example.com/x")]),
            ("http.fetch", [("url", "no address")]),
            ("proc.run", [("argv", "ls")]),
        ] {
            let refused = outcome(tool, Origin::Project, &arguments);
            assert_eq!(refused, Err("validation.arguments".into()), "{tool}");
        }
    }

    #[test]
    fn every_built_in_tool_has_a_judgement() {
        let catalog = crate::tools::Catalog::new(
            std::sync::Arc::new(MemoryHost::new(1)),
            "/".into(),
            &std::sync::Arc::default(),
        );
        for signature in catalog.signatures() {
            let reach = Reach::of(signature, Origin::Unknown);
            assert!(!matches!(reach, Reach::Unknown), "{}", signature.path());
        }
    }
}
