//! What became of the calls of a run: how many there were, and which effects were taken back, stay, or are in doubt.

use std::sync::Arc;

use planrun_core::run::StepReport;
use planrun_lang::protocol::StepState;
use planrun_lang::types::{Effect, ErrorClass};
use planrun_lang::value::Value;

/// The calls of a run, without those that verified a step or undid it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallSummary {
    /// How many calls came to a result that change nothing.
    pub reads: usize,
    /// How many did that change something.
    pub effects: usize,
    /// The paths of the effects that were taken back, in source order.
    pub undone: Vec<Arc<str>>,
    /// Those of which nobody knows whether they happened.
    pub unknown: Vec<Arc<str>>,
    /// Those that happened and were not taken back, also those that another run has done and this one took over.
    pub stays: Vec<Arc<str>>,
}

impl CallSummary {
    /// The summary of what [`Outcome::steps`](planrun_core::run::Outcome::steps) gives.
    #[must_use]
    pub fn of(steps: &[StepReport]) -> Self {
        let mut summary = Self::default();
        for step in steps {
            if let Some(effect) = step.effect {
                summary.add(step, effect);
            }
        }
        summary
    }

    fn add(&mut self, step: &StepReport, effect: Effect) {
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
            // Nobody has heard of its end.
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
        if has("undone") {
            self.undone.push(path);
        } else if in_doubt {
            self.unknown.push(path);
        } else if is_done {
            self.stays.push(path);
        }
    }
}

/// Whether an error says that a call may have happened.
fn is_unknown(error: &Value) -> bool {
    let class = error.get("class").and_then(|class| class.as_str());
    class == Some(&ErrorClass::UnknownOutcome.to_string())
}
