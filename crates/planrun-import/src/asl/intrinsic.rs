//! Translates intrinsic functions of JSONPath states.

use planrun_lang::syntax::ast::{Expr, ExprKind, Literal, TemplatePart};

use super::data::Scope;
use crate::document;
use crate::expression::quote::plan;
use crate::expression::{added, only_list, within_bounds};
use crate::tree;

/// The deepest nesting of calls.
const MAX_DEPTH: usize = 12;

/// Translates a call such as `States.Format('{}', $.name)`.
pub fn read(text: &str, scope: &Scope<'_>) -> Result<Expr, String> {
    within_bounds(text)?;
    call(text, scope, MAX_DEPTH)
}

fn call(text: &str, scope: &Scope<'_>, depth: usize) -> Result<Expr, String> {
    let depth = depth
        .checked_sub(1)
        .ok_or("the functions are nested too deeply")?;
    let (name, rest) = text.split_once('(').ok_or("a function has no arguments")?;
    let inner = rest
        .trim_end()
        .strip_suffix(')')
        .ok_or("unclosed arguments")?;
    let texts = split(inner);
    let arguments = texts.iter().map(|text| argument(text, scope, depth));
    let arguments: Vec<Expr> = arguments.collect::<Result<_, _>>()?;
    counterpart(name.trim_start_matches("States."), arguments)
}

/// Splits the arguments between the parentheses.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut depth) = (Vec::new(), String::new(), 0_usize);
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push(std::mem::take(&mut part));
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    if !part.trim().is_empty() || !parts.is_empty() {
        parts.push(part);
    }
    parts.iter().map(|part| part.trim().to_owned()).collect()
}

fn argument(text: &str, scope: &Scope<'_>, depth: usize) -> Result<Expr, String> {
    if text.starts_with("States.") {
        return call(text, scope, depth);
    }
    if text.starts_with('$') {
        return Ok(scope.path(text)?.expr());
    }
    if let Some(inner) = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
    {
        return Ok(tree::text(&unescaped(inner)));
    }
    match text {
        "true" | "false" => Ok(tree::boolean(text == "true")),
        "null" => Ok(tree::null()),
        _ => {
            tree::number(text).ok_or_else(|| format!("`{}` is not an argument", super::short(text)))
        }
    }
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, characters.clone().next()) {
            ('\\', Some(next @ ('\'' | '\\' | '{' | '}' | '"'))) => {
                characters.next();
                if matches!(next, '{' | '}') {
                    plain.push('\\');
                }
                plain.push(next);
            }
            _ => plain.push(c),
        }
    }
    plain
}

fn counterpart(name: &str, arguments: Vec<Expr>) -> Result<Expr, String> {
    let count = arguments.len();
    match (name, count) {
        ("UUID", _) => {
            Err("an expression cannot create a random id: call `sys.uuid()` in a step".into())
        }
        ("Hash", _) => Err("there is no hash function: call a tool".into()),
        ("MathRandom", _) => Err("an expression cannot create a random number: call a tool".into()),
        ("Array", _) => Ok(tree::list(arguments)),
        ("Format", 1..) => {
            let mut arguments = arguments.into_iter();
            let pattern = arguments.next().unwrap_or_else(tree::null);
            format(&pattern, arguments.collect())
        }
        _ => {
            let called = super::short(name);
            let missing = || format!("`States.{called}` with {count} arguments has no counterpart");
            of_few(name, arguments).ok_or_else(missing)?
        }
    }
}

/// Translates a function of one to three arguments; `None` if there is none with this name and number of arguments.
fn of_few(name: &str, arguments: Vec<Expr>) -> Option<Result<Expr, String>> {
    let count = arguments.len();
    let mut arguments = arguments.into_iter();
    let first = arguments.next()?;
    let mut take = || arguments.next().unwrap_or_else(tree::null);
    let (second, third) = (take(), take());
    Some(Ok(match (name, count) {
        ("ArrayContains", 2) => plan!("second in list", second, list = only_list(first)),
        ("ArrayLength", 1) => plan!("size(list)", list = only_list(first)),
        ("ArrayGetItem", 2) => tree::index(first, second),
        ("ArrayUnique", 1) => plan!("first.distinct()", first),
        // The last list may be shorter.
        ("ArrayPartition", 2) => plan!(
            "lists.range(((size(first) + length) - 1) / length)
                .map(one, first.slice(one * length, [one * length + length, size(first)].min() ?? 0))",
            first,
            length = second,
        ),
        ("ArrayRange", 3) => plan!(
            "lists.range(((last - first) + width) / width).map(one, first + one * width)",
            first,
            last = second,
            width = third,
        ),
        ("Base64Encode", 1) => plan!("base64.encode(bytes(first))", first),
        ("Base64Decode", 1) => plan!("string(base64.decode(first))", first),
        ("JsonMerge", 3) if third == tree::boolean(false) => {
            plan!("merge(first, second)", first, second)
        }
        ("JsonMerge", 3) => {
            let why = "the third argument of `States.JsonMerge` is `false`";
            return Some(Err(why.into()));
        }
        ("JsonToString", 1) => plan!("json(first)", first),
        ("StringToJson", 1) => return Some(parsed(&first)),
        ("MathAdd", 2) => sum(first, second),
        ("StringSplit", 2) => return Some(split_by(first, &second)),
        _ => return None,
    }))
}

fn sum(first: Expr, second: Expr) -> Expr {
    match second.kind {
        ExprKind::Literal(Literal::Int(number)) if number < 0 => {
            let less = tree::int(number.saturating_neg());
            plan!("first - less", first, less)
        }
        _ => added(first, second),
    }
}

fn format(pattern: &Expr, values: Vec<Expr>) -> Result<Expr, String> {
    let ExprKind::Literal(Literal::String(pattern)) = &pattern.kind else {
        return Err("the format string must be a constant".into());
    };
    let mut values = values.into_iter();
    let (mut parts, mut plain) = (Vec::new(), String::new());
    let mut rest = &**pattern;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("{}") {
            let value = values
                .next()
                .ok_or("the format string has more placeholders than values")?;
            parts.push(TemplatePart::Text(std::mem::take(&mut plain).into()));
            parts.push(TemplatePart::Expr(value));
            rest = after;
            continue;
        }
        let escaped = rest.strip_prefix("\\{").or(rest.strip_prefix("\\}"));
        if escaped.is_some() {
            rest = rest.get(1..).unwrap_or("");
            plain.extend(rest.chars().next());
            rest = rest.get(1..).unwrap_or("");
            continue;
        }
        plain.push(c);
        rest = rest.get(c.len_utf8()..).unwrap_or("");
    }
    parts.push(TemplatePart::Text(plain.into()));
    Ok(tree::template(parts))
}

/// Constant JSON is parsed during the import, since plans cannot parse JSON.
fn parsed(text: &Expr) -> Result<Expr, String> {
    let ExprKind::Literal(Literal::String(text)) = &text.kind else {
        return Err(
            "there is no function that parses JSON: call a tool, or use a typed argument".into(),
        );
    };
    let node = document::json(text, 0..text.len()).map_err(|refused| refused.message)?;
    Ok(tree::constant(&node))
}

/// Every character of the separator splits the text, and empty parts are omitted.
fn split_by(text: Expr, separator: &Expr) -> Result<Expr, String> {
    let characters: Vec<String> = match &separator.kind {
        ExprKind::Literal(Literal::String(set)) => set.chars().map(String::from).collect(),
        _ => Vec::new(),
    };
    let Some((first, others)) = characters.split_first() else {
        return Err("`split` takes constant separators".into());
    };
    let text = others.iter().fold(text, |text, other| {
        tree::method(text, "replace", vec![tree::text(other), tree::text(first)])
    });
    let first = tree::text(first);
    Ok(plan!(
        r#"text.split(first).filter(one, one != "")"#,
        text,
        first
    ))
}
