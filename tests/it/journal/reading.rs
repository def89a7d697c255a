//! Listing runs, finding runs by a prefix of their id, reading events from the middle, and detecting alterations.

use planrun_core::journal::Summary;
use planrun_lang::protocol::RunState;
use planrun_runs::journal::store::{Damage, Filter, JournalError, Store as _};
use rusqlite::Connection;

use super::temp_journal::{TempJournal, append, create, new_run, numbers, summary};

/// Creates a run of nine events in three segments.
fn nine(temp: &TempJournal) {
    let journal = temp.open();
    for round in 0..3 {
        let mut driver = if round == 0 {
            create(&journal, "r1")
        } else {
            journal.drive("r1").unwrap()
        };
        append(&mut driver, 3);
        driver.close().unwrap();
    }
}

/// Reads the journal after a change of its tables. Returns the numbers of the events, and the damage.
fn altered(change: &str) -> (Vec<u64>, Option<Damage>) {
    let temp = TempJournal::new();
    nine(&temp);
    assert_eq!(
        Connection::open(temp.path())
            .unwrap()
            .execute(change, [])
            .unwrap(),
        1,
        "{change}"
    );
    let (numbers, error) = numbers(&temp.read().unwrap(), "r1", 1);
    let what = error.map(|error| match error {
        JournalError::Damaged { what, .. } => what,
        other => panic!("{other}"),
    });
    (numbers, what)
}

#[test]
fn events_are_read_from_any_number() {
    let temp = TempJournal::new();
    nine(&temp);
    let journal = temp.read().unwrap();
    for from in 0..12 {
        assert_eq!(
            numbers(&journal, "r1", from),
            ((from.max(1)..10).collect(), None),
            "from {from}"
        );
    }
    assert_eq!(
        numbers(&journal, "r", 1).1,
        Some(JournalError::NotFound { run: "r".into() })
    );
}

#[test]
fn whatever_is_altered_is_named() {
    let changes = [
        (
            "UPDATE segments SET text = replace(text, 'step', 'stop') WHERE id & 255 = 4",
            4,
            6,
        ),
        (
            "UPDATE segments SET text = text || '{}' || char(10) WHERE id & 255 = 4",
            4,
            6,
        ),
        (
            "UPDATE segments SET text = rtrim(text, char(10)) WHERE id & 255 = 4",
            4,
            6,
        ),
        (
            "UPDATE segments SET chain = zeroblob(32) WHERE id & 255 = 4",
            4,
            6,
        ),
        ("UPDATE segments SET last = 7 WHERE id & 255 = 4", 4, 7),
        (
            "UPDATE segments SET text = CAST(x'ff0a' AS TEXT) WHERE id & 255 = 4",
            4,
            9,
        ),
        ("UPDATE segments SET id = id + 1 WHERE id & 255 = 4", 4, 4),
        ("DELETE FROM segments WHERE id & 255 = 4", 4, 6),
        ("DELETE FROM segments WHERE id & 255 = 7", 7, 9),
        ("UPDATE runs SET head = zeroblob(32)", 7, 9),
    ];
    for (change, first, last) in changes {
        let (numbers, what) = altered(change);
        let Some(Damage::Events {
            run,
            first: from,
            last: to,
            ..
        }) = what
        else {
            panic!("{change}: {what:?}")
        };
        assert_eq!((run.as_str(), from, to), ("r1", first, last), "{change}");
        assert_eq!(numbers, (1..first).collect::<Vec<_>>(), "{change}");
    }
    // The chain starts with the identity of the run, so the first segment no longer matches.
    for change in [
        "UPDATE runs SET plan = 'x'",
        "UPDATE runs SET created_at = 5",
        "UPDATE runs SET digest = pinned",
    ] {
        let (numbers, what) = altered(change);
        assert!(
            matches!(
                what,
                Some(Damage::Events {
                    first: 1,
                    last: 3,
                    ..
                })
            ),
            "{change}: {what:?}"
        );
        assert!(numbers.is_empty());
    }
    // The last segments are removed and the row is adapted: the chain does not end where the row says.
    let (_, what) = altered("UPDATE runs SET last = 6");
    assert!(
        matches!(
            what,
            Some(Damage::Events {
                first: 4,
                last: 6,
                ..
            })
        ),
        "{what:?}"
    );
}

#[test]
fn nothing_is_put_behind_events_that_are_missing() {
    for change in [
        "DELETE FROM segments WHERE id & 255 = 7",
        "UPDATE runs SET last = 6",
        "UPDATE runs SET last = 10",
    ] {
        let temp = TempJournal::new();
        nine(&temp);
        assert_eq!(
            Connection::open(temp.path())
                .unwrap()
                .execute(change, [])
                .unwrap(),
            1
        );
        let error = temp.open().drive("r1").unwrap_err();
        assert!(
            matches!(
                &error,
                JournalError::Damaged {
                    what: Damage::Run { .. },
                    ..
                }
            ),
            "{change}: {error}"
        );
    }
}

#[test]
fn kept_values_are_proved() {
    let temp = TempJournal::new();
    nine(&temp);
    Connection::open(temp.path())
        .unwrap()
        .execute("UPDATE blobs SET bytes = x'00'", [])
        .unwrap();
    let error = temp.read().unwrap().pinned("r1").unwrap_err();
    assert!(
        matches!(
            &error,
            JournalError::Damaged {
                what: Damage::Value { .. },
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_run_is_found_by_the_beginning_of_its_id() {
    let temp = TempJournal::new();
    let journal = temp.open();
    for run in ["ab1", "ab2", "ab", "c_", "cü"] {
        drop(create(&journal, run));
    }
    let found = |prefix: &str| journal.run(prefix).map(|row| row.run.clone());
    assert_eq!(found("ab").unwrap(), "ab", "a whole id wins");
    assert_eq!(found("ab2").unwrap(), "ab2");
    assert_eq!(found("c_").unwrap(), "c_");
    assert_eq!(found("cü").unwrap(), "cü");
    assert_eq!(
        found("x").unwrap_err(),
        JournalError::NotFound { run: "x".into() }
    );
    assert_eq!(
        found("").unwrap_err(),
        JournalError::NotFound { run: String::new() }
    );
    let runs = vec!["ab".into(), "ab1".into(), "ab2".into()];
    assert_eq!(
        found("a").unwrap_err(),
        JournalError::Ambiguous {
            prefix: "a".into(),
            runs
        }
    );
}

#[test]
fn runs_are_listed_newest_first_and_filtered() {
    let temp = TempJournal::new();
    let journal = temp.open();
    for (index, (plan, state)) in [
        ("a", "running"),
        ("b", "paused"),
        ("a", "paused"),
        ("a", "failed"),
    ]
    .iter()
    .enumerate()
    {
        let run = format!("r{index}");
        let at = 100 * i128::try_from(index).unwrap();
        let new = planrun_runs::journal::store::NewRun {
            at,
            ..new_run(&run, plan)
        };
        let planrun_runs::journal::store::Created::New(mut driver) = journal.create(&new).unwrap()
        else {
            panic!()
        };
        let wake = (*state == "paused").then_some(1000 * (1000 + at));
        let summary = Summary {
            wake,
            ..summary(state)
        };
        driver.summary(summary, at + 1);
        driver.close().unwrap();
    }
    let list = |filter: Filter| -> Vec<String> {
        journal
            .runs(&filter)
            .unwrap()
            .into_iter()
            .map(|row| row.run.clone())
            .collect()
    };
    assert_eq!(list(Filter::default()), ["r3", "r2", "r1", "r0"]);
    assert_eq!(
        list(Filter {
            limit: Some(2),
            ..Filter::default()
        }),
        ["r3", "r2"]
    );
    assert_eq!(
        list(Filter {
            plan: Some("a".into()),
            ..Filter::default()
        }),
        ["r3", "r2", "r0"]
    );
    let states = vec![RunState::Paused, RunState::Failed];
    assert_eq!(
        list(Filter {
            states,
            plan: Some("a".into()),
            ..Filter::default()
        }),
        ["r3", "r2"]
    );
    assert_eq!(
        list(Filter {
            since: Some(200),
            ..Filter::default()
        }),
        ["r3", "r2"]
    );
    assert_eq!(
        list(Filter {
            due: Some(1_100_000),
            ..Filter::default()
        }),
        ["r1"]
    );
    let row = journal.run("r2").unwrap();
    assert_eq!(
        (row.created_at, row.updated_at, row.wake_at),
        (200, 201, Some(1_200_000))
    );
    assert_eq!(
        (row.steps_done, row.steps_all, row.ended),
        (1, Some(3), false)
    );
}

#[test]
fn what_does_not_fit_into_one_reading_is_read_to_its_end() {
    let temp = TempJournal::new();
    let journal = temp.open();
    let mut driver = create(&journal, "r1");
    for _ in 0..40 {
        append(&mut driver, 500);
        driver.flush().unwrap();
    }
    driver.close().unwrap();
    let last = 40 * 500;
    for from in [1, 499, 10_001, last] {
        assert_eq!(
            numbers(&journal, "r1", from),
            ((from..=last).collect(), None)
        );
    }
    drop(journal);
    let altered = Connection::open(temp.path()).unwrap().execute(
        "UPDATE segments SET text = replace(text, ?1, ?2) WHERE instr(text, ?1) > 0",
        ["{\"number\":15023,", "{\"number\":15024,"],
    );
    assert_eq!(altered, Ok(1));
    let journal = temp.read().unwrap();
    let mut events = journal.events("r1", 1).unwrap();
    let given = events.by_ref().take_while(Result::is_ok).count();
    let proved: usize = Connection::open(temp.path())
        .unwrap()
        .query_row(
            "SELECT max(last) FROM segments WHERE last < 15023",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(
        given, proved,
        "the segment that was altered is not given, and all before it is"
    );
}
