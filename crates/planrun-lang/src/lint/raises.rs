//! Computes the errors that a step, a block or a plan can end with; a superset if they are not known exactly.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};

use super::CallSettings;
use crate::sema::{Block, BlockId, Call, NodeKind, Plan, Recover, Step, StepKind, Target, Wait};
use crate::types::{
    Auth, Denied, Effect, ErrorClass, ErrorPattern, Signature, Transient, Validation,
};

/// A set of error classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    known: HashSet<ErrorClass>,
    /// Whether all classes `tool.name` are included.
    any_tool: bool,
    /// Whether all classes are included, because nothing is known.
    any: bool,
}

/// The errors that blocks can end with, computed on demand and memoized.
pub(super) struct Raising<'a> {
    calls: Option<&'a dyn CallSettings>,
    blocks: HashMap<(*const Plan, BlockId), Rc<Classes>>,
}

impl Classes {
    /// Returns true if an arm with this pattern can be taken.
    pub(super) fn may_match(&self, pattern: &ErrorPattern) -> bool {
        let tool = match pattern {
            ErrorPattern::Class(class) => matches!(class, ErrorClass::Tool(_)),
            ErrorPattern::Family(family) => *family == "tool",
        };
        self.any || tool && self.any_tool || self.known.iter().any(|class| pattern.matches(class))
    }

    /// Returns the sorted names of the classes.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = self
            .known
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        if self.any_tool {
            names.push("tool".to_owned());
        }
        names.sort();
        names
    }

    fn add(&mut self, classes: impl IntoIterator<Item = ErrorClass>) {
        self.known.extend(classes);
    }

    fn join(&mut self, other: &Self) {
        self.known.extend(other.known.iter().cloned());
        self.any_tool |= other.any_tool;
        self.any |= other.any;
    }

    /// Removes the classes that the arms catch.
    fn without(mut self, arms: &[Recover]) -> Self {
        self.known
            .retain(|class| !arms.iter().any(|arm| arm.catches(class)));
        let all_tools = |arm: &Recover| {
            arm.patterns.is_empty() || arm.patterns.contains(&ErrorPattern::Family("tool"))
        };
        self.any_tool &= !arms.iter().any(all_tools);
        self
    }
}

impl<'a> Raising<'a> {
    pub(super) fn new(calls: Option<&'a dyn CallSettings>) -> Self {
        Self {
            calls,
            blocks: HashMap::default(),
        }
    }

    /// Returns the errors that a block can end with. The recursion is bounded by the nesting of the text, and plans do
    /// not call each other in cycles.
    fn block(&mut self, plan: &Plan, id: BlockId) -> Rc<Classes> {
        let key = (std::ptr::from_ref(plan), id);
        if let Some(known) = self.blocks.get(&key) {
            return known.clone();
        }
        let classes = Rc::new(self.statements(plan, plan.block(id)));
        self.blocks.insert(key, classes.clone());
        classes
    }

    fn statements(&mut self, plan: &Plan, block: &Block) -> Classes {
        let mut classes = Classes::default();
        classes.add(anywhere());
        for node in &block.nodes {
            match &node.kind {
                NodeKind::Step(step) => {
                    classes.join(&self.step(plan, step).without(&step.recover));
                    for arm in &step.recover {
                        classes.join(&self.block(plan, arm.body));
                    }
                }
                NodeKind::Ensure { .. } => {
                    classes.add([ErrorClass::Validation(Validation::Ensure)]);
                }
                NodeKind::Fail(failing) => classes.add([failing.class.clone()]),
                NodeKind::Listener(listener) => classes.join(&self.block(plan, listener.body)),
                NodeKind::Condition(_)
                | NodeKind::Let(_)
                | NodeKind::Reply(_)
                | NodeKind::Yield(_)
                | NodeKind::Next(_)
                | NodeKind::Task(_)
                | NodeKind::Set(_) => {}
            }
        }
        classes
    }

    /// Returns the errors that a step can fail with before its `recover` arms apply.
    pub(super) fn step(&mut self, plan: &Plan, step: &Step) -> Classes {
        let mut classes = Classes::default();
        classes.add(anywhere());
        bounds(step, &mut classes);
        match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                effect,
                ..
            }) => {
                tool(signature, *effect, &mut classes);
                if self.calls.is_some_and(|calls| calls.confirms(signature)) {
                    classes.add([ErrorClass::Denied(Denied::Human), ErrorClass::Expired]);
                }
            }
            StepKind::Call(Call {
                target: Target::Plan(index, _),
                ..
            }) => {
                if let Some(called) = plan.plans.get(*index) {
                    classes.join(&self.block(called, BlockId(0)));
                }
            }
            StepKind::Do(_)
            | StepKind::Each(_)
            | StepKind::Repeat(_)
            | StepKind::Race(_)
            | StepKind::Match { .. } => {
                step.bodies()
                    .for_each(|body| classes.join(&self.block(plan, body)));
            }
            StepKind::Input(_) => classes.add([ErrorClass::Denied(Denied::Human)]),
            StepKind::Wait(wait) => match &**wait {
                Wait::For(_) | Wait::Until(_) => {}
                Wait::Event { .. } => classes.add([ErrorClass::Validation(Validation::Result)]),
            },
            StepKind::Damaged => classes.any = true,
        }
        classes
    }
}

/// The errors that any step and any block can fail with.
fn anywhere() -> [ErrorClass; 2] {
    [
        ErrorClass::Validation(Validation::Expression),
        ErrorClass::Internal,
    ]
}

/// Adds the errors that the clauses of a step can cause.
fn bounds(step: &Step, classes: &mut Classes) {
    if step.until().is_some() {
        classes.add([ErrorClass::Validation(Validation::Until)]);
    } else if step.within().is_some() {
        let asks_person = match &step.kind {
            StepKind::Input(_) => true,
            StepKind::Wait(wait) => matches!(**wait, Wait::Event { .. }),
            _ => false,
        };
        classes.add([if asks_person {
            ErrorClass::Expired
        } else {
            ErrorClass::Transient(Transient::Timeout)
        }]);
    }
    if step.confirm().is_some() {
        classes.add([ErrorClass::Denied(Denied::Human), ErrorClass::Expired]);
    }
}

/// Adds the errors that a call of a tool can fail with.
fn tool(signature: &Signature, effect: Effect, classes: &mut Classes) {
    // It fails with the class that it is given.
    if (&*signature.namespace, &*signature.name) == ("sys", "fail") {
        classes.any = true;
        return;
    }
    let transient = [
        Transient::Timeout,
        Transient::Unavailable,
        Transient::RateLimited,
        Transient::Network,
    ];
    classes.add(transient.map(ErrorClass::Transient));
    classes.add([Validation::Arguments, Validation::Result].map(ErrorClass::Validation));
    classes.add([Auth::Authentication, Auth::Authorization].map(ErrorClass::Auth));
    classes.add([ErrorClass::Denied(Denied::Policy)]);
    if !effect.is_read_only() {
        classes.add([ErrorClass::UnknownOutcome]);
    }
    // An empty list means unknown; a list with names is complete, since any other reason is `tool.failed`.
    classes.any_tool = signature.raises.is_empty();
    classes.add(
        signature
            .raises
            .iter()
            .map(|name| ErrorClass::Tool(name.clone())),
    );
    classes.add([ErrorClass::Tool("failed".into())]);
}
