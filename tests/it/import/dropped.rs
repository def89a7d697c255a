//! No key of a document is dropped silently: it is refused, reported, or in the plan.

use planrun_import::Format;
use planrun_lang::sema::Tools;
use planrun_lang::source::SourceFile;
use serde_json::{Value as Json, json};

/// A key that no format has.
const KEY: &str = "zzz";

fn machine() -> Json {
    json!({
        "StartAt": "A",
        "States": {
            "A": {
                "Type": "Task", "Resource": "arn:aws:states:::sns:publish", "Parameters": {"a": {"b": [{"c": 1}]}},
                "Retry": [{"ErrorEquals": ["X"]}], "Catch": [{"ErrorEquals": ["Y"], "Next": "F"}, {"ErrorEquals": ["Z"], "Next": "B"}], "Next": "B",
            },
            "B": {"Type": "Choice", "Choices": [{"Not": {"And": [{"Variable": "$.x", "NumericEquals": 1}]}, "Next": "C"}], "Default": "D"},
            "C": {"Type": "Map", "ItemProcessor": {"ProcessorConfig": {"Mode": "INLINE"}, "StartAt": "P", "States": {"P": {"Type": "Pass", "Result": {"d": 1}, "End": true}}}, "Next": "E"},
            "D": {"Type": "Parallel", "Branches": [{"StartAt": "Q", "States": {"Q": {"Type": "Wait", "Seconds": 1, "End": true}}}], "Next": "E"},
            "E": {"Type": "Succeed"},
            "F": {"Type": "Fail", "Error": "e", "Cause": "c"},
        },
    })
}

fn workflow() -> Json {
    json!({
        "document": {"dsl": "1.0.3", "namespace": "n", "name": "w", "version": "1"},
        "input": {"from": "."},
        "use": {"functions": {"f": {"set": {"a": 1}}}, "errors": {"e": {"type": "t", "status": 400}}, "retries": {"r": {"delay": {"seconds": 1}, "limit": {"attempt": {"count": 2}}}}},
        "do": [
            {"a": {"call": "http", "with": {"method": "get", "endpoint": {"uri": "https://a.example/b"}, "headers": {"h": "1"}}, "output": {"as": "."}}},
            {"b": {"try": [{"c": {"call": "g.h", "with": {"i": 1}}}], "catch": {"errors": {"with": {"status": 404}}, "retry": "r", "do": [{"d": {"set": {"j": {"k": 1}}}}]}}},
            {"e": {"for": {"in": ".l"}, "do": [{"m": {"wait": {"seconds": 1}}}]}},
            {"n": {"fork": {"branches": [{"o": {"call": "f"}}]}}},
            {"p": {"listen": {"to": {"one": {"with": {"type": "q"}}}}}},
            {"s": {"switch": [{"x": {"when": ".t", "then": "u"}}]}},
            {"v": {"emit": {"event": {"with": {"type": "q"}}}}},
            {"u": {"raise": {"error": "e"}}},
        ],
    })
}

fn arazzo() -> Json {
    json!({
        "arazzo": "1.0.1",
        "sourceDescriptions": [{"name": "shop"}],
        "components": {"failureActions": {"again": {"name": "again", "type": "retry", "retryLimit": 2}}},
        "workflows": [{
            "workflowId": "w",
            "inputs": {"type": "object", "properties": {"a": {"type": "string"}}},
            "parameters": [{"name": "p", "value": 1}],
            "steps": [{
                "stepId": "s", "operationId": "o", "parameters": [{"name": "q", "value": {"r": 1}}],
                "requestBody": {"payload": {"b": {"c": 1}}},
                "successCriteria": [{"condition": "$response.body#/d == true"}],
                "onSuccess": [{"name": "e", "type": "end", "criteria": [{"condition": "$response.body#/f == true"}]}],
                "onFailure": [{"reference": "$components.failureActions.again"}],
                "outputs": {"g": "$response.body"},
            }],
            "outputs": {"h": "$steps.s.outputs.g"},
        }],
    })
}

fn board() -> Json {
    json!({
        "plan_id": "b",
        "tasks": [{"task_id": "001", "name": "a"}],
        "listeners": [{
            "listener_id": "l", "trigger_task_id": "001", "trigger_condition": "Running", "listener_type": "code",
            "action_config": {"code": "result = {'success': True}"},
            "success_output": {"task_id": "001", "status": "Done", "context": {"c": {"d": 1}}},
        }],
    })
}

/// Returns the plan and the report of a document, without places; `None` if the document is refused.
fn outcome(format: Format, document: &Json) -> Option<(String, Vec<(String, String)>)> {
    let source = SourceFile::new("document.json", document.to_string());
    let made = planrun_import::import(&source, Some(format), "d", &Tools::default()).ok()?;
    let notes = made.report.notes.into_iter();
    Some((made.text, notes.map(|note| (note.what, note.why)).collect()))
}

/// Adds the key to each object in turn. Returns the places where neither the plan nor the report changes.
fn dropped(format: Format, document: &Json) -> Vec<String> {
    let mut places = Vec::new();
    objects(document, "", &mut places);
    let without = outcome(format, document).unwrap();
    let is_dropped = |place: &String| {
        let mut changed = document.clone();
        let holder = changed.pointer_mut(place).unwrap();
        holder.as_object_mut().unwrap().insert(KEY.into(), 1.into());
        outcome(format, &changed).as_ref() == Some(&without)
    };
    places.into_iter().filter(is_dropped).collect()
}

/// Collects the JSON pointers of all objects.
fn objects(json: &Json, at: &str, found: &mut Vec<String>) {
    match json {
        Json::Object(fields) => {
            found.push(at.to_owned());
            for (key, value) in fields {
                objects(value, &format!("{at}/{key}"), found);
            }
        }
        Json::Array(items) => {
            for (number, value) in items.iter().enumerate() {
                objects(value, &format!("{at}/{number}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn an_unknown_key_is_never_dropped_silently() {
    let payload = json!({
        "task_summary": "t", "assumptions": [], "risks": [],
        "steps": [{"step_id": "step_1", "title": "a", "tool": {"name": "b", "args": {"c": {"d": 1}}}, "dependencies": []}],
    });
    let graph = json!({"steps": [
        {"id": 1, "tool_id": "a", "inputs": {"b": {"c": 1}}, "depends_on": []},
        {"id": 2, "action": "reply", "text": "d"},
    ]});
    let steps = json!([
        {"type": "tool", "name": "a", "arguments": {"b": {"c": 1}}}, {"type": "reply", "text": "d"},
    ]);
    let documents = [
        (Format::Asl, machine()),
        (Format::Serverless, workflow()),
        (Format::Arazzo, arazzo()),
        (Format::Aintegration, board()),
        (Format::Payload, payload),
        (Format::Graph, graph),
        (Format::Steps, steps),
    ];
    // Definitions and outputs that nothing reads do not change what runs, and the schema of an input is omitted as a
    // whole.
    let exceptions = [
        "/components",
        "/components/failureActions",
        "/use/errors",
        "/use/retries",
        "/workflows/0/inputs/properties/a",
        "/workflows/0/steps/0/outputs",
    ];
    for (format, document) in documents {
        let mut dropped = dropped(format, &document);
        dropped.retain(|place| !exceptions.contains(&place.as_str()));
        assert!(dropped.is_empty(), "{}: {dropped:?}", format.name());
    }
}

/// A plan whose functions call each other in a chain is not written beyond the limit.
#[test]
fn a_chain_of_functions_is_bounded() {
    let mut functions = serde_json::Map::new();
    for number in 0..2000 {
        let next = json!({"do": [{"next": {"call": format!("f{}", number + 1)}}]});
        functions.insert(format!("f{number}"), next);
    }
    functions.insert("f2000".into(), json!({"set": {"a": 1}}));
    let workflow = json!({
        "document": {"dsl": "1.0.3"},
        "use": {"functions": functions},
        "do": [{"first": {"call": "f0"}}],
    });
    let source = SourceFile::new("w.json", workflow.to_string());
    let made = planrun_import::import(&source, None, "w", &Tools::default()).unwrap();
    let notes = made.report.notes.iter();
    assert!(
        notes
            .clone()
            .any(|note| note.why.contains("60 levels deep"))
    );
    assert!(made.text.contains("not_carried_1"), "{}", made.text);
}

/// Loops inside loops are not written beyond the limit.
#[test]
fn loops_in_loops_are_bounded() {
    let mut states = serde_json::Map::new();
    let count = 200;
    for number in 0..count {
        let next = format!("S{}", number + 1);
        states.insert(format!("S{number}"), json!({"Type": "Pass", "Next": next}));
        let back =
            json!({"Variable": "$.x", "NumericEquals": number, "Next": format!("S{number}")});
        let out = if number == 0 {
            "End".to_owned()
        } else {
            format!("T{}", number - 1)
        };
        states.insert(
            format!("T{number}"),
            json!({"Type": "Choice", "Choices": [back], "Default": out}),
        );
    }
    let inner = format!("T{}", count - 1);
    states.insert(format!("S{count}"), json!({"Type": "Pass", "Next": inner}));
    states.insert("End".into(), json!({"Type": "Succeed"}));
    let machine = json!({"StartAt": "S0", "States": states});
    let source = SourceFile::new("m.json", machine.to_string());
    let made = planrun_import::import(&source, None, "m", &Tools::default()).unwrap();
    let mut notes = made.report.notes.iter();
    assert!(notes.any(|note| note.why.contains("60 levels deep")));
}

/// A plan that runs without a call of its document, or without its arguments, would do something else.
#[test]
fn a_call_that_cannot_be_read_is_a_hole_in_the_plan() {
    let called = |function: Json| json!([{"type": "function", "function": function}, {"type": "function", "function": {"name": "a", "arguments": "{}"}}]);
    let payload =
        |step: Json| json!({"task_summary": "t", "assumptions": [], "risks": [], "steps": [step]});
    let documents = [
        called(json!({"name": "b", "arguments": "[1]"})).to_string(),
        called(json!({"name": "b", "arguments": "{"})).to_string(),
        called(json!({"arguments": "{}"})).to_string(),
        "1. search(\"unterminated)\n2. pay(1)".to_owned(),
        payload(json!({"step_id": "step_1", "title": "a", "tool": {"name": "b"}, "args": "oops"}))
            .to_string(),
        payload(json!({"step_id": "step_1", "title": "a"})).to_string(),
        json!([{"type": "tool", "tool": "a", "args": {}}, {"type": "reply", "text": "hi"}])
            .to_string(),
        json!([{"type": "tool", "name": "a", "arguments": [1]}, {"type": "reply", "text": "hi"}])
            .to_string(),
        json!({"steps": [{"id": 1, "tool_id": "a", "inputs": [1], "depends_on": []}]}).to_string(),
    ];
    for document in documents {
        let source = SourceFile::new("document", document.as_str());
        let made = planrun_import::import(&source, None, "d", &Tools::default()).unwrap();
        let is_hole = made.text.contains("(input: not_carried_1)");
        assert!(is_hole, "{document}\n{}", made.text);
    }
}

/// Whole numbers beyond 64 bits are rounded, and numbers beyond a double are refused.
#[test]
fn large_numbers_are_reported() {
    let import = |number: &str| {
        let text = format!(r#"[{{"type": "tool", "name": "a", "arguments": {{"n": {number}}}}}]"#);
        let source = SourceFile::new("s.json", text);
        planrun_import::import(&source, Some(Format::Steps), "s", &Tools::default())
    };
    let made = import("98765432109876543210").unwrap();
    let mut notes = made.report.notes.iter();
    assert!(notes.any(|note| note.why.starts_with("is rounded")));
    let call = json!({"type": "function", "function": {"name": "a", "arguments": r#"{"n": 98765432109876543210}"#}});
    let source = SourceFile::new("c.json", json!([call]).to_string());
    let made = planrun_import::import(&source, None, "c", &Tools::default()).unwrap();
    let mut notes = made.report.notes.iter();
    assert!(notes.any(|note| note.why.starts_with("is rounded")));
    let refused = import("1e999").unwrap_err();
    assert!(
        refused.message.contains("`1e999` is not a number"),
        "{refused}"
    );
}

/// Returns whether the report of a machine has a line with this text.
fn is_told(machine: &Json, text: &str) -> bool {
    let source = SourceFile::new("document.json", machine.to_string());
    let made = planrun_import::import(&source, None, "d", &Tools::default()).unwrap();
    made.report.notes.iter().any(|note| note.why.contains(text))
}

#[test]
fn functions_of_several_accounts_and_regions_are_told_apart() {
    let machine = |second: &str| {
        json!({"StartAt": "A", "States": {
            "A": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:f", "Next": "B"},
            "B": {"Type": "Task", "Resource": second, "End": true},
        }})
    };
    let text = "is `lambda.f` in the plan, as is `arn:aws:lambda:us-east-1:1:function:f`";
    assert!(is_told(
        &machine("arn:aws:lambda:eu-west-1:1:function:f"),
        text
    ));
    assert!(is_told(
        &machine("arn:aws:lambda:us-east-1:2:function:f"),
        text
    ));
    assert!(!is_told(
        &machine("arn:aws:lambda:us-east-1:1:function:f"),
        text
    ));
}

/// A call that changes something is not repeated after a timeout.
#[test]
fn a_timeout_that_nothing_sees_is_reported() {
    let machine = |more: &Json| {
        let mut task = json!({"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:1:function:f", "TimeoutSeconds": 10, "End": true});
        let fields = more.as_object().unwrap().clone();
        task.as_object_mut().unwrap().extend(fields);
        json!({"StartAt": "A", "States": {"A": task, "F": {"Type": "Fail", "Error": "e", "Cause": "c"}}})
    };
    for (more, expected) in [
        (
            json!({"Retry": [{"ErrorEquals": ["States.Timeout"]}]}),
            true,
        ),
        (json!({"Retry": [{"ErrorEquals": ["States.ALL"]}]}), true),
        (
            json!({"Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "F"}]}),
            true,
        ),
        (
            json!({"Retry": [{"ErrorEquals": ["States.TaskFailed"]}]}),
            false,
        ),
        (json!({}), false),
    ] {
        let told = is_told(&machine(&more), "fails with `unknown_outcome`");
        assert_eq!(told, expected, "{more}");
    }
}

/// The plan runs all elements, and the machine might stop earlier.
#[test]
fn failures_that_are_counted_later_are_reported() {
    let map = |field: &str, most: i64| {
        let item = json!({"Type": "Task", "Resource": "arn:aws:lambda:eu-west-1:1:function:ask", "End": true});
        let inner = json!({"StartAt": "Ask", "States": {"Ask": item}});
        json!({"StartAt": "Each", "States": {"Each": {"Type": "Map", field: most, "ItemProcessor": inner, "End": true}}})
    };
    for (field, most, is_reported) in [
        ("ToleratedFailureCount", 2, true),
        ("ToleratedFailurePercentage", 10, true),
        ("ToleratedFailureCount", 0, false),
    ] {
        let source = SourceFile::new("document.json", map(field, most).to_string());
        let made = planrun_import::import(&source, None, "d", &Tools::default()).unwrap();
        let mut notes = made.report.notes.iter();
        let is_told = notes.any(|note| note.why.starts_with("are counted after all elements"));
        assert_eq!(is_told, is_reported, "{field}: {most}");
    }
}
