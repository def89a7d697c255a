//! Writes one task: its condition, its input and output, and its successors.

use planrun_lang::syntax::ast::{Expr, Statement, StepBody, WaitFor};

use super::call::Action;
use super::data::Data;
use super::tasks::{CONTEXT, EXIT, Next, Task, Tasks};
use super::{Writer, duration, jq, keys};
use crate::control_flow::graph::Graph;
use crate::control_flow::repetition::bind_any;
use crate::document::Refused;
use crate::draft::{Draft, excerpt};
use crate::tree;

use crate::control_flow::{
    Branch, Continuation, Continued, Flow, Region, Stop, Target, Walk, Written,
};

impl<'d, 't> Walk<'d, 't> for Writer<'_, 'd, 't> {
    type Scope = Tasks<'d>;
    const NODE_WORD: &'static str = "task";

    fn draft(&mut self) -> &mut Draft<'t> {
        self.draft
    }

    fn written(&mut self) -> &mut Written {
        &mut self.written
    }

    fn graph<'s>(tasks: &'s Tasks<'d>) -> &'s Graph<'d> {
        &tasks.graph
    }

    /// Branches may give values of different types, each with fields that the others lack.
    fn bind(name: &str, value: Expr) -> Statement {
        bind_any(name, value)
    }

    fn write_node(
        &mut self,
        tasks: &Tasks<'d>,
        name: &'d str,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Continued<'d> {
        let Some(task) = tasks.by_name.get(name) else {
            return Ok(Continuation::Finished(None));
        };
        let Some(condition) = task.get("if") else {
            return self.task(tasks, task, flow, region, out);
        };
        let data = Data::of(&self.reading, task, flow, &flow.value);
        let condition = jq::truth(data.expression(condition, self.draft).expr());
        let mut prelude = Vec::new();
        let continuation = self.task(tasks, task, flow, region, &mut prelude)?;
        let (to, after) = match continuation {
            Continuation::Next(at, after) | Continuation::Finished(Some((at, after))) => {
                (Target::Node(at), after)
            }
            Continuation::Finished(None) => (Target::Finished, flow.clone()),
        };
        let branches = vec![
            Branch {
                condition: Some(condition),
                prelude,
                to,
                flow: after,
            },
            Branch::new(None, Target::Node(task.below), flow.clone()),
        ];
        self.write_branches(tasks, task.name, branches, region, out)
    }
}

impl<'d> Writer<'_, 'd, '_> {
    /// Writes tasks in sequence; `None` if all their branches end the workflow or fail.
    pub fn tasks(
        &mut self,
        tasks: &Tasks<'d>,
        flow: Flow,
        out: &mut Vec<Statement>,
    ) -> Result<Option<Flow>, Refused> {
        let mut region = Region::plan();
        region.stops.insert(EXIT, Stop::Join);
        for task in tasks.by_name.values() {
            if task.name != tasks.start && !tasks.graph.reaches(tasks.start, task.name) {
                let what = format!("task `{}`", excerpt(task.name));
                self.draft
                    .changed(task.span, what, "is omitted: it is unreachable");
            }
        }
        self.written.nest(true);
        let reached = self.walk(tasks, tasks.start, flow, &region, out)?;
        self.written.nest(false);
        Ok(reached.map(|(_, flow)| flow))
    }

    /// Writes a task whose condition holds.
    fn task(
        &mut self,
        tasks: &Tasks<'d>,
        task: &Task<'d>,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Continued<'d> {
        self.report_fields(task);
        let input = match task.get("input").and_then(|node| node.get("from")) {
            Some(node) => {
                let data = Data::of(&self.reading, task, flow, &flow.value);
                let value = data.expression(node, self.draft);
                self.name_if_large(&format!("{}_input", task.name), value, out)
            }
            None => flow.value.clone(),
        };
        let mut within = flow.clone();
        within.value = input.clone();
        let data = Data::of(&self.reading, task, flow, &input);
        let ended = match task.kind {
            "switch" => Some(within),
            "do" if task.get("timeout").is_none() => {
                self.tasks(&Tasks::read(task.body())?, within, out)?
            }
            "raise" => {
                let raised = self.raised(task, &data);
                out.push(raised);
                None
            }
            _ => Some(self.operated(task, within, &data, out)?),
        };
        let Some(ended) = ended else {
            return Ok(Continuation::Finished(None));
        };
        let after = self.after(task, &data, ended, out);
        if task.kind == "switch" {
            return self.switch(tasks, task, &data, &after, region, out);
        }
        Ok(match task.next {
            Next::Task(name) => Continuation::Next(name, after),
            Next::End => {
                self.end(task, &after, out);
                Continuation::Finished(None)
            }
        })
    }

    /// Writes the action of a task that does not change the control flow. Returns the data after it.
    fn operated(
        &mut self,
        task: &Task<'d>,
        mut flow: Flow,
        data: &Data,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        match task.kind {
            "set" => flow.value = data.template(task.body(), self.draft),
            "wait" => {
                let duration = if let Some(time) = duration::nanoseconds(task.body()) {
                    tree::nanoseconds(time)
                } else {
                    let what = format!("task `{}`", excerpt(task.name));
                    self.draft.hole(task.body().span, what, duration::EXPECTED)
                };
                let name = self.step_name(task);
                let wait = StepBody::Wait(WaitFor::Duration(duration));
                out.push(tree::step(&name, wait, Vec::new()));
            }
            "call" => return self.called(task, flow, data, out),
            "run" | "emit" | "listen" => {
                let mut action = Action {
                    workflow: self,
                    task,
                    data,
                    out,
                };
                flow.value = match task.kind {
                    "run" => action.process(),
                    "emit" => action.emitted(),
                    _ => action.listened(),
                };
            }
            "do" => return self.block_of(task, task.body(), &flow, out),
            "for" => return self.iterated(task, flow, data, out),
            "fork" => return self.forked(task, &flow, out),
            _ => return self.tried(task, &flow, out),
        }
        Ok(flow)
    }

    /// Returns the data after a task: its output and its exports.
    fn after(
        &mut self,
        task: &Task<'d>,
        data: &Data,
        mut flow: Flow,
        out: &mut Vec<Statement>,
    ) -> Flow {
        if let Some(node) = task.get("output").and_then(|node| node.get("as")) {
            let context = flow.variables.get(CONTEXT).cloned();
            let mut data = data.on(flow.value.clone());
            if let Some(context) = context {
                data = data.with(CONTEXT, context);
            }
            flow.value = data.expression(node, self.draft);
        }
        flow.value = self.name_if_large(task.name, flow.value, out);
        if let Some(node) = task.get("export").and_then(|node| node.get("as")) {
            let data = data
                .on(flow.value.clone())
                .with("output", flow.value.clone());
            let value = data.expression(node, self.draft);
            let value = self.name_if_large(CONTEXT, value, out);
            flow.variables.insert(CONTEXT.to_owned(), value);
        }
        flow
    }

    fn switch(
        &mut self,
        tasks: &Tasks<'d>,
        task: &Task<'d>,
        data: &Data,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Continued<'d> {
        let branches = task.cases.iter().map(|(when, next)| {
            let condition = when.map(|when| jq::truth(data.expression(when, self.draft).expr()));
            let mut prelude = Vec::new();
            let to = match next {
                Next::Task(name) => Target::Node(name),
                Next::End => {
                    self.end(task, flow, &mut prelude);
                    Target::Finished
                }
            };
            Branch {
                condition,
                prelude,
                to,
                flow: flow.clone(),
            }
        });
        let branches = branches.collect();
        self.write_branches(tasks, task.name, branches, region, out)
    }

    /// Ends the whole workflow, which a block inside a step cannot do.
    fn end(&mut self, task: &Task<'d>, flow: &Flow, out: &mut Vec<Statement>) {
        if self.blocks == 0 {
            self.reply(flow, out);
            return;
        }
        let what = format!("`then: end` of task `{}`", excerpt(task.name));
        let why = "a block inside a step can end only that step, not the plan";
        let hole = self.draft.hole(task.span, what, why);
        out.push(tree::fail("tool.not_carried", hole));
    }

    pub fn step_name(&mut self, task: &Task<'_>) -> String {
        self.draft.name_of(task.name, task.span, "task")
    }

    /// Reports fields of a task that have no counterpart.
    fn report_fields(&mut self, task: &Task<'d>) {
        keys::report_parts(task, self.draft);
        for part in ["input", "output", "export"] {
            self.report_schema(task.node, part);
        }
        for entry in task.unknown_fields() {
            let what = format!(
                "`{}` of task `{}`",
                excerpt(&entry.name),
                excerpt(task.name)
            );
            self.draft
                .lost(entry.span, what, "is not a field of this kind of task");
        }
        let has_clause = matches!(
            task.kind,
            "call" | "run" | "emit" | "listen" | "do" | "for" | "fork" | "try"
        );
        if let Some(node) = task.get("timeout").filter(|_| !has_clause) {
            let what = format!("`timeout` of task `{}`", excerpt(task.name));
            self.draft
                .changed(node.span, what, "is omitted: the task calls nothing");
        }
    }
}
