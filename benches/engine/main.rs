//! Speed and memory of graph and engine without a journal, as ratios of two things measured alternately in one run.
//!
//! `cargo bench --bench engine` prints the table of `docs/performance.md`; `… -- cold` etc. measure one part.

#[path = "../report/mod.rs"]
mod report;
mod scheduler;
mod shapes;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use peak_alloc::PeakAlloc;
use planrun_core::journal::{Event, EventKind};
use planrun_core::run::Program;
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::{Files, Plan, Tools, check_without_rules};
use planrun_lang::source::SourceFile;
use planrun_runs::driver::{self, Context};
use planrun_tools::host::{Host, RealHost};
use planrun_tools::tools::Catalog;
use tokio::runtime::Runtime;

use report::{Parts, Table, Target, alternate, cold_start, median, millis};
use shapes::Shape;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Number of pairs per shape; the median is reported.
const PAIRS: usize = 9;

/// Targets.
const MAX_RATIO: f64 = 3.0;
const MAX_MEGABYTES: f64 = 25.0;
const MAX_RATIO_TO_IDEAL: f64 = 1.15;
const MAX_COLD_START_RATIO: f64 = 4.0;
const MAX_MICROSECONDS_BEFORE: f64 = 3.0;

fn main() -> ExitCode {
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    let bench = Bench::new()?;
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
                .try_for_each(|shape| bench.against_scheduler(shape, table))?;
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
            .try_for_each(|shape| bench.beginning(shape, table))?;
    }
    if parts.includes("memory") {
        Table::head("memory of graph and run at 100,000 steps", "ours", "other");
        shapes::all(sized(100_000))
            .iter()
            .try_for_each(|shape| bench.memory(shape, table))?;
    }
    if parts.includes("sleep") {
        Table::head("1,000 pauses of 10 ms, 100 at a time", "ours", "ideal");
        bench.sleeping(table)?;
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

/// The environment of all measurements.
struct Bench {
    runtime: Runtime,
    tools: Tools,
    catalog: Arc<Catalog>,
    host: Arc<dyn Host>,
}

impl Bench {
    fn new() -> Result<Self, String> {
        // The same runtime as in `planrun run`. The hand-written scheduler uses it too; with threads it is slower.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let catalog = Catalog::new(host.clone(), ".".into(), &Arc::new(Permissions::none()));
        let tools = catalog.signatures().cloned().collect();
        Ok(Self {
            runtime,
            tools,
            catalog: Arc::new(catalog),
            host,
        })
    }

    /// Returns a checked plan; its text and tree are already dropped.
    fn plan(&self, text: String) -> Result<Arc<Plan>, String> {
        let checked = check_without_rules(
            &SourceFile::new("measured.plan", text),
            &self.tools,
            &NoFiles,
        );
        if let Some(error) = checked.diagnostics.iter().find(|found| found.is_error()) {
            return Err(format!("{}: {}", error.code.name, error.message));
        }
        checked
            .plans
            .into_iter()
            .next()
            .ok_or_else(|| "there is no plan".to_owned())
    }

    /// Builds the graph of a plan, runs it, and writes its events as lines to a counting sink.
    fn run(&self, plan: Arc<Plan>) -> Result<(planrun_core::run::Outcome, Sink), String> {
        let mut sink = BufWriter::new(Sink::default());
        let outcome = self.run_observed(plan, &mut |event: &Event| {
            let _ = event.write_line(&mut sink);
        })?;
        let sink = sink.into_inner().map_err(|error| error.to_string())?;
        Ok((outcome, sink))
    }

    fn run_observed(
        &self,
        plan: Arc<Plan>,
        mut observer: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<planrun_core::run::Outcome, String> {
        let program = Arc::new(Program::new(plan));
        let context = Context::new(
            self.host.clone(),
            self.catalog.clone(),
            "measured",
            &mut observer,
        );
        let outcome = self
            .runtime
            .block_on(driver::run(&program, &BTreeMap::new(), context));
        match outcome.state {
            RunState::Completed => Ok(outcome),
            other => Err(format!("the run is {other}")),
        }
    }

    /// Both run on this thread alone and never wait, so the time of the thread is measured: interruptions by other
    /// processes would affect the longer of the two more.
    fn against_scheduler(&self, shape: &Shape, table: &mut Table) -> Result<(), String> {
        let plan = self.plan(shapes::plan_text(shape))?;
        let names = (0..shape.waits.len())
            .map(|step| format!("s{step}"))
            .collect::<Vec<_>>();
        let (ours, other) = alternate(
            PAIRS,
            || {
                let begun = ThreadTime::now();
                let ended = self.run(plan.clone())?;
                let taken = begun.elapsed();
                drop(ended);
                Ok(taken)
            },
            || {
                let mut sink = BufWriter::new(Sink::default());
                let begun = ThreadTime::now();
                let ran = self
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
    fn beginning(&self, shape: &Shape, table: &mut Table) -> Result<(), String> {
        let plan = self.plan(shapes::plan_text(shape))?;
        let mut taken = Vec::new();
        for _ in 0..report::rounds(PAIRS) {
            // The observer may run on another thread, so this is wall-clock time.
            let (begun, mut first) = (Instant::now(), None);
            self.run_observed(plan.clone(), &mut |event| {
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

    fn memory(&self, shape: &Shape, table: &mut Table) -> Result<(), String> {
        let begun = Instant::now();
        let plan = self.plan(shapes::plan_text(shape))?;
        let checking = begun.elapsed();
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let ended = self.run(plan)?;
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

    fn sleeping(&self, table: &mut Table) -> Result<(), String> {
        let plan = self.plan(shapes::sleeping_text(1000, 100))?;
        let ideal = Duration::from_millis(100);
        let mut taken = Vec::new();
        for _ in 0..report::rounds(PAIRS) {
            let begun = Instant::now();
            self.run(plan.clone())?;
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
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the number of bytes is far below 2^53"
)]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1_000_000.0
}

/// A writer that counts bytes.
#[derive(Default)]
struct Sink {
    bytes: usize,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Measured plans do not import other files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _from: &str, _path: &str) -> Result<SourceFile, String> {
        Err("there are no other files".to_owned())
    }
}
