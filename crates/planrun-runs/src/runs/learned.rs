//! What results of tools looked like in the runs of a project.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::types::Shape;

use super::replay::replay;
use super::{Error, Planrun, RunFilter};

impl Planrun {
    /// The shapes of what tools have given in the runs that the journal still has, by the dotted names of the tools. Runs that
    /// cannot be read are left out.
    ///
    /// # Errors
    /// When there is no journal.
    pub fn learned(&self) -> Result<BTreeMap<Arc<str>, Shape>, Error> {
        let journal = self.shared.journal()?;
        let mut shapes: BTreeMap<Arc<str>, Shape> = BTreeMap::new();
        for row in self.list(&RunFilter::default())? {
            let Ok(past) = replay(&journal, &row.run) else {
                continue;
            };
            for step in past.steps.values() {
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
