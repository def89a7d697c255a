//! Disks that are full or read-only: the error is clear, and no durable event is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use planrun_runs::journal::store::{
    Durable, Journal, JournalError, Settings, SqliteLease, Store as _,
};
use planrun_tools::host::RealHost;

use super::temp_journal::{TempJournal, append, create, line, numbers, open, wait_durable};

/// A mount point that is unmounted on drop.
pub struct Mount(PathBuf);

impl Mount {
    /// Mounts something. `None` if this user may not mount, which is reported.
    pub fn new(arguments: &[&str], at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(arguments).arg(at).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        crate::support::left_out("this user may not mount");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Writes until the disk is full. Returns how much is durable.
fn fill(journal: &Journal) -> Durable {
    let mut driver = create(journal, "r1");
    let filler = format!("{{\"filler\":\"{}\"}}", "x".repeat(3000));
    while driver.last() < 10_000 {
        let number = driver.last() + 1;
        let line = if number.is_multiple_of(2) {
            filler.clone()
        } else {
            line(number)
        };
        driver.append(number, line.as_bytes());
        let flushed = driver.flush();
        wait_settled(&driver, number);
        if flushed.is_err() {
            break;
        }
    }
    let durable = driver.durable();
    assert!(driver.close().is_err());
    durable.borrow().clone()
}

/// Waits until the event is on disk, or until a failure is reported.
fn wait_settled(driver: &SqliteLease, number: u64) {
    let mut durable = driver.durable();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let settled =
        durable.wait_for(|durable| durable.through >= number || durable.failure.is_some());
    drop(runtime.block_on(settled).unwrap());
}

fn assert_whole(journal: &Journal, through: u64) {
    let events: Vec<_> = journal
        .events("r1", 1)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(events.len() as u64, through);
    assert!(
        events
            .iter()
            .step_by(2)
            .all(|event| event.line == line(event.number))
    );
}

#[test]
fn a_journal_that_may_not_grow_keeps_what_it_has() {
    let temp = TempJournal::new();
    let settings = Settings {
        max_bytes: Some(1 << 20),
        ..Settings::default()
    };
    let journal = Journal::open(&temp.path(), settings, Arc::new(RealHost)).unwrap();
    let durable = fill(&journal);
    assert_eq!(
        durable.failure,
        Some(JournalError::NoSpace { path: temp.path() })
    );
    assert!(durable.through > 100);
    assert_whole(&journal, durable.through);
    drop(journal);
    let journal = temp.open();
    let mut driver = journal.drive("r1").unwrap();
    append(&mut driver, 1);
    driver.close().unwrap();
    assert_eq!(journal.run("r1").unwrap().events, durable.through + 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_nothing_durable_is_lost() {
    let temp = TempJournal::new();
    let at = temp.folder.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &at) else {
        return;
    };
    let path = at.join("journal.db");
    let journal = open(&path).unwrap();
    let ballast = at.join("ballast");
    fs::write(&ballast, vec![0; 200_000]).unwrap();
    let durable = fill(&journal);
    assert_eq!(
        durable.failure,
        Some(JournalError::NoSpace { path: path.clone() })
    );
    assert_whole(&journal, durable.through);
    drop(journal);
    fs::remove_file(&ballast).unwrap();
    let journal = open(&path).unwrap();
    assert_whole(&journal, durable.through);
    let mut driver = journal.drive("r1").unwrap();
    append(&mut driver, 1);
    driver.close().unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_journal_on_a_full_disk_is_read() {
    let temp = TempJournal::new();
    let at = temp.folder.path().join("small");
    let Some(_mount) = Mount::new(&["-t", "tmpfs", "-o", "size=2m", "tmpfs"], &at) else {
        return;
    };
    let path = at.join("journal.db");
    let journal = open(&path).unwrap();
    let mut driver = create(&journal, "r1");
    append(&mut driver, 5);
    driver.close().unwrap();
    drop(journal);
    assert!(
        fs::write(at.join("ballast"), vec![0; 4 << 20]).is_err(),
        "the disk is full"
    );
    let journal = Journal::read(&path, Settings::default(), Arc::new(RealHost)).unwrap();
    assert_eq!(numbers(&journal, "r1", 1), (vec![1, 2, 3, 4, 5], None));
}

#[cfg(target_os = "linux")]
#[test]
fn a_journal_on_a_read_only_disk_is_read_or_says_why_not() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    append(&mut driver, 5);
    driver.flush().unwrap();
    wait_durable(&driver, 5);

    // As in a copy that was made while a process wrote, the latest data is in the second file.
    let (half, closed) = (
        temp.folder.path().join("half"),
        temp.folder.path().join("closed"),
    );
    for folder in [&half, &closed] {
        fs::create_dir(folder).unwrap();
    }
    for name in ["journal.db", "journal.db-wal"] {
        fs::copy(temp.path().with_file_name(name), half.join(name)).unwrap();
    }
    driver.close().unwrap();
    drop(journal);
    fs::copy(temp.path(), closed.join("journal.db")).unwrap();

    let source = temp.folder.path().to_str().unwrap();
    let at = tempfile::tempdir().unwrap();
    let Some(_mount) = Mount::new(&["--bind", source], at.path()) else {
        return;
    };
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro,bind"])
        .arg(at.path())
        .status()
        .unwrap();
    assert!(remounted.success());

    let read = |name: &str| {
        Journal::read(
            &at.path().join(name).join("journal.db"),
            Settings::default(),
            Arc::new(RealHost),
        )
    };
    assert_eq!(
        numbers(&read("closed").unwrap(), "r1", 1),
        (vec![1, 2, 3, 4, 5], None)
    );
    let error = read("half").unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("copy the folder"), "{error}");
    let error = open(&at.path().join("closed/journal.db")).unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly { .. }), "{error}");
    let error = open(&at.path().join("new/journal.db")).unwrap_err();
    assert!(matches!(error, JournalError::ReadOnly { .. }), "{error}");
}
