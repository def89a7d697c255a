//! The settings that plans know, for schemas that list every key.

use super::{Shape, Slot, Word, alone, may};

/// The keys of the settings under a key of a shape.
pub(in crate::syntax::json) fn settings_of(kind: &str, key: &str) -> &'static Shape {
    match (kind, key) {
        ("policy", "settings") => &POLICY,
        ("allow", "settings") => &ALLOW,
        _ => &RETRY,
    }
}

static RETRY: Shape = alone(
    "retry",
    "a `retry`",
    "How often a call is made, and when again.",
    &[&[
        may(
            "attempts",
            Slot::Value,
            "The most attempts, the first included.",
        ),
        may(
            "delay",
            Slot::Value,
            "The wait after the first, such as 200ms.",
        ),
        may(
            "factor",
            Slot::Value,
            "How much longer each further wait is.",
        ),
        may("max_delay", Slot::Value, "The longest wait."),
        may("jitter", Slot::Value, "none or full."),
        may(
            "on",
            Slot::Names(Word::Class),
            "The error classes that are tried again.",
        ),
        may("on_exhausted", Slot::Value, "fail or pause."),
    ]],
);

static BUDGET: Shape = alone(
    "budget",
    "a budget",
    "The most that a run may use.",
    &[&[
        may("calls", Slot::Value, "Calls."),
        may("tokens", Slot::Value, "Tokens of models."),
        may("cost", Slot::Value, "Cost."),
        may("time", Slot::Value, "Time."),
    ]],
);

static POLICY: Shape = alone(
    "policy",
    "a policy",
    "Settings of the whole plan.",
    &[&[
        may("retry", Slot::Settings, "How often calls are made."),
        may(
            "timeout",
            Slot::Value,
            "The longest that one attempt may take, such as 10s.",
        ),
        may(
            "deadline",
            Slot::Value,
            "The longest that the run may take, such as 10m.",
        ),
        may(
            "concurrency",
            Slot::Value,
            "How many calls run at the same time.",
        ),
        may("on_failure", Slot::Value, "undo or settle."),
        may(
            "budget",
            Slot::Object(&BUDGET),
            "The most that a run may use.",
        ),
        may("max_steps", Slot::Value, "The most steps."),
        may(
            "max_result",
            Slot::Value,
            "The largest result, such as 1MiB.",
        ),
    ]],
);

static ALLOW: Shape = alone(
    "allow",
    "an allowance",
    "What the built-in tools may reach.",
    &[&[
        may(
            "net",
            Slot::Value,
            "A list of hosts with ports, such as [\"127.0.0.1:*\"].",
        ),
        may("read", Slot::Value, "A list of globs of files."),
        may("write", Slot::Value, "A list of globs of files."),
        may("run", Slot::Value, "A list of programs."),
        may("env", Slot::Value, "A list of variables."),
        may("tools", Slot::Value, "A list of tools."),
        may("agents", Slot::Value, "A list of agents."),
    ]],
);
