//! The fields of workflows and tasks; those that have no place in a plan are reported.

use std::collections::BTreeSet;

use planrun_lang::yaml::Node;

use super::tasks::{Task, only_entry};
use crate::document::{entries, items};
use crate::draft::{Draft, excerpt};

/// Fields that the import reads, and fields that it omits, with the reason; several are separated by spaces.
type Keys = (&'static str, &'static [(&'static str, &'static str)]);

const PROSE: &str = "it describes the workflow, and does not change what runs";
const ADDRESS: &str = "the addresses of systems are in the project";
const PROTOCOL: &str = "the project decides how it talks to a system";
const CREDENTIALS: &str = "credentials belong to the project, not to a plan";

const INPUT: Keys = ("from schema", &[]);
const OUTPUT: Keys = ("as schema", &[]);

/// The parts of a workflow that are mappings with known fields, each with the path to it.
const WORKFLOW_PARTS: [(&str, Keys); 6] = [
    (
        "",
        (
            "document input use do timeout output schedule evaluate",
            &[],
        ),
    ),
    (
        "document",
        (
            "dsl title summary",
            &[("namespace name version tags metadata", PROSE)],
        ),
    ),
    (
        "use",
        (
            "authentications errors functions retries timeouts extensions catalogs",
            &[("secrets", CREDENTIALS)],
        ),
    ),
    ("input", INPUT),
    ("output", OUTPUT),
    ("evaluate", ("language mode", &[])),
];

/// The parameters of the calls that are part of the DSL, and parts of them, each with the call and the path to it.
const CALL_PARTS: [(&str, &str, Keys); 12] = [
    (
        "http",
        "",
        ("method endpoint headers body query output redirect", &[]),
    ),
    (
        "openapi",
        "",
        (
            "operationId parameters authentication output redirect",
            &[("document", ADDRESS)],
        ),
    ),
    (
        "grpc",
        "",
        (
            "service method arguments authentication",
            &[("proto", ADDRESS)],
        ),
    ),
    (
        "asyncapi",
        "",
        (
            "channel operation message subscription authentication",
            &[("document server", ADDRESS), ("protocol", PROTOCOL)],
        ),
    ),
    (
        "mcp",
        "",
        (
            "method parameters transport",
            &[("protocolVersion client", PROTOCOL)],
        ),
    ),
    (
        "a2a",
        "",
        ("method parameters", &[("agentCard server", ADDRESS)]),
    ),
    ("http", "endpoint", ("uri authentication", &[])),
    (
        "grpc",
        "service",
        ("name authentication", &[("host port", ADDRESS)]),
    ),
    ("asyncapi", "message", ("payload headers", &[])),
    ("mcp", "parameters", ("name arguments", &[])),
    ("a2a", "parameters", ("message", &[])),
    (
        "a2a",
        "parameters.message",
        ("parts", &[("kind role messageId", PROTOCOL)]),
    ),
];

/// Parts of the other tasks, each with the kind of task and the path to it.
const TASK_PARTS: [(&str, &str, Keys); 11] = [
    ("for", "for", ("each in at", &[])),
    ("fork", "fork", ("branches compete", &[])),
    ("emit", "emit", ("event", &[])),
    ("emit", "emit.event", ("with", &[])),
    ("listen", "listen", ("to read", &[])),
    ("listen", "listen.to", ("one any all until", &[])),
    ("raise", "raise", ("error", &[])),
    ("run", "run", ("workflow container script shell await", &[])),
    ("run", "run.workflow", ("namespace name version input", &[])),
    ("try", "catch", ("errors as when exceptWhen retry do", &[])),
    ("try", "catch.errors", ("with", &[])),
];

/// Parts of a retry policy, each with the path to it.
const RETRY_PARTS: [(&str, Keys); 7] = [
    ("", ("when exceptWhen delay backoff limit jitter", &[])),
    ("limit", ("attempt duration", &[])),
    ("limit.attempt", ("count duration", &[])),
    ("backoff", ("constant exponential linear", &[])),
    ("backoff.constant", ("", &[])),
    ("backoff.exponential", ("", &[])),
    ("backoff.linear", ("", &[])),
];

/// Reports the fields of a part; the path to it has names with dots between them.
fn report_part(holder: &Node, path: &str, of: &str, keys: Keys, draft: &mut Draft<'_>) {
    let (known, omitted) = keys;
    if path.is_empty() {
        return draft.report_keys(holder, of, known, omitted);
    }
    if let Some(node) = path.split('.').try_fold(holder, Node::get) {
        draft.report_keys(node, &format!("`{path}` of {of}"), known, omitted);
    }
}

/// Reports the fields of the workflow that have no place in the plan.
pub fn report_workflow(root: &Node, draft: &mut Draft<'_>) {
    for (path, keys) in WORKFLOW_PARTS {
        report_part(root, path, "the workflow", keys, draft);
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
        report_part(task.node, part, &what, keys, draft);
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
        let whole = format!("the call of {what}");
        for (_, path, keys) in CALL_PARTS.iter().filter(|(call, ..)| *call == called) {
            let of = if path.is_empty() { &whole } else { &what };
            report_part(with, path, of, *keys, draft);
        }
    }
    for case in items(task.node, "switch") {
        if let Ok(case) = only_entry(case) {
            let of = format!("the case `{}` of {what}", excerpt(&case.name));
            draft.report_keys(&case.value, &of, "when then", &[]);
        }
    }
}

/// Reports the fields of a retry policy that have no place in the plan.
pub fn report_retry(policy: &Node, draft: &mut Draft<'_>) {
    for (path, keys) in RETRY_PARTS {
        report_part(policy, path, "a retry policy", keys, draft);
    }
}
