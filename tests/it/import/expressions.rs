//! Expressions of other languages, translated and run: each gives what its language specifies, fails where it has no
//! value, or is reported.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use planrun_import::report::Conversion;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::{self, NoFiles, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Type, decode};
use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

use crate::world::World;

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
enum End {
    Gives(Json),
    /// It gives this, and the report says where it may give something else.
    Reported(Json),
    Fails,
    NotCarried,
}

use End::{Fails, Gives, NotCarried, Reported};

/// Imports a document and runs its plan with these inputs.
async fn run(document: &Json, input: &Json) -> End {
    let source = SourceFile::new("document.json", document.to_string());
    let made = planrun_import::import(&source, None, "d", &Tools::default()).unwrap();
    let notes = || made.report.notes.iter();
    if notes().any(|note| note.fate == Conversion::NotCarried) {
        return NotCarried;
    }
    let decoded = |json: &Json| decode(json, &Type::Any).unwrap();
    let is_whole = notes().any(|note| note.why == "is the input `input` of the plan");
    let given: BTreeMap<Arc<str>, Value> = if is_whole {
        BTreeMap::from([("input".into(), decoded(input))])
    } else {
        let known = sema::check_without_rules(
            &SourceFile::new("d.plan", made.text.as_str()),
            &Tools::default(),
            &NoFiles,
        );
        let parameters = &known.plans[0].parameters;
        let is_missing = |name: &str| input.get(name).is_none();
        if parameters
            .iter()
            .any(|one| one.required && is_missing(&one.name))
        {
            return Fails;
        }
        let names = parameters.iter().map(|one| &one.name);
        let given = names.filter_map(|name| Some((name.clone(), decoded(input.get(&**name)?))));
        given.collect()
    };
    let ran = World::new().run_with(&made.text, given).await;
    let is_reported = notes().any(|note| note.what.contains(": `"));
    match ran.outcome.state {
        RunState::Completed if is_reported => Reported(ran.reply()),
        RunState::Completed => Gives(ran.reply()),
        _ => Fails,
    }
}

async fn compare<E: Display>(
    cases: impl IntoIterator<Item = (E, Json, End)>,
    document: impl Fn(&E) -> Json,
) {
    let mut faults = Vec::new();
    for (expression, input, expected) in cases {
        let end = run(&document(&expression), &input).await;
        if end != expected {
            faults.push(format!(
                "{expression} with {input}: {end:?}, not {expected:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns a document that gives the value of an expression.
fn jsonata(expression: &&str) -> Json {
    json!({
        "QueryLanguage": "JSONata", "StartAt": "S",
        "States": {"S": {
            "Type": "Pass", "Output": format!("{{% ($v := $states.input.v; {expression}) %}}"), "End": true,
        }},
    })
}

/// The values were computed with version 2 of JSONata.
#[tokio::test(start_paused = true)]
async fn jsonata_means_the_same() {
    let of = |value: Json| json!({"v": value});
    let none = json!({});
    let cases = vec![
        ("$round($v)", of(json!(2.5)), Gives(json!(2))),
        ("$round($v)", of(json!(-2.5)), Gives(json!(-2))),
        ("$round($v)", of(json!(3.5)), Gives(json!(4))),
        ("$round($v)", of(json!(2.6)), Gives(json!(3))),
        ("$round($v)", of(json!(7)), Gives(json!(7))),
        ("$round($v, 2)", of(json!(7)), NotCarried),
        ("$floor($v)", of(json!(7)), Gives(json!(7))),
        ("$count($v)", of(json!("abc")), Gives(json!(1))),
        ("$count($v)", of(json!({"a": 1, "b": 2})), Gives(json!(1))),
        ("$count($v)", of(json!(null)), Gives(json!(1))),
        ("$count($v)", of(json!([4, [5]])), Gives(json!(2))),
        ("$count($states.input.none)", of(json!(1)), Gives(json!(0))),
        ("$count($v[$ > 1])", of(json!([1, 2, 3])), Gives(json!(2))),
        ("$append($v, 'b')", of(json!("a")), Gives(json!(["a", "b"]))),
        ("$append($v, $v)", of(json!([1])), Gives(json!([1, 1]))),
        ("$append($v, $v)", of(json!(1)), Gives(json!([1, 1]))),
        ("$append([1], 2)", none.clone(), Gives(json!([1, 2]))),
        ("[$v]", of(json!([1, 2])), Gives(json!([1, 2]))),
        ("[$v, 3]", of(json!([1, 2])), Gives(json!([1, 2, 3]))),
        ("[$v, [3]]", of(json!(1)), Gives(json!([1, [3]]))),
        ("[[$v]]", of(json!([1])), Gives(json!([[1]]))),
        ("[[1, 2], [3]]", none.clone(), Gives(json!([[1, 2], [3]]))),
        ("[$v[$ > 1]]", of(json!([1, 2])), Gives(json!([2]))),
        ("$v[$ > 1]", of(json!([1, 2])), Gives(json!(2))),
        ("$v[$ > 1]", of(json!([1, 2, 3])), Gives(json!([2, 3]))),
        ("$v[$ > 9]", of(json!([1, 2])), Fails),
        (
            "$v[a]",
            of(json!([{"a": true}, {"a": ""}])),
            Gives(json!({"a": true})),
        ),
        ("$v[$count($v) - 1]", of(json!([1, 2])), Gives(json!(2))),
        ("$v[($i := 1; $i)]", of(json!([1, 2])), Gives(json!(2))),
        ("$v[-1]", of(json!([1, 2])), Gives(json!(2))),
        ("$v['a']", of(json!({"a": 1})), NotCarried),
        ("$sum($v)", of(json!([])), Gives(json!(0))),
        ("$max($v)", of(json!([])), Fails),
        ("$max($v)", of(json!([1, 3])), Gives(json!(3))),
        ("$min($v)", of(json!(["a"])), Fails),
        ("$average($v)", of(json!([1, 2])), Gives(json!(1.5))),
        ("$average($v)", of(json!([])), Fails),
        ("$reverse($v)", of(json!("abc")), Gives(json!(["abc"]))),
        ("$reverse($v)", of(json!([1, 2])), Gives(json!([2, 1]))),
        ("$not($v)", of(json!(0)), Gives(json!(true))),
        ("$not($states.input.none)", of(json!(0)), Fails),
        ("$not($v)", of(json!([[0], null])), Gives(json!(true))),
        ("$v ? 1 : 2", of(json!([0, ""])), Gives(json!(2))),
        ("$v ? 1 : 2", of(json!([0, "a"])), Gives(json!(1))),
        ("$string($v)", of(json!(null)), Gives(json!("null"))),
        (
            "$string($v)",
            of(json!({"a": [1]})),
            Gives(json!("{\"a\":[1]}")),
        ),
        ("$string($v)", of(json!("a")), Gives(json!("a"))),
        ("$trim($v)", of(json!(" a \n\t b ")), Gives(json!("a b"))),
        ("$uppercase($v)", of(json!("ab")), Reported(json!("AB"))),
        (
            "$keys($v)",
            of(json!({"b": 1, "a": 2})),
            Reported(json!(["a", "b"])),
        ),
        ("$keys($v)", of(json!({"b": 1})), Reported(json!("b"))),
        ("$sort($v[$ > 2])", of(json!([3, 1, 2])), Gives(json!([3]))),
        ("$reverse($v[$ > 2])", of(json!([3])), Gives(json!([3]))),
        ("$sort($v[$ > 5])", of(json!([3])), Fails),
        ("$replace($v, '', 'b')", of(json!("a")), NotCarried),
        (
            "$replace($v, 'a', 'b')",
            of(json!("aaa")),
            Gives(json!("bbb")),
        ),
        ("$replace($v, 'a', 'b', 2)", of(json!("aaa")), NotCarried),
        (
            "$merge([$v, {'b': 2}])",
            of(json!({"a": 1})),
            Gives(json!({"a": 1, "b": 2})),
        ),
        ("$v in 'a'", of(json!("a")), Gives(json!(true))),
        ("'k' in $v", of(json!({"k": 1})), Gives(json!(false))),
        ("$split($v, ',')", of(json!("")), Gives(json!([""]))),
    ];
    compare(cases, jsonata).await;
}

/// The errors, too, are those of version 2 of JSONata.
#[tokio::test(start_paused = true)]
async fn jsonata_fails_where_it_has_no_value() {
    let of = |value: Json| json!({"v": value});
    let cases = vec![
        ("$length($v)", of(json!("名字")), Gives(json!(2))),
        ("$length($v)", of(json!([1, 2])), Fails),
        ("$length($v)", of(json!({"a": 1})), Fails),
        ("$v + $v", of(json!(1.5)), Gives(json!(3))),
        ("$v + $v", of(json!("a")), Fails),
        ("$v + $v", of(json!([1])), Fails),
        ("$v + 'b'", of(json!("a")), Fails),
        ("$v / 2", of(json!(5)), Gives(json!(2.5))),
        ("$v / 2", of(json!("5")), Fails),
        ("6 / $v", of(json!(4)), Gives(json!(1.5))),
        ("6 / $v", of(json!(0)), Fails),
        ("6 / $v", of(json!(0.0)), Fails),
        ("$floor($v)", of(json!(-2.5)), Gives(json!(-3))),
        ("$floor($v)", of(json!("2.5")), Fails),
        ("$ceil($v)", of(json!("2.5")), Fails),
        ("$round($v)", of(json!("2.5")), Fails),
        ("$number($v)", of(json!("2.5")), Reported(json!(2.5))),
        (
            "'' & ($v + 0.1)",
            of(json!(0.2)),
            Reported(json!("0.30000000000000004")),
        ),
        ("$string($v / 2)", of(json!(3)), Reported(json!("1.5"))),
        ("'a' & $v & 'b'", of(json!(1)), Gives(json!("a1b"))),
        ("$string($v)", of(json!(1.0)), Gives(json!("1"))),
        ("$string($v)", of(json!(1.5)), Gives(json!("1.5"))),
        ("$string($v)", of(json!(true)), Gives(json!("true"))),
        ("$v[a]", of(json!([{"a": 1}, {"a": 0}])), Fails),
        (
            "$v[a]",
            of(json!([{"b": 1}, {"a": "x"}])),
            Gives(json!({"a": "x"})),
        ),
        ("$exists($v)", of(json!(null)), Gives(json!(true))),
        ("$exists($v.a)", of(json!({"a": null})), Gives(json!(true))),
        ("$exists($v.a)", of(json!({})), Gives(json!(false))),
        (
            "($n := null; $exists($n))",
            of(json!(1)),
            Gives(json!(true)),
        ),
        ("$exists($v[0])", of(json!([5])), Reported(json!(true))),
        ("$exists($v[$ > 1])", of(json!([1])), Gives(json!(false))),
        ("$v ? 'a'", of(json!(true)), NotCarried),
    ];
    compare(cases, jsonata).await;
}

/// Returns a document that gives the value of an expression.
fn jq(expression: &&str) -> Json {
    json!({
        "document": {"dsl": "1.0.3"},
        "do": [{"s": {"set": format!("${{ {expression} }}")}}],
    })
}

/// The values are those of jq 1.7.
#[tokio::test(start_paused = true)]
async fn jq_means_the_same() {
    let of = |value: Json| json!({"v": value});
    let cases = vec![
        (".v // 1", of(json!(false)), Gives(json!(1))),
        (".v // 1", of(json!(null)), Gives(json!(1))),
        (".none // 1", of(json!(0)), Gives(json!(1))),
        (".v // 1", of(json!(0)), Gives(json!(0))),
        (".v // false", of(json!(null)), Gives(json!(false))),
        ("(.v == 2) // 3", of(json!(1)), Gives(json!(3))),
        ("(.v | length) // 3", of(json!([])), Gives(json!(0))),
        (".v | length", of(json!(null)), Gives(json!(0))),
        (".v | length", of(json!("名字")), Gives(json!(2))),
        (
            ".v | flatten",
            of(json!([1, [2, [3, [4]]]])),
            Gives(json!([1, 2, 3, 4])),
        ),
        (
            ".v | flatten(1)",
            of(json!([1, [2, [3]]])),
            Gives(json!([1, 2, [3]])),
        ),
        (".v | add", of(json!([])), Gives(json!(null))),
        (".v | add", of(json!([1, 2])), Gives(json!(3))),
        (".v | add // 0", of(json!([])), Gives(json!(0))),
        (".v[1:9]", of(json!([1, 2, 3])), Gives(json!([2, 3]))),
        (".v[2:1]", of(json!([1, 2, 3])), Gives(json!([]))),
        (".v[-2:]", of(json!([1, 2, 3])), Gives(json!([2, 3]))),
        (".v[-9:2]", of(json!([1, 2, 3])), Gives(json!([1, 2]))),
        (".v[:-1]", of(json!([1, 2, 3])), Gives(json!([1, 2]))),
        (".v[:-9]", of(json!([1, 2, 3])), Gives(json!([]))),
        (".v[1:-1]", of(json!([1])), Gives(json!([]))),
        (
            ".v | join(\"-\")",
            of(json!([1, null, "a", true])),
            Reported(json!("1--a-true")),
        ),
        (".v | join(\"-\")", of(json!([])), Reported(json!(""))),
        (".v | split(\",\")", of(json!("")), Gives(json!([]))),
        (
            ".v | split(\",\")",
            of(json!("a,b")),
            Gives(json!(["a", "b"])),
        ),
        (
            ".v | tostring",
            of(json!({"a": [null]})),
            Gives(json!("{\"a\":[null]}")),
        ),
        (".v | tostring", of(json!("a")), Gives(json!("a"))),
        (".v | has(0)", of(json!([5])), Gives(json!(true))),
        (".v | has(1)", of(json!([5, 1])), Gives(json!(true))),
        (".v | has(2)", of(json!([5, 2])), Gives(json!(false))),
        (
            ".v | has(\"a\")",
            of(json!({"a": null})),
            Gives(json!(true)),
        ),
        (".v | has(.v)", of(json!({"a": null})), NotCarried),
        (".v | map(. + 1)", of(json!([1])), Reported(json!([2]))),
        ("[.v[] | .a]", of(json!([{"a": 1}])), Reported(json!([1]))),
        (".v | any", of(json!([false, 1])), Reported(json!(true))),
        ("[1, 2] | map(. + 1)", of(json!(0)), Gives(json!([2, 3]))),
        (".v | unique", of(json!([2, 1, 2])), Gives(json!([1, 2]))),
        (
            ".v | keys",
            of(json!({"b": 1, "a": 2})),
            Gives(json!(["a", "b"])),
        ),
        (".v | first", of(json!([])), Gives(json!(null))),
        (".v | round", of(json!(-1.5)), Gives(json!(-2))),
        (".v | min_by(.)", of(json!([3, 1])), Reported(json!(1))),
    ];
    compare(cases, jq).await;
}

/// Functions and operators of jq take values of several kinds, and fail for others.
#[tokio::test(start_paused = true)]
async fn jq_takes_the_same_kinds() {
    let of = |value: Json| json!({"v": value});
    let cases = vec![
        (".v | add", of(json!(["a", "b"])), Gives(json!("ab"))),
        (".v | add", of(json!([[1], [[2]]])), Gives(json!([1, [2]]))),
        (".v | add", of(json!([1, "a"])), Fails),
        (
            "(.v | add) / (.v | length)",
            of(json!([1, 2])),
            Gives(json!(1.5)),
        ),
        (".v[1:]", of(json!("名字好")), Gives(json!("字好"))),
        (".v[:-1]", of(json!("名字好")), Gives(json!("名字"))),
        (".v[1:9]", of(json!("abc")), Gives(json!("bc"))),
        (".v[1:]", of(json!(5)), Fails),
        ("6 / .v", of(json!(4)), Gives(json!(1.5))),
        ("6 / .v", of(json!(0)), Fails),
        (".v / 2", of(json!("6")), Fails),
        (".v | floor", of(json!("2.5")), Fails),
        (".v | has(\"a\")", of(json!({})), Gives(json!(false))),
        (".v | has(\"a\")", of(json!(["a"])), Fails),
        (
            ".v | has(\"a b\")",
            of(json!({"a b": null})),
            Gives(json!(true)),
        ),
        (
            ".v | has(\"a b\")",
            of(json!({"a": null})),
            Gives(json!(false)),
        ),
        (".v | has(\"a b\")", of(json!(["a b"])), Fails),
        (".v | has(0)", of(json!("abc")), Fails),
        (".v | has(0)", of(json!({"a": 1})), Fails),
        ("[.v[]]", of(json!([1])), Reported(json!([1]))),
    ];
    compare(cases, jq).await;
}

/// The values are those of Step Functions.
#[tokio::test(start_paused = true)]
async fn intrinsic_functions_mean_the_same() {
    let of = |value: Json| json!({"v": value});
    let split = |set: &str| format!("States.StringSplit($.v, '{set}')");
    let path = str::to_owned;
    let sum = || path("States.MathAdd($.v, $.v)");
    let length = || path("States.ArrayLength($.v)");
    let contains = || path("States.ArrayContains($.v, 'a')");
    let range = |bounds: &str| format!("States.ArrayRange({bounds})");
    let merge = |deep: bool| format!("States.JsonMerge($.v, $.v, {deep})");
    let cases = vec![
        (split(","), of(json!("a,b")), Gives(json!(["a", "b"]))),
        (split(","), of(json!(",a,,b,")), Gives(json!(["a", "b"]))),
        (split(","), of(json!("")), Gives(json!([]))),
        (
            split(".+,="),
            of(json!("This.is+a,test=string")),
            Gives(json!(["This", "is", "a", "test", "string"])),
        ),
        (sum(), of(json!(2)), Gives(json!(4))),
        (sum(), of(json!("2")), Fails),
        (length(), of(json!([1])), Gives(json!(1))),
        (length(), of(json!("abc")), Fails),
        (contains(), of(json!(["a"])), Gives(json!(true))),
        (contains(), of(json!({"a": 1})), Fails),
        (range("1, 9, 2"), json!({}), Gives(json!([1, 3, 5, 7, 9]))),
        (range("1, 2, 2"), json!({}), Gives(json!([1]))),
        (range("1, 0, 2"), json!({}), Gives(json!([]))),
        (
            merge(false),
            of(json!({"x": {"a": 1}})),
            Gives(json!({"x": {"a": 1}})),
        ),
        (merge(true), of(json!({"x": {"a": 1}})), NotCarried),
        (path("$.v[*]"), of(json!([1, 2])), Gives(json!([1, 2]))),
        (path("$.v[*]"), of(json!({"a": 1})), Fails),
        (path("$['v']"), of(json!(1)), Gives(json!(1))),
        (path("$['v','w']"), of(json!(1)), NotCarried),
    ];
    let document = |function: &String| {
        json!({
            "StartAt": "S",
            "States": {"S": {
                "Type": "Pass", "Parameters": {"is.$": function}, "OutputPath": "$.is", "End": true,
            }},
        })
    };
    compare(cases, document).await;
}

/// A comparison with a value of another type does not hold; only `IsPresent` may test what is missing.
#[tokio::test(start_paused = true)]
async fn a_rule_holds_for_values_of_its_type() {
    let (yes, no) = (|| Gives(json!("yes")), || Gives(json!("no")));
    let rule = |test: &str, value: Json| json!({"Variable": "$.v", test: value});
    let at = |path: &str, expected: bool| json!({"Variable": path, "IsPresent": expected});
    let of = |value: Json| json!({"v": value, "w": 5, "t": "2024-01-01T00:00:00Z"});
    let cases = vec![
        (rule("StringLessThan", json!("m")), of(json!("a")), yes()),
        (rule("StringLessThan", json!("m")), of(json!(1)), no()),
        (rule("StringMatches", json!("a*")), of(json!("ab")), yes()),
        (rule("StringMatches", json!("a*")), of(json!([1])), no()),
        (rule("NumericGreaterThan", json!(3)), of(json!(3.5)), yes()),
        (rule("NumericGreaterThan", json!(3)), of(json!("5")), no()),
        (rule("NumericGreaterThan", json!(3)), of(json!(null)), no()),
        (rule("NumericEquals", json!(3)), of(json!(3.0)), yes()),
        (rule("NumericEquals", json!(3)), of(json!("3")), no()),
        (rule("NumericEqualsPath", json!("$.w")), of(json!(5)), yes()),
        (
            rule("NumericLessThanPath", json!("$.t")),
            of(json!(5)),
            no(),
        ),
        (rule("StringEqualsPath", json!("$.w")), of(json!(5)), no()),
        (rule("BooleanEquals", json!(true)), of(json!("true")), no()),
        (
            rule("TimestampLessThan", json!("2025-01-01T00:00:00Z")),
            of(json!("2024-06-01T00:00:00Z")),
            yes(),
        ),
        (
            rule("TimestampLessThan", json!("2025-01-01T00:00:00Z")),
            of(json!("soon")),
            no(),
        ),
        (
            rule("TimestampGreaterThanPath", json!("$.t")),
            of(json!("2024-06-01T00:00:00Z")),
            yes(),
        ),
        (
            rule("TimestampGreaterThanPath", json!("$.w")),
            of(json!("2024-06-01T00:00:00Z")),
            no(),
        ),
        (rule("StringLessThan", json!("m")), json!({}), Fails),
        (rule("IsNull", json!(true)), json!({}), Fails),
        (rule("IsString", json!(true)), of(json!(1)), no()),
        (rule("IsNumeric", json!(true)), of(json!(1.5)), yes()),
        (rule("IsTimestamp", json!(true)), of(json!(1)), no()),
        (
            json!({"Not": rule("IsTimestamp", json!(true))}),
            of(json!("soon")),
            yes(),
        ),
        (at("$.v.a.b", true), of(json!({"a": {"b": null}})), yes()),
        (at("$.v.a.b", true), of(json!({"a": {}})), no()),
        (at("$.v.a.b", true), of(json!({"a": "b"})), no()),
        (at("$.v.a.b", true), of(json!({})), no()),
        (at("$.v.a.b", true), json!({}), no()),
        (at("$.v.a.b", false), json!({}), yes()),
        (at("$.v[1]", true), of(json!([1])), no()),
        (at("$.v[0].a", true), of(json!([{"a": 1}])), yes()),
        (at("$.v[0].a", true), of(json!([])), no()),
        (at("$.v[0]", true), of(json!("a")), no()),
        (at("$.v[*]", true), of(json!([])), NotCarried),
    ];
    let document = |rule: &Json| {
        let mut rule = rule.clone();
        rule["Next"] = "Yes".into();
        let state = |result: &str| json!({"Type": "Pass", "Result": result, "End": true});
        json!({
            "StartAt": "Which",
            "States": {
                "Which": {"Type": "Choice", "Choices": [rule], "Default": "No"},
                "Yes": state("yes"), "No": state("no"),
            },
        })
    };
    compare(cases, document).await;
}

/// A field that only one path reads may be missing on the others.
#[tokio::test(start_paused = true)]
async fn a_field_is_required_only_on_the_path_that_reads_it() {
    let take = |path: &str, next: &str| json!({"Type": "Pass", "Parameters": {"is.$": path}, "Next": next});
    let document = |after: &&str| {
        json!({
            "StartAt": "Which",
            "States": {
                "Which": {"Type": "Choice", "Default": "B", "Choices": [
                    {"Variable": "$.kind", "StringEquals": "a", "Next": "A"},
                    {"Variable": "$.kind", "StringEquals": "c", "Next": "C"},
                ]},
                "A": take("$.a", after), "B": take("$.b", after), "C": {"Type": "Fail"},
                "Done": {"Type": "Succeed"},
            },
        })
    };
    compare(
        [
            (
                "Done",
                json!({"kind": "a", "a": 1}),
                Gives(json!({"is": 1})),
            ),
            (
                "Done",
                json!({"kind": "b", "b": 2}),
                Gives(json!({"is": 2})),
            ),
            ("Done", json!({"kind": "b", "a": 2}), Fails),
        ],
        document,
    )
    .await;
    // What every path reads that does not merely fail is an input of its own.
    let mut machine = document(&"Done");
    machine["States"]["B"] = take("$.a", "Done");
    let source = SourceFile::new("document.json", machine.to_string());
    let made = planrun_import::import(&source, None, "d", &Tools::default()).unwrap();
    assert!(
        made.text.contains("plan d(a: any, kind: any)"),
        "{}",
        made.text
    );
}
