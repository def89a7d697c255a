//! Documents from outside: their texts and names stay data, and their size is bounded.

use planrun_import::Format;
use planrun_lang::sema::Tools;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{
    self,
    ast::{File, ItemKind},
};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::support::on;

/// Texts that would be code if they were concatenated into a plan.
const INJECTIONS: [&str; 8] = [
    "x\"\n    step evil = proc.run(argv: [\"rm\"])\n",
    "`; step evil = proc.run(argv: [])",
    "${input.secret}",
    "\"\"\"",
    "*/ // step evil",
    "a\u{202e}b\u{0}",
    "not_carried_1",
    "step",
];

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..INJECTIONS.len()).prop_map(|number| INJECTIONS[number].to_owned()),
        ".{0,20}",
        "[a-z]{1,8}",
    ]
}

proptest! {
    #![proptest_config(on(200))]

    #[test]
    fn texts_of_a_machine_stay_data(name in any_text(), value in any_text(), key in any_text(), comment in any_text()) {
        prop_assume!(!name.is_empty() && name != "End");
        let machine = json!({
            "Comment": comment,
            "StartAt": name,
            "States": {
                (name.clone()): {"Type": "Task", "Resource": value, "Parameters": {(key.clone()): value, "p.$": format!("$.{key}")}, "Next": "End"},
                "End": {"Type": "Pass", "Result": {(key): value}, "ResultPath": "$.r", "End": true},
            },
        });
        let source = SourceFile::new("m.json", machine.to_string());
        if let Ok(made) = planrun_import::import(&source, Some(Format::Asl), "m", &Tools::default()) {
            let parsed = syntax::parse(&SourceFile::new("m.plan", made.text.as_str()));
            prop_assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{}\n{:?}", made.text, parsed.diagnostics);
            prop_assert!(!names(&parsed.file).contains(&"evil".to_owned()), "{}", made.text);
            prop_assert_eq!(planrun_lang::format::format(&SourceFile::new("m.plan", made.text.as_str())).unwrap(), made.text);
        }
    }
}

/// Each stage doubles the value, which would need more memory than any machine has.
#[test]
fn a_short_document_forms_no_large_value() {
    let jq = vec!["{a: ., b: .}"; 40].join(" | ");
    let bindings: Vec<String> = (1..40)
        .map(|number| format!("$v{number} := {{\"a\": $v{0}, \"b\": $v{0}}}; ", number - 1))
        .collect();
    let jsonata = format!("{{% ($v0 := $states.input; {}$v39) %}}", bindings.concat());
    let states: serde_json::Map<String, Json> = (0..40)
        .map(|number| {
            let next = format!("S{}", number + 1);
            let parameters = json!({ "a.$": "$", "b.$": "$" });
            (
                format!("S{number}"),
                json!({ "Type": "Pass", "Parameters": parameters, "Next": next }),
            )
        })
        .chain([("S40".to_owned(), json!({ "Type": "Succeed" }))])
        .collect();
    let documents = [
        json!({
            "document": { "dsl": "1.0.0", "namespace": "n", "name": "w", "version": "1.0.0" },
            "do": [{ "one": { "set": { "x": format!("${{ {jq} }}") } } }],
        }),
        json!({
            "QueryLanguage": "JSONata",
            "StartAt": "S",
            "States": { "S": { "Type": "Pass", "Output": jsonata, "End": true } },
        }),
        json!({ "StartAt": "S0", "States": states }),
    ];
    for (number, document) in documents.iter().enumerate() {
        let source = SourceFile::new("d.json", document.to_string());
        let made = planrun_import::import(&source, None, "d", &Tools::default()).unwrap();
        assert!(made.text.len() < 20_000, "{number}: {}", made.text.len());
    }
}

/// Returns a workflow with a text in expressions, names, addresses and error types.
fn hostile_workflow(text: &str, key: &str, code: &str) -> Json {
    json!({
        "document": {"dsl": "1.0.3", "name": text, "title": text},
        "do": [
            {(key): {"set": {(key): text, "code": format!("${{ {code} }}")}, "if": code, "export": {"as": code}}},
            {"second": {"try": [{(key): {"call": text, "with": {(key): text}}}], "catch": {"as": key, "errors": {"with": {"type": text}}}}},
            {"third": {"call": "http", "with": {"method": "get", "endpoint": text, "headers": {(key): text}}}},
            {"fourth": {"for": {"each": key, "in": code}, "do": [{(key): {"emit": {"event": {"with": {"type": text}}}}}]}},
            {"fifth": {"listen": {"to": {"one": {"with": {"type": text, "data": code}}}}}},
            {"sixth": {"raise": {"error": {"type": text, "status": 400, "detail": code}}}},
        ],
    })
}

/// Generates fragments of jq in any order.
fn any_code() -> impl Strategy<Value = String> {
    let words = [
        ".",
        ".a",
        "[]",
        "[",
        "]",
        "{",
        "}",
        "(",
        ")",
        "|",
        ",",
        "//",
        "and",
        "not",
        "==",
        "+",
        "-",
        "\"x",
        "\"",
        "\\(",
        "select(.a)",
        "map(",
        "if",
        "then",
        "else",
        "end",
        "as $x",
        "$x",
        "$context",
        "1",
        "..",
        ":",
        "é",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..12)
        .prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(on(200))]

    #[test]
    fn texts_of_a_workflow_stay_data(text in any_text(), key in any_text(), code in prop_oneof![any_code(), any_text()]) {
        let source = SourceFile::new("w.json", hostile_workflow(&text, &key, &code).to_string());
        if let Ok(made) = planrun_import::import(&source, Some(Format::Serverless), "w", &Tools::default()) {
            let parsed = syntax::parse(&SourceFile::new("w.plan", made.text.as_str()));
            prop_assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{}\n{:?}", made.text, parsed.diagnostics);
            prop_assert!(!names(&parsed.file).contains(&"evil".to_owned()), "{}", made.text);
            prop_assert_eq!(planrun_lang::format::format(&SourceFile::new("w.plan", made.text.as_str())).unwrap(), made.text);
        }
    }

    /// Replaces values with others of the wrong type.
    #[test]
    fn a_workflow_of_wrong_types_is_refused_or_told(place in 0..40_usize, value in prop_oneof![Just(json!(null)), Just(json!(7)), Just(json!("x")), Just(json!([])), Just(json!([1])), Just(json!({})), Just(json!({"a": []}))]) {
        let mut workflow = hostile_workflow("a", "k", ".a");
        let mut left = place;
        replace(&mut workflow, &mut left, &value);
        let source = SourceFile::new("w.json", workflow.to_string());
        if let Ok(made) = planrun_import::import(&source, Some(Format::Serverless), "w", &Tools::default()) {
            let parsed = syntax::parse(&SourceFile::new("w.plan", made.text.as_str()));
            prop_assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{}\n{:?}", made.text, parsed.diagnostics);
        }
    }
}

/// Replaces the part with this number.
fn replace(json: &mut Json, left: &mut usize, value: &Json) {
    if *left == 0 {
        *json = value.clone();
    }
    *left = left.wrapping_sub(1);
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, left, value)),
        Json::Object(fields) => fields
            .values_mut()
            .for_each(|field| replace(field, left, value)),
        _ => {}
    }
}

/// Tasks, conditions and expressions nested as deep as a document may be, and names that refer to each other
/// repeatedly.
#[test]
fn a_workflow_that_nests_everywhere_is_bounded() {
    let mut task = json!({"set": {"a": 1}});
    for number in 0..20 {
        let inner = json!([{(format!("t{number}")): task}]);
        task = match number % 4 {
            0 => json!({"do": inner, "if": ".a"}),
            1 => json!({"for": {"in": ".a"}, "do": inner}),
            2 => json!({"try": inner, "catch": {"do": [{"c": {"set": {}}}]}}),
            _ => json!({"fork": {"branches": inner}}),
        };
    }
    let deep = format!("{}.a{}", "(".repeat(500), ")".repeat(500));
    let text = "\"\\(".repeat(200);
    let functions = json!({"f": {"do": [{"again": {"call": "f"}}]}});
    let workflow = json!({
        "document": {"dsl": "1.0.3"},
        "use": {"functions": functions},
        "do": [{"nested": task}, {"deep": {"set": {"a": format!("${{ {deep} }}"), "b": format!("${{ {text} }}")}}}, {"calls": {"call": "f"}}],
    });
    let source = SourceFile::new("w.json", workflow.to_string());
    let made = planrun_import::import(&source, None, "w", &Tools::default()).unwrap();
    let says = |what: &str| made.report.notes.iter().any(|note| note.why.contains(what));
    assert!(
        says("is nested too deeply") && says("cannot call itself"),
        "{}",
        made.report.lines(&source)
    );
    let aliases: String = (1..60).fold("a0: &a0 [x, x]\n".to_owned(), |all, number| {
        let before = number - 1;
        all + &format!("a{number}: &a{number} [*a{before}, *a{before}]\n")
    });
    let yaml = format!("document: {{ dsl: '1.0.3' }}\n{aliases}do: *a59\n");
    assert!(
        planrun_import::import(
            &SourceFile::new("w.yaml", yaml),
            Some(Format::Serverless),
            "w",
            &Tools::default()
        )
        .is_err()
    );
}

/// The messages say what is wrong with the document, not which limit of a library it exceeds.
#[test]
fn what_a_yaml_document_exceeds_is_told_in_words() {
    let laughs = (1..30).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
        let before = level - 1;
        format!("{text}a{level}: &a{level} [*a{before}, *a{before}, *a{before}]\n")
    });
    let deep = format!("a: {}{}\n", "[".repeat(5000), "]".repeat(5000));
    for (text, message) in [
        (
            laughs.as_str(),
            "it is too large, or expands too much through aliases",
        ),
        (&deep, "it is nested too deeply"),
        ("a: .inf\n", "`.inf` is not a finite number"),
        ("a: 1e400\n", "`1e400` is not a finite number"),
    ] {
        let source = SourceFile::new("document.yaml", text);
        let refused =
            planrun_import::import(&source, Some(Format::Serverless), "d", &Tools::default());
        assert_eq!(refused.unwrap_err().message, message);
    }
}

/// Returns the names of the statements of all plans.
fn names(file: &File) -> Vec<String> {
    let plans = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Plan(plan) => Some(plan),
        _ => None,
    });
    let statements = plans.flat_map(|plan| &plan.body.statements);
    statements
        .filter_map(|one| Some(one.kind.name()?.text.to_string()))
        .collect()
}

/// Paths that branch repeatedly would make a huge plan: the importer stops and reports it.
#[test]
fn a_machine_whose_ways_cross_everywhere_is_bounded() {
    let mut states = serde_json::Map::new();
    for number in 0..300 {
        let rule =
            json!({"Variable": "$.x", "NumericEquals": number, "Next": format!("S{}", number + 2)});
        states.insert(
            format!("S{number}"),
            json!({"Type": "Choice", "Choices": [rule], "Default": format!("S{}", number + 1)}),
        );
    }
    for number in 300..302 {
        states.insert(format!("S{number}"), json!({"Type": "Task", "Resource": "t", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "S301"}], "End": true}));
    }
    let source = SourceFile::new(
        "m.json",
        json!({"StartAt": "S0", "States": states}).to_string(),
    );
    let made = planrun_import::import(&source, None, "m", &Tools::default()).unwrap();
    assert!(made.text.len() < 4_000_000, "{} bytes", made.text.len());
    assert!(
        made.report
            .notes
            .iter()
            .any(|note| note.why.contains("too large"))
    );
}
