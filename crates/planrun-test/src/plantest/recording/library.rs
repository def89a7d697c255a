//! The recordings of a plan file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_tools::host::Host;

use super::super::case::Case;
use super::super::snapshot::folder::Folder;
use super::super::snapshot::name::{plan_part, test_parts};
use super::{Recording, RecordingError};

/// The folder of recordings, next to the plan.
const FOLDER: &str = "recordings";
const ENDING: &str = ".yaml";
/// Separates the parts of a file name.
const BETWEEN: &str = "__";

/// The recordings of the tests of one file.
#[derive(Default)]
pub struct Recordings {
    folder: Option<Folder>,
    plan: String,
    /// The part of the file name of each test.
    tests: BTreeMap<String, String>,
    /// By file name without extension.
    found: BTreeMap<String, Result<Arc<Recording>, RecordingError>>,
}

impl Recordings {
    /// Reads the recordings next to a plan file. `tests` must be all of its tests, because file names depend on all
    /// of them.
    #[must_use]
    pub fn next_to<'a>(
        host: &dyn Host,
        plan_file: &Path,
        tests: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let (folder, plan) = (Folder::next_to(plan_file, FOLDER), plan_part(plan_file));
        let mut recordings = Self {
            plan,
            tests: test_parts(tests),
            ..Self::default()
        };
        // An unreadable folder counts as empty here; the error is reported when a recording is written.
        for path in folder.list(host).unwrap_or_default() {
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .and_then(|name| name.strip_suffix(ENDING));
            let Some(name) = name.filter(|name| recordings.owns(name)) else {
                continue;
            };
            let read = match folder.read(host, &path) {
                Ok(None) => continue,
                Ok(Some(text)) => Recording::read(&path, &text).map(Arc::new),
                Err(error) => Err(RecordingError::files(&path, error)),
            };
            recordings.found.insert(name.to_owned(), read);
        }
        recordings.folder = Some(folder);
        recordings
    }

    /// Returns the recording of a case; `None` if it has none.
    #[must_use]
    pub fn of(&self, case: &Case) -> Option<&Result<Arc<Recording>, RecordingError>> {
        self.found.get(&self.name(case)?)
    }

    /// Returns the path of the recording of a case, whether or not it exists.
    #[must_use]
    pub fn path(&self, case: &Case) -> PathBuf {
        let name = self.name(case).unwrap_or_default();
        self.folder
            .as_ref()
            .map(|folder| folder.file(&format!("{name}{ENDING}")))
            .unwrap_or_default()
    }

    /// Writes the recording of a case. A recording without calls is removed instead.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written or removed.
    pub fn keep(
        &mut self,
        host: &dyn Host,
        case: &Case,
        recording: Recording,
        about: &[String],
    ) -> Result<(), RecordingError> {
        let path = self.path(case);
        let (Some(folder), Some(name)) = (&self.folder, self.name(case)) else {
            return Ok(());
        };
        let failed = |error| RecordingError::files(&path, error);
        if recording.calls().is_empty() {
            folder.remove(host, &path).map_err(failed)?;
            self.found.remove(&name);
        } else {
            folder
                .write(host, &path, &recording.to_text(about))
                .map_err(failed)?;
            self.found.insert(name, Ok(Arc::new(recording)));
        }
        Ok(())
    }

    fn name(&self, case: &Case) -> Option<String> {
        let row = case
            .row
            .map(|row| format!("{BETWEEN}{row}"))
            .unwrap_or_default();
        Some(format!(
            "{}{BETWEEN}{}{row}",
            self.plan,
            self.tests.get(&*case.test.name)?
        ))
    }

    /// Returns true if a file belongs to this plan.
    fn owns(&self, name: &str) -> bool {
        let rest = name
            .strip_prefix(&*self.plan)
            .and_then(|rest| rest.strip_prefix(BETWEEN));
        rest.is_some_and(|rest| {
            let part = rest.split_once(BETWEEN).map_or(rest, |(part, _)| part);
            self.tests.values().any(|own| own == part)
        })
    }
}
