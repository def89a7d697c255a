//! Codes about failure: retries, timeouts and deadlines, and errors that can never be caught.

use super::Code;

codes! {
    error ATTEMPTS_ZERO = "attempts-zero";
    error TIMEOUT_OVER_WITHIN = "timeout-over-within";
    error CLAUSE_NOT_APPLICABLE = "clause-not-applicable";
    warning UNREACHABLE_RECOVER = "unreachable-recover";
    error POLL_WITHOUT_END = "poll-without-end";
    error UNTIL_WITH_EFFECT = "until-with-effect";
    warning RECOVER_SWALLOWS = "recover-swallows";
    warning USELESS_RETRY = "useless-retry";
    error RETRY_REPEATS_EFFECT = "retry-repeats-effect";
    warning RETRY_NEVER_MATCHES = "retry-never-matches";
    warning WITHIN_IMPOSSIBLE = "within-impossible";
    warning DEADLINE_IMPOSSIBLE = "deadline-impossible";
    warning UNDO_NEVER_RUNS = "undo-never-runs";
}
