//! Codes about safety: secrets, permissions, what strangers write, and what a run may cost.

use super::Code;

pub static PERMISSION_MISSING: Code = Code::error(
    "permission-missing",
    include_str!("pages/permission-missing.md"),
);
pub static PERMISSION_UNUSED: Code = Code::warning(
    "permission-unused",
    include_str!("pages/permission-unused.md"),
);
pub static INSECURE_URL: Code =
    Code::warning("insecure-url", include_str!("pages/insecure-url.md"));
pub static PATH_ESCAPES: Code = Code::error("path-escapes", include_str!("pages/path-escapes.md"));
pub static BUDGET_IMPOSSIBLE: Code = Code::error(
    "budget-impossible",
    include_str!("pages/budget-impossible.md"),
);
pub static BEYOND_LIMIT: Code = Code::error("beyond-limit", include_str!("pages/beyond-limit.md"));
pub static SECRET_LITERAL: Code =
    Code::error("secret-literal", include_str!("pages/secret-literal.md"));
pub static SECRET_LEAKS: Code = Code::error("secret-leaks", include_str!("pages/secret-leaks.md"));
pub static UNTRUSTED_TO_IRREVERSIBLE: Code = Code::warning(
    "untrusted-to-irreversible",
    include_str!("pages/untrusted-to-irreversible.md"),
);
pub static SHELL_STRING: Code = Code::error("shell-string", include_str!("pages/shell-string.md"));
pub static UNBOUNDED_COST: Code =
    Code::warning("unbounded-cost", include_str!("pages/unbounded-cost.md"));

pub(super) static ALL: &[&Code] = &[
    &PERMISSION_MISSING,
    &PERMISSION_UNUSED,
    &INSECURE_URL,
    &PATH_ESCAPES,
    &BUDGET_IMPOSSIBLE,
    &BEYOND_LIMIT,
    &SECRET_LITERAL,
    &SECRET_LEAKS,
    &UNTRUSTED_TO_IRREVERSIBLE,
    &SHELL_STRING,
    &UNBOUNDED_COST,
];
