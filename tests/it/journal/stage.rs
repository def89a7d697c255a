//! A journal in a folder of its own, with runs and lines that tests write.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planrun_runs::journal::store::{
    Created, Digest, Journal, JournalError, NewRun, Settings, SqliteLease, Summary,
};
use planrun_tools::host::{Host, MemoryHost, RealHost};
use tempfile::TempDir;

/// Where Linux tells which start of which machine this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// A folder with a journal.
pub struct Stage {
    pub folder: TempDir,
}

impl Stage {
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
        patience: Duration::from_mins(1),
        ..Settings::default()
    };
    Journal::open(path, settings, Arc::new(RealHost))
}

/// A machine of this name, whose clock stands still.
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

/// A new run, driven.
pub fn create(journal: &Journal, run: &str) -> SqliteLease {
    match journal.create(&new_run(run, "plan")).unwrap() {
        Created::New(driver) => driver,
        Created::Exists(row) => panic!("{} is there", row.run),
    }
}

/// The line of the event with this number.
pub fn line(number: u64) -> String {
    format!(
        "{{\"number\":{number},\"event\":\"step {}\"}}",
        "ü".repeat(usize::try_from(number % 7).unwrap())
    )
}

/// Takes so many more events.
pub fn append(driver: &mut SqliteLease, count: u64) {
    for _ in 0..count {
        let number = driver.last() + 1;
        driver.append(number, line(number).as_bytes());
    }
}

pub fn summary(state: &str, at: i128) -> Summary {
    Summary {
        state: state.into(),
        ended: matches!(state, "completed" | "failed"),
        error: None,
        note: None,
        wake_at: None,
        updated_at: at,
        steps_done: 1,
        steps_all: Some(3),
    }
}

/// The numbers of a run's events, each with the line it was given; the error behind them, where there is one.
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

/// Waits until so many events are on disk.
pub fn wait_durable(driver: &SqliteLease, through: u64) {
    let mut durable = driver.durable();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let told = runtime.block_on(async {
        durable
            .wait_for(|durable| durable.through >= through || durable.failure.is_some())
            .await
            .unwrap()
            .clone()
    });
    assert_eq!(told.failure, None);
}
