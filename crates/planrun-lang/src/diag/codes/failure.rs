//! Codes about failure: retries, bounds and what they can catch.

use super::Code;

pub static ATTEMPTS_ZERO: Code =
    Code::error("attempts-zero", include_str!("pages/attempts-zero.md"));
pub static TIMEOUT_OVER_WITHIN: Code = Code::error(
    "timeout-over-within",
    include_str!("pages/timeout-over-within.md"),
);
pub static CLAUSE_NOT_APPLICABLE: Code = Code::error(
    "clause-not-applicable",
    include_str!("pages/clause-not-applicable.md"),
);
pub static UNREACHABLE_RECOVER: Code = Code::warning(
    "unreachable-recover",
    include_str!("pages/unreachable-recover.md"),
);
pub static POLL_WITHOUT_END: Code = Code::error(
    "poll-without-end",
    include_str!("pages/poll-without-end.md"),
);
pub static UNTIL_WITH_EFFECT: Code = Code::error(
    "until-with-effect",
    include_str!("pages/until-with-effect.md"),
);
pub static RECOVER_SWALLOWS: Code = Code::warning(
    "recover-swallows",
    include_str!("pages/recover-swallows.md"),
);
pub static USELESS_RETRY: Code =
    Code::warning("useless-retry", include_str!("pages/useless-retry.md"));
pub static RETRY_REPEATS_EFFECT: Code = Code::error(
    "retry-repeats-effect",
    include_str!("pages/retry-repeats-effect.md"),
);
pub static RETRY_NEVER_MATCHES: Code = Code::warning(
    "retry-never-matches",
    include_str!("pages/retry-never-matches.md"),
);
pub static WITHIN_IMPOSSIBLE: Code = Code::warning(
    "within-impossible",
    include_str!("pages/within-impossible.md"),
);
pub static DEADLINE_IMPOSSIBLE: Code = Code::warning(
    "deadline-impossible",
    include_str!("pages/deadline-impossible.md"),
);
pub static UNDO_NEVER_RUNS: Code =
    Code::warning("undo-never-runs", include_str!("pages/undo-never-runs.md"));

pub(super) static ALL: &[&Code] = &[
    &ATTEMPTS_ZERO,
    &TIMEOUT_OVER_WITHIN,
    &CLAUSE_NOT_APPLICABLE,
    &UNREACHABLE_RECOVER,
    &POLL_WITHOUT_END,
    &UNTIL_WITH_EFFECT,
    &RECOVER_SWALLOWS,
    &USELESS_RETRY,
    &RETRY_REPEATS_EFFECT,
    &RETRY_NEVER_MATCHES,
    &WITHIN_IMPOSSIBLE,
    &DEADLINE_IMPOSSIBLE,
    &UNDO_NEVER_RUNS,
];
