//! Codes about effects: what may not be raced, cached or polled.

use super::Code;

pub static RACE_WITH_EFFECT: Code = Code::error("race-with-effect", include_str!("pages/race-with-effect.md"));
pub static CACHE_WITH_EFFECT: Code = Code::error("cache-with-effect", include_str!("pages/cache-with-effect.md"));
pub static VERIFY_NOT_READ: Code = Code::error("verify-not-read", include_str!("pages/verify-not-read.md"));

pub(super) static ALL: &[&Code] = &[&RACE_WITH_EFFECT, &CACHE_WITH_EFFECT, &VERIFY_NOT_READ];
