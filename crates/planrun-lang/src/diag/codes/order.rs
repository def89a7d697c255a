//! Codes about order: what runs when, and what can never run.

use super::Code;

pub static UNREACHABLE_STEP: Code = Code::warning(
    "unreachable-step",
    include_str!("pages/unreachable-step.md"),
);
pub static AFTER_REPLY: Code = Code::error("after-reply", include_str!("pages/after-reply.md"));
pub static CONSTANT_CONDITION: Code = Code::warning(
    "constant-condition",
    include_str!("pages/constant-condition.md"),
);
pub static CONSTANT_FAILURE: Code = Code::error(
    "constant-failure",
    include_str!("pages/constant-failure.md"),
);
pub static UNBOUNDED_LOOP: Code =
    Code::error("unbounded-loop", include_str!("pages/unbounded-loop.md"));
pub static SET_IN_EACH: Code = Code::error("set-in-each", include_str!("pages/set-in-each.md"));
pub static SAME_OPERANDS: Code =
    Code::warning("same-operands", include_str!("pages/same-operands.md"));
pub static DEPENDENCY_CYCLE: Code = Code::error(
    "dependency-cycle",
    include_str!("pages/dependency-cycle.md"),
);
pub static NEVER_FIRES: Code = Code::error("never-fires", include_str!("pages/never-fires.md"));
pub static NEVER_SET: Code = Code::warning("never-set", include_str!("pages/never-set.md"));
pub static CANNOT_FINISH: Code =
    Code::error("cannot-finish", include_str!("pages/cannot-finish.md"));
pub static STALLS: Code = Code::warning("stalls", include_str!("pages/stalls.md"));
pub static WAIT_FOREVER: Code =
    Code::warning("wait-forever", include_str!("pages/wait-forever.md"));
pub static BUSY_LOOP: Code = Code::warning("busy-loop", include_str!("pages/busy-loop.md"));
pub static REDUNDANT_AFTER: Code =
    Code::warning("redundant-after", include_str!("pages/redundant-after.md"));
pub static PARALLEL_WRITE: Code =
    Code::error("parallel-write", include_str!("pages/parallel-write.md"));
pub static TOO_WIDE: Code = Code::warning("too-wide", include_str!("pages/too-wide.md"));
pub static PARALLEL_SET: Code =
    Code::warning("parallel-set", include_str!("pages/parallel-set.md"));
pub static COMPLEMENTARY_GUARDS: Code = Code::note(
    "complementary-guards",
    include_str!("pages/complementary-guards.md"),
);

pub static COULD_RUN_TOGETHER: Code = Code::optional_note(
    "could-run-together",
    include_str!("pages/could-run-together.md"),
);

pub(super) static ALL: &[&Code] = &[
    &UNREACHABLE_STEP,
    &AFTER_REPLY,
    &CONSTANT_CONDITION,
    &CONSTANT_FAILURE,
    &SAME_OPERANDS,
    &UNBOUNDED_LOOP,
    &SET_IN_EACH,
    &DEPENDENCY_CYCLE,
    &NEVER_FIRES,
    &NEVER_SET,
    &CANNOT_FINISH,
    &STALLS,
    &WAIT_FOREVER,
    &BUSY_LOOP,
    &REDUNDANT_AFTER,
    &PARALLEL_WRITE,
    &TOO_WIDE,
    &PARALLEL_SET,
    &COMPLEMENTARY_GUARDS,
    &COULD_RUN_TOGETHER,
];
