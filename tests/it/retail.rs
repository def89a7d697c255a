//! The retail tasks of tau-bench under test: for each a plan with its true list of actions, a recording with what each of them
//! gave, and what the plan then replies held against it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use planrun_core::run::Defaults;
use planrun_lang::lint;
use planrun_lang::sema::{Files, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::Signature;
use planrun_runs::driver::Silence;
use planrun_test::plantest::play::TestEnvironment;
use planrun_test::plantest::recording::{Entry, Recorded, Recording};
use planrun_test::plantest::suite::{Suite, SuiteOptions};
use planrun_tools::host::MemoryHost;
use planrun_tools::tools::app::load_apps;
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use crate::support::cases;

/// How the names of tools begin that change nothing.
const READS: [&str; 5] = ["calculate", "find", "get", "list", "think"];

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str, path: &str) -> Result<SourceFile, String> {
        Err(format!("there is no file `{path}`"))
    }
}

fn lines(path: &Path) -> Vec<Json> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The tools, as an app file declares them.
fn tools(folder: &Path) -> Vec<Arc<Signature>> {
    let tool = |tool: &Json| {
        let name = tool["name"].as_str().unwrap();
        let effect = if READS.contains(&name.split('_').next().unwrap()) {
            "read"
        } else {
            "effect"
        };
        let parameters = &tool["parameters"];
        json!({ "name": name, "endpoint": "http://127.0.0.1:9/", "effect": effect, "parameters": parameters })
    };
    let tools: Vec<Json> = lines(&folder.join("retail-tools.jsonl"))
        .iter()
        .map(tool)
        .collect();
    let app = json!({ "name": "retail", "tools": tools });
    let host = MemoryHost::new(1).with_file("retail.json", app.to_string());
    let loaded = load_apps(&host, &["retail.json".into()], &BTreeSet::new());
    loaded
        .apps
        .iter()
        .flat_map(|app| &app.tools)
        .map(|tool| tool.signature.clone())
        .collect()
}

/// What an action gave: JSON where it is JSON, else the text itself.
fn given(result: &Json) -> Json {
    let text = result.as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// A text or a list of texts, as a plan writes it.
fn literal(value: &Json) -> String {
    value.to_string().replace("${", "\\${")
}

/// A plan that takes the actions one after the other and replies what they gave.
fn plan(task: &Json) -> String {
    let actions = task["actions"].as_array().unwrap();
    let mut text = "use retail\n\nplan task() -> { results: any[] } {\n".to_owned();
    for (number, action) in actions.iter().enumerate() {
        let arguments = action["arguments"].as_object().unwrap().iter();
        let arguments: Vec<String> = arguments
            .map(|(name, value)| format!("{name}: {}", literal(value)))
            .collect();
        let name = action["name"].as_str().unwrap();
        let after = if number == 0 {
            String::new()
        } else {
            format!("\n        after a{}", number - 1)
        };
        let _ = writeln!(
            text,
            "    step a{number} = retail.{name}({}){after}",
            arguments.join(", ")
        );
    }
    let results: Vec<String> = (0..actions.len())
        .map(|number| format!("a{number}"))
        .collect();
    let _ = writeln!(
        text,
        "    reply {{ results: [{}] }}\n}}\n",
        results.join(", ")
    );
    let _ = writeln!(
        text,
        "test \"{}\" for task {{\n    snapshot reply\n}}",
        task["id"].as_str().unwrap()
    );
    text
}

/// What the tools gave, as a recording.
fn recording(task: &Json, results: &[Json], tools: &Tools) -> Recording {
    let actions = task["actions"].as_array().unwrap();
    let entry = |(number, (action, result)): (usize, (&Json, &Json))| {
        let signature = tools
            .find("retail", action["name"].as_str().unwrap())
            .unwrap();
        Entry {
            path: format!("a{number}").into(),
            call: 1,
            tool: signature.path().into(),
            contract: signature.digest().into(),
            arguments: action["arguments"].clone(),
            outcome: Recorded::Value(given(result)),
        }
    };
    Recording::new(actions.iter().zip(results).enumerate().map(entry).collect())
}

enum End {
    Passed,
    Failed(String),
    Skipped(String),
}

fn play(task: &Json, expected: &Json, tools: &Tools, environment: &TestEnvironment) -> End {
    let results = expected["results"].as_array().unwrap();
    if task["actions"].as_array().unwrap().len() != results.len() {
        return End::Skipped("it has other numbers of actions and results".to_owned());
    }
    let id = task["id"].as_str().unwrap();
    let file = format!("recordings/task__{}.yaml", id.replace('_', "-"));
    let host = MemoryHost::new(1).with_file("task.plan", "").with_file(
        &*file,
        recording(task, results, tools).to_text(&[id.to_owned()]),
    );
    let source = SourceFile::new("task.plan", plan(task));
    let project = lint::Project {
        limits: &planrun_lang::sema::Budget::default(),
        policy: &Policy::default(),
        allow: None,
        root: ".".as_ref(),
        paths: &host,
        tools: None,
        severities: None,
    };
    let checked = lint::check_file(&source, tools, &NoFiles, &project);
    let suite = Suite::new(source, checked).with_recordings(&host);
    if let Some(broken) = suite.broken.first() {
        return End::Failed(format!("{}: {}", broken.code.name, broken.message));
    }
    let prepared = suite.cases();
    let ran = suite.run(
        environment,
        &prepared[0],
        SuiteOptions {
            seeds: 2,
            ..SuiteOptions::default()
        },
        &mut Silence,
    );
    if let Some(fault) = ran.faults.first() {
        return End::Failed(format!("{}: {}", fault.code.name, fault.message));
    }
    let reply: Json = serde_json::from_str(&ran.kept[0].text).unwrap();
    let wanted: Vec<Json> = results.iter().map(given).collect();
    if reply == json!({ "results": wanted }) {
        End::Passed
    } else {
        End::Failed(format!("it replies {reply}"))
    }
}

#[test]
fn the_retail_tasks_come_to_what_was_recorded_of_them() {
    let Some(folder) = cases("taubench") else {
        return;
    };
    let tools: Tools = tools(&folder).into_iter().collect();
    let (limit, defaults, made_up) = (None, Defaults::default(), Arc::default());
    let environment = TestEnvironment {
        limit,
        defaults,
        root: ".".into(),
        made_up,
    };
    let (tasks, expected) = (
        lines(&folder.join("retail-tasks.jsonl")),
        lines(&folder.join("retail-expected.jsonl")),
    );
    let of = |task: &Json| {
        expected
            .iter()
            .find(|expected| expected["id"] == task["id"])
    };
    let one = |task: &Json| match of(task) {
        Some(expected) => (
            task["id"].to_string(),
            play(task, expected, &tools, &environment),
        ),
        None => (
            task["id"].to_string(),
            End::Skipped("nothing says what it comes to".to_owned()),
        ),
    };
    let ends: Vec<(String, End)> = tasks.par_iter().map(one).collect();
    let (mut passed, mut failed, mut skipped) = (0, Vec::new(), Vec::new());
    for (id, end) in ends {
        match end {
            End::Passed => passed += 1,
            End::Failed(why) => failed.push(format!("{id}: {why}")),
            End::Skipped(why) => skipped.push(format!("{id}: {why}")),
        }
    }
    println!(
        "retail: {passed} passed, {} failed, {} skipped",
        failed.len(),
        skipped.len()
    );
    for line in &skipped {
        crate::support::left_out(line);
    }
    assert!(
        failed.is_empty(),
        "{} failed, such as\n{}",
        failed.len(),
        failed[..failed.len().min(10)].join("\n")
    );
    assert!(passed > 0, "no task was played");
}
