//! The folder `.planrun` of a project: what planrun itself keeps there, which git ignores.

use std::io;
use std::path::{Path, PathBuf};

use planrun_lang::permission::OWN_FOLDER;

use crate::host::Host;

/// Where planrun keeps what is its own, below the folder of a project.
#[must_use]
pub fn own_folder(project: &Path) -> PathBuf {
    project.join(OWN_FOLDER)
}

/// The file in which the runs of a project are written down.
#[must_use]
pub fn journal_file(project: &Path) -> PathBuf {
    own_folder(project).join("journal.db")
}

/// Refuses a folder that is a link, or has one for its journal: what planrun keeps would lie where plans may reach it, or take the
/// place of what somebody else keeps there.
///
/// # Errors
/// One that says so.
pub fn check_own_folder(host: &dyn Host, project: &Path) -> io::Result<()> {
    let here = if project.as_os_str().is_empty() {
        Path::new(".")
    } else {
        project
    };
    for path in [own_folder(here), journal_file(here)] {
        let name = path.strip_prefix(here).unwrap_or(&path);
        if let (Ok(leads), Ok(root)) = (host.canonical(&path), host.canonical(here))
            && leads != root.join(name)
        {
            let name = name.display();
            let message = format!(
                "`{name}` is a link, and planrun keeps its runs in the project's own folder; remove the link"
            );
            return Err(io::Error::other(message));
        }
    }
    Ok(())
}

/// Makes the folder for nobody but the user, where it is not there yet, and has git ignore it.
///
/// # Errors
/// What the file system says.
pub fn make_own_folder(host: &dyn Host, project: &Path) -> io::Result<()> {
    let folder = own_folder(project);
    let ignore = folder.join(".gitignore");
    host.make_private_folder(&folder)?;
    if host.kind(&ignore).is_err() {
        host.write_private_file(&ignore, b"*\n")?;
    }
    Ok(())
}
