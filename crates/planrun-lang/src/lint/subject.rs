//! What a rule looks at: one plan, checked and as written, and what its project says.

use std::cell::OnceCell;
use std::rc::Rc;
use std::time::Duration;

use foldhash::HashSet;

use super::Project;
use super::flow::Flow;
use super::least::length;
use crate::eval::Constants;
use crate::graph::{self, Graph};
use crate::sema::expr::Code;
use crate::sema::{BlockId, Call, Nesting, Node, Place, Plan, Retry, Step, StepKind, Target};
use crate::source::{SourceFile, Span};
use crate::syntax::{ast, json};
use crate::types::Signature;
use crate::value::Value;

/// One plan.
pub(super) struct Subject<'a> {
    pub source: &'a SourceFile,
    pub written: &'a ast::Plan,
    pub plan: &'a Plan,
    /// Whether the text of the file is without errors. Where it is not, what seems to be absent may stand in the damage.
    pub whole: bool,
    /// Whether nothing in the plan has been found wrong so far. Where something has, a statement may be left out.
    pub sound: bool,
    pub project: &'a Project<'a>,
    steps: Vec<StepSite<'a>>,
    /// Who owns which block.
    pub nesting: Nesting<'a>,
    /// How much may be evaluated to know what the plan's expressions come to.
    work: u64,
    graph: OnceCell<Rc<Graph>>,
    flow: OnceCell<Option<Flow<'a>>>,
    constants: OnceCell<Rc<Constants>>,
}

/// A step and where it stands.
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
        let (mut steps, mut asides) = (Vec::new(), HashSet::default());
        for (block, _, node) in plan.sites() {
            asides.extend(node.step().into_iter().flat_map(Step::asides));
            steps.extend(node.step().map(|step| StepSite { block, node, step }));
        }
        let nesting = Nesting::of(plan);
        let outer = |block: &BlockId| Some(nesting.owner(*block)?.0);
        let outwards = |block: BlockId| std::iter::successors(Some(block), outer);
        steps.retain(|site: &StepSite<'_>| {
            !outwards(site.block).any(|block| asides.contains(&block))
        });
        let (graph, flow, constants) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        Self {
            source,
            written,
            plan,
            whole,
            sound,
            project,
            steps,
            nesting,
            work,
            graph,
            flow,
            constants,
        }
    }

    /// The node that owns a block, and the block that it stands in.
    pub(super) fn owner(&self, block: BlockId) -> Option<(BlockId, &'a Node)> {
        self.nesting.owner(block)
    }

    /// A node and those that own the blocks around it, from the inside out, each with its block.
    pub(super) fn outwards(
        &self,
        site: &StepSite<'a>,
    ) -> impl Iterator<Item = (BlockId, &'a Node)> {
        std::iter::successors(Some((site.block, site.node)), |(block, _)| {
            self.owner(*block)
        })
    }

    /// The block whose frame a place is in, seen from a block.
    pub(super) fn frame(&self, from: BlockId, place: Place) -> Option<BlockId> {
        self.nesting.frame(from, place)
    }

    /// What can come to pass, where the plan waits for events and is sound.
    pub(super) fn flow(&self) -> Option<&Flow<'a>> {
        let waits = || self.plan.nodes().any(|node| node.event().is_some());
        if !self.sound || !waits() {
            return None;
        }
        let on_failure = self
            .plan
            .policy
            .on_failure
            .or(self.project.policy.on_failure)
            .unwrap_or_default();
        self.flow
            .get_or_init(|| Flow::of(self.plan, self.graph(), on_failure))
            .as_ref()
    }

    /// What is known of the values of the plan.
    pub(super) fn constants(&self) -> &Rc<Constants> {
        self.constants
            .get_or_init(|| Rc::new(Constants::of(self.plan, self.work)))
    }

    /// The value of an expression of the plan, where it is known.
    pub(super) fn known<'c>(&'c self, code: &'c Code) -> Option<&'c Value> {
        self.constants().value(code)
    }

    /// A length of time that is known before the run.
    pub(super) fn length(&self, code: Option<&Code>) -> Option<Duration> {
        self.known(code?).and_then(length)
    }

    /// What waits for what.
    pub(super) fn graph(&self) -> &Rc<Graph> {
        self.graph.get_or_init(|| Rc::new(graph::build(self.plan)))
    }

    /// Every step of the plan, block by block; what `verify` and `undo` call is part of its step.
    pub(super) fn steps(&self) -> impl Iterator<Item = &StepSite<'a>> {
        self.steps.iter()
    }

    /// Every call of a tool.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&StepSite<'a>, &'a Call, &'a Signature)> {
        self.steps.iter().filter_map(|site| {
            tool_call(site.step).map(|(call, signature)| (site, call, signature))
        })
    }

    /// Whether the file is in the language's own form, so that text can be added to it; one in JSON is not.
    pub(super) fn is_text(&self) -> bool {
        !json::is_json(self.source)
    }

    /// The settings of retries that steps of this plan inherit.
    pub(super) fn retry(&self) -> Retry {
        self.plan.policy.retry.over(&self.project.policy.retry)
    }

    /// Where a word stands in a part of the text; the whole part where it does not.
    pub(super) fn word(&self, within: Span, word: &str) -> Span {
        let start = within.start as usize;
        let found = self
            .source
            .slice(within)
            .find(word)
            .map(|at| Span::new(start + at, start + at + word.len()));
        found.unwrap_or(within)
    }

    /// The settings of one kind at the head of the plan, as written.
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

/// The tool that a step calls.
pub(super) fn tool_call(step: &Step) -> Option<(&Call, &Signature)> {
    let StepKind::Call(call) = &step.kind else {
        return None;
    };
    let Target::Tool(signature) = &call.target else {
        return None;
    };
    Some((call, signature))
}

/// `policy { … }`
pub(super) fn policy(statement: &ast::StatementKind) -> Option<&ast::Expr> {
    if let ast::StatementKind::Policy(settings) = statement {
        Some(settings)
    } else {
        None
    }
}

/// `allow { … }`
pub(super) fn allow(statement: &ast::StatementKind) -> Option<&ast::Expr> {
    if let ast::StatementKind::Allow(settings) = statement {
        Some(settings)
    } else {
        None
    }
}

/// The value of a setting, by its name.
pub(super) fn entry<'a>(settings: &'a ast::Expr, name: &str) -> Option<&'a ast::Expr> {
    let ast::ExprKind::Object(entries) = &settings.kind else {
        return None;
    };
    let named =
        |entry: &&ast::Entry| matches!(&entry.key, ast::EntryKey::Name(key) if &*key.text == name);
    entries.iter().find(named).map(|entry| &entry.value)
}
