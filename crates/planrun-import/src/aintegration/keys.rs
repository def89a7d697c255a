//! The keys of the format; unknown keys are reported with a suggestion.

use planrun_lang::diag::closest;
use planrun_lang::yaml::Node;

use crate::draft::{Draft, excerpt};

pub const PLAN: [&str; 9] = [
    "plan_id",
    "name",
    "description",
    "prompt",
    "main_task_id",
    "created_at",
    "metadata",
    "tasks",
    "listeners",
];
pub const TASK: [&str; 7] = [
    "task_id",
    "name",
    "prompt",
    "is_main_task",
    "parent_task_id",
    "status",
    "metadata",
];
pub const LISTENER: [&str; 16] = [
    "listener_id",
    "trigger_task_id",
    "trigger_condition",
    "trigger_status",
    "action_condition",
    "listener_type",
    "action_type",
    "agent_id",
    "action_prompt",
    "code_snippet",
    "action_config",
    "success_output",
    "failure_output",
    "priority",
    "name",
    "description",
];
pub const OUTPUT: [&str; 3] = ["task_id", "status", "context"];

/// Reports unknown keys.
pub fn unknown(node: &Node, known: &[&str], of: &str, draft: &mut Draft<'_>) {
    for entry in node.entries().unwrap_or_default() {
        if known.contains(&entry.name.as_str()) {
            continue;
        }
        let near = closest(&entry.name, known.iter().copied());
        let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let what = format!("the key `{}` of {of}", excerpt(&entry.name));
        draft.lost(entry.span, what, format!("unknown key{help}"));
    }
}
