//! Finds the coverage goals of a plan: in its blocks, its steps and their clauses.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{
    BlockId, Call, InputField, Node, NodeId, NodeKind, Plan, Step, StepKind, Target,
};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::{ErrorClass, Signature, Transient};
use planrun_lang::value::Value;

use super::Item;
use super::goals::{Goal, Kind, What};
use super::messages;
use super::observed::{ObservedSteps, Spot};

/// The error name of a tool failure that has no name.
const UNNAMED: &str = "failed";

/// The error classes that a retry may resolve.
const TRANSIENT: [ErrorClass; 4] = [
    ErrorClass::Transient(Transient::Timeout),
    ErrorClass::Transient(Transient::Unavailable),
    ErrorClass::Transient(Transient::RateLimited),
    ErrorClass::Transient(Transient::Network),
];

/// Returns the goals of a plan of this file, in the order of traversal.
pub(super) fn find(file: &SourceFile, plan: &Plan) -> Vec<Goal> {
    let mut finder = Finder {
        file,
        plan,
        observed: ObservedSteps::of(plan, &outer_blocks(plan)),
        list: Vec::new(),
        prerequisites: BTreeMap::new(),
        single_step: BTreeSet::new(),
    };
    finder.all();
    finder.list
}

/// Returns the parent of each block; `None` for the body.
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
    observed: ObservedSteps,
    list: Vec<Goal>,
    /// The goal that must be reached before anything in a block can be.
    prerequisites: BTreeMap<BlockId, Item>,
    /// Blocks that consist of one step; the goal of their arm covers that step.
    single_step: BTreeSet<BlockId>,
}

impl Finder<'_> {
    fn all(&mut self) {
        let plan = self.plan;
        // Blocks that are still to be visited, each with the path prefix of its steps.
        let mut open: Vec<(BlockId, String)> = vec![(BlockId(0), String::new())];
        self.agent_checks();
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
                let asides: Vec<BlockId> = node
                    .step()
                    .into_iter()
                    .flat_map(Step::auxiliary_blocks)
                    .collect();
                node.inner(&mut |inner| {
                    if asides.contains(&inner) {
                        return;
                    }
                    let before = self.before((id, NodeId(index)), node);
                    self.prerequisites.entry(inner).or_insert(before);
                    let label = plan.block(inner).label.as_deref();
                    open.push((
                        inner,
                        label.map_or_else(|| own.clone(), |label| format!("{own}.{label}")),
                    ));
                });
            }
        }
    }

    /// Adds a goal for each answer that an agent can give to the check that the policy requires. An agent that cannot
    /// check always leaves the answer open.
    fn agent_checks(&mut self) {
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
            for verified in answers {
                let missing = match check.body {
                    Ok(_) => messages::agent_check(agent, *verified),
                    Err(_) => format!(
                        "`{agent}` never did any work that must be checked: no test reaches it"
                    ),
                };
                let what = What::Asked(*verified);
                self.list.push(Goal {
                    kind: Kind::Verify,
                    name: agent.to_owned(),
                    span: check.span,
                    item: Item { block, node, what },
                    prerequisite: None,
                    missing,
                });
            }
        }
    }

    fn node(&mut self, spot: Spot, node: &Node, name: &str) {
        let span = node.span;
        match &node.kind {
            NodeKind::Step(step) => self.step(spot, step, name),
            NodeKind::Condition(code) => self.condition(spot, code),
            NodeKind::Ensure { condition, .. } => {
                self.both(spot, Kind::Ensure, condition, span, |text, holds| {
                    if holds {
                        format!("`ensure {text}` never held")
                    } else {
                        format!("`ensure {text}` was never violated: no test makes it false")
                    }
                });
            }
            NodeKind::Reply(code) => {
                let text = messages::excerpt(&format!("reply {}", self.file.slice(code.span)));
                let missing = format!("`{text}` was never reached");
                self.add(spot, Kind::Reply, (&text, span), What::Replied, missing);
            }
            NodeKind::Listener(listener) => {
                let place = (name, listener.span);
                let missing = format!("listener `{name}` never fired: no test triggers it");
                self.add(spot, Kind::Listener, place, What::Fired, missing);
                if let Some(when) = &listener.when {
                    self.condition(spot, when);
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

    fn condition(&mut self, spot: Spot, code: &CheckedExpr) {
        self.both(spot, Kind::Condition, code, code.span, |text, truth| {
            format!("`{text}` was never {truth}")
        });
    }

    /// Adds goals for both values of a condition, except for a value that the checker rules out.
    fn both(
        &mut self,
        spot: Spot,
        kind: Kind,
        code: &CheckedExpr,
        span: Span,
        missing: impl Fn(&str, bool) -> String,
    ) {
        let text = messages::excerpt(self.file.slice(code.span));
        for truth in [true, false] {
            let known = code.constant();
            if known.is_none_or(|known| *known == Value::Bool(truth)) {
                let (what, missing) = (What::Decided(truth), missing(&text, truth));
                self.add(spot, kind, (&text, span), what, missing);
            }
        }
    }

    fn step(&mut self, spot: Spot, step: &Step, name: &str) {
        let place = (name, step.span);
        if !self.single_step.contains(&spot.0) {
            let missing = format!("`{name}` was never started");
            self.add(spot, Kind::Step, place, What::Started, missing);
        }
        match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => self.errors(spot, step, name, signature),
            StepKind::Each(each) => self.elements(spot, place, &each.list),
            StepKind::Repeat(_) => {
                let once = format!("`{name}` never ended after its first round");
                self.add(spot, Kind::Loop, place, What::Once, once);
                let again = format!("`{name}` never started a second round");
                self.add(spot, Kind::Loop, place, What::Again, again);
            }
            StepKind::Match { arms, .. } => {
                for (index, (pattern, body)) in arms.iter().enumerate() {
                    let pattern = messages::pattern(pattern);
                    let goal = (Kind::Arm, What::Arm(index), format!("{name}: {pattern}"));
                    let missing = format!("the arm {pattern} of `{name}` was never taken");
                    self.arm(spot, step, *body, goal, missing);
                }
            }
            StepKind::Input(input) => {
                let constant = |code: &CheckedExpr| code.constant().is_none_or(Value::is_null);
                let asks = |field: &InputField| field.known.as_ref().is_none_or(constant);
                if input.fields.iter().any(asks) {
                    let missing = format!("`{name}` was never filled in: no test answers it");
                    self.add(spot, Kind::Input, place, What::Answered, missing);
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

    /// Adds a goal for each class of errors with which a call may end.
    fn errors(&mut self, spot: Spot, step: &Step, name: &str, tool: &Signature) {
        let named = tool.raises.iter().filter(|class| &***class != UNNAMED);
        let mut classes: BTreeSet<String> = named.map(|class| format!("tool.{class}")).collect();
        let unnamed = ErrorClass::Tool(UNNAMED.into());
        if self.observed.expects(spot, step, &[unnamed]) {
            classes.insert(format!("tool.{UNNAMED}"));
        }
        if self.observed.expects(spot, step, &TRANSIENT) {
            classes.insert("transient".to_owned());
        }
        for class in classes {
            let tool = tool.path();
            let missing =
                format!("`{name}` never failed with {class}: no test makes `{tool}` fail with it");
            let what = What::Failed(class);
            self.add(spot, Kind::Error, (name, step.span), what, missing);
        }
    }

    /// Adds goals for a loop over some elements and over none, unless the checker rules one of them out.
    fn elements(&mut self, spot: Spot, (name, span): (&str, Span), list: &CheckedExpr) {
        for (some, word) in [(true, "a non-empty list"), (false, "an empty list")] {
            let known = match list.constant() {
                Some(Value::List(list)) => Some(!list.is_empty()),
                _ => self.ends_before(spot, list).then_some(true),
            };
            if known.is_none_or(|known| known == some) {
                let missing = format!("`{name}` never ran over {word}");
                self.add(
                    spot,
                    Kind::Loop,
                    (name, span),
                    What::Elements(some),
                    missing,
                );
            }
        }
    }

    fn clauses(&mut self, spot: Spot, step: &Step, name: &str) {
        for (index, arm) in step.recover.iter().enumerate() {
            let failing = (called(step), step.confirm().is_some());
            let failing = (failing.0.as_deref(), failing.1);
            let (arm_name, missing) = messages::recover(name, &arm.patterns, failing);
            let goal = (Kind::Recover, What::Recovered(index), arm_name);
            self.arm(spot, step, arm.body, goal, missing);
        }
        let Some(clauses) = &step.clauses else { return };
        if let Some(confirm) = &clauses.confirm {
            for (what, word) in [(What::Approved, "approved"), (What::Refused, "refused")] {
                let missing =
                    format!("`{name}.confirm` was never {word}: no test gives this answer");
                self.add(spot, Kind::Gate, (name, confirm.span), what, missing);
            }
        }
        if let Some(verify) = &clauses.verify {
            let missing = format!(
                "`{name}.verify` never ran: no test reaches it, or loses the answer of `{name}`"
            );
            self.add(
                spot,
                Kind::Verify,
                (name, verify.span),
                What::Verified,
                missing,
            );
        }
        if clauses.undo.is_some() {
            let span = step.clause_spans("undo").next().unwrap_or(step.span);
            let missing = format!("`{name}.undo` never ran: no test makes the plan fail after it");
            self.add(spot, Kind::Undo, (name, span), What::Undone, missing);
        }
    }

    /// Adds the goal of an arm, at the span of its first statement.
    fn arm(
        &mut self,
        (block, node): Spot,
        step: &Step,
        body: BlockId,
        (kind, what, name): (Kind, What, String),
        missing: String,
    ) {
        let content = self.plan.block(body);
        let span = content.nodes.first().map_or(step.span, |node| node.span);
        if content.label.is_none() {
            self.single_step.insert(body);
        }
        let item = Item {
            block,
            node,
            what: what.clone(),
        };
        self.prerequisites.insert(body, item);
        self.add((block, node), kind, (&name, span), what, missing);
    }

    /// Returns the goal that must be reached before the blocks of a statement can be.
    fn before(&self, (block, node): Spot, owner: &Node) -> Item {
        let what = if owner.step().is_some() {
            What::Started
        } else {
            What::Fired
        };
        match self.prerequisites.get(&block) {
            Some(arm) if self.single_step.contains(&block) => arm.clone(),
            _ => Item { block, node, what },
        }
    }

    /// Returns true if the block ends above the loop when the list is empty: with an early reply or failure
    /// `when size(list) == 0`, or with `ensure size(list) > 0`.
    fn ends_before(&self, (id, node): Spot, list: &CheckedExpr) -> bool {
        let text = |code: &CheckedExpr| {
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
        (block, node): Spot,
        kind: Kind,
        (name, span): (&str, Span),
        what: What,
        missing: String,
    ) {
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
        let item = |what| Item { block, node, what };
        let prerequisite = if own && !self.single_step.contains(&block) {
            Some(item(What::Started))
        } else {
            self.prerequisites.get(&block).cloned()
        };
        self.list.push(Goal {
            kind,
            name: name.to_owned(),
            span,
            item: item(what),
            prerequisite,
            missing,
        });
    }
}

/// Returns the dotted name of the tool that a step calls.
fn called(step: &Step) -> Option<String> {
    Some(step.tool()?.path())
}
