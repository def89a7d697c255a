//! The checked plan: what `graph` orders and `engine` runs.
//!
//! Blocks live in one list and refer to each other by number, so that no pass over a plan, `Drop` included, recurses
//! over it. An `if` leaves no block: its statements stand in the surrounding block under a guard.

use std::sync::Arc;
use std::time::Duration;

use super::expr::{Code, Matcher};
use crate::source::Span;
use crate::tools::Grant;
use crate::types::{Effect, ErrorClass, ErrorPattern, Signature, Type};

/// A plan that may run.
#[derive(Debug)]
pub struct Plan {
    pub name: Arc<str>,
    pub doc: Option<Arc<str>>,
    /// Of its name.
    pub span: Span,
    pub parameters: Vec<PlanParameter>,
    /// Declared, or the union of all replies; null where there is none.
    pub returns: Type,
    pub policy: Policy,
    /// What its calls may reach; `None` where it says nothing.
    pub allow: Option<Grant>,
    /// The first is the body; at least one.
    pub blocks: Vec<Block>,
    /// The highest class of its steps.
    pub effect: Effect,
    /// What its calls touch.
    pub touches: Vec<Touch>,
    /// The plans that it calls, by [`Target::Plan`].
    pub plans: Vec<Arc<Plan>>,
    /// What `run` cannot execute yet: a place and its word.
    pub not_yet: Vec<(Span, &'static str)>,
}

/// An input of a plan; it has the slot of its index in the body's frame.
#[derive(Debug)]
pub struct PlanParameter {
    pub name: Arc<str>,
    pub ty: Type,
    pub required: bool,
    pub default: Option<Code>,
}

/// The number of a block within its plan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockId(pub u32);

/// The number of a node within its block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(pub u32);

/// Statements that share one frame, in source order.
///
/// Arms of `match`, `race` and `recover` are blocks too: a call is a step and a `yield` of its value.
#[derive(Debug, Default)]
pub struct Block {
    /// What stands between the path of the step that owns it and the paths of its steps.
    pub label: Option<Arc<str>>,
    /// The number of values that a frame holds: parameters and local names first.
    pub slots: u32,
    pub nodes: Vec<Node>,
}

/// One statement, or the condition of a guard.
#[derive(Debug)]
pub struct Node {
    pub span: Span,
    pub name: Option<Arc<str>>,
    /// Where its value goes.
    pub slot: Option<u32>,
    /// All must hold, else the node is skipped.
    pub guard: Vec<GuardAtom>,
    /// Steps that must have completed, or have been skipped by their guards.
    pub after: Vec<NodeId>,
    pub kind: NodeKind,
}

/// A condition of the same block and how it must have come out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardAtom {
    pub condition: NodeId,
    pub negated: bool,
}

#[derive(Debug)]
pub enum NodeKind {
    /// The condition of an `if` or `when`, decided once.
    Condition(Code),
    Let(Code),
    Step(Box<Step>),
    Ensure {
        condition: Code,
        message: Code,
    },
    Fail(Failing),
    Reply(Code),
    Yield(Code),
    Next(Code),
    /// Accepted by the checker; `run` refuses the plan before it starts.
    NotYet(&'static str),
}

/// `fail class "…"`
#[derive(Debug)]
pub struct Failing {
    pub class: ErrorClass,
    pub message: Option<Code>,
}

/// A step with its clauses.
#[derive(Debug)]
pub struct Step {
    pub kind: StepKind,
    /// The type of its value, recovered or not, without the absence that a guard brings.
    pub ty: Type,
    pub effect: Effect,
    pub touches: Vec<Touch>,
    /// `after none`: no order against other calls on the same state.
    pub unordered: bool,
    pub timeout: Option<Code>,
    pub within: Option<Code>,
    pub retry: Option<Retry>,
    pub until: Option<Until>,
    pub recover: Vec<Recover>,
    /// The words of its clauses and where they stand, in the order written.
    pub clauses: Vec<(&'static str, Span)>,
}

#[derive(Debug)]
pub enum StepKind {
    Call(Call),
    Do(BlockId),
    Each(Box<Each>),
    Repeat(Box<Repeat>),
    /// First success wins; branches are named.
    Race(Vec<(Arc<str>, BlockId)>),
    Match {
        subject: Code,
        arms: Vec<(Matcher, BlockId)>,
    },
    /// Accepted by the checker; `run` refuses the plan before it starts.
    NotYet(&'static str),
}

/// A call of a tool or of another plan.
#[derive(Debug)]
pub struct Call {
    pub span: Span,
    pub target: Target,
    pub arguments: Vec<(Arc<str>, Code)>,
    /// The class of this very call: some tools tell it by a constant argument.
    pub effect: Effect,
}

#[derive(Debug, Clone)]
pub enum Target {
    Tool(Arc<Signature>),
    /// An index into [`Plan::plans`], and the name it is called by.
    Plan(usize, Arc<str>),
}

/// `each v[, i] in list max N [parallel P] [by key] [settle]`; the element is slot 0 of the body, the index slot 1.
#[derive(Debug)]
pub struct Each {
    pub list: Code,
    pub max: Option<Code>,
    pub parallel: Option<Code>,
    /// Evaluated in a frame of the body.
    pub by: Option<Code>,
    pub settle: bool,
    pub body: BlockId,
}

/// `repeat v = e max N`; the state is slot 0 of the body.
#[derive(Debug)]
pub struct Repeat {
    pub initial: Code,
    pub max: Option<Code>,
    pub body: BlockId,
}

/// `recover class as e => …`; the error is slot 0 of the body.
#[derive(Debug)]
pub struct Recover {
    /// Empty where every class is caught but `unknown_outcome` and `internal`.
    pub patterns: Vec<ErrorPattern>,
    pub body: BlockId,
}

/// `until e every d`; while it is evaluated the step's own slot holds the latest answer.
#[derive(Debug)]
pub struct Until {
    pub condition: Code,
    pub every: Code,
}

/// The state that a call reads or changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    pub namespace: Arc<str>,
    /// A part of the namespace's state that is known to differ from other parts; all of it where unknown.
    pub resource: Option<Arc<str>>,
    pub effect: Effect,
}

/// What to do about failed attempts; what is left out comes from the policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retry {
    /// All attempts, the first included.
    pub attempts: Option<u32>,
    pub delay: Option<Duration>,
    pub factor: Option<f64>,
    pub max_delay: Option<Duration>,
    pub jitter: Option<Jitter>,
    pub on: Option<Vec<ErrorPattern>>,
    pub pause_when_exhausted: Option<bool>,
}

/// How waits between attempts are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    None,
    /// Uniform from zero to the whole wait.
    Full,
}

/// What happens to a run in which a step failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum OnFailure {
    #[default]
    Undo,
    Pause,
    Settle,
}

/// `policy { … }`; what is left out comes from the project, then from the defaults.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub retry: Retry,
    pub timeout: Option<Duration>,
    pub deadline: Option<Duration>,
    pub concurrency: Option<u32>,
    pub on_failure: Option<OnFailure>,
    pub budget_calls: Option<u64>,
    pub max_steps: Option<u64>,
    /// In bytes.
    pub max_result: Option<u64>,
}

impl Plan {
    /// The statements of the plan itself.
    #[must_use]
    pub fn body(&self) -> &Block {
        &self.blocks[0]
    }

    /// The block with this number.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.0 as usize]
    }
}

impl Block {
    /// The node with this number.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }
}

impl Call {
    /// The argument with this name.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&Code> {
        self.arguments.iter().find(|(known, _)| &**known == name).map(|(_, code)| code)
    }
}

impl Node {
    /// Every expression that is evaluated in the frame of this node, those of inner blocks left out.
    pub fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        match &self.kind {
            NodeKind::Condition(code)
            | NodeKind::Let(code)
            | NodeKind::Reply(code)
            | NodeKind::Yield(code)
            | NodeKind::Next(code) => visit(code),
            NodeKind::Ensure { condition, message } => [condition, message].into_iter().for_each(visit),
            NodeKind::Fail(failing) => failing.message.iter().for_each(visit),
            NodeKind::Step(step) => step.codes(visit),
            NodeKind::NotYet(_) => {}
        }
    }

    /// Every block that this node owns.
    pub fn inner(&self, visit: &mut dyn FnMut(BlockId)) {
        let NodeKind::Step(step) = &self.kind else { return };
        match &step.kind {
            StepKind::Do(body) => visit(*body),
            StepKind::Each(each) => visit(each.body),
            StepKind::Repeat(repeat) => visit(repeat.body),
            StepKind::Race(branches) => branches.iter().for_each(|(_, body)| visit(*body)),
            StepKind::Match { arms, .. } => arms.iter().for_each(|(_, body)| visit(*body)),
            StepKind::Call(_) | StepKind::NotYet(_) => {}
        }
        step.recover.iter().for_each(|arm| visit(arm.body));
    }

    /// Whether later effects wait for this to be decided.
    #[must_use]
    pub fn decides(&self) -> bool {
        match self.kind {
            NodeKind::Ensure { .. } => true,
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) => !self.guard.is_empty(),
            NodeKind::Condition(_) | NodeKind::Let(_) | NodeKind::Step(_) | NodeKind::Next(_) | NodeKind::NotYet(_) => {
                false
            }
        }
    }

    /// The step in this node.
    #[must_use]
    pub fn step(&self) -> Option<&Step> {
        if let NodeKind::Step(step) = &self.kind { Some(step) } else { None }
    }
}

impl Step {
    /// A step without clauses.
    #[must_use]
    pub fn bare(kind: StepKind, ty: Type, effect: Effect, touches: Vec<Touch>) -> Self {
        Self {
            kind,
            ty,
            effect,
            touches,
            unordered: false,
            timeout: None,
            within: None,
            retry: None,
            until: None,
            recover: Vec::new(),
            clauses: Vec::new(),
        }
    }

    /// Where the clauses with this word stand.
    pub fn clause_spans(&self, word: &str) -> impl Iterator<Item = Span> {
        self.clauses.iter().filter(move |(known, _)| *known == word).map(|(_, span)| *span)
    }

    fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        match &self.kind {
            StepKind::Call(call) => call.arguments.iter().for_each(|(_, code)| visit(code)),
            StepKind::Each(each) => {
                visit(&each.list);
                each.max.iter().chain(&each.parallel).for_each(&mut *visit);
            }
            StepKind::Repeat(repeat) => {
                visit(&repeat.initial);
                repeat.max.iter().for_each(&mut *visit);
            }
            StepKind::Match { subject, .. } => visit(subject),
            StepKind::Do(_) | StepKind::Race(_) | StepKind::NotYet(_) => {}
        }
        self.timeout.iter().chain(&self.within).for_each(&mut *visit);
        if let Some(until) = &self.until {
            visit(&until.condition);
            visit(&until.every);
        }
    }
}
