//! Summary of the calls of a run: how many there were, and which effects were undone, remain, or have an unknown
//! outcome.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_core::run::StepReport;
use planrun_lang::protocol::StepState;
use planrun_lang::types::{Effect, ErrorClass};
use planrun_lang::value::Value;

/// The calls of a run, without those in `verify` and `undo` blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSummary {
    /// Number of successful calls without effects.
    pub reads: usize,
    /// Number of successful calls with effects.
    pub effects: usize,
    /// Paths of the effects that were undone, in source order.
    pub undone: Vec<Arc<str>>,
    /// Paths of the effects whose outcome is unknown.
    pub unknown: Vec<Arc<str>>,
    /// Paths of the effects that happened and were not undone, including those that were copied from another run.
    pub stays: Vec<Arc<str>>,
}

impl CallSummary {
    /// Summarizes the result of [`Outcome::steps`](planrun_core::run::Outcome::steps).
    #[must_use]
    pub fn of(steps: &[StepReport]) -> Self {
        let mut summary = Self::default();
        let undone = steps
            .iter()
            .filter(|step| step.attributes.contains(&"undone"))
            .map(|step| &*step.path)
            .collect::<BTreeSet<_>>();
        for step in steps {
            if let Some(effect) = step.effect {
                // The `undo` of a step undoes everything in it.
                let is_undone = path_and_around(&step.path).any(|path| undone.contains(path));
                summary.add(step, effect, is_undone);
            }
        }
        summary
    }

    fn add(&mut self, step: &StepReport, effect: Effect, is_undone: bool) {
        let has = |attribute: &str| step.attributes.contains(&attribute);
        let is_done = step.status == StepState::Completed && !has("recovered");
        if is_done && !has("copied") && !has("cached") {
            let count = if effect.is_read_only() {
                &mut self.reads
            } else {
                &mut self.effects
            };
            *count += 1;
        }
        if effect.is_read_only() {
            return;
        }
        let in_doubt = match step.status {
            StepState::Unknown => true,
            // The end of the call is not recorded.
            StepState::Running | StepState::Cancelled => step.attempts > 0,
            StepState::Completed | StepState::Failed => [&step.error, &step.recovered]
                .into_iter()
                .flatten()
                .any(is_unknown),
            StepState::Pending | StepState::Queued | StepState::Waiting | StepState::Skipped => {
                false
            }
        };
        let path = step.path.clone();
        if is_undone && (is_done || in_doubt) {
            self.undone.push(path);
        } else if in_doubt {
            self.unknown.push(path);
        } else if is_done {
            self.stays.push(path);
        }
    }
}

/// Returns the path of a step and those of the steps around it.
fn path_and_around(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices(['.', '[']).map(|(end, _)| end);
    ends.chain([path.len()]).filter_map(|end| path.get(..end))
}

/// Returns true if an error says that a call may have taken effect.
fn is_unknown(error: &Value) -> bool {
    let class = error.get("class").and_then(|class| class.as_str());
    class == Some(&ErrorClass::UnknownOutcome.to_string())
}
