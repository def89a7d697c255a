//! Section 8: numbers, and the conversion of a value to the type that its place declares.

use std::collections::BTreeMap;

use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

use crate::world::{Ran, World, give};

/// Every place with the declared type double holds a double: rounding accepts nothing else, and halves are kept.
const DOUBLES: &[(&str, &str)] = &[
    ("let", "step n = a.int() let x: double = n"),
    ("constant", "let x: double = 3"),
    (
        "optional",
        "step n = a.int() let y: double? = n let x = y ?? 0.5",
    ),
    (
        "list",
        "step n = a.int() let xs: double[] = [n, 2.5] let x = xs[0]",
    ),
    (
        "list as a whole",
        "step n = a.int() let ns = [n, n] let xs: double[] = ns let x = xs[1]",
    ),
    (
        "lists in a list",
        "step n = a.int() let xs: double[][] = [[2.5], [n]] let x = xs[1][0]",
    ),
    (
        "map",
        "step n = a.int() let m: map<string, double> = { k: n } let x = m.k ?? 0.5",
    ),
    (
        "object",
        "step n = a.int() let o: { v: double } = { v: n } let x = o.v",
    ),
    (
        "object as a whole",
        "step n = a.int() let p = { v: n } let o: { v: double } = p let x = o.v",
    ),
    (
        "conditional",
        "step n = a.int() let x: double = n > 2 ? n : 0.5",
    ),
    ("any", "step n = a.any() let x: double = n"),
    ("default", "let x = defaulted"),
    (
        "state",
        "step r = repeat v = 0.5 max 3 { step n = a.int() yield v next n when v < 1.0 next null when v > 1.0 } let x = r[1]",
    ),
    ("recover", "step y = a.broken() recover _ => 3 let x = y"),
    (
        "recovering call",
        "step y = a.broken() recover _ => a.int() let x = y",
    ),
    (
        "recovering block",
        "step y = a.broken() recover _ => do { step n = a.int() yield n } let x = y",
    ),
    (
        "context",
        "step n = a.int() task t \"T\" { v: double } set t done { v: n } let x = t.v",
    ),
    ("result", "step x = a.double()"),
];

const TOOLS: &str = "
use a
tool a.int() -> int read
tool a.any() -> any read
tool a.double() -> double read
tool a.broken() -> double read
tool a.take(v?: double, u?: uint, o?: { v: double }) -> any read
tool a.open() -> { id: string } read
tool a.closed(o: { id: string }) -> any read
";

fn world() -> World {
    World::new()
        .tool("a.int", [give(json!(3))])
        .tool("a.any", [give(json!(3))])
        .tool("a.double", [give(json!(3))])
        .tool(
            "a.broken",
            [crate::world::Script::Fail(
                "tool.failed",
                planrun_lang::protocol::Sent::Answered,
            )],
        )
        .tool("a.take", [give(json!(null))])
        .tool("a.open", [give(json!({"id": "x", "more": 1}))])
        .tool("a.closed", [give(json!(null))])
}

async fn run(body: &str) -> Ran {
    world()
        .run(&format!(
            "{TOOLS}\nplan p(defaulted: double = 3) {{ {body} }}"
        ))
        .await
}

#[tokio::test(start_paused = true)]
async fn b1_an_int_becomes_a_double_wherever_one_is_declared() {
    for (place, body) in DOUBLES {
        let ran = run(&format!("{body} reply [math.round(x), x / 2]")).await;
        assert_eq!(ran.reply(), json!([3, 1.5]), "{place}: {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn b1_an_int_becomes_a_uint_wherever_one_is_declared() {
    for body in [
        "let x: uint = n",
        "let xs: uint[] = [n] let x = xs[0]",
        "let o: { v: uint } = { v: n } let x = o.v",
    ] {
        let ran = run(&format!("step n = a.int() {body} reply x + 2u")).await;
        assert_eq!(ran.reply(), json!(5), "{body}");
    }
    let ran = run("step n = a.int() let x: uint = n - 5 reply x").await;
    assert_eq!(
        ran.outcome.error.unwrap().class.to_string(),
        "validation.expression"
    );
}

#[tokio::test(start_paused = true)]
async fn b1_inputs_and_arguments_of_called_plans_are_converted() {
    let text = "plan inner(v: double, w: double = 1, os: { v: double }[] = []) -> double[] { reply [math.round(v), w / 2, \
                os.size() > 0 ? os[0].v / 2 : 0.0] }";
    let caller = format!(
        "{TOOLS} use \"./inner.plan\" as i plan p() {{ step n = a.int() \
                          step x = i.inner(v: n, w: n, os: [{{ v: n }}]) reply x }}"
    );
    let ran = world().file("./inner.plan", text).run(&caller).await;
    assert_eq!(ran.reply(), json!([3, 1.5, 1.5]));
    let inputs = BTreeMap::from([("v".into(), Value::Int(3))]);
    assert_eq!(
        World::new().run_with(text, inputs).await.reply(),
        json!([3, 0.5, 0])
    );
}

#[tokio::test(start_paused = true)]
async fn r8_1_numbers_decode_by_their_declared_type() {
    let text = "use a tool a.get() -> { i: int, d: double, x: any, y: any } read plan p() { step r = a.get() \
                reply [type(r.i) == int, type(r.d) == double, type(r.x) == int, type(r.y) == double] }";
    let given: Json = serde_json::from_str(r#"{"i": 1.0, "d": 1, "x": 1, "y": 1.0}"#).unwrap();
    let ran = World::new().tool("a.get", [give(given)]).run(text).await;
    assert_eq!(ran.reply(), json!([true, true, true, true]));
}

#[tokio::test(start_paused = true)]
async fn r8_1_a_value_only_passed_on_keeps_its_literal() {
    let ran = run("step x = a.take(v: 9007199254740993) reply 1.0").await;
    assert_eq!(
        ran.calls("a.take")[0].arguments.to_string(),
        r#"{"v":9007199254740993}"#
    );
    let given: Json = serde_json::from_str(r#"{"id": 1.10}"#).unwrap();
    let text = "use a tool a.get() -> { id: double } read tool a.put(v: double, w: { id: double }) -> any read \
                plan p() { step r = a.get() step x = a.put(v: r.id, w: r) }";
    let ran = World::new()
        .tool("a.get", [give(given)])
        .tool("a.put", [give(json!(1))])
        .run(text)
        .await;
    assert_eq!(
        ran.calls("a.put")[0].arguments.to_string(),
        r#"{"v":1.10,"w":{"id":1.10}}"#
    );
}

#[tokio::test(start_paused = true)]
async fn r8_2_any_flows_into_any_type_with_a_check_at_run_time() {
    let class = async |given: Json, body: &str| {
        let text = format!(
            "use a tool a.any() -> any read tool a.put(v: int) -> any read plan p() {{ step r = a.any() {body} }}"
        );
        let ran = World::new()
            .tool("a.any", [give(given)])
            .tool("a.put", [give(json!(1))])
            .run(&text)
            .await;
        ran.outcome.error.map(|error| error.class.to_string())
    };
    let expression = Some("validation.expression".to_owned());
    assert_eq!(
        class(json!("x"), "let x: int = r reply x").await,
        expression
    );
    assert_eq!(
        class(json!({"v": "x"}), "let x: { v: int } = r reply x").await,
        expression
    );
    assert_eq!(
        class(json!(1.5), "let x: int = r reply x").await,
        expression
    );
    assert_eq!(class(json!(2), "let x: int = r reply x").await, None);
    assert_eq!(
        class(json!("x"), "step y = a.put(v: r)").await,
        Some("validation.arguments".to_owned())
    );
    assert_eq!(
        class(
            json!("2026-01-02T03:04:05Z"),
            "let x: timestamp = r reply x.getFullYear()"
        )
        .await,
        None
    );
}

#[tokio::test(start_paused = true)]
async fn b9_what_is_passed_on_whole_is_cut_to_a_closed_type() {
    let ran =
        run("step r = a.open() step x = a.closed(o: r) let y: { id: string } = r reply y").await;
    assert_eq!(
        ran.calls("a.closed")[0].arguments,
        json!({"o": {"id": "x"}})
    );
    assert_eq!(ran.reply(), json!({"id": "x"}));
    let text = format!(
        "{TOOLS} plan p() -> {{ rs: {{ id: string }}[] }} {{ step r = a.open() reply {{ rs: [r, r] }} }}"
    );
    assert_eq!(
        world().run(&text).await.reply(),
        json!({"rs": [{"id": "x"}, {"id": "x"}]})
    );
    let ran =
        run("step r = a.open() task t \"T\" { o: { id: string } } set t done { o: r } reply t.o")
            .await;
    assert_eq!(ran.reply(), json!({"id": "x"}));
}

/// A plan reads declared fields only, also of a union that it forms itself.
#[tokio::test(start_paused = true)]
async fn an_undeclared_field_is_not_read_as_that_of_another_alternative() {
    let text = |expression: &str| {
        format!(
            "use a tool a.one() -> {{ a: int }} read tool a.two() -> {{ b: string, at: {{ n: int }} }} read \
             plan p(first: bool = true) {{ step one = a.one() step two = a.two() \
             let u = first ? one : two let us = [one, two] reply {expression} }}"
        )
    };
    let reply = async |undeclared: Json, expression: &str| {
        let mut given = json!({ "a": 1 });
        given
            .as_object_mut()
            .unwrap()
            .extend(undeclared.as_object().unwrap().clone());
        let two = json!({ "b": "two", "at": { "n": 2 } });
        let ran = World::new()
            .tool("a.one", [give(given)])
            .tool("a.two", [give(two)])
            .run(&text(expression))
            .await;
        ran.reply()
    };
    let other = json!({ "b": 5, "at": [] });
    for (expression, expected) in [
        ("u.b", json!(null)),
        ("u[\"b\"]", json!(null)),
        ("(u.b ?? \"none\") + \"!\"", json!("none!")),
        ("has(u.b) ? size(u.b) : -1", json!(-1)),
        ("u?.at?.n ?? 0", json!(0)),
        (
            "match u { { b: null } => \"one\", _ => \"two\" }",
            json!("one"),
        ),
        (
            "match u { { at: { n: 2 } } => 2, { b: \"two\" } => 3, _ => 4 }",
            json!(4),
        ),
        (
            "us.map(x, (x.b ?? \"none\") + \"!\")",
            json!(["none!", "two!"]),
        ),
    ] {
        assert_eq!(
            reply(other.clone(), expression).await,
            expected,
            "{expression}"
        );
    }
}

/// The entries of a map are all part of its type, so none is lost.
#[tokio::test(start_paused = true)]
async fn an_entry_of_a_map_for_which_a_closed_type_has_no_field_is_an_error() {
    let map = |more: &str| format!("let m: map<string, string> = {{ id: \"y\"{more} }}");
    let more = format!("step n = a.int() {}", map(", (\"k${n}\"): \"x\""));
    for (place, class) in [
        ("step x = a.closed(o: m) reply x", "validation.arguments"),
        ("let y: { id: string } = m reply y", "validation.expression"),
        (
            "let y: { id: string }[] = [m] reply y",
            "validation.expression",
        ),
        (
            "let y: { id: string } = merge({ id: \"z\" }, m) reply y",
            "validation.expression",
        ),
    ] {
        let ran = run(&format!("{more} {place}")).await;
        assert_eq!(ran.class().as_str(), class, "{place}");
        assert!(ran.calls("a.closed").is_empty(), "{place}");
        let ran = run(&format!("{} {place}", map(""))).await;
        assert_eq!(ran.outcome.state.name(), "completed", "{place}");
    }
}

/// A character takes as much of `max_result` as it takes in the answer, also if JSON has to escape it.
#[tokio::test(start_paused = true)]
async fn the_size_of_a_result_does_not_depend_on_its_escapes() {
    let plan = "use a tool a.any() -> any read plan p() -> int {
        policy { max_result: 1MiB }
        step r = a.any()
        reply size(string(r))
    }";
    // Two bytes are the quotes.
    for (length, fits) in [((1 << 20) - 2, true), ((1 << 20) - 1, false)] {
        for character in ["\u{1}", "\"", "x"] {
            let text = json!(character.repeat(length));
            let ran = World::new().tool("a.any", [give(text)]).run(plan).await;
            if fits {
                assert_eq!(ran.reply(), json!(length), "{character:?}");
            } else {
                assert_eq!(ran.class().as_str(), "validation.result", "{character:?}");
            }
        }
    }
}

/// An entry of a map has no place in an object without a field for it, wherever the map meets the object.
#[tokio::test(start_paused = true)]
async fn an_entry_of_a_map_is_not_lost_where_the_map_may_be_an_object() {
    for body in [
        "reply c ? m : { s: \"q\" }",
        "reply (c ? m : null) ?? { s: \"q\" }",
        "let x = c ? m : { s: \"q\" } reply x",
        "reply [m, { s: \"q\" }][0]",
        "step x = match c { true => m, false => { s: \"q\" } } reply x",
        "if c { let x = m } else { let x = { s: \"q\" } } reply x ?? { s: \"r\" }",
    ] {
        let plan = |entries: &str| {
            format!(
                "plan p(c: bool = true) -> {{ s?: string }} {{ let m: map<string, string> = {entries} {body} }}"
            )
        };
        let ran = World::new().run(&plan("{ s: \"x\" }")).await;
        assert_eq!(ran.reply(), json!({ "s": "x" }), "{body}");
        let ran = World::new().run(&plan("{ s: \"x\", t: \"y\" }")).await;
        let error = ran.outcome.error.as_ref().map(ToString::to_string);
        let error = error.unwrap_or_default();
        assert!(error.contains("there is no field t"), "{body}: {error}");
    }
}
