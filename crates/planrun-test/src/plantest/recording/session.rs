//! Runs a case with the real tools and records their answers.

use std::sync::Arc;

use planrun_lang::protocol::Sent;
use planrun_lang::source::SourceFile;

use super::super::case::Case;
use super::super::play::{Live, RunOptions, TestEnvironment, play};
use super::super::suite::doubles_with;
use super::super::verdict::faults;
use super::{Entry, Recorded, Recording, Replay};
use planrun_core::run::Program;
use planrun_runs::driver::Silence;

/// The outcome of recording a case.
pub struct Session {
    pub recording: Recording,
    /// Number of calls that were sent to real tools.
    pub calls: usize,
    /// Why none of them reached a system; `None` if one did, or if none failed.
    pub unreachable: Option<String>,
}

/// Records a case. Calls that match its existing recording are answered from there and stay in it. Entries that no
/// call uses are removed, unless the test fails and might not have got that far.
#[must_use]
pub fn record(
    environment: &TestEnvironment,
    source: &SourceFile,
    program: &Arc<Program>,
    case: &Case,
    live: Live,
) -> Session {
    let replay = case
        .recording
        .as_ref()
        .map(|recording| Arc::new(Replay::new(recording, false)));
    let (recorder, mut secrets) = (live.recorder.clone(), live.tools.secrets());
    let options = RunOptions::default();
    let mut doubles = doubles_with(environment, &case.test, options, replay.clone());
    doubles.live = Some(live);
    let played = play(environment, program, case, doubles, options, &mut Silence);
    if let Some(outcome) = &played.outcome {
        secrets.join(outcome.secrets());
    }
    let new = recorder.recording(&secrets);
    let calls = new.calls().len();
    let unreachable = unreachable(new.calls());
    let mut entries = new.calls().to_vec();
    if let Some(replay) = replay {
        entries.extend(replay.used());
        if !faults(source, case, &played).is_empty() {
            let replayed = replay.replayed();
            entries.extend(
                replayed
                    .unused
                    .iter()
                    .map(|index| replayed.recording.calls()[*index].clone()),
            );
        }
    }
    Session {
        recording: Recording::new(entries),
        calls,
        unreachable,
    }
}

/// Returns why no call reached a system; `None` if one did, or if none failed. Answers of the tools of `sys` are no
/// evidence that a system was reached.
fn unreachable(calls: &[Entry]) -> Option<String> {
    let mut why = None;
    for call in calls {
        match &call.outcome {
            Recorded::Value(_) | Recorded::Unanswered if call.tool.starts_with("sys.") => {}
            Recorded::Failure(error) if error.sent == Sent::No => {
                why.get_or_insert_with(|| error.message.clone());
            }
            Recorded::Value(_) | Recorded::Unanswered | Recorded::Failure(_) => return None,
        }
    }
    why
}
