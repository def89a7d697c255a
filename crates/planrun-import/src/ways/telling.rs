//! A step that tells which way is taken behind it, since a failure that is caught may lead elsewhere.

use planrun_lang::syntax::ast::{BinaryOp, ClauseKind, Expr, Statement, StepBody};

use crate::tree;

/// The way of a step that has not failed.
pub const NEXT: &str = "next";

/// The step: it does what `inner` does and gives `value`, unless one of the arms gives something else.
pub fn step(
    name: &str,
    mut inner: Vec<Statement>,
    value: Expr,
    arms: Vec<ClauseKind>,
) -> Statement {
    inner.push(tree::yields(ended(tree::text(NEXT), value)));
    tree::step(name, StepBody::Do(tree::block(inner)), arms)
}

/// What such a step or one of its arms gives: the way that is taken, and what is known on it.
pub fn ended(way: Expr, value: Expr) -> Expr {
    tree::object(vec![("to".to_owned(), way), ("value".to_owned(), value)])
}

/// What is known behind the step.
pub fn value_of(name: &str) -> Expr {
    tree::field(tree::variable(name), "value")
}

/// Whether the step has ended in this way.
pub fn has_led(name: &str, way: &str) -> Expr {
    let to = tree::field(tree::variable(name), "to");
    tree::binary(to, BinaryOp::Equal, tree::text(way))
}
