//! Steps of the checked plan: what they call or hold, and their clauses.

use std::sync::Arc;

use super::{BlockId, Event, Footprint, OrderClass, Retry, Touch};
use crate::sema::expr::{Code, Matcher};
use crate::source::Span;
use crate::types::{Contract, Denied, Effect, ErrorClass, ErrorPattern, Signature, Type};

/// A step with its clauses.
#[derive(Debug)]
pub struct Step {
    /// Of its name.
    pub span: Span,
    pub kind: StepKind,
    /// The type of its value, recovered or not, without the absence that a guard brings.
    pub ty: Type,
    pub effect: Effect,
    /// Its part in the order of the block, that of its arms included.
    pub order: OrderClass,
    pub touches: Vec<Touch>,
    /// Most steps have none.
    pub clauses: Option<Box<Clauses>>,
    pub recover: Vec<Recover>,
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
        subject: Box<Code>,
        arms: Vec<(Matcher, BlockId)>,
    },
    Input(Box<Input>),
    Wait(Box<Wait>),
    /// Already reported: a plan with it has errors and never runs.
    Damaged,
}

/// What a step says beside what it does, its guard, its order and its `recover` arms.
#[derive(Debug, Default)]
pub struct Clauses {
    /// The words of all clauses and where they stand, in the order written.
    pub places: Vec<(&'static str, Span)>,
    pub timeout: Option<Code>,
    pub within: Option<Code>,
    pub retry: Option<Retry>,
    pub until: Option<Until>,
    pub confirm: Option<Confirm>,
    /// How long the result may be given again.
    pub cache: Option<Code>,
    pub verify: Option<Verify>,
    pub agent_check: Option<AgentCheck>,
    pub undo: Option<Undo>,
}

/// What takes a step back: a block of its own, whose slot 0 holds what the step's call has given, under the step's name.
#[derive(Debug)]
pub struct Undo {
    pub body: BlockId,
    /// Whether it reads that.
    pub reads: bool,
    /// The type of that: the step's, before any arm.
    pub gives: Type,
}

/// A call of a tool, a model, an agent, or of another plan.
#[derive(Debug)]
pub struct Call {
    pub span: Span,
    pub target: Target,
    pub arguments: Vec<(Arc<str>, Code)>,
    /// The class of this very call: some tools tell it by a constant argument.
    pub effect: Effect,
    /// Whether only the run can tell if the arguments keep the tool's contract.
    pub open: bool,
}

#[derive(Debug, Clone)]
pub enum Target {
    Tool(Arc<Signature>),
    /// An index into [`super::Plan::plans`], and the name it is called by.
    Plan(usize, Arc<str>),
}

/// `each v[, i] in list max N [parallel P] [by key] [settle]`; the element is slot 0 of the body, the index slot 1.
#[derive(Debug)]
pub struct Each {
    pub list: Code,
    pub max: Option<Code>,
    /// How many elements may be at work at once.
    pub parallel: Option<Code>,
    /// Its body holds a barrier: without `parallel` one element follows the other.
    pub in_turn: bool,
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

impl Recover {
    /// Whether the arm is for this class. None is for a contract that has changed, which is people's to look at.
    #[must_use]
    pub fn catches(&self, class: &ErrorClass) -> bool {
        match class {
            ErrorClass::Denied(Denied::Contract) => false,
            ErrorClass::UnknownOutcome | ErrorClass::Internal if self.patterns.is_empty() => false,
            _ => {
                self.patterns.is_empty()
                    || self.patterns.iter().any(|pattern| pattern.matches(class))
            }
        }
    }
}

/// `until e every d`; while it is evaluated the step's own slot holds the latest answer.
#[derive(Debug)]
pub struct Until {
    pub condition: Code,
    pub every: Code,
}

/// `confirm "…" [by "role"] [expires d]`: nothing is sent before somebody has agreed.
#[derive(Debug)]
pub struct Confirm {
    pub span: Span,
    pub text: Code,
    pub by: Option<Code>,
    pub expires: Option<Code>,
}

/// `verify CALL [every d within d] as v => CHECK [gives EXPR]`
#[derive(Debug)]
pub struct Verify {
    pub span: Span,
    /// A block that makes the call, fails where the check does not hold, and gives the value of `gives`. It reads the
    /// step's value, or null where its answer was lost.
    pub body: BlockId,
    /// Whether it knows the value of a step whose own answer was lost.
    pub gives: bool,
}

/// What `policy { verify: agents }` adds to a step that changes something and has no `verify`: at the end its agent may be
/// asked whether that was done.
#[derive(Debug)]
pub struct AgentCheck {
    /// Of the word in the policy.
    pub span: Span,
    /// The namespace of the tool that the step calls.
    pub agent: Arc<str>,
    /// A block that asks the agent and gives its answer, `{ verified, why }`. Slot 0 holds what is told of the step. Nothing where the
    /// agent cannot look: the reason.
    pub body: Result<BlockId, Arc<str>>,
}

/// `input "…" -> { … } [by "role"] [within d]`; how long it is waited for is in the step's clauses.
#[derive(Debug)]
pub struct Input {
    pub prompt: Code,
    pub by: Option<Code>,
    pub fields: Vec<InputField>,
}

/// `field: T = e`, `field: T known e` or `field: T in LIST`
#[derive(Debug)]
pub struct InputField {
    pub span: Span,
    pub name: Arc<str>,
    /// What it is for, as the tool says that it is passed on to.
    pub label: Option<Arc<str>>,
    pub ty: Type,
    /// What stands in it, and may be changed.
    pub prefill: Option<Code>,
    /// Nobody is asked for a field of which something is known.
    pub known: Option<Code>,
    pub options: Option<Code>,
    /// The contracts of the arguments as which it is passed on.
    pub contracts: Vec<Arc<Contract>>,
    /// The places in it that must not be shown; the empty path is all of it.
    pub sensitive: Vec<Arc<str>>,
}

impl InputField {
    /// Whether every answer names it: nothing stands in it, it is asked for, and it cannot be absent.
    #[must_use]
    pub fn must_be_given(&self) -> bool {
        self.prefill.is_none() && self.known.is_none() && !self.ty.admits_null()
    }

    /// The values that are written at it.
    pub fn codes(&self) -> impl Iterator<Item = &Code> {
        self.prefill.iter().chain(&self.known).chain(&self.options)
    }
}

/// A step that only waits.
#[derive(Debug)]
pub enum Wait {
    /// `wait 5m`
    For(Code),
    /// `wait until t`
    Until(Code),
    /// `wait for EVENT [-> T]`; its value is what the event brings, and T the declared type of what signals bring.
    Event { on: Event, payload: Option<Type> },
}

impl Step {
    /// The call that the step makes.
    #[must_use]
    pub fn call(&self) -> Option<&Call> {
        if let StepKind::Call(call) = &self.kind {
            Some(call)
        } else {
            None
        }
    }

    /// A step without clauses.
    #[must_use]
    pub fn bare(span: Span, kind: StepKind, ty: Type, does: Footprint) -> Self {
        let Footprint {
            effect,
            order,
            touches,
        } = does;
        Self {
            span,
            kind,
            ty,
            effect,
            order,
            touches,
            clauses: None,
            recover: Vec::new(),
        }
    }

    /// Where the clauses with this word stand.
    pub fn clause_spans(&self, word: &str) -> impl Iterator<Item = Span> {
        let places = self.clauses.iter().flat_map(|clauses| &clauses.places);
        places
            .filter(move |(known, _)| *known == word)
            .map(|(_, span)| *span)
    }

    /// How long one attempt may take.
    #[must_use]
    pub fn timeout(&self) -> Option<&Code> {
        self.clauses.as_ref()?.timeout.as_ref()
    }

    /// How long the step may take in all.
    #[must_use]
    pub fn within(&self) -> Option<&Code> {
        self.clauses.as_ref()?.within.as_ref()
    }

    /// How old a result of an earlier call may be that stands for its own.
    #[must_use]
    pub fn cache(&self) -> Option<&Code> {
        self.clauses.as_ref()?.cache.as_ref()
    }

    /// What it says itself of failed attempts.
    #[must_use]
    pub fn retry(&self) -> Option<&Retry> {
        self.clauses.as_ref()?.retry.as_ref()
    }

    /// What it polls for.
    #[must_use]
    pub fn until(&self) -> Option<&Until> {
        self.clauses.as_ref()?.until.as_ref()
    }

    /// What may know whether it happened.
    #[must_use]
    pub fn verify(&self) -> Option<&Verify> {
        self.clauses.as_ref()?.verify.as_ref()
    }

    /// What its agent may be asked at the end of the run.
    #[must_use]
    pub fn agent_check(&self) -> Option<&AgentCheck> {
        self.clauses.as_ref()?.agent_check.as_ref()
    }

    /// What takes it back.
    #[must_use]
    pub fn undo(&self) -> Option<&Undo> {
        self.clauses.as_ref()?.undo.as_ref()
    }

    /// Every expression that is evaluated in the frame of the step.
    pub(super) fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        self.kind.codes(visit);
        if let Some(clauses) = &self.clauses {
            clauses.codes(visit);
        }
    }

    /// Every block that does its work.
    pub fn bodies(&self) -> impl Iterator<Item = BlockId> {
        let (one, branches, arms): (Option<BlockId>, &[_], &[_]) = match &self.kind {
            StepKind::Do(body) => (Some(*body), &[], &[]),
            StepKind::Each(each) => (Some(each.body), &[], &[]),
            StepKind::Repeat(repeat) => (Some(repeat.body), &[], &[]),
            StepKind::Race(branches) => (None, branches, &[]),
            StepKind::Match { arms, .. } => (None, &[], arms),
            StepKind::Call(_) | StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged => {
                (None, &[], &[])
            }
        };
        let branches = branches.iter().map(|(_, body)| *body);
        one.into_iter()
            .chain(branches)
            .chain(arms.iter().map(|(_, body)| *body))
    }

    /// Every block that it owns.
    pub(in crate::sema) fn inner(&self, visit: &mut dyn FnMut(BlockId)) {
        self.bodies().for_each(&mut *visit);
        self.recover.iter().for_each(|arm| visit(arm.body));
        self.asides().for_each(visit);
    }

    /// Those of its blocks that run beside the flow of the plan: what looks whether the step happened, and what takes it
    /// back.
    pub fn asides(&self) -> impl Iterator<Item = BlockId> {
        self.verify()
            .map(|verify| verify.body)
            .into_iter()
            .chain(self.agent_check().and_then(AgentCheck::body))
            .chain(self.undo().map(|undo| undo.body))
    }
}

impl AgentCheck {
    /// The block that asks the agent; nothing where it cannot look.
    #[must_use]
    pub fn body(&self) -> Option<BlockId> {
        self.body.as_ref().ok().copied()
    }
}

impl StepKind {
    /// The word for what it does; nothing for a call of a tool or a plan, which has a name.
    #[must_use]
    pub fn word(&self) -> Option<&'static str> {
        match self {
            Self::Call(call) => call.word(),
            Self::Do(_) => Some("do"),
            Self::Each(_) => Some("each"),
            Self::Repeat(_) => Some("repeat"),
            Self::Race(_) => Some("race"),
            Self::Match { .. } => Some("match"),
            Self::Input(_) => Some("input"),
            Self::Wait(_) => Some("wait"),
            Self::Damaged => Some("a damaged step"),
        }
    }

    fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        match self {
            Self::Call(call) => call.codes(visit),
            Self::Each(each) => {
                visit(&each.list);
                each.max.iter().chain(&each.parallel).for_each(visit);
            }
            Self::Repeat(repeat) => {
                visit(&repeat.initial);
                repeat.max.iter().for_each(visit);
            }
            Self::Match { subject, .. } => visit(subject),
            Self::Input(input) => {
                visit(&input.prompt);
                input.by.iter().for_each(&mut *visit);
                input
                    .fields
                    .iter()
                    .flat_map(InputField::codes)
                    .for_each(visit);
            }
            Self::Wait(wait) => match &**wait {
                Wait::For(code) | Wait::Until(code) => visit(code),
                Wait::Event { .. } => {}
            },
            Self::Do(_) | Self::Race(_) | Self::Damaged => {}
        }
    }
}

impl Clauses {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
            places,
            timeout,
            within,
            retry,
            until,
            confirm,
            cache,
            verify,
            agent_check,
            undo,
        } = self;
        places.is_empty()
            && timeout.is_none()
            && within.is_none()
            && retry.is_none()
            && until.is_none()
            && confirm.is_none()
            && cache.is_none()
            && verify.is_none()
            && agent_check.is_none()
            && undo.is_none()
    }

    fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        self.timeout
            .iter()
            .chain(&self.within)
            .chain(&self.cache)
            .for_each(&mut *visit);
        if let Some(until) = &self.until {
            visit(&until.condition);
            visit(&until.every);
        }
        if let Some(confirm) = &self.confirm {
            visit(&confirm.text);
            confirm
                .by
                .iter()
                .chain(&confirm.expires)
                .for_each(&mut *visit);
        }
    }
}

impl Call {
    /// `infer` or `ask`, where that is how it is written.
    #[must_use]
    pub fn word(&self) -> Option<&'static str> {
        match &self.target {
            Target::Tool(signature) => signature.kind.word(),
            Target::Plan(..) => None,
        }
    }

    /// The beginning of the call, as the plan writes it.
    #[must_use]
    pub fn written(&self) -> String {
        match &self.target {
            Target::Tool(signature) => signature.written(),
            Target::Plan(_, name) => name.to_string(),
        }
    }

    /// The dotted name of the tool, or the name of the plan.
    #[must_use]
    pub fn path(&self) -> String {
        match &self.target {
            Target::Tool(signature) => signature.path(),
            Target::Plan(_, name) => name.to_string(),
        }
    }

    /// The argument with this name.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&Code> {
        self.arguments
            .iter()
            .find(|(known, _)| &**known == name)
            .map(|(_, code)| code)
    }

    fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
        self.arguments.iter().for_each(|(_, code)| visit(code));
    }
}
