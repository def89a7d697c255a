//! The result of a plan does not depend on the order of choices that a run may make in any order.
//!
//! Every plan of the project, those of the recorded machines, and many generated ones run in the source order first,
//! and then with seeds that randomize every such choice (`crates/planrun-core/src/run/order.rs`). `CI=1` tries more
//! seeds and more plans; `PLANRUN_SEED` and `PLANRUN_PLANS` select generated ones.

mod commands;
mod compare;
mod play;
mod recording;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use planrun_core::run::{Order, Program, Setup};
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{self, Files, Plan, Tools};
use planrun_lang::source::SourceFile;
use planrun_runs::driver::{self, Answering, Context, Silence};
use planrun_tools::host::{Host, MemoryHost, RealHost};
use planrun_tools::mock::{MockOptions, MockServer};
use planrun_tools::project::Project;
use planrun_tools::tools::Catalog;
use rayon::prelude::*;
use serde_json::json;

use crate::generate::{Size, project};
use crate::generated::harness::{self, FailureRate};
use crate::generated::project_context::{ProjectContext, seeds};
use crate::support::root;
use crate::world::{World, after, give};
use crate::{machines, plans};
use commands::Command;
use compare::{Tally, differs};
use play::Play;
use recording::Recording;

/// Number of generated plans that are tried in CI, each with and without failing calls.
const GENERATED: u64 = 300;

/// Returns the number of orders for each plan.
fn orders() -> u64 {
    if std::env::var_os("CI").is_some() {
        60
    } else {
        12
    }
}

#[test]
fn plans_with_the_double_of_their_apps_come_to_the_same_in_any_order() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let commands: Vec<Command> = plans::commands()
        .iter()
        .filter_map(|text| Command::read(text))
        .collect();
    let plays: Vec<Play> = commands
        .iter()
        .map(|command| runtime.block_on(recorded(command)))
        .collect();
    assert!(plays.len() >= 20, "{} commands", plays.len());
    hold("plans with the double of their apps", &plays);
}

#[test]
fn plans_of_sessions_come_to_the_same_in_any_order() {
    let mut plays = Vec::new();
    let folders = std::fs::read_dir(root().join("tests/fixtures/run")).unwrap();
    for folder in folders.map(|entry| entry.unwrap().path()) {
        let session = std::fs::read_to_string(folder.join("session.txt")).unwrap();
        // A dry run makes no calls, and its plan may call unknown tools.
        let is_real_run =
            |line: &&str| line.starts_with("$ planrun run ") && !line.contains("--dry-run");
        let commands = session.lines().filter(is_real_run);
        plays.extend(
            commands
                .filter_map(Command::read)
                .filter_map(|command| of_session(&command, &folder)),
        );
    }
    assert!(plays.len() >= 25, "{} commands", plays.len());
    hold("plans of sessions", &plays);
}

#[test]
fn recorded_machines_come_to_the_same_in_any_order() {
    let Some(records) = machines::records() else {
        return;
    };
    let records = Arc::new(records);
    let mut plays = Vec::new();
    for (number, case) in machines::CASES.iter().enumerate() {
        let Some(recorded) = machines::find(&records, case) else {
            continue;
        };
        let Ok(plan) = machines::plan(case) else {
            continue;
        };
        let Some(inputs) = recorded.inputs(&plan) else {
            continue;
        };
        let records = records.clone();
        let new_tools = Box::new(move || {
            let world = machines::find(&records, &machines::CASES[number])
                .unwrap()
                .world();
            (world.host.clone() as Arc<dyn Host>, world.into_catalog())
        });
        plays.push(Play {
            name: case.plan.to_owned(),
            plan,
            inputs,
            answers: Vec::new(),
            new_tools,
        });
    }
    hold("recorded machines", &plays);
}

#[test]
fn generated_plans_come_to_the_same_in_any_order() {
    let (base, count) = seeds(GENERATED);
    let plays: Vec<Play> = (base..base + count)
        .into_par_iter()
        .flat_map_iter(generated)
        .collect();
    hold("generated plans", &plays);
}

const OPEN: &str = "
use a, b
tool a.read(x: int) -> int read
tool a.write(x: int) -> int effect
tool b.write(x: int) -> int effect

plan p() {
    policy { concurrency: 2 }
    step first = a.read(x: 1)
    step second = a.read(x: 2)
    step third = a.read(x: 3)
    parallel {
        step fourth = do { step soon = wait 1s step late = a.read(x: 4) yield late }
        step fifth = do { step also = wait 1s step later = a.read(x: 5) yield later }
    }
    step sixth = a.write(x: 6)
    step skipped = a.write(x: 7) when 1 > 2
    step eighth = a.write(x: 8)
    step ninth = b.write(x: 9)
}
";

#[tokio::test(start_paused = true)]
async fn a_seed_decides_what_the_language_leaves_open_and_decides_it_again() {
    let mut seen = BTreeSet::new();
    assert_eq!(calls(Order::Source).await, [1, 2, 3, 4, 5, 6, 8, 9]);
    for seed in 0..orders() {
        let order = calls(Order::Seeded(seed)).await;
        assert_eq!(order, calls(Order::Seeded(seed)).await, "seed {seed}");
        let effects: Vec<i64> = order
            .iter()
            .copied()
            .filter(|x| [6, 8, 9].contains(x))
            .collect();
        assert_eq!(
            (order.len(), effects),
            (8, vec![6, 8, 9]),
            "seed {seed}: {order:?}"
        );
        assert!(
            order.iter().position(|x| *x == 6) > order.iter().position(|x| *x == 5),
            "reads above it settle first"
        );
        seen.insert(order);
    }
    assert!(seen.len() > 5, "{seen:?}");
}

/// Returns the calls of a run, in the order of their beginnings.
async fn calls(order: Order) -> Vec<i64> {
    let answer = || [after(10, give(json!(1)))];
    let mut world = World::new()
        .tool("a.read", answer())
        .tool("a.write", answer())
        .tool("b.write", answer());
    world.order = order;
    let ran = world.run(OPEN).await;
    assert_eq!(ran.outcome.state.name(), "completed");
    ran.seen
        .iter()
        .map(|seen| seen.arguments["x"].as_i64().unwrap())
        .collect()
}

/// Runs plays in every order, and asserts that none differs.
fn hold(what: &str, plays: &[Play]) {
    let tally = Mutex::new(Tally::default());
    let wrong: Vec<String> = plays
        .par_iter()
        .filter_map(|play| differs(play, orders(), &tally).err())
        .collect();
    println!(
        "{what}: {} in {} orders each, {} differ",
        plays.len(),
        orders(),
        wrong.len()
    );
    println!("  {}", tally.into_inner().unwrap());
    for fault in wrong.iter().take(5) {
        println!("{fault}");
    }
    assert!(
        wrong.is_empty(),
        "{what}: {} of {} hang on the order",
        wrong.len(),
        plays.len()
    );
}

/// Returns a play of a command in a plan's header, with the answers of the apps' mock recorded once.
async fn recorded(command: &Command) -> Play {
    let file = root().join(&command.file);
    let real: Arc<dyn Host> = Arc::new(RealHost);
    let (found, _) = Project::load(&*real, Some(&file), None).unwrap();
    let server = MockServer::start(&found.apps, MockOptions::default(), real.clone())
        .await
        .unwrap();
    let nothing = Arc::new(Permissions::none());
    let catalog = found.catalog(&real, &nothing, Some(&|app| server.endpoint(app)));
    let plan = checked(&file, command.plan.as_deref(), &catalog).unwrap();
    let (inputs, answers) = (command.inputs(&plan, &root()).unwrap(), command.answers());
    let recording = Recording::default();
    let mut silent = Silence;
    let context = Context {
        root: PathBuf::from("/"),
        answering: Answering {
            answers: answers.clone(),
            asker: None,
        },
        ..Context::new(
            real.clone(),
            Arc::new(recording.of(&catalog)),
            Setup::new("test-run"),
            &mut silent,
        )
    };
    driver::run(&Arc::new(Program::new(plan.clone())), &inputs, context).await;
    server.shutdown().await;
    let new_tools = Box::new(move || {
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(7));
        let catalog = found.catalog(&host, &nothing, None);
        (host, recording.again(&catalog))
    });
    Play {
        name: format!("{command:?}"),
        plan,
        inputs,
        answers,
        new_tools,
    }
}

/// Returns a play of a command in a session. `None` if it runs nothing.
fn of_session(command: &Command, folder: &Path) -> Option<Play> {
    let files: Vec<(PathBuf, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (
                Path::new("/").join(entry.file_name()),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    let new_tools = move || {
        let host = files
            .iter()
            .fold(MemoryHost::new(7), |host, (path, content)| {
                host.with_file(path, content.clone())
            });
        let host: Arc<dyn Host> = Arc::new(host);
        let catalog = Catalog::new(
            host.clone(),
            PathBuf::from("/"),
            &Arc::new(Permissions::none()),
        );
        (host, catalog)
    };
    let plan = checked(
        &folder.join(&command.file),
        command.plan.as_deref(),
        &new_tools().1,
    )?;
    let inputs = command.inputs(&plan, folder)?;
    Some(Play {
        name: format!("{command:?}"),
        plan,
        inputs,
        answers: command.answers(),
        new_tools: Box::new(new_tools),
    })
}

/// Returns plays of a generated plan, with and without failing calls.
fn generated(seed: u64) -> Vec<Play> {
    let size = if seed.is_multiple_of(4) {
        Size::USUAL
    } else {
        Size::SMALL
    };
    let made = Arc::new(project(seed, size));
    let checked = ProjectContext::of(&made).check(&made);
    let plan = checked.plans.last().unwrap().clone();
    let with_failure_rate = |failure_rate| {
        let made = made.clone();
        Play {
            name: format!("seed {seed}, {failure_rate:?}\n{}", made.main()),
            inputs: harness::inputs(&plan, seed),
            plan: plan.clone(),
            answers: Vec::new(),
            new_tools: Box::new(move || harness::host_and_tools(&made, failure_rate, seed)),
        }
    };
    [FailureRate::Never, FailureRate::Often]
        .map(with_failure_rate)
        .into()
}

/// Returns the only plan of a file, or the one with this name. `None` if it has errors.
fn checked(file: &Path, name: Option<&str>, catalog: &Catalog) -> Option<Arc<Plan>> {
    let tools: Tools = catalog.signatures().cloned().collect();
    let text = std::fs::read_to_string(file).ok()?;
    let checked = sema::check_without_rules(
        &SourceFile::new(file.to_str().unwrap(), text),
        &tools,
        &Disk,
    );
    let refused = checked
        .diagnostics
        .iter()
        .any(planrun_lang::diag::Diagnostic::is_error);
    let mut plans = checked
        .plans
        .iter()
        .filter(|plan| name.is_none_or(|name| *plan.name == *name));
    plans.next().filter(|_| !refused).cloned()
}

struct Disk;

impl Files for Disk {
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String> {
        let path = Path::new(from).with_file_name(path.trim_start_matches("./"));
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        Ok(SourceFile::new(path.to_str().unwrap(), text))
    }
}
