//! Folds every expression of a plan before it runs, through `let`s and guards.

mod bodies;
mod calls;
mod failure;
mod lets;
mod names;
mod plans;

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::{HashMap, HashMapExt as _, HashSet};

use self::bodies::KnownLoop;
pub use self::failure::{Cause, ConstantFailure};
use self::names::{Names, Site};
use super::known::{Folding, Knowledge};
use super::{AlwaysFails, EvalError};
use crate::sema::expr::CheckedExpr;
use crate::sema::{Block, BlockId, Each, Node, NodeId, NodeKind, Place, Plan, Repeat, StepKind};
use crate::types::Type;
use crate::value::{Value, counted};

/// The known values of a plan, and the expressions that always fail.
#[derive(Debug)]
pub struct Constants {
    /// By the address of the expression; expressions that are constants already are left out.
    values: HashMap<*const CheckedExpr, Value>,
    failures: Vec<ConstantFailure>,
}

impl Constants {
    /// Folds every expression of a plan that may be evaluated. `work` limits the total cost.
    #[must_use]
    pub fn of(plan: &Plan, work: u64) -> Self {
        Self::and_work(plan, work).0
    }

    /// Also returns how much work is left.
    fn and_work(plan: &Plan, work: u64) -> (Self, u64) {
        let mut walk = Walk::new(plan, work);
        for default in plan
            .parameters
            .iter()
            .filter_map(|parameter| parameter.default.as_ref())
        {
            walk.fold(Site::of(BlockId(0)), default);
        }
        if let Some(body) = walk.reached.first_mut() {
            *body = true;
        }
        // A block has a higher number than the one around it, so everything that it can read is folded before it.
        for (id, block) in plan.numbered_blocks() {
            if walk.reached.get(id.0 as usize).copied().unwrap_or(false) {
                walk.block(id, block);
            }
        }
        // A failure that does not depend on the loop around it is reported without that loop.
        for known in std::mem::take(&mut walk.loops).into_iter().rev() {
            walk.evaluate_loop(&known);
        }
        walk.forget_unread();
        (walk.found, walk.work)
    }

    /// Returns what always fails in expressions that have no known names around them.
    pub fn failures_in<'a>(
        codes: impl IntoIterator<Item = &'a CheckedExpr>,
        work: u64,
    ) -> Vec<ConstantFailure> {
        let mut folding = Folding::new(&Nothing, work);
        for code in codes {
            folding.fold(code);
        }
        let failures = folding.into_failures().into_iter();
        failures
            .map(|failure| ConstantFailure::new(failure.error))
            .collect()
    }

    /// Returns the value of an expression of the plan if it is known.
    #[must_use]
    pub fn value<'a>(&'a self, code: &'a CheckedExpr) -> Option<&'a Value> {
        code.constant()
            .or_else(|| self.values.get(&std::ptr::from_ref(code)))
    }

    /// Returns the expressions that always fail.
    #[must_use]
    pub fn failures(&self) -> &[ConstantFailure] {
        &self.failures
    }
}

/// A walk through the blocks of a plan.
struct Walk<'a> {
    plan: &'a Plan,
    names: Names<'a>,
    /// For each block, whether it may run.
    reached: Vec<bool>,
    loops: Vec<KnownLoop<'a>>,
    /// The ranges of the failures in `let`s, with the names of these.
    in_lets: Vec<(Range<usize>, lets::Slot)>,
    work: u64,
    found: Constants,
}

/// Knowledge of no names.
struct Nothing;

impl Knowledge for Nothing {
    fn known(&self, _place: Place) -> Option<Value> {
        None
    }
}

impl<'a> Walk<'a> {
    fn new(plan: &'a Plan, work: u64) -> Self {
        let blocks = plan.blocks.len();
        Self {
            plan,
            names: Names::new(blocks),
            reached: vec![false; blocks],
            loops: Vec::new(),
            in_lets: Vec::new(),
            work,
            found: Constants {
                values: HashMap::new(),
                failures: Vec::new(),
            },
        }
    }

    /// Removes the failures in `let`s that are never read.
    fn forget_unread(&mut self) {
        if self.in_lets.is_empty() {
            return;
        }
        let read = lets::read(self.plan);
        let lets = self.in_lets.iter();
        let unread = lets.filter(|(_, name)| !read.contains(name));
        let unread: HashSet<usize> = unread.flat_map(|(range, _)| range.clone()).collect();
        let mut numbers = 0..;
        let failures = &mut self.found.failures;
        failures.retain(|_| {
            numbers
                .next()
                .is_none_or(|number| !unread.contains(&number))
        });
    }

    fn block(&mut self, id: BlockId, block: &'a Block) {
        // Whether the block certainly ends above.
        let mut ended = false;
        for (number, node) in block.nodes.iter().enumerate() {
            let number = NodeId(u32::try_from(number).unwrap_or(u32::MAX));
            let runs = if ended {
                Some(false)
            } else {
                self.names.runs(id, &node.guard)
            };
            if runs != Some(false) {
                self.node(id, number, node);
                self.enter(id, node);
                ended = runs == Some(true) && self.ends(id, node);
            }
            let value = match &node.kind {
                NodeKind::Let(code) => self.found.value(code).cloned(),
                _ => None,
            };
            self.names.define(id, node, runs, Ok(value));
        }
    }

    /// Returns true if nothing below a node that runs is executed.
    fn ends(&self, block: BlockId, node: &Node) -> bool {
        match &node.kind {
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Next(_) => true,
            NodeKind::Yield(_) => !self.names.is_round(block),
            NodeKind::Ensure { condition, .. } => {
                matches!(self.found.value(condition), Some(Value::Bool(false)))
            }
            NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Step(_)
            | NodeKind::Task(_)
            | NodeKind::Set(_)
            | NodeKind::Listener(_) => false,
        }
    }

    fn node(&mut self, block: BlockId, number: NodeId, node: &'a Node) {
        let guard = &node.guard;
        let site = Site { block, guard };
        let before = self.found.failures.len();
        match &node.kind {
            NodeKind::Ensure { condition, message } => {
                self.fold(site, condition);
                // The text of one that always holds is not evaluated.
                if !matches!(self.found.value(condition), Some(Value::Bool(true))) {
                    self.fold(site, message);
                }
            }
            _ => node.codes(&mut |code| self.fold(site, code)),
        }
        let failures = before..self.found.failures.len();
        if let (NodeKind::Let(_), Some(slot), false) = (&node.kind, node.slot, failures.is_empty())
        {
            self.in_lets.push((failures, (block, slot)));
        }
        let value = |walk: &mut Self, _: Site<'_>, code| walk.found.value(code).cloned();
        if let Some(refused) = self.refused(site, node, value) {
            let causes = self.causes_of_refusal(site, node, &refused.error);
            let breaks_contract = refused.breaks_contract;
            self.found.failures.push(ConstantFailure {
                error: refused.into_error(),
                breaks_contract,
                causes,
            });
        }
        if let NodeKind::Condition(code) = &node.kind
            && let Some(Value::Bool(holds)) = self.found.value(code).cloned()
        {
            self.names.decide(block, number, holds);
        }
    }

    /// Processes the blocks that a node owns, and the expressions evaluated in their frames.
    fn enter(&mut self, block: BlockId, node: &'a Node) {
        self.names.own(block, node);
        node.inner(&mut |inner| {
            if let Some(reached) = self.reached.get_mut(inner.0 as usize) {
                *reached = true;
            }
        });
        if let NodeKind::Listener(listener) = &node.kind
            && let Some(when) = &listener.when
        {
            self.fold(Site::of(listener.body), when);
        }
        let Some(step) = node.step() else { return };
        match &step.kind {
            StepKind::Each(each) => self.each(each),
            StepKind::Repeat(repeat) => self.repeat(repeat),
            StepKind::Match { subject, arms } => {
                let Some(value) = self.found.value(subject).cloned() else {
                    return;
                };
                let taken = arms
                    .iter()
                    .find(|(matcher, _)| matcher.matches(&value))
                    .map(|(_, body)| *body);
                for (_, body) in arms.iter().filter(|(_, body)| Some(*body) != taken) {
                    self.mark_unreachable(*body);
                }
            }
            StepKind::Call(_)
            | StepKind::Do(_)
            | StepKind::Race(_)
            | StepKind::Input(_)
            | StepKind::Wait(_)
            | StepKind::Damaged => {}
        }
    }

    fn mark_unreachable(&mut self, block: BlockId) {
        if let Some(reached) = self.reached.get_mut(block.0 as usize) {
            *reached = false;
        }
    }

    /// Checks a known list against its `max`, and the keys of its elements for duplicates.
    fn each(&mut self, each: &'a Each) {
        let known = self.found.value(&each.list).cloned();
        let Some(Value::List(list)) = known else {
            if let Some(other) = known {
                let message = format!("`each` needs a list, not {}", other.kind_name());
                let error = EvalError::plain(message, each.list.span);
                self.found.failures.push(ConstantFailure::new(error));
            }
            each.by
                .iter()
                .for_each(|by| self.fold(Site::of(each.body), by));
            return;
        };
        if list.is_empty() {
            return self.mark_unreachable(each.body);
        }
        let max = each
            .max
            .as_ref()
            .and_then(|max| self.found.value(max))
            .and_then(Value::as_int);
        if let Some(max) = max
            .and_then(|max| usize::try_from(max).ok())
            .filter(|max| list.len() > *max)
        {
            let message = format!(
                "the list has {}, more than `max {max}`",
                counted(list.len(), "element")
            );
            let error = EvalError::plain(message, each.list.span);
            self.found.failures.push(ConstantFailure::new(error));
        }
        self.loops
            .push(KnownLoop::Each(each, Value::List(list.clone())));
        if let Some(by) = &each.by {
            self.keys(each.body, &list, by);
            self.names.unbind_all();
        }
    }

    /// Evaluates the keys of all elements, which must be different.
    fn keys(&mut self, body: BlockId, list: &[Value], by: &CheckedExpr) {
        let mut labels = BTreeSet::new();
        for (element, index) in list.iter().zip(0..) {
            self.names.bind(body, 0, element.clone());
            self.names.bind(body, 1, Value::Int(index));
            let before = self.found.failures.len();
            let Some(key) = self.value(Site::of(body), by) else {
                return self.found.failures.truncate(before.saturating_add(1));
            };
            if !labels.insert(serde_json::to_string(&key).unwrap_or_default()) {
                let message = format!("`by` evaluates to {} for two elements", key.preview(80));
                let error = EvalError::plain(message, by.span);
                self.found.failures.push(ConstantFailure::new(error));
                return;
            }
        }
    }

    /// Reports a loop whose `max` is 0, or that can end only by reaching its `max`. The latter is also reported if
    /// `max` is missing.
    fn repeat(&mut self, repeat: &'a Repeat) {
        if let Some(initial) = self.found.value(&repeat.initial).cloned() {
            self.loops.push(KnownLoop::Repeat(repeat, initial));
        }
        let is_zero = |max: &&CheckedExpr| self.found.value(max).and_then(Value::as_int) == Some(0);
        let zero = repeat.max.as_ref().filter(is_zero);
        let mut report = |message: String, span| {
            let error = EvalError::plain(message, span);
            self.found.failures.push(ConstantFailure::new(error));
        };
        if let Some(max) = zero {
            return report(
                "`repeat` reached its `max` of 0 rounds before the first one".to_owned(),
                max.span,
            );
        }
        for node in &self.plan.block(repeat.body).nodes {
            match &node.kind {
                // Another way to leave the round.
                NodeKind::Yield(_) | NodeKind::Next(_) if !node.guard.is_empty() => return,
                NodeKind::Next(code)
                    if !code.ty.admits_null() && !matches!(code.ty, Type::Any | Type::Invalid) =>
                {
                    let message = "`next` is never null, so the `repeat` reaches its `max`";
                    return report(message.to_owned(), code.span);
                }
                NodeKind::Condition(_)
                | NodeKind::Let(_)
                | NodeKind::Step(_)
                | NodeKind::Ensure { .. }
                | NodeKind::Fail(_)
                | NodeKind::Reply(_)
                | NodeKind::Yield(_)
                | NodeKind::Next(_)
                | NodeKind::Task(_)
                | NodeKind::Set(_)
                | NodeKind::Listener(_) => {}
            }
        }
    }

    /// Folds an expression and records its value and failures.
    fn fold(&mut self, site: Site<'_>, code: &'a CheckedExpr) {
        if code.constant().is_some() {
            return;
        }
        if let Some(value) = self.value(site, code) {
            self.found.values.insert(std::ptr::from_ref(code), value);
        }
    }

    /// Returns the value of an expression at a site, and records the failures in it.
    fn value(&mut self, site: Site<'_>, code: &CheckedExpr) -> Option<Value> {
        let known = self.names.at(site);
        let mut folding = Folding::new(&known, self.work);
        let value = folding.fold(code);
        let left = folding.left();
        let failures = folding
            .into_failures()
            .into_iter()
            .map(|failure| self.constant_failure(site, failure))
            .collect::<Vec<_>>();
        self.work = left;
        self.found.failures.extend(failures);
        value
    }

    fn constant_failure(&self, site: Site<'_>, failure: AlwaysFails) -> ConstantFailure {
        let read = failure.read.iter();
        ConstantFailure {
            causes: read
                .filter_map(|place| self.names.cause(site, *place))
                .collect(),
            ..ConstantFailure::new(failure.error)
        }
    }
}
