//! Plans in which every call is an effect are held against an interpreter that takes one statement after the other: the same
//! calls with the same arguments, in the same order, and the same end.
//!
//! Where nothing stands beside anything, beginnings and ends are exactly those of the interpreter. Where statements run beside
//! each other (`parallel`, a wide `each`, `after`) they keep the order that it gives, and when one of them ends the run, the
//! others have come as far as they had come.
//!
//! Not generated, since one statement after the other says nothing of them: listeners, `ask`, forms and approvals that wait for
//! people, signals, `infer`, `verify`, `wait until` and `wait for`, and bounds in time (`timeout`, `within`, `deadline`).
//! Branches of a `race` ask the same, so that it does not matter who wins.

mod double;
mod oracle;
mod page;
mod verdict;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::{Event, EventKind, StepError};
use planrun_core::run::{Order, Outcome, Program};
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{self, Files, Plan, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Context};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::Catalog;
use rayon::prelude::*;
use tokio::time::Instant;

use self::double::{Book, Double, Nature, Seen};
use self::oracle::{Meaning, World, meaning};
use super::bounds;
use super::shrink::shrunk_text;
use super::workshop::seeds;
use crate::generate::{Effects, effects};

/// So many plans are tried in CI.
const PLANS: u64 = 2000;
/// Each runs under so many orders and delays.
const ORDERS: u64 = 12;

/// What was held against what.
#[derive(Default, Debug)]
struct Tally {
    plans: u64,
    runs: u64,
    effects: u64,
    /// Plans that hold each of these words.
    holding: BTreeMap<&'static str, u64>,
    /// Plans with two effects or more.
    several: u64,
    /// Plans in which statements ran beside each other.
    wide: u64,
    failed: u64,
    undone: u64,
    undo_failed: u64,
}

/// What plans have to hold, and how many in a hundred of them at least.
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
    for told in wrong.iter().take(3) {
        println!("{told}");
    }
    for told in wrong.iter().skip(3).take(40) {
        println!("{}", told.lines().next().unwrap_or_default());
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} plans differ from what they mean",
        wrong.len()
    );
    if count >= 100 {
        tally.is_full(count);
    }
}

impl Tally {
    /// The test must not become empty.
    fn is_full(&self, count: u64) {
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
                retold(&Effects { text, ..made }, seed, order)
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

/// The executions that were seen: here each path has one, and is called again for it.
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

/// The plan with what was seen and what was expected.
fn retold(made: &Effects, seed: u64, order: u64) -> String {
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
    let told: Vec<String> = marks.into_iter().map(|(_, text)| text).collect();
    let wanted: Vec<String> = expected
        .calls
        .iter()
        .map(|call| {
            format!(
                "{} {}{}{}",
                call.path,
                call.tool,
                call.arguments,
                if call.optional { " perhaps" } else { "" }
            )
        })
        .collect();
    let fault = verdict::fault(&expected, &ran).unwrap_or_default();
    format!(
        "{}\n{fault}\nseen, {}:\n{}\nexpected, {:?}, undone {:?}:\n{}\n",
        made.text.replace(crate::generate::TOOLS, ""),
        ran.outcome.state,
        told.join("\n"),
        expected.error,
        expected.undone,
        wanted.join("\n")
    )
}

/// The main plan of a text, or what is wrong with it.
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

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str, path: &str) -> Result<SourceFile, String> {
        Err(format!("there is no `{path}`"))
    }
}

/// A run as it was seen from outside.
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
        Nature {
            seed,
            rough: made.rough,
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
        let (book, begun) = (Arc::new(Mutex::new(Book::default())), Instant::now());
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(seed));
        let mut catalog = Catalog::new(
            host.clone(),
            PathBuf::from("/"),
            &Arc::new(Permissions::none()),
        );
        let nature = Nature {
            seed,
            rough: made.rough,
        };
        let double = Arc::new(Double {
            nature,
            delays: seed ^ order.wrapping_mul(0x51ed),
            begun,
            book: book.clone(),
        });
        for tool in ["make", "send", "put", "drop", "risk", "look", "miss"] {
            catalog.add(Signature::unknown("w".into(), tool.into()), double.clone());
        }
        let mut world = World::default();
        let (mut number, mut waits) = (0, BTreeMap::new());
        let heard = book.clone();
        let mut observer = |event: &Event| {
            number += 1;
            note(event, number, &mut world);
            note_wait(
                event,
                &mut waits,
                &mut heard.lock().unwrap(),
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
        let context = Context {
            root: PathBuf::from("/"),
            order,
            ..Context::new(host, Arc::new(catalog), "test-run", &mut observer)
        };
        let running = driver::run(program, &inputs, context);
        let outcome = tokio::time::timeout(Duration::from_hours(24), running)
            .await
            .expect("the run ends");
        if let Some(error) = &outcome.error {
            world.origins.insert(String::new(), chain(error));
        }
        let calls = book.lock().unwrap().calls.clone();
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

/// What the world decided, as far as an event tells of it.
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

/// A wait of the plan counts as a call, from its beginning to its end.
fn note_wait(event: &Event, waits: &mut BTreeMap<String, usize>, book: &mut Book, at: u128) {
    let is_wait = |path: &str| {
        path.rsplit('.')
            .next()
            .is_some_and(|name| name.starts_with("pause"))
    };
    match &event.kind {
        EventKind::StepRunning { path, .. } if is_wait(path) => {
            waits.insert(path.to_string(), book.begin(path, "wait", "", at));
        }
        EventKind::StepSettled { path, .. } => {
            if let Some(call) = waits.remove(&**path) {
                book.end(call, at);
            }
        }
        _ => {}
    }
}

/// The paths of a failure and of what is behind it.
fn chain(error: &StepError) -> Vec<String> {
    let mut paths = vec![error.step.to_string()];
    paths.extend(error.cause.as_deref().map(chain).unwrap_or_default());
    paths
}
