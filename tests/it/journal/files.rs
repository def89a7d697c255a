//! Opening: new files, files of another kind, and reading while another process writes.

use std::fs;
use std::sync::Arc;

use planrun_runs::journal::store::{Filter, Journal, JournalError, Settings, Store as _};
use planrun_tools::host::RealHost;
use rusqlite::Connection;

use super::temp_journal::{TempJournal, append, create, numbers, open, wait_durable};

#[test]
fn a_file_that_is_no_journal_is_refused_and_left_as_it_is() {
    let temp = TempJournal::new();
    fs::create_dir_all(temp.path().parent().unwrap()).unwrap();
    for content in [
        "hello",
        "SQLite format 3\0 and then nothing that makes sense",
        &"x".repeat(9000),
    ] {
        fs::write(temp.path(), content).unwrap();
        for error in [open(&temp.path()).unwrap_err(), temp.read().unwrap_err()] {
            let is_refused = matches!(
                error,
                JournalError::NoJournal { .. } | JournalError::Damaged { .. }
            );
            assert!(is_refused, "{content:.20}: {error:?}");
        }
        assert_eq!(fs::read_to_string(temp.path()).unwrap(), *content);
    }
    fs::remove_file(temp.path()).unwrap();
    #[cfg(unix)]
    {
        let made = std::process::Command::new("mkfifo")
            .arg(temp.path())
            .status();
        assert!(made.unwrap().success());
        for error in [open(&temp.path()).unwrap_err(), temp.read().unwrap_err()] {
            assert!(error.to_string().contains("it is not a file"), "{error}");
        }
        fs::remove_file(temp.path()).unwrap();
    }
    Connection::open(temp.path())
        .unwrap()
        .execute_batch("CREATE TABLE photos (name TEXT)")
        .unwrap();
    let before = fs::read(temp.path()).unwrap();
    for error in [open(&temp.path()).unwrap_err(), temp.read().unwrap_err()] {
        assert!(
            error.to_string().contains("a database of another program"),
            "{error}"
        );
    }
    assert_eq!(fs::read(temp.path()).unwrap(), before);
}

#[test]
fn a_newer_format_is_refused() {
    let temp = TempJournal::new();
    drop(temp.open());
    Connection::open(temp.path())
        .unwrap()
        .pragma_update(None, "user_version", 7)
        .unwrap();
    for error in [open(&temp.path()).unwrap_err(), temp.read().unwrap_err()] {
        assert_eq!(
            error,
            JournalError::NewerFormat {
                path: temp.path(),
                found: 7,
                known: 3
            }
        );
    }
}

#[test]
fn an_older_format_is_upgraded_by_the_first_command_that_opens_the_journal() {
    let temp = TempJournal::new();
    create(&temp.open(), "r1").close().unwrap();
    let set_older = Connection::open(temp.path()).unwrap();
    set_older.pragma_update(None, "user_version", 2).unwrap();
    drop(set_older);
    let error = temp.read().unwrap_err();
    assert!(
        matches!(error, JournalError::OlderFormat { found: 2, .. }),
        "{error}"
    );
    let host = Arc::new(RealHost);
    let opened = Journal::open_there(&temp.path(), Settings::default(), host).unwrap();
    assert_eq!(opened.runs(&Filter::default()).unwrap().len(), 1);
    assert_eq!(
        temp.read().unwrap().runs(&Filter::default()).unwrap().len(),
        1
    );
}

#[test]
fn reading_needs_a_journal_and_changes_nothing() {
    let temp = TempJournal::new();
    assert_eq!(
        temp.read().unwrap_err(),
        JournalError::Absent { path: temp.path() }
    );
    assert!(!temp.path().exists());
    create(&temp.open(), "r1").close().unwrap();
    let reader = temp.read().unwrap();
    assert!(matches!(
        reader.drive("r1"),
        Err(JournalError::ReadOnly { .. })
    ));
    assert!(matches!(
        reader.post("r1", "{}"),
        Err(JournalError::ReadOnly { .. })
    ));
    assert_eq!(reader.runs(&Filter::default()).unwrap().len(), 1);
}

#[test]
fn readers_see_what_is_durable_while_a_driver_writes() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    let reader = temp.read().unwrap();
    for round in 1..=20 {
        append(&mut driver, 2);
        driver.flush().unwrap();
        wait_durable(&driver, round * 2);
        assert_eq!(numbers(&reader, "r1", 1), ((1..=round * 2).collect(), None));
        assert!(reader.is_driven(&reader.run("r1").unwrap()));
    }
    let mut events = reader.events("r1", 1).unwrap();
    events.next().unwrap().unwrap();
    append(&mut driver, 5);
    driver.close().unwrap();
    assert_eq!(
        events.count(),
        39,
        "as far as they went when the reading began"
    );
    assert!(!reader.is_driven(&reader.run("r1").unwrap()));
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let temp = TempJournal::new();
    let journal = temp.open();
    let driver = create(&journal, "r1");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(temp.path().parent().unwrap()), 0o700);
    for name in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        assert_eq!(mode(&temp.path().with_file_name(name)), 0o600, "{name}");
    }
    let drivers = temp.path().with_file_name("drivers");
    assert_eq!(
        (mode(&drivers), fs::read_dir(&drivers).unwrap().count()),
        (0o700, 1)
    );
    drop(driver);
    drop(journal);
    assert_eq!(
        fs::read_dir(&drivers).unwrap().count(),
        0,
        "a driver that ends leaves nothing"
    );
}

#[test]
fn many_may_open_a_new_journal_at_once() {
    for _ in 0..10 {
        let temp = TempJournal::new();
        std::thread::scope(|scope| {
            for run in 0..6 {
                let temp = &temp;
                scope.spawn(move || create(&temp.open(), &format!("r{run}")).close().unwrap());
            }
        });
        assert_eq!(temp.open().runs(&Filter::default()).unwrap().len(), 6);
    }
}
