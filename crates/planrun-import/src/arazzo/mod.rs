//! Workflows of Arazzo, over the operations of their OpenAPI documents.

mod criterion;
mod runtime;
mod step;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::syntax::ast::{Expr, File, Parameter};
use planrun_lang::yaml::{Content, Entry, Node};

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
    /// The plan that each workflow is, by its id.
    pub heads: &'x BTreeMap<String, Head>,
    /// The names of its inputs in the plan.
    inputs: &'x BTreeMap<String, String>,
    /// The steps above, by their ids.
    done: BTreeMap<String, Done>,
}

/// What can be known of the plan of a workflow before it is made.
pub struct Head {
    pub plan: String,
    /// Each with whether it may be left out.
    parameters: Vec<(String, bool)>,
    /// The names of inputs in the plan.
    pub inputs: BTreeMap<String, String>,
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
    let heads = heads(root, workflows, draft);
    let mut made = Vec::new();
    for workflow in workflows {
        let id = workflow.get("workflowId").and_then(Node::text);
        let Some((id, head)) = id.and_then(|id| Some((id, heads.get(id)?))) else {
            let why = "has no `workflowId`";
            draft.lost(workflow.span, "a workflow", why);
            continue;
        };
        draft.carried(
            workflow.span,
            format!("workflow `{}`", excerpt(id)),
            format!("the plan `{}`", head.plan),
        );
        let outside = draft.names();
        head.inputs.values().for_each(|name| draft.reserve(name));
        let mut one = Workflow {
            draft,
            root,
            heads: &heads,
            inputs: &head.inputs,
            done: BTreeMap::new(),
        };
        let parameters = head.parameters.iter();
        let parameters = parameters.map(|(name, optional)| parameter(name, *optional));
        let plan = one.plan(workflow, parameters.collect());
        made.push((head.plan.clone(), plan));
        draft.restore(outside);
    }
    Ok(draft.file_of(made))
}

/// The names of all plans and of their inputs. Each plan has names of its own, and nothing but a plan is called as a plan
/// is.
fn heads(root: &Node, workflows: &[Node], draft: &mut Draft<'_>) -> BTreeMap<String, Head> {
    let outside = draft.names();
    let mut heads = BTreeMap::new();
    for workflow in workflows {
        if let Some(id) = workflow.get("workflowId").and_then(Node::text) {
            let plan = draft.name(id);
            let plans = draft.names();
            draft.restore(outside.clone());
            let (parameters, inputs) = parameters(root, workflow, draft);
            draft.restore(plans);
            let head = Head {
                plan,
                parameters,
                inputs,
            };
            heads.insert(id.to_owned(), head);
        }
    }
    draft.restore(outside);
    heads
}

/// The inputs of a workflow, and what they are called in its plan.
fn parameters(
    root: &Node,
    workflow: &Node,
    draft: &mut Draft<'_>,
) -> (Vec<(String, bool)>, BTreeMap<String, String>) {
    let schema = workflow.get("inputs").map(|schema| resolved(root, schema));
    let properties = schema.map_or(&[] as &[Entry], |schema| entries(schema, "properties"));
    let required = schema.map_or(&[] as &[Node], |schema| items(schema, "required"));
    let required: BTreeSet<&str> = required.iter().filter_map(Node::text).collect();
    let (mut parameters, mut inputs) = (Vec::new(), BTreeMap::new());
    for property in properties {
        let name = draft.name_of(&property.name, property.span, "input");
        inputs.insert(property.name.clone(), name.clone());
        parameters.push((name, !required.contains(property.name.as_str())));
    }
    (parameters, inputs)
}

/// A part of the document, or the component to which it refers.
fn resolved<'d>(root: &'d Node, node: &'d Node) -> &'d Node {
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
        .try_fold(root, |node, part| node.get(part));
    found.unwrap_or(node)
}

impl<'d> Workflow<'_, 'd, '_> {
    fn plan(&mut self, workflow: &'d Node, parameters: Vec<Parameter>) -> Made {
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

    /// A part of the document, or the component to which it refers.
    pub fn resolved(&self, node: &'d Node) -> &'d Node {
        resolved(self.root, node)
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
