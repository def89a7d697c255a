//! Saved plans: the files in the project's folder `plans`, which are found, described and run by name.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::sema::Plan;
use planrun_lang::types::Signature;
use planrun_runs::runs::{PlanText, Planrun};

/// The prefix of a saved plan's name in place of the text of a plan.
pub(super) const PREFIX: &str = "plan:";
/// The folder of saved plans, in the project's folder.
pub(super) const FOLDER: &str = "plans";
pub(super) const EXTENSION: &str = "plan";
/// Maximum number of files that are read.
const MAX_FILES: usize = 500;

/// The plans in the folder that pass the check.
pub(super) struct SavedPlans {
    plans: Vec<(PathBuf, Arc<Plan>)>,
    contracts: Vec<Arc<Signature>>,
}

/// Returns the files of saved plans, and their folder.
pub(super) fn files(planrun: &Planrun) -> Vec<PathBuf> {
    let folder = planrun.location().folder.join(FOLDER);
    let mut files = planrun.host().list_folder(&folder).unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|ending| ending == EXTENSION));
    files.sort();
    files.truncate(MAX_FILES);
    files.push(folder);
    files
}

impl SavedPlans {
    /// Reads the saved plans from their current files, sorted by name. Files that cannot be read or have errors are
    /// left out; `planrun check` reports why.
    pub(super) fn of(planrun: &Planrun) -> Self {
        let mut plans: Vec<(PathBuf, Arc<Plan>)> = Vec::new();
        for file in files(planrun) {
            let Ok(text) = PlanText::from_file(&file) else {
                continue;
            };
            let Ok(checked) = planrun.check(text) else {
                continue;
            };
            // A file with several plans is a library whose plans call each other, and is left out.
            if let Ok(plan) = checked.plan(None) {
                plans.push((file, plan.plan));
            }
        }
        plans.sort_by(|one, other| one.1.name.cmp(&other.1.name));
        plans.dedup_by(|one, other| one.1.name == other.1.name);
        let contract = |plan: &Plan| Arc::new(plan.contract(FOLDER.into()));
        let contracts = plans.iter().map(|(_, plan)| contract(plan));
        Self {
            contracts: contracts.collect(),
            plans,
        }
    }

    pub(super) fn contracts(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.contracts.iter()
    }

    /// Returns the file of a plan as the text of a plan.
    pub(super) fn text(&self, name: &str) -> Option<PlanText> {
        let (file, _) = self.plans.iter().find(|(_, plan)| *plan.name == *name)?;
        PlanText::from_file(file).ok()
    }
}

/// Returns true if clients accept it as the name of a tool.
pub(super) fn is_tool_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}
