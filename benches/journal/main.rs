//! Speed of the journal: its cost for a run, the time of a resume and of a list, against alternatives in the same run.
//!
//! `cargo bench --bench journal` prints the tables of `docs/performance.md`; `… -- chain` etc. measure one part.

mod peers;
mod plans;
#[path = "../report/mod.rs"]
mod report;
mod runs;
mod world;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use planrun_runs::journal::store::Synchronous;

use peers::GroupCommit;
use report::{Parts, Table, Target, alternate, cold_start, median, millis};
use world::World;

/// Number of pairs per measurement; the median is reported.
const PAIRS: usize = 9;
/// Number of steps of the chain, and number and width of the layers.
const CHAIN: usize = 500;
const LAYERS: usize = 100;
/// Number of elements of the run to resume.
const ELEMENTS: usize = 100_000;
/// Number of runs in the journal to list.
const RUNS: usize = 10_000;

/// Targets.
const MAX_RATIO_TO_FDATASYNC: f64 = 1.3;
const MAX_GROUP_COMMIT_RATIO: f64 = 1.3;
const MAX_MICROS_PER_STEP: f64 = 10.0;
const MAX_RESUME_TIME: Duration = Duration::from_millis(600);
const MIN_RATIO_OF_PROVED_EVENTS: f64 = 0.25;
const MAX_COLD_START_RATIO: f64 = 5.0;
const MAX_LIST_TIME: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    if parts.includes("chain") {
        Table::head(
            "a durable chain of 500 effects, `synchronous` FULL, against one fdatasync a step",
            "ours",
            "other",
        );
        durable_chain(table)?;
    }
    if parts.includes("layers") {
        Table::head(
            "100 layers of 100 effects, against a group commit written by hand",
            "ours",
            "other",
        );
        durable_layers(table)?;
    }
    if parts.includes("normal") {
        Table::head(
            "a step of the chain with `synchronous` NORMAL, against the same run without a journal",
            "with",
            "without",
        );
        normal_chain(table)?;
    }
    if parts.includes("resume") || parts.includes("read") {
        large_run(parts, table)?;
    }
    if parts.includes("list") {
        Table::head(
            "`planrun runs list` with 10,000 runs, from start to exit",
            "ours",
            "bound",
        );
        lists(table)?;
    }
    if parts.includes("cold") {
        Table::head(
            "cold start to exit with a journal, against a program that prints one line",
            "ours",
            "other",
        );
        let most = Some(MAX_COLD_START_RATIO);
        cold_start::measure("run", &["--format", "quiet"], most, table)?;
    }
    Ok(())
}

fn durable_chain(table: &mut Table) -> Result<(), String> {
    let folder = Folder::new("chain")?;
    let world = World::new()?;
    let plan = world.plan(&plans::chain(CHAIN))?;
    let mut runs = runs::Runs::open(&folder.0, Synchronous::Full)?;
    runs.run(&world, &plan)?;
    let bytes = runs.bytes_of_last()? / CHAIN;
    let (ours, other) = alternate(
        PAIRS,
        || runs.run(&world, &plan),
        || peers::append_and_sync(&folder.0.join("appended"), CHAIN, bytes),
    )?;
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    let target = Target::at_most(ratio, MAX_RATIO_TO_FDATASYNC);
    table.row(
        &format!("chain of {CHAIN}, {bytes} bytes a step"),
        &millis(ours),
        &millis(other),
        ratio,
        Some(&target),
    );
    Ok(())
}

fn durable_layers(table: &mut Table) -> Result<(), String> {
    let folder = Folder::new("layers")?;
    let world = World::new()?;
    let plan = world.plan(&plans::layers(LAYERS))?;
    let mut runs = runs::Runs::open(&folder.0, Synchronous::Full)?;
    runs.run(&world, &plan)?;
    let groups = runs.layers_of_last(LAYERS)?;
    let mut peer = GroupCommit::start(&folder.0.join("by-hand.db"))?;
    let (ours, other) = alternate(PAIRS, || runs.run(&world, &plan), || peer.write(&groups))?;
    let ratio = ours.as_secs_f64() / other.as_secs_f64();
    let target = Target::at_most(ratio, MAX_GROUP_COMMIT_RATIO);
    let name = format!("{LAYERS} layers of {LAYERS}, in {} groups", groups.len());
    table.row(&name, &millis(ours), &millis(other), ratio, Some(&target));
    let (ours, without) = alternate(
        PAIRS,
        || runs.run(&world, &plan),
        || world.run_without(&plan),
    )?;
    let ratio = ours.as_secs_f64() / without.as_secs_f64();
    table.row(
        "the same, against the run without a journal",
        &millis(ours),
        &millis(without),
        ratio,
        None,
    );
    Ok(())
}

fn normal_chain(table: &mut Table) -> Result<(), String> {
    let folder = Folder::new("normal")?;
    let world = World::new()?;
    let plan = world.plan(&plans::chain(CHAIN))?;
    let mut runs = runs::Runs::open(&folder.0, Synchronous::Normal)?;
    runs.run(&world, &plan)?;
    let bytes = runs.bytes_of_last()? / CHAIN;
    let (with, without) = alternate(
        PAIRS,
        || runs.run(&world, &plan),
        || world.run_without(&plan),
    )?;
    let by_hand = || peers::commit_each(&folder.0.join("by-hand.db"), CHAIN, bytes);
    let (again, by_hand) = alternate(PAIRS, || runs.run(&world, &plan), by_hand)?;
    let [with, without, again, by_hand] = [with, without, again, by_hand].map(micros_a_step);
    let target = Target {
        text: format!("net at most {MAX_MICROS_PER_STEP} µs"),
        met: with - without <= MAX_MICROS_PER_STEP,
    };
    let name = format!("chain of {CHAIN}, net {:.1} µs a step", with - without);
    let format_micros = |micros: f64| format!("{micros:.1} µs");
    table.row(
        &name,
        &format_micros(with),
        &format_micros(without),
        with / without,
        Some(&target),
    );
    table.row(
        "the same, against its rows alone, committed by hand",
        &format_micros(again),
        &format_micros(by_hand),
        again / by_hand,
        None,
    );
    Ok(())
}

/// Measures one run with many elements: resuming it, and reading it.
fn large_run(parts: &Parts, table: &mut Table) -> Result<(), String> {
    let folder = Folder::new("large")?;
    let world = World::new()?;
    let whole = folder.0.join("whole");
    runs::interrupted_before_its_last_step(&world, &whole, report::sized(ELEMENTS))?;
    if parts.includes("resume") {
        Table::head(
            "a run of 100,000 completed effects goes on to its last one",
            "ours",
            "bound",
        );
        let taken = (0..report::rounds(PAIRS)).map(|_| {
            let copy = runs::copied(&whole, &folder.0.join("copy"))?;
            let begun = Instant::now();
            let outcome = runs::resume(&world, &copy, report::sized(ELEMENTS))?;
            let taken = begun.elapsed();
            drop(outcome);
            Ok(taken)
        });
        bounded(
            "resume",
            median(taken.collect::<Result<_, String>>()?),
            MAX_RESUME_TIME,
            table,
        );
    }
    if parts.includes("read") {
        Table::head("reading its events, MB/s", "ours", "other");
        reading(&whole, table)?;
    }
    Ok(())
}

fn reading(journal: &Path, table: &mut Table) -> Result<(), String> {
    let bytes = runs::read_events(journal)?;
    let (ours, other) = alternate(
        PAIRS,
        || timed(|| runs::read_events(journal)),
        || timed(|| peers::read_rows(journal)),
    )?;
    let folded = (0..report::rounds(PAIRS))
        .map(|_| timed(|| runs::fold(journal).map(|replay| replay.steps.len())));
    let folded = median(folded.collect::<Result<_, String>>()?);
    let [ours, other, folded] = [ours, other, folded].map(|taken| megabytes_a_second(bytes, taken));
    let format_speed = |speed: f64| format!("{speed:.0}");
    let proved = Target {
        text: format!("at least {MIN_RATIO_OF_PROVED_EVENTS}"),
        met: ours / other >= MIN_RATIO_OF_PROVED_EVENTS,
    };
    table.row(
        "events, each proved, against their rows alone",
        &format_speed(ours),
        &format_speed(other),
        ours / other,
        Some(&proved),
    );
    table.row(
        "the fold of a resume, against their rows alone",
        &format_speed(folded),
        &format_speed(other),
        folded / other,
        None,
    );
    Ok(())
}

fn lists(table: &mut Table) -> Result<(), String> {
    let folder = Folder::new("list")?;
    runs::many_short_runs(&folder.0, report::sized(RUNS))?;
    for arguments in [["--limit", "20"], ["--limit", "10000"]] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_planrun"));
        command
            .args(["runs", "list"])
            .args(arguments)
            .current_dir(&folder.0);
        let taken = (0..report::rounds(PAIRS))
            .map(|_| cold_start::time(&mut command))
            .collect::<Result<_, _>>()?;
        bounded(
            &format!("`runs list {}`", arguments.join(" ")),
            median(taken),
            MAX_LIST_TIME,
            table,
        );
    }
    Ok(())
}

fn bounded(name: &str, taken: Duration, bound: Duration, table: &mut Table) {
    let ratio = taken.as_secs_f64() / bound.as_secs_f64();
    table.row(
        name,
        &millis(taken),
        &millis(bound),
        ratio,
        Some(&Target::at_most(ratio, 1.0)),
    );
}

fn timed<T>(work: impl FnOnce() -> Result<T, String>) -> Result<Duration, String> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "there are only a few hundred steps"
)]
fn micros_a_step(taken: Duration) -> f64 {
    taken.as_secs_f64() * 1e6 / CHAIN as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the number of bytes is far below 2^53"
)]
fn megabytes_a_second(bytes: usize, taken: Duration) -> f64 {
    bytes as f64 / 1e6 / taken.as_secs_f64()
}

/// An empty folder on the disk of the build, which is removed on drop.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Self, String> {
        let folder = cold_start::folder()?.join(format!("journal-{name}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
