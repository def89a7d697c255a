//! The fields of machines, states, rules and error handlers; those that have no place in a plan are reported.

use planrun_lang::syntax::ast::Statement;
use planrun_lang::yaml::Node;

use super::machine::{Machine, State};
use crate::document::items;
use crate::draft::{Draft, one_line};

/// Fields of every state.
const COMMON: &str = "Type QueryLanguage";
/// Further fields of every state that does not fail.
const CONTINUING: &str = "Next End Assign InputPath OutputPath Output";

/// The fields of each kind of state: in both languages, only in JSONPath, and only in JSONata.
const KINDS: [(&str, [&str; 3]); 8] = [
    (
        "Task",
        [
            "Resource Retry Catch TimeoutSeconds HeartbeatSeconds Credentials",
            "Parameters ResultPath ResultSelector TimeoutSecondsPath HeartbeatSecondsPath",
            "Arguments",
        ],
    ),
    ("Pass", ["", "Result ResultPath Parameters", ""]),
    (
        "Wait",
        ["Seconds Timestamp", "SecondsPath TimestampPath", ""],
    ),
    ("Choice", ["Choices Default", "", ""]),
    ("Succeed", ["", "", ""]),
    ("Fail", ["Error Cause", "ErrorPath CausePath", ""]),
    (
        "Map",
        [
            "ItemProcessor Iterator ItemSelector ItemReader ItemBatcher ResultWriter MaxConcurrency \
             ToleratedFailurePercentage ToleratedFailureCount Retry Catch",
            "ItemsPath Parameters ResultPath ResultSelector MaxConcurrencyPath \
             ToleratedFailurePercentagePath ToleratedFailureCountPath",
            "Items",
        ],
    ),
    (
        "Parallel",
        [
            "Branches Retry Catch",
            "Parameters ResultPath ResultSelector",
            "Arguments",
        ],
    ),
];

/// Why a comment is omitted.
const COMMENT: (&str, &str) = ("Comment", "only plans and steps have documentation");
/// The operators of a rule that contain further rules.
const OPERATORS: [&str; 3] = ["And", "Or", "Not"];

/// Reports what a machine loses: its unknown fields, and the states that no other state leads to.
pub fn report_machine(node: &Node, machine: &Machine<'_>, is_inner: bool, draft: &mut Draft<'_>) {
    let known = if is_inner {
        "StartAt States QueryLanguage ProcessorConfig"
    } else {
        "StartAt States QueryLanguage Comment Version TimeoutSeconds"
    };
    draft.report_keys(node, "a machine", known, &[COMMENT]);
    if let Some(config) = node.get("ProcessorConfig") {
        let mode = config.get("Mode").and_then(Node::text);
        if mode == Some("DISTRIBUTED") {
            let why = "is omitted: all elements are processed in the run of the plan";
            draft.changed(config.span, "`ProcessorConfig` of a machine", why);
        }
        let of = "the `ProcessorConfig` of a machine";
        draft.report_keys(config, of, "Mode ExecutionType", &[]);
    }
    for state in machine.states.values() {
        if state.name != machine.start && !machine.graph.reaches(machine.start, state.name) {
            let why = "is omitted: it is unreachable";
            draft.changed(state.entry.span, what(state), why);
        }
    }
}

/// Reports the fields of a state that have no place in the plan.
pub fn report_state(state: &State<'_>, draft: &mut Draft<'_>) {
    let kind = KINDS.iter().find(|(kind, _)| *kind == state.kind);
    let Some((_, [both, path, jsonata])) = kind else {
        return;
    };
    let (own, other, others, language) = if state.is_jsonata {
        (jsonata, path, "InputPath OutputPath", "JSONata")
    } else {
        (path, jsonata, "Output", "JSONPath")
    };
    for field in others.split_whitespace().chain(other.split_whitespace()) {
        if let Some(node) = state.get(field) {
            let why = format!("belongs to the other query language: the state is in {language}");
            draft.lost(node.span, format!("`{field}` of {}", what(state)), why);
        }
    }
    let mut known = [COMMON, both, own, other].join(" ");
    if state.kind != "Fail" {
        known = known + " " + CONTINUING;
    }
    if makes_step(state) {
        known += " Comment";
    }
    let is_open = makes_step(state) || state.kind == "Pass";
    if is_open && state.get("Next").is_none() && state.get("End").is_none() {
        let why = "is treated as the last one: it has neither `Next` nor `End`";
        draft.changed(state.entry.span, what(state), why);
    }
    let label = ("Label", "it only names the runs of its elements");
    draft.report_keys(&state.entry.value, &what(state), &known, &[COMMENT, label]);
    if let (Some(_), Some(node)) = (state.get("Result"), state.get("Parameters")) {
        let why = "is omitted: the state has a constant `Result`";
        draft.changed(node.span, format!("`Parameters` of {}", what(state)), why);
    }
    report_entries(state, draft);
}

/// Reports the fields of the rules and the error handlers of a state.
fn report_entries(state: &State<'_>, draft: &mut Draft<'_>) {
    let places = ["Choices", "Catch"].map(|field| state.items(field));
    for place in places.concat().iter().chain([&state.entry.value]) {
        if let Some(node) = place.get("Assign").filter(|node| node.entries().is_none()) {
            let why = "is omitted: it is not an object";
            draft.lost(node.span, format!("`Assign` of {}", what(state)), why);
        }
    }
    for rule in state.items("Choices") {
        report_rule(state, rule, draft);
    }
    for entry in state.items("Retry") {
        let of = format!("an entry of `Retry` of {}", what(state));
        let known =
            "ErrorEquals IntervalSeconds MaxAttempts BackoffRate MaxDelaySeconds JitterStrategy";
        draft.report_keys(entry, &of, known, &[COMMENT]);
        report_errors(entry, &of, draft);
    }
    for entry in state.items("Catch") {
        let of = format!("an entry of `Catch` of {}", what(state));
        let known = if state.is_jsonata {
            "ErrorEquals Next Assign Output"
        } else {
            "ErrorEquals Next Assign ResultPath"
        };
        draft.report_keys(entry, &of, known, &[COMMENT]);
        report_errors(entry, &of, draft);
        if entry.get("Next").and_then(Node::text).is_none() {
            draft.lost(entry.span, of, "has no `Next`, and is omitted");
        }
    }
}

/// Reports the comments of a rule, and a rule that leads nowhere.
fn report_rule(state: &State<'_>, rule: &Node, draft: &mut Draft<'_>) {
    let of = format!("a rule of {}", what(state));
    if rule.get("Next").and_then(Node::text).is_none() {
        draft.lost(rule.span, &*of, "has no `Next`, and is omitted");
    }
    if state.is_jsonata {
        draft.report_keys(rule, &of, "Condition Next Assign Output", &[COMMENT]);
        return;
    }
    let mut open = vec![rule];
    while let Some(rule) = open.pop() {
        if let Some(node) = rule.get("Comment") {
            let why = format!("is omitted: {}", COMMENT.1);
            draft.changed(node.span, format!("the key `Comment` of {of}"), why);
        }
        for operator in OPERATORS {
            open.extend(items(rule, operator));
            open.extend(rule.get(operator).filter(|_| operator == "Not"));
        }
    }
}

/// Reports an entry of `Retry` or `Catch` that names no errors.
fn report_errors(entry: &Node, of: &str, draft: &mut Draft<'_>) {
    let names = items(entry, "ErrorEquals");
    if !names.iter().any(|name| name.text().is_some()) {
        let why = "is for all errors in the plan: it does not name them in `ErrorEquals`";
        draft.changed(entry.span, of, why);
    }
}

/// Returns a step with the comment of its state as its documentation.
pub fn documented(mut step: Statement, state: &State<'_>) -> Statement {
    let comment = state.text("Comment").map(one_line);
    step.doc = comment.filter(|doc| !doc.is_empty()).map(Into::into);
    step
}

fn makes_step(state: &State<'_>) -> bool {
    matches!(state.kind, "Task" | "Wait" | "Map" | "Parallel")
}

fn what(state: &State<'_>) -> String {
    format!("state `{}`", super::short(state.name))
}
