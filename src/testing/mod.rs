//! Tests of plans from Rust: runs the `test` items of plan files in `#[test]`, with the trace of a run as text for
//! `insta`.
//!
//! ```
//! # fn main() -> Result<(), planrun::testing::TestError> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("five.plan");
//! # let plan = "plan five() -> int {\n    reply 5\n}\n\n";
//! # let test = "test \"five\" for five {\n    expect reply == 5\n}\n";
//! # std::fs::write(&file, [plan, test].concat()).unwrap();
//! for test in planrun::testing::tests(&file)? {
//!     let outcome = test.run();
//!     outcome.assert_passed();
//!     assert_eq!(outcome.reply(), 5);
//!     // In a test of your own: insta::assert_snapshot!(test.name(), outcome.trace());
//!     assert_eq!(outcome.trace(), "run completed\nreply: 5\n\n");
//! }
//! # Ok(())
//! # }
//! ```

use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::render::{Appearance, FileReport, human};
use planrun_lang::protocol::RunState;

use crate::cli::Failure;
use crate::cli::test::files::{Tested, open};
use planrun_core::run::{Order, Outcome};
use planrun_runs::driver::Silence;
use planrun_test::plantest::case::Case;
use planrun_test::plantest::play::RunOptions;
use planrun_test::plantest::suite::{Prepared, SuiteOptions};
use planrun_test::plantest::trace::trace;

/// Why tests cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    /// A path does not exist, or a project or file cannot be used; the message says why.
    #[error("{0}")]
    Command(String),
    /// The diagnostics of the plans, rendered with the lines they are about.
    #[error("the plans have errors\n{0}")]
    Findings(String),
}

/// One case of a plan file: a test, or one combination of the rows of its `given` tables.
pub struct PlanTest {
    tested: Arc<Tested>,
    file: usize,
    prepared: Prepared,
    title: String,
}

/// The result of a test.
pub struct TestOutcome {
    title: String,
    failures: String,
    state: RunState,
    trace: String,
    reply: serde_json::Value,
}

/// Returns the tests of a plan file, or of every plan file below a folder, ordered by path and by position in the
/// source.
///
/// # Errors
/// Returns an error if the path does not exist, the project cannot be used, or the plans or tests have errors.
pub fn tests(path: impl AsRef<Path>) -> Result<Vec<PlanTest>, TestError> {
    let tested = open(&[path.as_ref().to_owned()], None)
        .map_err(|failure: Failure| TestError::Command(failure.to_string()))?;
    let broken = tested
        .files
        .iter()
        .filter(|file| !file.suite.broken.is_empty());
    let reports: Vec<FileReport> = broken
        .map(|file| FileReport::new(file.suite.source.clone(), file.suite.broken.clone()))
        .collect();
    let found = [
        human(&tested.reports, Appearance::PLAIN),
        human(&reports, Appearance::PLAIN),
    ]
    .concat();
    if !found.is_empty() {
        return Err(TestError::Findings(found));
    }
    if let Some(problem) = tested.problems.first() {
        return Err(TestError::Command(problem.message.clone()));
    }
    let tested = Arc::new(tested);
    let mut tests = Vec::new();
    for (index, file) in tested.files.iter().enumerate() {
        for prepared in file.suite.cases() {
            let title = prepared
                .case
                .as_ref()
                .map_or_else(|_| prepared.test.name.to_string(), Case::title);
            tests.push(PlanTest {
                tested: tested.clone(),
                file: index,
                prepared,
                title,
            });
        }
    }
    Ok(tests)
}

impl PlanTest {
    /// Returns the name of the test, including its row.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.title
    }

    /// Runs the test; ready steps start in source order.
    #[must_use]
    pub fn run(&self) -> TestOutcome {
        self.run_in(Order::Source)
    }

    /// Runs the test; ready steps start in this order. The trace and the reply are the same in every order, unless the
    /// outcome of the plan depends on it.
    #[must_use]
    pub fn run_in(&self, order: Order) -> TestOutcome {
        let file = &self.tested.files[self.file];
        let environment = &self.tested.environments[file.project];
        let options = RunOptions {
            order,
            ..RunOptions::default()
        };
        let options = SuiteOptions {
            run: options,
            ..SuiteOptions::default()
        };
        let (ran, played) =
            file.suite
                .run_played(environment, &self.prepared, options, &mut Silence);
        let failures = if ran.faults.is_empty() {
            String::new()
        } else {
            human(
                &[FileReport::new(file.suite.source.clone(), ran.faults)],
                Appearance::PLAIN,
            )
        };
        let mut outcome = TestOutcome {
            title: self.title.clone(),
            failures,
            state: RunState::Running,
            trace: String::new(),
            reply: serde_json::Value::Null,
        };
        if let (Some(played), Some(program)) = (played, file.suite.program(&self.prepared.test)) {
            outcome.state = played.state;
            outcome.trace = trace(program, &played);
            let reply = played.outcome.as_ref().and_then(Outcome::redacted_reply);
            outcome.reply = reply.map(|reply| reply.to_json()).unwrap_or_default();
        }
        outcome
    }
}

impl TestOutcome {
    /// Returns true if every expectation of the test holds. The test's own snapshots are not compared.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// Returns the failed expectations, rendered with the lines of the test; empty if the test passed.
    #[must_use]
    pub fn failures(&self) -> &str {
        &self.failures
    }

    /// Returns the final state of the run.
    #[must_use]
    pub fn state(&self) -> RunState {
        self.state
    }

    /// Returns the trace of the run: the text that `snapshot trace` compares. It is the same on every machine.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// Returns the reply of the plan; null if it gave none.
    #[must_use]
    pub fn reply(&self) -> &serde_json::Value {
        &self.reply
    }

    /// Asserts that the test passed.
    ///
    /// # Panics
    /// Panics with the failures if the test did not pass.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "{}\n{}", self.title, self.failures);
    }
}
