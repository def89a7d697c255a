//! Codes about order: when statements run, and statements that can never run.

use super::Code;

codes! {
    warning UNREACHABLE_STEP = "unreachable-step";
    error AFTER_REPLY = "after-reply";
    warning CONSTANT_CONDITION = "constant-condition";
    error CONSTANT_FAILURE = "constant-failure";
    warning SAME_OPERANDS = "same-operands";
    warning STATIC_KEY = "static-key";
    warning FORMAT_WITHOUT_CLAUSE = "format-without-clause";
    error UNBOUNDED_LOOP = "unbounded-loop";
    error SET_IN_EACH = "set-in-each";
    error DEPENDENCY_CYCLE = "dependency-cycle";
    error NEVER_FIRES = "never-fires";
    warning NEVER_SET = "never-set";
    error CANNOT_FINISH = "cannot-finish";
    warning STALLS = "stalls";
    warning WAIT_FOREVER = "wait-forever";
    warning BUSY_LOOP = "busy-loop";
    warning REDUNDANT_AFTER = "redundant-after";
    error PARALLEL_WRITE = "parallel-write";
    warning TOO_WIDE = "too-wide";
    warning PARALLEL_SET = "parallel-set";
    note SHARED_SIGNAL = "shared-signal";
    warning WHEN_AFTER_CONFIRM = "when-after-confirm";
    note COMPLEMENTARY_GUARDS = "complementary-guards";
    optional_note COULD_RUN_TOGETHER = "could-run-together";
}
