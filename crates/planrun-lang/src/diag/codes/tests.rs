//! Codes about tests: mocks, answers and signals that can never be, or that nothing asks for.

use super::Code;

pub static TEST_PATH: Code = Code::error("test-path", include_str!("pages/test-path.md"));
pub static TEST_OUTCOME: Code = Code::error("test-outcome", include_str!("pages/test-outcome.md"));
pub static UNKNOWN_CODE: Code = Code::error("unknown-code", include_str!("pages/unknown-code.md"));
pub static UNUSED_MOCK: Code = Code::warning("unused-mock", include_str!("pages/unused-mock.md"));

pub(super) static ALL: &[&Code] = &[&TEST_PATH, &TEST_OUTCOME, &UNKNOWN_CODE, &UNUSED_MOCK];

// What a test says when it runs. No check finds these, so the catalogue of checks does not list them.
pub static EXPECTATION: Code = Code::error("expectation-failed", "");
pub static CALL_UNANSWERED: Code = Code::error("call-unanswered", "");
pub static ANSWER_REFUSED: Code = Code::error("answer-refused", "");
pub static ANSWER_UNUSED: Code = Code::error("answer-unused", "");
pub static RUN_ENDED: Code = Code::error("run-ended", "");
pub static SNAPSHOT: Code = Code::error("snapshot-differs", "");
pub static RECORDING: Code = Code::error("recording-unusable", "");
pub static RECORDING_STALE: Code = Code::error("recording-stale", "");
pub static RECORDING_DRIFTED: Code = Code::error("recording-drifted", "");
pub static REPLAY_PARTS: Code = Code::error("replay-parts", "");
pub static RECORDING_UNUSED: Code = Code::error("recording-unused", "");
