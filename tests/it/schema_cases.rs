//! The published cases of JSON Schema as arguments of a tool: what the check of a plan says of each value, what the run
//! says of it, and what the suite itself expects.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::{self, Files, StepKind, Tools};
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

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str, path: &str) -> Result<SourceFile, String> {
        Err(format!("there is no file `{path}`"))
    }
}

/// What the check says of a call.
enum Said {
    Fits,
    /// Only the run can tell.
    Open,
    Refused(String),
}

/// The schema of a tool that takes one `value` of this schema. What its references lead to goes along: shared definitions to
/// the whole, and everything where the schema begins for what else they lead to.
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

/// Whether some reference leads into the schema elsewhere than to its shared definitions.
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

/// What the check says of a value as the argument of a call.
fn said(tool: &Arc<Signature>, value: &Json) -> Said {
    let tools: Tools = [tool.clone()].into_iter().collect();
    let text = format!(
        "use kit\nplan it() {{\n    step given = kit.t(value: {})\n}}\n",
        literal(value)
    );
    let source = SourceFile::new("it.plan", text.as_str());
    let checked = sema::check_without_rules(&source, &tools, &NoFiles);
    if let Some(found) = checked.diagnostics.iter().find(|found| found.is_error()) {
        return Said::Refused(format!("{}: {}", found.code.name, found.message));
    }
    let mut steps = checked.plans.iter().flat_map(|plan| plan.steps());
    if steps.any(|step| matches!(&step.kind, StepKind::Call(call) if call.open)) {
        Said::Open
    } else {
        Said::Fits
    }
}

/// Whether a number is written with a fraction of zero somewhere: a double to plans, and an integer to JSON Schema.
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
                let told = Case::new(case, address, &documents).map(|case| {
                    let told = tests.iter().map(|test| (test, case.told(test)));
                    told.collect::<Vec<_>>()
                });
                match told {
                    Ok(told) => {
                        for (test, told) in told {
                            match told {
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
    /// By the schema itself, with all documents at hand.
    suite: Validator,
}

impl Case {
    /// The case, or why its schema is no contract of a tool.
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
        // Nothing is ever fetched: what leads to another document is no contract, and is refused when it is to be pinned.
        if offered.fault().is_some() {
            return Err("refused as a contract: it leads to other documents");
        }
        let tool = Arc::new(offered.signature(&"kit".into(), "t", Effect::Read));
        Ok(Self { tool, suite })
    }

    /// What is said of a value before the run, where the run and the suite say nothing else.
    fn told(&self, test: &Json) -> Result<&'static str, String> {
        let given = json!({ "value": test["data"] });
        let contract = self.tool.input_schema.as_ref().unwrap();
        let violations = contract.violations(&given);
        let mistyped = decode(&test["data"], &self.tool.parameters[0].ty).is_err();
        let said = said(&self.tool, &test["data"]);
        let expected = test["valid"].as_bool().unwrap();
        // Schemas that only say what the fields of an object are mean an object; the suite goes by the letter.
        let by_letter = contract.meant() == contract.schema();
        if self.suite.is_valid(&given) != expected {
            return Err(format!(
                "as the argument of a tool it means something else than {expected}"
            ));
        }
        // So are formats: what a caller has to keep is more than the suite asks for.
        let only_formats = violations
            .iter()
            .all(|violation| violation.keyword == "format");
        match said {
            Said::Refused(_) if expected && has_whole_double(&test["data"]) => {
                Ok("refused: a double for an integer")
            }
            Said::Fits if !violations.is_empty() || mistyped => Err(format!(
                "fits, and the run does not take it: {violations:?}"
            )),
            Said::Refused(why) if violations.is_empty() && !mistyped => {
                Err(format!("{why}, and the run takes it"))
            }
            Said::Fits if by_letter && !expected => Err("fits, and is not valid".to_owned()),
            Said::Refused(_) if expected && only_formats && !violations.is_empty() => {
                Ok("refused: a format that the suite only tells")
            }
            Said::Refused(why) if by_letter && expected => Err(format!("{why}, and is valid")),
            Said::Fits => Ok("fits"),
            Said::Open => Ok("open"),
            Said::Refused(_) => Ok("refused"),
        }
    }
}
