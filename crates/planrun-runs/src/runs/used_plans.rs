//! The plan files that a plan may use.

use std::path::Path;

use planrun_lang::sema::Files;
use planrun_lang::source::SourceFile;
use planrun_tools::host::Host;

use super::plan_text::beside;

/// Plan files on disk.
pub(super) struct UsedPlans<'a> {
    pub host: &'a dyn Host,
    pub root: &'a Path,
    /// Whether a project file defines the root as a project; otherwise it is just the folder of the plan.
    pub has_project_file: bool,
}

impl UsedPlans<'_> {
    /// Returns true if a file may be used. The author of a plan could name any file of the user who checks it, and
    /// findings quote files. So the file must be in the project or, without a project file, have the extension of
    /// plans.
    fn is_usable(&self, path: &Path) -> bool {
        match (self.host.canonical(path), self.host.canonical(self.root)) {
            (Ok(path), Ok(root)) => {
                path.starts_with(root)
                    || !self.has_project_file && path.extension().is_some_and(|end| end == "plan")
            }
            (Err(_), _) | (_, Err(_)) => true,
        }
    }
}

impl Files for UsedPlans<'_> {
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String> {
        if Path::new(path).is_absolute() || path.contains('\\') {
            return Err(format!("`{path}` is not a path relative to this file"));
        }
        let joined = beside(from, path);
        if !self.is_usable(&joined) {
            return Err(format!("`{path}` is outside of the project"));
        }
        match self.host.read_file(&joined) {
            Ok(text) => Ok(SourceFile::new(
                joined
                    .to_string_lossy()
                    .replace(std::path::MAIN_SEPARATOR, "/"),
                text,
            )),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Err(format!("there is no file `{path}`"))
            }
            Err(error) => Err(format!("`{path}` cannot be read: {error}")),
        }
    }
}
