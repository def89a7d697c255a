//! Follows values to the calls that certainly give them, through the replies of called plans.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::HashMap;

use super::{Origin, Trace};
use crate::sema::expr::{Link, Node};
use crate::sema::{BlockId, Call, Nesting, Node as Statement, NodeKind, Plan};

/// Maximum number of called plans inside each other through which a value is followed.
const MAX_DEPTH: usize = 16;

/// A part of an input of a plan.
#[derive(Clone, Debug)]
pub(crate) struct InputPart<'a> {
    /// Index of the parameter.
    pub slot: u32,
    /// The fields from the input to the part.
    pub path: Vec<Arc<str>>,
    /// Replies of called plans that passed the value on.
    pub passed: Vec<Rc<Passed<'a>>>,
}

impl InputPart<'_> {
    fn is(&self, other: &Self) -> bool {
        self.slot == other.slot && self.path == other.path
    }
}

/// Where a value certainly comes from.
#[derive(Clone, Debug)]
pub(crate) enum Reached<'a> {
    Result(Origin<'a>),
    Input(InputPart<'a>),
}

/// A reply of a called plan that passes a value on.
#[derive(Clone, Debug)]
pub(crate) struct Passed<'a> {
    /// The called plan.
    pub nesting: Nesting<'a>,
    pub block: BlockId,
    pub reply: &'a Statement,
    /// Where the value comes from inside of the called plan.
    pub reached: Reached<'a>,
}

/// The certain sources of a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traced<'a> {
    pub origins: Vec<Origin<'a>>,
    pub inputs: Vec<InputPart<'a>>,
}

impl<'a> Traced<'a> {
    pub(super) fn add(&mut self, origin: Origin<'a>) {
        let same = |known: &Origin<'a>| known.is(&origin) && is_way(&known.passed, &origin.passed);
        if !self.origins.iter().any(same) {
            self.origins.push(origin);
        }
    }

    fn add_input(&mut self, input: InputPart<'a>) {
        let same = |known: &InputPart<'a>| known.is(&input) && is_way(&known.passed, &input.passed);
        if !self.inputs.iter().any(same) {
            self.inputs.push(input);
        }
    }

    /// Returns true if one of the sources is this one.
    pub(crate) fn reaches(&self, source: &Reached<'a>) -> bool {
        match source {
            Reached::Result(origin) => self.origins.iter().any(|known| known.is(origin)),
            Reached::Input(input) => self.inputs.iter().any(|known| known.is(input)),
        }
    }
}

/// Returns true if two values were passed on by the same replies.
fn is_way(one: &[Rc<Passed<'_>>], other: &[Rc<Passed<'_>>]) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| Rc::ptr_eq(one, other))
}

/// What the replies of a plan pass on, by the plan and the selected fields of the reply.
type Replies<'a> = HashMap<(*const Plan, Vec<Arc<str>>), Rc<[Rc<Passed<'a>>]>>;

/// Certain origins of the values of a plan and of the plans that it calls.
#[derive(Default)]
pub(crate) struct Origins<'a> {
    nestings: RefCell<HashMap<*const Plan, Nesting<'a>>>,
    replies: RefCell<Replies<'a>>,
}

impl<'a> Origins<'a> {
    /// Returns a called plan with the owners of its blocks.
    pub(crate) fn nesting(&self, plan: &'a Plan) -> Nesting<'a> {
        let mut known = self.nestings.borrow_mut();
        known
            .entry(plan)
            .or_insert_with(|| Nesting::of(plan))
            .clone()
    }

    /// Returns every call and every input that certainly gives a part of the value of an expression, or of a part of
    /// one outside of all macros.
    pub(crate) fn of_node(
        &self,
        nesting: &Nesting<'a>,
        block: BlockId,
        node: &'a Node,
    ) -> Traced<'a> {
        self.of_path(nesting, block, node, &[], &[])
    }

    /// Returns the origins of these fields of a value and some of the links after it.
    pub(crate) fn of_path(
        &self,
        nesting: &Nesting<'a>,
        block: BlockId,
        base: &'a Node,
        links: &'a [Link],
        selected: &[Arc<str>],
    ) -> Traced<'a> {
        let mut trace = Trace::new(nesting, None);
        trace.origins = Some(self);
        trace.path(block, base, links, selected.to_vec());
        trace.found
    }

    fn replies(&self, plan: &'a Plan, selected: &[Arc<str>], depth: usize) -> Rc<[Rc<Passed<'a>>]> {
        let key = (std::ptr::from_ref(plan), selected.to_vec());
        if let Some(known) = self.replies.borrow().get(&key) {
            return known.clone();
        }
        let nesting = self.nesting(plan);
        let mut replies = Vec::new();
        for (block, _, reply) in plan.sites() {
            let NodeKind::Reply(code) = &reply.kind else {
                continue;
            };
            let mut trace = Trace::new(&nesting, None);
            (trace.origins, trace.depth) = (Some(self), depth);
            trace.node(block, &code.root, selected);
            let results = trace.found.origins.into_iter().map(Reached::Result);
            let inputs = trace.found.inputs.into_iter().map(Reached::Input);
            replies.extend(results.chain(inputs).map(|reached| {
                Rc::new(Passed {
                    nesting: nesting.clone(),
                    block,
                    reply,
                    reached,
                })
            }));
        }
        let replies: Rc<[_]> = replies.into();
        self.replies.borrow_mut().insert(key, replies.clone());
        replies
    }
}

impl<'a> Trace<'_, 'a> {
    /// Follows the replies of a called plan to the calls in it, and to the arguments that it passes on.
    pub(super) fn replied(
        &mut self,
        block: BlockId,
        (call, index): (&'a Call, usize),
        selected: &[Arc<str>],
    ) {
        let (Some(origins), true) = (self.origins, self.depth < MAX_DEPTH) else {
            return;
        };
        let Some(called) = self.nesting.plan().plans.get(index) else {
            return;
        };
        for passed in &*origins.replies(called, selected, self.depth + 1) {
            self.passed.push(passed.clone());
            match &passed.reached {
                Reached::Result(inner) => self.found.add(Origin {
                    call,
                    signature: inner.signature,
                    path: inner.path.clone(),
                    through: self.through.clone(),
                    passed: self.passed.clone(),
                }),
                Reached::Input(input) => {
                    let parameter = called.parameters.get(input.slot as usize);
                    let argument = parameter.and_then(|own| call.argument(&own.name));
                    if let Some(code) = argument {
                        self.node(block, &code.root, &input.path);
                    }
                }
            }
            self.passed.pop();
        }
    }

    /// Records an input of the plan.
    pub(super) fn certain_input(&mut self, slot: u32, selected: &[Arc<str>]) {
        self.found.add_input(InputPart {
            slot,
            path: selected.to_vec(),
            passed: self.passed.clone(),
        });
    }
}
