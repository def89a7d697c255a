//! Evaluates checked expressions and counts the work.

use std::cmp::Ordering;

use regex::Regex;

use super::path::Absence;
use super::{Environment, EvalError};
use crate::builtins::operators::{self, Arithmetic};
use crate::builtins::{Failure, FailureKind, Function};
use crate::sema::expr::{Link, LinkOp, MapKey, Matcher, Node, Op, Operator, Piece};
use crate::source::Span;
use crate::types::Type;
use crate::value::{Key, Map, Value};

/// Maximum nesting depth of a produced value, so that recursive walks over values do not overflow the stack.
const MAX_DEPTH: usize = 256;

/// Maximum number of parts of a produced value; shared parts count once for each place. The largest tool result has
/// fewer.
const MAX_PARTS: u64 = 8 * 1024 * 1024;

/// Maximum number of arguments, including the receiver, that are passed without an allocation.
const STACKED_ARGUMENTS: usize = 4;

/// One evaluation.
pub(super) struct Machine<'a> {
    environment: &'a dyn Environment,
    /// Variables of macros; `None` while a variable has no value.
    pub(super) registers: Vec<Option<Value>>,
    remaining: u64,
    /// Whether a variable without a value was read.
    pub(super) read_unset: bool,
}

/// Result of evaluating a node.
pub(super) type Outcome = Result<Value, EvalError>;

impl<'a> Machine<'a> {
    pub(super) fn new(
        environment: &'a dyn Environment,
        registers: Vec<Option<Value>>,
        limit: u64,
    ) -> Self {
        Self {
            environment,
            registers,
            remaining: limit,
            read_unset: false,
        }
    }

    /// Evaluates the whole expression.
    pub(super) fn run(&mut self, root: &Node) -> Outcome {
        let value = self.node(root)?;
        if !is_read(root) {
            bounded(&value, root.span)?;
        }
        Ok(value)
    }

    /// Returns the remaining cost.
    pub(super) fn left(&self) -> u64 {
        self.remaining
    }

    /// Evaluates one operation. The arms are calls, which keeps the stack frames of deep nesting small.
    pub(super) fn node(&mut self, node: &Node) -> Outcome {
        self.charge(1, node.span)?;
        match &node.op {
            Op::Constant(value) => Ok(value.clone()),
            Op::Place(place) => self.environment.value(*place),
            Op::Register(register) => self.register(*register, node.span),
            Op::Template(pieces) => self.template(pieces, node.span),
            Op::List(elements) => self.list(elements, node.span),
            Op::Map(entries) => self.map(entries, node.span),
            Op::Path { base, links } => self.whole_path(base, links),
            Op::Not(operand) => self.not(operand),
            Op::Negate(operand) => self.negate(operand, node.span),
            Op::And(operands) => self.logical(operands, false, "&&"),
            Op::Or(operands) => self.logical(operands, true, "||"),
            Op::Chain { first, rest } => self.chain(first, rest),
            Op::Coalesce(operands) => self.coalesce(operands),
            Op::Conditional { arms, otherwise } => self.conditional(arms, otherwise),
            Op::Match { subject, arms } => self.choose(subject, arms),
            Op::Call {
                function,
                arguments,
            } => self.call(function, None, arguments, node.span),
            Op::Matches { subject, pattern } => self.matches(subject, pattern, node.span),
            Op::Has(path) => self.has(path),
            Op::Let {
                register,
                value,
                body,
            } => self.bind(*register, value, body),
            Op::Is { place, test } => Ok(Value::Bool(test.holds(self.environment.state(*place)))),
            Op::Winner(place) => Ok(self
                .environment
                .winner(*place)
                .map_or(Value::Null, Value::String)),
            Op::Fail(message) => Err(EvalError::new(
                FailureKind::Unknown,
                message.clone(),
                node.span,
            )),
        }
    }

    /// Charges a cost, and fails if the limit is exceeded.
    pub(super) fn charge(&mut self, cost: u64, span: Span) -> Result<(), EvalError> {
        match self.remaining.checked_sub(cost) {
            Some(rest) => {
                self.remaining = rest;
                Ok(())
            }
            None => Err(too_much_work(span)),
        }
    }

    fn register(&mut self, register: u16, span: Span) -> Outcome {
        if let Some(Some(value)) = self.registers.get(usize::from(register)) {
            Ok(value.clone())
        } else {
            self.read_unset = true;
            Err(unset(span))
        }
    }

    fn whole_path(&mut self, base: &Node, links: &[Link]) -> Outcome {
        let base = self.node(base)?;
        self.path(base, links, Absence::Fails)
    }

    fn not(&mut self, operand: &Node) -> Outcome {
        match self.node(operand)? {
            Value::Bool(truth) => Ok(Value::Bool(!truth)),
            other => Err(not_a_bool("!", &other, operand.span)),
        }
    }

    fn negate(&mut self, operand: &Node, span: Span) -> Outcome {
        let value = self.node(operand)?;
        operators::negate(&value).map_err(EvalError::at(span))
    }

    fn choose(&mut self, subject: &Node, arms: &[(Matcher, Node)]) -> Outcome {
        let value = self.node(subject)?;
        match arms.iter().find(|(matcher, _)| matcher.matches(&value)) {
            Some((_, result)) => self.node(result),
            None => Err(no_arm(&value, subject.span)),
        }
    }

    fn matches(&mut self, subject: &Node, pattern: &Regex, span: Span) -> Outcome {
        let value = self.node(subject)?;
        self.is_match(&value, pattern, span)
    }

    /// Matches text against a pattern; the cost is linear in the text.
    pub(super) fn is_match(&mut self, value: &Value, pattern: &Regex, span: Span) -> Outcome {
        let Value::String(text) = value else {
            return Err(EvalError::at(span)(no_method("matches", value)));
        };
        self.charge(text.len() as u64 / 16, span)?;
        Ok(Value::Bool(pattern.is_match(text)))
    }

    fn bind(&mut self, register: u16, value: &Node, body: &Node) -> Outcome {
        let value = self.node(value)?;
        self.set(register, value);
        self.node(body)
    }

    /// Charges the size of a value.
    pub(super) fn charge_for(&mut self, value: &Value, span: Span) -> Result<(), EvalError> {
        let size = match value {
            Value::String(text) => text.len() / 16,
            Value::Bytes(bytes) => bytes.len() / 16,
            Value::List(elements) => elements.len(),
            Value::Map(entries) => entries.len(),
            Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Exact(_)
            | Value::Timestamp(_)
            | Value::Duration(_)
            | Value::Type(_) => return Ok(()),
        };
        self.charge(size as u64, span)
    }

    /// Calls a function; `receiver` is the value before a method.
    pub(super) fn call(
        &mut self,
        function: &'static Function,
        receiver: Option<Value>,
        arguments: &[Node],
        span: Span,
    ) -> Outcome {
        let receiver = receiver.into_iter();
        if arguments.len() >= STACKED_ARGUMENTS {
            let mut values: Vec<Value> = receiver.collect();
            for argument in arguments {
                values.push(self.node(argument)?);
            }
            return self.apply(function, &values, span);
        }
        let mut values = [const { Value::Null }; STACKED_ARGUMENTS];
        let mut count = 0;
        let given = receiver.map(Ok);
        for (slot, value) in values
            .iter_mut()
            .zip(given.chain(arguments.iter().map(|argument| self.node(argument))))
        {
            *slot = value?;
            count += 1;
        }
        self.apply(function, values.get(..count).unwrap_or(&[]), span)
    }

    fn apply(&mut self, function: &'static Function, values: &[Value], span: Span) -> Outcome {
        for value in values {
            // Reading a value costs as much as producing it.
            self.charge_for(value, span)?;
            if function.walks {
                bounded(value, span)?;
            }
        }
        let result = (function.body)(values).map_err(EvalError::at(span))?;
        self.charge_for(&result, span)?;
        Ok(result)
    }

    fn template(&mut self, pieces: &[Piece], span: Span) -> Outcome {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(constant) => text.push_str(constant),
                Piece::Value(node) => match self.node(node)? {
                    Value::String(value) => text.push_str(&value),
                    other => text.push_str(&interpolated(&other, node.span)?),
                },
            }
        }
        let value = Value::String(text.into());
        self.charge_for(&value, span)?;
        Ok(value)
    }

    fn list(&mut self, elements: &[(Node, Type)], span: Span) -> Outcome {
        self.charge(elements.len() as u64, span)?;
        let mut values = Vec::with_capacity(elements.len());
        for (element, _) in elements {
            values.push(self.node(element)?);
        }
        Ok(Value::from(values))
    }

    fn map(&mut self, entries: &[(MapKey, Node)], span: Span) -> Outcome {
        self.charge(entries.len() as u64, span)?;
        let mut map = Map::with_capacity(entries.len());
        for (key, node) in entries {
            let key = match key {
                MapKey::Constant(key) => key.clone(),
                MapKey::Computed(node) => self.key(node)?,
            };
            let value = self.node(node)?;
            if map.contains_key(&key) {
                return Err(repeated_key(&key, node.span));
            }
            map.insert(key, value);
        }
        Ok(Value::from(map))
    }

    fn key(&mut self, node: &Node) -> Result<Key, EvalError> {
        let value = self.node(node)?;
        Key::written(&value).ok_or_else(|| bad_key(&value, node.span))
    }

    /// Evaluates `&&` and `||`: a deciding operand outweighs errors of the others, whatever their order.
    fn logical(&mut self, operands: &[Node], decisive: bool, symbol: &str) -> Outcome {
        let mut failed = None;
        for operand in operands {
            let error = match self.node(operand) {
                Ok(Value::Bool(truth)) if truth == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => continue,
                Ok(other) => not_a_bool(symbol, &other, operand.span),
                Err(error) if error.kind == FailureKind::CostLimit => return Err(error),
                Err(error) => error,
            };
            failed.get_or_insert(error);
        }
        failed.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn chain(&mut self, first: &Node, rest: &[(Operator, Node)]) -> Outcome {
        let mut value = self.node(first)?;
        for (operator, operand) in rest {
            let right = self.node(operand)?;
            value = self.binary(*operator, value, &right, first.span.to(operand.span))?;
        }
        Ok(value)
    }

    fn binary(&mut self, operator: Operator, left: Value, right: &Value, span: Span) -> Outcome {
        let compared = |symbol, holds: fn(Ordering) -> bool| {
            operators::ordered(symbol, &left, right, holds)
                .map(Value::Bool)
                .map_err(EvalError::at(span))
        };
        let arithmetic = match operator {
            Operator::Equal | Operator::NotEqual => {
                self.charge(parts(&left, span)?, span)?;
                return Ok(Value::Bool(
                    (left == *right) == (operator == Operator::Equal),
                ));
            }
            Operator::Less => return compared("<", Ordering::is_lt),
            Operator::LessEqual => return compared("<=", Ordering::is_le),
            Operator::Greater => return compared(">", Ordering::is_gt),
            Operator::GreaterEqual => return compared(">=", Ordering::is_ge),
            Operator::In => {
                if let Value::List(elements) = right {
                    let each = parts(&left, span)?.max(1);
                    self.charge(each.saturating_mul(elements.len() as u64), span)?;
                }
                return operators::contained(&left, right)
                    .map(Value::Bool)
                    .map_err(EvalError::at(span));
            }
            Operator::Add => Arithmetic::Add,
            Operator::Subtract => Arithmetic::Subtract,
            Operator::Multiply => Arithmetic::Multiply,
            Operator::Divide | Operator::DivideNonzero => Arithmetic::Divide,
            Operator::Remainder | Operator::RemainderNonzero => Arithmetic::Remainder,
        };
        let value = operators::arithmetic(arithmetic, left, right).map_err(EvalError::at(span))?;
        self.charge_for(&value, span)?;
        Ok(value)
    }

    fn coalesce(&mut self, operands: &[Node]) -> Outcome {
        let Some((last, others)) = operands.split_last() else {
            return Ok(Value::Null);
        };
        for operand in others {
            let value = self.lenient(operand)?;
            if !value.is_null() {
                return Ok(value);
            }
        }
        self.node(last)
    }

    fn conditional(&mut self, arms: &[(Node, Node)], otherwise: &Node) -> Outcome {
        for (condition, result) in arms {
            match self.node(condition)? {
                Value::Bool(true) => return self.node(result),
                Value::Bool(false) => {}
                other => return Err(not_a_bool("? :", &other, condition.span)),
            }
        }
        self.node(otherwise)
    }
}

#[cold]
fn too_much_work(span: Span) -> EvalError {
    EvalError::new(
        FailureKind::CostLimit,
        "the expression exceeds the work limit of one evaluation",
        span,
    )
}

#[cold]
fn unset(span: Span) -> EvalError {
    EvalError::new(FailureKind::Unknown, "this variable has no value yet", span)
}

#[cold]
fn no_arm(value: &Value, span: Span) -> EvalError {
    let message = format!("no arm of `match` covers {}", value.preview(80));
    EvalError::new(FailureKind::InvalidArgument, message, span)
}

#[cold]
fn bad_key(value: &Value, span: Span) -> EvalError {
    let message = format!(
        "unsupported key type: {} cannot be a key",
        value.kind_name()
    );
    EvalError::new(FailureKind::NoOverload, message, span)
}

#[cold]
fn repeated_key(key: &Key, span: Span) -> EvalError {
    EvalError::new(
        FailureKind::DuplicateKey,
        format!("repeated key: `{key}` occurs twice in one object"),
        span,
    )
}

/// Returns the text of a value inside a template.
fn interpolated(value: &Value, span: Span) -> Result<String, EvalError> {
    value.interpolated().ok_or_else(|| {
        let message = format!(
            "only strings, numbers and bools can be interpolated, not {}",
            value.kind_name()
        );
        EvalError::new(FailureKind::NoOverload, message, span)
    })
}

/// Returns the error for a value where a bool is required.
pub(super) fn not_a_bool(symbol: &str, value: &Value, span: Span) -> EvalError {
    let message = format!(
        "no such overload: `{symbol}` takes a bool, not {}",
        value.kind_name()
    );
    EvalError::new(FailureKind::NoOverload, message, span)
}

/// Returns the error for a value without the named method.
pub(super) fn no_method(name: &str, value: &Value) -> Failure {
    Failure::new(
        FailureKind::NoOverload,
        format!("no such overload: {} has no `{name}`", value.kind_name()),
    )
}

/// Reports whether a node only reads a value that exists already.
fn is_read(node: &Node) -> bool {
    if let Op::Path { base, links } = &node.op {
        let computed = |link: &Link| !matches!(link.op, LinkOp::Field { .. } | LinkOp::Index(_));
        return is_read(base) && !links.iter().any(computed);
    }
    matches!(node.op, Op::Constant(_) | Op::Place(_))
}

/// Fails if a value is too deep or too large to be walked: with shared parts it can be larger than the work that made
/// it.
fn bounded(value: &Value, span: Span) -> Result<(), EvalError> {
    parts(value, span).map(drop)
}

/// Returns the number of parts of a value; 0 if it is neither a list nor a map.
fn parts(value: &Value, span: Span) -> Result<u64, EvalError> {
    let mut left = MAX_PARTS;
    count(value, MAX_DEPTH, &mut left)
        .map_err(|message| EvalError::new(FailureKind::CostLimit, message, span))?;
    Ok(MAX_PARTS - left)
}

fn count(value: &Value, depth: usize, left: &mut u64) -> Result<(), String> {
    match value {
        Value::List(elements) => {
            let depth = enter(elements.len(), depth, left)?;
            elements
                .iter()
                .try_for_each(|element| count(element, depth, left))
        }
        Value::Map(entries) => {
            let depth = enter(entries.len(), depth, left)?;
            entries
                .values()
                .try_for_each(|element| count(element, depth, left))
        }
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Exact(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Timestamp(_)
        | Value::Duration(_)
        | Value::Type(_) => Ok(()),
    }
}

/// Counts the parts of a list or map, and returns the remaining depth for them.
fn enter(size: usize, depth: usize, left: &mut u64) -> Result<usize, String> {
    *left = left
        .checked_sub(size as u64)
        .ok_or_else(|| format!("the value has more than {MAX_PARTS} parts"))?;
    depth
        .checked_sub(1)
        .ok_or_else(|| format!("the value nests deeper than {MAX_DEPTH} levels"))
}
