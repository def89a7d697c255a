//! Evaluates the bodies of loops over known values: for every element of an `each`, and for the rounds of a `repeat`.

use super::Walk;
use super::failure::{BlockFailure, ConstantFailure};
use super::names::Site;
use crate::eval::EvalError;
use crate::eval::known::{Evaluated, Folding};
use crate::sema::expr::CheckedExpr;
use crate::sema::{BlockId, Each, Node, NodeId, NodeKind, Repeat, Step, StepKind};
use crate::source::Span;
use crate::value::{Value, counted};

/// A loop whose elements, or whose first state, are known.
pub(super) enum KnownLoop<'a> {
    Each(&'a Each, Value),
    Repeat(&'a Repeat, Value),
}

/// How a block ends.
pub(super) enum Ending {
    /// The block around it continues.
    Completed,
    /// With this state for the next round, computed by the expression at this place.
    Next(Value, Span),
    /// The following statements of the block around it may not run.
    Open,
    Failed(BlockFailure),
}

/// How the evaluation of a block continues after a node.
enum Then {
    /// With the next node; a `let` has this value if it is known.
    Below(Option<Value>),
    /// With the next node, but reading this `let` fails.
    Poisoned(EvalError),
    /// Not: the block has ended, or may have.
    Ended(Ending),
}

impl From<Option<EvalError>> for Then {
    fn from(failure: Option<EvalError>) -> Self {
        failure.map_or(Self::Below(None), Self::failed)
    }
}

impl Then {
    fn failed(error: EvalError) -> Self {
        Self::Ended(Ending::Failed(BlockFailure::new(error)))
    }
}

impl<'a> Walk<'a> {
    /// Evaluates the body of a loop, and reports the first node that fails for one of its values, although it may not
    /// fail for others.
    pub(super) fn evaluate_loop(&mut self, known: &KnownLoop<'a>) {
        let ending = match known {
            KnownLoop::Each(each, list) => self.elements(each, list),
            KnownLoop::Repeat(repeat, initial) => self.rounds(repeat, initial.clone()),
        };
        let Ending::Failed(failure) = ending else {
            return;
        };
        let breaks_contract = failure.breaks_contract;
        let error = failure.into_error();
        let mut known = self.found.failures.iter();
        // A failure that happens for every value has already been reported.
        if !known.any(|failure| failure.error.span == error.span) {
            self.found.failures.push(ConstantFailure {
                breaks_contract,
                ..ConstantFailure::new(error)
            });
        }
    }

    /// Evaluates the body for every element. With `settle`, elements may fail.
    fn elements(&mut self, each: &'a Each, list: &Value) -> Ending {
        let (Value::List(list), false) = (list, each.settle) else {
            return Ending::Open;
        };
        let mut all = Ending::Completed;
        for (element, index) in list.iter().zip(0..) {
            match self.body(each.body, [element.clone(), Value::Int(index)]) {
                Ending::Completed | Ending::Next(..) => {}
                Ending::Open => all = Ending::Open,
                Ending::Failed(failure) => {
                    return Ending::Failed(failure.in_loop("element", element));
                }
            }
        }
        all
    }

    /// Evaluates rounds as long as their states are known.
    fn rounds(&mut self, repeat: &'a Repeat, initial: Value) -> Ending {
        let max = repeat.max.as_ref().and_then(|max| self.found.value(max));
        // A second round is certain only below a known maximum.
        let max = max.and_then(Value::as_int);
        let (mut state, mut last) = (initial, None);
        for _ in 0..max.unwrap_or(1) {
            match self.body(repeat.body, [state.clone()]) {
                Ending::Next(next, span) => (state, last) = (next, Some(span)),
                Ending::Failed(failure) => {
                    return Ending::Failed(failure.in_loop("state", &state));
                }
                ending @ (Ending::Completed | Ending::Open) => return ending,
            }
        }
        let Some((max, span)) = max.zip(last) else {
            return Ending::Open;
        };
        let rounds = counted(usize::try_from(max).unwrap_or(usize::MAX), "round");
        let message = format!("`repeat` reaches its `max` of {rounds}, but `next` is not null");
        Ending::Failed(BlockFailure::new(EvalError::plain(message, span)))
    }

    /// Evaluates the nodes of a block whose first names have these values.
    fn body(&mut self, id: BlockId, bound: impl IntoIterator<Item = Value>) -> Ending {
        let block = self.plan.block(id);
        // It is different for each element.
        let outside = self.names.take(id, block);
        for (slot, value) in (0..).zip(bound) {
            self.names.bind(id, slot, value);
        }
        let ending = self.nodes(id);
        self.names.take(id, block);
        self.names.put_back(outside);
        ending
    }

    /// Evaluates the nodes of a block, up to the first that may end it. Fails with the first node that certainly runs and
    /// fails.
    pub(super) fn nodes(&mut self, block: BlockId) -> Ending {
        let plan = self.plan;
        for (number, node) in (0..).map(NodeId).zip(&plan.block(block).nodes) {
            let Some(left) = self.work.checked_sub(1) else {
                return Ending::Open;
            };
            self.work = left;
            let runs = self.names.runs(block, &node.guard);
            let site = Site {
                block,
                guard: &node.guard,
            };
            self.names.own(block, node);
            let then = match runs {
                Some(false) => Then::Below(None),
                Some(true) | None => self.evaluate(site, number, node),
            };
            match (then, runs) {
                (Then::Below(value), _) => self.names.define(block, node, runs, Ok(value)),
                (Then::Poisoned(error), Some(true)) => {
                    self.names.define(block, node, runs, Err(error));
                }
                (Then::Ended(ending), Some(true)) => return ending,
                // It fails if it runs, but that is not known.
                (Then::Poisoned(_) | Then::Ended(Ending::Failed(_)), _) => {
                    self.names.define(block, node, runs, Ok(None));
                }
                (Then::Ended(_), _) if matches!(node.kind, NodeKind::Yield(_)) => {
                    return Ending::Completed;
                }
                (Then::Ended(_), _) => return Ending::Open,
            }
        }
        Ending::Completed
    }

    fn evaluate(&mut self, site: Site<'_>, number: NodeId, node: &'a Node) -> Then {
        match &node.kind {
            NodeKind::Let(code) => match self.whole(site, code) {
                Evaluated::Value(value) => Then::Below(Some(value)),
                Evaluated::Unknown => Then::Below(None),
                // A `let` is evaluated when it is read.
                Evaluated::Fails(error) => Then::Poisoned(error),
            },
            NodeKind::Condition(code) => match self.whole(site, code) {
                Evaluated::Value(value) => {
                    let holds = value == Value::Bool(true);
                    self.names.decide(site.block, number, holds);
                    Then::Below(None)
                }
                Evaluated::Unknown => Then::Below(None),
                Evaluated::Fails(error) => Then::failed(error),
            },
            NodeKind::Ensure { condition, .. } => match self.whole(site, condition) {
                Evaluated::Value(Value::Bool(true)) => Then::Below(None),
                Evaluated::Value(_) => {
                    Then::failed(EvalError::plain("this is false", condition.span))
                }
                Evaluated::Unknown => Then::Ended(Ending::Open),
                Evaluated::Fails(error) => Then::failed(error),
            },
            NodeKind::Step(step) => self.step(site, node, step),
            NodeKind::Set(_) | NodeKind::Listener(_) | NodeKind::Task(_) => {
                self.failure_in(site, node).into()
            }
            NodeKind::Yield(_) => match self.failure_in(site, node) {
                Some(error) => Then::failed(error),
                None if self.names.is_round(site.block) => Then::Below(None),
                None => Then::Ended(Ending::Completed),
            },
            NodeKind::Next(code) => match self.whole(site, code) {
                Evaluated::Value(Value::Null) => Then::Ended(Ending::Completed),
                Evaluated::Value(next) => Then::Ended(Ending::Next(next, code.span)),
                Evaluated::Unknown => Then::Ended(Ending::Open),
                Evaluated::Fails(error) => Then::failed(error),
            },
            NodeKind::Fail(_) | NodeKind::Reply(_) => self
                .failure_in(site, node)
                .map_or(Then::Ended(Ending::Open), Then::failed),
        }
    }

    /// Evaluates the expressions of a step and the blocks that it certainly executes.
    fn step(&mut self, site: Site<'_>, node: &'a Node, step: &'a Step) -> Then {
        // Its arms may be there for this element.
        if !step.recover.is_empty() {
            return Then::Below(None);
        }
        if let Some(error) = self.failure_in(site, node) {
            return Then::failed(error);
        }
        let value = |walk: &mut Self, site: Site<'_>, code| match walk.whole(site, code) {
            Evaluated::Value(value) => Some(value),
            Evaluated::Unknown | Evaluated::Fails(_) => None,
        };
        if let Some(refused) = self.refused(site, node, value) {
            return Then::Ended(Ending::Failed(refused));
        }
        let ending = match &step.kind {
            StepKind::Do(body) => self.body(*body, []),
            StepKind::Each(each) => match self.whole(site, &each.list) {
                Evaluated::Value(list) => self.elements(each, &list),
                Evaluated::Unknown | Evaluated::Fails(_) => Ending::Completed,
            },
            StepKind::Repeat(repeat) => match self.whole(site, &repeat.initial) {
                Evaluated::Value(initial) => self.rounds(repeat, initial),
                Evaluated::Unknown | Evaluated::Fails(_) => Ending::Completed,
            },
            StepKind::Match { subject, arms } => match self.whole(site, subject) {
                Evaluated::Value(value) => arms
                    .iter()
                    .find(|(matcher, _)| matcher.matches(&value))
                    .map_or(Ending::Completed, |(_, body)| self.body(*body, [])),
                Evaluated::Unknown | Evaluated::Fails(_) => Ending::Completed,
            },
            StepKind::Call(_)
            | StepKind::Race(_)
            | StepKind::Input(_)
            | StepKind::Wait(_)
            | StepKind::Damaged => Ending::Completed,
        };
        match ending {
            Ending::Completed | Ending::Next(..) => Then::Below(None),
            ending @ (Ending::Open | Ending::Failed(_)) => Then::Ended(ending),
        }
    }

    /// Returns the first failure in the expressions of a node.
    fn failure_in(&mut self, site: Site<'_>, node: &'a Node) -> Option<EvalError> {
        let mut failure = None;
        node.codes(&mut |code| {
            if failure.is_none()
                && let Evaluated::Fails(error) = self.whole(site, code)
            {
                failure = Some(error);
            }
        });
        failure
    }

    /// Evaluates an expression as a whole.
    pub(super) fn whole(&mut self, site: Site<'_>, code: &CheckedExpr) -> Evaluated {
        if let Some(constant) = code.constant() {
            return Evaluated::Value(constant.clone());
        }
        let known = self.names.at(site);
        let mut folding = Folding::new(&known, self.work);
        let evaluated = folding.whole(code);
        self.work = folding.left();
        evaluated
    }
}
