//! The recordings beside a plan file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_tools::host::Host;

use super::super::case::Case;
use super::super::snapshot::folder::Folder;
use super::super::snapshot::name::{plan_part, test_parts};
use super::{Recording, RecordingError};

/// The folder beside the plan.
const FOLDER: &str = "recordings";
const ENDING: &str = ".yaml";
/// Between the parts of a file's name.
const BETWEEN: &str = "__";

/// The recordings of the tests of one file.
#[derive(Default)]
pub struct Recordings {
    folder: Option<Folder>,
    plan: String,
    /// The part of each test.
    tests: BTreeMap<String, String>,
    /// By the name of the file, without its ending.
    found: BTreeMap<String, Result<Arc<Recording>, RecordingError>>,
}

impl Recordings {
    /// Those beside a plan file with these tests, all of its tests: the names of files come from all of them.
    #[must_use]
    pub fn beside<'a>(
        host: &dyn Host,
        plan_file: &Path,
        tests: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let (folder, plan) = (Folder::beside(plan_file, FOLDER), plan_part(plan_file));
        let mut recordings = Self {
            plan,
            tests: test_parts(tests),
            ..Self::default()
        };
        // A folder that cannot be read has no recordings; whoever writes one gets the error.
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

    /// The recording of a case, if it has one.
    #[must_use]
    pub fn of(&self, case: &Case) -> Option<&Result<Arc<Recording>, RecordingError>> {
        self.found.get(&self.name(case)?)
    }

    /// The file that holds the recording of a case, or would.
    #[must_use]
    pub fn path(&self, case: &Case) -> PathBuf {
        let name = self.name(case).unwrap_or_default();
        self.folder
            .as_ref()
            .map(|folder| folder.file(&format!("{name}{ENDING}")))
            .unwrap_or_default()
    }

    /// Keeps the recording of a case. One without calls is not kept: it says nothing.
    ///
    /// # Errors
    /// When it cannot be written.
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

    /// Whether a file is one of this plan's.
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
