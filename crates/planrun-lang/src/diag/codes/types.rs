//! Codes about types: every argument and every field read fits the contract it came from.

use super::Code;

pub static MISSING_ARGUMENT: Code = Code::error(
    "missing-argument",
    include_str!("pages/missing-argument.md"),
);
pub static WRONG_TYPE: Code = Code::error("wrong-type", include_str!("pages/wrong-type.md"));
pub static MAYBE_ABSENT: Code = Code::error("maybe-absent", include_str!("pages/maybe-absent.md"));
pub static NOT_A_BOOL: Code = Code::error("not-a-bool", include_str!("pages/not-a-bool.md"));
pub static NO_OVERLOAD: Code = Code::error("no-overload", include_str!("pages/no-overload.md"));
pub static NOT_A_LIST: Code = Code::error("not-a-list", include_str!("pages/not-a-list.md"));
pub static NOT_AN_OBJECT: Code =
    Code::error("not-an-object", include_str!("pages/not-an-object.md"));
pub static NON_EXHAUSTIVE_MATCH: Code = Code::error(
    "non-exhaustive-match",
    include_str!("pages/non-exhaustive-match.md"),
);
pub static UNREACHABLE_ARM: Code =
    Code::warning("unreachable-arm", include_str!("pages/unreachable-arm.md"));
pub static MISSING_REPLY: Code =
    Code::error("missing-reply", include_str!("pages/missing-reply.md"));
pub static REPLY_TYPE: Code = Code::error("reply-type", include_str!("pages/reply-type.md"));
pub static DEFAULT_TYPE: Code = Code::error("default-type", include_str!("pages/default-type.md"));
pub static SCHEMA_VIOLATION: Code = Code::error(
    "schema-violation",
    include_str!("pages/schema-violation.md"),
);
pub static UNSATISFIABLE_SCHEMA: Code = Code::error(
    "unsatisfiable-schema",
    include_str!("pages/unsatisfiable-schema.md"),
);
pub static TYPE_CYCLE: Code = Code::error("type-cycle", include_str!("pages/type-cycle.md"));
pub static INTERPOLATED_VALUE: Code = Code::error(
    "interpolated-value",
    include_str!("pages/interpolated-value.md"),
);
pub static UNKNOWN_READ: Code = Code::note("unknown-read", include_str!("pages/unknown-read.md"));
pub static ALWAYS_ABSENT: Code =
    Code::error("always-absent", include_str!("pages/always-absent.md"));
pub static LOSSY_NUMBER: Code =
    Code::warning("lossy-number", include_str!("pages/lossy-number.md"));

pub(super) static ALL: &[&Code] = &[
    &MISSING_ARGUMENT,
    &WRONG_TYPE,
    &MAYBE_ABSENT,
    &NOT_A_BOOL,
    &NO_OVERLOAD,
    &NOT_A_LIST,
    &NOT_AN_OBJECT,
    &NON_EXHAUSTIVE_MATCH,
    &UNREACHABLE_ARM,
    &MISSING_REPLY,
    &REPLY_TYPE,
    &DEFAULT_TYPE,
    &SCHEMA_VIOLATION,
    &UNSATISFIABLE_SCHEMA,
    &TYPE_CYCLE,
    &INTERPOLATED_VALUE,
    &UNKNOWN_READ,
    &ALWAYS_ABSENT,
    &LOSSY_NUMBER,
];
