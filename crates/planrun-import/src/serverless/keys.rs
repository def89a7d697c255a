//! The fields of workflows and tasks; those that have no place in a plan are reported.

use std::collections::BTreeSet;

use planrun_lang::yaml::Node;

use super::tasks::{Task, only_entry};
use crate::document::{entries, items};
use crate::draft::{Draft, excerpt};

/// Fields that the import reads, and fields that it omits, each with the reason.
type Keys = (
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const PROSE: &str = "it describes the workflow, and does not change what runs";
const ADDRESS: &str = "the addresses of systems are in the project";
const PROTOCOL: &str = "the project decides how it talks to a system";

const WORKFLOW: Keys = (
    &[
        "document", "input", "use", "do", "timeout", "output", "schedule", "evaluate",
    ],
    &[],
);
const DOCUMENT: Keys = (
    &["dsl", "title", "summary"],
    &[
        ("namespace", PROSE),
        ("name", PROSE),
        ("version", PROSE),
        ("tags", PROSE),
        ("metadata", PROSE),
    ],
);
const USE: Keys = (
    &[
        "authentications",
        "errors",
        "functions",
        "retries",
        "timeouts",
        "extensions",
        "catalogs",
    ],
    &[(
        "secrets",
        "credentials belong to the project, not to a plan",
    )],
);
const INPUT: Keys = (&["from", "schema"], &[]);
const OUTPUT: Keys = (&["as", "schema"], &[]);

/// The parts of a workflow that are mappings with known fields.
const PARTS: [(&str, Keys); 5] = [
    ("document", DOCUMENT),
    ("use", USE),
    ("input", INPUT),
    ("output", OUTPUT),
    ("evaluate", (&["language", "mode"], &[])),
];

/// The parameters of the calls that are part of the DSL.
const CALLS: [(&str, Keys); 6] = [
    (
        "http",
        (
            &[
                "method", "endpoint", "headers", "body", "query", "output", "redirect",
            ],
            &[],
        ),
    ),
    (
        "openapi",
        (
            &[
                "operationId",
                "parameters",
                "authentication",
                "output",
                "redirect",
            ],
            &[("document", ADDRESS)],
        ),
    ),
    (
        "grpc",
        (
            &["service", "method", "arguments", "authentication"],
            &[("proto", ADDRESS)],
        ),
    ),
    (
        "asyncapi",
        (
            &[
                "channel",
                "operation",
                "message",
                "subscription",
                "authentication",
            ],
            &[
                ("document", ADDRESS),
                ("server", ADDRESS),
                ("protocol", PROTOCOL),
            ],
        ),
    ),
    (
        "mcp",
        (
            &["method", "parameters", "transport"],
            &[("protocolVersion", PROTOCOL), ("client", PROTOCOL)],
        ),
    ),
    (
        "a2a",
        (
            &["method", "parameters"],
            &[("agentCard", ADDRESS), ("server", ADDRESS)],
        ),
    ),
];

/// Parts of those parameters, each with the call and the path to it.
const CALL_PARTS: [(&str, &[&str], Keys); 6] = [
    ("http", &["endpoint"], (&["uri", "authentication"], &[])),
    (
        "grpc",
        &["service"],
        (
            &["name", "authentication"],
            &[("host", ADDRESS), ("port", ADDRESS)],
        ),
    ),
    ("asyncapi", &["message"], (&["payload", "headers"], &[])),
    ("mcp", &["parameters"], (&["name", "arguments"], &[])),
    ("a2a", &["parameters"], (&["message"], &[])),
    (
        "a2a",
        &["parameters", "message"],
        (
            &["parts"],
            &[
                ("kind", PROTOCOL),
                ("role", PROTOCOL),
                ("messageId", PROTOCOL),
            ],
        ),
    ),
];

/// Parts of the other tasks, each with the kind of task and the path to it.
const TASK_PARTS: [(&str, &[&str], Keys); 11] = [
    ("for", &["for"], (&["each", "in", "at"], &[])),
    ("fork", &["fork"], (&["branches", "compete"], &[])),
    ("emit", &["emit"], (&["event"], &[])),
    ("emit", &["emit", "event"], (&["with"], &[])),
    ("listen", &["listen"], (&["to", "read"], &[])),
    (
        "listen",
        &["listen", "to"],
        (&["one", "any", "all", "until"], &[]),
    ),
    ("raise", &["raise"], (&["error"], &[])),
    (
        "run",
        &["run"],
        (&["workflow", "container", "script", "shell", "await"], &[]),
    ),
    (
        "run",
        &["run", "workflow"],
        (&["namespace", "name", "version", "input"], &[]),
    ),
    (
        "try",
        &["catch"],
        (&["errors", "as", "when", "exceptWhen", "retry", "do"], &[]),
    ),
    ("try", &["catch", "errors"], (&["with"], &[])),
];

/// Parts of a retry policy, each with the path to it.
const RETRY_PARTS: [(&[&str], Keys); 7] = [
    (
        &[],
        (
            &["when", "exceptWhen", "delay", "backoff", "limit", "jitter"],
            &[],
        ),
    ),
    (&["limit"], (&["attempt", "duration"], &[])),
    (&["limit", "attempt"], (&["count", "duration"], &[])),
    (&["backoff"], (&["constant", "exponential", "linear"], &[])),
    (&["backoff", "constant"], (&[], &[])),
    (&["backoff", "exponential"], (&[], &[])),
    (&["backoff", "linear"], (&[], &[])),
];

fn report_part(
    holder: &Node,
    path: &[&str],
    of: &str,
    (known, omitted): Keys,
    draft: &mut Draft<'_>,
) {
    let Some(node) = path.iter().try_fold(holder, |node, key| node.get(key)) else {
        return;
    };
    let of = match path {
        [] => of.to_owned(),
        path => format!("`{}` of {of}", path.join(".")),
    };
    draft.report_keys(node, &of, known, omitted);
}

/// Reports the fields of the workflow that have no place in the plan.
pub fn report_workflow(root: &Node, draft: &mut Draft<'_>) {
    let what = "the workflow";
    report_part(root, &[], what, WORKFLOW, draft);
    for (part, keys) in PARTS {
        report_part(root, &[part], what, keys, draft);
    }
}

/// Reports the functions of the document that no task calls.
pub fn report_functions(root: &Node, called: &BTreeSet<&str>, draft: &mut Draft<'_>) {
    let Some(node) = root.get("use") else {
        return;
    };
    for function in entries(node, "functions") {
        if !called.contains(function.name.as_str()) {
            let what = format!("the function `{}`", excerpt(&function.name));
            draft.changed(function.span, what, "is omitted: no task calls it");
        }
    }
}

/// Reports the fields in the parts of a task that have no place in the plan.
pub fn report_parts(task: &Task<'_>, draft: &mut Draft<'_>) {
    let what = format!("task `{}`", excerpt(task.name));
    for (part, keys) in [("input", INPUT), ("output", OUTPUT), ("export", OUTPUT)] {
        report_part(task.node, &[part], &what, keys, draft);
    }
    if let Some(node) = task.get("metadata") {
        let why = "is omitted: it does not change what runs";
        draft.changed(node.span, format!("`metadata` of {what}"), why);
    }
    for (kind, path, keys) in TASK_PARTS {
        if kind == task.kind {
            report_part(task.node, path, &what, keys, draft);
        }
    }
    let called = task.body().text().filter(|_| task.kind == "call");
    let with = task.get("with");
    if let (Some(called), Some(with)) = (called, with) {
        for (call, keys) in CALLS {
            if call == called {
                report_part(with, &[], &format!("the call of {what}"), keys, draft);
            }
        }
        for (call, path, keys) in CALL_PARTS {
            if call == called {
                report_part(with, path, &what, keys, draft);
            }
        }
    }
    for case in items(task.node, "switch") {
        if let Ok(case) = only_entry(case) {
            let of = format!("the case `{}` of {what}", excerpt(&case.name));
            report_part(&case.value, &[], &of, (&["when", "then"], &[]), draft);
        }
    }
}

/// Reports the fields of a retry policy that have no place in the plan.
pub fn report_retry(policy: &Node, draft: &mut Draft<'_>) {
    for (path, keys) in RETRY_PARTS {
        report_part(policy, path, "a retry policy", keys, draft);
    }
}
