//! Translates functions of JSONata.

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind, Literal};

use super::Output;
use crate::expression::value::Value;
use crate::expression::{
    ONE, bound, divided, has_type, is_field, last_method, listed, real, text_of,
};
use crate::tree;

/// The white space that `$trim` normalizes, besides the space itself.
const BLANKS: [&str; 3] = ["\t", "\n", "\r"];

/// Returns where the counterpart of a function gives another value, if it does.
pub fn caveat(name: &str, arguments: &[Output]) -> Option<&'static str> {
    let is_uncertain = |argument: &Output| match argument {
        Output::One(value) => existing(value.expr()).is_none(),
        Output::Sequence(_) => false,
    };
    match name {
        "exists" if arguments.iter().any(is_uncertain) => {
            Some("takes null for a value that does not exist, except in a field")
        }
        "uppercase" | "lowercase" => {
            Some("converts only the letters A to Z: a plan leaves all others as they are")
        }
        "base64encode" | "base64decode" => {
            Some("is for text in UTF-8: JSONata has one byte for each character")
        }
        _ => None,
    }
}

/// # Errors
/// Returns a message if there is no counterpart.
pub fn counterpart(name: &str, arguments: Vec<Output>) -> Result<Output, String> {
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
                None => of_list(name, first.clone()).or_else(|| of_one(name, first)),
                Some(second) => of_more(name, first, second, arguments.next()),
            });
            let called = crate::draft::excerpt(name);
            found.ok_or_else(|| format!("`${called}` with {count} arguments has no counterpart"))
        }
    }
}

/// Translates a function of a list; other values count as lists with one element.
fn of_list(name: &str, argument: Output) -> Option<Output> {
    let function = |called: &str, value: Expr| tree::function(called, vec![value]);
    let method = |value: Expr, called: &str| tree::method(value, called, Vec::new());
    let extreme =
        |called: &str, list: Expr| tree::method(tree::variable("math"), called, vec![list]);
    let is_sequence = matches!(argument, Output::Sequence(_));
    let of_elements = |value: Expr| {
        if is_sequence {
            Output::Sequence(value)
        } else {
            Output::One(Value::Opaque(value))
        }
    };
    let value = match name {
        "count" => counted(argument),
        "exists" => return Some(Output::of(exists(argument))),
        "not" => super::falsity(argument),
        // The type of `sum` is not known statically; that of `double` is.
        "sum" => function("double", function("sum", argument.elements())),
        "average" => bound(argument.elements(), &[], |list| {
            divided(
                function("sum", list.clone()),
                function("size", list.clone()),
            )
        }),
        "max" => extreme("greatest", argument.elements()),
        "min" => extreme("least", argument.elements()),
        "join" => method(argument.elements(), name),
        "reverse" => return Some(of_elements(method(argument.list(), name))),
        "distinct" | "sort" => return Some(of_elements(method(argument.elements(), name))),
        _ => return None,
    };
    Some(Output::of(value))
}

fn of_one(name: &str, argument: Output) -> Option<Output> {
    let value = argument.expr();
    let function = |called: &str, value: Expr| tree::function(called, vec![value]);
    let method = |value: Expr, called: &str| tree::method(value, called, Vec::new());
    let math =
        |called: &str, value: Expr| tree::method(tree::variable("math"), called, vec![value]);
    let base64 =
        |called: &str, value: Expr| tree::method(tree::variable("base64"), called, vec![value]);
    Some(Output::of(match name {
        // Only texts have a length; adding one to anything else fails.
        "length" => function("size", tree::binary(value, BinaryOp::Add, tree::text(""))),
        "string" => stringified(value),
        "number" => function("double", value),
        "merge" => return merged(value).map(Output::of),
        "uppercase" => method(value, "upperAscii"),
        "lowercase" => method(value, "lowerAscii"),
        "trim" => trimmed(value),
        "keys" => {
            let one = || tree::variable(ONE);
            let keys = vec![one(), tree::field(one(), "key")];
            return Some(Output::Sequence(tree::method(
                function("entries", value),
                "map",
                keys,
            )));
        }
        "floor" | "ceil" => function("int", math(name, real(value))),
        "round" => bound(real(value), &[], rounded),
        "abs" => math("abs", value),
        "base64encode" => base64("encode", function("bytes", value)),
        "base64decode" => function("string", base64("decode", value)),
        _ => return None,
    }))
}

fn of_more(name: &str, first: Output, second: Output, third: Option<Output>) -> Option<Output> {
    let method = |value: Expr, arguments: Vec<Expr>| tree::method(value, name, arguments);
    Some(Output::of(match (name, third) {
        ("contains" | "split", None) => method(first.expr(), vec![second.expr()]),
        ("join", None) => method(first.elements(), vec![second.expr()]),
        ("replace", Some(third)) => {
            let pattern = second.expr();
            if pattern == tree::text("") {
                return None;
            }
            method(first.expr(), vec![pattern, third.expr()])
        }
        ("append", None) => super::concatenation(vec![first, second]),
        _ => return None,
    }))
}

/// Returns the number of elements: 0 for no value, 1 for a value that is not a list.
fn counted(argument: Output) -> Expr {
    let size = |list: Expr| tree::function("size", vec![list]);
    match argument {
        Output::Sequence(list) => size(list),
        Output::One(value) => {
            let value = value.expr();
            let count = size(listed(value.clone()));
            if is_field(&value) {
                tree::conditional(tree::function("has", vec![value]), count, tree::int(0))
            } else {
                count
            }
        }
    }
}

fn exists(argument: Output) -> Expr {
    let value = match argument {
        Output::Sequence(list) => {
            let size = tree::function("size", vec![list]);
            return tree::binary(size, BinaryOp::Greater, tree::int(0));
        }
        Output::One(value) => value.expr(),
    };
    existing(value.clone()).unwrap_or_else(|| {
        tree::binary(
            tree::coalesce(value, tree::null()),
            BinaryOp::NotEqual,
            tree::null(),
        )
    })
}

/// Returns whether a value exists, be it null or not; `None` if a plan cannot tell.
fn existing(value: Expr) -> Option<Expr> {
    match &value.kind {
        ExprKind::Literal(_) | ExprKind::List(_) | ExprKind::Object(_) => Some(tree::boolean(true)),
        ExprKind::Name(_) => Some(tree::function("has", vec![value])),
        _ if is_field(&value) => Some(tree::function("has", vec![value])),
        _ => None,
    }
}

/// Returns a text unchanged, and any other value as JSON. A number that was read, such as `1.0`, loses the digits that
/// its document has.
fn stringified(value: Expr) -> Expr {
    if !matches!(value.kind, ExprKind::Name(_) | ExprKind::Path { .. }) {
        return text_of(value);
    }
    bound(value, &[], |value| {
        let number = tree::function("double", vec![value.clone()]);
        let read = tree::conditional(has_type(value, &["double"]), number, value.clone());
        let json = tree::function("json", vec![read]);
        tree::conditional(has_type(value, &["string"]), value.clone(), json)
    })
}

/// Rounds a double to the nearest integer, and a half to the even one.
fn rounded(number: &Expr) -> Expr {
    let math =
        |called: &str, value: Expr| tree::method(tree::variable("math"), called, vec![value]);
    let two = || tree::literal(Literal::Double(2.0));
    let whole = math("trunc", number.clone());
    let fraction = math(
        "abs",
        tree::binary(number.clone(), BinaryOp::Subtract, whole),
    );
    let is_half = tree::binary(
        fraction,
        BinaryOp::Equal,
        tree::literal(Literal::Double(0.5)),
    );
    let half = tree::binary(number.clone(), BinaryOp::Divide, two());
    let even = tree::binary(math("round", half), BinaryOp::Multiply, two());
    let nearest = math("round", number.clone());
    tree::function("int", vec![tree::conditional(is_half, even, nearest)])
}

/// Removes the white space around a text, and turns all white space inside it into single spaces.
fn trimmed(value: Expr) -> Expr {
    let spaced = BLANKS.into_iter().fold(value, |text, blank| {
        tree::method(text, "replace", vec![tree::text(blank), tree::text(" ")])
    });
    let words = tree::method(spaced, "split", vec![tree::text(" ")]);
    let is_word = tree::binary(tree::variable(ONE), BinaryOp::NotEqual, tree::text(""));
    let words = tree::method(words, "filter", vec![tree::variable(ONE), is_word]);
    tree::method(words, "join", vec![tree::text(" ")])
}

/// Merges the objects that are written in a list; `None` for other lists.
fn merged(value: Expr) -> Option<Expr> {
    let is_flat = last_method(&value) == Some("flatten");
    let objects = match value.kind {
        ExprKind::List(objects) => objects,
        ExprKind::Path { base, links } if is_flat && links.len() == 1 => match base.kind {
            // A single value may be a list of objects.
            ExprKind::List(objects) if objects.len() > 1 => objects,
            _ => return None,
        },
        _ => return None,
    };
    objects
        .into_iter()
        .reduce(|all, one| tree::function("merge", vec![all, one]))
}
