//! Translates functions of JSONata.

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, LinkKind};

use crate::expression::ONE;
use crate::tree;

/// # Errors
/// Returns a message if there is no counterpart.
pub fn counterpart(name: &str, arguments: Vec<Expr>) -> Result<Expr, String> {
    let count = arguments.len();
    match name {
        "now" | "millis" => {
            Err("an expression cannot read the time: call `sys.now()` in a step".into())
        }
        "uuid" => {
            Err("an expression cannot create a random id: call `sys.uuid()` in a step".into())
        }
        "random" => Err("an expression cannot create a random number: call a tool".into()),
        "hash" => Err("there is no hash function: call a tool".into()),
        "parse" => Err(
            "there is no function that parses JSON: call a tool, or use a typed argument".into(),
        ),
        _ => {
            let mut arguments = arguments.into_iter();
            let first = arguments.next();
            let found = first.and_then(|first| match arguments.next() {
                None => of_one(name, first),
                Some(second) => of_more(name, first, second, arguments.next()),
            });
            let called = crate::draft::excerpt(name);
            found.ok_or_else(|| format!("`${called}` with {count} arguments has no counterpart"))
        }
    }
}

fn of_one(name: &str, value: Expr) -> Option<Expr> {
    let function = |called: &str, value: Expr| tree::function(called, vec![value]);
    let method = |value: Expr, called: &str| tree::method(value, called, Vec::new());
    let math =
        |called: &str, value: Expr| tree::method(tree::variable("math"), called, vec![value]);
    let base64 =
        |called: &str, value: Expr| tree::method(tree::variable("base64"), called, vec![value]);
    Some(match name {
        // The type of `sum` is not known statically; that of `double` is.
        "sum" => function("double", function("sum", value)),
        "count" | "length" => function("size", value),
        "average" => {
            let size = function("double", function("size", value.clone()));
            tree::binary(function("sum", value), BinaryOp::Divide, size)
        }
        "string" => function("string", value),
        "number" => function("double", value),
        "not" => super::falsity(value),
        "exists" => exists(value),
        "merge" => return merged(value),
        "uppercase" => method(value, "upperAscii"),
        "lowercase" => method(value, "lowerAscii"),
        "max" | "min" | "trim" | "join" | "reverse" | "distinct" | "sort" => method(value, name),
        "keys" => {
            let one = || tree::variable(ONE);
            let keys = vec![one(), tree::field(one(), "key")];
            tree::method(function("entries", value), "map", keys)
        }
        "floor" | "ceil" | "round" => function("int", math(name, value)),
        "abs" => math("abs", value),
        "base64encode" => base64("encode", function("bytes", value)),
        "base64decode" => function("string", base64("decode", value)),
        _ => return None,
    })
}

fn of_more(name: &str, first: Expr, second: Expr, third: Option<Expr>) -> Option<Expr> {
    Some(match (name, third) {
        ("contains" | "split" | "join", None) => tree::method(first, name, vec![second]),
        ("replace", Some(third)) => tree::method(first, "replace", vec![second, third]),
        ("append", None) => tree::binary(listed(first), BinaryOp::Add, listed(second)),
        _ => return None,
    })
}

/// Returns a value as a list, if it is certainly none.
fn listed(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Literal(_) | ExprKind::Object(_) | ExprKind::Template(_) => {
            tree::list(vec![value])
        }
        _ => value,
    }
}

/// `has` takes a name or a field; any other value exists if it is not null.
fn exists(value: Expr) -> Expr {
    let is_field = match &value.kind {
        ExprKind::Name(_) => true,
        ExprKind::Path { links, .. } => links
            .last()
            .is_some_and(|link| matches!(link.kind, LinkKind::Field { .. })),
        _ => false,
    };
    if is_field {
        return tree::function("has", vec![value]);
    }
    tree::binary(
        tree::coalesce(value, tree::null()),
        BinaryOp::NotEqual,
        tree::null(),
    )
}

/// Merges the objects of a literal list; `None` for other lists.
fn merged(value: Expr) -> Option<Expr> {
    let ExprKind::List(objects) = value.kind else {
        return None;
    };
    objects
        .into_iter()
        .reduce(|all, one| tree::function("merge", vec![all, one]))
}
