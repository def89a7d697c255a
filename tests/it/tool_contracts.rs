//! Locked contracts of tools, and servers whose tools have changed when a plan calls them.

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::mcp::{calling, calls, project, run};

/// Makes the scripted server offer `echo` with a contract that differs from the locked one.
fn offer(place: &TempDir, properties: &Json, required: &Json) {
    let tools = json!([{
        "name": "echo",
        "inputSchema": { "type": "object", "properties": properties, "required": required },
        "annotations": { "readOnlyHint": true },
    }]);
    std::fs::write(place.path().join("tools.json"), tools.to_string()).unwrap();
}

/// Makes the server require a language for each echo.
fn offer_wanting_a_language(place: &TempDir) {
    let text = json!({ "type": "string" });
    let properties = json!({ "text": text, "language": text });
    offer(place, &properties, &json!(["text", "language"]));
}

#[test]
fn nothing_is_started_where_a_contract_has_changed_so_that_calls_may_be_wrong() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    offer_wanting_a_language(&place);
    let text = json!({ "type": "string" });
    let refused = run(&place, &["run", "a.plan"]);
    assert_eq!(refused.status, 1, "{refused:?}");
    let message =
        "the contract of `notes.echo` has changed since it was pinned: it now requires `language`";
    for expected in [
        "contract-broken",
        message,
        "a.plan:4:18",
        "planrun tools lock",
        "the run was not started",
    ] {
        assert!(
            refused.stderr.contains(expected),
            "{expected}: {}",
            refused.stderr
        );
    }
    assert_eq!(calls(&place), [] as [Json; 0]);
    assert_eq!(run(&place, &["runs", "list"]).stdout.lines().count(), 0);

    offer(
        &place,
        &json!({ "text": text, "language": text }),
        &json!(["text"]),
    );
    let fine = run(&place, &["run", "a.plan"]);
    assert_eq!((fine.status, &*fine.stdout), (0, "x\n"), "{fine:?}");

    offer(&place, &json!({ "words": text }), &json!([]));
    let renamed = run(&place, &["run", "a.plan"]);
    assert!(
        renamed.stderr.contains("it no longer takes `text`"),
        "{}",
        renamed.stderr
    );
}

/// Runs a plan during which the server changes a contract. Returns the project and the error output of the paused run.
fn changed_in_mid_run() -> Option<(TempDir, String)> {
    let plan = "use notes\n\nplan a() -> any {\n    step changed = notes.change()\n    step given = notes.echo(text: \"x\") recover => \"caught\"\n    reply given\n}\n";
    let place = project(plan)?;
    let paused = run(&place, &["run", "a.plan", "--run-id", "r"]);
    assert_eq!(paused.status, 4, "{paused:?}");
    let called: Vec<Json> = calls(&place)
        .into_iter()
        .map(|call| call["tool"].clone())
        .collect();
    assert_eq!(called, ["change"]);
    Some((place, paused.stderr))
}

#[test]
fn a_step_whose_contract_changes_in_mid_run_pauses_and_no_arm_catches_it() {
    let Some((place, stderr)) = changed_in_mid_run() else {
        return;
    };
    for expected in [
        "denied.contract",
        "it now requires `language`",
        "planrun tools lock",
    ] {
        assert!(stderr.contains(expected), "{expected}: {stderr}");
    }
    let again = run(&place, &["runs", "resume", "r"]);
    assert_eq!(again.status, 4, "{again:?}");
    // The server offers the original contract again.
    std::fs::remove_file(place.path().join("tools.json")).unwrap();
    let resumed = run(&place, &["runs", "resume", "r"]);
    assert_eq!(
        (resumed.status, &*resumed.stdout),
        (0, "x\n"),
        "{resumed:?}"
    );
}

#[test]
fn a_run_takes_up_a_contract_that_was_pinned_anew_by_a_patch() {
    let Some((place, _)) = changed_in_mid_run() else {
        return;
    };
    assert_eq!(run(&place, &["tools", "lock", "--accept", "all"]).status, 0);
    let old = run(&place, &["runs", "patch", "r", "a.plan"]);
    assert_eq!(old.status, 1, "the plan names no language: {old:?}");
    let plan = std::fs::read_to_string(place.path().join("a.plan")).unwrap();
    let plan = plan.replace("text: \"x\"", "text: \"x\", language: \"en\"");
    std::fs::write(place.path().join("a.plan"), plan).unwrap();
    let patched = run(&place, &["runs", "patch", "r", "a.plan", "--resume"]);
    assert_eq!(
        (patched.status, &*patched.stdout),
        (0, "x\n"),
        "{patched:?}"
    );
}

#[test]
fn what_has_changed_at_a_server_is_told_with_the_plans_that_it_breaks() {
    let Some(place) = project(&calling("notes.echo(text: \"x\")")) else {
        return;
    };
    let same = run(&place, &["tools", "diff"]);
    assert_eq!((same.status, &*same.stdout), (0, ""), "{same:?}");
    offer_wanting_a_language(&place);
    let diff = run(&place, &["tools", "diff"]);
    assert_eq!(diff.status, 1, "{diff:?}");
    for expected in [
        "notes.echo has a new contract: it now requires `language`\n",
        "notes.wipe was removed\n",
        "missing-argument",
        "a.plan:4:18",
    ] {
        assert!(
            diff.stdout.contains(expected),
            "{expected}: {}",
            diff.stdout
        );
    }
    let document = run(&place, &["tools", "diff", "--format", "json"]).json();
    let echo =
        json!({ "tool": "notes.echo", "change": "broken", "why": "it now requires `language`" });
    assert!(
        document["tools"].as_array().unwrap().contains(&echo),
        "{document}"
    );
    assert_eq!(document["diagnostics"][0]["code"], "missing-argument");
    // The plan is still correct for the locked contracts.
    assert_eq!(run(&place, &["check", "a.plan"]).status, 0);
}

/// `contract-broken` is found by connecting, so its page is tested here and not with the other pages.
#[test]
fn the_page_of_a_broken_contract_says_what_is_so() {
    let page = crate::check::parse(planrun_lang::diag::codes::contracts::CONTRACT_BROKEN.page);
    let plan = |text: Option<Vec<u8>>| String::from_utf8(text.unwrap()).unwrap();
    let Some(place) = project(&plan(page.bad)) else {
        return;
    };
    offer_wanting_a_language(&place);
    let bad = run(&place, &["run", "a.plan"]);
    assert!(
        bad.status == 1 && bad.stderr.contains("contract-broken"),
        "{bad:?}"
    );
    assert_eq!(run(&place, &["tools", "lock", "--accept", "all"]).status, 0);
    std::fs::write(place.path().join("a.plan"), plan(page.good)).unwrap();
    let good = run(&place, &["run", "a.plan"]);
    assert_eq!((good.status, &*good.stdout), (0, "x\n"), "{good:?}");
}

#[test]
fn what_results_looked_like_is_learned_and_offered_as_a_declaration() {
    let plan = "use notes\n\nplan a() -> any {\n    step given = notes.environment()\n    reply given.names\n}\n";
    let Some(place) = project(&calling("notes.environment()")) else {
        return;
    };
    assert_eq!(run(&place, &["tools", "learn"]).status, 0);
    assert_eq!(run(&place, &["run", "a.plan"]).status, 0);
    let learned = run(&place, &["tools", "learn"]);
    assert_eq!(
        (learned.status, &*learned.stdout),
        (0, "notes.environment: string[] (1 seen)\n")
    );
    let lock = std::fs::read_to_string(place.path().join("planrun.lock")).unwrap();
    assert!(
        lock.contains("\"observed\"") && !lock.contains("\"PATH\""),
        "kinds, and no values: {lock}"
    );

    std::fs::write(place.path().join("a.plan"), plan).unwrap();
    let checked = run(&place, &["check", "a.plan", "--format", "json"]).json();
    let found: Vec<(&str, &str)> = checked["diagnostics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| {
            (
                found["code"].as_str().unwrap(),
                found["severity"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("observed-read", "note"),
            ("effect-unknown", "note"),
            ("observed-read", "warning")
        ],
        "{checked}"
    );

    std::fs::write(
        place.path().join("a.plan"),
        plan.replace("given.names", "given[0]"),
    )
    .unwrap();
    let fixed = run(&place, &["check", "a.plan", "--unsafe-fix"]);
    assert_eq!(fixed.status, 0, "{fixed:?}");
    let declared = std::fs::read_to_string(place.path().join("a.plan")).unwrap();
    assert!(
        declared.contains("tool notes.environment() -> string[]"),
        "{declared}"
    );
    assert_eq!(
        run(&place, &["check", "a.plan", "--deny", "warnings"]).status,
        0
    );
    assert_eq!(run(&place, &["run", "a.plan"]).status, 0);
}
