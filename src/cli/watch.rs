//! `--watch`: does it again whenever a plan or what surrounds it changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use notify::{Event, EventKind, RecursiveMode, Watcher as _};

use crate::cli::{Exit, Failure, Terminal};

/// Editors write a file in several steps; a change counts when it has been quiet for so long.
const QUIET: Duration = Duration::from_millis(80);

/// Does it now, and again after each change, until Ctrl-C, which ends the process with 130 as everywhere.
///
/// # Errors
/// When the paths cannot be watched. What keeps one turn from its work is told, and the next may do it.
pub(super) fn watch(
    paths: &[PathBuf],
    terminal: Terminal,
    once: impl Fn() -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let (sender, changes) = mpsc::channel();
    let failed =
        |error: notify::Error| Failure::Environment(format!("cannot watch for changes: {error}"));
    let tell = move |event: notify::Result<Event>| {
        if event.as_ref().is_ok_and(|event| !matches(event)) {
            return;
        }
        // Nobody listens any more only while the process ends.
        let _ = sender.send(());
    };
    let mut watcher = notify::recommended_watcher(tell).map_err(failed)?;
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
            terminal.complain(&failure.to_string());
        }
        terminal.say("waiting for changes; Ctrl-C ends it");
        if changes.recv().is_err() {
            return Ok(Exit::Interrupted);
        }
        while changes.recv_timeout(QUIET).is_ok() {}
    }
}

/// Whether an event can change what is found: a plan, an app file, the project's file or a folder, and not only read.
fn matches(event: &Event) -> bool {
    let endings = ["plan", "plantest", "yaml", "yml", "json"];
    let meant = |path: &PathBuf| {
        let own = path.components().any(|part| {
            [".planrun", ".git"]
                .iter()
                .any(|own| part.as_os_str() == *own)
        });
        let ending = path.extension();
        !own && ending.is_none_or(|ending| endings.iter().any(|known| ending == *known))
    };
    !matches!(event.kind, EventKind::Access(_))
        && (event.paths.is_empty() || event.paths.iter().any(meant))
}
