//! Tools for files in addition to those of `fs`: finding, searching, editing, creating folders and outlines, within
//! the permissions of the project.

mod edit;
mod find;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::permission::reached_file;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::declared_tools;
use planrun_lang::source::SourceFile;
use planrun_lang::types::{ErrorClass, Signature};
use planrun_tools::host::FileKind;
use planrun_tools::project::AGENT_FILES;
use planrun_tools::tools::{
    BoxFuture, Conversation, Described, FileAccess, Request, Tool, Transport, described,
};
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

pub const NAMESPACE: &str = AGENT_FILES;
/// Maximum number of files and folders that one call visits.
const MAX_VISITED: usize = 50_000;

/// The contracts, in the syntax of plans.
const CONTRACTS: &str = r"
/// The paths that match a glob such as `src/**/*.rs`, sorted; at most 1000.
tool files.glob(pattern: string) -> { paths: string[], more: bool } read fails failed
/// Lines that match a regular expression, in a file or in all below a folder; at most 200.
tool files.grep(pattern: string, path: string, glob?: string) -> { matches: { path: string, line: int, text: string }[], more: bool } read fails failed
/// The tree below a folder, four levels deep.
tool files.outline(path: string) -> string read fails failed
/// Replaces parts of a file. Each `search` must occur in it exactly once, verbatim; all are replaced, or none.
tool files.edit(path: string, edits: { search: string, replace: string }[]) -> { edits: int, bytes: int } effect fails failed
/// Makes a folder, and those above it.
tool files.mkdir(path: string) -> { path: string } idempotent fails failed
";

pub fn file_tools(files: &Arc<FileAccess>) -> Vec<Tool> {
    let (declared, _) = declared_tools(&SourceFile::new("files", CONTRACTS));
    let tool = |signature: Arc<Signature>| Tool {
        transport: Arc::new(FileTool {
            signature: signature.clone(),
            files: files.clone(),
        }),
        signature,
    };
    declared.into_iter().map(tool).collect()
}

struct FileTool {
    signature: Arc<Signature>,
    files: Arc<FileAccess>,
}

impl Transport for FileTool {
    fn call(&self, request: Request) -> Conversation {
        if let Err(error) = request.require_no_handle() {
            return Conversation::Now(Err(error));
        }
        let files = self.files.clone();
        Conversation::from_future(async move {
            let work = tokio::task::spawn_blocking(move || perform(&files, &request));
            work.await.unwrap_or_else(|_| {
                Err(CallError::new(
                    ErrorClass::Internal,
                    "the call failed unexpectedly",
                    Sent::Maybe,
                ))
            })
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

fn perform(files: &FileAccess, request: &Request) -> CallOutcome {
    let search = Search {
        files,
        cancel: &request.cancel,
    };
    let value = match &*request.signature.name {
        "glob" => find::glob(&search, arguments(request)?)?,
        "grep" => find::grep(&search, &arguments(request)?)?,
        "outline" => find::outline(&search, arguments(request)?)?,
        "edit" => edit::edit(files, arguments(request)?)?,
        "mkdir" => make_folder(files, arguments(request)?)?,
        other => return Err(failed(format!("there is no tool files.{other}"))),
    };
    Ok(Answer::Json(value))
}

fn arguments<A: DeserializeOwned>(request: &Request) -> Result<A, CallError> {
    serde_json::from_value(request.arguments.to_json()).map_err(|error| failed(error.to_string()))
}

#[derive(serde::Deserialize)]
struct MakeFolder {
    path: String,
}

fn make_folder(files: &FileAccess, MakeFolder { path }: MakeFolder) -> Result<Json, CallError> {
    // The parent folders may be missing as well, so the path is resolved as far as it exists.
    let place = reached_file(&*files.host, &files.root, &path, false);
    let place = place.ok_or_else(|| failed(format!("{path} is not a folder on this machine")))?;
    files.permissions.write(&place, &path)?;
    let made = files.host.make_folder(&place);
    made.map_err(|error| failed(format!("{path}: {error}")))?;
    Ok(json!({ "path": path }))
}

/// Returns the error of a call that has changed nothing.
fn failed(message: impl Into<String>) -> CallError {
    CallError::new(
        ErrorClass::Tool("failed".into()),
        message.into(),
        Sent::Refused,
    )
}

/// Returns a path relative to the root of the project, or unchanged if it is elsewhere.
fn display_path(files: &FileAccess, path: &Path) -> String {
    let root = files.host.canonical(&files.root);
    let root = root.as_deref().unwrap_or(&files.root);
    let path = path.strip_prefix(root).unwrap_or(path);
    path.display().to_string()
}

/// The files that a call searches.
struct Search<'a> {
    files: &'a FileAccess,
    /// Cancelled when nobody waits for the result any more.
    cancel: &'a CancellationToken,
}

/// Visits the files below a path that may be read, and all folders, in order, until `visit` returns false,
/// [`MAX_VISITED`] entries were visited or the call is cancelled. Links are followed: a file behind one must be readable
/// itself, and no folder is entered twice.
fn walk(
    Search { files, cancel }: &Search<'_>,
    from: PathBuf,
    visit: &mut dyn FnMut(&Path, FileKind, usize) -> bool,
) {
    let mut seen = BTreeSet::new();
    let mut open = vec![(from, 0_usize)];
    let mut left = MAX_VISITED;
    while let Some((path, depth)) = open.pop() {
        if left == 0 || cancel.is_cancelled() {
            return;
        }
        left -= 1;
        let Ok(place) = files.host.canonical(&path) else {
            continue;
        };
        let Ok(kind) = files.host.kind(&place) else {
            continue;
        };
        let may_read = files.permissions.read(&place, "").is_ok();
        if kind == FileKind::File && !may_read {
            continue;
        }
        if !visit(&path, kind, depth) {
            return;
        }
        if kind == FileKind::Folder && seen.insert(place.clone()) {
            let inner = files.host.list_folder(&path).unwrap_or_default();
            open.extend(inner.into_iter().rev().map(|path| (path, depth + 1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use planrun_lang::permission::Permissions;
    use planrun_tools::host::MemoryHost;

    use super::*;

    #[test]
    fn a_search_stops_when_its_call_is_cancelled() {
        let host = MemoryHost::default()
            .with_file("/p/a/x", "")
            .with_file("/p/b/y", "");
        let files = FileAccess {
            host: Arc::new(host),
            permissions: Arc::new(Permissions::none()),
            root: "/p".into(),
        };
        let visited = |stops: bool| {
            let cancel = CancellationToken::new();
            let search = Search {
                files: &files,
                cancel: &cancel,
            };
            let mut visited = 0;
            walk(&search, "/p".into(), &mut |_, _, _| {
                visited += 1;
                if stops {
                    cancel.cancel();
                }
                true
            });
            visited
        };
        assert_eq!((visited(false), visited(true)), (3, 1));
    }
}
