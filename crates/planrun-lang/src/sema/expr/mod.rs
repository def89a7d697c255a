//! The checker of expressions: resolves names, infers types and absence, and produces code that is evaluated many
//! times.

mod call;
mod code;
mod combine;
mod construct;
mod environment;
mod expect;
mod foreign;
mod literal;
mod macros;
mod merged;
mod method;
mod names;
mod namespace;
mod narrow;
mod operator;
mod overload;
mod path;
mod pattern;
mod repeated;
mod report;
mod walk;

use call::check_global_call;
use construct::{
    check_coalesce, check_conditional, check_list, check_match_expression, check_object,
    check_template,
};
use environment::Environment;
use expect::{check_bool, check_expected};
use names::{check_is_state, check_name, check_signal};
use operator::{check_chain, check_unary};
use path::check_path;
use std::fmt;
use walk::Absence;

use crate::diag::{self, Diagnostic};
use crate::sema::Scope;
use crate::sema::callable::Callees;
use crate::source::{SourceFile, Span};
use crate::syntax::ast;
use crate::types::Type;

pub use code::{
    CheckedExpr, Comprehension, Conversion, Link, LinkOp, MacroKind, MapKey, Matcher, Node, Op,
    Operator, Piece, Read, ReadKind, StateTest, Unchecked,
};
pub use narrow::{atoms, negated_atoms};
pub(super) use narrow::{opposite, path_text, present_path};
pub use pattern::CheckedPattern;
pub(super) use report::NOT_KNOWN;

/// The checker of expressions: checks them against the names around and collects diagnostics.
///
/// Erroneous expressions are checked to the end, too: a part that cannot be computed fails when it is evaluated.
pub struct Checker<'a> {
    /// The names in scope, and the facts about them.
    env: Environment<'a>,
    diagnostics: &'a mut Vec<Diagnostic>,
    origin: Option<(&'a SourceFile, Span)>,
    reads: Vec<Read>,
    /// Whether the current expression may not be evaluated, or evaluated more than once.
    lazy: bool,
    /// Whether the current expression is only tried: phrases of other languages are not replaced inside a trial.
    trying: bool,
    /// The callees that are available to steps around the expression.
    callees: Option<Callees<'a>>,
}

/// A checked part of an expression.
struct Typed {
    node: Node,
    ty: Type,
}

/// The purpose of a value: the diagnostic code and the description for a mismatch. The description is only rendered for
/// a diagnostic, which is rare.
#[derive(Clone, Copy)]
pub struct Expectation<'a> {
    /// `wrong-type`, `reply-type` or `default-type`.
    pub code: &'static diag::Code,
    /// The consumer of the whole value, such as ``the argument `to` of `email.send_email` ``.
    whole: &'a dyn fmt::Display,
    /// The innermost field that the value is for; the fields around it are not described.
    field: Option<&'a str>,
    /// Whether the value is an element of that.
    element: bool,
}

impl<'a> Expectation<'a> {
    /// Creates the expectation for an argument, a `let` with a type, or anything else without its own code.
    #[must_use]
    pub fn of(what: &'a dyn fmt::Display) -> Self {
        Self {
            code: &diag::codes::types::WRONG_TYPE,
            whole: what,
            field: None,
            element: false,
        }
    }

    /// Creates the expectation for the reply of a plan.
    #[must_use]
    pub fn reply() -> Self {
        Self {
            code: &diag::codes::types::REPLY_TYPE,
            ..Self::of(&"the reply")
        }
    }

    /// Creates the expectation for the default of a parameter or a field.
    #[must_use]
    pub fn default(what: &'a dyn fmt::Display) -> Self {
        Self {
            code: &diag::codes::types::DEFAULT_TYPE,
            ..Self::of(what)
        }
    }

    /// Returns the expectation for an element of the list.
    fn element(self) -> Self {
        Self {
            element: true,
            ..self
        }
    }

    /// Returns the expectation for a field of the value.
    fn part<'f>(self, field: &'f str) -> Expectation<'f>
    where
        'a: 'f,
    {
        Expectation {
            field: Some(field),
            element: false,
            ..self
        }
    }
}

impl fmt::Display for Expectation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.element {
            f.write_str("an element of ")?;
        }
        if let Some(field) = self.field {
            write!(f, "field `{field}` of ")?;
        }
        self.whole.fmt(f)
    }
}

impl<'a> Checker<'a> {
    #[must_use]
    pub fn new(scope: &'a dyn Scope, diagnostics: &'a mut Vec<Diagnostic>) -> Self {
        Self {
            env: Environment::new(scope),
            diagnostics,
            origin: None,
            reads: Vec::new(),
            lazy: false,
            trying: false,
            callees: None,
        }
    }

    /// Sets the source of the expressions and the statement around them, for fixes that move text. They are safe if the
    /// statement always evaluates the expressions, and only once.
    #[must_use]
    pub fn within(mut self, source: &'a SourceFile, statement: Span, unconditional: bool) -> Self {
        self.origin = Some((source, statement));
        self.lazy = !unconditional;
        self
    }

    /// Sets what can be called, to infer the type of misplaced calls.
    pub(super) fn with_callees(mut self, callees: Callees<'a>) -> Self {
        self.callees = Some(callees);
        self
    }

    /// Checks an expression of any type.
    pub fn check(&mut self, expression: &ast::Expr) -> CheckedExpr {
        let typed = self.expression(expression);
        self.finish(typed, expression.span)
    }

    /// Checks an expression whose place requires the type `expected`, and converts its value to that type. Parts of
    /// literals are checked separately.
    pub fn check_against(
        &mut self,
        expression: &ast::Expr,
        expected: &Type,
        expectation: Expectation<'_>,
    ) -> CheckedExpr {
        let typed = check_expected(self, expression, expected, expectation);
        self.finish(typed, expression.span).placed(expected)
    }

    /// Checks a condition: a bool that is neither absent nor unknown.
    pub fn check_condition(&mut self, expression: &ast::Expr) -> CheckedExpr {
        let typed = check_bool(self, expression);
        self.finish(typed, expression.span)
    }

    fn finish(&mut self, typed: Typed, span: Span) -> CheckedExpr {
        let registers = std::mem::take(&mut self.env.registers);
        CheckedExpr {
            ty: typed.ty,
            root: typed.node,
            span,
            reads: std::mem::take(&mut self.reads),
            registers,
            into: None,
        }
    }

    /// Checks any expression. Each kind has its own function, which keeps the stack frames of deep nesting small.
    fn expression(&mut self, expression: &ast::Expr) -> Typed {
        let span = expression.span;
        match &expression.kind {
            ast::ExprKind::Literal(value) => literal::literal(value, span),
            ast::ExprKind::Template(parts) => check_template(self, parts, span),
            ast::ExprKind::Name(name) => check_name(self, name, span),
            ast::ExprKind::Call {
                function,
                arguments,
            } => check_global_call(self, function, arguments, span),
            ast::ExprKind::Path { base, links } => {
                check_path(self, base, links, span, Absence::Reported)
            }
            ast::ExprKind::List(elements) => check_list(self, elements, span),
            ast::ExprKind::Object(entries) => check_object(self, entries, span),
            ast::ExprKind::Unary { operators, operand } => {
                check_unary(self, operators, operand, span)
            }
            ast::ExprKind::Chain { first, rest } => check_chain(self, first, rest, span),
            ast::ExprKind::Coalesce(operands) => check_coalesce(self, operands, span),
            ast::ExprKind::Conditional { arms, otherwise } => {
                check_conditional(self, arms, otherwise, span)
            }
            ast::ExprKind::Match { subject, arms } => {
                check_match_expression(self, subject, arms, span)
            }
            ast::ExprKind::Is { subject, state } => check_is_state(self, subject, state, span),
            ast::ExprKind::Signal(name) => check_signal(self, name, span),
            ast::ExprKind::Error => Typed::fail("the text here could not be parsed", span),
        }
    }

    /// Checks an expression where a path may read through an absent value, which makes the whole path null.
    fn lenient(&mut self, expression: &ast::Expr) -> Typed {
        match &expression.kind {
            ast::ExprKind::Path { base, links } => {
                check_path(self, base, links, expression.span, Absence::Null)
            }
            _ => self.expression(expression),
        }
    }

    /// Runs a check of something that is only evaluated conditionally, or once for each element.
    fn lazily<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        let around = std::mem::replace(&mut self.lazy, true);
        let checked = check(self);
        self.lazy = around;
        checked
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
}

impl Typed {
    fn new(op: Op, ty: Type, span: Span) -> Self {
        Self {
            node: Node { span, op },
            ty,
        }
    }

    /// Creates a node for something that has been reported: it fails if it is evaluated.
    fn fail(message: &str, span: Span) -> Self {
        Self::new(Op::Fail(message.into()), Type::Invalid, span)
    }
}
