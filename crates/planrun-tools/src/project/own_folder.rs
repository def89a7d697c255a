//! The folder `.planrun` of a project, in which planrun keeps its own files and which git ignores.

use std::io;
use std::path::{Path, PathBuf};

use planrun_lang::permission::OWN_FOLDER;

use crate::host::Host;

/// Returns the folder for planrun's own files in a project.
pub fn own_folder(project: &Path) -> PathBuf {
    project.join(OWN_FOLDER)
}

/// Returns the journal file of a project's runs.
pub fn journal_file(project: &Path) -> PathBuf {
    own_folder(project).join("journal.db")
}

/// Refuses a folder or journal that is a symbolic link: planrun's files would be where plans can reach them, or would
/// overwrite the files of others. Returns an error that names the link.
pub fn check_own_folder(host: &dyn Host, project: &Path) -> io::Result<()> {
    let here = if project.as_os_str().is_empty() {
        Path::new(".")
    } else {
        project
    };
    for path in [own_folder(here), journal_file(here)] {
        let name = path.strip_prefix(here).unwrap_or(&path);
        if let (Ok(target), Ok(root)) = (host.canonical(&path), host.canonical(here))
            && target != root.join(name)
        {
            let name = name.display();
            let message = format!(
                "`{name}` is a link, but planrun keeps its runs in the project's own folder; remove the link"
            );
            return Err(io::Error::other(message));
        }
    }
    Ok(())
}

/// Creates the folder if it does not exist, accessible only to the user and ignored by git. Fails with any error of the
/// file system.
pub fn make_own_folder(host: &dyn Host, project: &Path) -> io::Result<()> {
    let folder = own_folder(project);
    let ignore = folder.join(".gitignore");
    host.make_private_folder(&folder)?;
    if host.kind(&ignore).is_err() {
        host.write_private_file(&ignore, b"*\n")?;
    }
    Ok(())
}
