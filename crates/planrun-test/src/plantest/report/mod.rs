//! The results of a run of the tests, as plain data and as text for other programs.

mod github;
mod json;
mod junit;

use std::borrow::Cow;
use std::time::Duration;

use planrun_lang::diag::render::with_facts;

pub use github::github;
pub use json::json;
pub use junit::junit;

/// What a run of the tests came to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// In path order; files without tests may be among them.
    pub files: Vec<FileReport>,
    /// How long it took as a whole; less than the sum, where tests ran side by side.
    pub duration: Duration,
}

/// The tests of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileReport {
    /// From where the command was started, with `/` between folders.
    pub path: String,
    /// In source order; a test with a table is there once for each row.
    pub tests: Vec<TestReport>,
}

/// One test, or one row of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestReport {
    /// As the author wrote it.
    pub name: String,
    /// Which row of its table, from 1.
    pub row: Option<usize>,
    /// Where it begins, from 1.
    pub line: u32,
    pub status: Status,
    pub duration: Duration,
    /// What kept it from passing; of a flaky test, what it came to when it did not pass; of a skipped one, why.
    pub failures: Vec<Failure>,
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Passed,
    /// Something that it expects is not so.
    Failed,
    /// It could not be brought to its end.
    Errored,
    Skipped,
    /// It passed, and did not when it ran before.
    Flaky,
}

/// One thing that is not as it should be.
#[derive(Clone, PartialEq, Eq, Debug)]
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

/// How many tests ended how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub tests: usize,
    pub passed: usize,
    pub failed: usize,
    pub errored: usize,
    pub skipped: usize,
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
                Status::Skipped => counts.skipped += 1,
                Status::Flaky => counts.flaky += 1,
            }
        }
        counts
    }
}

impl TestReport {
    /// The name with its row.
    fn title(&self) -> String {
        self.row.map_or_else(
            || self.name.clone(),
            |row| format!("{}, row {row}", self.name),
        )
    }

    /// What is reported of a test that has no message of its own.
    const fn bare(&self) -> &'static str {
        match self.status {
            Status::Skipped => "the test was left out",
            Status::Passed | Status::Failed | Status::Errored | Status::Flaky => {
                "the test did not pass"
            }
        }
    }
}

impl Failure {
    /// All that it tells, on lines.
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
