//! Codes about comments that suppress diagnostics.

use super::Code;

codes! {
    warning UNUSED_ALLOW = "unused-allow";
    error UNKNOWN_ALLOW = "unknown-allow";
    note ALLOW_WITHOUT_REASON = "allow-without-reason";
}
