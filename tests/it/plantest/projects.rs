//! Plans of other projects under the test engine: the answers of every tool and the inputs are generated from their
//! schemas.

use planrun_test::plantest::play::RunOptions;
use planrun_test::plantest::suite::SuiteOptions;
use rayon::prelude::*;

use super::kit::bench;
use crate::nestools;

#[test]
fn every_nestools_plan_completes_with_made_up_answers() {
    let texts = nestools::tested();
    if texts.is_empty() {
        return;
    }
    let results: Vec<Result<usize, String>> = texts
        .par_iter()
        .map(|(name, text)| {
            let bench = bench(text);
            if !bench.suite.broken.is_empty() {
                return Err(format!("{name}: {:?}", bench.suite.broken[0].message));
            }
            let ran = bench.run(SuiteOptions {
                seeds: 2,
                ..SuiteOptions::default()
            });
            let fault = ran.iter().flat_map(|ran| &ran.faults).next();
            if let Some(fault) = fault {
                return Err(format!("{name}: {}", fault.message));
            }
            let calls = bench
                .cases()
                .iter()
                .map(|case| bench.play(case, RunOptions::default()).calls.len())
                .sum();
            Ok(calls)
        })
        .collect();
    let failed: Vec<&String> = results
        .iter()
        .filter_map(|one| one.as_ref().err())
        .collect();
    let calls: usize = results.iter().filter_map(|one| one.as_ref().ok()).sum();
    println!(
        "nestools: {} passed, {} failed, 0 skipped, {calls} calls answered",
        results.len() - failed.len(),
        failed.len()
    );
    assert!(calls > texts.len(), "plans call tools");
    assert!(failed.is_empty(), "{failed:#?}");
}
