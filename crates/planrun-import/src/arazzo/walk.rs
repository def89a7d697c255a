//! Writes the steps of a workflow: each is a node, and its actions are its branches.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{BinaryOp, Expr, Statement, StatementKind, StepBody};

use super::call::Called;
use super::criterion::written;
use super::runtime::View;
use super::statuses::Statuses;
use super::steps::{Action, END, Step, Steps, To};
use super::{Workflow, keys};
use crate::control_flow::graph::Graph;
use crate::control_flow::{
    Branch, Continuation, Continued, End, Flow, Region, Target, Walk, Written, outcome,
};
use crate::document::{entries, items};
use crate::draft::{Draft, excerpt, one_line};
use crate::expression::value::Value;
use crate::tree;

impl<'d, 't> Walk<'d, 't> for Workflow<'_, 'd, 't> {
    type Scope = Steps<'d>;
    const NODE_WORD: &'static str = "step";

    fn draft(&mut self) -> &mut Draft<'t> {
        self.draft
    }

    fn written(&mut self) -> &mut Written {
        &mut self.written
    }

    fn graph<'s>(steps: &'s Steps<'d>) -> &'s Graph<'d> {
        &steps.graph
    }

    fn write_node(
        &mut self,
        steps: &Steps<'d>,
        name: &'d str,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Continued<'d> {
        let Some(step) = steps.by_id.get(name) else {
            return Ok(Continuation::Finished(None));
        };
        let branches = self.step(steps, step, flow, region, out);
        self.write_branches(steps, step.id, branches, region, out)
    }
}

impl<'d> Workflow<'_, 'd, '_> {
    /// Writes a step. Returns the branches after it.
    fn step(
        &mut self,
        steps: &Steps<'d>,
        step: &Step<'d>,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Vec<Branch<'d>> {
        keys::report_step(self.root, step, self.draft);
        let before = View::before(steps, step.id, flow);
        let name = self.draft.name_of(step.id, step.node.span, "step");
        let (arms, tags) = self.arms(step, &before);
        let (inner, body) = if arms.is_empty() {
            (name.clone(), tree::variable(&name))
        } else {
            let inner = self.draft.name(&format!("{}_done", step.id));
            (inner, outcome::value_of(&name))
        };
        let gives = match &step.called {
            Called::Tool(namespace, tool) => self.draft.signature(namespace, tool),
            Called::Plan(_) => None,
        };
        let gives = gives.map(|signature| &signature.returns);
        let within = before.behind(tree::variable(&inner), gives);
        let answered = before.behind(body, gives);

        let promises = self.promises(step, &within);
        let attempts = self.attempts(step, &promises, &within);
        let call = self.call(step, &before);
        let mut done = vec![tree::step(&inner, StepBody::Call(call), attempts.clauses)];
        let answers: Vec<&Action<'d>> = match (promises.is_empty(), attempts.polls) {
            (false, false) => step.on_failure.iter().collect(),
            _ => Vec::new(),
        };
        let answers = self.open(step, answers, &answered);
        if answers.is_empty() && !attempts.suffices {
            done.extend(promises.into_iter().map(ensure));
        }
        if !arms.is_empty() {
            done = vec![outcome::step(&name, done, tree::variable(&inner), arms)];
        }
        if let (Some(first), Some(doc)) = (done.first_mut(), step.node.get("description")) {
            let doc = one_line(doc.text().unwrap_or_default());
            first.doc = (!doc.is_empty()).then(|| doc.into());
        }
        out.extend(done);

        self.branches_after(step, (&name, &tags), answers, &answered, region)
    }

    /// Returns the branches after a step: those of caught failures, those of answers that violate the criteria, and
    /// those of success.
    fn branches_after(
        &mut self,
        step: &Step<'d>,
        (name, tags): (&str, &BTreeSet<String>),
        answers: Vec<(&Action<'d>, Option<Expr>)>,
        answered: &View<'_, 'd>,
        region: &Region<'d>,
    ) -> Vec<Branch<'d>> {
        let mut branches = Vec::new();
        for action in &step.on_failure {
            if tags.contains(&action.name) {
                let condition = outcome::has_tag(name, &action.name);
                branches.push(self.branch_of(step, action, Some(condition), answered, region));
            }
        }
        if !answers.is_empty() {
            self.broken(step, answers, answered, region, &mut branches);
        }
        let flow = self.after(step, answered);
        let after = View::before(answered.steps, step.id, &flow);
        for (action, condition) in self.open(step, step.on_success.iter().collect(), answered) {
            let is_last = condition.is_none();
            branches.push(self.branch_of(step, action, condition, &after, region));
            if is_last {
                return branches;
            }
        }
        branches.push(Branch::new(None, Target::Node(step.below), flow));
        branches
    }

    /// Returns the conditions that an answer has to satisfy, each with its failure message.
    fn promises(&mut self, step: &Step<'d>, view: &View<'_, 'd>) -> Vec<(Expr, Expr)> {
        let mut promises = Vec::new();
        for criterion in items(step.node, "successCriteria") {
            let condition = match Statuses::asked(criterion) {
                Some(asked) if asked.are_good() => continue,
                Some(_) => {
                    let what = format!("the criterion `{}`", excerpt(written(criterion)));
                    let why = "a call with such a status in its response fails, so its tool returns nothing";
                    self.hole(criterion.span, what, why)
                }
                None => self.criterion(criterion, view),
            };
            let message = format!("{}: {}", step.id, excerpt(written(criterion)));
            promises.push((condition, tree::text(&message)));
        }
        promises
    }

    /// Returns the actions that can follow an answer, each with its condition, up to the first without a condition.
    fn open<'s>(
        &mut self,
        step: &Step<'d>,
        actions: Vec<&'s Action<'d>>,
        view: &View<'_, 'd>,
    ) -> Vec<(&'s Action<'d>, Option<Expr>)> {
        let mut open = Vec::new();
        for action in actions {
            let what = || format!("`{}` of {}", excerpt(&action.name), step.what());
            let mut conditions: Vec<Expr> = Vec::new();
            match step.answers_with(&action.criteria) {
                Some(true) => {}
                Some(false) => continue,
                None => {
                    let why = "a tool returns the body of a response, but not which success status it has";
                    conditions.push(self.hole(action.node.span, what(), why));
                }
            }
            conditions.extend(self.all_hold(&action.criteria.others, view));
            let condition = tree::joined(conditions, BinaryOp::And);
            let is_last = condition.is_none();
            open.push((action, condition));
            if is_last {
                break;
            }
        }
        open
    }

    /// Adds the branches of an answer that violates the criteria.
    fn broken(
        &mut self,
        step: &Step<'d>,
        actions: Vec<(&Action<'d>, Option<Expr>)>,
        answered: &View<'_, 'd>,
        region: &Region<'d>,
        branches: &mut Vec<Branch<'d>>,
    ) {
        let promises = self.promises(step, answered);
        let message = promises.first().map(|(_, message)| message.clone());
        let conditions = promises.into_iter().map(|(condition, _)| condition);
        let Some(holds) = tree::joined(conditions.collect(), BinaryOp::And) else {
            return;
        };
        let is_broken = tree::not(holds);
        for (action, condition) in actions {
            let is_last = condition.is_none();
            let conditions = [Some(is_broken.clone()), condition];
            let condition = tree::joined(conditions.into_iter().flatten().collect(), BinaryOp::And);
            branches.push(self.branch_of(step, action, condition, answered, region));
            if is_last {
                return;
            }
        }
        let message = message.unwrap_or_else(|| tree::text(step.id));
        branches.push(Branch {
            condition: Some(is_broken),
            prelude: vec![tree::fail("validation.ensure", message)],
            to: Target::Finished,
            flow: answered.flow.clone(),
        });
    }

    /// Returns the branch of an action.
    fn branch_of(
        &mut self,
        step: &Step<'d>,
        action: &Action<'d>,
        condition: Option<Expr>,
        view: &View<'_, 'd>,
        region: &Region<'d>,
    ) -> Branch<'d> {
        let replies = region.end == End::Reply;
        let (prelude, to) = match &action.to {
            To::Step(id) => (Vec::new(), Target::Node(id)),
            To::End if replies => {
                let reply = tree::reply(self.outputs(view.steps, view.flow));
                (vec![reply], Target::Finished)
            }
            To::End => (Vec::new(), Target::Node(END)),
            To::Workflow(id) if replies => {
                let name = self.draft.name(id);
                let call = StepBody::Call(self.call_of_plan(id, Vec::new()));
                let step = tree::step(&name, call, Vec::new());
                (
                    vec![step, tree::reply(tree::variable(&name))],
                    Target::Finished,
                )
            }
            to => {
                let why = match to {
                    To::Nowhere(why) => why,
                    _ => "a block inside a step can end only that step, not the plan",
                };
                let what = format!("`{}` of {}", excerpt(&action.name), step.what());
                let hole = self.hole(action.node.span, what, why);
                (vec![tree::fail("tool.not_carried", hole)], Target::Finished)
            }
        };
        Branch {
            condition,
            prelude,
            to,
            flow: view.flow.clone(),
        }
    }

    /// Returns the values that are known after a step that did not fail.
    fn after(&mut self, step: &Step<'d>, view: &View<'_, 'd>) -> Flow {
        let mut after = view.flow.clone();
        for entry in entries(step.node, "outputs") {
            let value = self.value(&entry.value, view);
            let variable = view
                .steps
                .outputs(step.id)
                .and_then(|outputs| outputs.get(entry.name.as_str()));
            if let Some(variable) = variable {
                let value = Value::Opaque(value);
                after.variables.insert(variable.clone(), value);
            }
        }
        after
    }
}

fn ensure((condition, message): (Expr, Expr)) -> Statement {
    tree::statement(StatementKind::Ensure {
        condition,
        message: Box::new(message),
    })
}
