//! Translates the rules of a `Choice` into conditions.

use planrun_lang::syntax::ast::{BinaryOp, Expr, ExprKind};
use planrun_lang::yaml::{Content, Entry, Node};

use super::data::Scope;
use crate::expression::path::{self, Path, Step};
use crate::expression::quote::plan;
use crate::expression::value::Value;
use crate::tree;

/// The deepest nesting of rules, and of a path that may lead nowhere.
const MAX_DEPTH: usize = 30;

/// Translates a rule into a condition; `None` for a rule that always holds.
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
        let is = kind_test(kind, &value)?;
        return Ok(Some(if expected { is } else { tree::not(is) }));
    }
    let (name, other) = match (test.name.strip_suffix("Path"), test.value.text()) {
        (Some(name), Some(path)) => (name, scope.path(path)?.expr()),
        _ => (test.name.as_str(), tree::constant(&test.value)),
    };
    if name == "StringMatches" {
        let pattern = test.value.text().filter(|_| name == test.name);
        let pattern = pattern.ok_or("the pattern is not a constant string")?;
        let form = tree::text(&wildcards(pattern));
        let matches = plan!("type(value) == string && value.matches(form)", value, form);
        return Ok(Some(matches));
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
    compared(kind, operator, value, other).map(Some)
}

/// Returns a comparison that holds only if both sides are of its kind.
fn compared(kind: &str, operator: BinaryOp, value: Expr, other: Expr) -> Result<Expr, String> {
    let is_constant = |side: &Expr| matches!(side.kind, ExprKind::Literal(_));
    // Values of different types are never equal.
    let is_implied = operator == BinaryOp::Equal && kind != "Timestamp" && is_constant(&other);
    let sides = [&value, &other]
        .into_iter()
        .filter(|side| !is_implied && !is_constant(side));
    let mut parts: Vec<Expr> = sides
        .map(|side| kind_test(kind, side))
        .collect::<Result<_, _>>()?;
    let side = |side: Expr| {
        if kind == "Timestamp" {
            plan!("timestamp(side)", side)
        } else {
            side
        }
    };
    parts.push(tree::binary(side(value), operator, side(other)));
    tree::joined(parts, BinaryOp::And).ok_or_else(String::new)
}

/// Translates `IsPresent`: a null field counts as present.
fn presence(variable: &str, expected: bool, scope: &Scope<'_>) -> Result<Option<Expr>, String> {
    let present = leads_somewhere(&Path::read(variable)?, scope, MAX_DEPTH)?;
    Ok(match (tree::joined(present, BinaryOp::And), expected) {
        (present, true) => present,
        (None, false) => Some(tree::boolean(false)),
        (Some(present), false) => Some(tree::not(present)),
    })
}

/// Returns the conditions for a path to lead to a value: each of its parts needs a value that has it.
fn leads_somewhere(path: &Path, scope: &Scope<'_>, depth: usize) -> Result<Vec<Expr>, String> {
    let depth = depth.checked_sub(1).ok_or("the path is too long")?;
    let Some((before, last)) = path.split_last() else {
        return Ok(Vec::new());
    };
    let is_known = before.root == path::Root::Context || before.is_empty();
    let mut conditions = if is_known {
        Vec::new()
    } else {
        leads_somewhere(&before, scope, depth)?
    };
    let holder = scope.follow(&before)?;
    // Any field that is not known is one of the base.
    let place = match &holder {
        Value::Object {
            base: Some(base), ..
        } => base.clone(),
        whole => whole.expr(),
    };
    match last {
        Step::Key(key) => match holder.has(key) {
            Some(true) => {}
            Some(false) => conditions.push(tree::boolean(false)),
            None => {
                if !is_known {
                    conditions.push(plan!("type(place) == map", place));
                }
                conditions.push(plan!("key in place", key = tree::text(key), place));
            }
        },
        Step::Index(at) => {
            let needed = tree::int(if at < 0 {
                at.saturating_neg()
            } else {
                at.saturating_add(1)
            });
            conditions.push(plan!("type(place) == list", place));
            conditions.push(plan!("size(place) >= needed", place, needed));
        }
        Step::Selection => return Err("`IsPresent` takes a path to a single value".to_owned()),
    }
    Ok(conditions)
}

fn kind_test(kind: &str, value: &Expr) -> Result<Expr, String> {
    Ok(match kind {
        "Null" => plan!("value == null", value),
        "String" => plan!("type(value) == string", value),
        "Boolean" => plan!("type(value) == bool", value),
        "Numeric" => plan!("type(value) in [int, double]", value),
        "Timestamp" => {
            let form = tree::text(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$");
            plan!("type(value) == string && value.matches(form)", value, form)
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
