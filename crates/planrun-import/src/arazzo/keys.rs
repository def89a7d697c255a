//! The fields of Arazzo documents; those that have no place in a plan are reported.

use std::collections::BTreeMap;

use planrun_lang::yaml::Node;

use super::resolved;
use super::steps::Step;
use crate::document::{entries, items};
use crate::draft::{Draft, excerpt, identifier};

/// The fields that hold the actions of a step, and those of a workflow.
const ACTIONS: [&str; 4] = ["onSuccess", "onFailure", "successActions", "failureActions"];

/// Reports the fields of a document and its sources, and the sources that have other names in the plan.
pub fn report_document(root: &Node, draft: &mut Draft<'_>) {
    let known = "arazzo sourceDescriptions workflows components";
    let omitted = [
        (
            "info",
            "it describes the document, and does not change what runs",
        ),
        ("$self", "a plan has no address"),
    ];
    draft.report_keys(root, "the document", known, &omitted);
    let mut namespaces: BTreeMap<String, &str> = BTreeMap::new();
    for source in items(root, "sourceDescriptions") {
        let omitted = [
            ("url", "the addresses of systems are in the project"),
            ("type", "the project describes its own systems"),
        ];
        draft.report_keys(source, "a source description", "name", &omitted);
        let Some(name) = source.get("name").and_then(Node::text) else {
            draft.lost(source.span, "a source description", "has no `name`");
            continue;
        };
        let namespace = identifier(name);
        let what = format!("the source description `{}`", excerpt(name));
        if namespaces
            .get(&namespace)
            .is_some_and(|first| *first != name)
        {
            let why = format!("is the namespace `{namespace}`, as is another one: rename it");
            draft.lost(source.span, what, why);
        } else if namespace != name {
            let why = format!("is the namespace `{namespace}` in the plan");
            draft.changed(source.span, what, why);
        }
        namespaces.entry(namespace).or_insert(name);
    }
}

/// Reports the fields of a workflow, with the schema of its inputs.
pub fn report_workflow(workflow: &Node, schema: Option<&Node>, what: &str, draft: &mut Draft<'_>) {
    let known = "workflowId summary description inputs dependsOn steps successActions failureActions \
                 outputs parameters";
    draft.report_keys(workflow, what, known, &[]);
    let Some(schema) = schema else { return };
    let of = format!("the inputs of {what}");
    if schema.get("$ref").is_some() {
        let why = "are not in this document, so the plan has no inputs";
        draft.lost(schema.span, of, why);
        return;
    }
    let prose = "it describes the inputs, and does not change what runs";
    let omitted = [
        (
            "additionalProperties",
            "a plan has only the inputs that it declares",
        ),
        ("title description $schema", prose),
    ];
    draft.report_keys(schema, &of, "type properties required", &omitted);
    for property in entries(schema, "properties") {
        let is_limited = |key: &str| !matches!(key, "default" | "title" | "description");
        let keys = property.value.entries().unwrap_or_default().iter();
        if keys.clone().any(|entry| is_limited(&entry.name)) {
            let what = format!("the schema of input `{}`", excerpt(&property.name));
            let why = "is omitted: declare the type of the input in the plan";
            draft.changed(property.value.span, what, why);
        }
    }
}

/// Reports the fields of a step and of its parts.
pub fn report_step(root: &Node, step: &Step<'_>, draft: &mut Draft<'_>) {
    let known = "stepId description operationId operationPath workflowId parameters requestBody \
                 successCriteria onSuccess onFailure outputs";
    let what = step.what();
    draft.report_keys(step.node, &what, known, &[]);
    if let Some(node) = step.node.get("requestBody") {
        let of = format!("the `requestBody` of {what}");
        let media = [("contentType", "the tool knows the format of its request")];
        draft.report_keys(node, &of, "payload replacements", &media);
    }
    report_criteria(step.node, "successCriteria", &what, draft);
    report_parts(root, step.node, &what, draft);
}

/// Reports the fields of the parameters and actions of a step or a workflow.
pub fn report_parts(root: &Node, holder: &Node, what: &str, draft: &mut Draft<'_>) {
    for node in items(holder, "parameters") {
        let of = format!("a parameter of {what}");
        for node in [node, resolved(root, node)] {
            draft.report_keys(node, &of, "name in value reference", &[]);
        }
    }
    for list in ACTIONS {
        for action in items(holder, list) {
            report_action(action, what, draft);
            report_action(resolved(root, action), what, draft);
        }
    }
}

fn report_action(action: &Node, what: &str, draft: &mut Draft<'_>) {
    let of = format!("an action of {what}");
    let known = "name type workflowId stepId retryAfter retryLimit criteria reference";
    draft.report_keys(action, &of, known, &[]);
    report_criteria(action, "criteria", &of, draft);
    for field in ["retryAfter", "retryLimit"] {
        let node = action.get(field);
        let is_number = |node: &&Node| {
            let number = node.scalar().and_then(|text| text.parse::<f64>().ok());
            number.is_some_and(|number| number >= 0.0)
        };
        if let Some(node) = node.filter(|node| !is_number(node)) {
            let why = "is not a constant number, so the default is used";
            draft.lost(node.span, format!("the `{field}` of {of}"), why);
        }
    }
}

fn report_criteria(holder: &Node, list: &str, what: &str, draft: &mut Draft<'_>) {
    for criterion in items(holder, list) {
        let of = format!("a criterion of {what}");
        draft.report_keys(criterion, &of, "context condition type", &[]);
    }
}
