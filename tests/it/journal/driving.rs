//! Writing events, by one process at a time.

use std::sync::Arc;
use std::time::Duration;

use planrun_runs::journal::store::{
    Created, Digest, Journal, JournalError, Settings, Store as _, Synchronous,
};
use planrun_tools::host::RealHost;

use super::temp_journal::{
    TempJournal, append, create, machine, new_run, numbers, summary, wait_durable,
};

#[test]
fn what_is_appended_and_flushed_is_read_back() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    append(&mut driver, 3);
    assert_eq!(
        numbers(&journal, "r1", 1).0,
        [0; 0],
        "nothing is on disk before a flush"
    );
    driver.flush().unwrap();
    wait_durable(&driver, 3);
    assert_eq!(numbers(&journal, "r1", 1), (vec![1, 2, 3], None));
    append(&mut driver, 2);
    driver.summary(summary("completed"), 5);
    driver.close().unwrap();
    let journal = temp.open();
    assert_eq!(numbers(&journal, "r1", 3), (vec![3, 4, 5], None));
    let row = journal.run("r1").unwrap();
    assert_eq!(
        (row.state_name(), row.ended, row.events, row.holder.clone()),
        ("completed", true, 5, None)
    );
    assert_eq!(journal.pinned("r1").unwrap(), b"{\"pinned\":1}");
}

#[test]
fn a_run_goes_on_where_it_ended() {
    let temp = TempJournal::new();
    create(&temp.open(), "r1").close().unwrap();
    for round in 1..=4 {
        let mut driver = temp.open().drive("r1").unwrap();
        assert!(!driver.after_crash());
        append(&mut driver, 2);
        assert_eq!(driver.last(), round * 2);
        driver.close().unwrap();
    }
    assert_eq!(numbers(&temp.open(), "r1", 1).0.len(), 8);
}

#[test]
fn a_dropped_driver_gives_its_run_back_with_what_it_flushed() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    for round in 1..=20 {
        append(&mut driver, 1);
        driver.flush().unwrap();
        append(&mut driver, 1);
        drop(driver);
        driver = journal.drive("r1").unwrap();
        assert_eq!((driver.last(), driver.after_crash()), (round, false));
    }
}

#[test]
fn the_same_run_is_found_and_another_of_its_name_is_refused() {
    let temp = TempJournal::new();
    let journal = temp.open();
    drop(create(&journal, "r1"));
    let Created::Exists(row) = journal.create(&new_run("r1", "plan")).unwrap() else {
        panic!("it is new again")
    };
    assert_eq!((row.run.as_str(), row.plan.as_str()), ("r1", "plan"));
    let other = journal.create(&new_run("r1", "another plan")).unwrap_err();
    let (there, given) = (Digest::of(b"plan"), Digest::of(b"another plan"));
    assert_eq!(
        other,
        JournalError::OtherInput {
            run: "r1".into(),
            there,
            given
        }
    );
    assert!(
        other.to_string().contains(&there.to_string())
            && other.to_string().contains(&given.to_string())
    );
}

#[test]
fn one_process_at_a_time_drives_a_run() {
    let temp = TempJournal::new();
    let (first, second) = (temp.open(), temp.open());
    let driver = create(&first, "r1");
    for journal in [&first, &second] {
        let error = journal.drive("r1").unwrap_err();
        let JournalError::Driven { holder, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(holder.process, std::process::id());
        assert!(journal.is_driven(&journal.run("r1").unwrap()));
        assert!(
            error
                .to_string()
                .starts_with(&format!("process {} on `", holder.process)),
            "{error}"
        );
    }
    driver.close().unwrap();
    second.drive("r1").unwrap().close().unwrap();
    assert_eq!(
        second.drive("r2").unwrap_err(),
        JournalError::NotFound { run: "r2".into() }
    );
}

#[test]
fn on_one_machine_no_clock_takes_a_run_away() {
    let temp = TempJournal::new();
    let host = machine("one");
    let (first, second) = (temp.open_on(&host), temp.open_on(&host));
    let mut driver = create(&first, "r1");
    for jump in [86_400_000_000_000, -86_400_000_000_000, 1 << 62] {
        host.set_now(1_767_225_600_000_000_000 + jump);
        assert!(
            matches!(second.drive("r1"), Err(JournalError::Driven { .. })),
            "after a jump of {jump}"
        );
        append(&mut driver, 1);
        driver.flush().unwrap();
        wait_durable(&driver, driver.last());
    }
    driver.close().unwrap();
    assert_eq!(numbers(&second, "r1", 1).0, [1, 2, 3]);
}

#[test]
fn a_driver_of_another_machine_keeps_its_run_for_its_time_and_is_fenced_after_it() {
    let temp = TempJournal::new();
    let (here, there) = (machine("here"), machine("there"));
    let (near, far) = (temp.open_on(&here), temp.open_on(&there));
    let mut late = create(&near, "r1");
    append(&mut late, 2);
    late.flush().unwrap();
    wait_durable(&late, 2);
    there.advance(Duration::from_secs(29));
    assert!(matches!(far.drive("r1"), Err(JournalError::Driven { .. })));
    there.advance(Duration::from_secs(2));
    let mut next = far.drive("r1").unwrap();
    assert!(next.after_crash());
    append(&mut next, 1);
    next.flush().unwrap();
    wait_durable(&next, 3);
    append(&mut late, 4);
    late.summary(summary("failed"), 1);
    // The first flush may succeed before the writer detects the loss of the lease.
    let _ = late.flush();
    assert_eq!(
        late.close().unwrap_err(),
        JournalError::Fenced { run: "r1".into() }
    );
    append(&mut next, 1);
    next.close().unwrap();
    assert_eq!(numbers(&far, "r1", 1), (vec![1, 2, 3, 4], None));
    assert_eq!(far.run("r1").unwrap().state, None);
}

#[test]
fn a_renewed_lease_is_not_taken() {
    let temp = TempJournal::new();
    let (here, there) = (machine("here"), machine("there"));
    let (near, far) = (temp.open_on(&here), temp.open_on(&there));
    let driver = create(&near, "r1");
    let until = near.run("r1").unwrap().holder.unwrap().until;
    here.advance(Duration::from_secs(20));
    while near.run("r1").unwrap().holder.unwrap().until == until {
        std::thread::yield_now();
    }
    there.advance(Duration::from_secs(45));
    assert!(matches!(far.drive("r1"), Err(JournalError::Driven { .. })));
    drop(driver);
}

#[test]
fn what_is_out_of_order_or_no_line_fails_its_driver_and_no_other() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let wrong: [(u64, &[u8]); 5] = [(3, b"{}"), (1, b"{}"), (2, b"{\n}"), (2, b"\xff"), (2, b"")];
    for (index, (number, line)) in wrong.into_iter().enumerate() {
        let run = format!("r{index}");
        let mut driver = create(&journal, &run);
        append(&mut driver, 1);
        driver.flush().unwrap();
        driver.append(number, line);
        append(&mut driver, 1);
        assert!(
            matches!(driver.flush(), Err(JournalError::Misused(_))),
            "{number}"
        );
        assert!(matches!(driver.close(), Err(JournalError::Misused(_))));
        assert!(numbers(&journal, &run, 1).0.len() <= 1);
    }
    let mut driver = create(&journal, "good");
    driver.keep(Digest::of(b"a"), b"a".as_slice());
    append(&mut driver, 1);
    driver.close().unwrap();
    assert_eq!(journal.blob(Digest::of(b"a")).unwrap(), b"a");
    let mut driver = journal.drive("good").unwrap();
    driver.keep(Digest::of(b"a"), b"b".as_slice());
    assert!(matches!(driver.flush(), Err(JournalError::Misused(_))));
}

/// Opens a journal whose commits do not wait for the disk.
fn normal(temp: &TempJournal) -> Journal {
    let settings = Settings {
        synchronous: Synchronous::Normal,
        ..Settings::default()
    };
    Journal::open(&temp.path(), settings, Arc::new(RealHost)).unwrap()
}

#[test]
fn what_waits_for_no_disk_is_written_before_the_flush_returns() {
    let temp = TempJournal::new();
    let journal = normal(&temp);
    let mut driver = create(&journal, "r1");
    for round in 1..=50 {
        append(&mut driver, 2);
        driver.flush().unwrap();
        // The thread may have been just about to check for work; then it writes it.
        wait_durable(&driver, round * 2);
    }
    driver.close().unwrap();
    assert_eq!(
        numbers(&temp.read().unwrap(), "r1", 1),
        ((1..=100).collect(), None)
    );
}

#[test]
fn a_flush_does_not_wait_for_another_process_that_writes() {
    let temp = TempJournal::new();
    let journal = normal(&temp);
    let mut driver = create(&journal, "r1");
    let other = rusqlite::Connection::open(temp.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    for _ in 0..3 {
        append(&mut driver, 2);
        driver.flush().unwrap();
        assert_eq!(
            driver.durable().borrow().through,
            0,
            "the other one holds the file"
        );
    }
    other.execute_batch("ROLLBACK").unwrap();
    wait_durable(&driver, 6);
    driver.close().unwrap();
    assert_eq!(
        numbers(&temp.read().unwrap(), "r1", 1),
        ((1..=6).collect(), None)
    );
}

#[test]
fn many_runs_of_one_process_are_written_side_by_side() {
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        written_side_by_side(synchronous);
    }
}

fn written_side_by_side(synchronous: Synchronous) {
    let temp = TempJournal::new();
    let settings = Settings {
        synchronous,
        ..Settings::default()
    };
    let journal = Journal::open(&temp.path(), settings, Arc::new(RealHost)).unwrap();
    std::thread::scope(|scope| {
        for run in 0..8 {
            let journal = &journal;
            scope.spawn(move || {
                let mut driver = create(journal, &format!("r{run}"));
                for _ in 0..20 {
                    append(&mut driver, 1 + run);
                    driver.flush().unwrap();
                }
                driver.close().unwrap();
            });
        }
    });
    let reader = temp.read().unwrap();
    for run in 0..8 {
        let (numbers, error) = numbers(&reader, &format!("r{run}"), 1);
        assert_eq!((numbers.len() as u64, error), (20 * (1 + run), None));
    }
}

#[test]
fn a_run_that_cannot_be_written_fails_no_other_in_the_same_transaction() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut leases = ["waits", "spoilt", "sound"].map(|run| create(&journal, run));
    let blocker = rusqlite::Connection::open(temp.path()).unwrap();
    // A row where the events of the second run belong.
    let spoil = "INSERT INTO segments (id, last, chain, text)
                 SELECT (id << 32) + 1, 1, head, 'x' FROM runs WHERE run = 'spoilt'";
    blocker.execute(spoil, []).unwrap();
    // While the file is locked, the writer waits with the first run, and the others go into the next transaction.
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    for lease in &mut leases {
        append(lease, 2);
        lease.flush().unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }
    blocker.execute_batch("ROLLBACK").unwrap();
    let [waits, spoilt, sound] = leases;
    wait_durable(&waits, 2);
    wait_durable(&sound, 2);
    let mut progress = spoilt.durable();
    while progress.borrow_and_update().failure.is_none() {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(progress.borrow().through, 0);
    let error = spoilt.close().unwrap_err();
    assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
    for lease in [waits, sound] {
        lease.close().unwrap();
    }
    assert_eq!(numbers(&journal, "sound", 1), (vec![1, 2], None));
    assert_eq!(journal.run("spoilt").unwrap().holder, None);
}
