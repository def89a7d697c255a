//! Other processes that are killed and compete: this test program, started again.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use planrun_runs::journal::store::{Digest, JournalError, Store as _};

use super::temp_journal::{TempJournal, append, create, numbers, open, wait_durable};

/// Environment variable with the role of the started process.
const ROLE: &str = "PLANRUN_TEST_JOURNAL_ROLE";
const PATH: &str = "PLANRUN_TEST_JOURNAL_PATH";

/// Starts this program again, with only [`a_started_process`].
fn start(role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "journal::processes::a_started_process",
            "--exact",
            "--nocapture",
        ])
        .env(ROLE, role)
        .env(PATH, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Started by the other tests; on its own it does nothing.
#[test]
fn a_started_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let path = std::env::var(PATH).unwrap();
    match role.as_str() {
        "write" => write_for_ever(path.as_ref()),
        "race" => race(path.as_ref()),
        other => panic!("{other}"),
    }
}

/// Writes until it is killed, and prints what is durable.
fn write_for_ever(path: &Path) {
    let journal = open(path).unwrap();
    let mut driver = create(&journal, "r1");
    loop {
        let value = format!("\"value {}\"", driver.last());
        driver.keep(Digest::of(value.as_bytes()), value);
        append(&mut driver, 3);
        driver.flush().unwrap();
        let handed = driver.last();
        append(&mut driver, 2);
        wait_durable(&driver, handed);
        let mut out = std::io::stdout().lock();
        writeln!(out, "\ndurable {handed}").unwrap();
        out.flush().unwrap();
    }
}

/// Drives the run repeatedly, and appends one event each time.
fn race(path: &Path) {
    let journal = open(path).unwrap();
    let mut turns = 0;
    while turns < 20 {
        match journal.drive("r1") {
            Ok(mut driver) => {
                append(&mut driver, 1);
                driver.close().unwrap();
                turns += 1;
            }
            Err(JournalError::Driven { .. }) => std::thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn what_a_killed_process_was_told_durable_is_there() {
    for round in 1..=5_usize {
        let temp = TempJournal::new();
        let mut child = start("write", &temp.path());
        let mut reported = 0;
        let lines = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut durable =
            lines.filter_map(|line| line.strip_prefix("durable ")?.parse::<u64>().ok());
        for _ in 0..round * 7 {
            reported = durable
                .next()
                .expect("the process writes until it is killed");
        }
        child.kill().unwrap();
        reported = durable.last().unwrap_or(reported);
        child.wait().unwrap();

        let reader = temp.read().unwrap();
        let (there, error) = numbers(&reader, "r1", 1);
        assert_eq!(error, None);
        assert_eq!(there, (1..=there.len() as u64).collect::<Vec<_>>());
        assert!(
            there.len() as u64 >= reported,
            "{reported} were told, {} are there",
            there.len()
        );
        let row = reader.run("r1").unwrap();
        assert!(
            row.holder.is_some() && !reader.is_driven(&row),
            "it did not give the run back, and is dead"
        );
        reader.blob(Digest::of(b"\"value 0\"")).unwrap();

        let journal = temp.open();
        let mut driver = journal
            .drive("r1")
            .expect("a run of a dead process is free at once");
        assert!(driver.after_crash());
        append(&mut driver, 1);
        driver.close().unwrap();
        assert_eq!(numbers(&journal, "r1", 1).0.len(), there.len() + 1);
        let drivers = temp.path().with_file_name("drivers");
        assert_eq!(
            std::fs::read_dir(drivers).unwrap().count(),
            1,
            "the lock of the dead is cleared away"
        );
    }
}

#[test]
fn processes_that_race_for_a_run_write_one_after_the_other() {
    let temp = TempJournal::new();
    create(&temp.open(), "r1").close().unwrap();
    let children: Vec<_> = (0..3).map(|_| start("race", &temp.path())).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    assert_eq!(numbers(&temp.open(), "r1", 1), ((1..=60).collect(), None));
}
