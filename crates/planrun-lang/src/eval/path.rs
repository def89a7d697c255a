//! Evaluates paths: fields, indices and methods, and their results where something is absent.

use super::EvalError;
use super::machine::{Machine, Outcome};
use crate::builtins::FailureKind;
use crate::sema::expr::{Link, LinkOp, Node, Op};
use crate::source::Span;
use crate::types::check_value;
use crate::value::{Key, Map, Value};

/// The handling of an absent value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    Fails,
    /// Every absence makes the path null.
    Lenient,
}

/// Result of following one link.
enum Found {
    Value(Value),
    /// The value before the link is null.
    Null(EvalError),
    /// The key does not exist, or the index is out of range.
    Missing(EvalError),
}

impl Machine<'_> {
    /// Follows links from a value.
    pub(super) fn path(&mut self, base: Value, links: &[Link], absence: Absence) -> Outcome {
        let mut value = base;
        for link in links {
            self.charge(1, link.span)?;
            if value.is_null() && (link.safe || absence == Absence::Lenient) {
                return Ok(Value::Null);
            }
            value = match self.link(value, link)? {
                Found::Value(value) => value,
                Found::Null(_) | Found::Missing(_) if absence == Absence::Lenient => {
                    return Ok(Value::Null);
                }
                Found::Null(error) | Found::Missing(error) => return Err(error),
            };
        }
        Ok(value)
    }

    /// Evaluates an operand left of `??`: absence anywhere on its path gives null.
    pub(super) fn lenient(&mut self, node: &Node) -> Outcome {
        match &node.op {
            Op::Path { base, links } => {
                let base = self.lenient(base)?;
                self.path(base, links, Absence::Lenient)
            }
            _ => self.node(node),
        }
    }

    /// Evaluates `has`: whether the last link exists and, if its type lets it be missing, is not null. It does not exist
    /// if anything is absent on the path to it.
    pub(super) fn has(&mut self, node: &Node) -> Outcome {
        let Op::Path { base, links } = &node.op else {
            return Ok(Value::Bool(!self.node(node)?.is_null()));
        };
        let Some((last, before)) = links.split_last() else {
            return Ok(Value::Bool(false));
        };
        let base = self.lenient(base)?;
        let holder = self.path(base, before, Absence::Lenient)?;
        if holder.is_null() {
            return Ok(Value::Bool(false));
        }
        let optional = matches!(&last.op, LinkOp::Field { optional: true, .. });
        match self.link(holder, last)? {
            Found::Value(value) => Ok(Value::Bool(!(optional && value.is_null()))),
            Found::Null(_) | Found::Missing(_) => Ok(Value::Bool(false)),
        }
    }

    fn link(&mut self, value: Value, link: &Link) -> Result<Found, EvalError> {
        match &link.op {
            LinkOp::Field {
                key,
                optional,
                declared,
            } => match field(&value, key, *optional, link.span)? {
                Found::Value(value)
                    if declared
                        .as_ref()
                        .is_some_and(|ty| check_value(&value, ty).is_err()) =>
                {
                    Ok(Found::Value(Value::Null))
                }
                found => Ok(found),
            },
            LinkOp::Index(index) => self.element(&value, index, link.span),
            LinkOp::Call { .. } | LinkOp::Matches(_) | LinkOp::Macro(_) | LinkOp::Fail(_) => {
                self.computed(value, link).map(Found::Value)
            }
        }
    }

    /// Evaluates a link that computes a value and thus is never absent.
    fn computed(&mut self, value: Value, link: &Link) -> Outcome {
        match &link.op {
            LinkOp::Call {
                function,
                arguments,
            } => self.call(function, Some(value), arguments, link.span),
            LinkOp::Matches(pattern) => self.is_match(&value, pattern, link.span),
            LinkOp::Macro(comprehension) => self.comprehension(&value, comprehension, link.span),
            LinkOp::Fail(message) => Err(EvalError::new(
                FailureKind::Unknown,
                message.clone(),
                link.span,
            )),
            LinkOp::Field { .. } | LinkOp::Index(_) => Ok(value),
        }
    }

    fn element(&mut self, value: &Value, index: &Node, span: Span) -> Result<Found, EvalError> {
        let index = self.node(index)?;
        element(value, &index, span)
    }
}

fn field(value: &Value, key: &Key, optional: bool, span: Span) -> Result<Found, EvalError> {
    match value {
        Value::Map(entries) => Ok(match entries.get(key) {
            Some(value) => Found::Value(value.clone()),
            None if optional => Found::Value(Value::Null),
            None => {
                let error = no_such_key(&key.to_string(), entries, span);
                Found::Missing(EvalError {
                    kind: FailureKind::NoSuchField,
                    ..error
                })
            }
        }),
        Value::Null => Ok(Found::Null(null_before(span))),
        other => {
            let message = format!(
                "no such overload: {} has no field `{key}`",
                other.kind_name()
            );
            Err(EvalError::new(FailureKind::NoOverload, message, span))
        }
    }
}

fn element(value: &Value, index: &Value, span: Span) -> Result<Found, EvalError> {
    match value {
        Value::Map(entries) => {
            let found = Key::lookup(index).and_then(|key| entries.get(&key));
            Ok(found.map_or_else(
                || Found::Missing(no_such_key(&index.preview(60), entries, span)),
                |value| Found::Value(value.clone()),
            ))
        }
        Value::List(elements) => {
            let Some(position) = index.as_number().and_then(crate::value::Number::as_integer)
            else {
                let message = format!(
                    "invalid argument: a list is indexed by an int, not {}",
                    index.kind_name()
                );
                return Err(EvalError::new(FailureKind::InvalidArgument, message, span));
            };
            let found = usize::try_from(position)
                .ok()
                .and_then(|position| elements.get(position));
            Ok(found.map_or_else(
                || {
                    let message = format!(
                        "index out of range: {position} of a list of {}",
                        elements.len()
                    );
                    Found::Missing(EvalError::new(FailureKind::IndexOutOfRange, message, span))
                },
                |value| Found::Value(value.clone()),
            ))
        }
        Value::Null => Ok(Found::Null(null_before(span))),
        other => {
            let message = format!("no such overload: {} has no elements", other.kind_name());
            Err(EvalError::new(FailureKind::NoOverload, message, span))
        }
    }
}

fn null_before(span: Span) -> EvalError {
    EvalError::new(
        FailureKind::NoOverload,
        "no such overload: the value before this is null",
        span,
    )
}

/// Maximum number of keys that a message lists.
const MAX_LISTED_KEYS: usize = 8;

fn no_such_key(key: &str, entries: &Map, span: Span) -> EvalError {
    let mut message = format!("no such key: {key}");
    if !entries.is_empty() {
        let known: Vec<String> = entries
            .keys()
            .take(MAX_LISTED_KEYS)
            .map(ToString::to_string)
            .collect();
        message.push_str("; available: ");
        message.push_str(&known.join(", "));
        if entries.len() > MAX_LISTED_KEYS {
            message.push_str(", …");
        }
    }
    EvalError::new(FailureKind::NoSuchKey, message, span)
}
