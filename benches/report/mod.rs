//! What every program of measurements shares: its parts, its tables, its verdict.

pub mod cold_start;

use std::process::ExitCode;
use std::time::Duration;

/// The variable that asks for small sizes and one round: whether every measurement can be made, and not how fast it is.
const SMALL: &str = "PLANRUN_BENCH_SMALL";

/// Whether only small sizes are wanted.
pub fn is_small() -> bool {
    std::env::var_os(SMALL).is_some()
}

/// A size, or a hundredth of it where small sizes are wanted.
pub fn sized(full: usize) -> usize {
    if is_small() {
        (full / 100).max(5)
    } else {
        full
    }
}

/// So many rounds, or one.
pub fn rounds(full: usize) -> usize {
    if is_small() { 1 } else { full }
}

/// The parts of the measurements that the command line names; all where it names none.
pub struct Parts {
    wanted: Vec<String>,
}

impl Parts {
    pub fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == name)
    }
}

/// The words of the command line; what begins with `-` is cargo's.
pub fn arguments() -> Vec<String> {
    std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect()
}

/// Runs the measurements, and fails where one cannot be made or misses its target.
pub fn run(measure: impl FnOnce(&Parts, &mut Table) -> Result<(), String>) -> ExitCode {
    let mut table = Table { met: true };
    match measure(
        &Parts {
            wanted: arguments(),
        },
        &mut table,
    ) {
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

/// The rows that are printed, and whether every target was met.
pub struct Table {
    met: bool,
}

impl Table {
    /// Begins a table; `ours` and `other` are the heads of its columns of figures.
    pub fn head(title: &str, ours: &str, other: &str) {
        println!("\n{title}\n");
        println!("| measured | {ours} | {other} | ratio | target | |");
        println!("| --- | --: | --: | --: | --: | --- |");
    }

    /// A row; nothing is asked of what has no target.
    pub fn row(
        &mut self,
        name: &str,
        ours: &str,
        other: &str,
        ratio: f64,
        target: Option<&Target>,
    ) {
        // Small sizes say nothing of speed.
        let target = target.filter(|_| !is_small());
        let (told, verdict) = match target {
            Some(target) => (
                target.told.as_str(),
                if target.met { "met" } else { "missed" },
            ),
            None => ("", ""),
        };
        self.met &= target.is_none_or(|target| target.met);
        println!("| {name} | {ours} | {other} | {ratio:.2} | {told} | {verdict} |");
    }
}

/// What is asked for, and whether it was reached.
pub struct Target {
    pub told: String,
    pub met: bool,
}

impl Target {
    pub fn at_most(measured: f64, most: f64) -> Self {
        Self {
            told: format!("at most {most}"),
            met: measured <= most,
        }
    }
}

pub fn median(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations
        .get(durations.len() / 2)
        .copied()
        .unwrap_or_default()
}

pub fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

/// A, B, A, B … after one of each that does not count; the medians.
///
/// # Errors
/// The first that one of them gives.
pub fn alternate(
    pairs: usize,
    mut first: impl FnMut() -> Result<Duration, String>,
    mut second: impl FnMut() -> Result<Duration, String>,
) -> Result<(Duration, Duration), String> {
    first()?;
    second()?;
    let (mut firsts, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..rounds(pairs) {
        firsts.push(first()?);
        seconds.push(second()?);
    }
    Ok((median(firsts), median(seconds)))
}
