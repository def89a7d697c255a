//! Translates the rules of a `Choice` into conditions.

use planrun_lang::syntax::ast::{BinaryOp, Expr};
use planrun_lang::yaml::{Content, Entry, Node};

use super::data::Scope;
use crate::expression::path::Path;
use crate::tree;

/// The deepest nesting of rules.
const MAX_DEPTH: usize = 30;

/// Translates a rule into a condition; `None` for a rule that always holds.
///
/// # Errors
/// Returns a message if there is no counterpart.
pub fn condition(rule: &Node, scope: &Scope<'_>) -> Result<Option<Expr>, String> {
    nested(rule, scope, MAX_DEPTH)
}

fn nested(rule: &Node, scope: &Scope<'_>, depth: usize) -> Result<Option<Expr>, String> {
    let depth = depth
        .checked_sub(1)
        .ok_or("the rules are nested too deeply")?;
    let tests = tests(rule);
    if let [first, second, ..] = tests.as_slice() {
        return Err(format!(
            "the rule has both `{}` and `{}`: combine them with `And`",
            super::short(&first.name),
            super::short(&second.name)
        ));
    }
    for (word, operator) in [("And", BinaryOp::And), ("Or", BinaryOp::Or)] {
        if let Some(rules) = rule.get(word).and_then(Node::items) {
            if rules.is_empty() {
                return Err(format!("`{word}` has no rules"));
            }
            let parts = rules.iter().map(|rule| nested(rule, scope, depth));
            let parts: Vec<Option<Expr>> = parts.collect::<Result<_, String>>()?;
            if operator == BinaryOp::Or && parts.iter().any(Option::is_none) {
                return Ok(None);
            }
            return Ok(tree::joined(
                parts.into_iter().flatten().collect(),
                operator,
            ));
        }
    }
    if let Some(inner) = rule.get("Not") {
        let inner = nested(inner, scope, depth)?;
        return Ok(Some(inner.map_or_else(|| tree::boolean(false), tree::not)));
    }
    let test = tests.first().copied();
    comparison(rule, test.ok_or("the rule has no comparison")?, scope)
}

/// Returns the entries of a rule that test something.
fn tests(rule: &Node) -> Vec<&Entry> {
    let entries = rule.entries().unwrap_or_default().iter();
    let others = ["Variable", "Next", "Comment", "Assign"];
    entries
        .filter(|entry| !others.contains(&entry.name.as_str()))
        .collect()
}

fn comparison(rule: &Node, test: &Entry, scope: &Scope<'_>) -> Result<Option<Expr>, String> {
    let variable = rule
        .get("Variable")
        .and_then(Node::text)
        .ok_or("the rule has no `Variable`")?;
    let expected = match test.value.content {
        Content::Bool(expected) => expected,
        _ if test.name.starts_with("Is") => {
            let name = super::short(&test.name);
            return Err(format!("`{name}` must be `true` or `false`"));
        }
        _ => true,
    };
    if test.name == "IsPresent" {
        return presence(variable, expected, scope);
    }
    let value = scope.path(variable)?.expr();
    if let Some(kind) = test.name.strip_prefix("Is") {
        let is = kind_test(kind, value)?;
        return Ok(Some(if expected { is } else { tree::not(is) }));
    }
    let (name, other) = match (test.name.strip_suffix("Path"), test.value.text()) {
        (Some(name), Some(path)) => (name, scope.path(path)?.expr()),
        _ => (test.name.as_str(), tree::constant(&test.value)),
    };
    if name == "StringMatches" {
        let pattern = test.value.text().filter(|_| name == test.name);
        let pattern = pattern.ok_or("the pattern is not a constant string")?;
        return Ok(Some(tree::method(
            value,
            "matches",
            vec![tree::text(&wildcards(pattern))],
        )));
    }
    let kinds = ["String", "Numeric", "Boolean", "Timestamp"];
    let kind = kinds.into_iter().find(|kind| name.starts_with(kind));
    let kind = kind.ok_or_else(|| format!("`{}` has no counterpart", super::short(name)))?;
    let operator = match name.trim_start_matches(kind) {
        "Equals" => BinaryOp::Equal,
        "LessThan" => BinaryOp::Less,
        "LessThanEquals" => BinaryOp::LessEqual,
        "GreaterThan" => BinaryOp::Greater,
        "GreaterThanEquals" => BinaryOp::GreaterEqual,
        other => {
            return Err(format!(
                "`{kind}{}` has no counterpart",
                super::short(other)
            ));
        }
    };
    let side = |side: Expr| {
        if kind == "Timestamp" {
            tree::function("timestamp", vec![side])
        } else {
            side
        }
    };
    Ok(Some(tree::binary(side(value), operator, side(other))))
}

/// Translates `IsPresent`: a null field counts as present.
fn presence(variable: &str, expected: bool, scope: &Scope<'_>) -> Result<Option<Expr>, String> {
    let path = Path::read(variable)?;
    let Some((holder, key)) = path.split_last() else {
        return Ok(if expected {
            None
        } else {
            Some(tree::boolean(false))
        });
    };
    let holder = scope.follow(&holder)?;
    let present = match holder.has(key) {
        Some(true) if expected => return Ok(None),
        Some(known) => tree::boolean(known),
        None => tree::binary(tree::text(key), BinaryOp::In, holder.expr()),
    };
    Ok(Some(if expected {
        present
    } else {
        tree::not(present)
    }))
}

fn kind_test(kind: &str, value: Expr) -> Result<Expr, String> {
    let is = |name: &str| {
        let ty = tree::function("type", vec![value.clone()]);
        tree::binary(ty, BinaryOp::Equal, tree::variable(name))
    };
    Ok(match kind {
        "Null" => tree::binary(value, BinaryOp::Equal, tree::null()),
        "String" => is("string"),
        "Boolean" => is("bool"),
        "Numeric" => tree::binary(is("int"), BinaryOp::Or, is("double")),
        "Timestamp" => {
            let pattern = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$";
            let matches = tree::method(value.clone(), "matches", vec![tree::text(pattern)]);
            tree::binary(is("string"), BinaryOp::And, matches)
        }
        _ => return Err(format!("`Is{}` has no counterpart", super::short(kind))),
    })
}

/// Translates a pattern into a regular expression: `*` matches any text, `\*` an asterisk.
fn wildcards(pattern: &str) -> String {
    let mut regex = "^".to_owned();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        let literal = match c {
            '*' => {
                regex.push_str("(.|\\n)*");
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            _ => c,
        };
        if !literal.is_alphanumeric() && literal.is_ascii() && !literal.is_ascii_whitespace() {
            regex.push('\\');
        }
        regex.push(literal);
    }
    regex.push('$');
    regex
}
