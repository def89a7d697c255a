//! The namespace `fs`: reads, lists and replaces files within the permissions.

use planrun_lang::builtins::refused_argument;
use planrun_lang::permission::{Denial, Permissions, local_path, reached_file};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use planrun_lang::protocol::Sent;
use planrun_lang::types::{Effect, Field, Parameter, Rest, Signature, Type};
use planrun_lang::value::Value;

use super::{BoxFuture, Conversation, Described, Request, Transport, described};
use crate::host::{Held, Host};
use crate::tools::{failed, invalid_arguments};
use planrun_lang::call::{Answer, CallError, CallOutcome};

/// Maximum size of a file that is read, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;
/// Maximum number of entries of a folder that is listed.
pub(super) const MAX_ENTRIES: usize = 100_000;

/// One tool of the namespace.
pub struct FileTool {
    kind: Kind,
    signature: Arc<Signature>,
    access: Arc<FileAccess>,
}

/// File access within permissions, shared by the tools of the namespace.
pub struct FileAccess {
    pub host: Arc<dyn Host>,
    pub permissions: Arc<Permissions>,
    /// The folder that relative paths start from.
    pub root: PathBuf,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    List,
    Write,
}

/// Returns the tools of the namespace with their contracts.
pub fn file_tools(access: &Arc<FileAccess>) -> Vec<(Arc<Signature>, Arc<dyn Transport>)> {
    let tool = |kind, signature: Signature| -> (Arc<Signature>, Arc<dyn Transport>) {
        let signature = Arc::new(signature);
        let tool = FileTool {
            kind,
            signature: signature.clone(),
            access: access.clone(),
        };
        (signature, Arc::new(tool))
    };
    let bytes = Field {
        name: "bytes".into(),
        ty: Type::Int,
        required: true,
    };
    vec![
        tool(
            Kind::Read,
            signature(
                "read",
                "The UTF-8 text of a file.",
                Effect::Read,
                &["path"],
                Type::String,
            ),
        ),
        tool(
            Kind::List,
            signature(
                "list",
                "The names in a folder, sorted.",
                Effect::Read,
                &["path"],
                Type::String.list(),
            ),
        ),
        tool(
            Kind::Write,
            signature(
                "write",
                "Replaces a file as a whole, or creates it.",
                Effect::Idempotent,
                &["path", "content"],
                Type::object(vec![bytes], Rest::Closed),
            ),
        ),
    ]
}

impl Transport for FileTool {
    fn call(&self, request: Request) -> Conversation {
        if let Err(error) = request.require_no_handle() {
            return Conversation::Now(Err(error));
        }
        let (kind, access) = (self.kind, self.access.clone());
        Conversation::from_future(async move {
            let work = tokio::task::spawn_blocking(move || access.perform(kind, &request));
            work.await
                .unwrap_or_else(|_| Err(failed("the file access failed unexpectedly", Sent::Maybe)))
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

impl FileAccess {
    fn perform(&self, kind: Kind, request: &Request) -> CallOutcome {
        let text = |name: &str| {
            request
                .arguments
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let written = text("path");
        if let Some(message) = refused_argument(("fs", ""), "path", &Value::from(written)) {
            return Err(invalid_arguments(&message));
        }
        let value = match kind {
            Kind::Read => self.read(written).map(Value::from),
            Kind::List => self.list(written),
            Kind::Write => self.write(written, text("content")),
        };
        value.map(Answer::Value)
    }

    /// Reads the text of a file. Fails with a denial, or the reason why the file cannot be read.
    pub fn read(&self, written: &str) -> Result<String, CallError> {
        let path = self.existing(written)?;
        let held = self.held(&path, written)?;
        let text = self.host.read_bounded(held.path(), MAX_FILE_BYTES);
        text.map_err(|problem| access_error(written, &problem))
    }

    fn list(&self, written: &str) -> Result<Value, CallError> {
        let path = self.existing(written)?;
        let held = self.held(&path, written)?;
        let entries = self
            .host
            .list_folder(held.path())
            .map_err(|problem| access_error(written, &problem))?;
        if entries.len() > MAX_ENTRIES {
            return Err(failed(
                format!("{written} has more than {MAX_ENTRIES} entries"),
                Sent::Answered,
            ));
        }
        // Names that are not Unicode cannot be passed to `fs.read`, so they are left out.
        let names = entries
            .iter()
            .filter_map(|entry| entry.file_name()?.to_str());
        Ok(Value::list(names.map(Value::from)))
    }

    fn write(&self, written: &str, content: &str) -> Result<Value, CallError> {
        let path = self.writable(written)?;
        let folder = written
            .rsplit_once('/')
            .map_or(written, |(folder, _)| folder);
        let held = path.parent().map(|parent| self.held(parent, folder));
        let held = held.transpose()?;
        // The file is replaced in the folder that was checked; if a link has its name now, the link is replaced.
        let place = held
            .as_ref()
            .zip(path.file_name())
            .map_or_else(|| path.clone(), |(folder, name)| folder.path().join(name));
        self.host
            .write_file(&place, content.as_bytes())
            .map_err(|problem| access_error(written, &problem))?;
        Ok(Value::object([(
            "bytes",
            Value::Int(i64::try_from(content.len()).unwrap_or(i64::MAX)),
        )]))
    }

    /// Holds what is at a canonical path that was checked. Fails with a denial if a link has taken its place.
    fn held(&self, path: &Path, written: &str) -> Result<Held, CallError> {
        let held = self.host.hold(path);
        let held = held.map_err(|problem| access_error(written, &problem))?;
        let replaced = || Denial {
            message: format!("a link has taken the place of {written} while it was accessed"),
            by: Vec::new(),
        };
        Ok(held.ok_or_else(replaced)?)
    }

    /// Returns the canonical path of a file that may be read. A path is denied whether it exists or not, so that
    /// denials do not reveal which files exist. Fails with a denial, or that the file does not exist.
    pub fn existing(&self, written: &str) -> Result<PathBuf, CallError> {
        let local = local_path(written).ok_or_else(|| elsewhere(written))?;
        let path = self.root.join(&*local);
        match self.host.canonical(&path) {
            Ok(path) => {
                let check = |path: &Path| self.permissions.read(path, written);
                check(&path).map_err(|denial| self.of_link(denial, &local, &path, &check))?;
                Ok(path)
            }
            Err(problem) => {
                let expected = reached_file(&*self.host, &self.root, written, false);
                self.permissions.read(&expected.unwrap_or(path), written)?;
                Err(access_error(written, &problem))
            }
        }
    }

    /// Returns the canonical path of a file that may be written: its own, or one below the canonical path of its folder
    /// if it does not exist yet. Fails with a denial.
    pub fn writable(&self, written: &str) -> Result<PathBuf, CallError> {
        let local = local_path(written).ok_or_else(|| elsewhere(written))?;
        if local.ends_with('/') || local.ends_with("/.") {
            return Err(invalid_arguments(format!("{written} names a folder")));
        }
        let path = reached_file(&*self.host, &self.root, written, true);
        let path = path
            .ok_or_else(|| invalid_arguments(format!("{written} is not a file on this machine")))?;
        let check = |path: &Path| self.permissions.write(path, written);
        check(&path).map_err(|denial| self.of_link(denial, &local, &path, &check))?;
        Ok(path)
    }

    /// Adds the target of a link to its denial, because whoever permits the link permits the target. It is added only
    /// if the path is permitted but for the link, so that denials do not reveal where other links lead.
    fn of_link(
        &self,
        denial: Denial,
        local: &str,
        target: &Path,
        check: &dyn Fn(&Path) -> Result<(), Denial>,
    ) -> Denial {
        let root = self.host.canonical(&self.root);
        let own = root.as_ref().unwrap_or(&self.root).join(local);
        let goes_up = own.components().any(|part| part == Component::ParentDir);
        if goes_up || own == target || check(&own).is_err() {
            return denial;
        }
        Denial {
            message: format!(
                "{}; it leads through a link to {}",
                denial.message,
                target.display()
            ),
            by: denial.by,
        }
    }
}

/// Describes why a file cannot be accessed.
fn access_error(written: &str, problem: &io::Error) -> CallError {
    let message = match problem.kind() {
        io::ErrorKind::NotFound => format!("{written} does not exist"),
        io::ErrorKind::IsADirectory => format!("{written} is a folder"),
        io::ErrorKind::NotADirectory => format!("{written} is not a folder"),
        io::ErrorKind::InvalidData => format!("{written} is not UTF-8 text"),
        io::ErrorKind::FileTooLarge => format!("{written} is larger than {MAX_FILE_BYTES} bytes"),
        _ => format!("{written}: {problem}"),
    };
    failed(&message, Sent::Answered)
}

fn elsewhere(written: &str) -> CallError {
    invalid_arguments(format!(
        "{written} is not the address of a file on this machine; write a path, or `file:///…`"
    ))
}

fn signature(
    name: &str,
    description: &str,
    effect: Effect,
    parameters: &[&str],
    returns: Type,
) -> Signature {
    let parameter = |name: &&str| Parameter {
        name: (*name).into(),
        ty: Type::String,
        required: true,
        description: None,
        schema: None,
        default: None,
    };
    Signature {
        description: Some(description.into()),
        parameters: parameters.iter().map(parameter).collect(),
        returns,
        effect,
        effect_declared: true,
        raises: vec!["failed".into()],
        // Two paths may name the same file, and writing a file changes its folder, so all files are one state: there is
        // no `resource`.
        ..Signature::unknown("fs".into(), name.into())
    }
}
