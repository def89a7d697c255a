//! The details of a failure in addition to its message: from the answer of a tool to the arm of a plan, and in
//! everything that stores them.

use axum::routing::post;
use axum::{Json as Body, Router};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::openapi::{answered, server};
use crate::support::{Output, folder, planrun};

const PLAN: &str = "use desk

plan p(size: int) -> any {
    policy { on_failure: settle }
    step one = desk.book(size: size)
        recover tool.taken as e => e.details
    step two = desk.book(size: size)
    reply { one: one, first: one.data.free[0] ?? \"nothing\" }
}
";

/// Starts a server with one tool that fails with a list of this length.
async fn desk() -> TempDir {
    let answer = |Body(call): Body<Json>| async move {
        let size = call["args"]["size"].as_u64().unwrap();
        let free: Vec<&str> = (0..size).map(|_| "09:30").collect();
        Body(
            json!({ "success": false, "reason": "taken", "error": "that hour is taken", "data": { "free": free } }),
        )
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().route("/", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let app = format!(
        "name: desk\ntools:\n  - name: book\n    endpoint: \"http://{address}/\"\n    effect: read\n    parameters: {{ type: object, properties: {{ size: {{ type: integer }} }}, required: [size] }}\n    errors: [taken]\n"
    );
    folder([
        ("p.plan", PLAN.to_owned()),
        ("apps/desk.yaml", app),
        ("planrun.yaml", "apps: [apps/*.yaml]\n".to_owned()),
    ])
}

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_reads_what_a_tool_says_of_its_failure_and_a_run_keeps_it() {
    let place = desk().await;
    let ran = run(
        &place,
        &[
            "run", "p.plan", "-i", "size=2", "--run-id", "r1", "--format", "json",
        ],
    );
    let answer = json!({ "success": false, "reason": "taken", "error": "that hour is taken", "data": { "free": ["09:30", "09:30"] } });
    let json = ran.json();
    assert_eq!(
        json["reply"],
        json!({ "one": answer, "first": "09:30" }),
        "{ran:?}"
    );
    assert_eq!(json["error"]["details"], answer, "{ran:?}");
    let run_json = run(&place, &["runs", "show", "r1", "--format", "json"]).json();
    assert_eq!(
        run_json["steps"][0]["recovered"]["details"], answer,
        "{run_json}"
    );
    assert_eq!(
        run_json["steps"][1]["error"]["details"], answer,
        "{run_json}"
    );
    let events = run(&place, &["runs", "events", "r1", "--format", "ndjson"]).stdout;
    let recorded = events
        .lines()
        .filter(|line| line.contains(&format!("\"details\":{answer}")));
    assert_eq!(recorded.count(), 3, "{events}");
    let replayed = run(&place, &["test", "--replay", "r1"]);
    assert_eq!(replayed.status, 0, "{replayed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn details_beyond_their_bound_are_left_out_and_the_message_says_so() {
    let place = desk().await;
    let ran = run(
        &place,
        &[
            "run",
            "p.plan",
            "-i",
            "size=3000",
            "--run-id",
            "r1",
            "--format",
            "json",
        ],
    )
    .json();
    assert_eq!(ran["reply"], json!({ "one": null, "first": "nothing" }));
    assert_eq!(
        ran["error"]["message"],
        "desk.book: that hour is taken (its details are omitted: they have 24081 bytes, and at most 16384 are kept)"
    );
    assert_eq!(ran["error"]["details"], Json::Null);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_failure_of_a_mock_has_details_and_a_recording_keeps_them() {
    let place = desk().await;
    let test = |name: &str, mocks: &str| {
        format!(
            "use \"./p.plan\" as p\n\ntest \"{name}\" for p.p {{\n    given {{ size: 1 }}\n{mocks}    expect error.details.data.free == [\"09:30\"] && reply.first == \"09:30\"\n}}\n"
        )
    };
    let mocked = "    mock desk.book => fail tool.taken \"no\" details { data: { free: [\"09:30\"] } } times 2\n";
    std::fs::write(place.path().join("mocked.plantest"), test("mocked", mocked)).unwrap();
    let tested = run(&place, &["test", "mocked.plantest"]);
    assert_eq!(tested.status, 0, "{tested:?}");
    let formatted = run(&place, &["fmt", "--check", "mocked.plantest"]);
    assert_eq!(formatted.status, 0, "{formatted:?}");
    std::fs::remove_file(place.path().join("mocked.plantest")).unwrap();
    std::fs::write(place.path().join("taken.plantest"), test("taken", "")).unwrap();
    let recorded = run(&place, &["test", "taken.plantest", "--record", "all"]);
    assert_eq!(recorded.status, 0, "{recorded:?}");
    let from_file = run(&place, &["test", "taken.plantest"]);
    assert_eq!(from_file.status, 0, "{from_file:?}");
}

#[test]
fn a_recording_has_no_secret_in_the_details_of_a_failure() {
    let secret = "hunter2-c0rrect";
    let failed = json!({ "success": false, "reason": "taken", "error": "no", "data": { "of": [secret, "ann"] } });
    let (address, _) = server(vec![answered("200 OK", &failed)]);
    let app = format!(
        "name: desk\ntools:\n  - name: book\n    endpoint: \"{address}/\"\n    effect: read\n    parameters: {{ type: object, properties: {{ key: {{ type: string, format: password }} }}, required: [key] }}\n    errors: [taken]\n"
    );
    let plan = "use desk\n\nplan p(key: secret) -> any {\n    step one = desk.book(key: key)\n        recover tool.taken => \"no\"\n    reply one\n}\n";
    let tested = format!(
        "use \"./p.plan\" as p\n\ntest \"taken\" for p.p {{\n    given {{ key: \"{secret}\" }}\n    expect reply == \"no\"\n}}\n"
    );
    let place = folder([
        ("p.plan", plan),
        ("p.plantest", &tested),
        ("desk.yaml", &app),
        ("planrun.yaml", "apps: [desk.yaml]\n"),
    ]);
    let recorded = run(&place, &["test", "p.plantest", "--record", "all"]);
    assert_eq!(recorded.status, 0, "{recorded:?}");
    let files = std::fs::read_dir(place.path().join("recordings")).unwrap();
    let files = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let kept = files.collect::<String>();
    assert!(kept.contains("ann") && !kept.contains(secret), "{kept}");
}

#[test]
fn nobody_who_is_asked_gives_details() {
    let place = folder([(
        "p.plan",
        "use sys\n\nplan p() -> any {\n    step x = sys.echo(value: 1) confirm \"really?\"\n    reply x\n}\n\ntest \"no\" for p {\n    answer x.confirm => fail denied.human \"no\" details { a: 1 }\n    expect status == \"failed\"\n}\n",
    )]);
    let checked = run(&place, &["check", "p.plan"]);
    assert_eq!(checked.status, 1, "{checked:?}");
    let message = "only failures of tools have details";
    assert!(
        checked.stderr.contains(message) || checked.stdout.contains(message),
        "{checked:?}"
    );
}

#[test]
fn a_step_that_fails_by_itself_has_no_details_and_sys_fail_gives_any() {
    let place = folder([(
        "p.plan",
        "use sys\n\nplan p(n: int = 1) -> any {\n    step told = sys.fail(class: \"tool.failed\", details: { a: [1, 2.50] })\n        recover tool.failed as e => e.details.a[1]\n    step own = do { ensure n > 2 else \"no\" yield 1 }\n        recover validation.ensure as e => e.details ?? \"none\"\n    reply [told, own]\n}\n",
    )]);
    let ran = run(&place, &["run", "p.plan", "--format", "json"]);
    assert_eq!(ran.json()["reply"], json!([2.5, "none"]), "{ran:?}");
}
