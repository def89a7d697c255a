//! Codes about types: every argument and every field that is read must match its contract.

use super::Code;

codes! {
    error MISSING_ARGUMENT = "missing-argument";
    error WRONG_TYPE = "wrong-type";
    error MAYBE_ABSENT = "maybe-absent";
    error NOT_A_BOOL = "not-a-bool";
    error NO_OVERLOAD = "no-overload";
    error NOT_A_LIST = "not-a-list";
    error NOT_AN_OBJECT = "not-an-object";
    error NON_EXHAUSTIVE_MATCH = "non-exhaustive-match";
    warning UNREACHABLE_ARM = "unreachable-arm";
    error MISSING_REPLY = "missing-reply";
    error REPLY_TYPE = "reply-type";
    error DEFAULT_TYPE = "default-type";
    error SCHEMA_VIOLATION = "schema-violation";
    error UNSATISFIABLE_SCHEMA = "unsatisfiable-schema";
    error TYPE_CYCLE = "type-cycle";
    error INTERPOLATED_VALUE = "interpolated-value";
    note UNKNOWN_READ = "unknown-read";
    optional_note UNCHECKED_INDEX = "unchecked-index";
    error ALWAYS_ABSENT = "always-absent";
    warning LOSSY_NUMBER = "lossy-number";
}
