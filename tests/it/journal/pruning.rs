//! Deleting runs that have ended, and the values that only they referred to.

use planrun_runs::journal::store::{
    Created, Digest, Filter, Journal, JournalError, NewRun, Prune, Store as _,
};
use std::collections::BTreeSet;

use super::temp_journal::{TempJournal, append, create, new_run, numbers, summary};

/// Creates a run at this time, with this state and these values.
fn run(journal: &Journal, run: &str, state: &str, at: i128, values: &[&str]) {
    let Created::New(mut driver) = journal
        .create(&NewRun {
            at,
            ..new_run(run, "plan")
        })
        .unwrap()
    else {
        panic!()
    };
    for value in values {
        driver.keep(Digest::of(value.as_bytes()), *value);
    }
    append(&mut driver, 3);
    driver.summary(summary(state), at);
    driver.close().unwrap();
}

fn names(journal: &Journal) -> Vec<String> {
    journal
        .runs(&Filter::default())
        .unwrap()
        .into_iter()
        .map(|row| row.run.clone())
        .collect()
}

fn four(temp: &TempJournal) -> Journal {
    let journal = temp.open();
    run(&journal, "old", "completed", 100, &["shared", "own"]);
    run(&journal, "paused", "paused", 150, &["shared"]);
    run(&journal, "middle", "failed", 200, &[]);
    run(&journal, "new", "completed", 300, &[]);
    journal
}

#[test]
fn old_runs_go_with_what_only_they_referred_to() {
    let temp = TempJournal::new();
    let journal = four(&temp);
    journal.post("old", "{}").unwrap();
    let pruned = journal
        .prune(
            Prune {
                before: Some(200),
                keep: 0,
            },
            &BTreeSet::new(),
        )
        .unwrap();
    assert_eq!((pruned.runs, pruned.values), (vec!["old".to_owned()], 1));
    assert_eq!(names(&journal), ["new", "middle", "paused"]);
    assert_eq!(journal.blob(Digest::of(b"shared")).unwrap(), b"shared");
    let own = Digest::of(b"own");
    assert_eq!(
        journal.blob(own).unwrap_err(),
        JournalError::NoValue { digest: own }
    );
    assert!(
        journal.pinned("paused").is_ok(),
        "the pinned document is shared, too"
    );
    journal.compact().unwrap();
    assert_eq!(numbers(&journal, "middle", 1), (vec![1, 2, 3], None));
    // A new run with the same name is a different run.
    run(&journal, "old", "completed", 400, &[]);
    assert_eq!(numbers(&journal, "old", 1).0.len(), 3);
    assert_eq!(journal.drive("old").unwrap().inbox().unwrap(), []);
}

#[test]
fn the_newest_and_whatever_is_driven_or_goes_on_stays() {
    let temp = TempJournal::new();
    let journal = four(&temp);
    let driven = journal.drive("old").unwrap();
    assert_eq!(
        journal
            .prune(
                Prune {
                    before: None,
                    keep: 1
                },
                &BTreeSet::new()
            )
            .unwrap()
            .runs,
        ["middle"]
    );
    driven.close().unwrap();
    assert_eq!(
        journal
            .prune(Prune::default(), &BTreeSet::new())
            .unwrap()
            .runs,
        ["new", "old"]
    );
    assert_eq!(names(&journal), ["paused"]);
}

#[test]
fn a_late_writer_of_a_deleted_run_is_fenced() {
    let temp = TempJournal::new();
    let (near, far) = (
        temp.open_on(&super::temp_journal::machine("near")),
        temp.open_on(&super::temp_journal::machine("far")),
    );
    let mut late = create(&near, "r1");
    append(&mut late, 1);
    late.summary(summary("completed"), 1);
    late.flush().unwrap();
    super::temp_journal::wait_durable(&late, 1);
    let host = super::temp_journal::machine("third");
    host.advance(std::time::Duration::from_mins(1));
    assert_eq!(
        temp.open_on(&host)
            .prune(Prune::default(), &BTreeSet::new())
            .unwrap()
            .runs,
        ["r1"]
    );
    let again = create(&far, "r1");
    append(&mut late, 1);
    let _ = late.flush();
    assert_eq!(
        late.close().unwrap_err(),
        JournalError::Fenced { run: "r1".into() }
    );
    again.close().unwrap();
    assert_eq!(numbers(&far, "r1", 1), (vec![], None));
}
