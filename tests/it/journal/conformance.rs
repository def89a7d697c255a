//! The behaviour of every store, tested for both: the file and the one in memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::Summary;
use planrun_lang::protocol::RunState;
use planrun_lang::value::{MAX_TIMESTAMP, Value};
use planrun_runs::journal::store::{
    Created, Digest, Filter, Journal, JournalError, Lease, MemoryStore, NewRun, Prune, Seen,
    Settings, Store, export, verify_export,
};
use planrun_runs::journal::{CachedResult, MAX_CACHED_BYTES};
use planrun_tools::host::RealHost;
use tempfile::TempDir;

use super::temp_journal::{line, new_run};

/// A store, and the objects that must live as long.
struct Place {
    store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

fn in_a_file() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(
        &folder.path().join("journal.db"),
        Settings::default(),
        Arc::new(RealHost),
    )
    .unwrap();
    Place {
        store: Arc::new(journal),
        _folder: Some(folder),
    }
}

fn in_memory() -> Place {
    Place {
        store: Arc::new(MemoryStore::new(Arc::new(RealHost))),
        _folder: None,
    }
}

macro_rules! held_by_both {
    ($($name:ident)*) => {
        mod file { $(#[test] fn $name() { super::$name(&*super::in_a_file().store); })* }
        mod memory { $(#[test] fn $name() { super::$name(&*super::in_memory().store); })* }
    };
}

held_by_both! {
    a_run_has_one_driver_and_events_in_order
    what_was_not_flushed_is_lost_and_the_run_is_given_back
    an_id_means_one_run
    events_out_of_order_are_refused_and_nothing_behind_them_is_written
    lists_are_filtered_and_the_newest_come_first
    what_is_said_is_given_once_until_an_event_has_it
    a_driver_wakes_when_something_is_said
    answers_are_taken_only_as_far_as_the_run_was_seen
    what_has_ended_is_deleted_with_what_only_it_refers_to
    a_result_is_recalled_under_its_key_until_it_is_too_old
    an_export_proves_itself
    what_a_driver_leaves_is_written_and_others_can_drive_the_run
    whoever_releases_a_run_is_told_of_messages_that_it_has_not_taken
    runs_that_are_kept_are_not_deleted
    a_run_that_does_not_exist_is_not_found
    filters_add_up
    events_that_are_not_one_line_are_refused
}

fn create(store: &dyn Store, new: &NewRun<'_>) -> Box<dyn Lease> {
    match store.create(new).unwrap() {
        Created::New(lease) => lease,
        Created::Exists(row) => panic!("{} is there", row.run),
    }
}

fn append(lease: &mut dyn Lease, count: u64) {
    for _ in 0..count {
        let number = lease.last() + 1;
        lease.append(number, line(number).as_bytes());
    }
}

fn summarize(lease: &mut dyn Lease, state: RunState, wake: Option<i128>) {
    let (error, note) = (None, Some("a note".to_owned()));
    lease.summarize(&Summary {
        state,
        wake,
        error,
        note,
        steps_done: 1,
        steps_all: 3,
    });
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(work)
}

/// Waits until a function of the lease returns a value.
fn wait<T>(lease: &mut dyn Lease, mut ready: impl FnMut(&mut dyn Lease) -> Option<T>) -> T {
    block_on(async {
        loop {
            if let Some(found) = ready(lease) {
                return found;
            }
            tokio::time::timeout(Duration::from_mins(1), lease.changed())
                .await
                .unwrap();
        }
    })
}

fn events(store: &dyn Store, run: &str, from: u64) -> Vec<(u64, String)> {
    store
        .events(run, from)
        .unwrap()
        .map(Result::unwrap)
        .map(|event| (event.number, event.line))
        .collect()
}

fn lines(numbers: impl Iterator<Item = u64>) -> Vec<(u64, String)> {
    numbers.map(|number| (number, line(number))).collect()
}

fn names(store: &dyn Store, filter: &Filter) -> Vec<String> {
    store
        .runs(filter)
        .unwrap()
        .into_iter()
        .map(|row| row.run.clone())
        .collect()
}

fn a_run_has_one_driver_and_events_in_order(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    append(&mut *lease, 3);
    assert!(matches!(
        store.drive("r1"),
        Err(JournalError::Driven { .. })
    ));
    assert!(store.is_driven(&store.run("r1").unwrap()));
    summarize(
        &mut *lease,
        RunState::Paused,
        Some(MAX_TIMESTAMP / 1000 * 1000),
    );
    lease.close().unwrap();
    let row = store.run("r1").unwrap();
    assert!(!store.is_driven(&row) && row.holder.is_none());
    assert_eq!(
        (row.state, row.ended, row.events, row.wake_at),
        (
            Some(RunState::Paused),
            false,
            3,
            Some(MAX_TIMESTAMP / 1000 * 1000)
        )
    );
    assert_eq!(
        (row.note.as_deref(), row.steps_done, row.steps_all),
        (Some("a note"), 1, Some(3))
    );
    let mut lease = store.drive("r1").unwrap();
    assert_eq!(lease.last(), 3);
    append(&mut *lease, 2);
    summarize(&mut *lease, RunState::Completed, None);
    lease.close().unwrap();
    assert_eq!(events(store, "r1", 1), lines(1..=5));
    assert_eq!(events(store, "r1", 4), lines(4..=5));
    assert!(events(store, "r1", 6).is_empty());
    assert!(store.run("r1").unwrap().ended);
    assert!(matches!(
        store.drive("r2"),
        Err(JournalError::NotFound { .. })
    ));
}

fn what_was_not_flushed_is_lost_and_the_run_is_given_back(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    append(&mut *lease, 2);
    lease.flush();
    append(&mut *lease, 4);
    drop(lease);
    store.wait_released("r1");
    assert_eq!(events(store, "r1", 1), lines(1..=2));
    assert_eq!(store.drive("r1").unwrap().last(), 2);
}

fn an_id_means_one_run(store: &dyn Store) {
    for run in ["ab1", "ab2", "c"] {
        create(store, &new_run(run, "plan")).close().unwrap();
    }
    assert_eq!(
        (
            store.run("c").unwrap().run.clone(),
            store.run("ab1").unwrap().plan.clone()
        ),
        ("c".into(), "plan".into())
    );
    let ambiguous = JournalError::Ambiguous {
        prefix: "ab".into(),
        runs: vec!["ab1".into(), "ab2".into()],
    };
    assert_eq!(store.run("ab"), Err(ambiguous));
    assert!(
        ["x", ""]
            .iter()
            .all(|run| matches!(store.run(run), Err(JournalError::NotFound { .. })))
    );
    let Created::Exists(row) = store.create(&new_run("c", "plan")).unwrap() else {
        panic!("it is there")
    };
    assert_eq!(
        (row.run.as_str(), store.pinned("c").unwrap().as_slice()),
        ("c", &b"{\"pinned\":1}"[..])
    );
    assert!(matches!(
        store.create(&new_run("c", "another")),
        Err(JournalError::OtherInput { .. })
    ));
    assert!(matches!(
        store.create(&new_run("a b/c", "plan")),
        Err(JournalError::Misused(_))
    ));
}

fn events_out_of_order_are_refused_and_nothing_behind_them_is_written(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    append(&mut *lease, 1);
    lease.flush();
    wait(&mut *lease, |lease| (lease.durable() >= 1).then_some(()));
    lease.append(3, b"{}");
    lease.append(2, b"{}");
    lease.flush();
    assert!(
        lease
            .broken()
            .is_some_and(|why| why.contains("event 3 was appended after event 1"))
    );
    assert!(lease.close().is_err());
    store.wait_released("r1");
    assert_eq!(events(store, "r1", 1), lines(1..=1));
}

fn lists_are_filtered_and_the_newest_come_first(store: &dyn Store) {
    for (run, plan, at, state, wake) in [
        ("a", "one", 10, RunState::Completed, None),
        ("b", "two", 30, RunState::Paused, Some(100_000)),
        ("c", "one", 20, RunState::Paused, Some(50_000)),
    ] {
        let mut lease = create(
            store,
            &NewRun {
                at,
                ..new_run(run, plan)
            },
        );
        append(&mut *lease, 1);
        summarize(&mut *lease, state, wake);
        lease.close().unwrap();
    }
    let paused = vec![RunState::Paused];
    assert_eq!(names(store, &Filter::default()), ["b", "c", "a"]);
    assert_eq!(
        names(
            store,
            &Filter {
                plan: Some("one".into()),
                ..Filter::default()
            }
        ),
        ["c", "a"]
    );
    assert_eq!(
        names(
            store,
            &Filter {
                states: paused,
                ..Filter::default()
            }
        ),
        ["b", "c"]
    );
    assert_eq!(
        names(
            store,
            &Filter {
                since: Some(20),
                ..Filter::default()
            }
        ),
        ["b", "c"]
    );
    assert_eq!(
        names(
            store,
            &Filter {
                due: Some(50_000),
                ..Filter::default()
            }
        ),
        ["c"]
    );
    assert_eq!(
        names(
            store,
            &Filter {
                limit: Some(2),
                ..Filter::default()
            }
        ),
        ["b", "c"]
    );
}

fn what_is_said_is_given_once_until_an_event_has_it(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    lease.flush();
    let first = store.post("r1", "one").unwrap();
    let second = store.post("r1", "two").unwrap();
    assert!(second > first);
    lease.close().unwrap();
    let mut lease = store.drive("r1").unwrap();
    let given: Vec<_> = lease
        .messages()
        .into_iter()
        .map(|message| (message.id, message.text))
        .collect();
    assert_eq!(given, [(first, "one".into()), (second, "two".into())]);
    assert!(lease.messages().is_empty(), "each is given once");
    append(&mut *lease, 1);
    lease.taken(first);
    lease.close().unwrap();
    let left: Vec<_> = store
        .inbox("r1")
        .unwrap()
        .into_iter()
        .map(|message| message.text)
        .collect();
    assert_eq!(left, ["two"]);
    assert!(matches!(
        store.post("r2", "x"),
        Err(JournalError::NotFound { .. })
    ));
}

fn a_driver_wakes_when_something_is_said(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    assert!(lease.messages().is_empty());
    store.post("r1", "wake up").unwrap();
    let received = wait(&mut *lease, |lease| {
        Some(lease.messages()).filter(|messages| !messages.is_empty())
    });
    assert_eq!(received[0].text, "wake up");
}

fn answers_are_taken_only_as_far_as_the_run_was_seen(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    append(&mut *lease, 2);
    lease.close().unwrap();
    let texts = ["a".to_owned(), "b".to_owned()];
    let post = |events, message| {
        store
            .post_all("r1", &texts, Seen { events, message })
            .unwrap()
    };
    assert!(!post(Some(1), 0), "the run is further");
    assert!(post(Some(2), 0));
    assert!(!post(Some(2), 0), "something was said meanwhile");
    let newest = store.inbox("r1").unwrap().last().unwrap().id;
    assert!(post(None, newest) && store.inbox("r1").unwrap().len() == 4);
}

fn what_has_ended_is_deleted_with_what_only_it_refers_to(store: &dyn Store) {
    let (shared, own) = (b"shared".as_slice(), b"own".as_slice());
    for (run, at, state, values) in [
        ("old", 10, RunState::Completed, vec![shared, own]),
        ("open", 20, RunState::Paused, vec![shared]),
        ("new", 30, RunState::Failed, vec![]),
    ] {
        let mut lease = create(
            store,
            &NewRun {
                at,
                ..new_run(run, "plan")
            },
        );
        for value in values {
            lease.keep(&Digest::of(value).to_string(), value);
        }
        append(&mut *lease, 1);
        summarize(&mut *lease, state, None);
        lease.close().unwrap();
    }
    let held = store.drive("new").unwrap();
    let rows = |prune| {
        store
            .prunable(prune)
            .unwrap()
            .into_iter()
            .map(|row| row.run.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(Prune::default()), ["old"], "somebody drives the other");
    held.close().unwrap();
    assert_eq!(rows(Prune::default()), ["new", "old"]);
    assert_eq!(
        rows(Prune {
            before: Some(0),
            keep: 0
        }),
        [""; 0]
    );
    let pruned = store
        .prune(
            Prune {
                before: None,
                keep: 1,
            },
            &BTreeSet::new(),
        )
        .unwrap();
    assert_eq!((pruned.runs, pruned.values), (vec!["old".to_owned()], 1));
    store.compact().unwrap();
    assert_eq!(store.blob(Digest::of(shared)).unwrap(), shared);
    assert_eq!(
        store.blob(Digest::of(own)),
        Err(JournalError::NoValue {
            digest: Digest::of(own)
        })
    );
    assert_eq!(names(store, &Filter::default()), ["new", "open"]);
    // One run is deleted although it has not ended, unless somebody drives it.
    let held = store.drive("open").unwrap();
    let driven = store.delete("open");
    assert!(
        matches!(driven, Err(JournalError::Driven { .. })),
        "{driven:?}"
    );
    held.close().unwrap();
    let deleted = store.delete("open").unwrap();
    assert_eq!(deleted.runs, ["open"]);
    assert_eq!(names(store, &Filter::default()), ["new"]);
    let run = "open".to_owned();
    assert_eq!(store.delete("open"), Err(JournalError::NotFound { run }));
}

fn an_export_proves_itself(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    lease.keep(&Digest::of(b"large").to_string(), b"large");
    append(&mut *lease, 3);
    lease.close().unwrap();
    let mut text = Vec::new();
    let exported = export(store, "r1", &mut text).unwrap();
    assert_eq!(
        (exported.events, exported.values, exported.head),
        (3, 2, store.run("r1").unwrap().head)
    );
    assert_eq!(verify_export(text.as_slice()).unwrap(), exported);
    let altered = String::from_utf8(text)
        .unwrap()
        .replacen("large", "small", 1);
    assert!(verify_export(altered.as_bytes()).is_err());
}

fn a_result_is_recalled_under_its_key_until_it_is_too_old(store: &dyn Store) {
    let cache = store.cache();
    let key = |text: &str| Digest::of(text.as_bytes());
    let given = |at: i128, value: Value| CachedResult {
        at,
        run: "r1".into(),
        value,
    };
    assert_eq!(cache.recall(key("a"), 0).unwrap(), None);
    // Values that plain JSON cannot represent are preserved.
    let first = given(100, Value::object([("at", Value::Timestamp(5))]));
    cache.remember(key("a"), &first).unwrap();
    assert_eq!(cache.recall(key("a"), 100).unwrap(), Some(first));
    assert_eq!(cache.recall(key("a"), 101).unwrap(), None);
    assert_eq!(cache.recall(key("b"), 0).unwrap(), None);
    // The newest result is returned, and one that is too long is not stored.
    cache
        .remember(key("a"), &given(200, Value::Int(2)))
        .unwrap();
    let kept = cache.recall(key("a"), 0).unwrap().unwrap();
    assert_eq!((kept.at, kept.value), (200, Value::Int(2)));
    let long = Value::from("x".repeat(MAX_CACHED_BYTES));
    cache.remember(key("long"), &given(300, long)).unwrap();
    assert_eq!(cache.recall(key("long"), 0).unwrap(), None);
    assert_eq!(cache.secret().unwrap(), cache.secret().unwrap());
}

fn what_a_driver_leaves_is_written_and_others_can_drive_the_run(store: &dyn Store) {
    let mut lease = create(store, &new_run("r1", "plan"));
    append(&mut *lease, 2);
    lease.keep(&Digest::of(b"large").to_string(), b"large");
    summarize(&mut *lease, RunState::Paused, None);
    let first = store.post("r1", "one").unwrap();
    assert_eq!(lease.messages().len(), 1);
    lease.taken(first);
    assert_eq!(block_on(lease.release()), Ok(false));
    let row = store.run("r1").unwrap();
    assert!(!store.is_driven(&row) && row.holder.is_none());
    assert_eq!((row.state, row.events), (Some(RunState::Paused), 2));
    assert_eq!(events(store, "r1", 1), lines(1..=2));
    assert_eq!(store.blob(Digest::of(b"large")).unwrap(), b"large");
    assert!(store.inbox("r1").unwrap().is_empty());
    let mut lease = store.drive("r1").unwrap();
    lease.append(4, b"{}");
    assert!(block_on(lease.release()).is_err(), "event 3 is missing");
    assert!(!store.is_driven(&store.run("r1").unwrap()));
    assert_eq!(events(store, "r1", 1), lines(1..=2));
}

fn whoever_releases_a_run_is_told_of_messages_that_it_has_not_taken(store: &dyn Store) {
    // Right after the lease was taken, and for a run that is new.
    let lease = create(store, &new_run("r1", "plan"));
    store.post("r1", "one").unwrap();
    assert_eq!(block_on(lease.release()), Ok(true));
    // Messages that were returned are known, whether they have been taken or not.
    let mut lease = store.drive("r1").unwrap();
    assert_eq!(lease.messages().len(), 1);
    assert_eq!(block_on(lease.release()), Ok(false));
    let mut lease = store.drive("r1").unwrap();
    assert_eq!(lease.messages().len(), 1);
    let seen = Seen {
        events: None,
        message: u64::MAX,
    };
    assert!(store.post_all("r1", &["two".to_owned()], seen).unwrap());
    assert_eq!(block_on(lease.release()), Ok(true));
    let lease = create(store, &new_run("r2", "plan"));
    assert_eq!(block_on(lease.release()), Ok(false), "it is another run");
}

fn runs_that_are_kept_are_not_deleted(store: &dyn Store) {
    for run in ["a", "b", "c"] {
        let mut lease = create(store, &new_run(run, "plan"));
        append(&mut *lease, 1);
        summarize(&mut *lease, RunState::Failed, None);
        lease.close().unwrap();
    }
    let kept = BTreeSet::from(["b".to_owned()]);
    let pruned = store.prune(Prune::default(), &kept).unwrap();
    assert_eq!(
        BTreeSet::from_iter(pruned.runs),
        ["a", "c"].map(String::from).into()
    );
    assert_eq!(names(store, &Filter::default()), ["b"]);
    assert_eq!(events(store, "b", 1), lines(1..=1));
}

fn a_run_that_does_not_exist_is_not_found(store: &dyn Store) {
    create(store, &new_run("r1", "plan")).close().unwrap();
    let seen = Seen {
        events: None,
        message: 0,
    };
    // A prefix is not an id.
    for run in ["r", "r2"] {
        let errors = [
            store.drive(run).err(),
            store.events(run, 1).err(),
            store.pinned(run).err(),
            store.values(run).err(),
            store.inbox(run).err(),
            store.post(run, "x").err(),
            store.post_all(run, &["x".to_owned()], seen).err(),
            store.delete(run).err(),
        ];
        let run = run.to_owned();
        let missing = Some(JournalError::NotFound { run });
        assert!(errors.iter().all(|error| *error == missing), "{errors:?}");
    }
    assert!(store.inbox("r1").unwrap().is_empty());
}

fn filters_add_up(store: &dyn Store) {
    for (run, plan, at, state, wake) in [
        ("a", "one", 10, Some(RunState::Paused), Some(10_000)),
        ("b", "one", 20, Some(RunState::Paused), Some(90_000)),
        ("c", "two", 30, Some(RunState::Paused), Some(10_000)),
        ("d", "one", 40, Some(RunState::Running), Some(10_000)),
        ("e", "one", 50, Some(RunState::Paused), Some(20_000)),
        ("f", "one", 60, None, None),
        ("g", "two", 70, None, None),
    ] {
        let new = NewRun {
            at,
            ..new_run(run, plan)
        };
        let mut lease = create(store, &new);
        if let Some(state) = state {
            append(&mut *lease, 1);
            summarize(&mut *lease, state, wake);
        }
        lease.close().unwrap();
    }
    let due = Filter {
        plan: Some("one".into()),
        states: vec![RunState::Paused],
        due: Some(50_000),
        ..Filter::default()
    };
    assert_eq!(names(store, &due), ["e", "a"]);
    let limited = Filter {
        limit: Some(1),
        ..due.clone()
    };
    assert_eq!(names(store, &limited), ["e"]);
    let old = Filter {
        since: Some(20),
        ..due
    };
    assert_eq!(names(store, &old), ["e"]);
    let pending = Filter {
        plan: Some("one".into()),
        pending: true,
        ..Filter::default()
    };
    assert_eq!(names(store, &pending), ["f"]);
    let or_running = Filter {
        states: vec![RunState::Running],
        ..pending
    };
    assert_eq!(names(store, &or_running), ["f", "d"]);
}

fn events_that_are_not_one_line_are_refused(store: &dyn Store) {
    for (index, bad) in [&b""[..], b"{}\n", b"{\n}", b"\xff"]
        .into_iter()
        .enumerate()
    {
        let run = format!("r{index}");
        let mut lease = create(store, &new_run(&run, "plan"));
        append(&mut *lease, 1);
        lease.flush();
        wait(&mut *lease, |lease| (lease.durable() >= 1).then_some(()));
        lease.append(2, bad);
        assert!(lease.broken().is_some(), "{bad:?}");
        // Nothing follows an event that is missing.
        lease.append(2, b"{}");
        lease.append(3, b"{}");
        lease.flush();
        assert!(block_on(lease.release()).is_err(), "{bad:?}");
        store.wait_released(&run);
        assert_eq!(events(store, &run, 1), lines(1..=1), "{bad:?}");
    }
}
