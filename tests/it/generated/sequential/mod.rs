//! Plans in which every call is an effect are compared with an interpreter that executes one statement after the other:
//! the calls, their arguments, their order and the end of the run must be the same.
//!
//! Without concurrency, the beginnings and ends are exactly those of the interpreter. Concurrent statements
//! (`parallel`, a wide `each`, `after`) keep the partial order that it gives, and when one of them ends the run, the
//! others stop wherever they are.
//!
//! Not generated, because sequential execution does not define them: listeners, `ask`, forms and approvals that wait
//! for people, signals, `infer`, `verify`, `wait until` and `wait for`, and time limits (`timeout`, `within`,
//! `deadline`). The branches of a `race` send the same request, so that the winner does not matter.

mod double;
mod oracle;
mod statement_order;
mod verdict;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::{Event, EventKind, StepError};
use planrun_core::run::{Order, Outcome, Program, Setup};
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{self, NoFiles, Plan, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Context};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::Catalog;
use rayon::prelude::*;
use tokio::time::Instant;

use self::double::{CallLog, Double, DoubleSettings, Seen};
use self::oracle::{Meaning, World, meaning};
use super::bounds;
use super::project_context::seeds;
use super::shrink::shrunk_text;
use crate::generate::{Effects, effects};

/// Number of plans that are tried in CI.
const PLANS: u64 = 2000;
/// Number of orders and delays for each plan.
const ORDERS: u64 = 12;

/// Totals of the comparisons.
#[derive(Default, Debug)]
struct Tally {
    plans: u64,
    runs: u64,
    effects: u64,
    /// Plans that contain each of these words.
    holding: BTreeMap<&'static str, u64>,
    /// Plans with two effects or more.
    several: u64,
    /// Plans with concurrent statements.
    wide: u64,
    failed: u64,
    undone: u64,
    undo_failed: u64,
}

/// Words that plans must contain, and the minimum share of plans in percent.
const WORDS: [(&str, u64); 14] = [
    ("if ", 20),
    ("each ", 20),
    ("parallel {", 15),
    ("undo ", 40),
    ("recover ", 15),
    ("repeat ", 8),
    ("match ", 8),
    ("race ", 5),
    ("settle", 15),
    ("after ", 8),
    ("retry ", 3),
    ("ensure ", 3),
    ("plan_", 20),
    ("wait ", 5),
];

#[test]
fn effects_happen_in_the_order_of_the_page() {
    let (base, count) = seeds(PLANS);
    let tally = Mutex::new(Tally::default());
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| try_seed(seed, &tally).err())
        .collect();
    let tally = tally.into_inner().unwrap();
    println!(
        "{count} plans from seed {base} (PLANRUN_SEED replays one, PLANRUN_PLANS widens): {tally:?}"
    );
    for fault in wrong.iter().take(3) {
        println!("{fault}");
    }
    for fault in wrong.iter().skip(3).take(40) {
        println!("{}", fault.lines().next().unwrap_or_default());
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} plans differ from what they mean",
        wrong.len()
    );
    if count >= 100 {
        tally.assert_covered(count);
    }
}

impl Tally {
    /// Asserts that the test covered enough.
    fn assert_covered(&self, count: u64) {
        for (word, least) in WORDS {
            let held = self.holding.get(word).copied().unwrap_or_default();
            assert!(
                held * 100 >= count * least,
                "{held} of {count} plans hold `{word}`"
            );
        }
        assert!(
            self.several * 100 >= count * 85,
            "{} plans have two effects",
            self.several
        );
        assert!(
            self.wide * 100 >= count * 15,
            "{} plans run something beside something",
            self.wide
        );
        assert!(
            self.failed * 100 >= count * 20 && self.undone * 100 >= count * 10,
            "too few fail: {self:?}"
        );
        assert!(
            self.undo_failed > 0 && self.effects >= count * ORDERS * 4,
            "too little ran: {self:?}"
        );
    }
}

fn try_seed(seed: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let made = effects(seed);
    let plan =
        checked(&made.text).map_err(|found| format!("seed {seed}: {found}\n{}", made.text))?;
    let bounds = bounds::of(&plan);
    let program = Arc::new(Program::new(plan));
    let (mut several, mut wide, mut failed, mut undone, mut undo_failed) =
        (false, false, false, false, false);
    let mut effects = 0;
    for order in 0..ORDERS {
        let ran = perform(&program, &made, seed, order);
        let expected = expected(&program, &made, seed, &ran);
        if let Some(beyond) = executed(&ran).beyond(&bounds) {
            return Err(format!(
                "seed {seed}, order {order}: {beyond}\n{}",
                made.text
            ));
        }
        if let Some(fault) = verdict::fault(&expected, &ran) {
            let still = |text: &str| {
                still_differs(
                    &Effects {
                        text: text.to_owned(),
                        ..made
                    },
                    seed,
                    order,
                )
            };
            let text = shrunk_text(&made.text, &still);
            return Err(format!(
                "seed {seed}, order {order}: {fault}\n{}",
                describe(&Effects { text, ..made }, seed, order)
            ));
        }
        several |= ran.calls.len() > 1;
        wide |= expected.wide;
        failed |= expected.error.is_some();
        undone |= !expected.undone.is_empty();
        undo_failed |= expected.undone.iter().any(|(_, well)| !well);
        effects += ran.calls.len() as u64;
    }
    let mut tally = tally.lock().unwrap();
    tally.plans += 1;
    tally.runs += ORDERS;
    tally.effects += effects;
    for (word, _) in WORDS.iter().filter(|(word, _)| made.text.contains(word)) {
        *tally.holding.entry(word).or_default() += 1;
    }
    tally.several += u64::from(several);
    tally.wide += u64::from(wide);
    tally.failed += u64::from(failed);
    tally.undone += u64::from(undone);
    tally.undo_failed += u64::from(undo_failed);
    Ok(())
}

/// Returns the executions of a run. Here each path has one execution; further calls are attempts.
fn executed(ran: &Ran) -> bounds::Executed {
    let mut executed = bounds::Executed::default();
    for call in ran.calls.iter().filter(|call| call.tool != "wait") {
        executed.note(&call.tool, &call.path, 0);
    }
    executed
}

fn still_differs(made: &Effects, seed: u64, order: u64) -> bool {
    let Ok(plan) = checked(&made.text) else {
        return false;
    };
    let program = Arc::new(Program::new(plan));
    let ran = perform(&program, made, seed, order);
    verdict::fault(&expected(&program, made, seed, &ran), &ran).is_some()
}

/// Formats a plan, with the actual and the expected calls.
fn describe(made: &Effects, seed: u64, order: u64) -> String {
    let program = Arc::new(Program::new(checked(&made.text).unwrap()));
    let ran = perform(&program, made, seed, order);
    let expected = expected(&program, made, seed, &ran);
    let mut marks: Vec<(usize, String)> = Vec::new();
    for call in &ran.calls {
        marks.push((
            call.begins.0,
            format!(
                "{} {}{} at {}",
                call.path, call.tool, call.arguments, call.begins.1
            ),
        ));
        marks.extend(
            call.ends
                .map(|(mark, at)| (mark, format!("  end of {} at {at}", call.path))),
        );
    }
    marks.sort();
    let actual: Vec<String> = marks.into_iter().map(|(_, text)| text).collect();
    let planned: Vec<String> = expected
        .calls
        .iter()
        .map(|call| {
            format!(
                "{} {}{}{}",
                call.path,
                call.tool,
                call.arguments,
                if call.optional.is_some() {
                    " perhaps"
                } else {
                    ""
                }
            )
        })
        .collect();
    let fault = verdict::fault(&expected, &ran).unwrap_or_default();
    format!(
        "{}\n{fault}\nseen, {}:\n{}\nexpected, {:?}, undone {:?}:\n{}\n",
        made.text.replace(crate::generate::TOOLS, ""),
        ran.outcome.state,
        actual.join("\n"),
        expected.error,
        expected.undone,
        planned.join("\n")
    )
}

/// Returns the main plan of a text, or an error.
fn checked(text: &str) -> Result<Arc<Plan>, String> {
    let source = SourceFile::new("main.plan", text);
    let found = sema::check_without_rules(&source, &Tools::default(), &NoFiles);
    match found.diagnostics.iter().find(|found| found.is_error()) {
        Some(error) => Err(format!(
            "{} {} in line {}",
            error.code.name,
            error.message,
            source.position(error.span.start).line
        )),
        None => found
            .plans
            .iter()
            .find(|plan| &*plan.name == "main")
            .cloned()
            .ok_or_else(|| "no plan".to_owned()),
    }
}

/// A run as observed from outside.
struct Ran {
    calls: Vec<Seen>,
    world: World,
    outcome: Outcome,
}

fn input(seed: u64) -> i64 {
    i64::try_from(seed % 6).unwrap()
}

fn expected(program: &Program, made: &Effects, seed: u64, ran: &Ran) -> Meaning {
    meaning(
        &program.plan,
        input(seed),
        DoubleSettings {
            seed,
            fallible: made.fallible,
        },
        &ran.world,
    )
}

fn perform(program: &Arc<Program>, made: &Effects, seed: u64, order: u64) -> Ran {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (call_log, begun) = (Arc::new(Mutex::new(CallLog::default())), Instant::now());
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(seed));
        let mut catalog = Catalog::new(
            host.clone(),
            PathBuf::from("/"),
            &Arc::new(Permissions::none()),
        );
        let settings = DoubleSettings {
            seed,
            fallible: made.fallible,
        };
        let double = Arc::new(Double {
            settings,
            delays: seed ^ order.wrapping_mul(0x51ed),
            begun,
            call_log: call_log.clone(),
        });
        for tool in ["make", "send", "put", "drop", "risk", "look", "miss"] {
            catalog.add(Signature::unknown("w".into(), tool.into()), double.clone());
        }
        let mut world = World::default();
        let (mut number, mut waits) = (0, BTreeMap::new());
        let recorded = call_log.clone();
        let mut observer = |event: &Event| {
            number += 1;
            note(event, number, &mut world);
            note_wait(
                event,
                &mut waits,
                &mut recorded.lock().unwrap(),
                begun.elapsed().as_millis(),
            );
        };
        let inputs = [(
            program.plan.parameters[0].name.clone(),
            Value::Int(input(seed)),
        )]
        .into();
        let order = if order == 0 {
            Order::Source
        } else {
            Order::Seeded(order)
        };
        let setup = Setup {
            order,
            ..Setup::new("test-run")
        };
        let context = Context {
            root: PathBuf::from("/"),
            ..Context::new(host, Arc::new(catalog), setup, &mut observer)
        };
        let running = driver::run(program, &inputs, context);
        let outcome = tokio::time::timeout(Duration::from_hours(24), running)
            .await
            .expect("the run ends");
        if let Some(error) = &outcome.error {
            world.origins.insert(String::new(), chain(error));
        }
        let calls = call_log.lock().unwrap().calls.clone();
        world.attempts = calls
            .iter()
            .map(|call| (call.path.clone(), call.attempt))
            .collect();
        Ran {
            calls,
            world,
            outcome,
        }
    })
}

/// Records the decisions of the world that an event contains.
fn note(event: &Event, number: usize, world: &mut World) {
    let (path, error) = match &event.kind {
        EventKind::StepSettled {
            path, state, error, ..
        } => {
            world.settled.insert(path.to_string(), (number, *state));
            (path, error.as_ref())
        }
        EventKind::StepRecovering { path, error } => (path, Some(error)),
        _ => return,
    };
    if let Some(error) = error {
        world
            .origins
            .entry(path.to_string())
            .or_insert_with(|| chain(error));
    }
}

/// Records a wait of the plan as a call.
fn note_wait(event: &Event, waits: &mut BTreeMap<String, usize>, call_log: &mut CallLog, at: u128) {
    let is_wait = |path: &str| {
        path.rsplit('.')
            .next()
            .is_some_and(|name| name.starts_with("pause"))
    };
    match &event.kind {
        EventKind::StepRunning { path, .. } if is_wait(path) => {
            waits.insert(path.to_string(), call_log.begin(path, "wait", "", at));
        }
        EventKind::StepSettled { path, .. } => {
            if let Some(call) = waits.remove(&**path) {
                call_log.end(call, at);
            }
        }
        _ => {}
    }
}

/// Returns the paths of a failure and of its causes.
fn chain(error: &StepError) -> Vec<String> {
    let mut paths = vec![error.step.to_string()];
    paths.extend(error.cause.as_deref().map(chain).unwrap_or_default());
    paths
}
