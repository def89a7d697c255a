//! `planrun runs retry` of runs that have ended.

use crate::support::{folder, planrun};

const PROJECT: &str = "tools:
  desk:
    process:
      command: [sh, bin/desk]
      output: json
      tools:
        - name: book
          description: Books something.
          effect: effect
          parameters: { type: object, properties: { what: { type: string } }, required: [what] }
          returns: { type: object, properties: { id: { type: string } }, required: [id] }
          arguments: [book, \"{what}\"]
        - name: cancel
          description: Cancels what was booked.
          effect: effect
          parameters: { type: object, properties: { id: { type: string } }, required: [id] }
          returns: { type: object, properties: { id: { type: string } }, required: [id] }
          arguments: [cancel, \"{id}\"]
          errors: [{ exit: 3, class: tool.closed }]
";
const DESK: &str = "[ $1 = book ] || [ -e open ] || { echo 'the desk is closed' >&2; exit 3; }
echo $1 $2 >> calls.log
echo \"{\\\"id\\\": \\\"$2\\\"}\"
";
const PLAN: &str = "use desk

plan trip(where: string) {
    step room = desk.book(what: where)
        undo desk.cancel(id: room.id)
    step flight = desk.book(what: \"flight\")
    ensure flight.id != \"flight\" else \"there is no flight\"
}
";

#[test]
fn an_undo_that_failed_is_retried_until_it_succeeds() {
    let folder = folder([
        ("planrun.yaml", PROJECT),
        ("bin/desk", DESK),
        ("trip.plan", PLAN),
    ]);
    let run = |arguments: &[&str]| {
        planrun(arguments.iter().copied())
            .within(folder.path())
            .run()
    };
    let calls = || std::fs::read_to_string(folder.path().join("calls.log")).unwrap();

    let failed = run(&["run", "trip.plan", "-i", "where=Rome", "--run-id", "r"]);
    assert_eq!(failed.status, 1, "{failed:?}");
    let tells = |told: &str, text: &str| assert!(told.contains(text), "{text}: {told}");
    tells(&failed.stderr, "not undone, since `room.undo` failed");
    tells(
        &failed.stderr,
        "try again to undo with `planrun runs retry r`",
    );
    let listed = run(&["runs", "list"]);
    tells(&listed.stdout, "validation.ensure, 1 step not undone");
    tells(&run(&["runs", "show", "r"]).stdout, "planrun runs retry r");

    let again = run(&["runs", "retry", "r"]);
    assert_eq!(again.status, 1, "{again:?}");
    tells(&again.stderr, "not undone, since `room.undo` failed");
    assert_eq!(calls(), "book Rome\nbook flight\n");

    // What can still be undone is not deleted with other runs.
    let kept = run(&["runs", "prune", "--keep", "0"]);
    assert_eq!(kept.status, 0, "{kept:?}");
    tells(&kept.stderr, "deleted 0 runs");
    tells(
        &kept.stderr,
        "kept 1 run in which a failed undo can still be retried",
    );
    let would = run(&["runs", "prune"]);
    tells(
        &would.stdout,
        "no runs would be deleted\n1 run would be kept",
    );
    let all = run(&["runs", "prune", "--all", "--dry-run"]);
    tells(&all.stdout, "1 run would be deleted:\n  r  ");

    std::fs::write(folder.path().join("open"), "").unwrap();
    let undone = run(&["runs", "retry", "r"]);
    assert_eq!(
        undone.status, 1,
        "the run has failed all the same: {undone:?}"
    );
    assert!(!undone.stderr.contains("undo"), "{undone:?}");
    assert_eq!(calls(), "book Rome\nbook flight\ncancel Rome\n");
    let shown = run(&["runs", "show", "r", "--format", "json"]).json();
    assert_eq!(shown["status"], "failed", "{shown}");
    assert!(!run(&["runs", "list"]).stdout.contains("not undone"));

    let over = run(&["runs", "retry", "r"]);
    assert_eq!(over.status, 2, "{over:?}");
    tells(&over.stderr, "the run `r` has ended: failed");
    assert_eq!(calls(), "book Rome\nbook flight\ncancel Rome\n");
    let replayed = run(&["test", "--replay", "r"]);
    assert_eq!(
        replayed.status, 0,
        "what was retried is not compared: {replayed:?}"
    );
    let pruned = run(&["runs", "prune", "--keep", "0"]);
    tells(&pruned.stderr, "deleted 1 run");
    assert!(!pruned.stderr.contains("kept"), "{pruned:?}");
}

#[test]
fn the_exit_code_of_a_cancel_and_of_its_retry_says_whether_the_effects_are_undone() {
    let plan = "use desk

plan trip(where: string) {
    step room = desk.book(what: where)
        undo desk.cancel(id: room.id)
    step go = input \"Go?\" -> { yes: bool }
    ensure go.yes else \"no\"
}
";
    let folder = folder([
        ("planrun.yaml", PROJECT),
        ("bin/desk", DESK),
        ("trip.plan", plan),
    ]);
    let run = |arguments: &[&str]| {
        planrun(arguments.iter().copied())
            .within(folder.path())
            .run()
    };
    for id in ["r", "kept"] {
        let begun = run(&["run", "trip.plan", "-i", "where=Rome", "--run-id", id]);
        assert_eq!(begun.status, 4, "{begun:?}");
    }
    let cancelled = run(&["runs", "cancel", "r"]);
    assert_eq!(cancelled.status, 1, "{cancelled:?}");
    assert_eq!(run(&["runs", "cancel", "kept", "--keep"]).status, 0);
    let again = run(&["runs", "retry", "r"]);
    assert_eq!(again.status, 1, "{again:?}");
    std::fs::write(folder.path().join("open"), "").unwrap();
    let undone = run(&["runs", "retry", "r"]);
    assert_eq!(undone.status, 0, "{undone:?}");
}
