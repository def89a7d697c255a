//! Results of a test run, as data and as text for other programs.

mod github;
mod json;
mod junit;

use std::borrow::Cow;
use std::time::Duration;

use planrun_lang::diag::render::with_facts;
use serde::Serialize;

pub use github::github;
pub use json::json;
pub use junit::junit;

/// The message of a test that did not pass and has no failures.
const BARE: &str = "the test did not pass";

/// The results of a test run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Ordered by path; may include files without tests.
    pub files: Vec<FileReport>,
    /// Wall-clock duration of the whole run; less than the sum if tests ran in parallel.
    pub duration: Duration,
}

/// The tests of one file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FileReport {
    /// Relative to the working directory of the command, with `/` as the separator.
    pub path: String,
    /// In source order; a test with a table has an entry for each row.
    pub tests: Vec<TestReport>,
}

/// One test, or one row of one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TestReport {
    /// The name as written in the file.
    pub name: String,
    /// Number of its row, from 1; `None` if there is only one.
    pub row: Option<usize>,
    /// Line of the test, from 1.
    pub line: u32,
    pub status: Status,
    #[serde(rename = "duration_ms", serialize_with = "json::milliseconds")]
    pub duration: Duration,
    /// Why the test did not pass; for a flaky test, a failure in the order in which it did not pass.
    pub failures: Vec<Failure>,
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Passed,
    /// An expectation does not hold.
    Failed,
    /// The test could not be completed.
    Errored,
    /// It passed in source order, but not in another order.
    Flaky,
}

/// One reason why a test did not pass.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Failure {
    /// One sentence without a full stop.
    pub message: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub help: Option<String>,
}

/// Number of tests by status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Counts {
    pub tests: usize,
    pub passed: usize,
    pub failed: usize,
    pub errored: usize,
    pub flaky: usize,
}

impl Report {
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts::of(self.files.iter().flat_map(|file| &file.tests))
    }
}

impl Counts {
    fn of<'a>(tests: impl IntoIterator<Item = &'a TestReport>) -> Self {
        let mut counts = Self::default();
        for test in tests {
            counts.tests += 1;
            match test.status {
                Status::Passed => counts.passed += 1,
                Status::Failed => counts.failed += 1,
                Status::Errored => counts.errored += 1,
                Status::Flaky => counts.flaky += 1,
            }
        }
        counts
    }
}

impl TestReport {
    /// Returns the name with its row.
    fn title(&self) -> String {
        self.row.map_or_else(
            || self.name.clone(),
            |row| format!("{}, row {row}", self.name),
        )
    }
}

impl Failure {
    /// Returns the message with its facts, one per line.
    fn sentences(&self) -> String {
        let facts = [
            ("expected", &self.expected),
            ("actual", &self.actual),
            ("help", &self.help),
        ];
        let facts = facts
            .into_iter()
            .filter_map(|(word, fact)| Some((word, Cow::Borrowed(fact.as_deref()?))));
        with_facts(&self.message, facts)
    }
}
