//! Generated plans, of the whole language, go to JSON and back.

use planrun_lang::syntax::json;
use rayon::prelude::*;

use super::workshop::seeds;
use crate::generate::{Size, project};
use crate::json_form::round_trip;

/// So many plans are tried, unless `PLANRUN_PLANS` says otherwise; most of them are small.
const PLANS: u64 = 300;
/// One plan in so many has the size of what people write.
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
