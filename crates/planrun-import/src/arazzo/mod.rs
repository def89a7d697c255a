//! Workflows of Arazzo, with the operations of their OpenAPI documents.

mod attempts;
mod call;
mod criterion;
mod keys;
mod runtime;
mod statuses;
mod steps;
mod walk;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::diag::closest;
use planrun_lang::syntax::ast::{Expr, File, Parameter, Statement, StepBody};
use planrun_lang::yaml::{Entry, Node};

use crate::control_flow::{Flow, Region, Stop, Walk as _, Written};
use crate::document::{Refused, entries, items};
use crate::draft::{Draft, Made, excerpt, identifier, parameter};
use crate::expression::value::Value;
use crate::tree;
use runtime::View;
use steps::{END, Steps};

/// The most workflows of a document, and the most steps of a workflow.
const MAX_PARTS: usize = 500;

/// Returns true if a document looks like workflows of Arazzo.
pub fn recognizes(root: &Node) -> bool {
    root.get("arazzo").is_some() && root.get("workflows").is_some()
}

/// The state of the import of one workflow.
pub struct Workflow<'x, 'd, 't> {
    pub draft: &'x mut Draft<'t>,
    pub root: &'d Node,
    pub node: &'d Node,
    /// The heads of the plans of all workflows, by id.
    pub heads: &'x BTreeMap<String, Head>,
    /// The names of its inputs in the plan.
    inputs: &'x BTreeMap<String, String>,
    /// The steps that call the workflows on which this one depends, by the id of the workflow.
    before: BTreeMap<&'d str, String>,
    /// The name of an error in the arms that catch it.
    error: String,
    /// The holes for expressions without a counterpart, by position and text.
    holes: BTreeMap<(u32, String), Expr>,
    written: Written,
}

/// The parts of a plan that are known before its workflow is translated.
pub struct Head {
    pub plan: String,
    parameters: Vec<Input>,
    /// The names of its inputs in the plan.
    pub inputs: BTreeMap<String, String>,
}

impl Head {
    /// Returns true if it cannot be called without arguments.
    pub fn needs_inputs(&self) -> bool {
        let is_needed = |input: &Input| !input.is_optional && input.default.is_none();
        self.parameters.iter().any(is_needed)
    }
}

/// An input of a workflow, with its name in the plan.
struct Input {
    name: String,
    is_optional: bool,
    default: Option<Expr>,
}

impl Input {
    fn parameter(&self) -> Parameter {
        Parameter {
            default: self.default.clone(),
            ..parameter(&self.name, self.is_optional)
        }
    }
}

/// Returns the plans for the workflows of a document. Returns an error if there are no workflows, if there are more
/// than [`MAX_PARTS`] workflows or steps of a workflow, or if a workflow is invalid.
pub fn import(root: &Node, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let workflows = items(root, "workflows");
    let steps = workflows
        .iter()
        .map(|workflow| items(workflow, "steps").len());
    let most = steps.chain([workflows.len()]).max().unwrap_or_default();
    if workflows.is_empty() || most > MAX_PARTS {
        let message = format!(
            "a document must have 1 to {MAX_PARTS} workflows, each with at most {MAX_PARTS} steps"
        );
        return Err(Refused::new(root.span, message, "split it"));
    }
    keys::report_document(root, draft);
    // The namespace of operations if there are no sources.
    draft.reserve(call::API);
    let sources = items(root, "sourceDescriptions").iter();
    for name in sources.filter_map(|source| source.get("name")?.text()) {
        draft.reserve(&identifier(name));
    }
    let heads = heads(root, workflows, draft);
    let (mut made, mut ids) = (Vec::new(), BTreeSet::new());
    for workflow in workflows {
        let id = workflow.get("workflowId").and_then(Node::text);
        let Some((id, head)) = id.and_then(|id| Some((id, heads.get(id)?))) else {
            let why = "has no `workflowId`";
            draft.lost(workflow.span, "a workflow", why);
            continue;
        };
        if !ids.insert(id) {
            // It has no plan of its own, which is already reported.
            continue;
        }
        draft.carried(
            workflow.span,
            format!("workflow `{}`", excerpt(id)),
            format!("the plan `{}`", head.plan),
        );
        let outside = draft.names();
        head.inputs.values().for_each(|name| draft.reserve(name));
        let error = draft.name("e");
        let mut one = Workflow {
            draft,
            root,
            node: workflow,
            heads: &heads,
            inputs: &head.inputs,
            before: BTreeMap::new(),
            error,
            holes: BTreeMap::new(),
            written: Written::default(),
        };
        let plan = one.plan(head.parameters.iter().map(Input::parameter).collect())?;
        made.push((head.plan.clone(), plan));
        draft.restore(outside);
    }
    Ok(draft.file_of(made))
}

/// Returns the names of all plans and their inputs. Names inside a plan may be reused by other plans, but no name
/// inside a plan may be the name of a plan.
fn heads(root: &Node, workflows: &[Node], draft: &mut Draft<'_>) -> BTreeMap<String, Head> {
    let outside = draft.names();
    let mut heads = BTreeMap::new();
    for workflow in workflows {
        if let Some(id) = workflow.get("workflowId").and_then(Node::text) {
            if heads.contains_key(id) {
                let what = format!("workflow `{}`", excerpt(id));
                draft.lost(workflow.span, what, "another workflow has this id");
                continue;
            }
            let plan = draft.name(id);
            let plans = draft.names();
            draft.restore(outside.clone());
            let what = format!("workflow `{}`", excerpt(id));
            let (parameters, inputs) = parameters(root, workflow, &what, draft);
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

/// Returns the inputs of a workflow, and their names in its plan.
fn parameters(
    root: &Node,
    workflow: &Node,
    what: &str,
    draft: &mut Draft<'_>,
) -> (Vec<Input>, BTreeMap<String, String>) {
    let schema = workflow.get("inputs").map(|schema| resolved(root, schema));
    keys::report_workflow(workflow, schema, what, draft);
    let properties = schema.map_or(&[] as &[Entry], |schema| entries(schema, "properties"));
    let required = schema.map_or(&[] as &[Node], |schema| items(schema, "required"));
    let required: BTreeSet<&str> = required.iter().filter_map(Node::text).collect();
    let (mut parameters, mut inputs) = (Vec::new(), BTreeMap::new());
    for property in properties {
        let name = draft.name_of(&property.name, property.span, "input");
        inputs.insert(property.name.clone(), name.clone());
        let default = property.value.get("default").map(tree::constant);
        parameters.push(Input {
            name,
            is_optional: default.is_none() && !required.contains(property.name.as_str()),
            default,
        });
    }
    (parameters, inputs)
}

/// Returns a part of the document, or the component to which it refers.
fn resolved<'d>(root: &'d Node, node: &'d Node) -> &'d Node {
    let reference = node
        .get("$ref")
        .or(node.get("reference"))
        .and_then(Node::text);
    let Some(reference) = reference else {
        return node;
    };
    let found = match reference.strip_prefix("#/") {
        Some(path) => path
            .split('/')
            .map(|part| part.replace("~1", "/").replace("~0", "~"))
            .try_fold(root, |node, part| node.get(&part)),
        // The name of a component may contain dots.
        None => reference
            .trim_start_matches('$')
            .splitn(3, '.')
            .try_fold(root, |node, part| node.get(part)),
    };
    found.unwrap_or(node)
}

impl<'d> Workflow<'_, 'd, '_> {
    fn plan(&mut self, parameters: Vec<Parameter>) -> Result<Made, Refused> {
        let id = self.node.get("workflowId").and_then(Node::text);
        let what = format!("workflow `{}`", excerpt(id.unwrap_or_default()));
        keys::report_parts(self.root, self.node, &what, self.draft);
        let mut body = self.those_before();
        let steps = self.steps();
        let flow = Flow::of(Value::Nothing);
        let mut region = Region::plan();
        region.stops.insert(END, Stop::Join);
        if let Some((_, flow)) = self.walk(&steps, steps.start, flow, &region, &mut body)? {
            let outputs = self.outputs(&steps, &flow);
            body.push(tree::reply(outputs));
        }
        for step in steps
            .by_id
            .values()
            .filter(|step| !self.written.has(step.node.span, step.id))
        {
            let why = "is omitted: it is unreachable";
            self.draft.changed(step.node.span, step.what(), why);
        }
        let text = |field: &str| self.node.get(field).and_then(Node::text);
        let texts = ["summary", "description"].into_iter().filter_map(text);
        let doc = texts.collect::<Vec<_>>().join(": ");
        Ok(Made {
            doc: Some(doc),
            parameters,
            returns: Some(tree::type_named("any")),
            body,
        })
    }

    /// Returns the steps that call the workflows on which this one depends.
    fn those_before(&mut self) -> Vec<Statement> {
        let mut body = Vec::new();
        let list = self.node.get("dependsOn");
        let single = list.filter(|node| node.items().is_none());
        for node in items(self.node, "dependsOn").iter().chain(single) {
            let id = node.text().unwrap_or_default();
            let what = format!("`dependsOn` of the workflow `{}`", excerpt(id));
            let why = match self.heads.get(id) {
                None => format!(
                    "is not in this document{}",
                    near(id, self.heads.keys().map(String::as_str))
                ),
                Some(head) if head.needs_inputs() => {
                    "requires inputs, which `dependsOn` does not pass: write a step that calls it"
                        .to_owned()
                }
                Some(_) => {
                    let name = self.draft.name(id);
                    let call = self.call_of_plan(id, Vec::new());
                    body.push(tree::step(&name, StepBody::Call(call), Vec::new()));
                    let why = "is called first, each time this workflow runs";
                    self.draft.changed(node.span, what, why);
                    self.before.insert(id, name);
                    continue;
                }
            };
            self.draft.lost(node.span, what, why);
        }
        body
    }

    /// Returns the outputs of the workflow.
    pub fn outputs(&mut self, steps: &Steps<'d>, flow: &Flow) -> Expr {
        let view = View::before(steps, END, flow);
        let outputs = entries(self.node, "outputs").iter();
        tree::object(outputs.map(|entry| (&entry.name, self.value(&entry.value, &view))))
    }
}

/// Formats a suggestion of a similar name; empty if there is none.
fn near<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let near = closest(name, names);
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
