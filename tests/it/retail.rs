//! The retail tasks of tau-bench: for each one a plan with its reference list of actions, tested against a recording of
//! their results, and run against an MCP server that holds the tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use planrun_core::run::Defaults;
use planrun_lang::lint;
use planrun_lang::sema::{NoFiles, Policy, Tools};
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
use tempfile::TempDir;

use crate::support::{cases, folder, has_python, literal, planrun, root};

/// The first words of the names of read-only tools.
const READS: [&str; 5] = ["calculate", "find", "get", "list", "think"];

fn lines(path: &Path) -> Vec<Json> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the tools, as declared in an app file.
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

/// Returns the result of an action: the JSON value if it is JSON, else the string itself.
fn given(result: &Json) -> Json {
    let text = result.as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Returns a plan that makes the actions in sequence and replies with their results.
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
        "    reply {{ results: [{}] }}\n}}",
        results.join(", ")
    );
    text
}

/// Returns the results of the tools as a recording.
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
    let id = task["id"].as_str().unwrap();
    let file = format!("recordings/task__{}.yaml", id.replace('_', "-"));
    let host = MemoryHost::new(1).with_file("task.plan", "").with_file(
        &*file,
        recording(task, results, tools).to_text(&[id.to_owned()]),
    );
    let text = plan(task) + &format!("\ntest \"{id}\" for task {{\n    snapshot reply\n}}\n");
    let source = SourceFile::new("task.plan", text);
    let project = lint::Project {
        limits: &planrun_lang::sema::Budget::default(),
        policy: &Policy::default(),
        allow: None,
        root: ".".as_ref(),
        paths: &host,
        tools: None,
        severities: None,
        calls: None,
        by_model: false,
        is_call: false,
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
    let reply: Json = serde_json::from_str(&ran.snapshots[0].text).unwrap();
    let expected_results: Vec<Json> = results.iter().map(given).collect();
    if reply == json!({ "results": expected_results }) {
        End::Passed
    } else {
        End::Failed(format!("it replies {reply}"))
    }
}

/// Returns the tasks and the expected result of each, if there is one.
fn tasks(folder: &Path) -> Vec<(Json, Option<Json>)> {
    let mut expected: BTreeMap<String, Json> = lines(&folder.join("retail-expected.jsonl"))
        .into_iter()
        .map(|expected| (expected["id"].to_string(), expected))
        .collect();
    lines(&folder.join("retail-tasks.jsonl"))
        .into_iter()
        .map(|task| {
            let expected = expected.remove(&task["id"].to_string());
            (task, expected)
        })
        .collect()
}

/// Plays every task, and asserts that none fails.
fn play_all(how: &str, folder: &Path, play: impl Fn(&Json, &Json) -> End + Sync) {
    let one = |(task, expected): &(Json, Option<Json>)| {
        let end = match expected {
            Some(expected)
                if task["actions"].as_array().unwrap().len()
                    == expected["results"].as_array().unwrap().len() =>
            {
                play(task, expected)
            }
            Some(_) => End::Skipped("it has other numbers of actions and results".to_owned()),
            None => End::Skipped("nothing says what it comes to".to_owned()),
        };
        (task["id"].to_string(), end)
    };
    let ends: Vec<(String, End)> = tasks(folder).par_iter().map(one).collect();
    let (mut passed, mut failed) = (0, Vec::new());
    let mut skipped = 0;
    for (id, end) in ends {
        match end {
            End::Passed => passed += 1,
            End::Failed(why) => failed.push(format!("{id}: {why}")),
            End::Skipped(why) => {
                skipped += 1;
                crate::support::left_out(format_args!("{id}: {why}"));
            }
        }
    }
    println!(
        "retail {how}: {passed} passed, {} failed, {skipped} skipped",
        failed.len()
    );
    assert!(
        failed.is_empty(),
        "{} failed, such as\n{}",
        failed.len(),
        failed[..failed.len().min(10)].join("\n")
    );
    assert!(passed > 0, "no task was played");
}

#[test]
fn the_retail_tasks_come_to_what_was_recorded_of_them() {
    let Some(folder) = cases("taubench") else {
        return;
    };
    let tools: Tools = tools(&folder).into_iter().collect();
    let (limit, defaults, results) = (None, Defaults::default(), Arc::default());
    let environment = TestEnvironment {
        limit,
        defaults,
        root: ".".into(),
        results,
    };
    play_all("under test", &folder, |task, expected| {
        play(task, expected, &tools, &environment)
    });
}

/// Returns the result of a server as a plan sees it: an object or a list if it is one, else the string itself.
fn unwrapped(result: &Json) -> Json {
    let given = given(result);
    if given.is_object() || given.is_array() {
        given
    } else {
        result.clone()
    }
}

/// A project with the shop as its only server, which is started for each run and writes the changed rows to a file.
struct Shop {
    place: TempDir,
}

impl Shop {
    fn open(tables: &Path) -> Self {
        let server = root().join("tests/peers/mcp/retail.py");
        let place = folder([("task.plan", "plan task() {}\n")]);
        let command = json!(["python3", "-IS", server, tables, "rows.json"]);
        let settings = format!("tools:\n  retail: {{ mcp: {{ command: {command} }} }}\n");
        std::fs::write(place.path().join("planrun.yaml"), settings).unwrap();
        let locked = planrun(["tools", "lock", "--accept", "all"])
            .within(place.path())
            .run();
        assert_eq!(locked.status, 0, "{locked:?}");
        Self { place }
    }

    /// Returns another project with the same lock file.
    fn another(&self) -> Self {
        let read = |name: &str| {
            (
                name.to_owned(),
                fs::read(self.place.path().join(name)).unwrap(),
            )
        };
        Self {
            place: folder(["planrun.yaml", "planrun.lock"].map(read)),
        }
    }

    fn play(&self, task: &Json, expected: &Json) -> End {
        let rows = self.place.path().join("rows.json");
        // There is no such file before the first task.
        let _ = fs::remove_file(&rows);
        fs::write(self.place.path().join("task.plan"), plan(task)).unwrap();
        let ran = planrun(["run", "task.plan", "--format", "json"])
            .within(self.place.path())
            .run();
        if ran.status != 0 {
            return End::Failed(format!("{ran:?}"));
        }
        let expected_results: Vec<Json> = expected["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(unwrapped)
            .collect();
        let reply = &ran.json()["reply"];
        if *reply != json!({ "results": expected_results }) {
            return End::Failed(format!("it replies {reply}"));
        }
        let mut changed = match fs::read_to_string(&rows) {
            Ok(text) => serde_json::from_str(&text).unwrap(),
            Err(_) => json!({}),
        };
        changed
            .as_object_mut()
            .unwrap()
            .retain(|_, rows| *rows != json!({}));
        if changed == expected["db_changes"] {
            End::Passed
        } else {
            End::Failed(format!("it changes {changed}"))
        }
    }
}

#[test]
fn the_retail_tasks_come_to_the_same_at_a_server_that_keeps_the_tables() {
    let Some(tables) = cases("taubench") else {
        return;
    };
    if !has_python("the retail tasks over MCP") {
        return;
    }
    let shop = Shop::open(&tables);
    // One project per thread.
    let shops = Mutex::new(vec![]);
    play_all("over MCP", &tables, |task, expected| {
        let own = shops.lock().unwrap().pop();
        let own = own.unwrap_or_else(|| shop.another());
        let end = own.play(task, expected);
        shops.lock().unwrap().push(own);
        end
    });
}
