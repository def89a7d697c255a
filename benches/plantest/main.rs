//! Speed of tests of plans: many short ones, one that waits for days, and an exploration.
//!
//! `cargo bench --bench plantest` prints the table of `docs/performance.md`; `… -- many` etc. measure one part.

#[path = "../report/mod.rs"]
mod report;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use planrun_core::run::{Defaults, Setup};
use planrun_lang::call::Answer;
use planrun_lang::diag::Diagnostic;
use planrun_lang::lint;
use planrun_lang::sema::{NoFiles, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Context, Silence};
use planrun_test::plantest::case::Case;
use planrun_test::plantest::explore::{ExploreOptions, explore};
use planrun_test::plantest::play::TestEnvironment;
use planrun_test::plantest::suite::{Prepared, Suite, SuiteOptions};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::{
    BoxFuture, Catalog, Conversation, Described, Request, StandIn, Transport, described,
};
use rayon::prelude::*;

use report::{Parts, Table, Target, alternate, cold_start, median, millis};

/// Number of measurements; the median is reported.
const TIMES: usize = 9;
const TESTS: usize = 1000;
const STEPS: usize = 10;
const EXPLORED: usize = 20;

/// Targets.
const MAX_SUITE_TIME: Duration = Duration::from_secs(1);
const MAX_LONG_PLAN_TIME: Duration = Duration::from_millis(5);
const MAX_EXPLORATION_TIME: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    if parts.includes("many") {
        Table::head(
            "1,000 tests of plans of ten steps, two threads",
            "ours",
            "bound",
        );
        let suite = suite(&many())?;
        bounded(table, "1,000 tests, checked before", MAX_SUITE_TIME, || {
            all_pass(&suite)
        })?;
        beside_bare_runs(&suite, table)?;
        whole_command(table)?;
    }
    if parts.includes("days") {
        Table::head("a test of a plan that waits three days", "ours", "bound");
        let suite = suite(&days())?;
        bounded(table, "three days", MAX_LONG_PLAN_TIME, || all_pass(&suite))?;
    }
    if parts.includes("explore") {
        Table::head("exploration of a plan of 20 steps", "ours", "bound");
        let suite = suite(&chain(EXPLORED, 1))?;
        let cases: Vec<Case> = suite
            .cases()
            .into_iter()
            .filter_map(|case| case.case.ok())
            .collect();
        let options = ExploreOptions { seeds: 20 };
        let runs = explore(&suite, &environment(), &cases, options).runs;
        bounded(table, &format!("{runs} runs"), MAX_EXPLORATION_TIME, || {
            let explored = explore(&suite, &environment(), &cases, options);
            if explored.discoveries.is_empty() {
                Ok(())
            } else {
                Err("something was found".to_owned())
            }
        })?;
    }
    if parts.includes("cold") {
        Table::head(
            "cold start to exit, one test against a program that prints one line",
            "ours",
            "other",
        );
        cold_start::measure("test", &[], None, table)?;
    }
    Ok(())
}

/// Measures the same runs by the engine alone: no mocks, no journal, no expectations.
fn beside_bare_runs(suite: &Suite, table: &mut Table) -> Result<(), String> {
    let timed = |work: &dyn Fn() -> Result<(), String>| {
        let begun = Instant::now();
        work().map(|()| begun.elapsed())
    };
    let (ours, other) = alternate(
        TIMES,
        || timed(&|| all_pass(suite)),
        || timed(&|| bare_runs(suite)),
    )?;
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    table.row(
        "the same beside bare runs of the engine",
        &millis(ours),
        &millis(other),
        ratio,
        None,
    );
    Ok(())
}

fn bare_runs(suite: &Suite) -> Result<(), String> {
    let cases = suite.cases();
    let run = |prepared: &Prepared| -> Result<(), String> {
        let case = prepared.case.as_ref().map_err(Clone::clone)?;
        let program = suite.program(&case.test).ok_or("the plan is not known")?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let host: Arc<dyn Host> = Arc::new(MemoryHost::new(0));
        let tools = Arc::new(Catalog::new(
            host.clone(),
            PathBuf::from("/"),
            &Arc::default(),
        ));
        let mut silent = Silence;
        let stand_in: Option<Arc<dyn StandIn>> = Some(Arc::new(Echo));
        let context = Context {
            stand_in,
            ..Context::new(host, tools, Setup::new("bare"), &mut silent)
        };
        let outcome = runtime.block_on(driver::run(program, &case.inputs, context));
        outcome
            .error
            .map_or(Ok(()), |error| Err(error.message.to_string()))
    };
    cases.par_iter().map(run).collect()
}

/// A transport that answers every call with the next number.
struct Echo;

impl Transport for Echo {
    fn call(&self, request: Request) -> Conversation {
        let next = match request.arguments.get("id") {
            Some(Value::Int(id)) => Value::Int(id + 1),
            _ => Value::Int(0),
        };
        Conversation::Now(Ok(Answer::Value(Value::object([
            ("next", next),
            ("name", Value::String("n".into())),
        ]))))
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

impl StandIn for Echo {
    fn wrap(self: Arc<Self>, _: Option<Arc<dyn Transport>>) -> Arc<dyn Transport> {
        self
    }

    fn replaces(&self, _: &Signature) -> bool {
        true
    }

    fn verifies(&self, _: &Signature) -> bool {
        true
    }
}

/// Measures the whole command, from start to exit, including the check of the file.
fn whole_command(table: &mut Table) -> Result<(), String> {
    let folder = cold_start::folder()?;
    let file = cold_start::write(&folder, "many.plan", &many())?;
    bounded(
        table,
        "`planrun test` of them, from start to exit",
        MAX_SUITE_TIME,
        || {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_planrun"));
            cold_start::time(command.arg("test").arg(&file)).map(|_| ())
        },
    )
}

fn bounded(
    table: &mut Table,
    name: &str,
    most: Duration,
    mut work: impl FnMut() -> Result<(), String>,
) -> Result<(), String> {
    let mut taken = Vec::with_capacity(TIMES);
    for _ in 0..report::rounds(TIMES) {
        let begun = Instant::now();
        work()?;
        taken.push(begun.elapsed());
    }
    let ours = median(taken);
    let ratio = ours.as_secs_f64() / most.as_secs_f64();
    table.row(
        name,
        &millis(ours),
        &millis(most),
        ratio,
        Some(&Target::at_most(ratio, 1.0)),
    );
    Ok(())
}

fn all_pass(suite: &Suite) -> Result<(), String> {
    let environment = environment();
    let failed = suite
        .cases()
        .par_iter()
        .map(|case| suite.run(&environment, case, SuiteOptions::default(), &mut Silence))
        .find_any(|ran| !ran.faults.is_empty());
    failed.map_or(Ok(()), |ran| {
        Err(format!("{}: {}", ran.title, ran.faults[0].message))
    })
}

fn many() -> String {
    chain(STEPS, report::sized(TESTS))
}

/// Returns a plan with this number of steps, half of which are effects that read the step before them; and this number
/// of tests of it.
fn chain(steps: usize, tests: usize) -> String {
    let mut text = String::from(
        "use kit\n\ntool kit.look(id: int) -> { next: int, name: string } read\n\
         tool kit.change(id: int, name: string) -> { next: int, name: string } effect fails busy\n\n\
         plan chain(id: int) -> { last: int, name: string } {\n    policy { on_failure: undo }\n",
    );
    for step in 0..steps {
        let before = if step == 0 {
            "id".to_owned()
        } else {
            format!("s{}.next", step - 1)
        };
        let name = if step == 0 {
            "\"first\"".to_owned()
        } else {
            format!("s{}.name", step - 1)
        };
        let _ = if step % 2 == 0 {
            writeln!(text, "    step s{step} = kit.look(id: {before})")
        } else {
            writeln!(
                text,
                "    step s{step} = kit.change(id: {before}, name: {name})\n        undo kit.change(id: {before}, name: \"undone\")"
            )
        };
    }
    let _ = writeln!(
        text,
        "    reply {{ last: s{0}.next, name: s{0}.name }}\n}}\n",
        steps - 1
    );
    for test in 0..tests {
        let _ = writeln!(
            text,
            "test \"number {test}\" for chain {{\n    given {{ id: {test} }}\n    mock kit.look => {{ next: id + 1, name: \"n${{id}}\" }}\n    \
             mock kit.change => {{ next: id + 1, name: \"${{name}}!\" }}\n    expect reply.last == {}\n    \
             expect calls(kit.change) == {}\n}}\n",
            test + steps,
            steps / 2
        );
    }
    text
}

fn days() -> String {
    "use kit\n\ntool kit.look(id: int) -> string read\n\nplan days(id: int) -> string {\n    step before = kit.look(id: id)\n    \
     step pause = wait 3d\n    step found = kit.look(id: id)\n        after pause\n        when before != \"\"\n    \
     reply found ?? \"\"\n}\n\ntest \"three days\" for days {\n    given { id: 1 }\n    mock kit.look => \"here\"\n    \
     expect reply == \"here\"\n}\n"
        .to_owned()
}

fn suite(text: &str) -> Result<Suite, String> {
    let (policy, host) = (Policy::default(), MemoryHost::new(1));
    let root = Path::new("/");
    let project = lint::Project {
        limits: &planrun_lang::sema::Budget::default(),
        policy: &policy,
        allow: None,
        root,
        paths: &host,
        tools: None,
        severities: None,
        calls: None,
        by_model: false,
        is_call: false,
    };
    let source = SourceFile::new("measured.plan", text);
    let checked = lint::check_file(&source, &Tools::default(), &NoFiles, &project);
    match checked
        .diagnostics
        .iter()
        .find(|found| Diagnostic::is_error(found))
    {
        Some(error) => Err(format!("{}: {}", error.code.name, error.message)),
        None => Ok(Suite::new(source, checked)),
    }
}

fn environment() -> TestEnvironment {
    TestEnvironment {
        limit: None,
        defaults: Defaults::default(),
        root: PathBuf::from("/"),
        results: Arc::default(),
    }
}
