//! The plans of the project, run with generated answers: usual ones, and the edge cases of their contracts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use planrun_lang::call::Answer;
use planrun_lang::example::{Choice, Examples};
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{self, Call, Files, Plan, StepKind, Target, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Signature, decode, encode};
use planrun_lang::value::Value;
use planrun_test::plantest::coverage::{Coverage, Goals, Seen, html, json, lcov, text};
use planrun_tools::host::{Host, MemoryHost, RealHost};
use planrun_tools::project::Project;
use planrun_tools::tools::{
    BoxFuture, Catalog, Conversation, Described, Request, Transport, described,
};
use serde_json::{Map, Value as Json};

use super::{tracefile, watch};
use crate::support::root;

/// Plans, with the inputs that they require.
const PLANS: [(&str, &[(&str, &str)]); 6] = [
    ("digest", &[]),
    ("incident", &[("service", "payments")]),
    ("onboarding", &[("department", "sales")]),
    ("refund", &[("order_id", "#W1234")]),
    ("order", &[("order_id", "#W1234")]),
    ("travel", &[("to", "MUC"), ("date", "2026-04-13")]),
];

/// A transport that answers according to the contract of its tool.
struct GeneratedAnswers {
    examples: Arc<Examples>,
    choice: Choice,
}

/// The possible answers of each tool in a catalog.
type Answers = Vec<(Arc<Signature>, Arc<Examples>)>;

impl Transport for GeneratedAnswers {
    fn call(&self, request: Request) -> Conversation {
        let arguments = match request.arguments.to_json() {
            Json::Object(arguments) => arguments,
            _ => Map::new(),
        };
        Conversation::Now(Ok(Answer::Json(
            self.examples.make(&arguments, 0, self.choice).unwrap(),
        )))
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

struct Disk;

impl Files for Disk {
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String> {
        let path = Path::new(from).with_file_name(path.trim_start_matches("./"));
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        Ok(SourceFile::new(path.to_str().unwrap(), text))
    }
}

#[test]
fn edges_of_answers_reach_more_than_usual_ones() {
    let (mut usual, mut all) = (Seen::default(), Seen::default());
    let mut goals = Vec::new();
    for (name, given) in PLANS {
        let path = root().join(format!("plans/{name}.plan"));
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(7));
        let real: Arc<dyn Host> = Arc::new(RealHost);
        let (project, _) = Project::load(&*real, Some(&path), None).unwrap();
        let catalog = project.catalog(&host, &Arc::new(Permissions::none()), None);
        let (file, plans) = checked(name, &path, &catalog);
        let plan = plans.last().unwrap();
        let answers = answers(&catalog, plan);
        for number in 0..24 {
            let choice = if number == 0 {
                Choice::Usual
            } else {
                Choice::Edge(number - 1)
            };
            let mut seen = Seen::default();
            watch(
                plan,
                &inputs(plan, given, choice),
                Vec::new(),
                generated_answers(&answers, &host, choice),
                &mut seen,
            );
            if number == 0 {
                usual.merge(&seen);
            }
            all.merge(&seen);
        }
        goals.extend(plans.iter().map(|plan| Goals::of(&file, plan)));
    }
    let (before, after) = (Coverage::of(&goals, &usual), Coverage::of(&goals, &all));
    println!(
        "usual: {:?}, with edges: {:?}",
        before.share(),
        after.share()
    );
    assert!(
        before.share().reached * 10 < after.share().reached * 9,
        "edges reach no more than usual answers"
    );
    insta::assert_snapshot!("plans_with_usual_answers", text(&before));
    reports_hold_together(&after);
}

fn reports_hold_together(coverage: &Coverage<'_>) {
    let lcov_text = lcov(coverage);
    let files = tracefile::read(&lcov_text);
    assert_eq!(files.len(), coverage.files().len());
    for (name, record) in &files {
        let lines = u32::try_from(
            std::fs::read_to_string(root().join(name))
                .unwrap()
                .lines()
                .count(),
        )
        .unwrap();
        assert!(
            record.lines.keys().all(|line| (1..=lines).contains(line)),
            "{name}"
        );
    }
    let report = json(coverage);
    assert_eq!(report["total"]["all"], coverage.share().all);
    let goals = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|file| file["plans"].as_array().unwrap());
    let goals: usize = goals
        .map(|plan| plan["goals"].as_array().unwrap().len())
        .sum();
    assert_eq!(goals, coverage.share().all);
    let page = html(coverage);
    let mut reader = quick_xml::Reader::from_str(page.trim_start_matches("<!DOCTYPE html>\n"));
    let mut lines = 0;
    // The reader fails on tags that are not closed correctly.
    loop {
        match reader.read_event().unwrap() {
            quick_xml::events::Event::Start(tag) => {
                lines += usize::from(tag.name().as_ref() == "b");
            }
            quick_xml::events::Event::Eof => break,
            _ => {}
        }
    }
    assert!(!page.contains("<script") && lines > 100);
    accepted_by_lcov(&lcov_text);
}

/// Asserts that LCOV's own program accepts the tracefile, if it is installed.
fn accepted_by_lcov(tracefile: &str) {
    let folder = crate::support::folder([("plans.info", tracefile)]);
    let tracefile = Command::new("lcov")
        .args(["--rc", "branch_coverage=1", "--summary"])
        .arg(folder.path().join("plans.info"))
        .output();
    match tracefile {
        Ok(output) => assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(_) => crate::support::left_out("there is no program `lcov`"),
    }
}

fn checked(name: &str, path: &Path, catalog: &Catalog) -> (Arc<SourceFile>, Vec<Arc<Plan>>) {
    let tools: Tools = catalog.signatures().cloned().collect();
    let text = std::fs::read_to_string(path).unwrap();
    let source = SourceFile::new(path.to_str().unwrap(), text.as_str());
    let checked = sema::check_without_rules(&source, &tools, &Disk);
    assert!(
        !checked
            .diagnostics
            .iter()
            .any(planrun_lang::diag::Diagnostic::is_error),
        "{name}"
    );
    (
        Arc::new(SourceFile::new(format!("plans/{name}.plan"), text)),
        checked.plans,
    )
}

/// Returns the possible answers of the tools that a plan calls.
fn answers(catalog: &Catalog, plan: &Plan) -> Answers {
    let mut called = BTreeSet::new();
    let mut open = vec![plan];
    while let Some(plan) = open.pop() {
        called.extend(
            plan.blocks
                .iter()
                .flat_map(|block| &block.nodes)
                .filter_map(|node| match &node.step()?.kind {
                    StepKind::Call(Call {
                        target: Target::Tool(signature),
                        ..
                    }) => Some(signature.path()),
                    _ => None,
                }),
        );
        open.extend(plan.plans.iter().map(|plan| &**plan));
    }
    let used = catalog
        .signatures()
        .filter(|signature| called.contains(&signature.path()));
    let examples = |signature: &Arc<Signature>| {
        let schema = signature
            .output_schema
            .as_ref()
            .map(|contract| contract.normalized());
        let examples = schema.map_or_else(|| Examples::of_type(&signature.returns), Examples::new);
        (signature.clone(), Arc::new(examples.unwrap()))
    };
    used.map(examples).collect()
}

/// Returns the same tools with answers from their contracts.
fn generated_answers(answers: &Answers, host: &Arc<dyn Host>, choice: Choice) -> Catalog {
    let mut tools = Catalog::new(
        host.clone(),
        PathBuf::from("/"),
        &Arc::new(Permissions::none()),
    );
    for (signature, examples) in answers {
        tools.add(
            (**signature).clone(),
            Arc::new(GeneratedAnswers {
                examples: examples.clone(),
                choice,
            }),
        );
    }
    tools
}

fn inputs(plan: &Plan, given: &[(&str, &str)], choice: Choice) -> BTreeMap<Arc<str>, Value> {
    let made = |parameter: &sema::PlanParameter| {
        if let Some((_, value)) = given.iter().find(|(name, _)| **name == *parameter.name) {
            return Some((parameter.name.clone(), Value::from(*value)));
        }
        let examples = Examples::of_type(&parameter.ty).ok()?;
        let value = decode(&examples.make(&Map::new(), 0, choice).ok()?, &parameter.ty).ok()?;
        assert!(!encode(&value, &parameter.ty).is_null() || parameter.ty.admits_null());
        Some((parameter.name.clone(), value))
    };
    plan.parameters
        .iter()
        .filter(|parameter| parameter.required)
        .filter_map(made)
        .collect()
}
