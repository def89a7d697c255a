//! Saved plans: files of the project's folder `plans`, which are found, described and run by their names.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::format::format;
use planrun_lang::sema::Plan;
use planrun_lang::source::SourceFile;
use planrun_lang::types::Signature;
use planrun_runs::runs::{PlanText, Planrun};

use super::arguments::Arguments;
use super::{PlanMode, Reply, definitions, is_tool_name};

/// What stands before the name of a saved plan where a text of a plan is wanted.
pub(super) const PREFIX: &str = "plan:";
/// The folder of saved plans, in that of the project.
const FOLDER: &str = "plans";
const ENDING: &str = "plan";
/// Files that are looked at.
const MAX_FILES: usize = 500;

/// The plans of the folder that pass the check.
pub(super) struct SavedPlans {
    plans: Vec<(PathBuf, Arc<Plan>)>,
    contracts: Vec<Arc<Signature>>,
}

/// The folder of saved plans, and the files in it.
pub(super) fn files(planrun: &Planrun) -> Vec<PathBuf> {
    let folder = planrun.location().folder.join(FOLDER);
    let mut files = planrun.host().list_folder(&folder).unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|ending| ending == ENDING));
    files.sort();
    files.truncate(MAX_FILES);
    files.push(folder);
    files
}

impl SavedPlans {
    /// The saved plans as their files are now, by name. A file that cannot be read or has errors has none: `planrun check`
    /// tells why.
    pub(super) fn of(planrun: &Planrun) -> Self {
        let mut plans: Vec<(PathBuf, Arc<Plan>)> = Vec::new();
        for file in files(planrun) {
            let Ok(text) = PlanText::from_file(&file) else {
                continue;
            };
            let Ok(checked) = planrun.check(text) else {
                continue;
            };
            // A file with several plans is a library: its own plans call each other.
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

    /// The file of a plan, as the text of a plan.
    pub(super) fn text(&self, name: &str) -> Option<PlanText> {
        let (file, _) = self.plans.iter().find(|(_, plan)| *plan.name == *name)?;
        PlanText::from_file(file).ok()
    }
}

impl PlanMode {
    /// Keeps a plan that passes the check, as a file that people can read, review and change.
    pub(super) fn save(&self, arguments: &mut Arguments) -> Result<Reply, Reply> {
        let name: String = arguments.required("name")?;
        let text: String = arguments.required("plan")?;
        arguments.done()?;
        let taken = definitions().iter().any(|own| own.name == name);
        let is_name = name.starts_with(|first: char| first.is_ascii_lowercase());
        if taken || !is_name || !is_tool_name(&name) || name.contains('-') {
            return Err(Reply::Failed(format!(
                "Nothing was saved: `{name}` is no name for a plan. Small letters, digits and `_`, at most 64, and none of {}.",
                definitions().map(|own| own.name).join(", ")
            )));
        }
        let plan = self.checked(&text)?;
        let own = &plan.plan.name;
        let source = SourceFile::new(plan.source.name(), plan.source.text().to_owned());
        let whole = format(&source).unwrap_or_else(|_| plan.source.text().to_owned());
        let whole = named(&whole, own, &name).ok_or_else(|| {
            Reply::Failed(format!(
                "Nothing was saved: write `plan {name}(…)` in place of `plan {own}(…)`."
            ))
        })?;
        let folder = self.planrun.location().folder.join(FOLDER);
        let file = folder.join(format!("{name}.{ENDING}"));
        let host = self.planrun.host();
        let failed = |error: std::io::Error| {
            Reply::Failed(format!("Nothing was saved: {}: {error}", file.display()))
        };
        match host.read_file(&file) {
            Ok(known) if known == whole => {}
            Ok(_) => {
                return Err(Reply::Failed(format!(
                    "Nothing was saved: there is another plan `{name}`. Choose another name, or let the person change {}.",
                    file.display()
                )));
            }
            Err(_) => {
                host.make_folder(&folder).map_err(failed)?;
                host.write_file(&file, whole.as_bytes()).map_err(failed)?;
            }
        }
        self.forget();
        self.changed.send_modify(|count| *count += 1);
        Ok(Reply::text(format!(
            "Saved as {FOLDER}/{name}.{ENDING}: it is the tool `{name}` from now on, and run(plan: \"{PREFIX}{name}\") runs it."
        )))
    }
}

/// The text of a plan with another name in its head; nothing where its head is not found.
fn named(text: &str, own: &str, name: &str) -> Option<String> {
    if own == name {
        return Some(text.to_owned());
    }
    let head = format!("plan {own}(");
    (text.matches(&head).count() == 1).then(|| text.replacen(&head, &format!("plan {name}("), 1))
}
