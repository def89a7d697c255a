//! The published cases of JSON Schema as arguments of a tool: compares the verdicts of the check, of the run, and of
//! the suite itself for each value.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::{self, NoFiles, StepKind, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Effect, Signature, Validator, decode};
use planrun_tools::contract::OfferedTool;
use serde_json::{Value as Json, json};

use crate::support::{cases, literal};
use crate::types::documents;

const DRAFTS: [(&str, &str); 2] = [
    (
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    ),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
];

/// The verdict of the check about a call.
enum CheckResult {
    Fits,
    /// Only the run can decide.
    Open,
    Refused(String),
}

/// Returns the schema of a tool with one argument `value` of this schema. Shared definitions move to the root; if a
/// reference points elsewhere, the schema gets an `$id` and keeps all its parts.
fn tool(schema: &Json, draft: &str) -> Json {
    let mut inner = schema.clone();
    let mut tool = json!({ "$schema": draft, "type": "object", "required": ["value"], "additionalProperties": false });
    if let Some(inner) = inner.as_object_mut() {
        inner.remove("$schema");
        if inner.contains_key("$id") || leads_inside(schema) {
            inner
                .entry("$id")
                .or_insert("https://cases.example/it".into());
        } else {
            for shared in ["$defs", "definitions"] {
                if let Some(definitions) = inner.remove(shared) {
                    tool[shared] = definitions;
                }
            }
        }
    }
    tool["properties"] = json!({ "value": inner });
    tool
}

/// Returns true if a reference points into the schema, other than to its shared definitions.
fn leads_inside(schema: &Json) -> bool {
    match schema {
        Json::Object(keywords) => keywords.iter().any(|(keyword, inner)| {
            let inside = |text: &str| {
                text.starts_with('#')
                    && !["#/$defs/", "#/definitions/"]
                        .iter()
                        .any(|shared| text.starts_with(shared))
            };
            keyword.ends_with("ef") && inner.as_str().is_some_and(inside) || leads_inside(inner)
        }),
        Json::Array(items) => items.iter().any(leads_inside),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

/// Returns the verdict of the check about a value as the argument of a call.
fn check_value(tool: &Arc<Signature>, value: &Json) -> CheckResult {
    let tools: Tools = [tool.clone()].into_iter().collect();
    let text = format!(
        "use kit\nplan it() {{\n    step given = kit.t(value: {})\n}}\n",
        literal(value)
    );
    let source = SourceFile::new("it.plan", text.as_str());
    let checked = sema::check_without_rules(&source, &tools, &NoFiles);
    if let Some(found) = checked.diagnostics.iter().find(|found| found.is_error()) {
        return CheckResult::Refused(format!("{}: {}", found.code.name, found.message));
    }
    let mut steps = checked.plans.iter().flat_map(|plan| plan.steps());
    if steps.any(|step| matches!(&step.kind, StepKind::Call(call) if call.checked_at_run)) {
        CheckResult::Open
    } else {
        CheckResult::Fits
    }
}

/// Returns true if the value contains a number with a fraction of zero: a double to plans, and an integer to JSON
/// Schema.
fn has_whole_double(value: &Json) -> bool {
    match value {
        Json::Number(number) => {
            number.as_i64().is_none() && number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        Json::Array(elements) => elements.iter().any(has_whole_double),
        Json::Object(fields) => fields.values().any(has_whole_double),
        Json::Null | Json::Bool(_) | Json::String(_) => false,
    }
}

#[test]
fn no_finding_over_the_published_cases_contradicts_the_run_or_the_suite() {
    let Some(folder) = cases("json-schema") else {
        return;
    };
    for (draft, address) in DRAFTS {
        let documents = documents(&folder, draft);
        let (mut counts, mut wrong) = (BTreeMap::<&str, usize>::new(), Vec::new());
        for entry in std::fs::read_dir(folder.join(draft)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let listed: Vec<Json> = serde_json::from_str(&text).unwrap();
            for case in &listed {
                let name = format!(
                    "{}: {}",
                    path.file_name().unwrap().display(),
                    case["description"]
                );
                let tests = case["tests"].as_array().unwrap();
                let results = Case::new(case, address, &documents).map(|case| {
                    let verdicts = tests.iter().map(|test| (test, case.verdict(test)));
                    verdicts.collect::<Vec<_>>()
                });
                match results {
                    Ok(results) => {
                        for (test, result) in results {
                            match result {
                                Ok(what) => *counts.entry(what).or_default() += 1,
                                Err(why) => {
                                    wrong.push(format!("{name}: {}: {why}", test["description"]));
                                }
                            }
                        }
                    }
                    Err(why) => *counts.entry(why).or_default() += tests.len(),
                }
            }
        }
        println!("{draft}: {counts:#?}");
        assert!(
            wrong.is_empty(),
            "{draft}: {} wrong\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        assert!(counts["fits"] > 0 && counts["refused"] > 0, "{counts:?}");
    }
}

/// A published schema as the contract of a tool.
struct Case {
    tool: Arc<Signature>,
    /// A validator of the schema itself, with all documents available.
    suite: Validator,
}

impl Case {
    /// Returns the case, or the reason why its schema cannot be the contract of a tool.
    fn new(case: &Json, draft: &str, documents: &[(String, Json)]) -> Result<Self, &'static str> {
        let schema = &case["schema"];
        if schema
            .get("$schema")
            .is_some_and(|own| own.as_str() != Some(draft))
        {
            return Err("left out: a schema of another draft or vocabulary");
        }
        let input = tool(schema, draft);
        let suite = Validator::with_documents(&input, documents).unwrap();
        let offered = OfferedTool {
            input,
            ..OfferedTool::default()
        };
        // Documents are never fetched, so a schema that refers to other documents is refused as a contract.
        if offered.fault().is_some() {
            return Err("refused as a contract: it leads to other documents");
        }
        let tool = Arc::new(offered.signature(&"kit".into(), "t", Effect::Read));
        Ok(Self { tool, suite })
    }

    /// Returns the verdict about a value before the run, or the contradiction to the run or the suite.
    fn verdict(&self, test: &Json) -> Result<&'static str, String> {
        let given = json!({ "value": test["data"] });
        let contract = self.tool.input_schema.as_ref().unwrap();
        let violations = contract.violations(&given);
        let mistyped = decode(&test["data"], &self.tool.parameters[0].ty).is_err();
        let checked = check_value(&self.tool, &test["data"]);
        let expected = test["valid"].as_bool().unwrap();
        // A schema with only the fields of an object is normalized to require an object; the suite does not require
        // that.
        let by_letter = contract.normalized() == contract.schema();
        if self.suite.is_valid(&given) != expected {
            return Err(format!(
                "as the argument of a tool it means something else than {expected}"
            ));
        }
        // Formats are checked too, while the suite only annotates them.
        let only_formats = violations
            .iter()
            .all(|violation| violation.keyword == "format");
        match checked {
            CheckResult::Refused(_) if expected && has_whole_double(&test["data"]) => {
                Ok("refused: a double for an integer")
            }
            CheckResult::Fits if !violations.is_empty() || mistyped => Err(format!(
                "fits, and the run does not take it: {violations:?}"
            )),
            CheckResult::Refused(why) if violations.is_empty() && !mistyped => {
                Err(format!("{why}, and the run takes it"))
            }
            CheckResult::Fits if by_letter && !expected => Err("fits, and is not valid".to_owned()),
            CheckResult::Refused(_) if expected && only_formats && !violations.is_empty() => {
                Ok("refused: a format that the suite only tells")
            }
            CheckResult::Refused(why) if by_letter && expected => {
                Err(format!("{why}, and is valid"))
            }
            CheckResult::Fits => Ok("fits"),
            CheckResult::Open => Ok("open"),
            CheckResult::Refused(_) => Ok("refused"),
        }
    }
}
