//! Counts the calls of a plan, block by block, and once for each plan that it calls.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::HashMap;
use indexmap::{IndexMap, IndexSet};

use super::length::Lengths;
use super::tally::{Count, Entry, Key, Tally, distinct, least};
use super::{Around, Role, Undoing, Use};
use crate::eval::Constants;
use crate::origin::{Flow, Ground, Part, Source, flow};
use crate::sema::expr::Code;
use crate::sema::{
    Backoff, BlockId, Call, EventKind, GuardAtom, Listener, MAX_SENDS, Nesting, Node, NodeId,
    NodeKind, OnFailure, Plan, Step, StepKind, Target,
};
use crate::types::{Effect, Signature};
use crate::value::Value;

/// How much is evaluated to know the values of one plan.
const WORK: u64 = 100_000;

/// The calls of a plan and of the plans that it calls.
pub(super) fn uses(plan: &Plan, around: &Around<'_>) -> Vec<Use> {
    let mut plans = Plans {
        around,
        known: HashMap::default(),
    };
    let counting = plans.counting(plan, around.wanted);
    counting.whole(false).into_uses()
}

/// What is known of a plan, whoever calls it.
struct Known {
    /// Its calls within its budget.
    budgeted: Tally,
    /// Its calls where it verifies or undoes something: no budget counts them.
    free: Tally,
    reply: Arc<Flow>,
}

struct Plans<'a> {
    around: &'a Around<'a>,
    known: HashMap<*const Plan, Rc<Known>>,
}

impl<'a> Plans<'a> {
    fn of(&mut self, plan: &Plan) -> Rc<Known> {
        let key = std::ptr::from_ref(plan);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let counting = self.counting(plan, None);
        let known = Rc::new(Known {
            budgeted: counting.whole(false),
            free: counting.whole(true),
            reply: Arc::new(counting.reply()),
        });
        self.known.insert(key, known.clone());
        known
    }

    fn counting<'p>(&mut self, plan: &'p Plan, wanted: Option<&'p BTreeSet<u32>>) -> Counting<'p>
    where
        'a: 'p,
    {
        let called: Vec<_> = plan.plans.iter().map(|called| self.of(called)).collect();
        let replies = called.iter().map(|called| called.reply.clone()).collect();
        let nesting = Nesting::of(plan);
        Counting {
            around: self.around,
            lengths: Lengths {
                nesting: nesting.clone(),
                constants: Constants::of(plan, WORK),
            },
            ground: Ground { nesting, replies },
            called,
            plan,
            wanted,
        }
    }
}

struct Counting<'a> {
    around: &'a Around<'a>,
    plan: &'a Plan,
    ground: Ground<'a>,
    lengths: Lengths<'a>,
    called: Vec<Rc<Known>>,
    wanted: Option<&'a BTreeSet<u32>>,
}

/// Calls under the conditions that are still to be looked at.
type Guarded<'a> = (&'a [GuardAtom], Tally);

impl<'a> Counting<'a> {
    fn whole(&self, aside: bool) -> Tally {
        let mut tally = self.block(BlockId(0), aside);
        if !aside {
            tally.add(self.agent_checks());
        }
        let budget = self.around.budget(self.plan).calls.filter(|_| !aside);
        let policy = self
            .plan
            .policy
            .on_failure
            .or(self.around.policy.on_failure);
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

    /// What agents are asked at the end: each once, about one of its steps.
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

    /// One pass through a block. `aside`: it verifies or undoes something.
    fn block(&self, block: BlockId, aside: bool) -> Tally {
        let wanted = self.wanted.filter(|_| block == BlockId(0));
        let runs = |index: &u32| wanted.is_none_or(|wanted| wanted.contains(index));
        let nodes = (0..).zip(&self.plan.block(block).nodes);
        let calls = nodes
            .filter(|(index, _)| runs(index))
            .map(|(_, node)| (node.guard.as_slice(), self.node(block, node, aside)));
        let calls: Vec<_> = calls.filter(|(_, tally)| !tally.is_empty()).collect();
        let keys = calls.iter().flat_map(|(_, tally)| tally.iter());
        let page: IndexSet<Key> = keys.map(|(key, _)| key.clone()).collect();
        alternatives(calls).in_order_of(&page)
    }

    fn node(&self, block: BlockId, node: &'a Node, aside: bool) -> Tally {
        match &node.kind {
            NodeKind::Step(step) => self.step(block, step, aside),
            NodeKind::Listener(listener) => self.listener(listener, aside),
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

    fn listener(&self, listener: &'a Listener, aside: bool) -> Tally {
        let own = match &listener.max {
            None => Some(1),
            Some(max) => self.lengths.number(Some(max)),
        };
        let policy = self.plan.policy.max_firings;
        let mut tally = self.block(listener.body, aside);
        tally.times(least(own, policy.or(self.around.policy.max_firings)));
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

    fn step(&self, block: BlockId, step: &'a Step, aside: bool) -> Tally {
        let mut tally = self.work(block, step, aside);
        let undo = step.undo().map(|undo| self.block(undo.body, true));
        if let Some(undo) = &undo {
            let tools = undo.iter().map(|(key, _)| key.tool.clone()).collect();
            cover(&mut tally, &distinct(tools), tool(step).is_some());
        }
        let mut arms = Tally::default();
        for arm in &step.recover {
            arms.or(self.block(arm.body, aside));
        }
        tally.add(arms.in_role(Role::Recover));
        if let Some(verify) = step.verify() {
            let mut looks = self.block(verify.body, true);
            // At the end, where it is not known what came of it, and before it is undone.
            let unknown = tool(step).is_some_and(Signature::can_stay_unknown);
            looks.times(Some(if unknown { u64::from(MAX_SENDS) + 2 } else { 2 }));
            tally.add(looks.in_role(Role::Verify));
        }
        tally.add(undo.unwrap_or_default().in_role(Role::Undo));
        tally
    }

    fn work(&self, block: BlockId, step: &'a Step, aside: bool) -> Tally {
        let body = |body: BlockId| self.block(body, aside);
        match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(signature) => self.tool_call(block, step, call, signature, aside),
                Target::Plan(index, _) => self.plan_call(block, call, *index, aside),
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
        aside: bool,
    ) -> Tally {
        let policy = self.plan.policy.retry.over(&self.around.policy.retry);
        let retry = step.retry().cloned();
        let retry = retry.or_else(|| (self.around.retry)(signature));
        let (backoff, _) = Backoff::of(retry.as_ref(), &policy, call.effect);
        let sends = if step.verify().is_some() && signature.can_stay_unknown() {
            u64::from(MAX_SENDS) + 1
        } else {
            1
        };
        let stays = signature
            .inverse
            .clone()
            .map_or(Undoing::Stays, Undoing::Inverse);
        let mut entry = self.entry(block, &call.arguments, call.effect, aside);
        entry.count = self.polls(step);
        entry.attempts = u64::from(backoff.attempts).max(1).saturating_mul(sends);
        entry.undo = entry.undo.map(|_| stays);
        entry.hidden = signature
            .sensitive
            .iter()
            .filter_map(|path| path.split(['.', '[']).next().map(Arc::from))
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
        arguments: &'a [(Arc<str>, Code)],
        effect: Effect,
        aside: bool,
    ) -> Entry {
        let arguments = arguments.iter();
        Entry {
            count: Some(1),
            attempts: 1,
            arguments: arguments
                .map(|(name, code)| (name.clone(), self.flow(block, code)))
                .collect(),
            hidden: IndexSet::default(),
            undo: (!aside && !effect.is_read_only()).then_some(Undoing::Stays),
        }
    }

    /// How often a step makes its call.
    fn polls(&self, step: &Step) -> Count {
        let Some(until) = step.until() else {
            return Some(1);
        };
        let time = |code: &Code| self.lengths.constants.value(code)?.as_duration();
        let (within, every) = (time(step.within()?)?, time(&until.every)?);
        let waits = within.max(0) / every.max(MILLISECOND);
        Some(u64::try_from(waits).unwrap_or(u64::MAX).saturating_add(1))
    }

    fn plan_call(&self, block: BlockId, call: &'a Call, index: usize, aside: bool) -> Tally {
        let Some(called) = self.called.get(index) else {
            return Tally::default();
        };
        let mut tally = if aside {
            called.free.clone()
        } else {
            called.budgeted.clone()
        };
        let mut given: IndexMap<Arc<str>, Flow> = IndexMap::new();
        for (_, entry) in tally.entries_mut() {
            for flow in entry.arguments.values_mut() {
                *flow = self.handed_in(block, (call, index), flow, &mut given);
            }
            if aside {
                entry.undo = None;
            }
        }
        tally
    }

    /// The sources of a value of a called plan, as the plan that calls it has them.
    fn handed_in(
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
            for handed in &mut handed.parts {
                handed.text &= part.text;
                handed.strangers &= part.text;
            }
            whole.merge(handed);
        }
        whole
    }

    /// What a call gives another plan for one of its inputs.
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
            flow.hide();
        }
        flow
    }

    /// Where the value of an expression comes from.
    fn flow(&self, block: BlockId, code: &'a Code) -> Flow {
        match self.lengths.constants.value(code) {
            Some(value) => known(value),
            None => flow(&self.ground, block, code),
        }
    }
}

/// The least time between two polls, in nanoseconds.
const MILLISECOND: i128 = 1_000_000;

fn known(value: &Value) -> Flow {
    let mut flow = Flow::default();
    flow.add(Part {
        source: Source::Constant(value.to_json()),
        text: false,
        strangers: false,
    });
    flow
}

/// The calls of statements of which some exclude each other: those of the two ways that a condition may come out.
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

/// What a step has done is undone by calls of these tools.
fn cover(tally: &mut Tally, tools: &[Arc<str>], is_call: bool) {
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

fn tool(step: &Step) -> Option<&Signature> {
    match &step.call()?.target {
        Target::Tool(signature) => Some(signature),
        Target::Plan(..) => None,
    }
}
