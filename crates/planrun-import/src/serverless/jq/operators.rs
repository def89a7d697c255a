//! Translates operators, fields and indices of jq, which accept missing values.

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};

use crate::expression::value::Value;
use crate::expression::{ONE, divided, element, is_list, is_single, lenient};
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
    let no = tree::boolean(false);
    if right == no || !may_be_bool(&left) {
        return tree::coalesce(left, right);
    }
    let one = || tree::variable(ONE);
    let present = tree::list(vec![tree::coalesce(left, no.clone())]);
    let holds = tree::binary(one(), BinaryOp::NotEqual, no);
    let kept = tree::method(present, "filter", vec![one(), holds]);
    tree::coalesce(tree::method(kept, "first", Vec::new()), right)
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

pub fn negative(operand: Expr) -> Expr {
    match operand.kind {
        ExprKind::Literal(Literal::Int(number)) => tree::int(number.saturating_neg()),
        ExprKind::Literal(Literal::Double(number)) => tree::literal(Literal::Double(-number)),
        _ => tree::unary(UnaryOp::Negate, operand),
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
    tree::binary(
        tree::coalesce(value, tree::boolean(false)),
        BinaryOp::NotEqual,
        tree::boolean(false),
    )
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
        let right = padded(right.clone(), Some(tree::object(Vec::new())));
        return Value::Opaque(tree::function("merge", vec![left.expr(), right]));
    }
    if let Value::Object {
        base: None, fields, ..
    } = &right
    {
        let left = match left {
            Value::Opaque(expr) => Value::Opaque(padded(expr, Some(tree::object(Vec::new())))),
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
