//! Expressions of other systems: tokens, conditions, paths, values, and their size limit.

pub mod condition;
pub mod path;
pub mod tokens;
pub mod value;

use planrun_lang::syntax::ast::{Expr, ExprKind, Literal, TemplatePart};

use crate::tree;

/// The name of the element in a comprehension. Steps and bindings never get this name.
pub const ONE: &str = "one";

/// The maximum length of an expression, in bytes.
const MAX_EXPRESSION: usize = 4096;

/// # Errors
/// Returns a message if the expression is too long.
pub fn within_bounds(text: &str) -> Result<(), String> {
    if text.len() <= MAX_EXPRESSION {
        return Ok(());
    }
    Err(format!(
        "an expression may have at most {MAX_EXPRESSION} bytes"
    ))
}

/// Returns true if an expression reads a name.
pub fn reads(expression: &Expr, name: &str) -> bool {
    let mut found = matches!(&expression.kind, ExprKind::Name(there) if &**there == name);
    expression.parts(&mut |part| found |= reads(part, name));
    found
}

/// Returns an expression that gives null if the value is missing.
pub fn lenient(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Path { .. } => tree::coalesce(value, tree::null()),
        _ => value,
    }
}

/// Concatenates texts and values into one text.
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
