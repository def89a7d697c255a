//! The steps of a workflow: their calls and their successors.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::yaml::Node;

use super::call::Called;
use super::statuses::{Criteria, Statuses};
use super::{Workflow, near, resolved};
use crate::control_flow::graph::{Graph, GraphNode, Termination};
use crate::control_flow::outcome;
use crate::document::{entries, items};
use crate::draft::{excerpt, identifier};

/// The node after all steps; no step has this id.
pub const END: &str = "";

/// The fields for success and failure actions, of a step and of its workflow.
const SUCCESS: (&str, &str) = ("onSuccess", "successActions");
const FAILURE: (&str, &str) = ("onFailure", "failureActions");

pub struct Step<'d> {
    pub id: &'d str,
    pub node: &'d Node,
    pub called: Called,
    /// The next step in the document, or [`END`].
    pub below: &'d str,
    pub criteria: Criteria<'d>,
    pub on_success: Vec<Action<'d>>,
    pub on_failure: Vec<Action<'d>>,
    pub retries: Vec<Retry<'d>>,
}

/// A retry action.
pub struct Retry<'d> {
    pub node: &'d Node,
    pub criteria: Criteria<'d>,
}

/// An action that follows a success or a failure.
pub struct Action<'d> {
    /// Its name, unique in its list.
    pub name: String,
    pub node: &'d Node,
    pub to: To<'d>,
    pub criteria: Criteria<'d>,
}

/// The target of an action.
pub enum To<'d> {
    Step(&'d str),
    /// The plan of the workflow with this id, which replaces the rest of this one.
    Workflow(&'d str),
    End,
    /// There is no counterpart, for this reason.
    Nowhere(String),
}

impl Action<'_> {
    /// Returns true if it follows every success.
    fn is_always_taken(&self) -> bool {
        let Criteria { statuses, others } = &self.criteria;
        others.is_empty() && statuses.as_ref().is_none_or(Statuses::are_good)
    }
}

impl Step<'_> {
    pub fn what(&self) -> String {
        format!("step `{}`", excerpt(self.id))
    }

    /// Returns the errors of its tool that are caught or retried.
    pub fn errors(&self) -> BTreeSet<String> {
        let caught = self.on_failure.iter().map(|action| &action.criteria);
        let criteria = caught.chain(self.retries.iter().map(|retry| &retry.criteria));
        let classes = criteria.filter_map(|criteria| criteria.statuses.as_ref()?.classes());
        let names = classes.flatten();
        let names = names.filter_map(|class| Some(class.strip_prefix("tool.")?.to_owned()));
        names.collect()
    }

    /// Returns whether successful answers have the statuses that these criteria require; `None` if only some do.
    pub fn answers_with(&self, criteria: &Criteria<'_>) -> Option<bool> {
        let Some(statuses) = &criteria.statuses else {
            return Some(true);
        };
        statuses.allow(self.criteria.statuses.as_ref().unwrap_or(statuses))
    }
}

/// The steps of a workflow.
pub struct Steps<'d> {
    pub start: &'d str,
    pub by_id: BTreeMap<&'d str, Step<'d>>,
    pub graph: Graph<'d>,
    /// The variable for each output of each step during the import.
    outputs: BTreeMap<&'d str, BTreeMap<&'d str, String>>,
}

impl<'d> Steps<'d> {
    /// Returns the outputs of a step, each with its variable.
    pub fn outputs(&self, id: &str) -> Option<&BTreeMap<&'d str, String>> {
        self.outputs.get(id)
    }

    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.by_id.keys().copied()
    }
}

impl<'d> Workflow<'_, 'd, '_> {
    /// Reads the steps of this workflow that call something.
    pub fn steps(&mut self) -> Steps<'d> {
        let mut found: Vec<(&str, &Node, Called)> = Vec::new();
        for node in items(self.node, "steps") {
            let Some(id) = node
                .get("stepId")
                .and_then(Node::text)
                .filter(|id| *id != END)
            else {
                self.draft.lost(node.span, "a step", "has no `stepId`");
                continue;
            };
            let what = format!("step `{}`", excerpt(id));
            if found.iter().any(|(there, ..)| *there == id) {
                self.draft.lost(node.span, what, "another step has this id");
            } else if let Some(called) = self.called(node, &what) {
                found.push((id, node, called));
            }
        }
        let ids: Vec<&str> = found.iter().map(|(id, ..)| *id).collect();
        let mut by_id = BTreeMap::new();
        for (number, (id, node, called)) in found.into_iter().enumerate() {
            let mut retries = Vec::new();
            let on_success = self.actions(node, SUCCESS, &ids, None);
            let on_failure = self.actions(node, FAILURE, &ids, Some(&mut retries));
            let step = Step {
                id,
                node,
                called,
                below: ids.get(number + 1).copied().unwrap_or(END),
                criteria: Criteria::read(node, "successCriteria"),
                on_success,
                on_failure,
                retries,
            };
            by_id.insert(id, step);
        }
        let outputs = variables(&by_id);
        Steps {
            start: ids.first().copied().unwrap_or(END),
            graph: graph(&by_id, &outputs),
            by_id,
            outputs,
        }
    }

    /// Returns the actions of a step, and those of its workflow that it does not override. Retry actions that run
    /// nothing before the next attempt go into `retries`, if it is given.
    fn actions(
        &self,
        step: &'d Node,
        (own, shared): (&str, &str),
        ids: &[&'d str],
        mut retries: Option<&mut Vec<Retry<'d>>>,
    ) -> Vec<Action<'d>> {
        let (mut actions, mut names) = (Vec::new(), BTreeSet::from([outcome::NEXT.to_owned()]));
        let own = items(step, own).iter();
        let own: Vec<&Node> = own.map(|node| resolved(self.root, node)).collect();
        let name_of = |action: &'d Node| {
            let name = action.get("name").or(action.get("reference"));
            name.and_then(Node::text)
        };
        let shared = items(self.node, shared).iter();
        let shared = shared
            .map(|node| resolved(self.root, node))
            .filter(|action| {
                let name = name_of(action);
                name.is_none() || own.iter().all(|own| name_of(own) != name)
            });
        for node in own.iter().copied().chain(shared) {
            let criteria = Criteria::read(node, "criteria");
            let kind = node.get("type").and_then(Node::text).unwrap_or_default();
            let leads = ["stepId", "workflowId"].map(|field| node.get(field).is_some());
            match &mut retries {
                Some(retries) if kind == "retry" && leads == [false, false] => {
                    retries.push(Retry { node, criteria });
                }
                retries => actions.push(Action {
                    name: unique(name_of(node).unwrap_or(kind), &mut names),
                    node,
                    to: self.target_of(node, kind, retries.is_some(), ids),
                    criteria,
                }),
            }
        }
        actions
    }

    fn target_of(&self, action: &'d Node, kind: &str, may_retry: bool, ids: &[&'d str]) -> To<'d> {
        let text = |field: &str| action.get(field).and_then(Node::text);
        match (kind, text("stepId"), text("workflowId")) {
            ("end", ..) => To::End,
            ("retry", ..) if may_retry => To::Nowhere(
                "nothing can run between two attempts of a call: write a step before the call"
                    .to_owned(),
            ),
            ("goto", Some(id), _) => match ids.iter().find(|there| **there == id) {
                Some(id) => To::Step(id),
                None => To::Nowhere(format!(
                    "there is no step `{}`{}",
                    excerpt(id),
                    near(id, ids.iter().copied())
                )),
            },
            ("goto", None, Some(id)) => match self.heads.get(id) {
                Some(head) if head.needs_inputs() => To::Nowhere(format!(
                    "the workflow `{}` requires inputs, but a `goto` passes none: write a step that calls it",
                    excerpt(id)
                )),
                Some(_) => To::Workflow(id),
                None => To::Nowhere(format!(
                    "the workflow `{}` is not in this document{}",
                    excerpt(id),
                    near(id, self.heads.keys().map(String::as_str))
                )),
            },
            ("", ..) => To::Nowhere("unknown action".to_owned()),
            _ => To::Nowhere(format!("`{}` is not an action", excerpt(kind))),
        }
    }
}

/// Returns a name that is not taken yet.
fn unique(base: &str, taken: &mut BTreeSet<String>) -> String {
    let mut name = base.to_owned();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{base}_{number}");
    }
    name
}

/// Returns a unique variable name for each output of each step.
fn variables<'d>(
    steps: &BTreeMap<&'d str, Step<'d>>,
) -> BTreeMap<&'d str, BTreeMap<&'d str, String>> {
    let mut taken = BTreeSet::new();
    let mut variables = BTreeMap::new();
    for step in steps.values() {
        let mut own = BTreeMap::new();
        for entry in entries(step.node, "outputs") {
            let name = identifier(&format!("{}_{}", step.id, entry.name));
            let name = unique(&name, &mut taken);
            own.insert(entry.name.as_str(), name);
        }
        variables.insert(step.id, own);
    }
    variables
}

fn graph<'d>(
    steps: &BTreeMap<&'d str, Step<'d>>,
    outputs: &BTreeMap<&'d str, BTreeMap<&'d str, String>>,
) -> Graph<'d> {
    let node_of = |step: &Step<'d>, is_left: bool| {
        let mut targets = Vec::new();
        let actions = step.on_success.iter().chain(&step.on_failure);
        for action in actions {
            match action.to {
                To::Step(id) => targets.push(id),
                To::End if is_left => targets.push(END),
                _ => {}
            }
        }
        if !step.on_success.iter().any(Action::is_always_taken) {
            targets.push(step.below);
        }
        let sets = outputs.get(step.id).into_iter().flat_map(BTreeMap::values);
        GraphNode {
            name: step.id,
            span: step.node.span,
            kind: step.called.describe(),
            targets,
            termination: Termination::Never,
            sets: sets.cloned().collect(),
        }
    };
    let graph: Graph<'_> = steps.values().map(|step| node_of(step, false)).collect();
    // A loop may end only at its exit, so an end inside a loop is a branch to the end of the workflow.
    let is_in_loop = |step: &Step<'d>| graph.reaches(step.id, step.id);
    let steps = steps.values();
    steps.map(|step| node_of(step, is_in_loop(step))).collect()
}
