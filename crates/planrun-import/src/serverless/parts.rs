//! Tasks that contain tasks: blocks, loops, parallel branches and error handlers.

use planrun_lang::syntax::ast::{
    ArmBody, Block, ClauseKind, Expr, Name, Statement, StatementKind, StepBody,
};
use planrun_lang::yaml::{Content, Entry, Node};

use super::Writer;
use super::data::Data;
use super::errors;
use super::jq;
use super::tasks::{CONTEXT, Task, Tasks, exports, only_entry};
use crate::control_flow::Flow;
use crate::control_flow::repetition::{
    DATA, bind_any, last_element, pack_state, repeat_with, unpack_state,
};
use crate::document::{Refused, items};
use crate::draft::{Draft, excerpt, expressions, identifier};
use crate::expression::quote::plan;
use crate::expression::reads;
use crate::expression::value::Value;
use crate::tree;

/// The most elements of a list; every loop of a plan has a bound.
const MAX_ELEMENTS: i64 = 10_000;

/// The output of a block: its data, and its exported context if it exports.
#[derive(Clone, Copy)]
struct BlockOutput {
    exports: bool,
}

impl BlockOutput {
    fn of(node: &Node) -> Self {
        Self {
            exports: exports(node),
        }
    }

    fn expr(self, flow: &Flow) -> Expr {
        if self.exports {
            pack_state(flow, &[CONTEXT.to_owned()])
        } else {
            flow.value.expr()
        }
    }
}

impl<'d> Writer<'_, 'd, '_> {
    /// Writes tasks as a block inside a step.
    fn block(
        &mut self,
        tasks: &Tasks<'d>,
        flow: Flow,
        block_output: BlockOutput,
    ) -> Result<Block, Refused> {
        let mut body = Vec::new();
        self.blocks += 1;
        if let Some(flow) = self.tasks(tasks, flow, &mut body)? {
            body.push(tree::yields(block_output.expr(&flow)));
        }
        self.blocks -= 1;
        Ok(tree::block(body))
    }

    /// Returns the data after a step that gives the output of a block.
    fn after_block(
        &mut self,
        flow: &Flow,
        block_output: BlockOutput,
        place: Expr,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let mut after = flow.clone();
        if !block_output.exports {
            after.value = Value::Opaque(place);
            return after;
        }
        let unpacked = unpack_state(flow, &[CONTEXT.to_owned()], &place);
        after.value = unpacked.value;
        if let Some(context) = unpacked.variables.get(CONTEXT) {
            // The type of the exported context may differ between branches.
            let name = self.draft.name(CONTEXT);
            out.push(bind_any(&name, context.expr()));
            let context = Value::Opaque(tree::variable(&name));
            after.variables.insert(CONTEXT.to_owned(), context);
        }
        after
    }

    /// Returns the time limit of a whole step.
    fn within(&mut self, task: &Task<'d>) -> Option<ClauseKind> {
        let timeout = task.get("timeout")?;
        self.timeout(timeout).map(ClauseKind::Within)
    }

    /// Writes tasks as a step of their own.
    pub fn block_of(
        &mut self,
        task: &Task<'d>,
        list: &'d Node,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let block_output = BlockOutput::of(list);
        let name = self.step_name(task);
        let block = self.block(&Tasks::read(list)?, flow.clone(), block_output)?;
        let clauses = self.within(task).into_iter().collect();
        out.push(tree::step(&name, StepBody::Do(block), clauses));
        Ok(self.after_block(flow, block_output, tree::variable(&name), out))
    }

    /// Writes a `for` as a `repeat`, since a round may read the output of the previous one. If none does, and there is
    /// neither a condition nor an export, it becomes an `each`.
    pub fn iterated(
        &mut self,
        task: &Task<'d>,
        flow: Flow,
        data: &Data,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let text = |field: &str| task.body().get(field).and_then(Node::text);
        let (each, at) = (
            text("each").unwrap_or("item"),
            text("at").unwrap_or("index"),
        );
        let list = needed(task, task.body(), "in", "add the list to iterate over")?;
        let list = data.expression(list, self.draft).expr();
        let help = "add the tasks for each element";
        let tasks = Tasks::read(needed(task, task.node, "do", help)?)?;
        let name = self.step_name(task);
        let round = Round {
            state: self.draft.name("round"),
            item: self.draft.name(each),
            number: self.draft.name(at),
        };
        let what = format!("the list of task `{}`", excerpt(task.name));
        let why =
            format!("may have at most {MAX_ELEMENTS} elements: every loop of a plan has a bound");
        self.draft.changed(task.span, what, why);
        let block_output = BlockOutput::of(task.node);
        let within = round.entered(&flow, each, at, block_output);
        let condition = task.get("while").map(|node| {
            let data = Data::of(&self.reading, task, &within, &within.value);
            jq::truth(data.expression(node, self.draft).expr())
        });
        let mut body = Vec::new();
        self.blocks += 1;
        let reached = self.tasks(&tasks, within, &mut body)?;
        self.blocks -= 1;
        let clauses: Vec<ClauseKind> = self.within(task).into_iter().collect();
        body.extend(reached.as_ref().map(|flow| tree::yields(flow.value.expr())));
        let mut is_read = condition.is_some() || block_output.exports;
        let mut written = tree::block(body);
        expressions(&written, &mut |one| is_read |= reads(one, &round.state));
        let list = bind_list(&name, list, self.draft, out);
        if is_read {
            if reached.is_some() {
                // A round passes its output on with `next`, so its `yield` is removed.
                written.statements.pop();
            }
            let written = RoundBody {
                condition,
                body: written.statements,
                reached,
                clauses,
            };
            return Ok(self.rounds(&name, &round, list, written, &flow, block_output, out));
        }
        Ok(each_of(&name, &round, list, written, clauses, flow, out))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a loop")]
    fn rounds(
        &mut self,
        name: &str,
        round: &Round,
        list: Expr,
        written: RoundBody,
        flow: &Flow,
        block_output: BlockOutput,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let state = tree::variable(&round.state);
        let number = plan!("state.number", state);
        let packed = |flow: &Flow, number: Expr| {
            let mut fields = vec![(DATA, flow.value.expr())];
            if block_output.exports {
                let context = flow.variables.get(CONTEXT);
                let context = context.map_or_else(tree::null, Value::expr);
                fields.push((CONTEXT, context));
            }
            fields.push(("number", number));
            tree::object(fields)
        };
        let goes_on = match written.condition {
            None => plan!("number < size(list)", number, list),
            Some(holds) => plan!("number < size(list) && holds", number, list, holds),
        };
        let mut inner = written.body;
        if let Some(flow) = written.reached {
            inner.push(tree::next(packed(&flow, plan!("number + 1", number))));
        }
        let ended = vec![tree::yields(state), tree::next(tree::null())];
        let body = vec![
            tree::bind(&round.item, tree::index(list, number.clone())),
            tree::bind(&round.number, number),
            tree::statement(StatementKind::If {
                arms: vec![(goes_on, tree::block(inner))],
                otherwise: Some(tree::block(ended)),
            }),
        ];
        let start = self.draft.name(&format!("{name}_start"));
        out.push(bind_any(&start, packed(flow, tree::int(0))));
        let body = repeat_with(&round.state, tree::variable(&start), MAX_ELEMENTS + 1, body);
        out.push(tree::step(name, body, written.clauses));
        let given = last_element(&tree::variable(name));
        let mut after = self.after_block(flow, block_output, given.clone(), out);
        after.value = Value::Opaque(tree::field(given, DATA));
        after
    }

    /// Writes a `fork`: waits for all branches, or for the first that completes.
    pub fn forked(
        &mut self,
        task: &Task<'d>,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let branches = items(task.body(), "branches").iter().map(only_entry);
        let branches = branches.collect::<Result<Vec<_>, _>>()?;
        let competes = task.body().get("compete").and_then(Node::scalar).as_deref() == Some("true");
        let what = format!("`export` in the branches of task `{}`", excerpt(task.name));
        if exports(task.body()) {
            let why = "branches run in parallel, so what they export has no order";
            self.draft.lost(task.span, what, why);
        }
        let name = self.step_name(task);
        let clauses = self.within(task).into_iter().collect();
        let body = if competes && branches.len() > 1 {
            self.raced(&branches, flow)?
        } else {
            self.side_by_side(&branches, flow, competes)?
        };
        out.push(tree::step(&name, body, clauses));
        let mut after = flow.clone();
        after.value = Value::Opaque(tree::variable(&name));
        Ok(after)
    }

    fn raced(&mut self, branches: &[&'d Entry], flow: &Flow) -> Result<StepBody, Refused> {
        let mut arms: Vec<(Name, ArmBody)> = Vec::new();
        for branch in branches {
            let mut name = tree::name(&identifier(&branch.name));
            if arms.iter().any(|(there, _)| there.text == name.text) {
                name = tree::name(&self.draft.name(&branch.name));
            }
            let block = self.branch(branch, flow)?;
            arms.push((name, ArmBody::Do(block)));
        }
        Ok(StepBody::Race(arms))
    }

    fn side_by_side(
        &mut self,
        branches: &[&'d Entry],
        flow: &Flow,
        only: bool,
    ) -> Result<StepBody, Refused> {
        let (mut steps, mut results) = (Vec::new(), Vec::new());
        for branch in branches {
            let name = self.draft.name(&format!("{}_branch", branch.name));
            let block = self.branch(branch, flow)?;
            steps.push(tree::step(&name, StepBody::Do(block), Vec::new()));
            results.push(tree::variable(&name));
        }
        let result = match results.as_slice() {
            [one] if only => one.clone(),
            _ => tree::list(results),
        };
        let parallel = tree::statement(StatementKind::Parallel(tree::block(steps)));
        let body = vec![parallel, tree::yields(result)];
        Ok(StepBody::Do(tree::block(body)))
    }

    fn branch(&mut self, branch: &'d Entry, flow: &Flow) -> Result<Block, Refused> {
        let block_output = BlockOutput { exports: false };
        self.block(&Tasks::single(branch)?, flow.clone(), block_output)
    }

    /// Writes a `try`: tasks, and the handler for their failures.
    pub fn tried(
        &mut self,
        task: &Task<'d>,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let block_output = BlockOutput::of(task.node);
        let tasks = Tasks::read(task.body())?;
        let name = self.step_name(task);
        let catch = needed(task, task.node, "catch", "add what happens after a failure")?;
        let caught = self.caught(catch);
        let outer = (self.statuses.clone(), self.retry.take());
        self.statuses.extend(caught.statuses);
        if let Some(policy) = catch.get("retry") {
            self.retry = self.retry(policy, &tasks, &caught.classes);
        }
        let block = self.block(&tasks, flow.clone(), block_output)?;
        (self.statuses, self.retry) = outer;
        let error = self.draft.name("e");
        let arm = self.arm(task, catch, &error, flow, block_output)?;
        let mut is_read = false;
        if let ArmBody::Do(block) = &arm {
            expressions(block, &mut |one| is_read |= reads(one, &error));
        }
        let binding = is_read.then_some(error.as_str());
        let mut clauses: Vec<ClauseKind> = self.within(task).into_iter().collect();
        clauses.push(tree::recover(&caught.classes, binding, arm));
        out.push(tree::step(&name, StepBody::Do(block), clauses));
        let mut after = self.after_block(flow, block_output, tree::variable(&name), out);
        // The type of the handler's output may differ and lack fields.
        let output = self.draft.name(&format!("{name}_output"));
        out.push(bind_any(&output, after.value.expr()));
        after.value = Value::Opaque(tree::variable(&output));
        Ok(after)
    }

    /// Writes the handler of a caught error.
    fn arm(
        &mut self,
        task: &Task<'d>,
        catch: &'d Node,
        error: &str,
        flow: &Flow,
        block_output: BlockOutput,
    ) -> Result<ArmBody, Refused> {
        let called = catch.get("as").and_then(Node::text).unwrap_or("error");
        self.reading.errors.insert(called.to_owned());
        let field = |field: &str| Value::Opaque(tree::field(tree::variable(error), field));
        let kind = self.draft.name(&format!("{error}_type"));
        let described = [
            ("type", Value::Opaque(tree::variable(&kind))),
            ("title", field("message")),
            ("detail", field("message")),
        ];
        let described = described.map(|(name, part)| (name.to_owned(), part));
        let mut within = flow.clone();
        within
            .variables
            .insert(called.to_owned(), Value::object(described.to_vec()));
        let mut body = Vec::new();
        for (part, holds) in [("when", true), ("exceptWhen", false)] {
            if let Some(node) = catch.get(part) {
                let data = Data::of(&self.reading, task, &within, &within.value);
                let condition = jq::truth(data.expression(node, self.draft).expr());
                let not_caught = if holds {
                    tree::not(condition)
                } else {
                    condition
                };
                let message = tree::field(tree::variable(error), "message");
                body.push(tree::fail_when("tool.failed", message, not_caught));
                let what = format!("`{part}` of task `{}`", excerpt(task.name));
                let why = "an error that is not caught is raised again as `tool.failed`";
                self.draft.changed(node.span, what, why);
            }
        }
        match catch.get("do") {
            Some(list) => {
                let block = self.block(&Tasks::read(list)?, within, block_output)?;
                body.extend(block.statements);
            }
            None if body.is_empty() => return Ok(ArmBody::Expr(block_output.expr(flow))),
            None => body.push(tree::yields(block_output.expr(flow))),
        }
        let mut body = tree::block(body);
        let mut is_read = false;
        expressions(&body, &mut |one| is_read |= reads(one, &kind));
        if is_read {
            let what = format!("the type of the error `${}`", excerpt(called));
            let why = "is found by its class: a type that the document names, or a standard one";
            self.draft.changed(catch.span, what, why);
            let value = errors::type_of(self.root, error);
            body.statements.insert(0, tree::bind(&kind, value));
        }
        report_title(catch, called, self.draft);
        Ok(ArmBody::Do(body))
    }
}

/// Reports the title of a caught error if its handler reads it.
fn report_title(catch: &Node, called: &str, draft: &mut Draft<'_>) {
    if mentions(catch, &format!("${called}.title")) {
        let what = format!("the title of the error `${}`", excerpt(called));
        draft.changed(catch.span, what, "is its message: a failure has no title");
    }
}

/// Returns true if a text of the node contains `part`.
fn mentions(node: &Node, part: &str) -> bool {
    match &node.content {
        Content::Map(entries) => entries.iter().any(|entry| mentions(&entry.value, part)),
        Content::List(items) => items.iter().any(|item| mentions(item, part)),
        Content::Text(text) => text.contains(part),
        Content::Null | Content::Bool(_) | Content::Number(_) => false,
    }
}

/// Returns a required part of a task.
fn needed<'d>(
    task: &Task<'d>,
    holder: &'d Node,
    field: &str,
    help: &str,
) -> Result<&'d Node, Refused> {
    let message = || format!("a `{}` needs `{field}`", task.kind);
    let refused = || Refused::new(task.span, message(), help);
    holder.get(field).ok_or_else(refused)
}

/// Binds a list to a name if it is large, since it is read more than once.
fn bind_list(step: &str, list: Expr, draft: &mut Draft<'_>, out: &mut Vec<Statement>) -> Expr {
    if tree::size(&list, 4) < 4 {
        return list;
    }
    let name = draft.name(&format!("{step}_list"));
    out.push(tree::bind(&name, list));
    tree::variable(&name)
}

/// The names inside a loop.
struct Round {
    state: String,
    item: String,
    number: String,
}

impl Round {
    /// Returns the data at the start of a round; expressions refer to the element and its index as `each` and `at`.
    fn entered(&self, flow: &Flow, each: &str, at: &str, block_output: BlockOutput) -> Flow {
        let mut within = flow.clone();
        let variable = |name: &str| Value::Opaque(tree::variable(name));
        let part = |field: &str| Value::Opaque(tree::field(tree::variable(&self.state), field));
        within.value = part(DATA);
        let mut named = |name: &str, value| within.variables.insert(name.to_owned(), value);
        named(each, variable(&self.item));
        named(at, variable(&self.number));
        if block_output.exports {
            named(CONTEXT, part(CONTEXT));
        }
        within
    }
}

/// The body of a loop.
struct RoundBody {
    condition: Option<Expr>,
    body: Vec<Statement>,
    /// `None` if all its branches end or fail.
    reached: Option<Flow>,
    clauses: Vec<ClauseKind>,
}

/// Writes a loop whose rounds are independent. Its output is that of the last round, or its input if the list is empty.
fn each_of(
    name: &str,
    round: &Round,
    list: Expr,
    body: Block,
    clauses: Vec<ClauseKind>,
    mut flow: Flow,
    out: &mut Vec<Statement>,
) -> Flow {
    let mut is_read = false;
    expressions(&body, &mut |one| is_read |= reads(one, &round.number));
    let each = StepBody::Each {
        element: tree::name(&round.item),
        index: is_read.then(|| tree::name(&round.number)),
        list: Box::new(list),
        max: Some(Box::new(tree::int(MAX_ELEMENTS))),
        parallel: None,
        by: None,
        settle: false,
        body,
    };
    out.push(tree::step(name, each, clauses));
    let list = tree::variable(name);
    flow.value = Value::Opaque(plan!(
        "size(list) == 0 ? value : list[size(list) - 1]",
        list,
        value = flow.value.expr(),
    ));
    flow
}
