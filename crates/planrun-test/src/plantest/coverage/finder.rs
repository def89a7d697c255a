//! The search for the goals of a plan: through its blocks, its steps and what stands beside them.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::sema::expr::Code;
use planrun_lang::sema::{
    BlockId, Call, InputField, Node, NodeId, NodeKind, Plan, Step, StepKind, Target,
};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::{ErrorClass, Signature, Transient};
use planrun_lang::value::Value;

use super::Item;
use super::goals::{Goal, Kind, What};
use super::spoken::Spoken;
use super::words;

/// The name of a tool's error that has none.
const UNNAMED: &str = "failed";

/// The ways to fail that trying again may help.
const TRANSIENT: [ErrorClass; 4] = [
    ErrorClass::Transient(Transient::Timeout),
    ErrorClass::Transient(Transient::Unavailable),
    ErrorClass::Transient(Transient::RateLimited),
    ErrorClass::Transient(Transient::Network),
];

/// The goals of a plan that stands in this file, as they come.
pub(super) fn find(file: &SourceFile, plan: &Plan) -> Vec<Goal> {
    let mut finder = Finder {
        file,
        plan,
        spoken: Spoken::of(plan, &outer_blocks(plan)),
        list: Vec::new(),
        under: BTreeMap::new(),
        silent: BTreeSet::new(),
    };
    finder.all();
    finder.list
}

/// The block around each block; none around the body.
fn outer_blocks(plan: &Plan) -> Vec<Option<BlockId>> {
    let mut outer = vec![None; plan.blocks.len()];
    for (index, block) in plan.blocks.iter().enumerate() {
        for node in &block.nodes {
            node.inner(&mut |inner| {
                if let Some(place) = outer.get_mut(inner.0 as usize) {
                    *place = u32::try_from(index).ok().map(BlockId);
                }
            });
        }
    }
    outer
}

struct Finder<'a> {
    file: &'a SourceFile,
    plan: &'a Plan,
    spoken: Spoken,
    list: Vec<Goal>,
    /// What must be reached before anything in a block.
    under: BTreeMap<BlockId, Item>,
    /// Blocks that consist of one step, whose goal is that of their arm.
    silent: BTreeSet<BlockId>,
}

impl Finder<'_> {
    fn all(&mut self) {
        let plan = self.plan;
        // Blocks still to be looked at, with what stands before the names of their steps.
        let mut open: Vec<(BlockId, String)> = vec![(BlockId(0), String::new())];
        self.asked();
        while let Some((id, path)) = open.pop() {
            let block = plan.block(id);
            for (index, node) in block.nodes.iter().enumerate() {
                let Ok(index) = u32::try_from(index) else {
                    continue;
                };
                let own = match (&node.name, path.is_empty()) {
                    (Some(name), true) => name.to_string(),
                    (Some(name), false) => format!("{path}.{name}"),
                    (None, _) => path.clone(),
                };
                self.node((id, NodeId(index)), node, &own);
                let beside: Vec<BlockId> = node.step().into_iter().flat_map(Step::asides).collect();
                node.inner(&mut |inner| {
                    if beside.contains(&inner) {
                        return;
                    }
                    let before = self.before((id, NodeId(index)), node);
                    self.under.entry(inner).or_insert(before);
                    let label = plan.block(inner).label.as_deref();
                    open.push((
                        inner,
                        label.map_or_else(|| own.clone(), |label| format!("{own}.{label}")),
                    ));
                });
            }
        }
    }

    /// What each agent may say that the policy has asked. Where it cannot look, it says nothing in any case.
    fn asked(&mut self) {
        let plan = self.plan;
        let mut agents = BTreeSet::new();
        for (block, node, content) in plan.sites() {
            let check = content.step().and_then(Step::agent_check);
            let Some(check) = check.filter(|check| agents.insert(&check.agent)) else {
                continue;
            };
            let agent = &*check.agent;
            let answers: &[Option<bool>] = match check.body {
                Ok(_) => &[Some(true), Some(false), None],
                Err(_) => &[None],
            };
            for said in answers {
                let missing = match check.body {
                    Ok(_) => words::asked(agent, *said),
                    Err(_) => words::not_asked(agent),
                };
                let what = What::Asked(*said);
                self.list.push(Goal {
                    kind: Kind::Verify,
                    name: agent.to_owned(),
                    span: check.span,
                    item: Item { block, node, what },
                    under: None,
                    missing,
                });
            }
        }
    }

    fn node(&mut self, spot: (BlockId, NodeId), node: &Node, name: &str) {
        match &node.kind {
            NodeKind::Step(step) => self.step(spot, step, name),
            NodeKind::Condition(code) => {
                self.both(spot, Kind::Condition, code, code.span, &words::condition);
            }
            NodeKind::Ensure { condition, .. } => {
                self.both(spot, Kind::Ensure, condition, node.span, &words::ensure);
            }
            NodeKind::Reply(code) => {
                let text = words::excerpt(&format!("reply {}", self.file.slice(code.span)));
                self.add(
                    spot,
                    Kind::Reply,
                    &text,
                    node.span,
                    What::Replied,
                    words::reply(&text),
                );
            }
            NodeKind::Listener(listener) => {
                self.add(
                    spot,
                    Kind::Listener,
                    name,
                    listener.span,
                    What::Fired,
                    words::listener(name),
                );
                if let Some(when) = &listener.when {
                    self.both(spot, Kind::Condition, when, when.span, &words::condition);
                }
            }
            NodeKind::Let(_)
            | NodeKind::Fail(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_)
            | NodeKind::Task(_)
            | NodeKind::Set(_) => {}
        }
    }

    /// A condition that comes out in both ways, unless it is known before.
    fn both(
        &mut self,
        spot: (BlockId, NodeId),
        kind: Kind,
        code: &Code,
        span: Span,
        missing: &dyn Fn(&str, bool) -> String,
    ) {
        let text = words::excerpt(self.file.slice(code.span));
        for truth in [true, false] {
            if code
                .constant()
                .is_none_or(|known| *known == Value::Bool(truth))
            {
                self.add(
                    spot,
                    kind,
                    &text,
                    span,
                    What::Decided(truth),
                    missing(&text, truth),
                );
            }
        }
    }

    fn step(&mut self, spot: (BlockId, NodeId), step: &Step, name: &str) {
        let span = step.span;
        if !self.silent.contains(&spot.0) {
            let missing = words::step(name);
            self.add(spot, Kind::Step, name, span, What::Started, missing);
        }
        match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => self.errors(spot, step, name, signature),
            StepKind::Each(each) => self.elements(spot, step, name, &each.list),
            StepKind::Repeat(_) => {
                let (once, again) = (words::once(name), words::again(name));
                self.add(spot, Kind::Loop, name, span, What::Once, once);
                self.add(spot, Kind::Loop, name, span, What::Again, again);
            }
            StepKind::Match { arms, .. } => {
                for (index, (pattern, body)) in arms.iter().enumerate() {
                    let (what, pattern) = (What::Arm(index), words::pattern(pattern));
                    let (arm_name, missing) =
                        (format!("{name}: {pattern}"), words::arm(name, &pattern));
                    self.arm(spot, Kind::Arm, &arm_name, step, *body, what, missing);
                }
            }
            StepKind::Input(input) => {
                let constant = |code: &Code| code.constant().is_none_or(Value::is_null);
                let asks = |field: &InputField| field.known.as_ref().is_none_or(constant);
                if input.fields.iter().any(asks) {
                    let missing = words::input(name);
                    self.add(spot, Kind::Input, name, span, What::Answered, missing);
                }
            }
            StepKind::Call(_)
            | StepKind::Do(_)
            | StepKind::Race(_)
            | StepKind::Wait(_)
            | StepKind::Damaged => {}
        }
        self.clauses(spot, step, name);
    }

    /// The errors with which a call may end.
    fn errors(&mut self, spot: (BlockId, NodeId), step: &Step, name: &str, tool: &Signature) {
        let named = tool.raises.iter().filter(|class| &***class != UNNAMED);
        let mut classes: BTreeSet<String> = named.map(|class| format!("tool.{class}")).collect();
        let unnamed = ErrorClass::Tool(UNNAMED.into());
        if self.spoken.expects(spot, step, &[unnamed]) {
            classes.insert(format!("tool.{UNNAMED}"));
        }
        if self.spoken.expects(spot, step, &TRANSIENT) {
            classes.insert("transient".to_owned());
        }
        for class in classes {
            let missing = words::error(name, &tool.path(), &class);
            self.add(
                spot,
                Kind::Error,
                name,
                step.span,
                What::Failed(class),
                missing,
            );
        }
    }

    /// A loop over some elements, and one over none, where either may be.
    fn elements(&mut self, spot: (BlockId, NodeId), step: &Step, name: &str, list: &Code) {
        for some in [true, false] {
            let known = match list.constant() {
                Some(Value::List(list)) => Some(!list.is_empty()),
                _ => self.ends_before(spot, list).then_some(true),
            };
            if known.is_none_or(|known| known == some) {
                let missing = words::each(name, some);
                self.add(
                    spot,
                    Kind::Loop,
                    name,
                    step.span,
                    What::Elements(some),
                    missing,
                );
            }
        }
    }

    fn clauses(&mut self, spot: (BlockId, NodeId), step: &Step, name: &str) {
        for (index, arm) in step.recover.iter().enumerate() {
            let (arm_name, missing) = words::recover(name, &arm.patterns, called(step).as_deref());
            self.arm(
                spot,
                Kind::Recover,
                &arm_name,
                step,
                arm.body,
                What::Recovered(index),
                missing,
            );
        }
        let Some(clauses) = &step.clauses else { return };
        let place = |word: &str| step.clause_spans(word).next().unwrap_or(step.span);
        if let Some(confirm) = &clauses.confirm {
            for (what, word) in [(What::Approved, "agreed to"), (What::Refused, "refused")] {
                self.add(
                    spot,
                    Kind::Gate,
                    name,
                    confirm.span,
                    what,
                    words::gate(name, word),
                );
            }
        }
        if let Some(verify) = &clauses.verify {
            self.add(
                spot,
                Kind::Verify,
                name,
                verify.span,
                What::Verified,
                words::verify(name),
            );
        }
        if clauses.undo.is_some() {
            self.add(
                spot,
                Kind::Undo,
                name,
                place("undo"),
                What::Undone,
                words::undo(name),
            );
        }
    }

    /// An arm stands where its first statement does.
    #[expect(
        clippy::too_many_arguments,
        reason = "each is a part of the goal, and both kinds of arms have them all"
    )]
    fn arm(
        &mut self,
        spot: (BlockId, NodeId),
        kind: Kind,
        name: &str,
        step: &Step,
        body: BlockId,
        what: What,
        missing: String,
    ) {
        let block = self.plan.block(body);
        let span = block.nodes.first().map_or(step.span, |node| node.span);
        if block.label.is_none() {
            self.silent.insert(body);
        }
        self.under.insert(
            body,
            Item {
                block: spot.0,
                node: spot.1,
                what: what.clone(),
            },
        );
        self.add(spot, kind, name, span, what, missing);
    }

    /// What must be reached before what a statement owns.
    fn before(&self, (block, node): (BlockId, NodeId), owner: &Node) -> Item {
        let what = if owner.step().is_some() {
            What::Started
        } else {
            What::Fired
        };
        match self.under.get(&block) {
            Some(arm) if self.silent.contains(&block) => arm.clone(),
            _ => Item { block, node, what },
        }
    }

    /// Whether the plan, or the block, ends above a loop where there is nothing to go through: an early reply or failure
    /// `when size(list) == 0`, or `ensure size(list) > 0`.
    fn ends_before(&self, (id, node): (BlockId, NodeId), list: &Code) -> bool {
        let text = |code: &Code| {
            self.file
                .slice(code.span)
                .split_whitespace()
                .collect::<String>()
        };
        let size = format!("size({})", text(list));
        let block = self.plan.block(id);
        let above = block.nodes.iter().take(node.0 as usize);
        above
            .into_iter()
            .any(|node| match (&node.kind, node.guard.as_slice()) {
                (NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Fail(_), [atom])
                    if !atom.negated =>
                {
                    let NodeKind::Condition(condition) = &block.node(atom.condition).kind else {
                        return false;
                    };
                    text(condition) == format!("{size}==0")
                }
                (NodeKind::Ensure { condition, .. }, []) => {
                    [format!("{size}>0"), format!("{size}!=0")].contains(&text(condition))
                }
                _ => false,
            })
    }

    fn add(
        &mut self,
        (block, node): (BlockId, NodeId),
        kind: Kind,
        name: &str,
        span: Span,
        what: What,
        missing: String,
    ) {
        let around = self.under.get(&block).cloned();
        let own = matches!(
            kind,
            Kind::Error
                | Kind::Arm
                | Kind::Recover
                | Kind::Loop
                | Kind::Undo
                | Kind::Verify
                | Kind::Input
        );
        let started = Item {
            block,
            node,
            what: What::Started,
        };
        let under = if own && !self.silent.contains(&block) {
            Some(started)
        } else {
            around
        };
        let item = Item { block, node, what };
        self.list.push(Goal {
            kind,
            name: name.to_owned(),
            span,
            item,
            under,
            missing,
        });
    }
}

/// The dotted name of the tool that a step calls.
fn called(step: &Step) -> Option<String> {
    match &step.kind {
        StepKind::Call(Call {
            target: Target::Tool(signature),
            ..
        }) => Some(signature.path()),
        _ => None,
    }
}
