//! Expressions of other systems: their words, their paths, the values that they come to, and the bounds of all of them.

pub mod condition;
pub mod path;
pub mod tokens;
pub mod value;

use planrun_lang::syntax::ast::{Expr, ExprKind, Literal, TemplatePart};

use crate::tree;

/// The name of an element in a comprehension; no name of a plan is the same.
pub const ONE: &str = "one";

/// Longer expressions of any kind are refused, in bytes.
const MAX_EXPRESSION: usize = 4096;

/// # Errors
/// Where an expression is longer than is read.
pub fn within_bounds(text: &str) -> Result<(), String> {
    if text.len() <= MAX_EXPRESSION {
        return Ok(());
    }
    Err(format!("an expression may have {MAX_EXPRESSION} bytes"))
}

/// Whether an expression reads a name.
pub fn reads(expression: &Expr, name: &str) -> bool {
    let mut found = matches!(&expression.kind, ExprKind::Name(there) if &**there == name);
    expression.parts(&mut |part| found |= reads(part, name));
    found
}

/// A value that may be missing, as null there.
pub fn lenient(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Path { .. } => tree::coalesce(value, tree::null()),
        _ => value,
    }
}

/// Texts and values one behind the other as one text.
pub fn concatenated(sides: impl IntoIterator<Item = Expr>) -> Expr {
    let mut parts = Vec::new();
    for side in sides {
        match side.kind {
            ExprKind::Literal(Literal::String(text)) => parts.push(TemplatePart::Text(text)),
            ExprKind::Template(inner) => parts.extend(inner),
            kind => parts.push(TemplatePart::Expr(tree::expr(kind))),
        }
    }
    tree::template(parts)
}
