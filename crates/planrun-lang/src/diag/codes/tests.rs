//! Codes about tests: mocks, answers and signals that are impossible or unused.

use super::Code;

codes! {
    error TEST_PATH = "test-path";
    error TEST_OUTCOME = "test-outcome";
    error UNKNOWN_CODE = "unknown-code";
    warning UNUSED_MOCK = "unused-mock";
}

// Failures of running tests. No check reports them, so the catalog does not list them.
pub static EXPECTATION: Code = Code::error("expectation-failed", "");
pub static CALL_UNANSWERED: Code = Code::error("call-unanswered", "");
pub static ANSWER_REFUSED: Code = Code::error("answer-refused", "");
pub static SIGNAL_REFUSED: Code = Code::error("signal-refused", "");
pub static ANSWER_UNUSED: Code = Code::error("answer-unused", "");
pub static RUN_ENDED: Code = Code::error("run-ended", "");
pub static SNAPSHOT: Code = Code::error("snapshot-differs", "");
pub static RECORDING: Code = Code::error("recording-unusable", "");
pub static RECORDING_STALE: Code = Code::error("recording-stale", "");
pub static RECORDING_DRIFTED: Code = Code::error("recording-drifted", "");
pub static REPLAY_PARTS: Code = Code::error("replay-parts", "");
pub static RECORDING_UNUSED: Code = Code::error("recording-unused", "");
