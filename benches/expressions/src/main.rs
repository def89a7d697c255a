//! The speed of guards and templates against two released evaluators: `cel` and `jaq`.
//!
//! Each expression is parsed once and evaluated many times over the same data, which is converted beforehand. The three
//! alternate, the median is reported, and the results are compared first. `cargo run --release` in this folder prints
//! the table; with `PLANRUN_BENCH_SMALL=1` each turn is short, and there is no target.

mod cases;
mod ours;
mod theirs;

use std::process::ExitCode;
use std::time::Instant;

use serde_json::Value as Json;

use cases::{CASES, Case, data};

/// Number of rounds.
const ROUNDS: usize = 31;
/// Number of evaluations in one turn.
const EVALUATIONS: u32 = 3000;
/// The same, if only the results are compared.
const FEW: u32 = 10;
/// Target: at least as fast as the faster of the two.
const MAX_RATIO: f64 = 1.0;

fn main() -> ExitCode {
    let small = std::env::var_os("PLANRUN_BENCH_SMALL").is_some();
    println!("one evaluation, against the faster of two others\n");
    println!("| expression | ours | cel | jaq | ratio | target | |");
    println!("| --- | --: | --: | --: | --: | --: | --- |");
    let mut met = true;
    for case in &CASES {
        match measure(case, if small { FEW } else { EVALUATIONS }) {
            Ok(times) => met &= row(case, times) || small,
            Err(error) => {
                println!("\n{}: {error}", case.name);
                return ExitCode::FAILURE;
            }
        }
    }
    if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Returns the median times of one evaluation, in nanoseconds: ours, `cel`, `jaq`.
fn measure(case: &Case, evaluations: u32) -> Result<[f64; 3], String> {
    let data = data();
    let ours = ours::Ready::new(case.ours, &data)?;
    let cel = theirs::Cel::new(case.cel, &data)?;
    let jaq = theirs::Jaq::new(case.jaq, &data)?;
    let (own, others) = (ours.json()?, [cel.json()?, jaq.json()?]);
    for other in others {
        if !alike(&own, &other) {
            return Err(format!("ours is {own}, another is {other}"));
        }
    }
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS {
        times[0].push(time(evaluations, &|| ours.evaluate()));
        times[1].push(time(evaluations, &|| cel.evaluate()));
        times[2].push(time(evaluations, &|| jaq.evaluate()));
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    }))
}

/// Returns the time of one evaluation, in nanoseconds.
fn time(evaluations: u32, evaluate: &dyn Fn()) -> f64 {
    let begun = Instant::now();
    for _ in 0..evaluations {
        evaluate();
    }
    begun.elapsed().as_secs_f64() * 1e9 / f64::from(evaluations)
}

fn row(case: &Case, [ours, cel, jaq]: [f64; 3]) -> bool {
    let ratio = ours / cel.min(jaq);
    let verdict = if ratio <= MAX_RATIO { "met" } else { "missed" };
    println!(
        "| {} | {ours:.0} ns | {cel:.0} ns | {jaq:.0} ns | {ratio:.2} | {MAX_RATIO} | {verdict} |",
        case.name
    );
    ratio <= MAX_RATIO
}

/// Returns true if two results are equal, regardless of the notation of their numbers.
fn alike(one: &Json, other: &Json) -> bool {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => one.as_f64() == other.as_f64(),
        (Json::Array(one), Json::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        }
        (Json::Object(one), Json::Object(other)) => {
            let same = |(name, value): (&String, &Json)| {
                other.get(name).is_some_and(|other| alike(value, other))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        (one, other) => one == other,
    }
}
