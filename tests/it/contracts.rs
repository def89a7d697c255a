//! Arguments against the JSON Schema of their tool: the verdict of the check, and the behaviour of the run.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::permission::Permissions;
use planrun_lang::sema::{self, NoFiles, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Contract, Known, KnownField, Rest, Type, Validator, Verdict};
use planrun_tools::host::MemoryHost;
use planrun_tools::tools::Catalog;
use planrun_tools::tools::app::read_app;
use serde_json::{Value as Json, json};

use crate::generate::Dice;
use crate::support;
use crate::world::{Script, World, give};

/// Checks a plan with `a.t`, which has this schema of arguments, and `a.get`, which returns some values. Returns the
/// codes of the errors, and the number of calls that only the run can decide.
fn found(parameters: &Json, body: &str) -> (Vec<&'static str>, usize) {
    let sources = json!({"type": "object", "required": ["text", "number", "flag", "pair", "list"], "properties": {
        "text": {"type": "string"}, "number": {"type": "integer"}, "flag": {"type": "boolean"}, "maybe": {"type": "string"},
        "level": {"enum": ["low", "high"]}, "pair": {"type": "object", "required": ["x"], "additionalProperties": false,
        "properties": {"x": {"type": "string"}, "y": {"type": "string"}}}, "list": {"type": "array", "items": {"type": "string"}}}});
    let tools = tools(&[
        ("t", parameters, None),
        ("get", &json!({"type": "object"}), Some(&sources)),
    ]);
    let text = format!("use a\nplan p() {{ step g = a.get() {body} reply 1 }}");
    let checked =
        sema::check_without_rules(&SourceFile::new("a.plan", text.as_str()), &tools, &NoFiles);
    let errors = checked
        .diagnostics
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.code.name)
        .collect();
    let steps = checked
        .plans
        .iter()
        .flat_map(|plan| &plan.blocks)
        .flat_map(|block| &block.nodes);
    let open = steps
        .filter_map(|node| node.step())
        .filter(|step| matches!(&step.kind, sema::StepKind::Call(call) if call.checked_at_run));
    (errors, open.count())
}

fn tools(of: &[(&str, &Json, Option<&Json>)]) -> Tools {
    let host = MemoryHost::new(1);
    let all = of.iter().map(|(name, parameters, returns)| {
        let mut tool = json!({"name": name, "description": "d", "endpoint": "http://127.0.0.1:8009/tool", "effect": "read",
            "parameters": parameters});
        if let Some(returns) = returns {
            tool["returns"] = (*returns).clone();
        }
        tool
    });
    let text = json!({"name": "a", "tools": all.collect::<Vec<_>>()}).to_string();
    let (app, problems) = read_app(
        &SourceFile::new("a.yaml", text.as_str()),
        &host,
        &BTreeSet::new(),
    );
    assert!(problems.is_empty(), "{problems:#?}");
    let mut tools: Tools = Catalog::new(
        Arc::new(host),
        PathBuf::from("/"),
        &Arc::new(Permissions::none()),
    )
    .signatures()
    .cloned()
    .collect();
    app.unwrap()
        .tools
        .iter()
        .for_each(|tool| tools.insert(tool.signature.clone()));
    tools
}

/// The verdict of the check about a call: it fulfills the contract, breaks it, or only the run can decide.
#[derive(Debug, PartialEq)]
enum CheckResult {
    Fits,
    Broken,
    Open,
}

fn check_call(schema: &Json, call: &str) -> CheckResult {
    let mut schema = schema.clone();
    let object = schema.as_object_mut().unwrap();
    object.entry("type").or_insert(json!("object"));
    match found(&schema, call) {
        (codes, 0) if codes.is_empty() => CheckResult::Fits,
        (codes, 0) if codes == ["schema-violation"] => CheckResult::Broken,
        (codes, open) if codes.is_empty() && open > 0 => CheckResult::Open,
        other => panic!("{call}: {other:?}"),
    }
}

/// A schema, and calls with the expected verdicts.
type Case = (Json, &'static [(&'static str, CheckResult)]);

fn ab(more: &Json) -> Json {
    let mut schema = json!({"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"},
        "n": {"type": "integer"}}});
    schema
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    schema
}

#[test]
fn b4_presence_that_combinations_ask_for_is_decided_where_it_is_known() {
    use CheckResult::{Broken, Fits, Open};
    let cases: Vec<Case> = vec![
        (
            ab(&json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})),
            &[
                ("step x = a.t(a: g.text)", Fits),
                ("step x = a.t(b: g.text, n: 1)", Fits),
                ("step x = a.t(n: 1)", Broken),
                ("step x = a.t(a: g.maybe)", Open),
                ("step x = a.t(a: g.maybe, b: g.text)", Fits),
            ],
        ),
        (
            ab(&json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]})),
            &[
                ("step x = a.t(a: g.text)", Fits),
                ("step x = a.t(a: g.text, b: g.text)", Broken),
                ("step x = a.t()", Broken),
                ("step x = a.t(a: g.text, b: g.maybe)", Open),
            ],
        ),
        (
            ab(&json!({"dependentRequired": {"a": ["b"]}})),
            &[
                ("step x = a.t(a: g.text)", Broken),
                ("step x = a.t(a: g.text, b: g.text)", Fits),
                ("step x = a.t(c: g.text)", Fits),
                ("step x = a.t(a: g.maybe)", Open),
            ],
        ),
        (
            ab(&json!({"not": {"required": ["a", "b"]}})),
            &[
                ("step x = a.t(a: g.text)", Fits),
                ("step x = a.t(a: g.text, b: g.text)", Broken),
            ],
        ),
        (
            ab(
                &json!({"if": {"properties": {"n": {"const": 1}}, "required": ["n"]}, "then": {"required": ["a"]},
                "else": {"required": ["b"]}}),
            ),
            &[
                ("step x = a.t(n: 1)", Broken),
                ("step x = a.t(n: 1, a: g.text)", Fits),
                ("step x = a.t(n: 2)", Broken),
                ("step x = a.t(n: g.number)", Broken),
                ("step x = a.t(n: g.number, a: g.text)", Open),
                ("step x = a.t(n: g.number, a: g.text, b: g.text)", Fits),
            ],
        ),
        (
            ab(&json!({"dependentSchemas": {"n": {"required": ["c"]}}, "minProperties": 1})),
            &[
                ("step x = a.t(n: g.number)", Broken),
                ("step x = a.t(n: g.number, c: g.text)", Fits),
                ("step x = a.t()", Broken),
                ("step x = a.t(c: g.maybe)", Open),
            ],
        ),
    ];
    judge(cases);
}

#[test]
fn b4_parts_of_arguments_are_decided_where_they_are_known() {
    use CheckResult::{Broken, Fits, Open};
    let tree = json!({"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/tree"}}});
    let cases: Vec<Case> = vec![
        (
            json!({"properties": {"p": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": false}}}),
            &[
                ("step x = a.t(p: [g.text, g.number])", Fits),
                ("step x = a.t(p: [g.number, g.text])", Broken),
                ("step x = a.t(p: [g.text, g.number, g.text])", Broken),
                ("step x = a.t(p: g.list)", Open),
            ],
        ),
        (
            json!({"properties": {"t": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}),
            &[
                (
                    "step x = a.t(t: { v: 1, next: { v: 2, next: { v: g.number } } })",
                    Fits,
                ),
                (
                    "step x = a.t(t: { v: 1, next: { v: 2, next: { v: g.text } } })",
                    Broken,
                ),
                ("step x = a.t(t: { next: { next: { next: 3 } } })", Broken),
            ],
        ),
        (
            json!({"properties": {"m": {"type": "object", "patternProperties": {"^n_": {"type": "integer"}},
                "additionalProperties": {"type": "string"}}}}),
            &[
                ("step x = a.t(m: { n_a: g.number, b: g.text })", Fits),
                ("step x = a.t(m: { n_a: g.text })", Broken),
                ("step x = a.t(m: { b: g.number })", Broken),
            ],
        ),
        (
            json!({"properties": {"o": {"oneOf": [
                {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "a"}, "v": {"type": "integer"}}},
                {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "b"}, "v": {"type": "string"}}}]}}}),
            &[
                ("step x = a.t(o: { kind: \"a\", v: g.number })", Fits),
                (
                    "step x = a.t(o: g.flag ? { kind: \"a\", v: 1 } : { kind: \"b\", v: \"x\" })",
                    Fits,
                ),
            ],
        ),
        (
            json!({"properties": {"o": {"type": "object", "minProperties": 1, "additionalProperties": false,
                "properties": {"x": {"type": "string", "minLength": 2}, "y": {"type": "string"}}}}}),
            &[
                ("step x = a.t(o: { x: \"long\", y: g.text })", Fits),
                ("step x = a.t(o: { x: \"s\", y: g.text })", Broken),
                ("step x = a.t(o: { x: g.text })", Open),
                ("step x = a.t(o: { y: g.maybe })", Open),
                ("step x = a.t(o: g.pair)", Open),
            ],
        ),
        (
            json!({"properties": {"s": {"type": "string", "enum": ["low", "mid", "high"]}, "n": {"type": "integer", "minimum": 1}}}),
            &[
                ("step x = a.t(s: g.level ?? \"mid\", n: 3)", Fits),
                ("step x = a.t(n: g.number)", Open),
                ("step x = a.t(n: 0)", Broken),
            ],
        ),
        (
            json!({"properties": {"l": {"type": "array", "minItems": 2, "uniqueItems": true, "contains": {"const": "x"}}}}),
            &[
                ("step x = a.t(l: [\"x\", \"y\"])", Fits),
                ("step x = a.t(l: [g.text])", Broken),
                ("step x = a.t(l: [g.number, g.number])", Broken),
                ("step x = a.t(l: [\"x\", \"x\", g.text])", Broken),
                ("step x = a.t(l: [g.text, \"x\"])", Open),
            ],
        ),
    ];
    judge(cases);
}

#[test]
fn b4_what_no_other_keyword_looks_at_is_decided_where_it_is_known() {
    use CheckResult::{Broken, Fits, Open};
    let cases: Vec<Case> = vec![
        (
            json!({"properties": {"o": {"type": "object", "allOf": [{"properties": {"x": {"type": "integer"}}}],
                "patternProperties": {"^n_": {}}, "unevaluatedProperties": false}}}),
            &[
                ("step x = a.t(o: { x: g.number, n_y: g.text })", Fits),
                ("step x = a.t(o: { x: g.number, y: g.text })", Broken),
            ],
        ),
        (
            json!({"properties": {"o": {"type": "object", "properties": {"kind": {"type": "string"}},
                "if": {"properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                "then": {"properties": {"x": {}}}, "else": {"$ref": "#/$defs/other"}, "unevaluatedProperties": false}},
                "$defs": {"other": {"properties": {"y": {"type": "string"}}}}}),
            &[
                ("step x = a.t(o: { kind: \"a\", x: g.text })", Fits),
                ("step x = a.t(o: { kind: \"a\", y: g.text })", Broken),
                ("step x = a.t(o: { kind: \"b\", y: g.text })", Fits),
                ("step x = a.t(o: { kind: g.text, y: g.text })", Open),
                ("step x = a.t(o: { kind: g.text, z: g.text })", Broken),
            ],
        ),
        (
            json!({"properties": {"o": {"type": "object", "anyOf": [{"required": ["x"], "properties": {"x": {"type": "string"}}},
                {"required": ["y"], "properties": {"y": {"type": "string"}}}],
                "dependentSchemas": {"x": {"properties": {"z": {}}}}, "unevaluatedProperties": {"type": "integer"}}}}),
            &[
                (
                    "step x = a.t(o: { x: g.text, y: g.text, z: g.text, more: g.number })",
                    Fits,
                ),
                ("step x = a.t(o: { y: g.text, z: g.text })", Broken),
                ("step x = a.t(o: { y: g.text, z: g.number })", Fits),
            ],
        ),
        (
            json!({"properties": {"p": {"type": "array", "prefixItems": [{"type": "string"}], "contains": {"type": "boolean"},
                "minContains": 0, "unevaluatedItems": {"type": "integer"}}}}),
            &[
                ("step x = a.t(p: [g.text, g.flag, g.number])", Fits),
                ("step x = a.t(p: [g.text, g.text])", Broken),
            ],
        ),
        (
            json!({"properties": {"p": {"type": "array", "items": {"type": "string"},
                "oneOf": [{"prefixItems": [true], "minItems": 1, "maxItems": 1}, {"items": true, "minItems": 2}],
                "unevaluatedItems": false}}}),
            &[
                ("step x = a.t(p: [g.text])", Fits),
                ("step x = a.t(p: [g.text, g.text, g.text])", Fits),
            ],
        ),
        (
            json!({"properties": {"p": {"type": "array", "allOf": [{"items": {"type": "string"}}], "unevaluatedItems": false}}}),
            &[("step x = a.t(p: g.list)", Fits)],
        ),
        (
            json!({"properties": {"p": {"type": "array", "prefixItems": [{}], "unevaluatedItems": {"type": "string"}}}}),
            &[("step x = a.t(p: g.list)", Fits)],
        ),
        (
            json!({"properties": {"p": {"type": "array", "prefixItems": [{}], "unevaluatedItems": false}}}),
            &[
                ("step x = a.t(p: g.list)", Open),
                ("step x = a.t(p: [g.number, g.number])", Broken),
            ],
        ),
    ];
    judge(cases);
}

#[test]
fn b14_r10_14_formats_are_asked_of_constants() {
    use CheckResult::{Broken, Fits, Open};
    let cases = [
        ("date", "2026-02-28", "2026-02-30"),
        ("date-time", "2026-02-28T10:00:00Z", "2026-02-28 10:00"),
        ("time", "10:00:00Z", "25:00:00Z"),
        ("duration", "P1D", "1d"),
        ("email", "a@example.com", "a.example.com"),
        ("hostname", "a.example.com", "-a.example.com"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv6", "::1", "::g"),
        ("uri", "https://example.com/a", "example.com/a"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("regex", "^a+$", "a("),
    ];
    for (format, good, bad) in cases {
        let schema = json!({"properties": {"v": {"type": "string", "format": format}}});
        assert_eq!(
            check_call(&schema, &format!("step x = a.t(v: {good:?})")),
            Fits,
            "{format}"
        );
        assert_eq!(
            check_call(&schema, &format!("step x = a.t(v: {bad:?})")),
            Broken,
            "{format}"
        );
        assert_eq!(
            check_call(&schema, "step x = a.t(v: g.text)"),
            Open,
            "{format}"
        );
    }
    for format in ["color", "iri", "json-pointer"] {
        let schema = json!({"properties": {"v": {"type": "string", "format": format}}});
        assert_eq!(
            check_call(&schema, "step x = a.t(v: \"any text\")"),
            Fits,
            "{format}"
        );
        assert_eq!(
            check_call(&schema, "step x = a.t(v: g.text)"),
            Fits,
            "{format}"
        );
    }
}

fn judge(cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for (schema, calls) in cases {
        for (call, expected) in calls {
            let verdict = check_call(&schema, call);
            if verdict != *expected {
                wrong.push(format!("{call}: {verdict:?}, not {expected:?}: {schema}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns a world with `a.t` under a contract, which answers with `answer`.
fn world(parameters: &Json, returns: Option<Json>, answer: Json) -> World {
    World::new()
        .tool("a.t", [give(answer)])
        .contract("a.t", parameters, returns)
}

#[tokio::test(start_paused = true)]
async fn b4_openapis_nullable_means_the_same_to_the_check_and_to_the_run() {
    let nullable = json!({"type": "object", "required": ["v", "e", "r"], "properties": {
        "v": {"type": "string", "nullable": true}, "e": {"type": "string", "enum": ["a"], "nullable": true},
        "r": {"$ref": "#/$defs/r", "nullable": true}}, "$defs": {"r": {"type": "integer"}}});
    let world = world(
        &nullable,
        Some(nullable.clone()),
        json!({"v": null, "e": null, "r": null}),
    );
    let ran = world
        .run("use a plan p() { step x = a.t(v: null, e: null, r: null) reply [x.v, x.e, x.r] }")
        .await;
    assert_eq!(ran.reply(), json!([null, null, null]));
}

#[tokio::test(start_paused = true)]
async fn b15_who_lists_fields_without_a_type_means_an_object() {
    let bare = json!({"properties": {"id": {"type": "string"}}});
    let text = "use a plan p() { step x = a.t() reply x.id }";
    let refused = world(
        &json!({"type": "object"}),
        Some(bare.clone()),
        json!("a text"),
    )
    .run(text)
    .await;
    let error = refused.outcome.error.unwrap();
    assert_eq!(error.class.to_string(), "validation.result");
    assert!(
        error.message.contains("must be of type object"),
        "{}",
        error.message
    );
    let ran = world(
        &json!({"type": "object"}),
        Some(bare.clone()),
        json!({"id": "x"}),
    )
    .run(text)
    .await;
    assert_eq!(ran.reply(), json!("x"));
    for seed in 0..40 {
        let contract = Contract::of_result(bare.clone());
        let examples = planrun_lang::example::Examples::new(contract.normalized()).unwrap();
        let made = examples
            .make(
                &serde_json::Map::new(),
                seed,
                planrun_lang::example::Choice::Usual,
            )
            .unwrap();
        assert!(made.is_object(), "{made}");
    }
}

#[tokio::test(start_paused = true)]
async fn b15_beside_a_reference_of_draft_7_nothing_counts() {
    let returns = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["v"],
        "properties": {"v": {"$ref": "#/definitions/v", "type": "integer", "maxLength": 1}},
        "definitions": {"v": {"type": "string"}}});
    let text = "use a plan p() -> string { step x = a.t() reply x.v }";
    let ran = world(
        &json!({"type": "object"}),
        Some(returns),
        json!({"v": "long"}),
    )
    .run(text)
    .await;
    assert_eq!(ran.reply(), json!("long"));
}

#[tokio::test(start_paused = true)]
async fn f29_a_default_of_a_required_argument_is_sent_and_shown_to_the_contract() {
    let schema = json!({"type": "object", "required": ["n", "m"], "properties": {"n": {"type": "integer", "default": 7},
        "m": {"type": "string"}, "o": {"type": "string", "default": "only told"}}});
    let ran = world(&schema, None, json!(1))
        .run("use a plan p() { step x = a.t(m: \"a\") }")
        .await;
    assert_eq!(ran.outcome.error, None);
    assert_eq!(ran.calls("a.t")[0].arguments, json!({"m": "a", "n": 7}));
}

#[tokio::test(start_paused = true)]
async fn b8_the_default_of_a_tool_items_parameter_is_of_its_type_and_is_sent() {
    let text = |default: &str| {
        format!("use a tool a.t(n: double = {default}) -> any read plan p() {{ step x = a.t() }}")
    };
    let ran = World::new()
        .tool("a.t", [give(json!(1))])
        .run(&text("1 + 2"))
        .await;
    assert_eq!(ran.calls("a.t")[0].arguments, json!({"n": 3}));
    for wrong in ["\"x\"", "null", "{}"] {
        let source = SourceFile::new("a.plan", text(wrong));
        let found = sema::check_without_rules(&source, &Tools::default(), &NoFiles).diagnostics;
        let codes: Vec<&str> = found
            .iter()
            .filter(|found| found.is_error())
            .map(|found| found.code.name)
            .collect();
        assert_eq!(codes.len(), 1, "{wrong}: {codes:?}");
        assert!(
            ["default-type", "maybe-absent"].contains(&codes[0]),
            "{wrong}: {codes:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r2_6_a_null_for_what_need_not_be_there_is_left_out_unless_the_schema_has_it() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]},
        "o": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}}});
    let text = "use a plan p() { step x = a.t(a: null, b: null, o: { a: null, b: null }, l: [{ a: null }]) }";
    let ran = world(&schema, None, json!(1)).run(text).await;
    assert_eq!(ran.outcome.error, None);
    assert_eq!(ran.calls("a.t").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn b14_r10_14_formats_are_asked_of_arguments_and_only_told_of_results() {
    let email =
        json!({"type": "object", "properties": {"to": {"type": "string", "format": "email"}}});
    let text = "use a tool a.text() -> string read plan p() { step s = a.text() step x = a.t(to: s) reply x.to }";
    let run = async |written: &str| {
        let world = world(&email, Some(email.clone()), json!({"to": "nobody"}));
        world
            .tool("a.text", [Script::Give(json!(written))])
            .run(text)
            .await
    };
    let refused = run("nobody").await;
    assert_eq!(refused.class(), "validation.arguments");
    assert!(refused.calls("a.t").is_empty());
    let ran = run("a@example.com").await;
    assert_eq!(ran.reply(), json!("nobody"));
    assert!(
        ran.events
            .iter()
            .any(|(name, path, _)| *name == "result.noted" && path == "x"),
        "{:?}",
        ran.events
    );
}

/// Returns partial knowledge of a value. The actual value is always among the possible ones.
fn blurred(value: &Json, dice: &mut Dice) -> Known {
    match dice.below(8) {
        0 => Known::Of(Type::Any),
        1 => Known::Either(vec![Known::Exactly(value.clone()), blurred(value, dice)]),
        2 => Known::Either(vec![
            Known::Of(Type::Int),
            blurred(value, dice),
            Known::Of(Type::String.list()),
        ]),
        3 => Known::Exactly(value.clone()),
        _ => match value {
            Json::Null => Known::Of(Type::Null),
            Json::Bool(_) => Known::Of(Type::Bool),
            Json::Number(number) if number.is_i64() => Known::Of(if dice.one_in(2) {
                Type::Int
            } else {
                Type::Double
            }),
            Json::Number(_) => Known::Of(Type::Double),
            Json::String(_) => Known::Of(Type::String),
            Json::Array(items) if dice.one_in(3) => {
                let some = Known::Of(Type::Bool);
                Known::Elements(Box::new(Known::Either(
                    items
                        .iter()
                        .map(|item| blurred(item, dice))
                        .chain([some])
                        .collect(),
                )))
            }
            Json::Array(items) => {
                Known::List(items.iter().map(|item| blurred(item, dice)).collect())
            }
            Json::Object(entries) => {
                let (forgets, further) = (dice.one_in(4), dice.one_in(4));
                let mut fields = Vec::new();
                for (name, value) in entries {
                    if !(forgets && dice.one_in(2)) {
                        let value = blurred(value, dice);
                        fields.push(KnownField {
                            name: name.as_str().into(),
                            value,
                            sure: !dice.one_in(4),
                        });
                    }
                }
                if further && !entries.contains_key("further") {
                    fields.push(KnownField {
                        name: "further".into(),
                        value: Known::Of(Type::Int),
                        sure: false,
                    });
                }
                Known::Object {
                    fields,
                    rest: if forgets { Rest::Open } else { Rest::Closed },
                }
            }
        },
    }
}

#[test]
fn b4_no_verdict_over_the_published_cases_contradicts_the_run() {
    let Some(folder) = support::cases("json-schema") else {
        return;
    };
    for (draft, address) in [
        (
            "draft2020-12",
            "https://json-schema.org/draft/2020-12/schema",
        ),
        ("draft7", "http://json-schema.org/draft-07/schema#"),
    ] {
        let (mut decided, mut open, mut left_out, mut wrong) = (0, 0, 0, Vec::new());
        for entry in std::fs::read_dir(folder.join(draft))
            .unwrap()
            .map(Result::unwrap)
        {
            let cases: Json =
                serde_json::from_str(&std::fs::read_to_string(entry.path()).unwrap()).unwrap();
            for case in cases.as_array().unwrap() {
                let mut schema = case["schema"].clone();
                if let Some(object) = schema.as_object_mut() {
                    object.entry("$schema").or_insert_with(|| json!(address));
                }
                // A schema that refers to other documents is not a contract of a tool.
                if Validator::new(&schema).is_err() {
                    left_out += 1;
                    continue;
                }
                for formats in [false, true] {
                    let made = if formats {
                        Contract::of_arguments
                    } else {
                        Contract::of_result
                    };
                    let contract = made(schema.clone());
                    for (number, test) in case["tests"].as_array().unwrap().iter().enumerate() {
                        let data = &test["data"];
                        let name = format!(
                            "{}: {}: {}",
                            entry.path().display(),
                            case["description"],
                            test["description"]
                        );
                        let valid = contract.violations(data).is_empty();
                        if *contract.normalized() == schema && !formats {
                            assert_eq!(valid, test["valid"].as_bool().unwrap(), "{name}");
                        }
                        let twice = Known::Either(vec![
                            Known::Exactly(data.clone()),
                            Known::Exactly(data.clone()),
                        ]);
                        let verdict = contract.judge(&twice);
                        if verdict == Verdict::Unknown {
                            open += 1;
                        } else {
                            decided += 1;
                        }
                        let mut dice = Dice::new(number as u64 + 1000 * u64::from(formats));
                        let blurs = (0..40)
                            .map(|_| blurred(data, &mut dice))
                            .collect::<Vec<_>>();
                        for known in std::iter::once(twice).chain(blurs) {
                            match contract.judge(&known) {
                                Verdict::Fits if !valid => {
                                    wrong.push(format!("{name}: {known:?} fits"));
                                }
                                Verdict::Cannot(reason) if valid => {
                                    wrong.push(format!("{name}: {known:?}: {reason}"));
                                }
                                _ => {}
                            }
                        }
                    }
                }
            }
        }
        println!("{draft}: {decided} decided, {open} left open, {left_out} schemas left out");
        assert!(
            wrong.is_empty(),
            "{draft}: {} wrong\n{}",
            wrong.len(),
            wrong[..wrong.len().min(12)].join("\n")
        );
        assert!(
            open * 4 < decided,
            "{draft}: {open} of {} are left open",
            open + decided
        );
    }
}
