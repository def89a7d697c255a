//! Finds the places that the inputs of called plans certainly reach.

use std::rc::Rc;
use std::sync::Arc;

use foldhash::{HashMap, HashSet};

use crate::origin::{Origins, Reached};
use crate::sema::{BlockId, Call, Nesting, Node, Plan, Target, expr};

/// Maximum number of called plans that are inspected for one plan.
const MAX_PLANS: usize = 256;

/// A place that a part of an input of a plan certainly reaches, in the plan or in one that it calls.
pub(super) struct Sink<P> {
    pub parameter: Arc<str>,
    /// The fields from the input to the part.
    pub path: Vec<Arc<str>>,
    pub place: P,
}

/// A call of a plan, with its position.
#[derive(Clone, Copy)]
pub(super) struct PlanCall<'a> {
    pub block: BlockId,
    pub node: &'a Node,
    pub call: &'a Call,
    pub called: &'a Plan,
}

/// Receives a value with the statement that contains it, the block in which it is evaluated, and the place it reaches.
pub(super) type Visit<'v, 'a, P> = dyn FnMut(BlockId, &'a Node, &'a expr::Node, P) + 'v;

/// The places that a rule looks for.
pub(super) trait Places<'a> {
    type Place: Clone + PartialEq;

    /// Visits the values in a plan that reach a place when the plan is called by another one.
    fn visit(&self, nesting: &Nesting<'a>, visit: &mut Visit<'_, 'a, Self::Place>);

    /// Returns the calls of plans that pass values on.
    fn calls(&self, nesting: &Nesting<'a>) -> Vec<PlanCall<'a>>;

    /// Returns true if a statement passes on the value of this source, whatever it is.
    fn passes(
        &self,
        nesting: &Nesting<'a>,
        block: BlockId,
        node: &'a Node,
        source: &Reached<'a>,
    ) -> bool;
}

/// The sinks of called plans, each found once.
pub(super) struct Sinks<'r, 'a, R: Places<'a>> {
    rule: &'r R,
    origins: &'r Origins<'a>,
    known: HashMap<*const Plan, Rc<[Sink<R::Place>]>>,
}

impl<'r, 'a, R: Places<'a>> Sinks<'r, 'a, R> {
    pub(super) fn new(rule: &'r R, origins: &'r Origins<'a>) -> Self {
        let known = HashMap::default();
        Self {
            rule,
            origins,
            known,
        }
    }

    /// Returns the sinks of a called plan. Its own stack keeps the depth of the calls from mattering; plans cannot call
    /// themselves.
    pub(super) fn of(&mut self, plan: &'a Plan) -> Rc<[Sink<R::Place>]> {
        let mut open = vec![plan];
        while let Some(next) = open.last().copied() {
            if self.known.contains_key(&std::ptr::from_ref(next)) {
                open.pop();
                continue;
            }
            if self.known.len() >= MAX_PLANS {
                break;
            }
            let called = next.plans.iter().map(|called| &**called);
            let is_new = |called: &&Plan| !self.known.contains_key(&std::ptr::from_ref(*called));
            let missing: Vec<&Plan> = called.filter(is_new).collect();
            if missing.is_empty() {
                let found = self.find(next).into();
                self.known.insert(next, found);
            } else {
                open.extend(missing);
            }
        }
        let found = self.known.get(&std::ptr::from_ref(plan));
        found.cloned().unwrap_or_else(|| Rc::from([]))
    }

    /// Finds the sinks of a plan; those of the plans that it calls are known.
    fn find(&self, plan: &'a Plan) -> Vec<Sink<R::Place>> {
        let nesting = self.origins.nesting(plan);
        let mut found: Vec<Sink<R::Place>> = Vec::new();
        let mut reach = |block, node, value, path: &[Arc<str>], place: R::Place| {
            let traced = self.origins.of_path(&nesting, block, value, &[], path);
            for input in traced.inputs {
                let parameter = plan.parameters.get(input.slot as usize);
                let source = Reached::Input(input);
                let Some(parameter) =
                    parameter.filter(|_| self.rule.passes(&nesting, block, node, &source))
                else {
                    continue;
                };
                let Reached::Input(input) = source else {
                    continue;
                };
                let sink = Sink {
                    parameter: parameter.name.clone(),
                    path: input.path,
                    place: place.clone(),
                };
                if !found.iter().any(|known| known.is(&sink)) {
                    found.push(sink);
                }
            }
        };
        self.rule.visit(&nesting, &mut |block, node, value, place| {
            reach(block, node, value, &[], place);
        });
        for call in self.rule.calls(&nesting) {
            let sinks = self.known.get(&std::ptr::from_ref(call.called));
            for sink in sinks.into_iter().flat_map(|sinks| &**sinks) {
                if let Some(code) = call.call.argument(&sink.parameter) {
                    let place = sink.place.clone();
                    reach(call.block, call.node, &code.root, &sink.path, place);
                }
            }
        }
        found
    }
}

impl<P: PartialEq> Sink<P> {
    fn is(&self, other: &Self) -> bool {
        self.parameter == other.parameter && self.path == other.path && self.place == other.place
    }
}

impl<'a> PlanCall<'a> {
    /// Returns the call that a statement makes, if it calls a plan.
    pub(super) fn of(nesting: &Nesting<'a>, block: BlockId, node: &'a Node) -> Option<Self> {
        let call = node.step()?.call()?;
        let Target::Plan(index, _) = &call.target else {
            return None;
        };
        let called = nesting.plan().plans.get(*index)?;
        Some(Self {
            block,
            node,
            call,
            called,
        })
    }
}

/// Returns a plan and those that it calls, directly or indirectly, each once; not all of them if there are many.
pub(super) fn with_called(plan: &Plan) -> Vec<&Plan> {
    let (mut found, mut seen) = (vec![plan], HashSet::default());
    let mut next = 0;
    while let Some(plan) = found.get(next).copied() {
        next += 1;
        for called in &plan.plans {
            if found.len() <= MAX_PLANS && seen.insert(Arc::as_ptr(called)) {
                found.push(called);
            }
        }
    }
    found
}
