//! Locates the journal of a command: that of the project around a plan or a folder, or the only one below the folder.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use planrun_lang::diag::render::{quoted, visible_line};
use planrun_tools::host::{FileKind, Host};
use planrun_tools::project::{Location, journal_file};

use super::{Failure, Result};
use planrun_runs::runs::{Planrun, Workspace, real_host};

/// Maximum number of folders, and their depth, searched for a journal below the current folder.
const MAX_FOLDERS: usize = 4000;
const MAX_DEPTH: usize = 6;
/// Maximum number of journals listed when the user has to choose one.
const MAX_NAMED: usize = 5;

/// Opens the project around a plan, to read its runs. Without a plan, it is the project of the folder given with
/// `--project`, or else the one around the current folder, or else the only one below it. Returns an error if there is
/// no journal, there are several, or the journal cannot be used.
pub fn journal_of(plan: Option<&Path>, project: Option<&Path>) -> Result<Planrun> {
    let host = real_host();
    let location = locate(&*host, plan, project)?;
    // Does not create a journal if there is none, and also works with read-only access.
    Ok(Planrun::with_journal(host, location)?)
}

fn locate(host: &dyn Host, plan: Option<&Path>, project: Option<&Path>) -> Result<Location> {
    if let Some(folder) = project
        && has_journal(host, folder)
    {
        return Ok(project_in(host, folder));
    }
    let location = Workspace::locate(host, plan.unwrap_or(Path::new("-")), project)?;
    if plan.is_some() || project.is_some() || has_journal(host, &location.folder) {
        return Ok(location);
    }
    if location.file.is_none()
        && let Some(folder) = above(host)
    {
        return Ok(project_in(host, &folder));
    }
    let found = below(host);
    match found.as_slice() {
        [] => Err(Failure::Environment(no_journal(&location))),
        [one] => Ok(project_in(host, one)),
        many => {
            let named = many
                .iter()
                .take(MAX_NAMED)
                .map(|folder| format!("`--project {}`", quoted(&display_path(folder))));
            let more = if many.len() > MAX_NAMED { ", …" } else { "" };
            Err(Failure::Usage(format!(
                "there are several journals below this folder; choose one with {}{more}",
                named.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}

/// Returns the folder to pass with `--project` so that a command finds this project; `None` if the command finds it
/// without the flag, because it is the project of the current folder or of the nearest folder above.
pub fn project_flag(location: &Location) -> Option<String> {
    let host = real_host();
    let real = |folder: &Path| {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        host.canonical(folder).ok()
    };
    let own = real(&location.folder)?;
    let near = Workspace::locate(&*host, Path::new("-"), None).ok();
    let without = near
        .as_ref()
        .filter(|near| near.file.is_none())
        .and_then(|_| above(&*host));
    let meant = near
        .iter()
        .map(|near| &near.folder)
        .chain(&without)
        .any(|folder| real(folder).as_ref() == Some(&own));
    (!meant).then(|| location.folder.display().to_string())
}

fn no_journal(location: &Location) -> String {
    let path = journal_file(&location.folder);
    format!(
        "no plan has been run here yet: there is no journal at {}, nor in a folder above or below this one; run a plan with \
         `planrun run PLAN`, or pass the folder of the project with `--project DIR`",
        display_path(&path)
    )
}

fn display_path(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

fn project_in(host: &dyn Host, folder: &Path) -> Location {
    let file = folder.join(Location::FILE);
    Location {
        folder: folder.to_owned(),
        file: Some(file).filter(|file| host.canonical(file).is_ok()),
    }
}

/// Returns true if a folder has something at the place of its journal. The error when it is opened tells why it is not a
/// journal or cannot be read.
pub fn has_journal(host: &dyn Host, folder: &Path) -> bool {
    let kind = host.kind(&journal_file(folder));
    !kind.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Returns the nearest folder above the current one with a journal, that is, where plans without a project were run.
fn above(host: &dyn Host) -> Option<PathBuf> {
    let here = host.canonical(Path::new(".")).ok()?;
    let depth = here.components().count();
    let mut folder = PathBuf::new();
    (0..depth).find_map(|_| {
        folder.push("..");
        has_journal(host, &folder).then(|| folder.clone())
    })
}

/// Returns the folders below the current one that have a journal, the nearest first. Skips hidden folders, links, and
/// `node_modules` and `target`.
fn below(host: &dyn Host) -> Vec<PathBuf> {
    let (mut found, mut visited) = (Vec::new(), 0);
    let mut open = VecDeque::from([(PathBuf::new(), 0)]);
    while let Some((folder, depth)) = open.pop_front().filter(|_| visited < MAX_FOLDERS) {
        visited += 1;
        if has_journal(host, &folder) {
            found.push(folder.clone());
        }
        if depth == MAX_DEPTH {
            continue;
        }
        let here = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &folder
        };
        for path in host.list_folder(here).unwrap_or_default() {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let left_out = name.starts_with('.') || matches!(&*name, "node_modules" | "target");
            let is_link =
                std::fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_symlink());
            if !left_out && !is_link && host.kind(&path).is_ok_and(|kind| kind == FileKind::Folder)
            {
                open.push_back((folder.join(name), depth + 1));
            }
        }
    }
    found
}
