//! Tasks that hold tasks: blocks, loops, branches that run side by side, and what is done where they fail.

use planrun_lang::syntax::ast::{
    ArmBody, BinaryOp, Block, ClauseKind, Expr, Name, Statement, StatementKind, StepBody,
};
use planrun_lang::yaml::{Entry, Node};

use super::Writer;
use super::data::Data;
use super::jq;
use super::tasks::{CONTEXT, Task, Tasks, exports, only_entry};
use crate::document::{Refused, items};
use crate::draft::{Draft, excerpt, expressions, identifier};
use crate::expression::reads;
use crate::expression::value::Value;
use crate::tree;
use crate::ways::Flow;
use crate::ways::repetition::{DATA, any, handed_on, last_of, rounds_of, taken_up};

/// The most elements of a list, since every loop of a plan has a bound.
const MAX_ELEMENTS: i64 = 10_000;

/// What leaves a block: its data, and what it exports where it does.
#[derive(Clone, Copy)]
struct Leaves {
    exports: bool,
}

impl Leaves {
    fn of(node: &Node) -> Self {
        Self {
            exports: exports(node),
        }
    }

    fn expr(self, flow: &Flow) -> Expr {
        if self.exports {
            handed_on(flow, &[CONTEXT.to_owned()])
        } else {
            flow.value.expr()
        }
    }
}

impl<'d> Writer<'_, 'd, '_> {
    /// Tasks as a block inside of a step.
    fn block(&mut self, tasks: &Tasks<'d>, flow: Flow, leaves: Leaves) -> Result<Block, Refused> {
        let mut body = Vec::new();
        self.blocks += 1;
        if let Some(flow) = self.tasks(tasks, flow, &mut body)? {
            body.push(tree::yields(leaves.expr(&flow)));
        }
        self.blocks -= 1;
        Ok(tree::block(body))
    }

    /// What is there behind a step that gives what leaves a block.
    fn resumed(
        &mut self,
        flow: &Flow,
        leaves: Leaves,
        place: Expr,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let mut after = flow.clone();
        if !leaves.exports {
            after.value = Value::Opaque(place);
            return after;
        }
        let taken = taken_up(flow, &[CONTEXT.to_owned()], &place);
        after.value = taken.value;
        if let Some(context) = taken.variables.get(CONTEXT) {
            // What is exported is of one type here and of another there.
            let name = self.draft.name(CONTEXT);
            out.push(any(&name, context.expr()));
            let context = Value::Opaque(tree::variable(&name));
            after.variables.insert(CONTEXT.to_owned(), context);
        }
        after
    }

    /// The time that a whole step may take.
    fn within(&mut self, task: &Task<'d>) -> Option<ClauseKind> {
        let timeout = task.get("timeout")?;
        self.timeout(timeout).map(ClauseKind::Within)
    }

    /// Tasks that are a step of their own.
    pub fn block_of(
        &mut self,
        task: &Task<'d>,
        list: &'d Node,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let leaves = Leaves::of(list);
        let name = self.step_name(task);
        let block = self.block(&Tasks::read(list)?, flow.clone(), leaves)?;
        let clauses = self.within(task).into_iter().collect();
        out.push(tree::step(&name, StepBody::Do(block), clauses));
        Ok(self.resumed(flow, leaves, tree::variable(&name), out))
    }

    /// `for`: each round reads what the one before has given. Where none does, it is an `each`.
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
        let list = needed(task, task.body(), "in", "say what is gone through")?;
        let list = data.expression(list, self.draft).expr();
        let help = "say what is done with each element";
        let tasks = Tasks::read(needed(task, task.node, "do", help)?)?;
        let name = self.step_name(task);
        let round = Round {
            state: self.draft.name("round"),
            item: self.draft.name(each),
            number: self.draft.name(at),
        };
        let what = format!("the list of task `{}`", excerpt(task.name));
        let why = format!("may have {MAX_ELEMENTS} elements: every loop of a plan has a bound");
        self.draft.changed(task.span, what, why);
        let leaves = Leaves::of(task.node);
        let within = round.entered(&flow, each, at, leaves);
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
        let mut is_read = condition.is_some() || leaves.exports;
        let mut written = tree::block(body);
        expressions(&written, &mut |one| is_read |= reads(one, &round.state));
        let list = settled(&name, list, self.draft, out);
        if is_read {
            if reached.is_some() {
                // A round hands on what it gives, and yields nothing.
                written.statements.pop();
            }
            let written = Written {
                condition,
                body: written.statements,
                reached,
                clauses,
            };
            return Ok(self.rounds(&name, &round, list, written, &flow, leaves, out));
        }
        Ok(each_of(&name, &round, list, written, clauses, flow, out))
    }

    #[expect(clippy::too_many_arguments, reason = "what a loop is made of")]
    fn rounds(
        &mut self,
        name: &str,
        round: &Round,
        list: Expr,
        written: Written,
        flow: &Flow,
        leaves: Leaves,
        out: &mut Vec<Statement>,
    ) -> Flow {
        let state = || tree::variable(&round.state);
        let number = || tree::field(state(), "number");
        let handed = |flow: &Flow, number: Expr| {
            let mut fields = vec![(DATA.to_owned(), flow.value.expr())];
            if leaves.exports {
                let context = flow.variables.get(CONTEXT);
                let context = context.map_or_else(tree::null, Value::expr);
                fields.push((CONTEXT.to_owned(), context));
            }
            fields.push(("number".to_owned(), number));
            tree::object(fields)
        };
        let size = tree::function("size", vec![list.clone()]);
        let is_left = tree::binary(number(), BinaryOp::Less, size);
        let goes_on = match written.condition {
            None => is_left,
            Some(condition) => tree::binary(is_left, BinaryOp::And, condition),
        };
        let mut inner = written.body;
        if let Some(flow) = written.reached {
            let following = tree::binary(number(), BinaryOp::Add, tree::int(1));
            inner.push(tree::next(handed(&flow, following)));
        }
        let ended = vec![tree::yields(state()), tree::next(tree::null())];
        let body = vec![
            tree::bind(&round.item, tree::index(list, number())),
            tree::bind(&round.number, number()),
            tree::statement(StatementKind::If {
                arms: vec![(goes_on, tree::block(inner))],
                otherwise: Some(tree::block(ended)),
            }),
        ];
        let start = self.draft.name(&format!("{name}_start"));
        out.push(any(&start, handed(flow, tree::int(0))));
        let body = rounds_of(&round.state, tree::variable(&start), MAX_ELEMENTS + 1, body);
        out.push(tree::step(name, body, written.clauses));
        let given = last_of(tree::variable(name));
        let mut after = self.resumed(flow, leaves, given.clone(), out);
        after.value = Value::Opaque(tree::field(given, DATA));
        after
    }

    /// `fork`: all branches, or the first that is done.
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
            let why = "branches run side by side, and what they export has no order";
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
        let leaves = Leaves { exports: false };
        self.block(&Tasks::single(branch)?, flow.clone(), leaves)
    }

    /// `try`: tasks, and what is done where one of them fails.
    pub fn tried(
        &mut self,
        task: &Task<'d>,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Result<Flow, Refused> {
        let leaves = Leaves::of(task.node);
        let tasks = Tasks::read(task.body())?;
        let name = self.step_name(task);
        let catch = needed(task, task.node, "catch", "say what is done then")?;
        let caught = self.caught(catch);
        let outer = (self.statuses.clone(), self.retry.take());
        self.statuses.extend(caught.statuses);
        if let Some(policy) = catch.get("retry") {
            self.retry = self.retry(policy, &tasks, &caught.classes);
        }
        let block = self.block(&tasks, flow.clone(), leaves)?;
        (self.statuses, self.retry) = outer;
        let error = self.draft.name("e");
        let arm = self.arm(task, catch, &error, flow, leaves)?;
        let mut is_read = false;
        if let ArmBody::Do(block) = &arm {
            expressions(block, &mut |one| is_read |= reads(one, &error));
        }
        let binding = is_read.then_some(error.as_str());
        let mut clauses: Vec<ClauseKind> = self.within(task).into_iter().collect();
        clauses.push(tree::recover(&caught.classes, binding, arm));
        out.push(tree::step(&name, StepBody::Do(block), clauses));
        let mut after = self.resumed(flow, leaves, tree::variable(&name), out);
        // What is given instead may be of another type, which lacks fields.
        let output = self.draft.name(&format!("{name}_output"));
        out.push(any(&output, after.value.expr()));
        after.value = Value::Opaque(tree::variable(&output));
        Ok(after)
    }

    /// What is done with an error that is caught.
    fn arm(
        &mut self,
        task: &Task<'d>,
        catch: &'d Node,
        error: &str,
        flow: &Flow,
        leaves: Leaves,
    ) -> Result<ArmBody, Refused> {
        let called = catch.get("as").and_then(Node::text).unwrap_or("error");
        self.reading.errors.insert(called.to_owned());
        let field = |field: &str| Value::Opaque(tree::field(tree::variable(error), field));
        let described = [
            ("type", "class"),
            ("title", "message"),
            ("detail", "message"),
        ];
        let described = described.map(|(name, part)| (name.to_owned(), field(part)));
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
                let why = "an error that is not caught goes on as `tool.failed`";
                self.draft.changed(node.span, what, why);
            }
        }
        match catch.get("do") {
            Some(list) => {
                let block = self.block(&Tasks::read(list)?, within, leaves)?;
                body.extend(block.statements);
            }
            None if body.is_empty() => return Ok(ArmBody::Expr(leaves.expr(flow))),
            None => body.push(tree::yields(leaves.expr(flow))),
        }
        Ok(ArmBody::Do(tree::block(body)))
    }
}

/// A part that a task must have.
///
/// # Errors
/// Where it has none.
fn needed<'d>(
    task: &Task<'d>,
    holder: &'d Node,
    field: &str,
    help: &str,
) -> Result<&'d Node, Refused> {
    let message = || format!("a `{}` without `{field}`", task.kind);
    let refused = || Refused::new(task.span, message(), help);
    holder.get(field).ok_or_else(refused)
}

/// A list under a name, since it is read more than once.
fn settled(step: &str, list: Expr, draft: &mut Draft<'_>, out: &mut Vec<Statement>) -> Expr {
    if tree::size(&list, 4) < 4 {
        return list;
    }
    let name = draft.name(&format!("{step}_list"));
    out.push(tree::bind(&name, list));
    tree::variable(&name)
}

/// The names inside of a loop.
struct Round {
    state: String,
    item: String,
    number: String,
}

impl Round {
    /// What a round begins with; the element and its number are called `each` and `at` in expressions.
    fn entered(&self, flow: &Flow, each: &str, at: &str, leaves: Leaves) -> Flow {
        let mut within = flow.clone();
        let variable = |name: &str| Value::Opaque(tree::variable(name));
        let part = |field: &str| Value::Opaque(tree::field(tree::variable(&self.state), field));
        within.value = part(DATA);
        let mut named = |name: &str, value| within.variables.insert(name.to_owned(), value);
        named(each, variable(&self.item));
        named(at, variable(&self.number));
        if leaves.exports {
            named(CONTEXT, part(CONTEXT));
        }
        within
    }
}

/// What a round does.
struct Written {
    condition: Option<Expr>,
    body: Vec<Statement>,
    /// `None` where all its ways fail.
    reached: Option<Flow>,
    clauses: Vec<ClauseKind>,
}

/// A loop whose rounds do not read each other. Its output is that of the last one.
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
    let size = tree::function("size", vec![tree::variable(name)]);
    let is_empty = tree::binary(size, BinaryOp::Equal, tree::int(0));
    let given = last_of(tree::variable(name));
    flow.value = Value::Opaque(tree::conditional(is_empty, flow.value.expr(), given));
    flow
}
