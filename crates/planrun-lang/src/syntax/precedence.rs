//! Operator precedence, for reading and printing expressions.

use super::ast::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};

/// The precedence of an expression, from the loosest to the tightest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Conditional,
    Or,
    And,
    Comparison,
    Coalesce,
    Add,
    Multiply,
    Unary,
    Is,
    Postfix,
    /// Tighter than any expression, so that parentheses are required.
    Parenthesised,
}

impl Level {
    #[must_use]
    pub fn tighter(self) -> Self {
        match self {
            Self::Conditional => Self::Or,
            Self::Or => Self::And,
            Self::And => Self::Comparison,
            Self::Comparison => Self::Coalesce,
            Self::Coalesce => Self::Add,
            Self::Add => Self::Multiply,
            Self::Multiply => Self::Unary,
            Self::Unary => Self::Is,
            Self::Is | Self::Postfix | Self::Parenthesised => Self::Postfix,
        }
    }
}

/// Returns the precedence of the expression as it is written.
#[must_use]
pub fn level(expr: &Expr) -> Level {
    match &expr.kind {
        ExprKind::Conditional { .. } => Level::Conditional,
        ExprKind::Chain { rest, .. } => rest
            .first()
            .map_or(Level::Postfix, |link| operator_level(link.operator)),
        ExprKind::Coalesce(_) => Level::Coalesce,
        ExprKind::Unary { .. } => Level::Unary,
        ExprKind::Literal(literal) if is_negative(literal) => Level::Unary,
        ExprKind::Is { .. } => Level::Is,
        ExprKind::Literal(_)
        | ExprKind::Template(_)
        | ExprKind::Name(_)
        | ExprKind::Call { .. }
        | ExprKind::Path { .. }
        | ExprKind::List(_)
        | ExprKind::Object(_)
        | ExprKind::Match { .. }
        | ExprKind::Signal(_)
        | ExprKind::Error => Level::Postfix,
    }
}

/// Returns true if the literal is written with a minus sign.
#[must_use]
pub fn is_negative(literal: &Literal) -> bool {
    match literal {
        Literal::Int(value) => *value < 0,
        Literal::Double(value) => value.is_sign_negative(),
        Literal::Duration(nanoseconds) => *nanoseconds < 0,
        Literal::Null
        | Literal::Bool(_)
        | Literal::Uint(_)
        | Literal::String(_)
        | Literal::Bytes(_) => false,
    }
}

/// Returns true if the expression is printed with a minus sign as its first character.
#[must_use]
pub fn begins_with_minus(expr: &Expr) -> bool {
    let mut expr = expr;
    loop {
        expr = match &expr.kind {
            ExprKind::Unary { operators, .. } => {
                return operators
                    .first()
                    .is_some_and(|(operator, _)| *operator == UnaryOp::Negate);
            }
            ExprKind::Literal(literal) => return is_negative(literal),
            ExprKind::Chain { first, .. } => first,
            ExprKind::Coalesce(operands) => match operands.first() {
                Some(first) => first,
                None => return false,
            },
            ExprKind::Conditional { arms, .. } => match arms.first() {
                Some((condition, _)) => condition,
                None => return false,
            },
            // The base of a path and the subject of `is` are in parentheses if they begin with a minus sign.
            ExprKind::Path { .. }
            | ExprKind::Is { .. }
            | ExprKind::Template(_)
            | ExprKind::Name(_)
            | ExprKind::Call { .. }
            | ExprKind::List(_)
            | ExprKind::Object(_)
            | ExprKind::Match { .. }
            | ExprKind::Signal(_)
            | ExprKind::Error => return false,
        };
    }
}

/// Returns the precedence of a chain with this operator.
#[must_use]
pub fn operator_level(operator: BinaryOp) -> Level {
    match operator {
        BinaryOp::Or => Level::Or,
        BinaryOp::And => Level::And,
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::In => Level::Comparison,
        BinaryOp::Add | BinaryOp::Subtract => Level::Add,
        BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Remainder => Level::Multiply,
    }
}
