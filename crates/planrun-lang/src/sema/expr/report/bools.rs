//! Diagnostics about values that are no bools where conditions and logical operators require them.

use super::{appended, short, wrapped};
use crate::diag::codes::types::NOT_A_BOOL;
use crate::diag::{Diagnostic, Edit};
use crate::sema::expr::{Node, combine, literal};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// Creates the diagnostic for a condition or an operand of a logical operator. There is no truthiness, so the fix
/// writes a comparison.
pub(in crate::sema::expr) fn not_a_bool(
    what: &str,
    ty: &Type,
    span: Span,
    node: &Node,
) -> Diagnostic {
    let tight = what.contains("`!`");
    let diagnostic = NOT_A_BOOL
        .at(
            span,
            format!("{what} must be a bool, but this is {}", short(ty)),
        )
        .note(format!("this is {}", short(ty)))
        .expected(
            "bool",
            if *ty == Type::Any {
                "a value of unknown type".to_owned()
            } else {
                ty.to_string()
            },
        );
    let simple = combine::is_simple(node);
    let present = ty.without_null();
    let (text, help) = match literal::widened(&present) {
        Type::Bool => (" ?? false", "it may be absent, so add a default"),
        Type::Any => (" == true", "its type is unknown, so compare it"),
        _ if ty.is_optional() => (" != null", "test whether it is present"),
        Type::Int => (" != 0", "compare it"),
        Type::Double => (" != 0.0", "compare it"),
        Type::String => (" != \"\"", "compare it"),
        Type::List(_) | Type::Map(_) => {
            return diagnostic
                .help("test its size: `size(x) > 0`")
                .unsafe_fix("test its size", wrapped(span, "size(", ") > 0"));
        }
        _ => return diagnostic.help("write a comparison, such as `x == y` or `x != null`"),
    };
    let mut edits = appended(span, text, simple);
    if tight {
        // `!x != 0` would be `(!x) != 0`.
        edits = wrapped(
            span,
            if simple { "(" } else { "((" },
            &format!("{}{text})", if simple { "" } else { ")" }),
        );
    }
    diagnostic
        .help(format!("{help}: `{}`", text.trim_start()))
        .unsafe_fix(help, edits)
}

/// Creates the diagnostic for `x || other`, where `x` may be absent and `other` is meant as its default.
pub(in crate::sema::expr) fn meant_default(
    ty: &Type,
    span: Span,
    rest: &[ast::ChainLink],
) -> Diagnostic {
    let message = format!(
        "an operand of `||` must be a bool, but this is {}",
        short(ty)
    );
    let edits = rest.iter().map(|link| Edit::new(link.operator_span, "??"));
    NOT_A_BOOL
        .at(span, message)
        .note(format!("this is {}", short(ty)))
        .expected("bool", ty)
        .help("write a default with `??`: `x ?? other`")
        .unsafe_fix("write `??`", edits.collect())
}

/// Creates the diagnostic for `c && "a" || "b"`.
pub(in crate::sema::expr) fn meant_choice(span: Span, and: Span, or: Span) -> Diagnostic {
    NOT_A_BOOL
        .at(
            span,
            "`&&` and `||` combine bools; they do not choose between values",
        )
        .help("write `condition ? a : b`")
        .fix_all(
            "write `? … :`",
            vec![Edit::new(and, "?"), Edit::new(or, ":")],
        )
}
