//! Converts control-flow graphs to structured statements: sequences, branches and loops.

mod certain;
pub mod graph;
pub mod inputs;
pub mod outcome;
pub mod repetition;
pub mod retry;
pub mod status;

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, Statement, StatementKind};

use crate::document::Refused;
use crate::draft::{Draft, excerpt};
use crate::expression::value::Value;
use crate::tree;
use graph::{Graph, GraphNode};
use repetition::finish;

/// The most nodes that are written; a node counts once for each branch that contains it.
const MAX_NODES: usize = 3000;
/// The deepest nesting of branches.
const MAX_DEPTH: usize = 60;

/// The element of an iteration, and its index.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    pub value: Expr,
    pub index: Expr,
}

/// The data with which a node is entered.
#[derive(Clone, Debug)]
pub struct Flow {
    pub value: Value,
    pub variables: BTreeMap<String, Value>,
    pub element: Option<Element>,
}

impl Flow {
    pub fn of(value: Value) -> Self {
        Self {
            value,
            variables: BTreeMap::new(),
            element: None,
        }
    }
}

/// How the end of the document is written in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Reply,
    Yield,
}

/// The meaning of reaching a node at which a region ends.
#[derive(Clone, Debug)]
pub enum Stop {
    /// Branches join there.
    Join,
    /// The loop starts its next round, with these variables.
    Continue(Vec<String>),
    /// The loop is left, with these variables.
    Break(Vec<String>),
}

/// A region of the plan.
#[derive(Clone, Debug)]
pub struct Region<'d> {
    pub stops: BTreeMap<&'d str, Stop>,
    pub end: End,
}

impl Region<'_> {
    /// Returns the region of the plan itself.
    pub fn plan() -> Self {
        Self {
            stops: BTreeMap::new(),
            end: End::Reply,
        }
    }

    /// Returns the region of a block inside a step.
    pub fn block() -> Self {
        Self {
            end: End::Yield,
            ..Self::plan()
        }
    }
}

/// How the plan continues after a node.
pub enum Continuation<'d> {
    Next(&'d str, Flow),
    /// The region ends; with the node that it reached, unless all branches ended.
    Finished(Option<(&'d str, Flow)>),
}

/// How the plan continues after a node, unless the document is invalid.
pub type Continued<'d> = Result<Continuation<'d>, Refused>;

/// A branch after a node.
pub struct Branch<'d> {
    /// `None` for the last branch, which is taken if no other is.
    pub condition: Option<Expr>,
    /// Statements before the target.
    pub prelude: Vec<Statement>,
    pub to: Target<'d>,
    pub flow: Flow,
}

impl<'d> Branch<'d> {
    /// Returns a branch without statements of its own.
    pub fn new(condition: Option<Expr>, to: Target<'d>, flow: Flow) -> Self {
        Self {
            condition,
            prelude: Vec::new(),
            to,
            flow,
        }
    }
}

/// The target of a branch.
#[derive(Clone, Copy)]
pub enum Target<'d> {
    Node(&'d str),
    End,
    /// The branch has no more statements.
    Finished,
}

/// A written branch: its condition, its statements, and the node that it reached unless it ended.
type Arm<'d> = (Option<Expr>, Vec<Statement>, Option<(&'d str, Flow)>);

/// The progress of writing, with its limits.
#[derive(Debug)]
pub struct Written {
    left: usize,
    depth: usize,
    seen: BTreeSet<(u32, String)>,
}

impl Default for Written {
    fn default() -> Self {
        Self {
            left: MAX_NODES,
            depth: 0,
            seen: BTreeSet::new(),
        }
    }
}

impl Written {
    /// Enters nodes that are written in the place of another one, such as those of a function, or leaves them.
    pub fn nest(&mut self, is_entered: bool) {
        if is_entered {
            self.depth += 1;
        } else {
            self.depth -= 1;
        }
    }

    /// Returns true if a node was written.
    pub fn has(&self, span: Span, name: &str) -> bool {
        self.seen.contains(&(span.start, name.to_owned()))
    }
}

/// Writes a document as a plan, node by node. Each format writes its own nodes; branches, joins and loops are common
/// to all.
pub trait Walk<'d, 't> {
    /// The owner of a graph: a machine, a list of tasks.
    type Scope;
    /// The word for a node in the report.
    const NODE_WORD: &'static str;

    fn draft(&mut self) -> &mut Draft<'t>;

    fn written(&mut self) -> &mut Written;

    fn graph(scope: &Self::Scope) -> &Graph<'d>;

    /// Writes one node.
    fn write_node(
        &mut self,
        scope: &Self::Scope,
        name: &'d str,
        flow: &Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Continued<'d>;

    /// Writes the nodes from `start` on. Returns the node at which the region ended; `None` if all branches ended
    /// before.
    fn walk(
        &mut self,
        scope: &Self::Scope,
        start: &'d str,
        flow: Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Option<(&'d str, Flow)>, Refused> {
        if region.stops.contains_key(start) {
            return Ok(Some((start, flow)));
        }
        self.walk_from(scope, start, flow, region, out)
    }

    /// Does the same as [`Self::walk`], but `start` may itself be a stop: it ends the region only when it is reached
    /// again.
    fn walk_from(
        &mut self,
        scope: &Self::Scope,
        start: &'d str,
        mut flow: Flow,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Result<Option<(&'d str, Flow)>, Refused> {
        let mut name = start;
        let stops: BTreeSet<&str> = region.stops.keys().copied().collect();
        loop {
            let Some(node) = Self::graph(scope).get(name) else {
                return Ok(None);
            };
            let continuation = if self.exceeds_limits(node, out) {
                Continuation::Finished(None)
            } else if !stops.contains(name)
                && let Some(cycle) = Self::graph(scope).cycle(name, &stops)
            {
                repetition::repeat(self, scope, node, &cycle, &flow, out)?
            } else {
                self.report_node(node);
                self.write_node(scope, name, &flow, region, out)?
            };
            match continuation {
                Continuation::Finished(reached) => return Ok(reached),
                Continuation::Next(next, after) if region.stops.contains_key(next) => {
                    return Ok(Some((next, after)));
                }
                Continuation::Next(next, after) => (name, flow) = (next, after),
            }
        }
    }

    /// Returns true if the plan would become too large; in that case, writes a failure with a hole.
    fn exceeds_limits(&mut self, node: &GraphNode<'d>, out: &mut Vec<Statement>) -> bool {
        let written = self.written();
        if written.left > 0 && written.depth < MAX_DEPTH {
            written.left -= 1;
            return false;
        }
        let why = if written.left == 0 {
            "its paths branch and join so often that the plan would be too large".to_owned()
        } else {
            format!(
                "the plan would be too large: its branches, loops and functions are nested more than {MAX_DEPTH} levels deep"
            )
        };
        let what = format!("{} `{}`", Self::NODE_WORD, excerpt(node.name));
        let hole = self.draft().hole(node.span, what, why);
        out.push(tree::fail("tool.not_carried", hole));
        true
    }

    fn report_node(&mut self, node: &GraphNode<'d>) {
        let what = format!("{} `{}`", Self::NODE_WORD, excerpt(node.name));
        let key = (node.span.start, node.name.to_owned());
        if self.written().seen.insert(key) {
            let why = format!("`{}`", node.kind);
            self.draft().carried(node.span, what, why);
        } else {
            let why = "occurs in the plan once for each path that leads to it";
            self.draft().changed(node.span, what, why);
        }
    }

    /// Binds a value to the name that it has in all branches that join.
    fn bind(name: &str, value: Expr) -> Statement {
        tree::bind(name, value)
    }

    /// Binds a large value to a name.
    fn name_if_large(&mut self, name: &str, value: Value, out: &mut Vec<Statement>) -> Value {
        let is_bound = matches!(&value, Value::Object { bound: Some(_), .. });
        if is_bound || !value.is_large() {
            return value;
        }
        let name = self.draft().name(name);
        out.push(tree::bind(&name, value.expr()));
        value.at(tree::variable(&name))
    }

    /// Writes branches up to where they join.
    fn write_branches(
        &mut self,
        scope: &Self::Scope,
        node: &'d str,
        branches: Vec<Branch<'d>>,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Continued<'d> {
        let stops: BTreeSet<&str> = region.stops.keys().copied().collect();
        let mut inner = region.clone();
        if let Some(join) = Self::graph(scope).join_point(node, &stops) {
            inner.stops.entry(join).or_insert(Stop::Join);
        }
        self.written().depth += 1;
        let mut arms = Vec::new();
        for branch in branches {
            let mut block = branch.prelude;
            let reached = match branch.to {
                Target::Node(next) => self.walk(scope, next, branch.flow, &inner, &mut block)?,
                Target::End => {
                    block.push(end(&branch.flow.value, region));
                    None
                }
                Target::Finished => None,
            };
            arms.push((branch.condition, block, reached));
        }
        self.written().depth -= 1;
        let reached = self.join_arms(arms, &inner, out);
        Ok(match reached {
            Some((at, flow)) if !region.stops.contains_key(at) => Continuation::Next(at, flow),
            reached => Continuation::Finished(reached),
        })
    }

    /// Writes the arms as an `if`. Returns the node at which they join.
    fn join_arms(
        &mut self,
        mut arms: Vec<Arm<'d>>,
        region: &Region<'d>,
        out: &mut Vec<Statement>,
    ) -> Option<(&'d str, Flow)> {
        let (_, mut last, last_reached) = arms.pop()?;
        if arms.iter().all(|(_, _, reached)| reached.is_none()) {
            // The other arms all end, so the last one needs no nesting.
            out.extend(if_statement(arms, Vec::new()));
            out.append(&mut last);
            return last_reached;
        }
        arms.push((None, last, last_reached));
        let nodes: BTreeSet<&str> = arms
            .iter()
            .filter_map(|arm| Some(arm.2.as_ref()?.0))
            .collect();
        let join = if nodes.len() == 1 {
            self.unify(&mut arms)
        } else {
            for (_, block, reached) in &mut arms {
                if let Some((at, flow)) = reached.take() {
                    finish(region.stops.get(at), &flow, block);
                }
            }
            None
        };
        let last = arms.pop().map(|arm| arm.1).unwrap_or_default();
        out.extend(if_statement(arms, last));
        join
    }

    /// Binds values that differ between arms to the same names in all of them.
    fn unify(&mut self, arms: &mut [Arm<'d>]) -> Option<(&'d str, Flow)> {
        let (at, mut flow) = arms.iter().find_map(|arm| arm.2.clone())?;
        let others = || arms.iter().filter_map(|arm| arm.2.as_ref());
        let names: BTreeSet<String> = others()
            .flat_map(|(_, flow)| flow.variables.keys().cloned())
            .collect();
        let is_same = others().all(|(_, other)| other.value == flow.value);
        let differing: Vec<String> = names
            .into_iter()
            .filter(|name| {
                others().any(|(_, other)| other.variables.get(name) != flow.variables.get(name))
            })
            .collect();
        if !is_same {
            // There is no next node whose input this could be.
            let name = if at.is_empty() {
                "output".to_owned()
            } else {
                format!("{at}_input")
            };
            let name = self.draft().name(&name);
            for (_, block, reached) in arms.iter_mut() {
                if let Some((_, flow)) = reached {
                    block.push(Self::bind(&name, flow.value.expr()));
                }
            }
            flow.value = Value::Opaque(tree::variable(&name));
        }
        for variable in differing {
            let name = self.draft().name(&variable);
            for (_, block, reached) in arms.iter_mut() {
                if let Some((_, flow)) = reached {
                    let value = flow
                        .variables
                        .get(&variable)
                        .map_or_else(tree::null, Value::expr);
                    block.push(Self::bind(&name, value));
                }
            }
            flow.variables
                .insert(variable, Value::Opaque(tree::variable(&name)));
        }
        Some((at, flow))
    }
}

/// Returns the statement for the end of the document in this region.
pub fn end(value: &Value, region: &Region<'_>) -> Statement {
    match region.end {
        End::Reply => tree::reply(value.expr()),
        End::Yield => tree::yields(value.expr()),
    }
}

fn if_statement(arms: Vec<Arm<'_>>, otherwise: Vec<Statement>) -> Option<Statement> {
    let arms = arms.into_iter();
    let arms = arms.filter_map(|(condition, block, _)| Some((condition?, tree::block(block))));
    let mut arms: Vec<_> = arms.collect();
    let mut otherwise = (!otherwise.is_empty()).then(|| tree::block(otherwise));
    if let [(condition, block)] = arms.as_mut_slice()
        && block.statements.is_empty()
    {
        // The branch for which the condition holds is empty.
        *block = otherwise.take()?;
        *condition = tree::not(condition.clone());
    }
    (!arms.is_empty()).then(|| tree::statement(StatementKind::If { arms, otherwise }))
}
