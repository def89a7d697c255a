//! Journals in temporary folders, with runs and lines for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::Summary;
use planrun_lang::protocol::RunState;
use planrun_runs::journal::store::{
    Created, Digest, Journal, JournalError, NewRun, Settings, SqliteLease,
};
use planrun_tools::host::{Host, MemoryHost, RealHost};
use tempfile::TempDir;

/// The file that identifies a boot of a machine on Linux.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// A temporary folder with a journal.
pub struct TempJournal {
    pub folder: TempDir,
}

impl TempJournal {
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join(".planrun/journal.db")
    }

    pub fn open(&self) -> Journal {
        open(&self.path()).unwrap()
    }

    pub fn open_on(&self, host: &Arc<MemoryHost>) -> Journal {
        let host: Arc<dyn Host> = Arc::clone(host) as _;
        Journal::open(&self.path(), Settings::default(), host).unwrap()
    }

    pub fn read(&self) -> Result<Journal, JournalError> {
        Journal::read(&self.path(), Settings::default(), Arc::new(RealHost))
    }
}

pub fn open(path: &Path) -> Result<Journal, JournalError> {
    let settings = Settings {
        busy_timeout: Duration::from_mins(1),
        ..Settings::default()
    };
    Journal::open(path, settings, Arc::new(RealHost))
}

/// Returns a host with this name, whose clock does not advance.
pub fn machine(name: &str) -> Arc<MemoryHost> {
    let seed = name
        .bytes()
        .fold(0, |seed, byte| seed * 31 + u64::from(byte));
    Arc::new(MemoryHost::new(seed).with_file(BOOT, name))
}

pub fn new_run<'a>(run: &'a str, plan: &'a str) -> NewRun<'a> {
    NewRun {
        run,
        plan,
        digest: Digest::of(plan.as_bytes()),
        pinned: b"{\"pinned\":1}",
        at: 1_700_000_000_000_000_000,
    }
}

/// Creates a run and returns its lease.
pub fn create(journal: &Journal, run: &str) -> SqliteLease {
    match journal.create(&new_run(run, "plan")).unwrap() {
        Created::New(driver) => driver,
        Created::Exists(row) => panic!("{} is there", row.run),
    }
}

/// Returns the line of the event with this number.
pub fn line(number: u64) -> String {
    format!(
        "{{\"number\":{number},\"event\":\"step {}\"}}",
        "ü".repeat(usize::try_from(number % 7).unwrap())
    )
}

/// Appends this number of events.
pub fn append(driver: &mut SqliteLease, count: u64) {
    for _ in 0..count {
        let number = driver.last() + 1;
        driver.append(number, line(number).as_bytes());
    }
}

pub fn summary(state: &str) -> Summary {
    Summary {
        state: RunState::find(state).unwrap(),
        error: None,
        note: None,
        wake: None,
        steps_done: 1,
        steps_all: 3,
    }
}

/// Returns the numbers of a run's events, each checked against its line, and the error after them, if there is one.
pub fn numbers(journal: &Journal, run: &str, from: u64) -> (Vec<u64>, Option<JournalError>) {
    let mut numbers = Vec::new();
    let events = match journal.events(run, from) {
        Ok(events) => events,
        Err(error) => return (numbers, Some(error)),
    };
    for event in events {
        match event {
            Ok(event) => {
                assert_eq!(
                    event.line,
                    line(event.number),
                    "what is given is what was written"
                );
                numbers.push(event.number);
            }
            Err(error) => return (numbers, Some(error)),
        }
    }
    (numbers, None)
}

/// Waits until the events up to this number are on disk.
pub fn wait_durable(driver: &SqliteLease, through: u64) {
    let mut durable = driver.durable();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let reached = runtime.block_on(async {
        durable
            .wait_for(|durable| durable.through >= through || durable.failure.is_some())
            .await
            .unwrap()
            .clone()
    });
    assert_eq!(reached.failure, None);
}
