//! After any sequence of appending, flushing, waiting and dying, the journal has a prefix of the events written.

use std::fs;

use planrun_runs::journal::store::{Created, Journal, SqliteLease};
use proptest::prelude::*;
use tempfile::TempDir;

use super::temp_journal::{append, new_run, numbers, open, wait_durable};

#[derive(Clone, Debug)]
enum Step {
    Append(u64),
    Flush,
    Wait,
    /// The driver is dropped without closing.
    Drop,
    /// The files are copied as a killed process leaves them, and the run resumes from the copy.
    Die,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..6_u64).prop_map(Step::Append),
        4 => Just(Step::Flush),
        2 => Just(Step::Wait),
        1 => Just(Step::Drop),
        1 => Just(Step::Die),
    ]
}

/// A run that is resumed in one folder after another.
struct ResumedRun {
    folder: TempDir,
    journal: Journal,
    driver: SqliteLease,
    /// The number of the last flushed event, and of the last event known to be on disk.
    flushed: u64,
    durable: u64,
}

impl ResumedRun {
    fn begin() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = open(&folder.path().join("journal.db")).unwrap();
        let Created::New(driver) = journal.create(&new_run("r1", "plan")).unwrap() else {
            panic!()
        };
        Self {
            folder,
            journal,
            driver,
            flushed: 0,
            durable: 0,
        }
    }

    fn go(mut self, step: &Step) -> Self {
        match step {
            Step::Append(count) => append(&mut self.driver, *count),
            Step::Flush => {
                self.driver.flush().unwrap();
                self.flushed = self.driver.last();
            }
            Step::Wait => {
                wait_durable(&self.driver, self.flushed);
                self.durable = self.flushed;
            }
            Step::Drop => {
                let Self {
                    folder,
                    journal,
                    driver,
                    flushed,
                    ..
                } = self;
                drop(driver);
                drop(journal);
                return Self::resume(folder, flushed, flushed);
            }
            Step::Die => {
                let durable = self.driver.durable().borrow().through.max(self.durable);
                let next = tempfile::tempdir().unwrap();
                for name in ["journal.db", "journal.db-wal"] {
                    fs::copy(self.folder.path().join(name), next.path().join(name)).unwrap();
                }
                return Self::resume(next, durable, self.flushed);
            }
        }
        self
    }

    /// Asserts that the journal has a prefix of the flushed events, with all durable ones, and resumes the run.
    fn resume(folder: TempDir, durable: u64, flushed: u64) -> Self {
        let journal = open(&folder.path().join("journal.db")).unwrap();
        let (there, error) = numbers(&journal, "r1", 1);
        assert_eq!(error, None);
        let count = there.len() as u64;
        assert_eq!(there, (1..=count).collect::<Vec<_>>());
        assert!(
            (durable..=flushed).contains(&count),
            "{count} of {durable} to {flushed}"
        );
        let driver = journal.drive("r1").unwrap();
        assert_eq!(driver.last(), count);
        Self {
            folder,
            journal,
            driver,
            flushed: count,
            durable: count,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_run_is_always_the_beginning_of_what_was_written(steps in prop::collection::vec(step(), 1..25)) {
        let mut run = ResumedRun::begin();
        for step in &steps {
            run = run.go(step);
        }
        run.go(&Step::Flush).go(&Step::Die);
    }
}
