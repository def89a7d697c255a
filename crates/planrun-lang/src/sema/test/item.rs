//! The checked test: what `plantest` runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::sema::Plan;
use crate::sema::expr::Code;
use crate::source::Span;
use crate::types::{ErrorClass, Signature};

/// A test that may run.
#[derive(Debug)]
pub struct Test {
    pub name: Arc<str>,
    /// Of its name.
    pub span: Span,
    /// Of all of it.
    pub item: Span,
    pub plan: Arc<Plan>,
    /// Every `given`, in source order. The rows of each are crossed with those of the others.
    pub tables: Vec<Vec<Row>>,
    pub mocks: Vec<Mock>,
    pub answers: Vec<TestAnswer>,
    pub signals: Vec<TestSignal>,
    pub expects: Vec<Expect>,
    /// What its `expect`s ask of the calls; the places behind the names of the outcome.
    pub asked: Vec<Asked>,
    /// The findings that the plan must have.
    pub diagnostics: Option<ExpectedCodes>,
    pub snapshots: Vec<Snapshot>,
}

/// Inputs: one row of a table.
#[derive(Debug)]
pub struct Row {
    pub span: Span,
    pub inputs: Vec<(Arc<str>, Code)>,
}

/// What a tool answers.
#[derive(Debug)]
pub struct Mock {
    pub span: Span,
    /// Whose calls it answers; those of every tool that no other mock is for where it is absent.
    pub signature: Option<Arc<Signature>>,
    /// Only calls with these.
    pub arguments: Vec<(Arc<str>, Code)>,
    /// One after the other.
    pub reactions: Vec<MockReaction>,
}

/// One outcome of a mock.
#[derive(Debug)]
pub struct MockReaction {
    pub span: Span,
    pub reaction: Reaction,
    /// How many calls it answers; the last one answers all that follow where it says nothing.
    pub times: Option<u32>,
    /// How long the call takes, on the clock of the test.
    pub delay: Duration,
}

#[derive(Debug)]
pub enum Reaction {
    /// Its places are the tool's parameters, in their order.
    Value(Code),
    /// Made up by the contract.
    Generated,
    Fail {
        class: ErrorClass,
        message: Option<Code>,
        /// What the other side says beside the message.
        details: Option<Code>,
    },
    /// The process dies, before the call has gone out or after it has happened.
    Crash { after: bool },
}

impl Reaction {
    /// The value of it, or the message and the details.
    fn codes(&self) -> impl Iterator<Item = &Code> {
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

/// What a person answers.
#[derive(Debug)]
pub struct TestAnswer {
    pub span: Span,
    /// `STEP` or `STEP.confirm`.
    pub path: Arc<str>,
    /// A value, a refusal (`denied.human`), or nothing until it is too late (`expired`).
    pub reaction: Reaction,
    pub times: Option<u32>,
    pub delay: Duration,
}

/// A signal from outside, or a move of a task.
#[derive(Debug)]
pub struct TestSignal {
    pub span: Span,
    /// The signal, or `task=status`.
    pub name: Arc<str>,
    pub payload: Option<Code>,
    /// How long after the start of the run.
    pub at: Duration,
}

/// A condition on what came out.
#[derive(Debug)]
pub struct Expect {
    pub span: Span,
    pub condition: Code,
    /// The parts that `&&` joins, each of which must hold; the condition alone where there is only one.
    pub parts: Vec<Comparison>,
    /// Whether it speaks of how the run ended, so that an end that is no success is meant.
    pub speaks_of_end: bool,
}

/// A part of a condition; of a comparison both sides, so that a failure can show what they were.
#[derive(Debug)]
pub struct Comparison {
    pub span: Span,
    pub condition: Code,
    pub sides: Option<(Code, Code)>,
}

/// The findings that a plan must have.
#[derive(Debug)]
pub struct ExpectedCodes {
    pub span: Span,
    pub codes: Vec<Arc<str>>,
}

/// What is kept and compared.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot {
    pub of: SnapshotOf,
    pub span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SnapshotOf {
    Trace,
    Reply,
    Graph,
    Diagnostics,
}

impl SnapshotOf {
    pub const ALL: [Self; 4] = [Self::Trace, Self::Reply, Self::Graph, Self::Diagnostics];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Reply => "reply",
            Self::Graph => "graph",
            Self::Diagnostics => "diagnostics",
        }
    }

    /// What this word stands for.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.name() == word)
    }

    /// Whether it needs the plan to run.
    #[must_use]
    pub const fn needs_run(self) -> bool {
        match self {
            Self::Trace | Self::Reply => true,
            Self::Graph | Self::Diagnostics => false,
        }
    }
}

impl Test {
    /// Every expression of it.
    pub fn codes<'a>(&'a self, visit: &mut dyn FnMut(&'a Code)) {
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

    /// Whether the plan is run: not where only findings and drawings are asked for.
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

/// Something that is asked of the calls of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    /// How many attempts were made.
    Calls(Caller),
    /// Whether one was made at all.
    Ran(Caller),
    /// Whether every attempt of the first went out before any of the second.
    Before(Caller, Caller),
}

/// Whose calls are meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Caller {
    /// Those of a tool, by its dotted name in the catalog.
    Tool(Arc<str>),
    /// Those of a step and what it holds, by its name.
    Step(Arc<str>),
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) | Self::Step(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Calls(caller) => write!(f, "calls({caller})"),
            Self::Ran(caller) => write!(f, "ran({caller})"),
            Self::Before(one, other) => write!(f, "before({one}, {other})"),
        }
    }
}
