//! Steps with tagged values: a failure that is caught may continue elsewhere, so the value has a tag for the branch
//! after it.

use planrun_lang::syntax::ast::{ClauseKind, Expr, Statement, StepBody};

use crate::expression::quote::plan;
use crate::tree;

/// The tag of a step that did not fail.
pub const NEXT: &str = "next";

/// Returns a step that runs `inner` and gives the tagged `value`, unless one of the arms gives another.
pub fn step(
    name: &str,
    mut inner: Vec<Statement>,
    value: Expr,
    arms: Vec<ClauseKind>,
) -> Statement {
    inner.push(tree::yields(tagged(tree::text(NEXT), value)));
    tree::step(name, StepBody::Do(tree::block(inner)), arms)
}

/// Returns a tagged value: the tag of the branch, and its data.
pub fn tagged(tag: Expr, value: Expr) -> Expr {
    tree::object([("to", tag), ("value", value)])
}

/// Returns the data in the value of such a step.
pub fn value_of(name: &str) -> Expr {
    tree::field(tree::variable(name), "value")
}

/// Returns a condition that the step gave this tag.
pub fn has_tag(name: &str, tag: &str) -> Expr {
    let (value, tag) = (tree::variable(name), tree::text(tag));
    plan!("value.to == tag", value, tag)
}
