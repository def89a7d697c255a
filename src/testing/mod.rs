//! Tests of plans from Rust: the `test` items of plan files in `#[test]`, with what happened as text for `insta`.
//!
//! ```
//! # fn main() -> Result<(), planrun::testing::TestError> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let file = folder.path().join("five.plan");
//! # std::fs::write(&file, "plan five() -> int {\n    reply 5\n}\n\ntest \"five\" for five {\n    expect reply == 5\n}\n").unwrap();
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

use planrun_lang::diag::render::{FileReport, Look, human};
use planrun_lang::protocol::RunState;

use crate::cli::Failure;
use crate::cli::test::files::{Tested, open};
use planrun_core::run::{Order, Outcome};
use planrun_runs::driver::Silence;
use planrun_test::plantest::case::Case;
use planrun_test::plantest::play::RunOptions;
use planrun_test::plantest::suite::{Prepared, SuiteOptions};
use planrun_test::plantest::trace::trace;

/// Why tests cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TestError {
    #[error("{0}")]
    Command(String),
    /// What the check finds, drawn in its lines.
    #[error("the plans have errors\n{0}")]
    Findings(String),
}

/// One test of a plan file, or one row of it.
pub struct PlanTest {
    tested: Arc<Tested>,
    file: usize,
    prepared: Prepared,
    title: String,
}

/// What came of a test.
pub struct TestOutcome {
    title: String,
    failures: String,
    state: RunState,
    trace: String,
    reply: serde_json::Value,
}

/// The tests of a plan file, or of every file below a folder, in the order of paths and of the source.
///
/// # Errors
/// When a path does not exist, or what is to be tested has errors.
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
        human(&tested.reports, Look::PLAIN),
        human(&reports, Look::PLAIN),
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
    for (file, of) in tested.files.iter().enumerate() {
        for prepared in of.suite.cases() {
            let title = prepared
                .case
                .as_ref()
                .map_or_else(|_| prepared.test.name.to_string(), Case::title);
            tests.push(PlanTest {
                tested: tested.clone(),
                file,
                prepared,
                title,
            });
        }
    }
    Ok(tests)
}

impl PlanTest {
    /// The name of the test, with its row.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.title
    }

    /// Plays it in the order of the source.
    #[must_use]
    pub fn run(&self) -> TestOutcome {
        self.run_in(Order::Source)
    }

    /// Plays it in this order. The trace and the reply are the same in every order.
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
                Look::PLAIN,
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
            let reply = played.outcome.as_ref().and_then(Outcome::shown_reply);
            outcome.reply = reply.map(|reply| reply.to_json()).unwrap_or_default();
        }
        outcome
    }
}

impl TestOutcome {
    /// Whether everything that the test expects is so. Its own snapshots are not compared.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// What is not as expected, drawn in the lines of the test; empty where it passed.
    #[must_use]
    pub fn failures(&self) -> &str {
        &self.failures
    }

    /// How the run ended.
    #[must_use]
    pub fn state(&self) -> RunState {
        self.state
    }

    /// What happened, the same on every machine: what `snapshot trace` compares.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// What the plan replied; null where it did not.
    #[must_use]
    pub fn reply(&self) -> &serde_json::Value {
        &self.reply
    }

    /// Passes where the test passed.
    ///
    /// # Panics
    /// Where it did not, with what is wrong.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "{}\n{}", self.title, self.failures);
    }
}
