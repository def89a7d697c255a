//! Diagnostics about values of the wrong type.

use super::absence::{absent_elements, lacks_elements};
use super::{appended, meant, short, with_names, wrapped};
use crate::diag::codes::{names, order, types};
use crate::diag::nearest;
use crate::diag::{Diagnostic, Edit};
use crate::sema::expr::{Expectation, Node, Op, Operator, Typed, combine, expect};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{self, ExprKind};
use crate::syntax::parse_expression;
use crate::types::{Literal, Mismatch, ObjectType, Type};
use crate::value::{Value, parse_duration, parse_timestamp};

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
            "{expectation} must be {}, but this is {}",
            short(expected),
            short(actual)
        )
    } else {
        format!("{expectation} does not fit: {mismatch}")
    };
    let diagnostic = expectation
        .code
        .at(span, message)
        .note(format!("this is {}", short(actual)))
        .expected(expected, actual)
        .help(format!("give a value of type {}", short(expected)));
    if let Some(help) = node
        .constant()
        .and_then(|value| as_literal(value, &expected.without_null()))
    {
        return match literal_edits(node, &expected.without_null(), span) {
            Some(edits) => diagnostic
                .help(help)
                .fix_all("write it as this type", edits),
            None => diagnostic.help(help),
        };
    }
    if let Some(text) = expect::constant_text(node) {
        let texts = texts(expected);
        let diagnostic = diagnostic.available(&texts);
        return match nearest(text, texts.iter().map(String::as_str)) {
            Some(near) => meant(diagnostic, near, span),
            None => diagnostic,
        };
    }
    if let Some(function) = time_of_text(actual, &expected.without_null()) {
        return converted(diagnostic, function, span);
    }
    if mismatch.absent() && lacks_elements(actual, &expected.without_null()) {
        return absent_elements(diagnostic, span, combine::is_simple(node));
    }
    with_conversion(diagnostic, actual, &expected.without_null(), span)
}

/// Adds the function that converts a value to the expected type, if there is one.
fn with_conversion(
    diagnostic: Diagnostic,
    actual: &Type,
    expected: &Type,
    span: Span,
) -> Diagnostic {
    match (
        super::super::literal::widened(actual),
        expected,
    ) {
        (Type::Int | Type::Uint | Type::Double | Type::Bool, Type::String) => diagnostic
            .help("convert it to a string with `string(…)`")
            .unsafe_fix("convert it to a string", wrapped(span, "string(", ")")),
        (Type::Timestamp, Type::String) => diagnostic
            .help(
                "convert it with `string(…)`, which gives `2026-03-02T09:00:00Z`, or with `.format(\"%Y-%m-%d\")`",
            )
            .unsafe_fix("convert it to a string", wrapped(span, "string(", ")")),
        (Type::Double, Type::Int) => diagnostic
            .help("round it: `int(math.round(…))`, `int(math.floor(…))` or `int(math.ceil(…))`")
            .unsafe_fix("round it", wrapped(span, "int(math.round(", "))")),
        _ => diagnostic,
    }
}

/// Returns the function that makes a timestamp or a duration of a text; `None` for other values and types.
fn time_of_text(actual: &Type, expected: &Type) -> Option<&'static str> {
    let function = match expected {
        Type::Timestamp => "timestamp",
        Type::Duration => "duration",
        _ => return None,
    };
    is_text(actual).then_some(function)
}

/// Returns true for a text that is present.
fn is_text(ty: &Type) -> bool {
    super::super::literal::widened(ty) == Type::String
}

/// Adds that a text has to be converted. A text that is no time fails only in the run, so the fix is not safe.
fn converted(diagnostic: Diagnostic, function: &str, span: Span) -> Diagnostic {
    let help = match function {
        "timestamp" => {
            "convert the text with `timestamp(…)`, which takes one such as `2026-03-02T09:00:00Z`"
        }
        _ => "convert the text with `duration(…)`, which takes one such as `1h30m`",
    };
    diagnostic.help(help).unsafe_fix(
        format!("convert it with `{function}(…)`"),
        wrapped(span, &format!("{function}("), ")"),
    )
}

/// Returns the edits that turn a literal text into a timestamp or a duration, if it is one.
fn literal_edits(node: &Node, expected: &Type, span: Span) -> Option<Vec<Edit>> {
    let text = expect::constant_text(node)?;
    match expected {
        Type::Timestamp => parse_timestamp(text).map(|_| wrapped(span, "timestamp(", ")")),
        // An escaped text, or one in triple quotes, is converted as a whole, and so is one that is no literal: `1.5h`.
        Type::Duration if span.len() == text.len() + 2 && is_duration(text) => {
            Some(vec![Edit::new(span, text)])
        }
        Type::Duration => parse_duration(text).map(|_| wrapped(span, "duration(", ")")),
        _ => None,
    }
}

/// Returns true if the text is a duration literal.
fn is_duration(text: &str) -> bool {
    let (expression, found) = parse_expression(&SourceFile::new("", text));
    found.is_empty()
        && matches!(
            expression.kind,
            ExprKind::Literal(ast::Literal::Duration(_))
        )
}

/// Returns how a number or string is written as a duration or timestamp.
fn as_literal(value: &Value, expected: &Type) -> Option<String> {
    match (expected, value) {
        (Type::Duration, Value::Int(seconds)) => {
            Some(format!("write it with its unit, such as `{seconds}s`"))
        }
        (Type::Duration, Value::String(text)) => parse_duration(text).map(|_| {
            if is_duration(text) {
                format!("write it without quotes: `{text}`")
            } else {
                format!("write `duration(\"{text}\")`")
            }
        }),
        (Type::Timestamp, Value::String(text)) => Some(match parse_timestamp(text) {
            Some(_) => format!("write `timestamp(\"{text}\")`"),
            None => {
                "write `timestamp(\"2026-03-02T09:00:00Z\")`, with date, time and zone".to_owned()
            }
        }),
        _ => None,
    }
}

/// Returns the strings that a type allows, if it only allows some.
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
    let diagnostic = names::UNKNOWN_FIELD
        .at(span, message)
        .note("no such field")
        .help(if fields.is_empty() {
            "remove it".to_owned()
        } else {
            format!("remove it, or use one of {}", fields.join(", "))
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
    expectation
        .code
        .at(span, message)
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

pub(in crate::sema::expr) fn no_binary(
    operator: Operator,
    left: &Type,
    right: &Type,
    sign: Span,
) -> Diagnostic {
    let symbol = symbol(operator);
    let diagnostic = types::NO_OVERLOAD
        .at(
            sign,
            format!(
                "`{symbol}` cannot be applied to {} and {}",
                short(left),
                short(right)
            ),
        )
        .note("no matching overload")
        .expected(forms(operator), format!("{left} {symbol} {right}"));
    if operator == Operator::Add && (is_text(left) || is_text(right)) {
        return diagnostic
            .help("convert the other side to a string with `string(…)`, or write \"… ${x} …\"");
    }
    if operator == Operator::Subtract && is_text(left) && is_text(right) {
        return diagnostic.help(format!(
            "`-` takes {}; texts that are times are converted: `timestamp(a) - timestamp(b)`",
            forms(operator)
        ));
    }
    diagnostic.help(format!("`{symbol}` takes {}", forms(operator)))
}

/// Creates the diagnostic for a text next to a timestamp or a duration, if the text can only be a time: it is not
/// written out, and the other side comes from elsewhere.
pub(in crate::sema::expr) fn as_time(
    operator: Operator,
    finding: &Diagnostic,
    left: (&Typed, Span),
    right: (&Typed, Span),
) -> Option<Diagnostic> {
    let is_time = |typed: &Typed| matches!(typed.ty, Type::Timestamp | Type::Duration);
    let (text, other, first) = match (is_read_text(left.0), is_read_text(right.0)) {
        (true, false) if is_time(right.0) => (left, right, true),
        (false, true) if is_time(left.0) => (right, left, false),
        _ => return None,
    };
    let timestamp = other.0.ty == Type::Timestamp;
    let function = match operator {
        // Only a timestamp is added to a duration from the left, and a duration to a timestamp from the right.
        Operator::Add if first == timestamp => return None,
        Operator::Add | Operator::Subtract if first => "timestamp",
        Operator::Subtract if timestamp => "timestamp",
        Operator::Add | Operator::Subtract => "duration",
        Operator::Less
        | Operator::LessEqual
        | Operator::Greater
        | Operator::GreaterEqual
        | Operator::Equal
        | Operator::NotEqual => {
            if timestamp {
                "timestamp"
            } else {
                "duration"
            }
        }
        Operator::In
        | Operator::Multiply
        | Operator::Divide
        | Operator::DivideNonzero
        | Operator::Remainder
        | Operator::RemainderNonzero => return None,
    };
    Some(converted(finding.clone(), function, text.1))
}

/// Returns true for a text that is read, not written out or put together.
fn is_read_text(typed: &Typed) -> bool {
    let read = matches!(
        typed.node.op,
        Op::Path { .. } | Op::Place(_) | Op::Register(_)
    );
    read && typed.ty == Type::String
}

/// Creates the diagnostic for a number next to a text: the result can only be a text.
pub(in crate::sema::expr) fn as_text(
    finding: &Diagnostic,
    left: (&Type, (&Typed, Span)),
    right: (&Type, (&Typed, Span)),
) -> Option<Diagnostic> {
    let other = match (is_text(left.0), is_text(right.0)) {
        (true, false) => right,
        (false, true) if combine::is_simple(&left.1.0.node) => left,
        _ => return None,
    };
    // If a value may be absent, the intended text is unknown.
    if other.1.0.ty.is_optional() || left.1.0.ty.is_optional() || right.1.0.ty.is_optional() {
        return None;
    }
    // `"…" + 14d` hardly means the text `1209600s`.
    let length = other.1.0.node.constant().is_some();
    if length && matches!(other.0, Type::Duration) {
        return None;
    }
    let edits = wrapped(other.1.1, "string(", ")");
    let title = "convert it to a string";
    match super::super::literal::widened(other.0) {
        Type::Int | Type::Uint | Type::Bool => Some(finding.clone().fix_all(title, edits)),
        Type::Double | Type::Timestamp | Type::Duration => {
            Some(finding.clone().unsafe_fix(title, edits))
        }
        _ => None,
    }
}

pub(in crate::sema::expr) fn no_order(ty: &Type, span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(span, format!("`sortBy` cannot order {}", short(ty)))
        .note("cannot be ordered")
        .expected(
            "numbers, or values of one of string, bool, bytes, timestamp or duration",
            ty,
        )
        .help("sort by a number, a string or a time of each element: `xs.sortBy(x, x.name)`")
}

pub(in crate::sema::expr) fn no_unary(symbol: &str, ty: &Type, span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(span, format!("`{symbol}` cannot be applied to {ty}"))
        .note(format!("this is {ty}"))
        .expected("int, double or duration", ty)
        .help("only numbers and durations can be negated")
}

pub(in crate::sema::expr) fn never_equal(
    left: &Type,
    right: &Type,
    sides: (Span, Span),
    sign: Span,
) -> Diagnostic {
    let diagnostic = types::NO_OVERLOAD
        .at(
            sign,
            format!("{} and {} can never be equal", short(left), short(right)),
        )
        .note("always the same result")
        .expected(left, right)
        .help("compare values of the same type");
    let constants = [(left, right, sides.1), (right, left, sides.0)];
    for (other, given, span) in constants {
        if let Type::Literal(Literal::String(text)) = given {
            let texts = texts(other);
            if let Some(near) = nearest(text, texts.iter().map(String::as_str)) {
                return meant(diagnostic.available(&texts), near, span);
            }
        }
    }
    diagnostic
}

pub(in crate::sema::expr) fn never_in(element: &Type, container: &Type, sign: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(
            sign,
            format!("{} can never be in {}", short(element), short(container)),
        )
        .note("always false")
        .expected(container, element)
        .help("use a value of the type that it contains")
}

pub(in crate::sema::expr) fn no_elements(ty: &Type, path: &str, span: Span) -> Diagnostic {
    let text = matches!(super::super::literal::widened(ty), Type::String);
    let help = if text {
        "use `s.charAt(0)` for one character, and `s.substring(0, 2)` for a part"
    } else {
        "remove the index"
    };
    types::NOT_A_LIST
        .at(
            span,
            format!("`{path}` is {} and has no elements", short(ty)),
        )
        .note(format!("this is {}", short(ty)))
        .expected("a list or a map", ty)
        .help(help)
}

pub(in crate::sema::expr) fn not_a_list(name: &str, ty: &Type, span: Span) -> Diagnostic {
    types::NOT_A_LIST
        .at(
            span,
            format!("`{name}` iterates over a list or a map, but this is {ty}"),
        )
        .note(format!("this is {ty}"))
        .expected("a list or a map", ty)
        .help("use a list or a map")
}

pub(in crate::sema::expr) fn not_an_entry(ty: &Type, span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(
            span,
            format!(
                "`transformMapEntry` makes a map of entries, but this is {}",
                short(ty)
            ),
        )
        .note("not a map")
        .expected("a map", ty)
        .help("write a map with one key: `xs.transformMapEntry(i, x, { (x.name): x })`")
}

pub(in crate::sema::expr) fn wrong_key(actual: &Type, expected: &Type, span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(
            span,
            format!("keys here are {expected}, but this is {actual}"),
        )
        .note(format!("this is {actual}"))
        .expected(expected, actual)
        .help(format!("use a key of type {expected}"))
}

pub(in crate::sema::expr) fn wrong_position(actual: &Type, span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(
            span,
            format!("a list is indexed by an int, but this is {actual}"),
        )
        .note(format!("this is {actual}"))
        .expected("int", actual)
        .help("positions in a list are whole numbers from 0")
}

pub(in crate::sema::expr) fn negative_position(position: i64, span: Span) -> Diagnostic {
    let message = format!("this always fails: index out of range: {position}");
    order::CONSTANT_FAILURE
        .at(span, message)
        .note("no list has this position")
        .help("positions count from 0; the last element is `xs.last()`")
        .expected("0 or more", position)
}

pub(in crate::sema::expr) fn no_key(ty: &Type, span: Span) -> Diagnostic {
    types::NO_OVERLOAD
        .at(span, format!("{ty} cannot be a key"))
        .note(format!("this is {ty}"))
        .expected("string, int, uint or bool", ty)
        .help("use a string, a whole number or a bool as a key")
}

/// Creates the diagnostic for a value in a template that is no text. Not inlined, so that nested templates need less stack.
#[inline(never)]
pub(in crate::sema::expr) fn interpolated_value(ty: &Type, span: Span, node: &Node) -> Diagnostic {
    let diagnostic = types::INTERPOLATED_VALUE
        .at(
            span,
            format!("{} cannot be interpolated directly", short(ty)),
        )
        .note(format!("this is {}", short(ty)))
        .expected("string, number or bool", ty);
    if matches!(ty, Type::Timestamp | Type::Duration | Type::Bytes) {
        let diagnostic = diagnostic.help("convert it to a string with `string(…)`");
        let edits = wrapped(span, "string(", ")");
        // Bytes that are not valid text fail.
        return if *ty == Type::Bytes {
            diagnostic.unsafe_fix("convert it to a string", edits)
        } else {
            diagnostic.fix_all("convert it to a string", edits)
        };
    }
    let help = match ty {
        Type::List(element) => match super::super::literal::widened(element) {
            Type::String => {
                return diagnostic
                    .help("join its elements: `xs.join(\", \")`")
                    .unsafe_fix(
                        "join its elements",
                        appended(span, ".join(\", \")", combine::is_simple(node)),
                    );
            }
            Type::Object(_) => {
                "join a field of its elements, `xs.map(x, x.field).join(\", \")`, or write it as JSON with `json(…)`"
            }
            _ => {
                "join its elements, `xs.map(x, string(x)).join(\", \")`, or write it as JSON with `json(…)`"
            }
        },
        _ => "use one of its fields, or write it as JSON with `json(…)`",
    };
    diagnostic
        .help(help)
        .unsafe_fix("write it as JSON", wrapped(span, "json(", ")"))
}

pub(in crate::sema::expr) fn lossy_number(number: i64, span: Span) -> Diagnostic {
    #[expect(clippy::cast_precision_loss, reason = "the message displays the loss")]
    let near = number as f64;
    types::LOSSY_NUMBER
        .at(
            span,
            format!("{number} cannot be represented exactly as a double: it becomes {near}"),
        )
        .note("loses digits")
        .expected("an int up to 9007199254740992", number)
        .help("compare ints with ints, or write the intended number as a double")
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
