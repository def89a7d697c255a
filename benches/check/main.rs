//! The speed and memory of the complete check, as ratios of two things measured side by side in one run.
//!
//! `cargo bench --bench check` prints the tables of `docs/performance.md`; `… -- speed` and the like measure one part.

mod corpus;
mod pest_alone;
mod process;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use planrun::cli::workspace::Workspace;
use planrun::syntax;
use rayon::prelude::*;

use corpus::Corpus;

/// How many rounds are measured; the median counts.
const ROUNDS: usize = 9;
const COLD_PAIRS: usize = 40;
/// Bytes of stack for each thread, as many as `planrun check` takes.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// What is asked for.
const LEAST_SPEED: f64 = 9.0;
const LEAST_OF_PEST: f64 = 0.5;
const MOST_BYTES_A_BYTE: f64 = 60.0;
const MOST_COLD_RATIO: f64 = 4.0;

fn main() -> ExitCode {
    let wanted = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect::<Vec<_>>();
    if let Some(path) = process::asked_for_memory(&wanted) {
        return process::check_and_tell_memory(path);
    }
    let part = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    let mut table = Table { met: true };
    match measure(&part, &mut table) {
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
    let corpora = corpus::all()?;
    if part("speed") {
        for threads in [1, 2] {
            let bench = Bench::new(threads)?;
            Table::head(&format!("the complete check, threads: {threads}"), "MB/s", "pest alone, MB/s");
            corpora.iter().try_for_each(|corpus| bench.against_pest(corpus, table))?;
        }
    }
    if part("phases") {
        let bench = Bench::new(1)?;
        println!("\nwhat the check spends, nanoseconds a byte on one core\n");
        println!("| measured | pest alone | with scan and lowering | complete check |");
        println!("| --- | --: | --: | --: |");
        corpora.iter().try_for_each(|corpus| bench.phases(corpus))?;
    }
    if part("memory") {
        Table::head("memory of a complete check, the process without its start", "bytes", "bytes of source");
        let large = corpora.iter().filter(|corpus| corpus.files.len() == 1);
        large.into_iter().try_for_each(|corpus| process::memory(corpus, table))?;
    }
    if part("cold") {
        Table::head("cold start to exit, one small plan against a program that prints one line", "ours", "other");
        cold_start(table)?;
    }
    Ok(())
}

/// The rows that are printed, and whether every target was met.
struct Table {
    met: bool,
}

impl Table {
    fn head(title: &str, ours: &str, other: &str) {
        println!("\n{title}\n");
        println!("| measured | {ours} | {other} | ratio | target | |");
        println!("| --- | --: | --: | --: | --: | --- |");
    }

    fn row(&mut self, name: &str, ours: &str, other: &str, ratio: f64, target: &str, met: bool) {
        self.met &= met;
        let verdict = if met { "met" } else { "missed" };
        println!("| {name} | {ours} | {other} | {ratio:.2} | {target} | {verdict} |");
    }
}

/// A project whose tools the plans call, and threads.
struct Bench {
    workspace: Workspace,
    pool: rayon::ThreadPool,
    threads: usize,
}

impl Bench {
    fn new(threads: usize) -> Result<Self, String> {
        let workspace = Workspace::open(&corpus::folder().join("x.plan"), None);
        let workspace = workspace.map_err(|error| error.to_string())?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK_BYTES).build();
        Ok(Self { workspace, pool: pool.map_err(|error| error.to_string())?, threads })
    }

    fn against_pest(&self, corpus: &Corpus, table: &mut Table) -> Result<(), String> {
        let (mut ours, mut pests) = (Vec::new(), Vec::new());
        for round in 0..=ROUNDS {
            let pest = self.time(|| pest_alone(corpus))?;
            let check = self.time(|| self.check(corpus))?;
            if round > 0 {
                ours.push(check);
                pests.push(pest);
            }
        }
        let (ours, pest) = (speed(corpus.bytes, median(ours)), speed(corpus.bytes, median(pests)));
        let ratio = ours / pest;
        let (mut target, mut met) = (format!("at least {LEAST_OF_PEST}"), ratio >= LEAST_OF_PEST);
        if self.threads == 2 {
            target = format!("{target} and {LEAST_SPEED} MB/s");
            met &= ours >= LEAST_SPEED;
        }
        table.row(corpus.name, &format!("{ours:.1}"), &format!("{pest:.1}"), ratio, &target, met);
        Ok(())
    }

    fn phases(&self, corpus: &Corpus) -> Result<(), String> {
        let (mut pest, mut parse, mut check) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            pest.push(self.time(|| pest_alone(corpus))?);
            parse.push(self.time(|| read_trees(corpus))?);
            check.push(self.time(|| self.check(corpus))?);
        }
        let [pest, parse, check] = [pest, parse, check].map(|times| 1000.0 / speed(corpus.bytes, median(times)));
        println!("| {} | {pest:.1} | {parse:.1} | {check:.1} |", corpus.name);
        Ok(())
    }

    /// On one thread its processor time, because what else the machine does would count; on more the time on the clock.
    fn time(&self, work: impl FnOnce() -> Result<(), String> + Send) -> Result<Duration, String> {
        let (clock, processor) = (Instant::now(), ProcessTime::now());
        self.pool.install(work)?;
        Ok(if self.threads == 1 { processor.elapsed() } else { clock.elapsed() })
    }

    fn check(&self, corpus: &Corpus) -> Result<(), String> {
        corpus.files.par_iter().try_for_each(|file| {
            let checked = self.workspace.check(file);
            let error = checked.diagnostics.iter().find(|found| found.is_error());
            error.map_or(Ok(()), |error| Err(format!("{}: {}: {}", file.name(), error.code.name, error.message)))
        })
    }
}

fn pest_alone(corpus: &Corpus) -> Result<(), String> {
    corpus.files.par_iter().zip(&corpus.items).try_for_each(|(file, items)| {
        let nodes = pest_alone::read(file, items)?;
        if nodes == 0 { Err("pest read nothing".to_owned()) } else { Ok(()) }
    })
}

fn read_trees(corpus: &Corpus) -> Result<(), String> {
    corpus.files.par_iter().try_for_each(|file| {
        let parsed = syntax::parse(file);
        if parsed.file.items.is_empty() { Err("a plan was not read".to_owned()) } else { Ok(()) }
    })
}

fn cold_start(table: &mut Table) -> Result<(), String> {
    let mut programs = process::prepare()?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for round in 0..=COLD_PAIRS {
        let (one, other) = (process::time(&mut programs.ours)?, process::time(&mut programs.plain)?);
        if round > 0 {
            ours.push(one);
            plain.push(other);
        }
    }
    let (ours, plain) = (median(ours), median(plain));
    let ratio = ours.as_secs_f64() / plain.as_secs_f64();
    let target = format!("at most {MOST_COLD_RATIO}");
    table.row("one plan", &millis(ours), &millis(plain), ratio, &target, ratio <= MOST_COLD_RATIO);
    Ok(())
}

fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

/// Megabytes a second.
#[expect(clippy::cast_precision_loss, reason = "far fewer bytes than a double counts exactly")]
fn speed(bytes: usize, taken: Duration) -> f64 {
    bytes as f64 / 1_000_000.0 / taken.as_secs_f64()
}
