//! Steps of the checked plan: what they call or contain, and their clauses.

use std::sync::Arc;

use super::{BlockId, Event, Footprint, OrderClass, Retry, Touch};
use crate::sema::expr::{CheckedExpr, Matcher};
use crate::source::Span;
use crate::types::{Contract, Denied, Effect, ErrorClass, ErrorPattern, Signature, Type};

/// A step with its clauses.
#[derive(Debug)]
pub struct Step {
    /// Span of its name, or of its call or block if it has none.
    pub span: Span,
    pub kind: StepKind,
    /// Type of its value, recovered or not, ignoring its absence under a guard.
    pub ty: Type,
    pub effect: Effect,
    /// Order class, including that of its arms.
    pub order: OrderClass,
    pub touches: Box<[Touch]>,
    /// Words and spans of all clauses, in source order.
    pub places: Box<[(&'static str, Span)]>,
    /// `None` for most steps.
    pub clauses: Option<Box<Clauses>>,
    pub recover: Box<[Recover]>,
}

#[derive(Debug)]
pub enum StepKind {
    Call(Call),
    Do(BlockId),
    Each(Box<Each>),
    Repeat(Box<Repeat>),
    /// The first success wins; branches are named.
    Race(Vec<(Arc<str>, BlockId)>),
    Match {
        subject: Box<CheckedExpr>,
        arms: Vec<(Matcher, BlockId)>,
    },
    Input(Box<Input>),
    Wait(Box<Wait>),
    /// Already reported: a plan with it has errors and never runs.
    Damaged,
}

/// Clauses of a step, except its guard, `after` and its `recover` arms.
#[derive(Debug, Default)]
pub struct Clauses {
    pub timeout: Option<CheckedExpr>,
    pub within: Option<CheckedExpr>,
    pub retry: Option<Retry>,
    pub until: Option<Box<Until>>,
    pub confirm: Option<Box<Confirm>>,
    /// Maximum age of a cached result.
    pub cache: Option<CheckedExpr>,
    pub verify: Option<Verify>,
    pub agent_check: Option<AgentCheck>,
    pub undo: Option<Undo>,
}

/// The compensation of a step, `undo`: a separate block, whose slot 0 contains the value that the step's call gave,
/// under the step's name.
#[derive(Debug)]
pub struct Undo {
    pub body: BlockId,
    /// Whether it reads slot 0.
    pub reads: bool,
    /// Type of slot 0: the type of the step's value without its arms.
    pub gives: Type,
}

/// A call of a tool, a model, an agent, or of another plan.
#[derive(Debug)]
pub struct Call {
    pub span: Span,
    pub target: Target,
    pub arguments: Vec<(Arc<str>, CheckedExpr)>,
    /// Effect class of this call: some tools have a class that depends on a constant argument.
    pub effect: Effect,
    /// Whether the arguments can only be checked against the tool's contract at run time.
    pub checked_at_run: bool,
}

#[derive(Debug, Clone)]
pub enum Target {
    Tool(Arc<Signature>),
    /// An index into [`super::Plan::plans`], and the name by which it is called.
    Plan(usize, Arc<str>),
}

/// `each v[, i] in list max N [parallel P] [by key] [settle]`; the element is slot 0 of the body, the index slot 1.
#[derive(Debug)]
pub struct Each {
    pub list: CheckedExpr,
    pub max: Option<CheckedExpr>,
    /// Maximum number of elements that run at once.
    pub parallel: Option<CheckedExpr>,
    /// Whether its body contains a barrier, so that elements run one after the other without `parallel`.
    pub in_turn: bool,
    /// Evaluated in a frame of the body.
    pub by: Option<CheckedExpr>,
    pub settle: bool,
    pub body: BlockId,
}

/// `repeat v = e max N`; the state is slot 0 of the body.
#[derive(Debug)]
pub struct Repeat {
    pub initial: CheckedExpr,
    pub max: Option<CheckedExpr>,
    pub body: BlockId,
}

/// `recover class as e => …`; the error is slot 0 of the body.
#[derive(Debug)]
pub struct Recover {
    /// Empty if every class except `unknown_outcome` and `internal` is caught.
    pub patterns: Vec<ErrorPattern>,
    pub body: BlockId,
}

impl Recover {
    /// Returns true if the arm catches this class. No arm catches a changed contract, which needs a review by a person.
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

/// `until e every d`; during its evaluation the step's own slot holds the latest result.
#[derive(Debug)]
pub struct Until {
    pub condition: CheckedExpr,
    pub every: CheckedExpr,
}

/// `confirm "…" [by "role"] [expires d]`: nothing is sent before an approval.
#[derive(Debug)]
pub struct Confirm {
    pub span: Span,
    pub text: CheckedExpr,
    pub by: Option<CheckedExpr>,
    pub expires: Option<CheckedExpr>,
}

/// `verify CALL [every d within d] as v => CHECK [gives EXPR]`
#[derive(Debug)]
pub struct Verify {
    pub span: Span,
    /// A block that makes the call, fails if the check does not hold, and yields the value of `gives`. It reads the
    /// step's value, or null if the answer was lost.
    pub body: BlockId,
    /// Whether it has `gives`, the value of a step whose own answer was lost.
    pub gives: bool,
}

/// The check that `policy { verify: agents }` adds to a step that changes something and has no `verify`: at the end its
/// agent may be asked whether the change was made.
#[derive(Debug)]
pub struct AgentCheck {
    /// Span of the word in the policy.
    pub span: Span,
    /// Namespace of the tool that the step calls.
    pub agent: Arc<str>,
    /// A block that asks the agent and yields its answer, `{ verified, why }`; slot 0 holds the description of the
    /// step. `Err` with the reason if the agent cannot verify.
    pub body: Result<BlockId, Arc<str>>,
}

/// `input "…" -> { … } [by "role"] [within d]`; its time limit is in the step's clauses.
#[derive(Debug)]
pub struct Input {
    pub prompt: CheckedExpr,
    pub by: Option<CheckedExpr>,
    pub fields: Vec<InputField>,
}

/// `field: T = e`, `field: T known e` or `field: T in LIST`
#[derive(Debug)]
pub struct InputField {
    pub span: Span,
    pub name: Arc<str>,
    /// Description of the field, from the tool to which it is passed.
    pub label: Option<Arc<str>>,
    pub ty: Type,
    /// Initial value, which may be changed.
    pub prefill: Option<CheckedExpr>,
    /// Known value; the field is only asked for if it is null.
    pub known: Option<CheckedExpr>,
    pub options: Option<CheckedExpr>,
    /// Contracts of the arguments to which it is passed.
    pub contracts: Vec<Arc<Contract>>,
    /// Paths in it that must be redacted; the empty path is the whole value.
    pub sensitive: Vec<Arc<str>>,
}

impl InputField {
    /// Returns true if every answer must contain the field: it has no initial or known value and is not nullable.
    #[must_use]
    pub fn must_be_given(&self) -> bool {
        self.prefill.is_none() && self.known.is_none() && !self.ty.admits_null()
    }

    /// Returns the expressions written at the field.
    pub fn codes(&self) -> impl Iterator<Item = &CheckedExpr> {
        self.prefill.iter().chain(&self.known).chain(&self.options)
    }
}

/// A step that only waits.
#[derive(Debug)]
pub enum Wait {
    /// `wait 5m`
    For(CheckedExpr),
    /// `wait until t`
    Until(CheckedExpr),
    /// `wait for EVENT [-> T]`; its value is that of the event, and T is the declared type of signal payloads.
    Event { on: Event, payload: Option<Type> },
}

impl Step {
    /// Returns the call that the step makes.
    #[must_use]
    pub fn call(&self) -> Option<&Call> {
        if let StepKind::Call(call) = &self.kind {
            Some(call)
        } else {
            None
        }
    }

    /// Returns the contract of the tool that it calls.
    #[must_use]
    pub fn tool(&self) -> Option<&Arc<Signature>> {
        self.call()?.tool()
    }

    /// Creates a step without clauses.
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
            touches: touches.into(),
            places: Box::default(),
            clauses: None,
            recover: Box::default(),
        }
    }

    /// Returns the spans of the clauses with this word.
    pub fn clause_spans(&self, word: &str) -> impl Iterator<Item = Span> {
        let places = self.places.iter();
        places
            .filter(move |(known, _)| *known == word)
            .map(|(_, span)| *span)
    }

    /// Returns the time limit of one attempt.
    #[must_use]
    pub fn timeout(&self) -> Option<&CheckedExpr> {
        self.clauses.as_ref()?.timeout.as_ref()
    }

    /// Returns the time limit of the whole step.
    #[must_use]
    pub fn within(&self) -> Option<&CheckedExpr> {
        self.clauses.as_ref()?.within.as_ref()
    }

    /// Returns the maximum age of a cached result that may replace the call.
    #[must_use]
    pub fn cache(&self) -> Option<&CheckedExpr> {
        self.clauses.as_ref()?.cache.as_ref()
    }

    /// Returns its own retry settings.
    #[must_use]
    pub fn retry(&self) -> Option<&Retry> {
        self.clauses.as_ref()?.retry.as_ref()
    }

    /// Returns its poll condition.
    #[must_use]
    pub fn until(&self) -> Option<&Until> {
        self.clauses.as_ref()?.until.as_deref()
    }

    /// Returns its `confirm` clause.
    #[must_use]
    pub fn confirm(&self) -> Option<&Confirm> {
        self.clauses.as_ref()?.confirm.as_deref()
    }

    /// Returns its `verify` clause.
    #[must_use]
    pub fn verify(&self) -> Option<&Verify> {
        self.clauses.as_ref()?.verify.as_ref()
    }

    /// Returns the check by its agent at the end of the run.
    #[must_use]
    pub fn agent_check(&self) -> Option<&AgentCheck> {
        self.clauses.as_ref()?.agent_check.as_ref()
    }

    /// Returns its `undo` clause.
    #[must_use]
    pub fn undo(&self) -> Option<&Undo> {
        self.clauses.as_ref()?.undo.as_ref()
    }

    /// Visits every expression that is evaluated in the frame of the step.
    pub(super) fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a CheckedExpr)) {
        self.kind.codes(visit);
        if let Some(clauses) = &self.clauses {
            clauses.codes(visit);
        }
    }

    /// Returns every block that does its work.
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

    /// Visits every block that it owns.
    pub(in crate::sema) fn inner(&self, visit: &mut dyn FnMut(BlockId)) {
        self.bodies().for_each(&mut *visit);
        self.recover.iter().for_each(|arm| visit(arm.body));
        self.auxiliary_blocks().for_each(visit);
    }

    /// Returns its blocks that run outside the flow of the plan: `verify`, the agent check and `undo`.
    pub fn auxiliary_blocks(&self) -> impl Iterator<Item = BlockId> {
        self.verify()
            .map(|verify| verify.body)
            .into_iter()
            .chain(self.agent_check().and_then(AgentCheck::body))
            .chain(self.undo().map(|undo| undo.body))
    }
}

impl AgentCheck {
    /// Returns the block that asks the agent; `None` if the agent cannot verify.
    #[must_use]
    pub fn body(&self) -> Option<BlockId> {
        self.body.as_ref().ok().copied()
    }
}

impl StepKind {
    /// Returns the keyword of the step; `None` for a call of a tool or a plan, which has a name.
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

    fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a CheckedExpr)) {
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
    /// Returns true if there are no clauses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self {
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
        timeout.is_none()
            && within.is_none()
            && retry.is_none()
            && until.is_none()
            && confirm.is_none()
            && cache.is_none()
            && verify.is_none()
            && agent_check.is_none()
            && undo.is_none()
    }

    fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a CheckedExpr)) {
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
    /// Returns the contract of the called tool; `None` for a call of a plan.
    #[must_use]
    pub fn tool(&self) -> Option<&Arc<Signature>> {
        match &self.target {
            Target::Tool(signature) => Some(signature),
            Target::Plan(..) => None,
        }
    }

    /// Returns `infer` or `ask` for a call written with that keyword.
    #[must_use]
    pub fn word(&self) -> Option<&'static str> {
        self.tool()?.kind.word()
    }

    /// Returns the beginning of the call as the plan writes it.
    #[must_use]
    pub fn written(&self) -> String {
        match &self.target {
            Target::Tool(signature) => signature.written(),
            Target::Plan(_, name) => name.to_string(),
        }
    }

    /// Returns the dotted name of the tool, or the name of the plan.
    #[must_use]
    pub fn path(&self) -> String {
        match &self.target {
            Target::Tool(signature) => signature.path(),
            Target::Plan(_, name) => name.to_string(),
        }
    }

    /// Returns the argument with this name.
    #[must_use]
    pub fn argument(&self, name: &str) -> Option<&CheckedExpr> {
        self.arguments
            .iter()
            .find(|(known, _)| &**known == name)
            .map(|(_, code)| code)
    }

    fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a CheckedExpr)) {
        self.arguments.iter().for_each(|(_, code)| visit(code));
    }
}
