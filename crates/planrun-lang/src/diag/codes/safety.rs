//! Codes about safety: secrets, permissions, untrusted data, and the cost of a run.

use super::Code;

codes! {
    error PERMISSION_MISSING = "permission-missing";
    warning PERMISSION_UNUSED = "permission-unused";
    warning INSECURE_URL = "insecure-url";
    error PATH_ESCAPES = "path-escapes";
    error BUDGET_IMPOSSIBLE = "budget-impossible";
    error BEYOND_LIMIT = "beyond-limit";
    error SECRET_LITERAL = "secret-literal";
    error SECRET_LEAKS = "secret-leaks";
    warning UNTRUSTED_TO_IRREVERSIBLE = "untrusted-to-irreversible";
    error SHELL_STRING = "shell-string";
    warning UNBOUNDED_COST = "unbounded-cost";
}
