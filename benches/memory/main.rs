//! Memory of graph and run at 100,000 steps. It has a program of its own, since counting makes each allocation slower.
//!
//! `cargo bench --bench memory` prints the table of `docs/performance.md`.

#[expect(dead_code, reason = "nothing is timed")]
#[path = "../report/mod.rs"]
mod report;
#[path = "../engine/runner.rs"]
mod runner;
#[path = "../engine/shapes.rs"]
mod shapes;

use std::process::ExitCode;
use std::time::Instant;

use peak_alloc::PeakAlloc;

use report::{Parts, Table, Target, millis};
use runner::Runner;
use shapes::Shape;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const STEPS: usize = 100_000;

/// Target.
const MAX_MEGABYTES: f64 = 25.0;

fn main() -> ExitCode {
    report::run(measure)
}

fn measure(_: &Parts, table: &mut Table) -> Result<(), String> {
    let runner = Runner::new()?;
    Table::head("memory of graph and run at 100,000 steps", "ours", "other");
    let steps = u32::try_from(report::sized(STEPS)).unwrap_or(u32::MAX);
    shapes::all(steps)
        .iter()
        .try_for_each(|shape| memory(&runner, shape, table))
}

fn memory(runner: &Runner, shape: &Shape, table: &mut Table) -> Result<(), String> {
    let begun = Instant::now();
    let plan = runner.plan(shapes::plan_text(shape))?;
    let checking = begun.elapsed();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let ended = runner.run(plan)?;
    let megabytes = megabytes(MEMORY.peak_usage() - before);
    drop(ended);
    let name = format!("{} (checked in {})", shape.name, millis(checking));
    let target = Target::at_most(megabytes, MAX_MEGABYTES);
    table.row(
        &name,
        &format!("{megabytes:.1} MB"),
        "",
        megabytes,
        Some(&target),
    );
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the number of bytes is far below 2^53"
)]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1_000_000.0
}
