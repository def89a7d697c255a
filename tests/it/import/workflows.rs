//! Serverless Workflow documents, run as plans: they give the results that the DSL specifies.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_import::Format;
use planrun_lang::sema::Tools;
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Type, decode};
use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

use super::fixtures::tools;
use super::systems::imported;
use crate::support::{folder, planrun, root};
use crate::world::{Ran, Script, World, give};

/// Runs the plan of a fixture.
async fn run(fixture: &str, given: Json, scripts: Vec<(&str, Vec<Script>)>) -> Ran {
    let made = imported(Format::Serverless, fixture, &tools());
    let world = scripts
        .into_iter()
        .fold(World::new(), |world, (path, scripts)| {
            world.tool(path, scripts)
        });
    let given = given.as_object().unwrap().iter();
    let given: BTreeMap<Arc<str>, Value> = given
        .map(|(name, value)| (name.as_str().into(), decode(value, &Type::Any).unwrap()))
        .collect();
    world.run_with(&made.text, given).await
}

#[tokio::test(start_paused = true)]
async fn data_flows_through_expressions() {
    let basket = json!({
        "lines": [
            {"name": "amber", "price": 20, "gift": true, "parts": [{"id": 1}, {"id": 2}]},
            {"name": "beech", "price": 5, "gift": null, "parts": []},
            {"name": "cedar", "price": 30, "parts": [{"id": 3}]},
            {"name": "alder", "price": 4, "parts": []},
        ],
        "vip": false,
        "customer": {"name": "Kim"},
    });
    let ran = run("data", json!({"basket": basket}), Vec::new()).await;
    let cheap = json!([
        {"name": "beech", "half": 2.5, "price tag": "5 EUR"},
        {"name": "alder", "half": 2, "price tag": "4 EUR"},
    ]);
    assert_eq!(
        ran.reply(),
        json!({
            "basket": {"all": cheap, "size": 2, "first": false, "total": 59, "before": 2},
            "total": 59,
            "none": true,
            "lack": true,
        })
    );
}

#[tokio::test(start_paused = true)]
async fn tasks_follow_each_other_as_they_say() {
    let notes = || vec![give(json!({"settled": false}))];
    let ring = |answered: bool| vec![give(json!({"answered": answered}))];
    let ran = run(
        "flow",
        json!({"input": {"id": 7, "urgent": true, "closed": false}}),
        vec![
            ("phone.ring", ring(false)),
            ("phone.thank", Vec::new()),
            ("notes.jot", notes()),
        ],
    )
    .await;
    // Nobody answered, so no thanks are sent, and a note is written in each of three rounds.
    assert_eq!(
        ran.order(),
        ["phone.ring", "notes.jot", "notes.jot", "notes.jot"]
    );
    assert_eq!(
        ran.calls("notes.jot")[2].arguments,
        json!({"ticket": 7, "text": "Round 2"})
    );
    assert_eq!(ran.reply(), json!({"id": 7, "rounds": 3, "settled": false}));

    let ran = run(
        "flow",
        json!({"input": {"id": 7, "urgent": true}}),
        vec![
            ("phone.ring", ring(true)),
            ("phone.thank", vec![give(json!({}))]),
            ("notes.jot", vec![give(json!({"settled": true}))]),
        ],
    )
    .await;
    assert_eq!(ran.order(), ["phone.ring", "phone.thank", "notes.jot"]);

    let ran = run(
        "flow",
        json!({"input": {"id": 7, "closed": true}}),
        vec![
            ("phone.ring", Vec::new()),
            ("phone.thank", Vec::new()),
            ("notes.jot", Vec::new()),
        ],
    )
    .await;
    assert_eq!(
        (ran.reply(), ran.seen.len()),
        (json!({"told": "nobody"}), 0)
    );
}

#[tokio::test(start_paused = true)]
async fn loops_hand_on_what_a_round_gives() {
    let tickets = json!([{"id": 1, "open": true}, {"id": 2}, {"id": 3, "open": true}, {"id": 4, "open": true}]);
    let ran = run(
        "loops",
        json!({"input": {"tickets": tickets}}),
        vec![
            ("desk.close", vec![give(json!({"closed": true}))]),
            (
                "desk.look",
                vec![give(json!({"match": null})), give(json!({"match": "that"}))],
            ),
        ],
    )
    .await;
    let closed: Vec<&Json> = ran
        .calls("desk.close")
        .iter()
        .map(|call| &call.arguments["number"])
        .collect();
    assert_eq!(closed, [0, 1, 2, 3]);
    let checked_rounds: Vec<&Json> = ran
        .calls("desk.look")
        .iter()
        .map(|call| &call.arguments["id"])
        .collect();
    assert_eq!(checked_rounds, [1, 3], "it ends where something is found");
    assert_eq!(
        ran.reply(),
        json!({"found": "that", "seen": 2, "at": 1, "context": 2})
    );
}

const EVENTS: &str = r#"use "./events.plan" as events_plan

test "an alarm" for events_plan.events {
    given {}
    mock events.emit(data: { patient: "Kim", bpm: 120 }) => { told: true }
    signal "clinic.admitted.v1" => { patient: "Kim" } at 1s
    signal "clinic.cold.v1" => { felt: "cold" } at 2s
    signal "clinic.heart.v1" => { bpm: 80 } at 3s
    signal "clinic.heart.v1" => { bpm: 120 } at 4s
    signal "clinic.seen.v1" => {} at 5s
    expect reply == { told: true }
}
"#;

const TRYING: &str = r#"use "./try.plan" as try_plan

test "busy twice, and then nothing is known of the order" for try_plan.`try` {
    given { input: { sku: "A" } }
    mock http.fetch(method: "POST") => fail transient.unavailable times 2, then { status: 201, headers: {}, body: { id: 9 } }
    mock http.fetch(url: "https://shop.example/stock/9") => { status: 404, headers: {}, body: null }
    mock store.reserve(order: 9) => { reserved: true }
    expect reply == { sold: true }
    expect calls(http.fetch) == 4
}

test "another status than the one that is caught ends it" for try_plan.`try` {
    given { input: { sku: "A" } }
    mock http.fetch(method: "POST") => { status: 201, headers: {}, body: { id: 9 } }
    mock http.fetch => { status: 410, headers: {}, body: null }
    expect error.class == "tool.failed"
    expect calls(http.fetch) == 2 && calls(store.reserve) == 0
}

test "after five further attempts the input goes on" for try_plan.`try` {
    given { input: { sku: "A", id: 3 } }
    mock http.fetch(method: "POST") => fail transient.unavailable
    mock http.fetch => { status: 200, headers: {}, body: { left: 1 } }
    mock store.reserve => { reserved: true }
    expect calls(http.fetch) == 7
}

test "what is reserved in vain is left as it was" for try_plan.`try` {
    given { input: { sku: "A" } }
    mock http.fetch(method: "POST") => { status: 201, headers: {}, body: { id: 9 } }
    mock http.fetch => { status: 200, headers: {}, body: { left: 1 } }
    mock store.reserve => fail tool.failed "it is night"
    expect reply == { left: 1 }
    expect calls(store.reserve) == 5
}
"#;

/// Imports a workflow with the command, and plays its tests.
fn played(fixture: &str, tests: &str) {
    let path = format!("tests/it/import/fixtures/serverless-workflow/{fixture}/source.yaml");
    let source = std::fs::read_to_string(root().join(path)).unwrap();
    let (from, plan) = (format!("{fixture}.yaml"), format!("{fixture}.plan"));
    let place = folder([
        (from.as_str(), source.as_str()),
        ("cases.plantest", tests),
        ("planrun.yaml", "{}\n"),
    ]);
    let made = planrun(["import", &from, "--output", &plan])
        .within(place.path())
        .run();
    assert_eq!(made.status, 0, "{made:?}");
    let played = planrun(["test", "cases.plantest"])
        .within(place.path())
        .run();
    assert_eq!(played.status, 0, "{}{}", played.stdout, played.stderr);
}

/// Runs a workflow that raises an error, and gives what its handler sets.
async fn handled(error: Json, set: Json) -> Json {
    let document = json!({
        "document": {"dsl": "1.0.0", "namespace": "n", "name": "w", "version": "1.0.0"},
        "do": [{"t": {
            "try": [{"r": {"raise": {"error": error}}}],
            "catch": {"as": "err", "do": [{"h": {"set": set}}]},
        }}],
    });
    let source = SourceFile::new("document.json", document.to_string());
    let made = planrun_import::import(&source, None, "d", &Tools::default()).unwrap();
    let mut notes = made.report.notes.iter();
    assert!(notes.any(|note| note.what == "the type of the error `$err`"));
    World::new()
        .run_with(&made.text, BTreeMap::new())
        .await
        .reply()
}

#[tokio::test(start_paused = true)]
async fn a_handler_tells_errors_apart_by_their_types() {
    let own = "https://x.example/errors/sold-out";
    let standard = "https://serverlessworkflow.io/spec/1.0.0/errors/";
    for (kind, status, other) in [
        (own.to_owned(), 409, format!("{standard}timeout")),
        (format!("{standard}timeout"), 408, own.to_owned()),
        (format!("{standard}communication"), 503, own.to_owned()),
        (format!("{standard}authorization"), 403, own.to_owned()),
        (format!("{standard}validation"), 400, own.to_owned()),
    ] {
        let error = json!({"type": kind, "status": status, "detail": "d"});
        let set = json!({
            "type": "${ $err.type }",
            "is": format!("${{ $err.type == \"{kind}\" }}"),
            "other": format!("${{ $err.type == \"{other}\" }}"),
        });
        let expected = json!({"type": kind, "is": true, "other": false});
        assert_eq!(handled(error, set).await, expected, "{kind}");
    }
}

#[test]
fn events_are_signals_of_a_run() {
    played("events", EVENTS);
}

#[test]
fn what_fails_is_tried_again_and_caught() {
    played("try", TRYING);
}
