//! The subject of a lint rule: one plan, checked and as written, with the settings of its project.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use foldhash::HashSet;

use super::Project;
use super::flow::Flow;
use super::lower_bounds::length;
use super::reach::Walked;
use crate::eval::Constants;
use crate::graph::{self, Graph};
use crate::origin::Origins;
use crate::sema::expr::CheckedExpr;
use crate::sema::{BlockId, Call, Nesting, Node, OnFailure, Place, Plan, Retry, Step};
use crate::source::{SourceFile, Span};
use crate::syntax::{ast, json};
use crate::types::Signature;
use crate::value::Value;

/// One plan with the analyses that rules share.
pub(super) struct Subject<'a> {
    pub source: &'a SourceFile,
    pub written: &'a ast::Plan,
    pub plan: &'a Plan,
    /// True if the file has no syntax errors. Otherwise, something that seems to be missing may be in the damaged text.
    pub whole: bool,
    /// True if no errors have been found in the plan. Otherwise, a statement may be missing from it.
    pub sound: bool,
    pub project: &'a Project<'a>,
    steps: Vec<StepSite<'a>>,
    /// The statements that own the blocks.
    pub nesting: Nesting<'a>,
    /// Certain origins of values.
    pub origins: Origins<'a>,
    /// Maximum amount of work to evaluate constant expressions.
    work: u64,
    graph: OnceCell<Rc<Graph>>,
    flow: OnceCell<Option<Flow<'a>>>,
    constants: OnceCell<Rc<Constants>>,
}

/// A step with its position.
#[derive(Clone, Copy)]
pub(super) struct StepSite<'a> {
    pub block: BlockId,
    pub node: &'a Node,
    pub step: &'a Step,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        source: &'a SourceFile,
        written: &'a ast::Plan,
        plan: &'a Plan,
        whole: bool,
        sound: bool,
        (project, work): (&'a Project<'a>, u64),
    ) -> Self {
        let nesting = Nesting::of(plan);
        let steps = steps_in_flow(&nesting);
        Self {
            source,
            written,
            plan,
            whole,
            sound,
            project,
            steps,
            nesting,
            origins: Origins::default(),
            work,
            graph: OnceCell::new(),
            flow: OnceCell::new(),
            constants: OnceCell::new(),
        }
    }

    /// Returns the node that owns a block, and the block that contains the node.
    pub(super) fn owner(&self, block: BlockId) -> Option<(BlockId, &'a Node)> {
        self.nesting.owner(block)
    }

    /// Returns a node and the owners of the blocks around it, from the inside out, each with its block.
    pub(super) fn outwards(
        &self,
        site: &StepSite<'a>,
    ) -> impl Iterator<Item = (BlockId, &'a Node)> {
        self.nesting.outwards(site.block, site.node)
    }

    /// Returns the block whose frame contains `place`, as seen from a block.
    pub(super) fn frame(&self, from: BlockId, place: Place) -> Option<BlockId> {
        self.nesting.frame(from, place)
    }

    /// Returns the possible events of the plan; `None` if it does not wait for events, has errors, or is too large.
    pub(super) fn flow(&self) -> Option<&Flow<'a>> {
        let waits = || self.plan.nodes().any(|node| node.event().is_some());
        if !self.sound || !waits() {
            return None;
        }
        self.flow
            .get_or_init(|| Flow::of(self.plan, self.graph(), self.on_failure()))
            .as_ref()
    }

    /// Returns what the plan does after a failure.
    pub(super) fn on_failure(&self) -> OnFailure {
        let own = self.plan.policy.on_failure;
        own.or(self.project.policy.on_failure).unwrap_or_default()
    }

    /// Returns the known constants of the plan.
    pub(super) fn constants(&self) -> &Rc<Constants> {
        self.constants
            .get_or_init(|| Rc::new(Constants::of(self.plan, self.work)))
    }

    /// Returns the plan with its known values, to find out what it accesses.
    pub(super) fn walked(&self) -> Walked<'_> {
        Walked::new(self.plan, self.constants().clone(), self.work)
    }

    /// Returns the value of an expression of the plan if it is constant.
    pub(super) fn known<'c>(&'c self, code: &'c CheckedExpr) -> Option<&'c Value> {
        self.constants().value(code)
    }

    /// Returns a duration that is known before the run.
    pub(super) fn length(&self, code: Option<&CheckedExpr>) -> Option<Duration> {
        self.known(code?).and_then(length)
    }

    /// Returns the dependency graph of the plan.
    pub(super) fn graph(&self) -> &Rc<Graph> {
        self.graph.get_or_init(|| Rc::new(graph::build(self.plan)))
    }

    /// Returns all steps of the plan, block by block, except those inside `verify` and `undo`, which belong to their
    /// step.
    pub(super) fn steps(&self) -> impl Iterator<Item = &StepSite<'a>> {
        self.steps.iter()
    }

    /// Returns all tool calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&StepSite<'a>, &'a Call, &'a Signature)> {
        self.steps.iter().filter_map(|site| {
            tool_call(site.step).map(|(call, signature)| (site, call, signature))
        })
    }

    /// Returns true if the file is in text form, not in JSON form, so that edits can add plan text.
    pub(super) fn is_text(&self) -> bool {
        !json::is_json(self.source)
    }

    /// Returns the retry settings that the steps of this plan inherit.
    pub(super) fn retry(&self) -> Retry {
        self.plan.policy.retry.over(&self.project.policy.retry)
    }

    /// Returns the span of the first occurrence of a word within a span; the whole span if there is none.
    pub(super) fn word(&self, within: Span, word: &str) -> Span {
        let start = within.start as usize;
        let found = self
            .source
            .slice(within)
            .find(word)
            .map(|at| Span::new(start + at, start + at + word.len()));
        found.unwrap_or(within)
    }

    /// Returns the settings of one kind at the head of the plan, as written.
    pub(super) fn setting(
        &self,
        of: fn(&ast::StatementKind) -> Option<&ast::Expr>,
    ) -> Option<&'a ast::Expr> {
        self.written
            .body
            .statements
            .iter()
            .find_map(|statement| of(&statement.kind))
    }
}

/// Returns the steps of a plan, block by block, except those inside `verify` and `undo`.
pub(super) fn steps_in_flow<'a>(nesting: &Nesting<'a>) -> Vec<StepSite<'a>> {
    let (mut steps, mut auxiliary) = (Vec::new(), HashSet::default());
    for (block, _, node) in nesting.plan().sites() {
        auxiliary.extend(node.step().into_iter().flat_map(Step::auxiliary_blocks));
        steps.extend(node.step().map(|step| StepSite { block, node, step }));
    }
    let outer = |block: &BlockId| Some(nesting.owner(*block)?.0);
    let outwards = |block: BlockId| std::iter::successors(Some(block), outer);
    steps.retain(|site: &StepSite<'_>| {
        !outwards(site.block).any(|block| auxiliary.contains(&block))
    });
    steps
}

/// Returns the tool call of a step.
pub(super) fn tool_call(step: &Step) -> Option<(&Call, &Signature)> {
    Some((step.call()?, step.tool()?))
}

/// Returns the settings of `policy { … }`.
pub(super) fn policy(statement: &ast::StatementKind) -> Option<&ast::Expr> {
    if let ast::StatementKind::Policy(settings) = statement {
        Some(settings)
    } else {
        None
    }
}

/// Returns the settings of `allow { … }`.
pub(super) fn allow(statement: &ast::StatementKind) -> Option<&ast::Expr> {
    if let ast::StatementKind::Allow(settings) = statement {
        Some(settings)
    } else {
        None
    }
}

/// Returns the value of a setting.
pub(super) fn entry<'a>(settings: &'a ast::Expr, name: &str) -> Option<&'a ast::Expr> {
    let ast::ExprKind::Object(entries) = &settings.kind else {
        return None;
    };
    let named =
        |entry: &&ast::Entry| matches!(&entry.key, ast::EntryKey::Name(key) if &*key.text == name);
    entries.iter().find(named).map(|entry| &entry.value)
}
