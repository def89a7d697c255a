//! Findings about values of the wrong type.

use super::{appended, meant, short, with_names, wrapped};
use crate::diag::Diagnostic;
use crate::diag::codes::{names, order, types};
use crate::diag::nearest;
use crate::sema::expr::{Expectation, Node, Operator, Typed, combine, expect};
use crate::source::Span;
use crate::types::{Literal, Mismatch, ObjectType, Type};

pub(in crate::sema::expr) fn wrong_type(
    actual: &Type,
    expected: &Type,
    mismatch: &Mismatch,
    expectation: Expectation<'_>,
    span: Span,
    node: &Node,
) -> Diagnostic {
    let message = if mismatch.path.is_empty() {
        format!(
            "{expectation} must be {}, and this is {}",
            short(expected),
            short(actual)
        )
    } else {
        format!("{expectation} does not fit: {mismatch}")
    };
    let diagnostic = Diagnostic::new(expectation.code, span, message)
        .note(format!("this is {}", short(actual)))
        .expected(expected, actual)
        .help(format!("give a value of type {}", short(expected)));
    if let Some(text) = expect::constant_text(node) {
        let texts = texts(expected);
        let diagnostic = diagnostic.available(&texts);
        return match nearest(text, texts.iter().map(String::as_str)) {
            Some(near) => meant(diagnostic, near, span),
            None => diagnostic,
        };
    }
    let convertible = matches!(
        super::super::literal::widened(actual),
        Type::Int | Type::Uint | Type::Double | Type::Bool
    );
    if *expected == Type::String && convertible {
        return diagnostic
            .help("turn it into text with `string(…)`")
            .unsafe_fix("turn it into text", wrapped(span, "string(", ")"));
    }
    diagnostic
}

/// The texts that a type allows, where it allows only some.
fn texts(ty: &Type) -> Vec<String> {
    let text = |member: &Type| match member {
        Type::Literal(Literal::String(text)) => Some(text.to_string()),
        _ => None,
    };
    ty.members().iter().filter_map(text).collect()
}

pub(in crate::sema::expr) fn extra_field(
    name: &str,
    span: Span,
    object: &ObjectType,
    expectation: Expectation<'_>,
) -> Diagnostic {
    let fields: Vec<&str> = object.fields.iter().map(|field| &*field.name).collect();
    let message = format!("there is no field `{name}` in {expectation}");
    let diagnostic = Diagnostic::new(&names::UNKNOWN_FIELD, span, message)
        .note("no such field")
        .help(if fields.is_empty() {
            "leave it out".to_owned()
        } else {
            format!("leave it out, or use one of {}", fields.join(", "))
        });
    with_names(diagnostic, name, span, &fields)
}

pub(in crate::sema::expr) fn missing_fields(
    missing: &[&str],
    object: &ObjectType,
    span: Span,
    expectation: Expectation<'_>,
) -> Diagnostic {
    let named: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
    let (what, is) = if missing.len() == 1 {
        ("the field", "is")
    } else {
        ("the fields", "are")
    };
    let message = format!("{what} {} of {expectation} {is} missing", named.join(", "));
    Diagnostic::new(expectation.code, span, message)
        .note(format!("without {}", named.join(", ")))
        .expected(object, "an object without them")
        .help(format!(
            "add {}",
            missing
                .iter()
                .map(|name| format!("`{name}: …`"))
                .collect::<Vec<_>>()
                .join(", ")
        ))
}

/// A condition or an operand of a logical operator. There is no truthiness, so the fix writes the comparison.
pub(in crate::sema::expr) fn not_a_bool(
    what: &str,
    ty: &Type,
    span: Span,
    node: &Node,
) -> Diagnostic {
    let tight = what.contains("`!`");
    let diagnostic = Diagnostic::new(
        &types::NOT_A_BOOL,
        span,
        format!("{what} must be a bool, and this is {}", short(ty)),
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
    let (text, help) = match super::super::literal::widened(&present) {
        Type::Bool => (" ?? false", "it may be absent: say what holds then"),
        Type::Any => (" == true", "its type is unknown: compare it"),
        _ if ty.is_optional() => (" != null", "test whether it is there"),
        Type::Int => (" != 0", "compare it"),
        Type::Double => (" != 0.0", "compare it"),
        Type::String => (" != \"\"", "compare it"),
        Type::List(_) | Type::Map(_) => {
            return diagnostic
                .help("ask for its size: `size(x) > 0`")
                .unsafe_fix("ask for its size", wrapped(span, "size(", ") > 0"));
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

pub(in crate::sema::expr) fn no_binary(
    operator: Operator,
    left: &Type,
    right: &Type,
    sign: Span,
) -> Diagnostic {
    let symbol = symbol(operator);
    let diagnostic = Diagnostic::new(
        &types::NO_OVERLOAD,
        sign,
        format!(
            "`{symbol}` does not take {} and {}",
            short(left),
            short(right)
        ),
    )
    .note("no such form")
    .expected(forms(operator), format!("{left} {symbol} {right}"));
    let text = |ty: &Type| matches!(super::super::literal::widened(ty), Type::String);
    if operator == Operator::Add && (text(left) || text(right)) {
        return diagnostic
            .help("turn the other side into text with `string(…)`, or write \"… ${x} …\"");
    }
    diagnostic.help(format!("it takes {}", forms(operator)))
}

/// A number beside a text: nothing but text can come of it.
pub(in crate::sema::expr) fn as_text(
    finding: &Diagnostic,
    left: (&Type, (&Typed, Span)),
    right: (&Type, (&Typed, Span)),
) -> Option<Diagnostic> {
    let is_text = |ty: &Type| matches!(super::super::literal::widened(ty), Type::String);
    let other = match (is_text(left.0), is_text(right.0)) {
        (true, false) => right,
        (false, true) if combine::is_simple(&left.1.0.node) => left,
        _ => return None,
    };
    // Of what may be absent, nobody knows which text is meant.
    if other.1.0.ty.is_optional() || left.1.0.ty.is_optional() || right.1.0.ty.is_optional() {
        return None;
    }
    let edits = wrapped(other.1.1, "string(", ")");
    let title = "turn it into text";
    match super::super::literal::widened(other.0) {
        Type::Int | Type::Uint | Type::Bool => Some(finding.clone().fix_all(title, edits)),
        Type::Double | Type::Timestamp | Type::Duration => {
            Some(finding.clone().unsafe_fix(title, edits))
        }
        _ => None,
    }
}

pub(in crate::sema::expr) fn no_order(ty: &Type, span: Span) -> Diagnostic {
    Diagnostic::new(
        &types::NO_OVERLOAD,
        span,
        format!("`sortBy` cannot put {} in order", short(ty)),
    )
    .note("no order")
    .expected(
        "numbers, or values of one of string, bool, bytes, timestamp or duration",
        ty,
    )
    .help("sort by a number, a text or a time of each element: `xs.sortBy(x, x.name)`")
}

pub(in crate::sema::expr) fn no_unary(symbol: &str, ty: &Type, span: Span) -> Diagnostic {
    Diagnostic::new(
        &types::NO_OVERLOAD,
        span,
        format!("`{symbol}` does not take {ty}"),
    )
    .note(format!("this is {ty}"))
    .expected("int, double or duration", ty)
    .help("only numbers and durations have a negative")
}

pub(in crate::sema::expr) fn never_equal(
    left: &Type,
    right: &Type,
    sides: (Span, Span),
    sign: Span,
) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        &types::NO_OVERLOAD,
        sign,
        format!("{} and {} can never be equal", short(left), short(right)),
    )
    .note("always the same answer")
    .expected(left, right)
    .help("compare values of the same type");
    let constants = [(left, right, sides.1), (right, left, sides.0)];
    for (wanted, given, span) in constants {
        if let Type::Literal(Literal::String(text)) = given {
            let texts = texts(wanted);
            if let Some(near) = nearest(text, texts.iter().map(String::as_str)) {
                return meant(diagnostic.available(&texts), near, span);
            }
        }
    }
    diagnostic
}

pub(in crate::sema::expr) fn never_in(element: &Type, container: &Type, sign: Span) -> Diagnostic {
    Diagnostic::new(
        &types::NO_OVERLOAD,
        sign,
        format!("{} can never be in {}", short(element), short(container)),
    )
    .note("always false")
    .expected(container, element)
    .help("look for a value of the type that it holds")
}

pub(in crate::sema::expr) fn no_elements(ty: &Type, path: &str, span: Span) -> Diagnostic {
    let text = matches!(super::super::literal::widened(ty), Type::String);
    let help = if text {
        "the letter at a position is `s.charAt(0)`, a part `s.substring(0, 2)`"
    } else {
        "leave out the index"
    };
    Diagnostic::new(
        &types::NOT_A_LIST,
        span,
        format!("`{path}` is {} and has no elements", short(ty)),
    )
    .note(format!("this is {}", short(ty)))
    .expected("a list or a map", ty)
    .help(help)
}

pub(in crate::sema::expr) fn not_a_list(name: &str, ty: &Type, span: Span) -> Diagnostic {
    Diagnostic::new(
        &types::NOT_A_LIST,
        span,
        format!("`{name}` goes over a list or a map, and this is {ty}"),
    )
    .note(format!("this is {ty}"))
    .expected("a list or a map", ty)
    .help("name the list in it")
}

pub(in crate::sema::expr) fn wrong_key(actual: &Type, expected: &Type, span: Span) -> Diagnostic {
    Diagnostic::new(
        &types::NO_OVERLOAD,
        span,
        format!("keys here are {expected}, and this is {actual}"),
    )
    .note(format!("this is {actual}"))
    .expected(expected, actual)
    .help(format!("use a key of type {expected}"))
}

pub(in crate::sema::expr) fn wrong_position(actual: &Type, span: Span) -> Diagnostic {
    Diagnostic::new(
        &types::NO_OVERLOAD,
        span,
        format!("a list is indexed by an int, and this is {actual}"),
    )
    .note(format!("this is {actual}"))
    .expected("int", actual)
    .help("positions in a list are whole numbers from 0")
}

pub(in crate::sema::expr) fn negative_position(position: i64, span: Span) -> Diagnostic {
    let message = format!("this always fails: index out of range: {position}");
    Diagnostic::new(&order::CONSTANT_FAILURE, span, message)
        .note("no list has this position")
        .help("positions count from 0; the last element is `xs.last()`")
        .expected("0 or more", position)
}

pub(in crate::sema::expr) fn no_key(ty: &Type, span: Span) -> Diagnostic {
    Diagnostic::new(&types::NO_OVERLOAD, span, format!("{ty} cannot be a key"))
        .note(format!("this is {ty}"))
        .expected("string, int, uint or bool", ty)
        .help("keys are text, whole numbers and truth values")
}

pub(in crate::sema::expr) fn interpolated_value(ty: &Type, span: Span) -> Diagnostic {
    let diagnostic = Diagnostic::new(
        &types::INTERPOLATED_VALUE,
        span,
        format!("{} cannot stand in text as it is", short(ty)),
    )
    .note(format!("this is {}", short(ty)))
    .expected("string, number or bool", ty);
    if matches!(ty, Type::Timestamp | Type::Duration | Type::Bytes) {
        let diagnostic = diagnostic.help("turn it into text with `string(…)`");
        let edits = wrapped(span, "string(", ")");
        // Bytes that are no text fail.
        return if *ty == Type::Bytes {
            diagnostic.unsafe_fix("turn it into text", edits)
        } else {
            diagnostic.fix_all("turn it into text", edits)
        };
    }
    diagnostic
        .help("choose a field of it, or write it as JSON with `json(…)`")
        .unsafe_fix("write it as JSON", wrapped(span, "json(", ")"))
}

pub(in crate::sema::expr) fn lossy_number(number: i64, span: Span) -> Diagnostic {
    #[expect(clippy::cast_precision_loss, reason = "the loss is what is shown")]
    let near = number as f64;
    Diagnostic::new(
        &types::LOSSY_NUMBER,
        span,
        format!("{number} is no double: it becomes {near}"),
    )
    .note("loses digits")
    .expected("an int up to 9007199254740992", number)
    .help("compare ints with ints, or write the number that is meant as a double")
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::Less => "<",
        Operator::LessEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterEqual => ">=",
        Operator::In => "in",
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide | Operator::DivideNonzero => "/",
        Operator::Remainder | Operator::RemainderNonzero => "%",
    }
}

fn forms(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal | Operator::NotEqual => "two values of one type",
        Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual => {
            "two numbers, or two of string, bool, bytes, timestamp or duration"
        }
        Operator::In => "a list or a map on the right",
        Operator::Add => "two numbers, strings, lists, or a timestamp and a duration",
        Operator::Subtract => {
            "two numbers, two durations or timestamps, or a timestamp and a duration"
        }
        Operator::Multiply => "two numbers, or a duration and an int",
        Operator::Divide | Operator::DivideNonzero => {
            "two numbers, two durations, or a duration and an int"
        }
        Operator::Remainder | Operator::RemainderNonzero => "two ints",
    }
}
