//! Codes about order: what runs when, and what can never run.

use super::Code;

pub static UNREACHABLE_STEP: Code = Code::warning("unreachable-step", include_str!("pages/unreachable-step.md"));
pub static AFTER_REPLY: Code = Code::error("after-reply", include_str!("pages/after-reply.md"));
pub static CONSTANT_CONDITION: Code = Code::warning("constant-condition", include_str!("pages/constant-condition.md"));
pub static UNBOUNDED_LOOP: Code = Code::error("unbounded-loop", include_str!("pages/unbounded-loop.md"));
pub static SET_IN_EACH: Code = Code::error("set-in-each", include_str!("pages/set-in-each.md"));

pub(super) static ALL: &[&Code] =
    &[&UNREACHABLE_STEP, &AFTER_REPLY, &CONSTANT_CONDITION, &UNBOUNDED_LOOP, &SET_IN_EACH];
