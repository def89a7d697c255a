//! Codes about effects: calls that must not be raced or cached, and confirmation, verification and undo.

use super::Code;

codes! {
    error RACE_WITH_EFFECT = "race-with-effect";
    error CACHE_WITH_EFFECT = "cache-with-effect";
    error VERIFY_NOT_READ = "verify-not-read";
    warning UNDO_OF_READ = "undo-of-read";
    warning UNDO_CHANGES_NOTHING = "undo-changes-nothing";
    warning VERIFY_CANNOT_RESOLVE = "verify-cannot-resolve";
    warning IRREVERSIBLE_UNCONFIRMED = "irreversible-unconfirmed";
    note UNDO_MISSING = "undo-missing";
    note EFFECT_UNKNOWN = "effect-unknown";
}
