//! Items: the top-level declarations of a file.

use std::sync::Arc;

use super::{Argument, Block, Expr, Name, Text, TypeExpr};
use crate::source::Span;

#[derive(Debug)]
pub struct Item {
    pub span: Span,
    /// The `///` lines above, joined by newlines, without their markers.
    pub doc: Option<Arc<str>>,
    pub kind: ItemKind,
}

impl Item {
    /// Returns true if the item is written in the text. The `use` items added to a plan in short form are not.
    #[must_use]
    pub fn is_written(&self) -> bool {
        !self.span.is_empty()
    }
}

#[derive(Debug)]
pub enum ItemKind {
    Use(Use),
    Type(TypeItem),
    Tool(Tool),
    Plan(Plan),
    Test(Test),
    /// Text that is not an item; already reported.
    Error,
}

#[derive(Debug)]
pub enum Use {
    /// `use hr, access as doors`
    Namespaces(Vec<UseNamespace>),
    /// `use "./notify.plan" as notify`
    File { path: Text, alias: Name },
}

#[derive(Debug)]
pub struct UseNamespace {
    pub name: Name,
    pub alias: Option<Name>,
}

/// `type Level = "L1" | "L2"`
#[derive(Debug)]
pub struct TypeItem {
    pub name: Name,
    pub definition: TypeExpr,
}

/// `tool it.apply(emp_id: string) -> T effect fails sold_out key emp_id`
#[derive(Debug)]
pub struct Tool {
    pub namespace: Name,
    pub name: Name,
    pub parameters: Vec<Parameter>,
    pub returns: TypeExpr,
    /// `pure`, `read`, `idempotent`, `effect` or `irreversible`, as written.
    pub effect: Option<Name>,
    /// The names after `fails`; `busy` denotes the error class `tool.busy`.
    pub fails: Vec<Name>,
    /// The argument that receives the idempotency key.
    pub key: Option<Name>,
}

/// A parameter of a plan or tool: `a: T`, `a?: T`, `a: T = e`.
#[derive(Debug)]
pub struct Parameter {
    pub span: Span,
    pub name: Name,
    pub optional: bool,
    pub ty: TypeExpr,
    pub default: Option<Expr>,
}

/// `plan name(…) -> T { … }`. `policy` and `allow` are statements of the body.
#[derive(Debug)]
pub struct Plan {
    pub name: Name,
    pub parameters: Vec<Parameter>,
    pub returns: Option<TypeExpr>,
    pub body: Block,
}

/// `test "name" for plan { … }`, or `for namespace.plan` if the plan is in another file.
#[derive(Debug)]
pub struct Test {
    pub name: Text,
    pub namespace: Option<Name>,
    pub plan: Name,
    pub body: Vec<TestStatement>,
}

#[derive(Debug)]
pub struct TestStatement {
    pub span: Span,
    pub kind: TestStatementKind,
}

#[derive(Debug)]
pub enum TestStatementKind {
    /// `given { … }`; a list of objects is a table of inputs.
    Given(Expr),
    /// `mock ns.tool[(arg: e)] => OUT [times n], then OUT`
    Mock {
        target: MockTarget,
        /// `None` if written without parentheses: every call matches.
        arguments: Option<Vec<Argument>>,
        outcomes: Vec<MockOutcome>,
    },
    /// `answer step[.confirm] => OUT`
    Answer { path: Expr, outcome: MockOutcome },
    /// `signal "n" [=> e] at d`
    Signal {
        name: Text,
        payload: Option<Expr>,
        at: Expr,
    },
    /// `expect e`
    Expect(Expr),
    /// `expect diagnostics [code, …]`; codes contain hyphens.
    ExpectDiagnostics(Vec<Name>),
    /// `snapshot trace|reply|graph|diagnostics`
    Snapshot(Name),
    /// Invalid text; already reported.
    Error,
}

/// The tool, or tools, that a `mock` replaces.
#[derive(Debug)]
pub enum MockTarget {
    /// `_`: every tool without a `mock` of its own.
    Every,
    Tool {
        namespace: Name,
        tool: Name,
    },
}

#[derive(Debug)]
pub struct MockOutcome {
    pub span: Span,
    pub kind: MockOutcomeKind,
    /// `times n`
    pub times: Option<Expr>,
    /// `delay d`
    pub delay: Option<Expr>,
}

#[derive(Debug)]
pub enum MockOutcomeKind {
    Value(Expr),
    /// `generated`: a value generated from the tool's result schema.
    Generated,
    /// `fail class ["message"] [details value]`
    Fail {
        class: Name,
        message: Option<Expr>,
        details: Option<Box<Expr>>,
    },
    /// `crash before` or `crash after`
    Crash {
        after: bool,
    },
}
