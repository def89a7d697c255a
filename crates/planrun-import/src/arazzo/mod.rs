//! Workflows of Arazzo, over the operations of their OpenAPI documents.

mod criterion;
mod runtime;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::syntax::ast::{Expr, File, Parameter};
use planrun_lang::yaml::{Content, Node};

use crate::document::{Refused, entries, items};
use crate::draft::{Draft, Made, excerpt, identifier, parameter};
use crate::tree;

/// More workflows, or more steps of one, are refused.
const MAX_PARTS: usize = 500;

/// Whether a document looks like workflows of Arazzo.
pub fn recognizes(root: &Node) -> bool {
    root.get("arazzo").is_some() && root.get("workflows").is_some()
}

/// What is known of one workflow while its plan is made.
pub struct Workflow<'x, 'd, 't> {
    pub draft: &'x mut Draft<'t>,
    pub root: &'d Node,
    /// The plan of each workflow.
    pub plans: &'x BTreeMap<String, String>,
    inputs: BTreeMap<String, String>,
    /// The steps above, by their ids.
    done: BTreeMap<String, Done>,
}

/// A step that stands above.
struct Done {
    outputs: BTreeMap<String, Expr>,
}

/// The plans that the workflows of a document are.
///
/// # Errors
/// Where it has no workflows, or more than are read.
pub fn import(root: &Node, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let workflows = items(root, "workflows");
    let steps = workflows
        .iter()
        .map(|workflow| items(workflow, "steps").len());
    let most = steps.chain([workflows.len()]).max().unwrap_or_default();
    if workflows.is_empty() || most > MAX_PARTS {
        let message = format!("a document has one to {MAX_PARTS} workflows, of as many steps each");
        return Err(Refused::new(root.span, message, "split it"));
    }
    let sources = items(root, "sourceDescriptions").iter();
    for name in sources.filter_map(|source| source.get("name")?.text()) {
        draft.reserve(&identifier(name));
    }
    let ids = workflows
        .iter()
        .filter_map(|workflow| workflow.get("workflowId")?.text());
    let plans: BTreeMap<String, String> = ids.map(|id| (id.to_owned(), draft.name(id))).collect();
    let mut made = Vec::new();
    for workflow in workflows {
        let id = workflow.get("workflowId").and_then(Node::text);
        let Some((id, name)) = id.and_then(|id| Some((id, plans.get(id)?))) else {
            let why = "has no `workflowId`";
            draft.lost(workflow.span, "a workflow", why);
            continue;
        };
        draft.carried(
            workflow.span,
            format!("workflow `{}`", excerpt(id)),
            format!("the plan `{name}`"),
        );
        let mut one = Workflow {
            draft,
            root,
            plans: &plans,
            inputs: BTreeMap::new(),
            done: BTreeMap::new(),
        };
        made.push((name.clone(), one.plan(workflow)));
    }
    Ok(draft.file_of(made))
}

impl<'d> Workflow<'_, 'd, '_> {
    fn plan(&mut self, workflow: &'d Node) -> Made {
        let parameters = self.parameters(workflow);
        let mut body = Vec::new();
        for step in items(workflow, "steps") {
            self.step(step, workflow, &mut body);
        }
        for part in ["dependsOn", "successActions", "failureActions"] {
            if let Some(node) = workflow.get(part) {
                let why = "is not carried: say it at the steps, or call one plan from the other";
                self.draft
                    .lost(node.span, format!("`{part}` of a workflow"), why);
            }
        }
        let outputs = entries(workflow, "outputs");
        let fields = outputs
            .iter()
            .map(|entry| (entry.name.clone(), self.value(&entry.value, None)));
        let reply = tree::object(fields.collect());
        body.push(tree::reply(reply));
        let text = |field: &str| workflow.get(field).and_then(Node::text).map(str::to_owned);
        Made {
            doc: text("summary").or_else(|| text("description")),
            parameters,
            returns: Some(tree::type_named("any")),
            body,
        }
    }

    fn parameters(&mut self, workflow: &'d Node) -> Vec<Parameter> {
        let schema = workflow.get("inputs").map(|schema| self.resolved(schema));
        let properties = schema
            .and_then(|schema| schema.get("properties")?.entries())
            .unwrap_or_default();
        let required = schema
            .and_then(|schema| schema.get("required")?.items())
            .unwrap_or_default();
        let required: BTreeSet<&str> = required.iter().filter_map(Node::text).collect();
        let mut parameters = Vec::new();
        for property in properties {
            let name = self.draft.name_of(&property.name, property.span, "input");
            parameters.push(parameter(&name, !required.contains(property.name.as_str())));
            self.inputs.insert(property.name.clone(), name);
        }
        parameters
    }

    /// A part of the document, or the component to which it refers.
    pub fn resolved(&self, node: &'d Node) -> &'d Node {
        let reference = node
            .get("$ref")
            .or(node.get("reference"))
            .and_then(Node::text);
        let Some(reference) = reference else {
            return node;
        };
        let path = reference.trim_start_matches("#/").trim_start_matches('$');
        let found = path
            .split(['/', '.'])
            .try_fold(self.root, |node, part| node.get(part));
        found.unwrap_or(node)
    }

    /// A value with runtime expressions in its texts; `response` is what the step gives whose outputs these are.
    pub fn value(&mut self, node: &Node, response: Option<&Expr>) -> Expr {
        match &node.content {
            Content::Text(text) => self.text(text, node.span, response),
            Content::List(items) => tree::list(
                items
                    .iter()
                    .map(|item| self.value(item, response))
                    .collect(),
            ),
            Content::Map(entries) => {
                let fields = entries
                    .iter()
                    .map(|entry| (entry.name.clone(), self.value(&entry.value, response)));
                tree::object(fields.collect())
            }
            Content::Null | Content::Bool(_) | Content::Number(_) => tree::constant(node),
        }
    }

    /// A name that is near to one that does not exist.
    fn near<'n>(wanted: &str, names: impl Iterator<Item = &'n String>) -> String {
        let near = closest(wanted, names.map(String::as_str));
        near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
    }
}
