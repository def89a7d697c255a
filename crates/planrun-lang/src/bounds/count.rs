//! Counts the calls of a plan, block by block. The calls of each called plan are counted once, however often it is
//! called.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::HashMap;
use indexmap::{IndexMap, IndexSet};

use super::length::Lengths;
use super::tally::{Count, Entry, Key, Tally, distinct, least};
use super::{BoundsContext, Role, Undoing, Use};
use crate::eval::Constants;
use crate::origin::{Flow, FlowContext, Part, Source, flow};
use crate::sema::expr::CheckedExpr;
use crate::sema::{
    Backoff, BlockId, Call, EventKind, GuardAtom, Listener, MAX_RESENDS, Nesting, Node, NodeId,
    NodeKind, OnFailure, Plan, Step, StepKind, Target,
};
use crate::types::{Effect, Signature};
use crate::value::{Value, split_path};

/// Work limit for evaluating the constants of one plan.
const WORK: u64 = 100_000;

/// Returns the calls of a plan and of the plans that it calls.
pub(super) fn uses(plan: &Plan, context: &BoundsContext<'_>) -> Vec<Use> {
    let mut plans = Plans {
        context,
        totals: HashMap::default(),
    };
    let counter = plans.counter(plan, context.statements);
    counter.whole(false).into_uses()
}

/// The totals of a plan, independent of its callers.
struct PlanTotals {
    /// Calls counted against the plan's budget.
    budgeted: Tally,
    /// Calls when the plan runs inside a `verify` or `undo`, which no budget counts.
    free: Tally,
    reply: Arc<Flow>,
}

struct Plans<'a> {
    context: &'a BoundsContext<'a>,
    totals: HashMap<*const Plan, Rc<PlanTotals>>,
}

impl<'a> Plans<'a> {
    fn of(&mut self, plan: &Plan) -> Rc<PlanTotals> {
        let key = std::ptr::from_ref(plan);
        if let Some(totals) = self.totals.get(&key) {
            return totals.clone();
        }
        let counter = self.counter(plan, None);
        let totals = Rc::new(PlanTotals {
            budgeted: counter.whole(false),
            free: counter.whole(true),
            reply: Arc::new(counter.reply()),
        });
        self.totals.insert(key, totals.clone());
        totals
    }

    fn counter<'p>(&mut self, plan: &'p Plan, statements: Option<&'p BTreeSet<u32>>) -> Counter<'p>
    where
        'a: 'p,
    {
        let called: Vec<_> = plan.plans.iter().map(|called| self.of(called)).collect();
        let replies = called.iter().map(|called| called.reply.clone()).collect();
        let nesting = Nesting::of(plan);
        Counter {
            context: self.context,
            lengths: Lengths {
                nesting: nesting.clone(),
                constants: Constants::of(plan, WORK),
            },
            flow_context: FlowContext { nesting, replies },
            called,
            plan,
            statements,
        }
    }
}

struct Counter<'a> {
    context: &'a BoundsContext<'a>,
    plan: &'a Plan,
    flow_context: FlowContext<'a>,
    lengths: Lengths<'a>,
    called: Vec<Rc<PlanTotals>>,
    statements: Option<&'a BTreeSet<u32>>,
}

/// Calls under the conditions that have not been split into alternatives yet.
type Guarded<'a> = (&'a [GuardAtom], Tally);

impl<'a> Counter<'a> {
    fn whole(&self, auxiliary: bool) -> Tally {
        let mut tally = self.block(BlockId(0), auxiliary);
        if !auxiliary {
            tally.add(self.agent_checks());
        }
        let budget = self.context.budget(self.plan).calls.filter(|_| !auxiliary);
        let policy = self
            .plan
            .policy
            .on_failure
            .or(self.context.policy.on_failure);
        let policy = policy.unwrap_or_default();
        for (key, entry) in tally.entries_mut() {
            if matches!(key.role, Role::Forward | Role::Recover) {
                entry.count = budget.map_or(entry.count, |calls| least(entry.count, Some(calls)));
            }
            let undone = matches!(entry.undo, Some(Undoing::With(_) | Undoing::Whole(_)));
            if undone && policy != OnFailure::Undo {
                entry.undo = Some(Undoing::Policy(policy));
            }
        }
        tally
    }

    /// Returns the questions to agents at the end of a run: each agent is asked once, about one of its steps.
    fn agent_checks(&self) -> Tally {
        let mut tally = Tally::default();
        let steps = self.plan.nodes().filter_map(Node::step);
        for body in steps.filter_map(|step| step.agent_check()?.body()) {
            tally.or(self.block(body, true));
        }
        tally.in_role(Role::Verify)
    }

    fn reply(&self) -> Flow {
        let mut whole = Flow::default();
        for (block, _, node) in self.plan.sites() {
            if let NodeKind::Reply(code) = &node.kind {
                whole.merge(self.flow(block, code));
            }
        }
        whole
    }

    /// Counts the calls of one execution of a block. `auxiliary` is set inside a `verify` or `undo`.
    fn block(&self, block: BlockId, auxiliary: bool) -> Tally {
        let statements = self.statements.filter(|_| block == BlockId(0));
        let runs = |index: &u32| statements.is_none_or(|statements| statements.contains(index));
        let nodes = (0..).zip(&self.plan.block(block).nodes);
        let calls = nodes
            .filter(|(index, _)| runs(index))
            .map(|(_, node)| (node.guard.as_slice(), self.node(block, node, auxiliary)));
        let calls: Vec<_> = calls.filter(|(_, tally)| !tally.is_empty()).collect();
        let keys = calls.iter().flat_map(|(_, tally)| tally.iter());
        let page: IndexSet<Key> = keys.map(|(key, _)| key.clone()).collect();
        alternatives(calls).in_order_of(&page)
    }

    fn node(&self, block: BlockId, node: &'a Node, auxiliary: bool) -> Tally {
        match &node.kind {
            NodeKind::Step(step) => self.step(block, step, auxiliary),
            NodeKind::Listener(listener) => self.listener(listener, auxiliary),
            NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_)
            | NodeKind::Task(_)
            | NodeKind::Set(_) => Tally::default(),
        }
    }

    fn listener(&self, listener: &'a Listener, auxiliary: bool) -> Tally {
        let own = match &listener.max {
            None => Some(1),
            Some(max) => self.lengths.number(Some(max)),
        };
        let policy = self.plan.policy.max_firings;
        let mut tally = self.block(listener.body, auxiliary);
        tally.times(least(own, policy.or(self.context.policy.max_firings)));
        let mut at_end = false;
        listener
            .on
            .leaves(&mut |leaf| at_end |= matches!(leaf.kind, EventKind::Plan(_)));
        if at_end {
            for (_, entry) in tally.entries_mut() {
                entry.undo = entry.undo.take().map(|_| Undoing::AfterEnd);
            }
        }
        tally
    }

    fn step(&self, block: BlockId, step: &'a Step, auxiliary: bool) -> Tally {
        let mut tally = self.work(block, step, auxiliary);
        let undo = step.undo().map(|undo| self.block(undo.body, true));
        if let Some(undo) = &undo {
            let tools = undo.iter().map(|(key, _)| key.tool.clone()).collect();
            mark_undone(&mut tally, &distinct(tools), step.tool().is_some());
        }
        let mut arms = Tally::default();
        for arm in &step.recover {
            arms.or(self.block(arm.body, auxiliary));
        }
        tally.add(arms.in_role(Role::Recover));
        if let Some(verify) = step.verify() {
            let mut checks = self.block(verify.body, true);
            // Once at the end of the run, once before the undo, and once per send if the outcome can stay unknown.
            let unknown = step.tool().is_some_and(|tool| tool.can_stay_unknown());
            checks.times(Some(if unknown {
                u64::from(MAX_RESENDS) + 2
            } else {
                2
            }));
            tally.add(checks.in_role(Role::Verify));
        }
        tally.add(undo.unwrap_or_default().in_role(Role::Undo));
        tally
    }

    fn work(&self, block: BlockId, step: &'a Step, auxiliary: bool) -> Tally {
        let body = |body: BlockId| self.block(body, auxiliary);
        match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(signature) => self.tool_call(block, step, call, signature, auxiliary),
                Target::Plan(index, _) => self.plan_call(block, call, *index, auxiliary),
            },
            StepKind::Do(inner) => body(*inner),
            StepKind::Each(each) => {
                let mut tally = body(each.body);
                tally.times(self.lengths.rounds(block, each));
                tally
            }
            StepKind::Repeat(repeat) => {
                let mut tally = body(repeat.body);
                tally.times(self.lengths.number(repeat.max.as_ref()));
                tally
            }
            StepKind::Race(branches) => {
                let mut tally = Tally::default();
                for (_, inner) in branches {
                    tally.add(body(*inner));
                }
                tally
            }
            StepKind::Match { arms, .. } => {
                let mut tally = Tally::default();
                for (_, inner) in arms {
                    tally.or(body(*inner));
                }
                tally
            }
            StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged => Tally::default(),
        }
    }

    fn tool_call(
        &self,
        block: BlockId,
        step: &'a Step,
        call: &'a Call,
        signature: &Signature,
        auxiliary: bool,
    ) -> Tally {
        let policy = self.plan.policy.retry.over(&self.context.policy.retry);
        let retry = step.retry().cloned();
        let retry = retry.or_else(|| (self.context.retry)(signature));
        let (backoff, _) = Backoff::of(retry.as_ref(), &policy, call.effect);
        let sends = if step.verify().is_some() && signature.can_stay_unknown() {
            u64::from(MAX_RESENDS) + 1
        } else {
            1
        };
        let stays = signature
            .inverse
            .clone()
            .map_or(Undoing::Stays, Undoing::Inverse);
        let mut entry = self.entry(block, &call.arguments, call.effect, auxiliary);
        entry.count = self.polls(step);
        entry.attempts = u64::from(backoff.attempts).max(1).saturating_mul(sends);
        entry.undo = entry.undo.map(|_| stays);
        entry.sensitive = signature
            .sensitive
            .iter()
            .map(|path| split_path(path).0.into())
            .collect();
        let key = Key {
            tool: signature.path().into(),
            effect: call.effect,
            role: Role::Forward,
        };
        Tally::one(key, entry)
    }

    fn entry(
        &self,
        block: BlockId,
        arguments: &'a [(Arc<str>, CheckedExpr)],
        effect: Effect,
        auxiliary: bool,
    ) -> Entry {
        let arguments = arguments.iter();
        Entry {
            count: Some(1),
            attempts: 1,
            arguments: arguments
                .map(|(name, code)| (name.clone(), self.flow(block, code)))
                .collect(),
            sensitive: IndexSet::default(),
            undo: (!auxiliary && !effect.is_read_only()).then_some(Undoing::Stays),
        }
    }

    /// Returns how often a step makes its call.
    fn polls(&self, step: &Step) -> Count {
        let Some(until) = step.until() else {
            return Some(1);
        };
        let time = |code: &CheckedExpr| self.lengths.constants.value(code)?.as_duration();
        let (within, every) = (time(step.within()?)?, time(&until.every)?);
        let waits = within.max(0) / every.max(MILLISECOND);
        Some(u64::try_from(waits).unwrap_or(u64::MAX).saturating_add(1))
    }

    fn plan_call(&self, block: BlockId, call: &'a Call, index: usize, auxiliary: bool) -> Tally {
        let Some(called) = self.called.get(index) else {
            return Tally::default();
        };
        let mut tally = if auxiliary {
            called.free.clone()
        } else {
            called.budgeted.clone()
        };
        let mut given: IndexMap<Arc<str>, Flow> = IndexMap::new();
        for (_, entry) in tally.entries_mut() {
            for flow in entry.arguments.values_mut() {
                *flow = self.substitute_inputs(block, (call, index), flow, &mut given);
            }
            if auxiliary {
                entry.undo = None;
            }
        }
        tally
    }

    /// Returns the sources of a value of a called plan with its inputs replaced by those of the call.
    fn substitute_inputs(
        &self,
        block: BlockId,
        (call, index): (&'a Call, usize),
        inner: &Flow,
        given: &mut IndexMap<Arc<str>, Flow>,
    ) -> Flow {
        let mut whole = Flow {
            computed: inner.computed,
            more: inner.more,
            ..Flow::default()
        };
        for part in &inner.parts {
            let Source::Input(name) = &part.source else {
                whole.add(part.clone());
                continue;
            };
            let handed = given
                .entry(name.clone())
                .or_insert_with(|| self.input(block, call, index, name));
            let mut handed = handed.clone();
            let is_constant = |handed: &Part| matches!(handed.source, Source::Constant(_));
            // The value is then something else than the constant.
            handed.computed |= !part.whole && handed.parts.iter().any(is_constant);
            for handed in &mut handed.parts {
                handed.text &= part.text;
                handed.from_open_world &= part.text;
                handed.whole &= part.whole;
            }
            whole.merge(handed);
        }
        whole
    }

    /// Returns the sources of the value that a call passes for an input of the called plan.
    fn input(&self, block: BlockId, call: &'a Call, index: usize, name: &str) -> Flow {
        let called = self.plan.plans.get(index);
        let parameter = called.and_then(|called| {
            let mut parameters = called.parameters.iter();
            parameters.find(|parameter| *parameter.name == *name)
        });
        let mut flow = match call.argument(name) {
            Some(code) => self.flow(block, code),
            None => match parameter.and_then(|parameter| parameter.default.as_ref()) {
                None => known(&Value::Null),
                Some(default) => default.constant().map_or_else(
                    || Flow {
                        computed: true,
                        ..Flow::default()
                    },
                    known,
                ),
            },
        };
        if parameter.is_some_and(|parameter| !parameter.sensitive.is_empty()) {
            flow.redact();
        }
        flow
    }

    /// Returns the sources of the value of an expression.
    fn flow(&self, block: BlockId, code: &'a CheckedExpr) -> Flow {
        match self.lengths.constants.value(code) {
            Some(value) => known(value),
            None => flow(&self.flow_context, block, code),
        }
    }
}

/// Shortest time between two polls, in nanoseconds.
const MILLISECOND: i128 = 1_000_000;

fn known(value: &Value) -> Flow {
    let mut flow = Flow::default();
    flow.add(Part {
        source: Source::Constant(value.to_json()),
        text: false,
        from_open_world: false,
        whole: true,
    });
    flow
}

/// Adds up the calls of statements; of the two outcomes of a condition only the larger one counts.
fn alternatives(calls: Vec<Guarded<'_>>) -> Tally {
    let mut whole = Tally::default();
    let mut ways: IndexMap<NodeId, [Vec<Guarded<'_>>; 2]> = IndexMap::new();
    for (guard, tally) in calls {
        match guard.split_first() {
            None => whole.add(tally),
            Some((atom, rest)) => {
                let [holds, fails] = ways.entry(atom.condition).or_default();
                let way = if atom.negated { fails } else { holds };
                way.push((rest, tally));
            }
        }
    }
    for [holds, fails] in ways.into_values() {
        let mut larger = alternatives(holds);
        larger.or(alternatives(fails));
        whole.add(larger);
    }
    whole
}

/// Records that the effects of a step are undone by calls of these tools.
fn mark_undone(tally: &mut Tally, tools: &[Arc<str>], is_call: bool) {
    for (_, entry) in tally.entries_mut() {
        entry.undo = entry.undo.take().map(|undo| match undo {
            Undoing::With(mut own) => {
                own.extend(tools.iter().cloned());
                Undoing::With(distinct(own))
            }
            _ if is_call => Undoing::With(tools.to_vec()),
            Undoing::AfterEnd => Undoing::AfterEnd,
            _ => Undoing::Whole(tools.to_vec()),
        });
    }
}
