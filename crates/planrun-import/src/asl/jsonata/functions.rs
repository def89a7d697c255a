//! Functions of JSONata and what they are here.

use planrun_lang::syntax::ast::{BinaryOp, Expr};

use crate::asl::path::ONE;
use crate::tree;

/// # Errors
/// Why there is no counterpart.
pub fn counterpart(name: &str, mut arguments: Vec<Expr>) -> Result<Expr, String> {
    let count = arguments.len();
    let mut take = || {
        if arguments.is_empty() {
            tree::null()
        } else {
            arguments.remove(0)
        }
    };
    let function = |called: &str, value: Expr| tree::function(called, vec![value]);
    let method = |value: Expr, called: &str| tree::method(value, called, Vec::new());
    let math =
        |called: &str, value: Expr| tree::method(tree::variable("math"), called, vec![value]);
    Ok(match (name, count) {
        // The kind of a sum is not known before the run; that of a double is.
        ("sum", 1) => function("double", function("sum", take())),
        ("count" | "length", 1) => function("size", take()),
        ("max" | "min", 1) => method(take(), name),
        ("average", 1) => {
            let list = take();
            let size = function("double", function("size", list.clone()));
            tree::binary(function("sum", list), BinaryOp::Divide, size)
        }
        ("string", 1) => function("string", take()),
        ("number", 1) => function("double", take()),
        ("not", 1) => tree::not(tree::truth(take())),
        ("exists", 1) => function("has", take()),
        ("uppercase", 1) => method(take(), "upperAscii"),
        ("lowercase", 1) => method(take(), "lowerAscii"),
        ("trim", 1) => method(take(), "trim"),
        ("contains", 2) => {
            let text = take();
            tree::method(text, "contains", vec![take()])
        }
        ("split", 2) => {
            let text = take();
            tree::method(text, "split", vec![take()])
        }
        ("join", 1) => method(take(), "join"),
        ("join", 2) => {
            let list = take();
            tree::method(list, "join", vec![take()])
        }
        ("replace", 3) => {
            let (text, old) = (take(), take());
            tree::method(text, "replace", vec![old, take()])
        }
        ("append", 2) => {
            let first = take();
            tree::binary(first, BinaryOp::Add, take())
        }
        ("reverse" | "distinct" | "sort", 1) => method(take(), name),
        ("keys", 1) => {
            let entries = function("entries", take());
            let one = || tree::variable(ONE);
            tree::method(entries, "map", vec![one(), tree::field(one(), "key")])
        }
        ("floor" | "ceil" | "round", 1) => function("int", math(name, take())),
        ("abs", 1) => math("abs", take()),
        ("base64encode", 1) => {
            let bytes = function("bytes", take());
            tree::method(tree::variable("base64"), "encode", vec![bytes])
        }
        ("base64decode", 1) => {
            let bytes = tree::method(tree::variable("base64"), "decode", vec![take()]);
            function("string", bytes)
        }
        ("now" | "millis", _) => {
            return Err(
                "the time comes from a step, `sys.now()`, and not from an expression".into(),
            );
        }
        ("uuid", _) => {
            return Err(
                "a random id comes from a step, `sys.uuid()`, and not from an expression".into(),
            );
        }
        ("random", _) => {
            return Err("a random number comes from a tool, and not from an expression".into());
        }
        ("hash", _) => return Err("there is no function for hashes; a tool can give one".into()),
        ("parse", _) => {
            return Err(
                "there is no function that reads JSON; a tool, or a typed argument, can".into(),
            );
        }
        _ => {
            return Err(format!(
                "`${}` with {count} arguments has no counterpart",
                super::super::short(name)
            ));
        }
    })
}
