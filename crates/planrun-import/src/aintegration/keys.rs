//! The keys of the format: those that the import reads, and those that it omits, each with the reason.

/// Keys that it reads.
pub type Known = &'static [&'static str];
/// Keys that it omits, each with the reason.
pub type Omitted = &'static [(&'static str, &'static str)];

pub const PLAN: Known = &[
    "plan_id",
    "name",
    "description",
    "prompt",
    "main_task_id",
    "tasks",
    "listeners",
];
pub const NOT_OF_PLAN: Omitted = &[
    ("created_at", "a plan has no dates"),
    ("metadata", "it does not change what runs"),
];
pub const TASK: Known = &["task_id", "name", "is_main_task"];
pub const NOT_OF_TASK: Omitted = &[
    ("prompt", "only the prompts of listeners say what is called"),
    (
        "parent_task_id",
        "no status depends on the parent of a task",
    ),
    ("status", "a task starts in its first status"),
    ("metadata", "it does not change what runs"),
];
pub const LISTENER: Known = &[
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
pub const OUTPUT: Known = &["task_id", "status", "context"];
