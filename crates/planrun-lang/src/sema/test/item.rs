//! The checked test, which `plantest` runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sema::Plan;
use crate::sema::expr::CheckedExpr;
use crate::source::Span;
use crate::types::{ErrorClass, Signature};
use crate::words;

/// A test that may run.
#[derive(Debug)]
pub struct Test {
    pub name: Arc<str>,
    /// Span of its name.
    pub span: Span,
    /// Span of the whole item.
    pub item: Span,
    pub plan: Arc<Plan>,
    /// Every `given`, in source order. The rows of each are crossed with those of the others.
    pub tables: Vec<Vec<Row>>,
    pub mocks: Vec<Mock>,
    pub answers: Vec<TestAnswer>,
    pub signals: Vec<TestSignal>,
    pub expects: Vec<Expect>,
    /// The call queries of its `expect`s; their slots come after the names of the outcome.
    pub queries: Vec<CallQuery>,
    /// The diagnostics that the plan must have.
    pub diagnostics: Option<ExpectedCodes>,
    pub snapshots: Vec<Snapshot>,
}

/// One row of inputs.
#[derive(Debug)]
pub struct Row {
    pub span: Span,
    pub inputs: Vec<(Arc<str>, CheckedExpr)>,
}

/// The results of a tool.
#[derive(Debug)]
pub struct Mock {
    pub span: Span,
    /// The mocked tool; `None` for every tool without its own mock.
    pub signature: Option<Arc<Signature>>,
    /// Arguments that a call must have for the mock to apply.
    pub arguments: Vec<(Arc<str>, CheckedExpr)>,
    /// Used one after the other.
    pub reactions: Vec<MockReaction>,
}

/// One outcome of a mock.
#[derive(Debug)]
pub struct MockReaction {
    pub span: Span,
    pub reaction: Reaction,
    /// Number of calls that it answers; without it, the last reaction answers all further calls.
    pub times: Option<u32>,
    /// Duration of the call, on the clock of the test.
    pub delay: Duration,
}

#[derive(Debug)]
pub enum Reaction {
    /// Its slots are the tool's parameters, in order.
    Value(CheckedExpr),
    /// Generated from the contract.
    Generated,
    Fail {
        class: ErrorClass,
        message: Option<CheckedExpr>,
        /// Details of the error besides its message.
        details: Option<CheckedExpr>,
    },
    /// The process dies, before the call is sent or after it has happened.
    Crash { after: bool },
}

impl Reaction {
    /// Returns its value, or its message and details.
    fn codes(&self) -> impl Iterator<Item = &CheckedExpr> {
        let codes = match self {
            Self::Value(code) => [Some(code), None],
            Self::Fail {
                message, details, ..
            } => [message.as_ref(), details.as_ref()],
            Self::Generated | Self::Crash { .. } => [None, None],
        };
        codes.into_iter().flatten()
    }
}

/// The answer of a person.
#[derive(Debug)]
pub struct TestAnswer {
    pub span: Span,
    /// `STEP` or `STEP.confirm`.
    pub path: Arc<str>,
    /// A value, a refusal (`denied.human`), or no answer in time (`expired`).
    pub reaction: Reaction,
    pub times: Option<u32>,
    pub delay: Duration,
}

/// A signal, or a change of a task from outside.
#[derive(Debug)]
pub struct TestSignal {
    pub span: Span,
    /// The signal, or `task=status`.
    pub name: Arc<str>,
    pub payload: Option<CheckedExpr>,
    /// Time after the start of the run.
    pub at: Duration,
}

/// A condition on the outcome.
#[derive(Debug)]
pub struct Expect {
    pub span: Span,
    pub condition: CheckedExpr,
    /// The parts that `&&` joins, each of which must hold; only the condition itself if there is one part.
    pub parts: Vec<Comparison>,
    /// Whether it reads how the run ended, so that an end without success is expected.
    pub reads_end: bool,
}

/// A part of a condition; for a comparison with both sides, so that a failure can display their values.
#[derive(Debug)]
pub struct Comparison {
    pub span: Span,
    pub condition: CheckedExpr,
    pub sides: Option<(CheckedExpr, CheckedExpr)>,
    /// The value whose method is called, if the part is such a call.
    pub receiver: Option<CheckedExpr>,
}

/// The diagnostics that a plan must have.
#[derive(Debug)]
pub struct ExpectedCodes {
    pub span: Span,
    pub codes: Vec<Arc<str>>,
}

/// An output that is stored and compared.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    pub of: SnapshotOf,
    pub span: Span,
}

words! {
    /// The kinds of outputs that are stored and compared.
    #[derive(PartialOrd, Ord)]
    SnapshotOf {
        Trace = "trace",
        Reply = "reply",
        Graph = "graph",
        Diagnostics = "diagnostics",
    }
}

impl SnapshotOf {
    /// Returns true if the plan must run for it.
    #[must_use]
    pub const fn needs_run(self) -> bool {
        match self {
            Self::Trace | Self::Reply => true,
            Self::Graph | Self::Diagnostics => false,
        }
    }
}

impl Test {
    /// Visits every expression of the test.
    pub fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a CheckedExpr)) {
        self.tables
            .iter()
            .flatten()
            .flat_map(|row| &row.inputs)
            .for_each(|(_, code)| visit(code));
        for mock in &self.mocks {
            mock.arguments.iter().for_each(|(_, code)| visit(code));
            mock.reactions
                .iter()
                .flat_map(|reaction| reaction.reaction.codes())
                .for_each(&mut *visit);
        }
        self.answers
            .iter()
            .flat_map(|answer| answer.reaction.codes())
            .for_each(&mut *visit);
        self.signals
            .iter()
            .filter_map(|signal| signal.payload.as_ref())
            .for_each(&mut *visit);
        self.expects
            .iter()
            .for_each(|expect| visit(&expect.condition));
    }

    /// Returns true if the plan is run, which it is not if only diagnostics and graphs are expected.
    #[must_use]
    pub fn runs(&self) -> bool {
        let only_checks = self.diagnostics.is_some()
            || self
                .snapshots
                .iter()
                .any(|snapshot| !snapshot.of.needs_run());
        let asks = !self.expects.is_empty()
            || self
                .snapshots
                .iter()
                .any(|snapshot| snapshot.of.needs_run());
        asks || !only_checks
    }
}

/// A query about the calls of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CallQuery {
    /// Number of attempts.
    Calls(Caller),
    /// Whether there was at least one attempt.
    Ran(Caller),
    /// Whether every attempt of the first was sent before any attempt of the second.
    Before(Caller, Caller),
}

/// The subject of a query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Caller {
    /// A tool, by its dotted name in the catalog.
    Tool(Arc<str>),
    /// A step and the steps that it contains, by its name.
    Step(Arc<str>),
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) | Self::Step(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for CallQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(caller) => write!(f, "calls({caller})"),
            Self::Ran(caller) => write!(f, "ran({caller})"),
            Self::Before(one, other) => write!(f, "before({one}, {other})"),
        }
    }
}
