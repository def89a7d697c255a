//! Paths into JSON.

use planrun_lang::syntax::ast::{BinaryOp, Expr, UnaryOp};

use super::quote::plan;
use super::value::Value;
use super::{element, lenient, only_list, sliced, within_bounds};
use crate::draft::excerpt;
use crate::tree;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// `$`
    Input,
    /// `$$`
    Context,
    /// `$name`
    Variable(String),
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Key(String),
    Index(i64),
    /// `[*]`
    All,
    /// `[a:b]`
    Slice(Option<i64>, Option<i64>),
    /// `[?(…)]`
    Filter(Expr),
}

/// The last part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'p> {
    Key(&'p str),
    Index(i64),
    /// Several elements of a list.
    Selection,
}

/// A path such as `$.a.b[0]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub root: Root,
    parts: Vec<Part>,
}

impl Path {
    /// Returns a message if the text is not a path or has no counterpart.
    pub fn read(text: &str) -> Result<Self, String> {
        within_bounds(text)?;
        let rest = text
            .strip_prefix('$')
            .ok_or_else(|| format!("`{}` is not a path", excerpt(text)))?;
        if let Some(rest) = rest.strip_prefix('$') {
            let parts = parts(rest)?;
            let root = Root::Context;
            return Ok(Self { root, parts });
        }
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let root = if name.is_empty() {
            Root::Input
        } else {
            Root::Variable(name.to_owned())
        };
        let parts = parts(rest)?;
        Ok(Self { root, parts })
    }

    /// Returns its leading keys.
    pub fn keys(&self) -> Vec<&str> {
        let keys = self.parts.iter().map_while(|part| match part {
            Part::Key(key) => Some(key.as_str()),
            Part::Index(_) | Part::All | Part::Slice(..) | Part::Filter(_) => None,
        });
        keys.collect()
    }

    /// Returns its keys if it is a path into the input that consists of keys only, such as those of `ResultPath`.
    pub fn only_keys(&self) -> Option<Vec<String>> {
        let keys = self.keys();
        (self.root == Root::Input && keys.len() == self.parts.len())
            .then(|| keys.into_iter().map(str::to_owned).collect())
    }

    /// Returns the path without its first `count` parts.
    pub fn skip(&self, count: usize) -> Self {
        Self {
            root: self.root.clone(),
            parts: self.parts.get(count..).unwrap_or_default().to_vec(),
        }
    }

    /// Returns true if it consists of its root only.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the path before its last part, and that part.
    pub fn split_last(&self) -> Option<(Self, Step<'_>)> {
        let (last, before) = self.parts.split_last()?;
        let before = Self {
            root: self.root.clone(),
            parts: before.to_vec(),
        };
        let step = match last {
            Part::Key(key) => Step::Key(key),
            Part::Index(at) => Step::Index(*at),
            Part::All | Part::Slice(..) | Part::Filter(_) => Step::Selection,
        };
        Some((before, step))
    }

    /// Returns true if it starts with a selection among the members of a value.
    pub fn is_into_members(&self) -> bool {
        matches!(self.parts.first(), Some(Part::All | Part::Filter(_)))
    }

    /// Returns a condition that the path selects something.
    pub fn leads_somewhere(&self, value: Value) -> Result<Expr, String> {
        let Some((last, before)) = self.parts.split_last() else {
            return Ok(tree::boolean(true));
        };
        let is_choice = |part: &Part| matches!(part, Part::All | Part::Slice(..) | Part::Filter(_));
        if before.iter().any(is_choice) {
            return Err("it continues after a selection of several elements".to_owned());
        }
        Ok(match last {
            Part::Filter(condition) => {
                let mut members = follow(value, before)?.expr();
                if !before.is_empty() {
                    members = plan!("members ?? []", members);
                }
                plan!("members.exists(one, condition)", members, condition)
            }
            Part::All | Part::Slice(..) => {
                let members = follow(value, &self.parts)?.expr();
                plan!("size(members) > 0", members)
            }
            Part::Key(_) | Part::Index(_) => {
                let found = lenient(follow(value, &self.parts)?.expr());
                plan!("found != null", found)
            }
        })
    }

    /// Returns the value that the path selects.
    pub fn apply(&self, value: Value) -> Result<Value, String> {
        let selected = follow(value, &self.parts)?;
        Ok(match self.parts.last() {
            // Of an object, `[*]` would select the values.
            Some(Part::All) => Value::Opaque(only_list(selected.expr())),
            _ => selected,
        })
    }
}

fn follow(mut value: Value, parts: &[Part]) -> Result<Value, String> {
    for (number, part) in parts.iter().enumerate() {
        let rest = parts.get(number + 1..).unwrap_or_default();
        value = match part {
            Part::Key(key) => value.get(key),
            Part::Index(index) => {
                Value::Opaque(element(value.expr(), tree::int(*index))).bounded()?
            }
            Part::Slice(from, to) => {
                let [from, to] = [from, to].map(|at| at.map(tree::int));
                let slice = sliced(value.expr(), from.as_ref(), to.as_ref());
                return each(slice, rest);
            }
            Part::All => return each(value.expr(), rest),
            Part::Filter(condition) => {
                let list = value.expr();
                return each(plan!("list.filter(one, condition)", list, condition), rest);
            }
        };
    }
    Ok(value)
}

/// Applies the rest of a path to each element of a list.
fn each(list: Expr, rest: &[Part]) -> Result<Value, String> {
    if rest.is_empty() {
        return Ok(Value::Opaque(list));
    }
    if rest
        .iter()
        .any(|part| !matches!(part, Part::Key(_) | Part::Index(_)))
    {
        return Err(
            "a path that selects several elements more than once has no counterpart".into(),
        );
    }
    let inner = follow(Value::Opaque(plan!("one")), rest)?.expr();
    Ok(Value::Opaque(plan!("list.map(one, inner)", list, inner)))
}

fn parts(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if rest.starts_with("..") {
            return Err(
                "`..` searches at every depth, but a path in a plan leads to one place".into(),
            );
        }
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (key, behind) = after.split_at(end);
            parts.push(match key {
                "" => return Err("the path has an empty name".into()),
                "*" => {
                    return Err(
                        "`.*` selects all values of an object, which have no order in a plan"
                            .into(),
                    );
                }
                _ if key.contains(['(', ')', ' ', ',']) => {
                    return Err(format!("`{}` is not a name", excerpt(key)));
                }
                _ => Part::Key(key.to_owned()),
            });
            rest = behind;
            continue;
        }
        let inner = rest.strip_prefix('[').ok_or("the path is incomplete")?;
        let end = bracket_end(inner).ok_or("unclosed bracket in the path")?;
        parts.push(bracket(inner.get(..end).unwrap_or("").trim())?);
        rest = inner.get(end + 1..).unwrap_or("");
    }
    Ok(parts)
}

/// Returns the offset of the bracket that closes the text.
fn bracket_end(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            (_, Some(open)) if c == open => quote = None,
            ('\'' | '"', None) => quote = Some(c),
            ('[', None) => depth += 1,
            (']', None) if depth == 0 => return Some(at),
            (']', None) => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Result<Part, String> {
    if text == "*" {
        return Ok(Part::All);
    }
    if let Some(condition) = text.strip_prefix('?') {
        let condition = condition.trim();
        let inner = condition
            .strip_prefix('(')
            .and_then(|text| text.strip_suffix(')'));
        return filter(inner.unwrap_or(condition)).map(Part::Filter);
    }
    if let Some(key) = quoted(text) {
        return Ok(Part::Key(key));
    }
    if let Ok(index) = text.parse() {
        return Ok(Part::Index(index));
    }
    let bound = |text: &str| -> Option<Option<i64>> {
        let text = text.trim();
        if text.is_empty() {
            return Some(None);
        }
        text.parse().ok().map(Some)
    };
    if let Some((from, to)) = text.split_once(':')
        && let (Some(from), Some(to)) = (bound(from), bound(to))
    {
        return Ok(Part::Slice(from, to));
    }
    Err(format!(
        "`[{}]` has no counterpart in a path",
        excerpt(text)
    ))
}

fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let escaped = format!("\\{quote}");
    let is_one = !inner.replace(&escaped, "").contains(quote);
    is_one.then(|| inner.replace(&escaped, &quote.to_string()))
}

/// Parses a condition over `@`: comparisons joined by `&&` and `||`.
fn filter(text: &str) -> Result<Expr, String> {
    let either = text.split("||").map(|part| {
        let all = part.split("&&").map(|one| comparison(one.trim()));
        tree::joined(all.collect::<Result<_, _>>()?, BinaryOp::And).ok_or_else(String::new)
    });
    tree::joined(either.collect::<Result<_, String>>()?, BinaryOp::Or).ok_or_else(String::new)
}

fn comparison(text: &str) -> Result<Expr, String> {
    let operators = [
        ("==", BinaryOp::Equal),
        ("!=", BinaryOp::NotEqual),
        ("<=", BinaryOp::LessEqual),
        (">=", BinaryOp::GreaterEqual),
        ("<", BinaryOp::Less),
        (">", BinaryOp::Greater),
    ];
    for (sign, operator) in operators {
        if let Some((left, right)) = text.split_once(sign) {
            let (left, right) = (operand(left.trim())?, operand(right.trim())?);
            return Ok(compared(left, operator, right));
        }
    }
    if let Some(inner) = text.strip_prefix('!') {
        return Ok(tree::unary(UnaryOp::Not, comparison(inner.trim())?));
    }
    Ok(plan!("has(value)", value = operand(text)?))
}

/// Returns a comparison. Equality also accepts missing values, which compare as null.
pub fn compared(left: Expr, operator: BinaryOp, right: Expr) -> Expr {
    let (left, right) = match operator {
        BinaryOp::Equal | BinaryOp::NotEqual => (lenient(left), lenient(right)),
        _ => (left, right),
    };
    tree::binary(left, operator, right)
}

fn operand(text: &str) -> Result<Expr, String> {
    if let Some(rest) = text.strip_prefix('@') {
        return Ok(follow(Value::Opaque(plan!("one")), &parts(rest)?)?.expr());
    }
    if let Some(text) = quoted(text) {
        return Ok(tree::text(&text));
    }
    match text {
        "true" | "false" => Ok(tree::boolean(text == "true")),
        "null" => Ok(tree::null()),
        _ => tree::number(text)
            .ok_or_else(|| format!("`{}` is not an operand of a filter", excerpt(text))),
    }
}
