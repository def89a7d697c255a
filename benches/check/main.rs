//! Speed and memory of the complete check, as ratios of two things measured alternately in one run.
//!
//! `cargo bench --bench check` prints the tables of `docs/performance.md`; `… -- speed` etc. measure one part.

mod corpus;
mod pest_alone;
mod process;
#[path = "../report/mod.rs"]
mod report;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use cpu_time::ProcessTime;
use planrun_lang::{format, syntax};
use planrun_runs::runs::Workspace;
use rayon::prelude::*;

use corpus::Corpus;
use report::{Parts, Table, Target, cold_start, median};

/// Number of rounds; the median is reported.
const ROUNDS: usize = 9;
/// Stack size of each thread in bytes, the same as in `planrun check`.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Targets.
const MIN_SPEED: f64 = 9.0;
const MIN_RATIO_TO_PEST: f64 = 0.5;
const MAX_BYTES_PER_BYTE: f64 = 60.0;
const MAX_COLD_START_RATIO: f64 = 4.0;

fn main() -> ExitCode {
    if let Some(path) = process::asked_for_memory(&report::arguments()) {
        return process::check_and_tell_memory(path);
    }
    report::run(measure)
}

fn measure(parts: &Parts, table: &mut Table) -> Result<(), String> {
    let corpora = corpus::all()?;
    if parts.includes("speed") {
        for threads in [1, 2] {
            let bench = Bench::new(threads)?;
            Table::head(
                &format!("the complete check, threads: {threads}"),
                "MB/s",
                "pest alone, MB/s",
            );
            corpora
                .iter()
                .try_for_each(|corpus| bench.check_against_pest(corpus, table))?;
        }
    }
    if parts.includes("fmt") {
        let bench = Bench::new(1)?;
        Table::head("the canonical text, threads: 1", "MB/s", "pest alone, MB/s");
        corpora
            .iter()
            .try_for_each(|corpus| bench.fmt_against_pest(corpus, table))?;
    }
    if parts.includes("phases") {
        let bench = Bench::new(1)?;
        println!("\nwhat the check spends, nanoseconds a byte on one core\n");
        println!("| measured | pest alone | with scan and lowering | complete check |");
        println!("| --- | --: | --: | --: |");
        corpora.iter().try_for_each(|corpus| bench.phases(corpus))?;
    }
    if parts.includes("memory") {
        Table::head(
            "memory of a complete check, the process without its start",
            "bytes",
            "bytes of source",
        );
        let large = corpora.iter().filter(|corpus| corpus.files.len() == 1);
        large
            .into_iter()
            .try_for_each(|corpus| process::memory(corpus, table))?;
    }
    if parts.includes("cold") {
        Table::head(
            "cold start to exit, one small plan against a program that prints one line",
            "ours",
            "other",
        );
        cold_start::measure("check", &[], Some(MAX_COLD_START_RATIO), table)?;
    }
    Ok(())
}

/// A project with the tools of the plans, and a thread pool.
struct Bench {
    workspace: Workspace,
    pool: rayon::ThreadPool,
    threads: usize,
}

impl Bench {
    fn new(threads: usize) -> Result<Self, String> {
        let workspace = Workspace::open(&corpus::folder().join("x.plan"), None);
        let workspace = workspace.map_err(|error| error.to_string())?;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .stack_size(STACK_BYTES)
            .build();
        Ok(Self {
            workspace,
            pool: pool.map_err(|error| error.to_string())?,
            threads,
        })
    }

    fn check_against_pest(&self, corpus: &Corpus, table: &mut Table) -> Result<(), String> {
        let (ours, pest) = self.against_pest(corpus, || self.check(corpus))?;
        let ratio = ours / pest;
        let mut target = Target {
            text: format!("at least {MIN_RATIO_TO_PEST}"),
            met: ratio >= MIN_RATIO_TO_PEST,
        };
        if self.threads == 2 {
            target.text = format!("{} and {MIN_SPEED} MB/s", target.text);
            target.met &= ours >= MIN_SPEED;
        }
        table.row(
            corpus.name,
            &format!("{ours:.1}"),
            &format!("{pest:.1}"),
            ratio,
            Some(&target),
        );
        Ok(())
    }

    fn fmt_against_pest(&self, corpus: &Corpus, table: &mut Table) -> Result<(), String> {
        let (ours, pest) = self.against_pest(corpus, || format_all(corpus))?;
        table.row(
            corpus.name,
            &format!("{ours:.1}"),
            &format!("{pest:.1}"),
            ours / pest,
            None,
        );
        Ok(())
    }

    /// Measures the speed of the work and that of pest over the same files, alternately. In megabytes per second.
    fn against_pest(
        &self,
        corpus: &Corpus,
        work: impl Fn() -> Result<(), String> + Sync,
    ) -> Result<(f64, f64), String> {
        let (ours, pest) = report::alternate(
            ROUNDS,
            || self.time(&work),
            || self.time(|| pest_alone(corpus)),
        )?;
        Ok((speed(corpus.bytes, ours), speed(corpus.bytes, pest)))
    }

    fn phases(&self, corpus: &Corpus) -> Result<(), String> {
        let (mut pest, mut parse, mut check) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..report::rounds(ROUNDS) {
            pest.push(self.time(|| pest_alone(corpus))?);
            parse.push(self.time(|| read_trees(corpus))?);
            check.push(self.time(|| self.check(corpus))?);
        }
        let [pest, parse, check] =
            [pest, parse, check].map(|times| 1000.0 / speed(corpus.bytes, median(times)));
        println!("| {} | {pest:.1} | {parse:.1} | {check:.1} |", corpus.name);
        Ok(())
    }

    /// With one thread this is processor time, which other processes do not affect; with more threads it is wall-clock
    /// time.
    fn time(&self, work: impl FnOnce() -> Result<(), String> + Send) -> Result<Duration, String> {
        let (clock, processor) = (Instant::now(), ProcessTime::now());
        self.pool.install(work)?;
        Ok(if self.threads == 1 {
            processor.elapsed()
        } else {
            clock.elapsed()
        })
    }

    fn check(&self, corpus: &Corpus) -> Result<(), String> {
        corpus.files.par_iter().try_for_each(|file| {
            let checked = self.workspace.check(file);
            let error = checked.diagnostics.iter().find(|found| found.is_error());
            error.map_or(Ok(()), |error| {
                Err(format!(
                    "{}: {}: {}",
                    file.name(),
                    error.code.name,
                    error.message
                ))
            })
        })
    }
}

fn pest_alone(corpus: &Corpus) -> Result<(), String> {
    corpus
        .files
        .par_iter()
        .zip(&corpus.items)
        .try_for_each(|(file, items)| {
            let nodes = pest_alone::read(file, items)?;
            if nodes == 0 {
                Err("pest read nothing".to_owned())
            } else {
                Ok(())
            }
        })
}

fn read_trees(corpus: &Corpus) -> Result<(), String> {
    corpus.files.par_iter().try_for_each(|file| {
        let parsed = syntax::parse(file);
        if parsed.file.items.is_empty() {
            Err("a plan was not read".to_owned())
        } else {
            Ok(())
        }
    })
}

fn format_all(corpus: &Corpus) -> Result<(), String> {
    corpus
        .files
        .par_iter()
        .try_for_each(|file| match format::format(file) {
            Ok(text) if !text.is_empty() => Ok(()),
            Ok(_) | Err(_) => Err(format!("{} has no canonical text", file.name())),
        })
}

/// Returns megabytes per second.
#[expect(
    clippy::cast_precision_loss,
    reason = "the number of bytes is far below 2^53"
)]
fn speed(bytes: usize, taken: Duration) -> f64 {
    bytes as f64 / 1_000_000.0 / taken.as_secs_f64()
}
