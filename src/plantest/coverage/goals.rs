//! Everything in a plan that a test can reach.
//!
//! The errors that a tool's contract names are goals wherever it is called, because the contract says that they happen.
//! Those that happen to every tool are goals only of steps whose plan says what shall happen then: the step has a
//! `retry` or a `recover` for them, or something asks for its state. They are `tool.failed`, a refusal without a name,
//! and all that is `transient`, which counts as one. What the checker knows to come out in one way only is no goal in the
//! other, and a call that is all of an arm is told by the arm.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::sema::expr::Code;
use planrun_lang::sema::{BlockId, Call, Node, NodeId, NodeKind, Plan, Step, StepKind, Target};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::{ErrorClass, Transient};
use planrun_lang::value::Value;

use super::Item;
use super::spoken::Spoken;
use super::words;
use planrun_core::run::Reached;

/// The name of a tool's error that has none.
const UNNAMED: &str = "failed";

/// The ways to fail that trying again may help.
const TRANSIENT: [ErrorClass; 4] = [
    ErrorClass::Transient(Transient::Timeout),
    ErrorClass::Transient(Transient::Unavailable),
    ErrorClass::Transient(Transient::RateLimited),
    ErrorClass::Transient(Transient::Network),
];

/// What sort of thing it is that can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Step,
    /// Of `when`, `if`, a guarded statement or a listener.
    Condition,
    Ensure,
    /// Of a `match`.
    Arm,
    Recover,
    /// `each` and `repeat`.
    Loop,
    Error,
    Undo,
    Verify,
    Listener,
    Reply,
    Gate,
    Input,
}

/// What a statement can come to, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Started,
    Decided(bool),
    Arm(usize),
    Recovered(usize),
    /// The dotted class; all that are transient are one.
    Failed(String),
    /// `each` over a list without elements, or over one with some.
    Elements(bool),
    Once,
    Again,
    Undone,
    Verified,
    Fired,
    Replied,
    Approved,
    Refused,
    Answered,
}

/// One thing that a test can reach.
#[derive(Debug)]
pub struct Goal {
    pub kind: Kind,
    /// What it is called: the path of a step, the text of a condition.
    pub name: String,
    /// Where it is written.
    pub span: Span,
    pub item: Item,
    /// What must be reached before it.
    pub under: Option<Item>,
    /// What is said of it while no test reaches it.
    pub missing: String,
}

/// The goals of one plan, in the order of its text.
#[derive(Debug)]
pub struct Goals {
    file: Arc<SourceFile>,
    plan: Arc<Plan>,
    pub list: Vec<Goal>,
}

impl Goals {
    /// Finds the goals of a plan that stands in this file. Plans that it calls have goals of their own.
    #[must_use]
    pub fn of(file: &Arc<SourceFile>, plan: &Arc<Plan>) -> Self {
        let outer = outer_blocks(plan);
        let spoken = Spoken::of(plan, &outer);
        let mut finder = Finder {
            file,
            plan,
            spoken,
            list: Vec::new(),
            under: BTreeMap::new(),
            silent: BTreeSet::new(),
        };
        finder.all();
        let mut list = finder.list;
        list.sort_by(|one, other| {
            (one.span.start, &one.item).cmp(&(other.span.start, &other.item))
        });
        Self {
            file: file.clone(),
            plan: plan.clone(),
            list,
        }
    }

    #[must_use]
    pub fn file(&self) -> &SourceFile {
        &self.file
    }

    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The line of a goal, from 1.
    #[must_use]
    pub fn line(&self, goal: &Goal) -> u32 {
        self.file.position(goal.span.start).line
    }
}

impl What {
    /// What the engine tells, as it is kept.
    #[must_use]
    pub fn of(reached: &Reached) -> Self {
        match *reached {
            Reached::Started => Self::Started,
            Reached::Decided(truth) => Self::Decided(truth),
            Reached::Arm(index) => Self::Arm(index),
            Reached::Recovered(index) => Self::Recovered(index),
            Reached::Failed(ErrorClass::Transient(_)) => Self::Failed("transient".into()),
            Reached::Failed(ref class) => Self::Failed(class.to_string()),
            Reached::Elements(count) => Self::Elements(count > 0),
            Reached::Once => Self::Once,
            Reached::Again => Self::Again,
            Reached::Undone => Self::Undone,
            Reached::Verified => Self::Verified,
            Reached::Fired => Self::Fired,
            Reached::Replied => Self::Replied,
            Reached::Approved => Self::Approved,
            Reached::Refused => Self::Refused,
            Reached::Answered => Self::Answered,
        }
    }
}

impl What {
    /// The word for it, where several goals may have one name.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Started => "started",
            Self::Decided(true) => "true",
            Self::Decided(false) => "false",
            Self::Arm(_) | Self::Recovered(_) => "taken",
            Self::Failed(class) => class,
            Self::Elements(true) => "some",
            Self::Elements(false) => "none",
            Self::Once => "once",
            Self::Again => "again",
            Self::Undone => "undone",
            Self::Verified => "verified",
            Self::Fired => "fired",
            Self::Replied => "replied",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Answered => "answered",
        }
    }
}

impl Kind {
    /// Every kind, in the order in which they are told.
    pub const ALL: [Self; 13] = [
        Self::Step,
        Self::Condition,
        Self::Ensure,
        Self::Arm,
        Self::Recover,
        Self::Loop,
        Self::Error,
        Self::Undo,
        Self::Verify,
        Self::Listener,
        Self::Reply,
        Self::Gate,
        Self::Input,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Condition => "condition",
            Self::Ensure => "ensure",
            Self::Arm => "arm",
            Self::Recover => "recover",
            Self::Loop => "loop",
            Self::Error => "error",
            Self::Undo => "undo",
            Self::Verify => "verify",
            Self::Listener => "listener",
            Self::Reply => "reply",
            Self::Gate => "gate",
            Self::Input => "input",
        }
    }

    /// Whether it is one of several ways on from the same place.
    #[must_use]
    pub const fn is_branch(self) -> bool {
        matches!(
            self,
            Self::Condition | Self::Ensure | Self::Arm | Self::Recover | Self::Loop | Self::Gate
        )
    }
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
    /// Blocks whose step is told by the arm that it is all of.
    silent: BTreeSet<BlockId>,
}

impl Finder<'_> {
    fn all(&mut self) {
        let plan = self.plan;
        // Blocks still to be looked at, with what stands before the names of their steps.
        let mut open: Vec<(BlockId, String)> = vec![(BlockId(0), String::new())];
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
        if !self.silent.contains(&spot.0) {
            self.add(
                spot,
                Kind::Step,
                name,
                step.span,
                What::Started,
                words::step(name),
            );
        }
        match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => {
                let named = signature.raises.iter().filter(|class| &***class != UNNAMED);
                let named = named.map(|class| format!("tool.{class}"));
                let unnamed = ErrorClass::Tool(UNNAMED.into());
                let unnamed = self
                    .spoken
                    .expects(spot, step, &[unnamed])
                    .then(|| format!("tool.{UNNAMED}"));
                let transient = self
                    .spoken
                    .expects(spot, step, &TRANSIENT)
                    .then(|| "transient".to_owned());
                for class in named
                    .chain(unnamed)
                    .chain(transient)
                    .collect::<BTreeSet<String>>()
                {
                    let missing = words::error(name, &signature.path(), &class);
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
            StepKind::Each(each) => {
                for some in [true, false] {
                    let known = match each.list.constant() {
                        Some(Value::List(list)) => Some(!list.is_empty()),
                        _ => self.ends_before(spot, &each.list).then_some(true),
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
            StepKind::Repeat(_) => {
                self.add(
                    spot,
                    Kind::Loop,
                    name,
                    step.span,
                    What::Once,
                    words::once(name),
                );
                self.add(
                    spot,
                    Kind::Loop,
                    name,
                    step.span,
                    What::Again,
                    words::again(name),
                );
            }
            StepKind::Match { arms, .. } => {
                for (index, (pattern, body)) in arms.iter().enumerate() {
                    let pattern = words::pattern(pattern);
                    let missing = words::arm(name, &pattern);
                    self.arm(
                        spot,
                        Kind::Arm,
                        &format!("{name}: {pattern}"),
                        step,
                        *body,
                        What::Arm(index),
                        missing,
                    );
                }
            }
            StepKind::Input(input) => {
                let asks = |known: &Option<Code>| {
                    known
                        .as_ref()
                        .is_none_or(|code| code.constant().is_none_or(Value::is_null))
                };
                if input.fields.iter().any(|field| asks(&field.known)) {
                    self.add(
                        spot,
                        Kind::Input,
                        name,
                        step.span,
                        What::Answered,
                        words::input(name),
                    );
                }
            }
            StepKind::Call(_)
            | StepKind::Do(_)
            | StepKind::Race(_)
            | StepKind::Ask(_)
            | StepKind::Infer(_)
            | StepKind::Wait(_)
            | StepKind::Damaged => {}
        }
        self.clauses(spot, step, name);
    }

    fn clauses(&mut self, spot: (BlockId, NodeId), step: &Step, name: &str) {
        for (index, arm) in step.recover.iter().enumerate() {
            let (told, missing) = words::recover(name, &arm.patterns, called(step).as_deref());
            self.arm(
                spot,
                Kind::Recover,
                &told,
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
