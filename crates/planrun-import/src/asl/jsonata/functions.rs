//! Translates functions of JSONata.

use planrun_lang::syntax::ast::{Expr, ExprKind};

use super::Output;
use crate::expression::quote::plan;
use crate::expression::{bound, divided, is_field, last_method, listed, real, text_of};
use crate::tree;

/// Where the text of a computed number differs.
pub const DIGITS: &str = "has all digits of a computed number: JSONata rounds it to 15";

/// Returns where the counterpart of a function gives another value, if it does.
pub fn caveat(name: &str, arguments: &[Output]) -> Option<&'static str> {
    let is_uncertain = |argument: &Output| match argument {
        Output::One(value) => existing(&value.expr()).is_none(),
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
        "keys" => {
            Some("gives the keys in alphabetical order: JSONata has them in that of the document")
        }
        "number" => {
            Some("also reads texts such as `+1`, `.5` and `Infinity`: JSONata fails for them")
        }
        _ => None,
    }
}

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
            // The limit of `$replace` is a fourth argument, which no counterpart takes.
            let mut arguments = arguments.into_iter();
            let first = arguments.next().filter(|_| count <= 3);
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
    let is_sequence = matches!(argument, Output::Sequence(_));
    // `reverse` and `sort` give a list even for the one element of a filter, but nothing if it selects none.
    let in_order = |list: Expr, order: fn(&Expr) -> Expr| {
        if !is_sequence {
            return order(&list);
        }
        bound(list, &[], |list| {
            plan!(
                "size(list) > 0 ? ordered : list[0]",
                list,
                ordered = order(list)
            )
        })
    };
    let list = match name {
        "count" => return Some(Output::of(counted(argument))),
        "exists" => return Some(Output::of(exists(argument))),
        "not" => return Some(Output::of(super::falsity(argument))),
        "reverse" => argument.list(),
        _ => argument.elements(),
    };
    Some(Output::of(match name {
        // The type of `sum` is not known statically; that of `double` is.
        "sum" => plan!("double(sum(list))", list),
        "average" => bound(list, &[], |list| {
            divided(plan!("sum(list)", list), plan!("size(list)", list))
        }),
        "max" => plan!("math.greatest(list)", list),
        "min" => plan!("math.least(list)", list),
        "join" => plan!("list.join()", list),
        "distinct" if is_sequence => return Some(Output::Sequence(plan!("list.distinct()", list))),
        "distinct" => plan!("list.distinct()", list),
        "reverse" => in_order(list, |list| plan!("list.reverse()", list)),
        "sort" => in_order(list, |list| plan!("list.sort()", list)),
        _ => return None,
    }))
}

fn of_one(name: &str, argument: Output) -> Option<Output> {
    let value = argument.expr();
    Some(Output::of(match name {
        // Only texts have a length; adding one to anything else fails.
        "length" => plan!(r#"size(value + "")"#, value),
        "string" => stringified(value),
        "number" => plan!("double(value)", value),
        "merge" => return merged(value).map(Output::of),
        "uppercase" => plan!("value.upperAscii()", value),
        "lowercase" => plan!("value.lowerAscii()", value),
        "trim" => trimmed(&value),
        "keys" => {
            let keys = plan!("entries(value).map(one, one.key)", value);
            return Some(Output::Sequence(keys));
        }
        "floor" => plan!("int(math.floor(number))", number = real(value)),
        "ceil" => plan!("int(math.ceil(number))", number = real(value)),
        "round" => bound(real(value), &[], rounded),
        "abs" => plan!("math.abs(value)", value),
        "base64encode" => plan!("base64.encode(bytes(value))", value),
        "base64decode" => plan!("string(base64.decode(value))", value),
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
    let value = match argument {
        Output::Sequence(list) => return plan!("size(list)", list),
        Output::One(value) => value.expr(),
    };
    let count = plan!("size(list)", list = listed(value.clone()));
    if is_field(&value) {
        plan!("has(value) ? count : 0", value, count)
    } else {
        count
    }
}

fn exists(argument: Output) -> Expr {
    let value = match argument {
        Output::Sequence(list) => return plan!("size(list) > 0", list),
        Output::One(value) => value.expr(),
    };
    existing(&value).unwrap_or_else(|| plan!("(value ?? null) != null", value))
}

/// Returns whether a value exists, be it null or not; `None` if a plan cannot tell.
fn existing(value: &Expr) -> Option<Expr> {
    match &value.kind {
        ExprKind::Literal(_) | ExprKind::List(_) | ExprKind::Object(_) => Some(tree::boolean(true)),
        ExprKind::Name(_) => Some(plan!("has(value)", value)),
        _ if is_field(value) => Some(plan!("has(value)", value)),
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
        plan!(
            "type(value) == string ? value : json(type(value) == double ? double(value) : value)",
            value,
        )
    })
}

/// Rounds a double to the nearest integer, and a half to the even one.
fn rounded(number: &Expr) -> Expr {
    plan!(
        "int(math.abs(number - math.trunc(number)) == 0.5 ? math.round(number / 2.0) * 2.0 \
         : math.round(number))",
        number,
    )
}

/// Removes the white space around a text, and turns all white space inside it into single spaces.
fn trimmed(value: &Expr) -> Expr {
    plan!(
        r#"value.replace("\t", " ").replace("\n", " ").replace("\r", " ").split(" ")
            .filter(one, one != "").join(" ")"#,
        value,
    )
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
        .reduce(|all, object| plan!("merge(all, object)", all, object))
}
