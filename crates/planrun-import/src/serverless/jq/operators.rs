//! Translates operators, fields and indices of jq, which accept missing values.

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal};

use crate::expression::quote::plan;
use crate::expression::value::Value;
use crate::expression::{divided, element, is_list, is_single, lenient};
use crate::tree;

/// Returns a field; null if the object certainly lacks it.
pub fn field(value: &Value, key: &str) -> Value {
    if value.has(key) == Some(false) {
        Value::Opaque(tree::null())
    } else {
        value.get(key)
    }
}

pub fn position(value: &Value, index: Expr) -> Value {
    match &index.kind {
        ExprKind::Literal(Literal::String(key)) => field(value, key),
        _ => Value::Opaque(element(value.expr(), index)),
    }
}

/// Translates `//`: the right side replaces false, null and what is missing.
pub fn alternative(left: Expr, right: Expr) -> Expr {
    if right == tree::boolean(false) || !may_be_bool(&left) {
        return tree::coalesce(left, right);
    }
    plan!(
        "[left ?? false].filter(one, one != false).first() ?? right",
        left,
        right,
    )
}

/// Returns true unless an expression is certainly no boolean.
fn may_be_bool(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Conditional { arms, otherwise } => {
            let values = arms.iter().map(|(_, value)| value);
            values.chain([&**otherwise]).any(may_be_bool)
        }
        ExprKind::Call {
            function,
            arguments,
        } if &*function.text == "dyn" => arguments.iter().any(|one| may_be_bool(&one.value)),
        _ => tree::is_truth(value) || !is_list(value) && !is_single(value),
    }
}

fn is_null(value: &Expr) -> bool {
    value.kind == ExprKind::Literal(Literal::Null)
}

/// Returns a condition that holds for all values except null and false.
pub fn truth(value: Expr) -> Expr {
    if tree::is_truth(&value) {
        return value;
    }
    if is_null(&value) {
        return tree::boolean(false);
    }
    plan!("(value ?? false) != false", value)
}

pub fn operated(left: Value, operator: BinaryOp, right: Value) -> Value {
    if operator == BinaryOp::Add {
        return sum(left, right);
    }
    let (left, right) = (left.expr(), right.expr());
    Value::Opaque(match operator {
        BinaryOp::And | BinaryOp::Or => tree::binary(truth(left), operator, truth(right)),
        BinaryOp::Equal if is_null(&left) && is_null(&right) => tree::boolean(true),
        BinaryOp::NotEqual if is_null(&left) && is_null(&right) => tree::boolean(false),
        BinaryOp::Equal | BinaryOp::NotEqual => {
            tree::binary(lenient(left), operator, lenient(right))
        }
        BinaryOp::Divide => divided(left, right),
        _ => tree::binary(left, operator, right),
    })
}

/// Translates `+`: objects are merged, and a side that is null or missing leaves the other unchanged.
fn sum(left: Value, right: Value) -> Value {
    let keeps = |side: &Value| is_null(&side.expr());
    if keeps(&left) {
        return right;
    }
    if keeps(&right) {
        return left;
    }
    if let (Value::Object { .. }, Value::Opaque(right)) = (&left, &right) {
        let right = padded(right.clone(), Some(plan!("{}")));
        return Value::Opaque(plan!("merge(left, right)", left = left.expr(), right));
    }
    if let Value::Object {
        base: None, fields, ..
    } = &right
    {
        let left = match left {
            Value::Opaque(expr) => Value::Opaque(padded(expr, Some(plan!("{}")))),
            Value::Nothing => Value::object(Vec::new()),
            object @ Value::Object { .. } => object,
        };
        return fields.iter().fold(left, |all, (key, value)| {
            all.with(std::slice::from_ref(key), value.clone())
        });
    }
    let (left, right) = (left.expr(), right.expr());
    let neutrals = (neutral(&left), neutral(&right));
    let (left, right) = (padded(left, neutrals.1), padded(right, neutrals.0));
    Value::Opaque(tree::binary(left, BinaryOp::Add, right))
}

/// Returns the neutral element of addition for the type of a value, if the type is known.
fn neutral(value: &Expr) -> Option<Expr> {
    match &value.kind {
        ExprKind::List(_) => Some(tree::list(Vec::new())),
        ExprKind::Literal(Literal::String(_)) | ExprKind::Template(_) => Some(tree::text("")),
        ExprKind::Literal(Literal::Int(_) | Literal::Double(_)) => Some(tree::int(0)),
        _ => None,
    }
}

/// Returns a value that falls back to the neutral element if it may be missing.
pub fn padded(value: Expr, neutral: Option<Expr>) -> Expr {
    match (&value.kind, neutral) {
        (ExprKind::Path { .. } | ExprKind::Name(_), Some(neutral)) => {
            tree::coalesce(value, neutral)
        }
        _ => value,
    }
}
