//! Codes about comments that keep findings quiet.

use super::Code;

pub static UNUSED_ALLOW: Code =
    Code::warning("unused-allow", include_str!("pages/unused-allow.md"));
pub static UNKNOWN_ALLOW: Code =
    Code::error("unknown-allow", include_str!("pages/unknown-allow.md"));
pub static ALLOW_WITHOUT_REASON: Code = Code::note(
    "allow-without-reason",
    include_str!("pages/allow-without-reason.md"),
);

pub(super) static ALL: &[&Code] = &[&UNUSED_ALLOW, &UNKNOWN_ALLOW, &ALLOW_WITHOUT_REASON];
