//! The speed and memory of graph and engine, as ratios of two things measured side by side in one run.
//!
//! `cargo bench --bench engine` prints the table of `docs/performance.md`; `… -- cold` and the like measure one part.

mod process;
mod scheduler;
mod shapes;

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use peak_alloc::PeakAlloc;
use planrun::engine::{self, Context, Defaults, Event, Program};
use planrun::host::{Host, RealHost};
use planrun::protocol::RunState;
use planrun::sema::{Files, Plan, Tools, check_file};
use planrun::source::SourceFile;
use planrun::tools::{Catalog, Permissions};
use tokio::runtime::Runtime;

use shapes::Shape;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// How many pairs are measured of each shape; the median counts.
const PAIRS: usize = 9;
const COLD_PAIRS: usize = 40;

/// What is asked for.
const MOST_RATIO: f64 = 3.0;
const MOST_MEGABYTES: f64 = 25.0;
const MOST_OF_IDEAL: f64 = 1.15;
const MOST_COLD_RATIO: f64 = 4.0;

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect::<Vec<_>>();
    let part = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let mut table = Table { met: true };
    let measured = measure(&part, &mut table);
    match measured {
        Ok(()) if table.met => ExitCode::SUCCESS,
        Ok(()) => {
            println!("\nnot every target is met");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("\nthe measurement failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(part: &dyn Fn(&str) -> bool, table: &mut Table) -> Result<(), String> {
    let bench = Bench::new()?;
    if part("small") || part("large") {
        Table::head("steps that do nothing, engine against a hand-written scheduler");
    }
    for (name, steps) in [("small", 10_000), ("large", 100_000)] {
        if part(name) {
            shapes::all(steps).iter().try_for_each(|shape| bench.against_scheduler(shape, table))?;
        }
    }
    if part("memory") {
        Table::head("memory of graph and run at 100,000 steps");
        shapes::all(100_000).iter().try_for_each(|shape| bench.memory(shape, table))?;
    }
    if part("sleep") {
        Table::head("1,000 pauses of 10 ms, 100 at a time");
        bench.sleeping(table)?;
    }
    if part("cold") {
        Table::head("cold start to exit, a plan of one step against a program that prints one line");
        cold_start(table)?;
    }
    Ok(())
}

/// The rows that are printed, and whether every target was met.
struct Table {
    met: bool,
}

impl Table {
    fn head(title: &str) {
        println!("\n{title}\n");
        println!("| measured | ours | other | ratio | target | |");
        println!("| --- | --: | --: | --: | --: | --- |");
    }

    fn row(&mut self, name: &str, ours: &str, other: &str, measured: f64, most: f64) {
        let verdict = if measured <= most { "met" } else { "missed" };
        self.met &= measured <= most;
        println!("| {name} | {ours} | {other} | {measured:.2} | {most} | {verdict} |");
    }
}

/// What every measurement needs.
struct Bench {
    runtime: Runtime,
    tools: Tools,
    catalog: Arc<Catalog>,
    host: Arc<dyn Host>,
}

impl Bench {
    fn new() -> Result<Self, String> {
        // The runtime that `planrun run` has. The hand-written scheduler gets the same; with threads it is slower.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let catalog = Catalog::new(host.clone(), ".".into(), &Arc::new(Permissions::none()));
        let tools = catalog.signatures().cloned().collect();
        Ok(Self { runtime, tools, catalog: Arc::new(catalog), host })
    }

    /// A checked plan; its text and tree are gone when it is given back.
    fn plan(&self, text: String) -> Result<Arc<Plan>, String> {
        let checked = check_file(&SourceFile::new("measured.plan", text), &self.tools, &NoFiles);
        if let Some(error) = checked.diagnostics.iter().find(|found| found.is_error()) {
            return Err(format!("{}: {}", error.code.name, error.message));
        }
        checked.plans.into_iter().next().ok_or_else(|| "there is no plan".to_owned())
    }

    /// Orders and runs a plan with its events written as lines; the bytes of these.
    fn run(&self, plan: Arc<Plan>) -> Result<(engine::Outcome, Sink), String> {
        let mut sink = BufWriter::new(Sink::default());
        let program = Arc::new(Program::new(plan));
        let mut observer = |event: &Event<'_>| {
            let _ = event.write_line(&mut sink);
        };
        let context = Context {
            host: self.host.clone(),
            tools: self.catalog.clone(),
            limit: None,
            root: ".".into(),
            run_id: "measured".to_owned(),
            defaults: Defaults::default(),
            observer: &mut observer,
            cancel: tokio_util::sync::CancellationToken::new(),
        };
        let outcome = self.runtime.block_on(engine::run(&program, &BTreeMap::new(), context));
        let sink = sink.into_inner().map_err(|error| error.to_string())?;
        match outcome.state {
            RunState::Completed => Ok((outcome, sink)),
            other => Err(format!("the run is {other}")),
        }
    }

    /// Both run on this thread alone and never wait, so its own time is counted: whatever else the machine does would
    /// fall on the longer of the two more often.
    fn against_scheduler(&self, shape: &Shape, table: &mut Table) -> Result<(), String> {
        let plan = self.plan(shapes::plan_text(shape))?;
        let names = (0..shape.waits.len()).map(|step| format!("s{step}")).collect::<Vec<_>>();
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
                let ran = self.runtime.block_on(scheduler::run(&names, &shape.waits, &mut sink));
                let taken = begun.elapsed();
                if ran == names.len() { Ok(taken) } else { Err("the scheduler stopped".to_owned()) }
            },
        )?;
        table.row(&shape.name, &millis(ours), &millis(other), ours.as_secs_f64() / other.as_secs_f64(), MOST_RATIO);
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
        table.row(&name, &format!("{megabytes:.1} MB"), "", megabytes, MOST_MEGABYTES);
        Ok(())
    }

    fn sleeping(&self, table: &mut Table) -> Result<(), String> {
        let plan = self.plan(shapes::sleeping_text(1000, 100))?;
        let ideal = Duration::from_millis(100);
        let mut taken = Vec::new();
        for _ in 0..PAIRS {
            let begun = Instant::now();
            self.run(plan.clone())?;
            taken.push(begun.elapsed());
        }
        let taken = median(taken);
        let ratio = taken.as_secs_f64() / ideal.as_secs_f64();
        table.row("pauses", &millis(taken), &millis(ideal), ratio, MOST_OF_IDEAL);
        Ok(())
    }
}

fn cold_start(table: &mut Table) -> Result<(), String> {
    let mut programs = process::prepare()?;
    let (ours, plain) =
        alternate(COLD_PAIRS, || process::time(&mut programs.ours), || process::time(&mut programs.plain))?;
    table.row("one step", &millis(ours), &millis(plain), ours.as_secs_f64() / plain.as_secs_f64(), MOST_COLD_RATIO);
    Ok(())
}

/// A, B, A, B … after one of each that does not count; the medians.
fn alternate(
    pairs: usize,
    mut first: impl FnMut() -> Result<Duration, String>,
    mut second: impl FnMut() -> Result<Duration, String>,
) -> Result<(Duration, Duration), String> {
    first()?;
    second()?;
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        firsts.push(first()?);
        seconds.push(second()?);
    }
    Ok((median(firsts), median(seconds)))
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

#[expect(clippy::cast_precision_loss, reason = "far fewer bytes than a double counts exactly")]
fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1_000_000.0
}

/// Takes lines and keeps their number of bytes.
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

/// Measured plans use no other files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _from: &str, _path: &str) -> Result<SourceFile, String> {
        Err("there are no other files".to_owned())
    }
}
