//! Evaluation before the run: what an expression comes to where some names have no value yet, and what in it always fails.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::machine::{Machine, Outcome};
use super::{DEFAULT_COST_LIMIT, Environment, EvalError};
use crate::builtins::{FailureKind, Function, Given};
use crate::protocol::StepState;
use crate::sema::Place;
use crate::sema::expr::{
    Code, Comprehension, Link, LinkOp, MacroKind, MapKey, Matcher, Node, Op, Operator, Piece,
};
use crate::source::Span;
use crate::value::Value;

/// What is known of the names around an expression.
pub trait Knowledge {
    /// The value at a place, where there is one already.
    fn known(&self, place: Place) -> Option<Value>;
}

/// What an expression comes to.
#[derive(Clone, Debug)]
pub enum Came {
    Value(Value),
    /// It depends on what only the run knows.
    Unknown,
    /// It fails whatever happens.
    Fails(EvalError),
}

/// A part of an expression that fails whenever it is evaluated, and whose failure nothing around it absorbs.
#[derive(Clone, Debug)]
pub struct AlwaysFails {
    pub error: EvalError,
    /// The names whose values led to it.
    pub read: Vec<Place>,
}

/// What an expression comes to with what is known.
#[must_use]
pub fn come(code: &Code, knowledge: &dyn Knowledge) -> Came {
    Folding::new(knowledge, DEFAULT_COST_LIMIT).whole(code)
}

/// Expressions that are folded with the same knowledge, within a bound of work for all of them together.
pub struct Folding<'a> {
    around: Around<'a>,
    left: u64,
    registers: Vec<Option<Value>>,
    failures: Vec<AlwaysFails>,
}

/// The names around an expression, and what was asked of them.
struct Around<'a> {
    knowledge: &'a dyn Knowledge,
    /// A value was asked for that is not known: an error may come of that alone.
    missing: Cell<bool>,
    /// A state was asked for: what came of it means nothing.
    guessed: Cell<bool>,
    read: RefCell<Vec<Place>>,
}

impl Environment for Around<'_> {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
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
    /// `work` bounds all that is evaluated; what would go beyond it counts as unknown.
    #[must_use]
    pub fn new(knowledge: &'a dyn Knowledge, work: u64) -> Self {
        let around = Around {
            knowledge,
            missing: Cell::new(false),
            guessed: Cell::new(false),
            read: RefCell::default(),
        };
        Self {
            around,
            left: work,
            registers: Vec::new(),
            failures: Vec::new(),
        }
    }

    /// The value of an expression where it is known. What always fails in it is added to the failures.
    pub fn fold(&mut self, code: &Code) -> Option<Value> {
        if let Some(constant) = code.constant() {
            return Some(constant.clone());
        }
        self.registers = vec![None; usize::from(code.registers)];
        match self.part(&code.root) {
            Came::Value(value) => super::placed(code, value)
                .map_err(|error| self.fails(error))
                .ok(),
            Came::Unknown | Came::Fails(_) => None,
        }
    }

    /// How much may still be evaluated.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// What was found to fail so far.
    #[must_use]
    pub fn into_failures(self) -> Vec<AlwaysFails> {
        self.failures
    }

    fn whole(&mut self, code: &Code) -> Came {
        self.registers = vec![None; usize::from(code.registers)];
        self.attempt(|machine| {
            machine
                .run(&code.root)
                .and_then(|value| super::placed(code, value))
        })
    }

    /// The same for an evaluation that begins with `first`: most begin with what only the run knows, and are spared.
    fn attempt_at(
        &mut self,
        first: &Node,
        evaluate: impl FnOnce(&mut Machine<'_>) -> Outcome,
    ) -> Came {
        if self.begins_unknown(first) {
            self.around.read.borrow_mut().clear();
            return Came::Unknown;
        }
        self.attempt(evaluate)
    }

    /// Evaluates with what is known, and judges what came of it.
    fn attempt(&mut self, evaluate: impl FnOnce(&mut Machine<'_>) -> Outcome) -> Came {
        self.around.missing.set(false);
        self.around.guessed.set(false);
        self.around.read.borrow_mut().clear();
        let limit = self.left.min(DEFAULT_COST_LIMIT);
        let mut machine = Machine::new(&self.around, self.registers.clone(), limit);
        let came = evaluate(&mut machine);
        let (spent, open) = (limit - machine.left(), machine.open);
        self.left -= spent;
        match came {
            _ if self.around.guessed.get() => Came::Unknown,
            // Whatever stands for the unknown: it had no part in this, or was outweighed.
            Ok(value) => Came::Value(value),
            Err(_) if open || self.around.missing.get() => Came::Unknown,
            // A finding has spoken of it.
            Err(error) if error.kind == FailureKind::Unknown => Came::Unknown,
            Err(error) if error.kind == FailureKind::CostLimit && limit < DEFAULT_COST_LIMIT => {
                Came::Unknown
            }
            Err(error) => Came::Fails(error),
        }
    }

    /// A part that is evaluated as a value.
    fn part(&mut self, node: &Node) -> Came {
        if let Some(constant) = node.constant() {
            return Came::Value(constant.clone());
        }
        let came = self.attempt_at(node, |machine| machine.run(node));
        match &came {
            Came::Value(_) => {}
            Came::Fails(error) => self.fails(error.clone()),
            Came::Unknown => self.inside(node),
        }
        came
    }

    /// A part whose absence is no failure: what stands left of `??`.
    fn lenient(&mut self, node: &Node) -> Came {
        let Op::Path { base, links } = &node.op else {
            return self.part(node);
        };
        let came = self.attempt_at(base, |machine| machine.lenient(node));
        match &came {
            Came::Value(_) => {}
            Came::Fails(error) => self.fails(error.clone()),
            Came::Unknown => {
                self.lenient(base);
                self.links(None, links);
            }
        }
        came
    }

    /// Whether the first thing that a part asks for is unknown, so that evaluating it gives nothing.
    fn begins_unknown(&self, node: &Node) -> bool {
        match &node.op {
            Op::Constant(_) => false,
            Op::Place(place) => self.around.knowledge.known(*place).is_none(),
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
            // Any of them may decide.
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
            read: self.around.read.borrow().clone(),
        });
    }

    /// The parts of what is not known as a whole.
    fn inside(&mut self, node: &Node) {
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
                let base_came = self.part(base);
                self.links(Some((base, base_came)), links);
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
                self.set(*register, Came::Unknown);
            }
        }
    }

    /// The parts of a path of which only its presence is asked.
    fn presence(&mut self, path: &Node) {
        if let Op::Path { base, links } = &path.op {
            self.part(base);
            self.links(None, links);
        }
    }

    fn set(&mut self, register: u16, came: Came) {
        if let Some(slot) = self.registers.get_mut(usize::from(register)) {
            *slot = if let Came::Value(value) = came {
                Some(value)
            } else {
                None
            };
        }
    }

    /// `&&` and `||`: an operand behind may decide the whole in spite of one that fails.
    fn logical(&mut self, operands: &[Node]) {
        for operand in operands.iter().rev() {
            if matches!(self.part(operand), Came::Unknown) {
                break;
            }
        }
    }

    fn chain(&mut self, first: &Node, rest: &[(Operator, Node)]) {
        self.part(first);
        for (operator, operand) in rest {
            let right = self.part(operand);
            let zero = match &right {
                Came::Value(value) => value.as_int() == Some(0) || value.as_duration() == Some(0),
                Came::Unknown | Came::Fails(_) => false,
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
                Came::Value(value) if !value.is_null() => return,
                Came::Fails(_) => return,
                Came::Value(_) | Came::Unknown => {}
            }
        }
        self.part(last);
    }

    fn conditional(&mut self, arms: &[(Node, Node)], otherwise: &Node) {
        for (condition, result) in arms {
            match self.part(condition) {
                Came::Value(Value::Bool(false)) => {}
                Came::Value(Value::Bool(true)) => return drop(self.part(result)),
                Came::Value(_) | Came::Fails(_) => return,
                Came::Unknown => drop(self.part(result)),
            }
        }
        self.part(otherwise);
    }

    fn choice(&mut self, subject: &Node, arms: &[(Matcher, Node)]) {
        match self.part(subject) {
            Came::Value(value) => {
                if let Some((_, result)) = arms.iter().find(|(matcher, _)| matcher.matches(&value))
                {
                    self.part(result);
                }
            }
            Came::Unknown => arms.iter().for_each(|(_, result)| drop(self.part(result))),
            Came::Fails(_) => {}
        }
    }

    /// The arguments of a call, and whether it takes none of them whatever the others are.
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
            let came = self.part(argument);
            if matches!(came, Came::Value(_)) {
                read.extend(self.around.read.borrow().iter().copied());
            }
            given.push(given_by(argument, came));
        }
        if let Some(failure) = function.refuses.and_then(|refuses| refuses(&given)) {
            self.failures.push(AlwaysFails {
                error: EvalError::new(failure.kind, failure.message, span),
                read,
            });
        }
    }

    /// `base` is the value before the first link, where that is evaluated as one.
    fn links(&mut self, base: Option<(&Node, Came)>, links: &[Link]) {
        let mut before = base.map_or(Given::Unknown, |(node, came)| given_by(node, came));
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

    /// The parts of a macro that hold for every element.
    fn comprehension(&mut self, comprehension: &Comprehension) {
        if let Some(condition) = &comprehension.condition {
            self.part(condition);
        }
        let body = &comprehension.body;
        if !matches!(comprehension.kind, MacroKind::All | MacroKind::Exists) {
            drop(self.part(body));
        } else if let Came::Fails(error) = self.attempt(|machine| machine.node(body)) {
            // Another element may decide, unless all of them fail.
            self.fails(error);
        }
    }
}

/// What a function is given by an argument.
fn given_by(node: &Node, came: Came) -> Given {
    match (came, &node.op) {
        (Came::Value(value), _) => Given::Value(value),
        (Came::Unknown | Came::Fails(_), Op::List(elements)) => Given::Elements(elements.len()),
        (Came::Unknown | Came::Fails(_), _) => Given::Unknown,
    }
}
