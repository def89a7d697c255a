//! Speed of graph and engine without a journal, as ratios of two things measured alternately in one run.
//!
//! `cargo bench --bench engine` prints the table of `docs/performance.md`; `… -- cold` etc. measure one part.

#[path = "../report/mod.rs"]
mod report;
mod runner;
mod scheduler;
mod shapes;

use std::fmt::Write as _;
use std::io::BufWriter;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use planrun_core::journal::EventKind;

use report::{Parts, Table, Target, alternate, cold_start, median, millis};
use runner::{Runner, Sink};
use shapes::Shape;

/// Number of pairs per shape; the median is reported.
const PAIRS: usize = 9;

/// Targets.
const MAX_RATIO: f64 = 3.0;
const MAX_RATIO_TO_IDEAL: f64 = 1.15;
const MAX_COLD_START_RATIO: f64 = 4.0;
const MAX_MICROSECONDS_BEFORE: f64 = 3.0;

fn main() -> ExitCode {
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    let runner = Runner::new()?;
    if parts.includes("small") || parts.includes("large") {
        Table::head(
            "steps that do nothing, engine against a hand-written scheduler",
            "ours",
            "other",
        );
    }
    for (name, steps) in [("small", 10_000), ("large", 100_000)] {
        if parts.includes(name) {
            shapes::all(sized(steps))
                .iter()
                .try_for_each(|shape| against_scheduler(&runner, shape, table))?;
        }
    }
    if parts.includes("begin") {
        Table::head(
            "from a checked plan to its first step, µs a step",
            "ours",
            "bound",
        );
        shapes::all(sized(100_000))
            .iter()
            .try_for_each(|shape| beginning(&runner, shape, table))?;
    }
    if parts.includes("sleep") {
        Table::head("1,000 pauses of 10 ms, 100 at a time", "ours", "ideal");
        sleeping(&runner, table)?;
    }
    if parts.includes("cold") {
        Table::head(
            "cold start to exit, a plan of one step against a program that prints one line",
            "ours",
            "other",
        );
        cold_start::measure(
            "run",
            &["--format", "quiet", "--no-journal"],
            Some(MAX_COLD_START_RATIO),
            table,
        )?;
    }
    Ok(())
}

/// Returns the number of steps, reduced if only small sizes are requested.
fn sized(steps: u32) -> u32 {
    u32::try_from(report::sized(steps as usize)).unwrap_or(steps)
}

/// Both run on this thread alone and never wait, so the time of the thread is measured: interruptions by other
/// processes would affect the longer of the two more.
fn against_scheduler(runner: &Runner, shape: &Shape, table: &mut Table) -> Result<(), String> {
    let plan = runner.plan(shapes::plan_text(shape))?;
    let names = (0..shape.waits.len())
        .map(|step| format!("s{step}"))
        .collect::<Vec<_>>();
    let (ours, other) = alternate(
        PAIRS,
        || {
            let begun = ThreadTime::now();
            let ended = runner.run(plan.clone())?;
            let taken = begun.elapsed();
            drop(ended);
            Ok(taken)
        },
        || {
            let mut sink = BufWriter::new(Sink::default());
            let begun = ThreadTime::now();
            let ran = runner
                .runtime
                .block_on(scheduler::run(&names, &shape.waits, &mut sink));
            let taken = begun.elapsed();
            if ran == names.len() {
                Ok(taken)
            } else {
                Err("the scheduler stopped".to_owned())
            }
        },
    )?;
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    let target = Target::at_most(ratio, MAX_RATIO);
    table.row(
        &shape.name,
        &millis(ours),
        &millis(other),
        ratio,
        Some(&target),
    );
    Ok(())
}

/// Measures the time from a checked plan to the start of its first step.
fn beginning(runner: &Runner, shape: &Shape, table: &mut Table) -> Result<(), String> {
    let plan = runner.plan(shapes::plan_text(shape))?;
    let mut taken = Vec::new();
    for _ in 0..report::rounds(PAIRS) {
        // The observer may run on another thread, so this is wall-clock time.
        let (begun, mut first) = (Instant::now(), None);
        runner.run_observed(plan.clone(), &mut |event| {
            if matches!(event.kind, EventKind::StepRunning { .. }) {
                first.get_or_insert_with(|| begun.elapsed());
            }
        })?;
        taken.extend(first);
    }
    let steps = f64::from(u32::try_from(shape.waits.len()).unwrap_or(u32::MAX));
    let micros = median(taken).as_secs_f64() * 1e6 / steps;
    let target = Target::at_most(micros, MAX_MICROSECONDS_BEFORE);
    table.row(
        &shape.name,
        &format!("{micros:.2} µs"),
        &format!("{MAX_MICROSECONDS_BEFORE} µs"),
        micros,
        Some(&target),
    );
    Ok(())
}

fn sleeping(runner: &Runner, table: &mut Table) -> Result<(), String> {
    let plan = runner.plan(sleeping_text(1000, 100))?;
    let ideal = Duration::from_millis(100);
    let mut taken = Vec::new();
    for _ in 0..report::rounds(PAIRS) {
        let begun = Instant::now();
        runner.run(plan.clone())?;
        taken.push(begun.elapsed());
    }
    let taken = median(taken);
    let ratio = taken.as_secs_f64() / ideal.as_secs_f64();
    let target = Target::at_most(ratio, MAX_RATIO_TO_IDEAL);
    table.row(
        "pauses",
        &millis(taken),
        &millis(ideal),
        ratio,
        Some(&target),
    );
    Ok(())
}

/// Returns a plan with concurrent waits.
fn sleeping_text(steps: u32, concurrency: u32) -> String {
    let mut text =
        format!("use sys\n\nplan sleeping() {{\n    policy {{ concurrency: {concurrency} }}\n");
    for step in 0..steps {
        let _ = writeln!(text, "    step s{step} = sys.sleep(duration: 10ms)");
    }
    text.push_str("    reply 1\n}\n");
    text
}
