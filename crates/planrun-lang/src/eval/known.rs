//! Evaluates expressions before the run, when some names have no value yet, and finds parts that always fail.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::machine::{Machine, Outcome};
use super::{DEFAULT_COST_LIMIT, Environment, EvalError};
use crate::builtins::{FailureKind, Function, Given};
use crate::protocol::StepState;
use crate::sema::Place;
use crate::sema::expr::{
    CheckedExpr, Comprehension, Link, LinkOp, MacroKind, MapKey, Matcher, Node, Op, Operator, Piece,
};
use crate::source::Span;
use crate::value::Value;

/// Knowledge of the names around an expression.
pub trait Knowledge {
    /// Returns the value at a place; `None` if it is not known yet.
    fn known(&self, place: Place) -> Option<Value>;

    /// Returns the failure that reading a place certainly causes.
    fn failure(&self, _place: Place) -> Option<EvalError> {
        None
    }
}

/// Result of a partial evaluation.
#[derive(Clone, Debug)]
pub enum Evaluated {
    Value(Value),
    /// It depends on values that only the run knows.
    Unknown,
    /// It fails in every run.
    Fails(EvalError),
}

/// A part of an expression that fails whenever it is evaluated, and whose failure nothing around it absorbs.
#[derive(Clone, Debug)]
pub struct AlwaysFails {
    pub error: EvalError,
    /// Places whose values cause the failure.
    pub read: Vec<Place>,
}

/// Evaluates an expression with the values that are known.
#[must_use]
pub fn evaluate_partially(code: &CheckedExpr, knowledge: &dyn Knowledge) -> Evaluated {
    Folding::new(knowledge, DEFAULT_COST_LIMIT).whole(code)
}

/// A folder of expressions with the same knowledge and a work limit for all of them together.
pub struct Folding<'a> {
    environment: RecordingEnvironment<'a>,
    left: u64,
    registers: Vec<Option<Value>>,
    failures: Vec<AlwaysFails>,
}

/// Environment of an expression that records what was read.
struct RecordingEnvironment<'a> {
    knowledge: &'a dyn Knowledge,
    /// A value that is not known was read, so an error may be caused by that alone.
    missing: Cell<bool>,
    /// A state or the winner of a race was read, so the result is meaningless.
    guessed: Cell<bool>,
    read: RefCell<Vec<Place>>,
}

impl Environment for RecordingEnvironment<'_> {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        if let Some(error) = self.knowledge.failure(place) {
            return Err(error);
        }
        let Some(value) = self.knowledge.known(place) else {
            self.missing.set(true);
            return Err(EvalError::plain("it is not known yet", Span::at(0)));
        };
        let mut read = self.read.borrow_mut();
        if !read.contains(&place) {
            read.push(place);
        }
        Ok(value)
    }

    fn state(&self, _place: Place) -> StepState {
        self.guessed.set(true);
        StepState::Pending
    }

    fn winner(&self, _place: Place) -> Option<Arc<str>> {
        self.guessed.set(true);
        None
    }
}

impl<'a> Folding<'a> {
    /// Creates an evaluator of constants. `work` limits the total cost; values beyond it count as unknown.
    #[must_use]
    pub fn new(knowledge: &'a dyn Knowledge, work: u64) -> Self {
        let environment = RecordingEnvironment {
            knowledge,
            missing: Cell::new(false),
            guessed: Cell::new(false),
            read: RefCell::default(),
        };
        Self {
            environment,
            left: work,
            registers: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// Returns the value of an expression if it is known, and records the parts that always fail.
    pub fn fold(&mut self, code: &CheckedExpr) -> Option<Value> {
        if let Some(constant) = code.constant() {
            return Some(constant.clone());
        }
        self.registers = vec![None; usize::from(code.registers)];
        match self.part(&code.root) {
            Evaluated::Value(value) => super::placed(code, value)
                .map_err(|error| self.fails(error))
                .ok(),
            Evaluated::Unknown | Evaluated::Fails(_) => None,
        }
    }

    /// Evaluates an expression as a whole.
    pub fn whole(&mut self, code: &CheckedExpr) -> Evaluated {
        self.registers = vec![None; usize::from(code.registers)];
        self.try_evaluate(|machine| {
            machine
                .run(&code.root)
                .and_then(|value| super::placed(code, value))
        })
    }

    /// Returns the remaining work.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the failures found so far.
    #[must_use]
    pub fn into_failures(self) -> Vec<AlwaysFails> {
        self.failures
    }

    /// Like [`Self::try_evaluate`], but skips the evaluation if `first`, the node that it starts with, is unknown. Most
    /// are.
    fn try_evaluate_from(
        &mut self,
        first: &Node,
        evaluate: impl FnOnce(&mut Machine<'_>) -> Outcome,
    ) -> Evaluated {
        if self.begins_unknown(first) {
            self.environment.read.borrow_mut().clear();
            return Evaluated::Unknown;
        }
        self.try_evaluate(evaluate)
    }

    /// Evaluates with the known values, and classifies the result.
    fn try_evaluate(&mut self, evaluate: impl FnOnce(&mut Machine<'_>) -> Outcome) -> Evaluated {
        self.environment.missing.set(false);
        self.environment.guessed.set(false);
        self.environment.read.borrow_mut().clear();
        let limit = self.left.min(DEFAULT_COST_LIMIT);
        let mut machine = Machine::new(&self.environment, self.registers.clone(), limit);
        let evaluated = evaluate(&mut machine);
        let (spent, unset) = (limit - machine.left(), machine.read_unset);
        self.left -= spent;
        match evaluated {
            _ if self.environment.guessed.get() => Evaluated::Unknown,
            // Even if unknown values were read, they did not affect the result.
            Ok(value) => Evaluated::Value(value),
            Err(_) if unset || self.environment.missing.get() => Evaluated::Unknown,
            // Already reported as a diagnostic.
            Err(error) if error.kind == FailureKind::Unknown => Evaluated::Unknown,
            Err(error) if error.kind == FailureKind::CostLimit && limit < DEFAULT_COST_LIMIT => {
                Evaluated::Unknown
            }
            Err(error) => Evaluated::Fails(error),
        }
    }

    /// Folds a part that is evaluated as a value.
    fn part(&mut self, node: &Node) -> Evaluated {
        if let Some(constant) = node.constant() {
            return Evaluated::Value(constant.clone());
        }
        let evaluated = self.try_evaluate_from(node, |machine| machine.run(node));
        match &evaluated {
            Evaluated::Value(_) => {}
            Evaluated::Fails(error) => self.fails(error.clone()),
            Evaluated::Unknown => self.fold_parts(node),
        }
        evaluated
    }

    /// Folds a part whose absence is not a failure: an operand left of `??`.
    fn lenient(&mut self, node: &Node) -> Evaluated {
        let Op::Path { base, links } = &node.op else {
            return self.part(node);
        };
        let evaluated = self.try_evaluate_from(base, |machine| machine.lenient(node));
        match &evaluated {
            Evaluated::Value(_) => {}
            Evaluated::Fails(error) => self.fails(error.clone()),
            Evaluated::Unknown => {
                self.lenient(base);
                self.links(None, links);
            }
        }
        evaluated
    }

    /// Reports whether the first thing that a part reads is unknown, so that evaluating it is pointless.
    fn begins_unknown(&self, node: &Node) -> bool {
        match &node.op {
            Op::Constant(_) => false,
            Op::Place(place) => self.environment.knowledge.known(*place).is_none(),
            Op::Register(register) => {
                !matches!(self.registers.get(usize::from(*register)), Some(Some(_)))
            }
            Op::Is { .. } | Op::Winner(_) | Op::Fail(_) => true,
            Op::Template(pieces) => pieces
                .iter()
                .find_map(Piece::value)
                .is_some_and(|value| self.begins_unknown(value)),
            Op::List(elements) => elements
                .first()
                .is_some_and(|(element, _)| self.begins_unknown(element)),
            Op::Map(entries) => entries.first().is_some_and(|(key, value)| {
                self.begins_unknown(if let MapKey::Computed(key) = key {
                    key
                } else {
                    value
                })
            }),
            Op::Path { base: first, .. }
            | Op::Not(first)
            | Op::Negate(first)
            | Op::Matches { subject: first, .. }
            | Op::Chain { first, .. }
            | Op::Match { subject: first, .. }
            | Op::Has(first)
            | Op::Let { value: first, .. } => self.begins_unknown(first),
            // Each of them may decide.
            Op::And(operands) | Op::Or(operands) => {
                operands.iter().all(|operand| self.begins_unknown(operand))
            }
            Op::Coalesce(operands) => operands
                .first()
                .is_some_and(|first| self.begins_unknown(first)),
            Op::Conditional { arms, .. } => arms
                .first()
                .is_some_and(|(condition, _)| self.begins_unknown(condition)),
            Op::Call { arguments, .. } => arguments
                .first()
                .is_some_and(|first| self.begins_unknown(first)),
        }
    }

    fn fails(&mut self, error: EvalError) {
        self.failures.push(AlwaysFails {
            error,
            read: self.environment.read.borrow().clone(),
        });
    }

    /// Folds the parts of a node that is not known as a whole.
    fn fold_parts(&mut self, node: &Node) {
        match &node.op {
            Op::Constant(_)
            | Op::Place(_)
            | Op::Register(_)
            | Op::Is { .. }
            | Op::Winner(_)
            | Op::Fail(_) => {}
            Op::Template(pieces) => {
                for value in pieces.iter().filter_map(Piece::value) {
                    self.part(value);
                }
            }
            Op::List(elements) => elements
                .iter()
                .for_each(|element| drop(self.part(&element.0))),
            Op::Map(entries) => {
                for (key, value) in entries {
                    if let MapKey::Computed(key) = key {
                        self.part(key);
                    }
                    self.part(value);
                }
            }
            Op::Path { base, links } => {
                let evaluated_base = self.part(base);
                self.links(Some((base, evaluated_base)), links);
            }
            Op::Not(operand)
            | Op::Negate(operand)
            | Op::Matches {
                subject: operand, ..
            } => drop(self.part(operand)),
            Op::And(operands) | Op::Or(operands) => self.logical(operands),
            Op::Chain { first, rest } => self.chain(first, rest),
            Op::Coalesce(operands) => self.coalesce(operands),
            Op::Conditional { arms, otherwise } => self.conditional(arms, otherwise),
            Op::Match { subject, arms } => self.choice(subject, arms),
            Op::Call {
                function,
                arguments,
            } => self.call(function, None, arguments, node.span),
            Op::Has(path) => self.presence(path),
            Op::Let {
                register,
                value,
                body,
            } => {
                let value = self.part(value);
                self.set(*register, value);
                self.part(body);
                self.set(*register, Evaluated::Unknown);
            }
        }
    }

    /// Folds the parts of a path that is only tested for presence.
    fn presence(&mut self, path: &Node) {
        if let Op::Path { base, links } = &path.op {
            self.part(base);
            self.links(None, links);
        }
    }

    fn set(&mut self, register: u16, evaluated: Evaluated) {
        if let Some(slot) = self.registers.get_mut(usize::from(register)) {
            *slot = if let Evaluated::Value(value) = evaluated {
                Some(value)
            } else {
                None
            };
        }
    }

    /// Folds the operands of `&&` and `||` from the end: a later one may decide the result despite an earlier failure.
    fn logical(&mut self, operands: &[Node]) {
        for operand in operands.iter().rev() {
            if matches!(self.part(operand), Evaluated::Unknown) {
                break;
            }
        }
    }

    fn chain(&mut self, first: &Node, rest: &[(Operator, Node)]) {
        self.part(first);
        for (operator, operand) in rest {
            let right = self.part(operand);
            let zero = match &right {
                Evaluated::Value(value) => {
                    value.as_int() == Some(0) || value.as_duration() == Some(0)
                }
                Evaluated::Unknown | Evaluated::Fails(_) => false,
            };
            let message = if *operator == Operator::DivideNonzero {
                "divide by zero"
            } else if *operator == Operator::RemainderNonzero {
                "modulus by zero"
            } else {
                continue;
            };
            if zero {
                return self.fails(EvalError::new(
                    FailureKind::DivideByZero,
                    message,
                    first.span.to(operand.span),
                ));
            }
        }
    }

    fn coalesce(&mut self, operands: &[Node]) {
        let Some((last, others)) = operands.split_last() else {
            return;
        };
        for operand in others {
            match self.lenient(operand) {
                Evaluated::Value(value) if !value.is_null() => return,
                Evaluated::Fails(_) => return,
                Evaluated::Value(_) | Evaluated::Unknown => {}
            }
        }
        self.part(last);
    }

    fn conditional(&mut self, arms: &[(Node, Node)], otherwise: &Node) {
        for (condition, result) in arms {
            match self.part(condition) {
                Evaluated::Value(Value::Bool(false)) => {}
                Evaluated::Value(Value::Bool(true)) => return drop(self.part(result)),
                Evaluated::Value(_) | Evaluated::Fails(_) => return,
                Evaluated::Unknown => drop(self.part(result)),
            }
        }
        self.part(otherwise);
    }

    fn choice(&mut self, subject: &Node, arms: &[(Matcher, Node)]) {
        match self.part(subject) {
            Evaluated::Value(value) => {
                if let Some((_, result)) = arms.iter().find(|(matcher, _)| matcher.matches(&value))
                {
                    self.part(result);
                }
            }
            Evaluated::Unknown => arms.iter().for_each(|(_, result)| drop(self.part(result))),
            Evaluated::Fails(_) => {}
        }
    }

    /// Folds the arguments of a call, and reports a call that fails whatever the unknown arguments are.
    fn call(
        &mut self,
        function: &'static Function,
        receiver: Option<Given>,
        arguments: &[Node],
        span: Span,
    ) {
        let mut given = receiver.into_iter().collect::<Vec<_>>();
        let mut read = Vec::new();
        for argument in arguments {
            let evaluated = self.part(argument);
            if matches!(evaluated, Evaluated::Value(_)) {
                read.extend(self.environment.read.borrow().iter().copied());
            }
            given.push(given_by(argument, evaluated));
        }
        if let Some(failure) = function.refuses.and_then(|refuses| refuses(&given)) {
            self.failures.push(AlwaysFails {
                error: EvalError::new(failure.kind, failure.message, span),
                read,
            });
        }
    }

    /// Folds the parts of links. `base` is the value before the first link, if it is evaluated as a value.
    fn links(&mut self, base: Option<(&Node, Evaluated)>, links: &[Link]) {
        let mut before = base.map_or(Given::Unknown, |(node, evaluated)| {
            given_by(node, evaluated)
        });
        for link in links {
            match &link.op {
                LinkOp::Field { .. } | LinkOp::Matches(_) | LinkOp::Fail(_) => {}
                LinkOp::Index(index) => drop(self.part(index)),
                LinkOp::Call {
                    function,
                    arguments,
                } => self.call(function, Some(before), arguments, link.span),
                LinkOp::Macro(comprehension) => self.comprehension(comprehension),
            }
            before = Given::Unknown;
        }
    }

    /// Folds the parts of a macro that are the same for every element.
    fn comprehension(&mut self, comprehension: &Comprehension) {
        if let Some(condition) = &comprehension.condition {
            self.part(condition);
        }
        let body = &comprehension.body;
        if !matches!(comprehension.kind, MacroKind::All | MacroKind::Exists) {
            drop(self.part(body));
        } else if let Evaluated::Fails(error) = self.try_evaluate(|machine| machine.node(body)) {
            // Another element may decide, unless all of them fail.
            self.fails(error);
        }
    }
}

/// Returns what is known about an argument of a function.
fn given_by(node: &Node, evaluated: Evaluated) -> Given {
    match (evaluated, &node.op) {
        (Evaluated::Value(value), _) => Given::Value(value),
        (Evaluated::Unknown | Evaluated::Fails(_), Op::List(elements)) => {
            Given::Elements(elements.len())
        }
        (Evaluated::Unknown | Evaluated::Fails(_), _) => Given::Unknown,
    }
}
