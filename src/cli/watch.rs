//! `--watch`: runs a command again whenever a plan or a file that it depends on changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify::{Event, EventKind, RecursiveMode, Watcher as _};

use crate::cli::{Exit, Failure, Result, Terminal};

/// Editors write a file in several steps, so a change takes effect when no other follows for this duration.
const DEBOUNCE: Duration = Duration::from_millis(80);

/// Runs `once` now and again after each change, until standard output is closed, or until Ctrl-C, which ends the
/// process with exit code 130. Returns an error if the paths cannot be watched. A failure of `once` is printed, and the
/// next change runs it again.
pub(super) fn watch(
    paths: &[PathBuf],
    terminal: Terminal,
    once: impl Fn() -> Result<Exit>,
) -> Result<Exit> {
    let (sender, changes) = mpsc::channel();
    let failed =
        |error: notify::Error| Failure::Environment(format!("cannot watch for changes: {error}"));
    let notify_change = move |event: notify::Result<Event>| {
        if event.as_ref().is_ok_and(|event| !matches(event)) {
            return;
        }
        // The receiver is gone only while the process exits.
        let _ = sender.send(());
    };
    let mut watcher = notify::recommended_watcher(notify_change).map_err(failed)?;
    for path in paths {
        let folder = if path.is_dir() {
            path
        } else {
            path.parent().unwrap_or(Path::new(""))
        };
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let mode = if path.is_dir() {
            RecursiveMode::Recursive
        } else {
            RecursiveMode::NonRecursive
        };
        watcher.watch(folder, mode).map_err(failed)?;
    }
    loop {
        terminal.clear();
        if let Err(failure) = once() {
            terminal.error(&failure.to_string());
        }
        if terminal.is_closed() {
            return Ok(Exit::Fine);
        }
        terminal.note("waiting for changes; press Ctrl-C to stop");
        if changes.recv().is_err() {
            return Ok(Exit::Interrupted);
        }
        while changes.recv_timeout(DEBOUNCE).is_ok() {}
    }
}

/// Returns the error for standard input among the paths to watch.
pub(super) fn standard_input() -> Failure {
    Failure::Usage("standard input cannot be watched; name files or folders".to_owned())
}

/// Returns true if an event can change the result: it is about a plan, an app file, the project file or a folder, and
/// is more than a read access.
fn matches(event: &Event) -> bool {
    let extensions = ["plan", "plantest", "yaml", "yml", "json"];
    let is_relevant = |path: &PathBuf| {
        let own = path.components().any(|part| {
            [".planrun", ".git"]
                .iter()
                .any(|own| part.as_os_str() == *own)
        });
        let extension = path.extension();
        !own && extension.is_none_or(|extension| extensions.iter().any(|known| extension == *known))
    };
    !matches!(event.kind, EventKind::Access(_))
        && (event.paths.is_empty() || event.paths.iter().any(is_relevant))
}
