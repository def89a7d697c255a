//! Evaluates the body of an `each` over a known list for every element.

use super::{ConstantFailure, Definition, KnownAtSite, Site, Walk};
use crate::eval::EvalError;
use crate::eval::known::{Evaluated, Folding};
use crate::sema::expr::Code;
use crate::sema::{BlockId, Each, Node, NodeId, NodeKind};
use crate::value::Value;

/// Maximum number of characters of an element in a message.
const MAX_ELEMENT_CHARACTERS: usize = 60;

/// What the nodes of a block define, and which of its conditions hold.
type Definitions<'a> = (
    Vec<((BlockId, u32), Vec<Definition<'a>>)>,
    Vec<((BlockId, NodeId), bool)>,
);

/// How the evaluation of a body goes on after a node.
enum Next {
    /// With the next node; a `let` has this value if it is known.
    Below(Option<Value>),
    /// With the next node, but reading this `let` fails.
    Poisoned(EvalError),
    /// Not: the body may have ended.
    Ended,
    Failed(EvalError),
}

impl<'a> Walk<'a> {
    /// Evaluates the nodes of a body for every element, and reports the first one that fails for an element, although it
    /// may not fail for others. Blocks in the body are left out. With `settle`, elements may fail.
    pub(super) fn each_element(&mut self, each: &'a Each, list: &[Value]) {
        if each.settle {
            return;
        }
        let (slots, conditions) = self.take_definitions(each.body);
        for (index, element) in list.iter().enumerate() {
            if self.work == 0 {
                break;
            }
            let site = Site {
                element: Some((element, index)),
                ..Site::of(each.body)
            };
            let failure = self.element(site);
            self.take_definitions(each.body);
            if let Some(error) = failure {
                self.element_fails(element, &error);
                break;
            }
        }
        self.slots.extend(slots);
        self.conditions.extend(conditions);
    }

    fn element_fails(&mut self, element: &Value, error: &EvalError) {
        let mut known = self.found.failures.iter();
        // What fails for every element has been reported.
        if known.any(|failure| failure.error.span == error.span) {
            return;
        }
        let element = element.preview(MAX_ELEMENT_CHARACTERS);
        let message = format!("{} when the element is {element}", error.message);
        self.found.failures.push(ConstantFailure {
            error: EvalError {
                message: message.into(),
                ..error.clone()
            },
            causes: Vec::new(),
        });
    }

    /// Removes and returns what the nodes of a block define: it is different for each element.
    fn take_definitions(&mut self, id: BlockId) -> Definitions<'a> {
        let nodes = &self.plan.block(id).nodes;
        let slots = nodes.iter().filter_map(|node| node.slot);
        let slots = slots.filter_map(|slot| self.slots.remove_entry(&(id, slot)));
        let numbers = (0..).map(NodeId).zip(nodes);
        let conditions =
            numbers.filter_map(|(number, _)| self.conditions.remove_entry(&(id, number)));
        (slots.collect(), conditions.collect())
    }

    /// Evaluates the nodes of a body for one element, up to the first that may end the body. Returns the first failure
    /// of a node that certainly runs.
    fn element(&mut self, site: Site<'_>) -> Option<EvalError> {
        let plan = self.plan;
        for (number, node) in (0..).map(NodeId).zip(&plan.block(site.block).nodes) {
            self.work = self.work.checked_sub(1)?;
            let runs = self.runs(site.block, &node.guard);
            let site = Site {
                guard: &node.guard,
                ..site
            };
            let next = match runs {
                Some(false) => Next::Below(None),
                Some(true) | None => self.evaluate(site, number, node),
            };
            match (next, runs) {
                (Next::Below(value), _) => self.define(site.block, node, runs, Ok(value)),
                (Next::Poisoned(error), Some(true)) => {
                    self.define(site.block, node, runs, Err(error));
                }
                (Next::Ended, _) => return None,
                (Next::Failed(error), Some(true)) => return Some(error),
                // It fails if it runs, but that is not known.
                (Next::Poisoned(_) | Next::Failed(_), _) => {
                    self.define(site.block, node, runs, Ok(None));
                }
            }
        }
        None
    }

    fn evaluate(&mut self, site: Site<'_>, number: NodeId, node: &'a Node) -> Next {
        match &node.kind {
            NodeKind::Let(code) => match self.whole(site, code) {
                Evaluated::Value(value) => Next::Below(Some(value)),
                Evaluated::Unknown => Next::Below(None),
                // A `let` is evaluated when it is read.
                Evaluated::Fails(error) => Next::Poisoned(error),
            },
            NodeKind::Condition(code) => match self.whole(site, code) {
                Evaluated::Value(value) => {
                    let holds = value == Value::Bool(true);
                    self.conditions.insert((site.block, number), holds);
                    Next::Below(None)
                }
                Evaluated::Unknown => Next::Below(None),
                Evaluated::Fails(error) => Next::Failed(error),
            },
            NodeKind::Ensure { condition, .. } => match self.whole(site, condition) {
                Evaluated::Value(Value::Bool(true)) => Next::Below(None),
                Evaluated::Value(_) => {
                    Next::Failed(EvalError::plain("this is false", condition.span))
                }
                Evaluated::Unknown => Next::Ended,
                Evaluated::Fails(error) => Next::Failed(error),
            },
            // Its arms may be there for this element.
            NodeKind::Step(step) if !step.recover.is_empty() => Next::Below(None),
            NodeKind::Step(_) | NodeKind::Set(_) | NodeKind::Listener(_) | NodeKind::Task(_) => {
                self.failure_in(site, node)
                    .map_or(Next::Below(None), Next::Failed)
            }
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => self
                .failure_in(site, node)
                .map_or(Next::Ended, Next::Failed),
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
    fn whole(&mut self, site: Site<'_>, code: &Code) -> Evaluated {
        if let Some(constant) = code.constant() {
            return Evaluated::Value(constant.clone());
        }
        let known = KnownAtSite { walk: self, site };
        let mut folding = Folding::new(&known, self.work);
        let evaluated = folding.whole(code);
        self.work = folding.left();
        evaluated
    }
}
