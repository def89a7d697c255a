//! Where the journal of a command is: that of the project around a plan or a folder, or the only one below the folder.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use planrun_lang::diag::render::visible_line;
use planrun_tools::host::{FileKind, Host};
use planrun_tools::project::{Location, journal_file};

use super::Failure;
use planrun_runs::runs::{Planrun, Workspace, real_host};

/// So many folders are looked into for a journal below the current one, and so deep.
const MAX_FOLDERS: usize = 4000;
const DEEPEST: usize = 6;
/// So many journals are named where one has to be chosen.
const MAX_NAMED: usize = 5;

/// The project around a plan, in which runs were written down; without a plan, that of the folder that `--project` names,
/// else the one around the current folder, else the only one below it.
///
/// # Errors
/// When there is none, there are several, or its journal cannot be used.
pub fn journal_of(plan: Option<&Path>, project: Option<&Path>) -> Result<Planrun, Failure> {
    let host = real_host();
    let location = place(&*host, plan, project)?;
    // None is made where there is none, and whoever may only read can still look.
    Ok(Planrun::with_journal(host, location)?)
}

fn place(
    host: &dyn Host,
    plan: Option<&Path>,
    project: Option<&Path>,
) -> Result<Location, Failure> {
    if let Some(folder) = project
        && has_journal(host, folder)
    {
        return Ok(at(host, folder));
    }
    let location = Workspace::locate(host, plan.unwrap_or(Path::new("-")), project)?;
    if plan.is_some() || project.is_some() || has_journal(host, &location.folder) {
        return Ok(location);
    }
    if location.file.is_none()
        && let Some(folder) = above(host)
    {
        return Ok(at(host, &folder));
    }
    let found = below(host);
    match found.as_slice() {
        [] => Err(Failure::Environment(nowhere(&location))),
        [one] => Ok(at(host, one)),
        many => {
            let named = many
                .iter()
                .take(MAX_NAMED)
                .map(|folder| format!("`--project {}`", shown(folder)));
            let more = if many.len() > MAX_NAMED { ", …" } else { "" };
            Err(Failure::Usage(format!(
                "there are several journals below this folder; choose one with {}{more}",
                named.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}

/// The folder of a project, where a command that names none would not mean it: neither the current folder nor the nearest
/// one above is that project's.
pub fn elsewhere(location: &Location) -> Option<String> {
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

fn nowhere(location: &Location) -> String {
    let path = journal_file(&location.folder);
    format!(
        "there is no journal at {}, nor in a folder above or below this one: nothing was run here yet; `--project DIR` \
         names the folder of a plan that was run elsewhere",
        shown(&path)
    )
}

fn shown(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}

/// The project in a folder.
fn at(host: &dyn Host, folder: &Path) -> Location {
    let file = folder.join(Location::FILE);
    Location {
        folder: folder.to_owned(),
        file: Some(file).filter(|file| host.canonical(file).is_ok()),
    }
}

fn has_journal(host: &dyn Host, folder: &Path) -> bool {
    host.kind(&journal_file(folder))
        .is_ok_and(|kind| kind == FileKind::File)
}

/// The nearest folder above the current one in which plans without a project were run.
fn above(host: &dyn Host) -> Option<PathBuf> {
    let here = host.canonical(Path::new(".")).ok()?;
    let depth = here.components().count();
    let mut folder = PathBuf::new();
    (0..depth).find_map(|_| {
        folder.push("..");
        has_journal(host, &folder).then(|| folder.clone())
    })
}

/// The folders below the current one that have a journal, the nearest first. Hidden folders and those that programs fill
/// are left out.
fn below(host: &dyn Host) -> Vec<PathBuf> {
    let (mut found, mut looked) = (Vec::new(), 0);
    let mut open = VecDeque::from([(PathBuf::new(), 0)]);
    while let Some((folder, depth)) = open.pop_front().filter(|_| looked < MAX_FOLDERS) {
        looked += 1;
        if has_journal(host, &folder) {
            found.push(folder.clone());
        }
        if depth == DEEPEST {
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
