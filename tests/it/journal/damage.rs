//! Files that were truncated or altered from outside: the events are correct or the damage is reported, whatever was
//! changed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_runs::journal::store::{Journal, JournalError, Settings};
use planrun_tools::host::RealHost;

use super::temp_journal::{TempJournal, append, create, numbers, open, wait_durable};

/// Opens the journal at this path for reading.
fn read(path: &Path) -> Result<Journal, JournalError> {
    Journal::read(path, Settings::default(), Arc::new(RealHost))
}

/// Returns the number of events of `r1`, or why they cannot be read. `numbers` fails on an event that was never
/// written.
fn events(path: &Path) -> Result<u64, JournalError> {
    let (numbers, error) = numbers(&read(path)?, "r1", 1);
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    error.map_or(Ok(numbers.len() as u64), Err)
}

/// Creates a closed journal with forty events in a separate folder.
fn closed() -> (TempJournal, PathBuf) {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    for _ in 0..8 {
        append(&mut driver, 5);
        driver.flush().unwrap();
        wait_durable(&driver, driver.last());
    }
    driver.close().unwrap();
    drop(journal);
    let path = temp.path();
    assert!(
        !path.with_file_name("journal.db-wal").exists(),
        "everything is in the one file"
    );
    (temp, path)
}

#[test]
fn a_file_cut_at_any_byte_of_its_last_page_is_told() {
    let (temp, path) = closed();
    let whole = fs::read(&path).unwrap();
    assert_eq!(events(&path), Ok(40));
    let cut = temp.folder.path().join("cut.db");
    fs::write(&cut, &whole).unwrap();
    let file = File::options().write(true).open(&cut).unwrap();
    for length in (whole.len() - 4096..whole.len()).rev() {
        file.set_len(length as u64).unwrap();
        let error = events(&cut).expect_err("something is missing");
        assert!(
            matches!(error, JournalError::Damaged { .. }),
            "{length}: {error}"
        );
    }
    // Opening for writing reports the damage too, and changes nothing.
    for length in [whole.len() - 4096, whole.len() - 1, 4096, 512, 100, 20, 3] {
        fs::write(&cut, &whole[..length]).unwrap();
        let opened = open(&cut).and_then(|journal| journal.drive("r1"));
        let error = opened.expect_err("something is missing");
        assert!(
            matches!(
                error,
                JournalError::Damaged { .. } | JournalError::NoJournal { .. }
            ),
            "{length}: {error}"
        );
        assert_eq!(fs::read(&cut).unwrap(), &whole[..length]);
    }
}

#[test]
fn a_neighbour_file_cut_anywhere_leaves_the_beginning_of_the_run() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    for _ in 0..6 {
        append(&mut driver, 5);
        driver.flush().unwrap();
        wait_durable(&driver, driver.last());
    }
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("journal.db");
    fs::copy(temp.path(), &cut).unwrap();
    let wal = folder.path().join("journal.db-wal");
    let whole = fs::read(temp.path().with_file_name("journal.db-wal")).unwrap();
    drop(driver);
    fs::write(&wal, &whole).unwrap();
    assert_eq!(events(&cut), Ok(30));

    let (mut most, mut lengths) = (30, Vec::new());
    let frames = 3 * 4120;
    lengths.extend((whole.len() - frames..whole.len()).rev().step_by(5));
    lengths.extend((0..whole.len() - frames).rev().step_by(997));
    for length in lengths {
        let _ = fs::remove_file(folder.path().join("journal.db-shm"));
        fs::write(&wal, &whole[..length]).unwrap();
        match events(&cut) {
            Ok(count) => {
                assert!(
                    count <= most && count % 5 == 0,
                    "{length}: {count} after {most}"
                );
                most = count;
            }
            Err(JournalError::NotFound { .. }) => most = 0,
            Err(error) => panic!("{length}: {error}"),
        }
    }
    assert_eq!(most, 0);
}

#[test]
fn no_flipped_byte_makes_other_events() {
    let (temp, path) = closed();
    let whole = fs::read(&path).unwrap();
    let altered = temp.folder.path().join("altered.db");
    let mut reported = 0;
    for at in (0..whole.len()).step_by(61) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        fs::write(&altered, &bytes).unwrap();
        match events(&altered) {
            Ok(count) => assert_eq!(count, 40, "byte {at}"),
            Err(_) => reported += 1,
        }
    }
    assert!(reported > 20, "only {reported} were noticed");
}

#[test]
fn a_flipped_byte_in_a_segment_is_named_with_its_events() {
    let (_stage, path) = closed();
    let mut bytes = fs::read(&path).unwrap();
    let needle = b"{\"number\":23,";
    let at = bytes
        .windows(needle.len())
        .position(|window| window == needle)
        .unwrap();
    bytes[at + needle.len() + 3] ^= 1;
    fs::write(&path, bytes).unwrap();
    let message = events(&path).unwrap_err().to_string();
    assert!(
        message.contains("events 21 to 25 of the run `r1`: altered"),
        "{message}"
    );
}
