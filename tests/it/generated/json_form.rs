//! Generated plans that use the whole language survive the conversion to JSON and back.

use planrun_lang::syntax::json;
use rayon::prelude::*;

use super::project_context::seeds;
use crate::generate::{Size, project};
use crate::json_form::round_trip;

/// Number of plans that are tried, unless `PLANRUN_PLANS` is set; most of them are small.
const PLANS: u64 = 300;
/// One in this number of plans has a realistic size.
const USUAL: u64 = 25;

#[test]
fn generated_plans_go_to_json_and_back() {
    let (base, count) = seeds(PLANS);
    let schema = jsonschema::validator_for(&json::schema()).unwrap();
    (base..base + count).into_par_iter().for_each(|seed| {
        let size = if seed.is_multiple_of(USUAL) {
            Size::USUAL
        } else {
            Size::SMALL
        };
        let made = project(
            seed,
            Size {
                whole_language: true,
                network: true,
                ..size
            },
        );
        for (name, text) in &made.plans {
            assert!(
                round_trip(&format!("{name} of seed {seed}"), text, &schema),
                "seed {seed}: {name} is not read"
            );
        }
    });
}
