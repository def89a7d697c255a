//! Documents from outside: their texts and names stay data, whatever they say, and their size is bounded.

use planrun_import::Format;
use planrun_lang::sema::Tools;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{
    self,
    ast::{File, ItemKind},
};
use proptest::prelude::*;
use serde_json::json;

use crate::support::on;

/// What would be code if texts were glued together.
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

/// The names of the statements of all plans.
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

/// Ways that part again and again would fill a plan: the importer stops, and says so.
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
