//! Statements of a plan and the clauses of steps. Rarely used parts are boxed, which keeps lists of statements small.

use std::sync::Arc;

use super::{Argument, Expr, Name, Pattern, Text, TypeExpr};
use crate::source::Span;

/// Statements between braces. The span includes the braces.
#[derive(Debug, Default)]
pub struct Block {
    pub span: Span,
    pub statements: Vec<Statement>,
}

#[derive(Debug)]
pub struct Statement {
    pub span: Span,
    /// The `///` lines above the statement.
    pub doc: Option<Arc<str>>,
    pub kind: StatementKind,
}

#[derive(Debug)]
pub enum StatementKind {
    /// `policy { … }`, an object of settings.
    Policy(Expr),
    /// `allow { … }`, an object of settings.
    Allow(Expr),
    Step(Box<Step>),
    /// `let x[: T] = e`
    Let {
        name: Name,
        ty: Option<Box<TypeExpr>>,
        value: Expr,
    },
    /// `if e { … } else if e { … } else { … }`; at least one arm.
    If {
        arms: Vec<(Expr, Block)>,
        otherwise: Option<Block>,
    },
    /// `parallel { … }`: its statements have no order among themselves.
    Parallel(Block),
    /// `task t "title" [statuses [a, b]] [{ field: T }] [external]`
    Task {
        name: Name,
        title: Text,
        /// Empty for the default statuses.
        statuses: Vec<Name>,
        context: Option<Box<TypeExpr>>,
        external: bool,
    },
    /// `set t status [{ … }] [when e] [after a, b]`
    Set {
        task: Name,
        status: Name,
        context: Option<Box<Expr>>,
        when: Option<Box<Expr>>,
        after: Option<Vec<Name>>,
    },
    /// `listener l on COND [-> T] [as e] [when e] [max N] { … }`
    Listener {
        name: Name,
        on: Box<Expr>,
        payload: Option<Box<TypeExpr>>,
        binding: Option<Name>,
        when: Option<Box<Expr>>,
        max: Option<Box<Expr>>,
        body: Block,
    },
    /// `ensure e else "…"`
    Ensure {
        condition: Expr,
        message: Box<Expr>,
    },
    /// `fail class ["…"] [when e]`
    Fail {
        class: Name,
        message: Option<Box<Expr>>,
        when: Option<Box<Expr>>,
    },
    Reply(Guarded),
    Yield(Guarded),
    Next(Guarded),
    /// Invalid text; already reported.
    Error,
}

/// `reply e [when e]`, `yield e [when e]` or `next e [when e]`.
#[derive(Debug)]
pub struct Guarded {
    pub value: Expr,
    pub when: Option<Box<Expr>>,
}

#[derive(Debug)]
pub struct Step {
    pub name: Name,
    pub body: StepBody,
    /// In source order.
    pub clauses: Vec<Clause>,
}

#[derive(Debug)]
pub enum StepBody {
    /// Usually `ns.tool(arg: e)`; the checker rejects any other expression.
    Call(Expr),
    Ask(Ask),
    /// `infer("…", model: "…", with: {…}) -> T`
    Infer {
        arguments: Vec<Argument>,
        returns: TypeExpr,
    },
    Do(Block),
    /// `each v[, i] in list max N [parallel P] [by key] [settle] { … }`
    Each {
        element: Name,
        index: Option<Name>,
        list: Box<Expr>,
        max: Option<Box<Expr>>,
        parallel: Option<Box<Expr>>,
        by: Option<Box<Expr>>,
        settle: bool,
        body: Block,
    },
    /// `repeat v = e max N { … }`
    Repeat {
        state: Name,
        initial: Box<Expr>,
        max: Option<Box<Expr>>,
        body: Block,
    },
    /// `race { a: call, b: call }`
    Race(Vec<(Name, ArmBody)>),
    /// `match e { pattern => call, do or value, … }`
    Match {
        subject: Expr,
        arms: Vec<Arm>,
    },
    /// `input "…" -> { … }`
    Input {
        prompt: Expr,
        /// The braces and everything between them.
        form: Span,
        fields: Vec<InputField>,
    },
    Wait(WaitFor),
    /// Invalid text; already reported.
    Error,
}

/// `ask agent("…", with: {…}) -> T`. The prompt is the positional argument.
#[derive(Debug)]
pub struct Ask {
    pub agent: Name,
    pub arguments: Vec<Argument>,
    pub returns: TypeExpr,
}

impl Ask {
    /// The span from the agent's name to the end of the type.
    #[must_use]
    pub fn span(&self) -> Span {
        self.agent.span.to(self.returns.span)
    }
}

#[derive(Debug)]
pub enum WaitFor {
    /// `wait 5m`
    Duration(Expr),
    /// `wait until t`
    Until(Expr),
    /// `wait for COND [-> T]`
    Condition {
        on: Expr,
        payload: Option<Box<TypeExpr>>,
    },
}

/// `field: T = e`, `field: T known e` or `field: T in LIST`
#[derive(Debug)]
pub struct InputField {
    pub name: Name,
    pub ty: TypeExpr,
    /// The initial value of the field, which the user may change.
    pub prefill: Option<Box<Expr>>,
    /// The value already known; unless it is null, the field is not asked for.
    pub known: Option<Box<Expr>>,
    pub options: Option<Box<Expr>>,
}

/// One arm of a step's `match`.
#[derive(Debug)]
pub struct Arm {
    pub span: Span,
    pub pattern: Pattern,
    pub body: ArmBody,
}

/// The body of an arm of `match`, `race` or `recover`.
#[derive(Debug)]
pub enum ArmBody {
    /// A tool call or a value; the checker, which resolves the names, tells which.
    Expr(Expr),
    Do(Block),
    Ask(Ask),
    /// `infer("…", model: "…", with: {…}) -> T`; the span covers all of it.
    Infer {
        span: Span,
        arguments: Vec<Argument>,
        returns: TypeExpr,
    },
    /// `fail class ["…"]`
    Fail {
        class: Name,
        message: Option<Box<Expr>>,
    },
}

#[derive(Debug)]
pub struct Clause {
    pub span: Span,
    pub kind: ClauseKind,
}

/// The keywords of clauses, in the order of canonical text.
pub const CLAUSE_WORDS: [&str; 12] = [
    "when", "after", "by", "confirm", "timeout", "within", "retry", "until", "cache", "verify",
    "recover", "undo",
];

#[derive(Debug)]
pub enum ClauseKind {
    When(Expr),
    After(Vec<Name>),
    /// `by "role"`, only on an `input`.
    By(Expr),
    Confirm {
        text: Expr,
        by: Option<Box<Expr>>,
        expires: Option<Box<Expr>>,
    },
    Timeout(Expr),
    Within(Expr),
    /// `expires d`, another spelling of `within d` on an `input`.
    Expires(Expr),
    /// An object of settings.
    Retry(Expr),
    Until {
        condition: Expr,
        every: Box<Expr>,
    },
    Cache(Expr),
    /// `verify call [every d within d] as v => e [gives e]`
    Verify {
        probe: Probe,
        every: Option<Box<Expr>>,
        within: Option<Box<Expr>>,
        binding: Name,
        check: Box<Expr>,
        gives: Option<Box<Expr>>,
    },
    Recover {
        pattern: ErrorPattern,
        binding: Option<Name>,
        body: ArmBody,
    },
    Undo(Undo),
    /// Invalid text; already reported.
    Error,
}

/// The call or request that `verify` makes to find out whether the step has taken effect.
#[derive(Debug)]
pub enum Probe {
    Call(Expr),
    Ask(Ask),
}

/// The compensation of a step.
#[derive(Debug)]
pub enum Undo {
    Call(Expr),
    Do(Block),
}

/// A block or call inside a statement.
#[derive(Debug, Clone, Copy)]
pub enum Inner<'a> {
    Block(&'a Block),
    /// The call of a step, an arm or a clause. The value of an arm is included: whether it is a call is not known
    /// before its names are resolved.
    Call(&'a Expr),
}

impl Statement {
    /// Visits each block and call directly inside the statement, in source order.
    pub fn inner<'a>(&'a self, visit: &mut dyn FnMut(Inner<'a>)) {
        match &self.kind {
            StatementKind::Step(step) => step.inner(visit),
            StatementKind::If { arms, otherwise } => {
                let arms = arms.iter().map(|(_, block)| block);
                arms.chain(otherwise).map(Inner::Block).for_each(visit);
            }
            StatementKind::Listener { body, .. } | StatementKind::Parallel(body) => {
                visit(Inner::Block(body));
            }
            StatementKind::Policy(_)
            | StatementKind::Allow(_)
            | StatementKind::Let { .. }
            | StatementKind::Task { .. }
            | StatementKind::Set { .. }
            | StatementKind::Ensure { .. }
            | StatementKind::Fail { .. }
            | StatementKind::Reply(_)
            | StatementKind::Yield(_)
            | StatementKind::Next(_)
            | StatementKind::Error => {}
        }
    }
}

impl StatementKind {
    /// Returns the name that the statement declares in its block.
    #[must_use]
    pub fn name(&self) -> Option<&Name> {
        match self {
            Self::Step(step) => Some(&step.name),
            Self::Let { name, .. } | Self::Task { name, .. } | Self::Listener { name, .. } => {
                Some(name)
            }
            Self::Policy(_)
            | Self::Allow(_)
            | Self::If { .. }
            | Self::Parallel(_)
            | Self::Set { .. }
            | Self::Ensure { .. }
            | Self::Fail { .. }
            | Self::Reply(_)
            | Self::Yield(_)
            | Self::Next(_)
            | Self::Error => None,
        }
    }
}

impl Step {
    fn inner<'a>(&'a self, visit: &mut dyn FnMut(Inner<'a>)) {
        match &self.body {
            StepBody::Call(call) => visit(Inner::Call(call)),
            StepBody::Do(body) | StepBody::Each { body, .. } | StepBody::Repeat { body, .. } => {
                visit(Inner::Block(body));
            }
            StepBody::Race(arms) => {
                let arms = arms.iter().filter_map(|(_, body)| body.inner());
                arms.for_each(&mut *visit);
            }
            StepBody::Match { arms, .. } => {
                let arms = arms.iter().filter_map(|arm| arm.body.inner());
                arms.for_each(&mut *visit);
            }
            StepBody::Ask(_)
            | StepBody::Infer { .. }
            | StepBody::Input { .. }
            | StepBody::Wait(_)
            | StepBody::Error => {}
        }
        let clauses = self.clauses.iter();
        clauses
            .filter_map(|clause| clause.kind.inner())
            .for_each(visit);
    }
}

impl ArmBody {
    fn inner(&self) -> Option<Inner<'_>> {
        match self {
            Self::Expr(value) => Some(Inner::Call(value)),
            Self::Do(block) => Some(Inner::Block(block)),
            Self::Ask(_) | Self::Infer { .. } | Self::Fail { .. } => None,
        }
    }
}

impl ClauseKind {
    /// Returns the keyword of the clause.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::When(_) => "when",
            Self::After(_) => "after",
            Self::By(_) => "by",
            Self::Confirm { .. } => "confirm",
            Self::Timeout(_) => "timeout",
            Self::Within(_) => "within",
            Self::Expires(_) => "expires",
            Self::Retry(_) => "retry",
            Self::Until { .. } => "until",
            Self::Cache(_) => "cache",
            Self::Verify { .. } => "verify",
            Self::Recover { .. } => "recover",
            Self::Undo(_) => "undo",
            Self::Error => "clause",
        }
    }

    /// Returns the position of the clause in canonical text, an index into [`CLAUSE_WORDS`].
    #[must_use]
    pub fn rank(&self) -> usize {
        // Two spellings of the same deadline.
        let word = match self.word() {
            "expires" => "within",
            word => word,
        };
        let known = CLAUSE_WORDS.iter().position(|known| *known == word);
        known.unwrap_or(CLAUSE_WORDS.len())
    }

    fn inner(&self) -> Option<Inner<'_>> {
        match self {
            Self::Recover { body, .. } => body.inner(),
            Self::Verify {
                probe: Probe::Call(call),
                ..
            }
            | Self::Undo(Undo::Call(call)) => Some(Inner::Call(call)),
            Self::Undo(Undo::Do(block)) => Some(Inner::Block(block)),
            Self::When(_)
            | Self::After(_)
            | Self::By(_)
            | Self::Confirm { .. }
            | Self::Timeout(_)
            | Self::Within(_)
            | Self::Expires(_)
            | Self::Retry(_)
            | Self::Until { .. }
            | Self::Cache(_)
            | Self::Verify {
                probe: Probe::Ask(_),
                ..
            }
            | Self::Error => None,
        }
    }
}

/// The errors that a `recover` arm catches.
#[derive(Debug)]
pub enum ErrorPattern {
    /// `_`, or no pattern.
    Any,
    /// Dotted class names such as `transient.timeout`, or families of classes such as `auth`.
    Classes(Vec<Name>),
}
