//! Recorded calls of tools from another project: each call that is valid for its tool's schema is accepted, and each
//! call with one error is refused before anything runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use planrun_lang::lint;
use planrun_lang::sema::{Budget, NoFiles, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Effect, Signature};
use planrun_tools::contract::OfferedTool;
use planrun_tools::host::MemoryHost;
use rayon::prelude::*;
use serde_json::{Map, Value as Json, json};

use crate::support::{cases, literal};

/// The namespace of all tools.
const NAMESPACE: &str = "kit";

/// Kinds of recorded calls that are not simply valid: the call violates its schema; its only violation is a null for an
/// optional argument, which is left out of the request; or the schema does not list an argument, which is always
/// refused.
const EXCEPTIONS: [&str; 3] = [
    "recorded against its schema",
    "recorded with a null for nothing",
    "recorded with an argument not listed",
];

/// A call, to be written as a step of a plan.
struct Call {
    /// The change to the recorded call, or its kind.
    change: &'static str,
    tool: Arc<Signature>,
    arguments: Map<String, Json>,
    /// Whether the check has to accept it.
    fits: bool,
}

/// The results of some calls: the number of correct results by change and code, and the wrong results.
#[derive(Default)]
struct Results {
    right: BTreeMap<(&'static str, &'static str), usize>,
    wrong: Vec<String>,
    /// Recorded calls that violate their schema.
    exceptions: Vec<String>,
}

#[test]
fn recorded_calls_are_accepted_and_what_is_made_wrong_in_one_place_is_refused() {
    let Some(path) = cases("bfcl/single-turn.jsonl") else {
        return;
    };
    let text = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let results = lines
        .par_iter()
        .map(|line| check_case(&serde_json::from_str(line).unwrap()))
        .reduce(Results::default, Results::and);
    for ((change, code), count) in &results.right {
        println!("bfcl: {change}: {count} {code}");
    }
    for exception in &results.exceptions {
        println!("  {exception}");
    }
    let examples = &results.wrong[..results.wrong.len().min(10)];
    assert!(
        examples.is_empty(),
        "{} judged wrongly, such as\n{}",
        results.wrong.len(),
        examples.join("\n")
    );
    for change in ["recorded", "dropped", "renamed", "of another type"] {
        assert!(
            results.right.keys().any(|(tried, _)| *tried == change),
            "no call was {change}"
        );
    }
}

/// Checks the calls of one case, and their changed variants.
fn check_case(case: &Json) -> Results {
    let mut tools = BTreeMap::new();
    for tool in case["tools"].as_array().unwrap() {
        let offered = OfferedTool {
            description: tool["description"].as_str().map(str::to_owned),
            input: tool["input_schema"].clone(),
            ..OfferedTool::default()
        };
        assert_eq!(offered.fault(), None, "{tool}");
        let name = tool["name"].as_str().unwrap();
        let signature = offered.signature(&NAMESPACE.into(), name, Effect::Read);
        tools.insert(name, Arc::new(signature));
    }
    let mut calls = Vec::new();
    for call in case["calls"].as_array().unwrap() {
        let mut recorded = Call {
            change: "recorded",
            tool: tools[call["name"].as_str().unwrap()].clone(),
            arguments: call["arguments"].as_object().unwrap().clone(),
            fits: call["schema_ok"].as_bool().unwrap(),
        };
        if let Some((change, fits)) = recorded.exception() {
            (recorded.change, recorded.fits) = (change, fits);
        } else {
            calls.extend(recorded.changed());
        }
        calls.push(recorded);
    }
    let mut results = judged(&calls, &tools.into_values().collect());
    for line in results.wrong.iter_mut().chain(&mut results.exceptions) {
        *line = format!("{}: {line}", case["id"].as_str().unwrap());
    }
    results
}

/// Checks a plan with these calls, one per line.
fn judged(calls: &[Call], tools: &Tools) -> Results {
    let mut text = format!("use {NAMESPACE}\n\nplan it() {{\n");
    let head = text.lines().count();
    for (number, call) in calls.iter().enumerate() {
        let arguments = call.arguments.iter();
        let arguments: Vec<String> = arguments
            .map(|(name, value)| format!("`{name}`: {}", literal(value)))
            .collect();
        let (tool, arguments) = (&call.tool.name, arguments.join(", "));
        let _ = writeln!(
            text,
            "    step s{number} = {NAMESPACE}.`{tool}`({arguments})"
        );
    }
    text.push_str("}\n");
    let source = SourceFile::new("it.plan", text.as_str());
    let (policy, host) = (Policy::default(), MemoryHost::new(1));
    let project = lint::Project {
        limits: &Budget::default(),
        policy: &policy,
        allow: None,
        root: Path::new("/"),
        paths: &host,
        tools: None,
        severities: None,
        calls: None,
        by_model: false,
        is_call: false,
    };
    let mut codes: BTreeMap<usize, Vec<(&'static str, String)>> = BTreeMap::new();
    for found in lint::check_file(&source, tools, &NoFiles, &project).diagnostics {
        if found.is_error() {
            let line = source.position(found.span.start).line as usize;
            let codes = codes.entry(line).or_default();
            codes.push((found.code.name, found.message.clone()));
        }
    }
    let mut results = Results::default();
    for (number, (call, line)) in calls.iter().zip(text.lines().skip(head)).enumerate() {
        let found = codes.remove(&(head + number + 1)).unwrap_or_default();
        let code = found.first().map_or("accepted", |(code, _)| *code);
        if found.is_empty() == call.fits {
            *results.right.entry((call.change, code)).or_default() += 1;
        } else {
            results
                .wrong
                .push(format!("{}: {found:?}\n{line}", call.change));
        }
        if !call.fits && call.change == "recorded" {
            results
                .exceptions
                .push(format!("{}: {found:?}", call.tool.name));
        }
    }
    if !codes.is_empty() {
        results
            .wrong
            .push(format!("outside of the calls: {codes:?}"));
    }
    results
}

impl Results {
    fn and(mut self, other: Self) -> Self {
        for (key, count) in other.right {
            *self.right.entry(key).or_default() += count;
        }
        self.wrong.extend(other.wrong);
        self.exceptions.extend(other.exceptions);
        self
    }
}

impl Call {
    /// Returns the kind of an exceptional call, and whether the check has to accept it. `None` for a valid call.
    fn exception(&self) -> Option<(&'static str, bool)> {
        let [against, null, not_listed] = EXCEPTIONS;
        let contract = self.tool.input_schema.as_ref().unwrap();
        let takes =
            |arguments: Map<String, Json>| contract.violations(&arguments.into()).is_empty();
        assert_eq!(
            takes(self.arguments.clone()),
            self.fits,
            "{}",
            self.tool.name
        );
        let parameter = |name: &str| self.tool.parameters.iter().find(|one| *one.name == *name);
        let mut sent = self.arguments.clone();
        sent.retain(|name, value| {
            !value.is_null() || parameter(name).is_none_or(|one| one.required)
        });
        let listed = |name: &String| self.tool.extra_arguments || parameter(name).is_some();
        match self.fits {
            true if self.arguments.keys().all(listed) => None,
            true => Some((not_listed, false)),
            false if sent != self.arguments && takes(sent) => Some((null, true)),
            false => Some((against, false)),
        }
    }

    /// Returns variants of the call: an argument dropped or renamed, or a value that its schema refuses.
    fn changed(&self) -> Vec<Self> {
        let contract = self.tool.input_schema.as_ref().unwrap();
        let schema = contract.schema();
        let mut changed = Vec::new();
        for (name, value) in &self.arguments {
            let without = || {
                let mut arguments = self.arguments.clone();
                arguments.remove(name);
                arguments
            };
            let parameter = self.tool.parameters.iter().find(|one| *one.name == **name);
            if schema_requires(schema, name) {
                // A missing argument with a default is sent with its default.
                let has_default = parameter.is_some_and(|one| one.default.is_some());
                changed.push(self.with("dropped", without(), has_default));
            }
            let mut renamed = without();
            renamed.insert(format!("{name}_x"), value.clone());
            changed.push(self.with("renamed", renamed, self.tool.extra_arguments));
            for (change, value) in wrong(&schema["properties"][name], value) {
                let mut arguments = self.arguments.clone();
                arguments.insert(name.clone(), value);
                // The schema accepts some of these values.
                if !contract.violations(&arguments.clone().into()).is_empty() {
                    changed.push(self.with(change, arguments, false));
                }
            }
        }
        changed
    }

    fn with(&self, change: &'static str, arguments: Map<String, Json>, fits: bool) -> Self {
        let tool = self.tool.clone();
        Self {
            change,
            tool,
            arguments,
            fits,
        }
    }
}

fn schema_requires(schema: &Json, name: &str) -> bool {
    let required = schema["required"].as_array();
    required.is_some_and(|required| required.iter().any(|one| one == name))
}

/// Returns replacements for a value, at any depth, that the schema should refuse.
fn wrong(schema: &Json, value: &Json) -> Vec<(&'static str, Json)> {
    let mut wrong = vec![(
        "of another type",
        match value {
            Json::String(_) => json!(7),
            Json::Array(_) | Json::Object(_) => json!(true),
            Json::Null | Json::Bool(_) | Json::Number(_) => json!("seven"),
        },
    )];
    if schema["type"] == "integer" {
        wrong.push(("with a fraction", json!(7.5)));
    }
    if schema.get("enum").is_some() {
        wrong.push(("none of the choices", json!("none of the choices")));
    }
    match value {
        Json::Object(fields) => {
            for (name, inner) in fields {
                let mut without = fields.clone();
                without.remove(name);
                if schema_requires(schema, name) {
                    wrong.push(("without a field", without.into()));
                }
                for (_, inner) in self::wrong(&schema["properties"][name], inner) {
                    let mut fields = fields.clone();
                    fields.insert(name.clone(), inner);
                    wrong.push(("wrong inside", fields.into()));
                }
            }
        }
        Json::Array(elements) => {
            for (_, inner) in elements
                .last()
                .into_iter()
                .flat_map(|last| self::wrong(&schema["items"], last))
            {
                let mut elements = elements.clone();
                if let Some(last) = elements.last_mut() {
                    *last = inner;
                }
                wrong.push(("wrong inside", elements.into()));
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
    wrong
}
