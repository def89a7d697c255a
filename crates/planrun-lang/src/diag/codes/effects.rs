//! Codes about effects: what may not be raced or cached, and what is confirmed, looked at again and taken back.

use super::Code;

pub static RACE_WITH_EFFECT: Code = Code::error(
    "race-with-effect",
    include_str!("pages/race-with-effect.md"),
);
pub static CACHE_WITH_EFFECT: Code = Code::error(
    "cache-with-effect",
    include_str!("pages/cache-with-effect.md"),
);
pub static VERIFY_NOT_READ: Code =
    Code::error("verify-not-read", include_str!("pages/verify-not-read.md"));
pub static UNDO_OF_READ: Code =
    Code::warning("undo-of-read", include_str!("pages/undo-of-read.md"));
pub static VERIFY_CANNOT_RESOLVE: Code = Code::warning(
    "verify-cannot-resolve",
    include_str!("pages/verify-cannot-resolve.md"),
);
pub static IRREVERSIBLE_UNCONFIRMED: Code = Code::warning(
    "irreversible-unconfirmed",
    include_str!("pages/irreversible-unconfirmed.md"),
);
pub static UNDO_MISSING: Code = Code::note("undo-missing", include_str!("pages/undo-missing.md"));
pub static EFFECT_UNKNOWN: Code =
    Code::note("effect-unknown", include_str!("pages/effect-unknown.md"));

pub(super) static ALL: &[&Code] = &[
    &RACE_WITH_EFFECT,
    &CACHE_WITH_EFFECT,
    &VERIFY_NOT_READ,
    &UNDO_OF_READ,
    &VERIFY_CANNOT_RESOLVE,
    &IRREVERSIBLE_UNCONFIRMED,
    &UNDO_MISSING,
    &EFFECT_UNKNOWN,
];
