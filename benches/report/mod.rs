//! Shared by all benchmarks: parts, tables, targets.

pub mod cold_start;

use std::process::ExitCode;
use std::time::Duration;

/// Environment variable that requests small sizes and one round. It tests that every measurement works, not how fast it
/// is.
const SMALL: &str = "PLANRUN_BENCH_SMALL";

/// Returns true if only small sizes are requested.
pub fn is_small() -> bool {
    std::env::var_os(SMALL).is_some()
}

/// Returns a size, or a hundredth of it if only small sizes are requested.
pub fn sized(full: usize) -> usize {
    if is_small() {
        (full / 100).max(5)
    } else {
        full
    }
}

/// Returns the number of rounds, or 1 if only small sizes are requested.
pub fn rounds(full: usize) -> usize {
    if is_small() { 1 } else { full }
}

/// The parts that the command line names; all if it names none.
pub struct Parts {
    names: Vec<String>,
}

impl Parts {
    pub fn includes(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|names| names == name)
    }
}

/// Returns the arguments of the command line, without those for cargo, which begin with `-`.
pub fn arguments() -> Vec<String> {
    std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect()
}

/// Runs the measurements. Fails if one of them fails or misses its target.
pub fn run(measure: impl FnOnce(&Parts, &mut Table) -> Result<(), String>) -> ExitCode {
    let mut table = Table { met: true };
    match measure(&Parts { names: arguments() }, &mut table) {
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

/// Prints rows, and records whether every target was met.
pub struct Table {
    met: bool,
}

impl Table {
    /// Prints the head of a table; `ours` and `other` are the titles of its columns of figures.
    pub fn head(title: &str, ours: &str, other: &str) {
        println!("\n{title}\n");
        println!("| measured | {ours} | {other} | ratio | target | |");
        println!("| --- | --: | --: | --: | --: | --- |");
    }

    /// Prints a row.
    pub fn row(
        &mut self,
        name: &str,
        ours: &str,
        other: &str,
        ratio: f64,
        target: Option<&Target>,
    ) {
        // Small sizes are not meaningful for speed.
        let target = target.filter(|_| !is_small());
        let (target_text, verdict) = match target {
            Some(target) => (
                target.text.as_str(),
                if target.met { "met" } else { "missed" },
            ),
            None => ("", ""),
        };
        self.met &= target.is_none_or(|target| target.met);
        println!("| {name} | {ours} | {other} | {ratio:.2} | {target_text} | {verdict} |");
    }
}

/// A target, and whether it was met.
pub struct Target {
    pub text: String,
    pub met: bool,
}

impl Target {
    pub fn at_most(measured: f64, most: f64) -> Self {
        Self {
            text: format!("at most {most}"),
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

/// Measures A, B, A, B … after a warm-up of each. Returns the medians.
///
/// # Errors
/// Returns the first error of either.
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
