//! The shapes of results of tools in the runs of a project.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::types::Shape;

use super::replay::replay;
use super::{Error, Planrun, RunFilter};

impl Planrun {
    /// Returns the shapes of the results of tools in all recorded runs, by the dotted names of the tools. Runs that
    /// cannot be read are ignored.
    ///
    /// # Errors
    /// Returns an error if there is no journal.
    pub fn learned(&self) -> Result<BTreeMap<Arc<str>, Shape>, Error> {
        let journal = self.shared.journal()?;
        let mut shapes: BTreeMap<Arc<str>, Shape> = BTreeMap::new();
        for row in self.list(&RunFilter::default())? {
            let Ok(replay) = replay(&journal, &row.run) else {
                continue;
            };
            for step in replay.steps.values() {
                let given = step.state == StepState::Completed && !step.recovered;
                if let (Some(tool), Some(output), true) = (&step.tool, &step.output, given) {
                    shapes
                        .entry(tool.clone())
                        .or_default()
                        .add(&output.to_json());
                }
            }
        }
        Ok(shapes)
    }
}
