//! The errors that a step, a block or a plan can end with; more than they do where that is not known.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::sema::{Block, Call, NodeKind, Plan, Recover, Step, StepKind, Target, Wait};
use crate::types::{Auth, Denied, Effect, ErrorClass, ErrorPattern, Signature, Transient, Validation};

/// Error classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    known: HashSet<ErrorClass>,
    /// Every `tool.name`.
    any_tool: bool,
    /// Nothing is known, so every class counts.
    any: bool,
}

/// What the blocks of plans can end with, by plan.
#[derive(Default)]
pub(super) struct Raising {
    blocks: HashMap<*const Plan, Rc<Vec<Classes>>>,
}

impl Classes {
    /// Whether an arm that names this can be taken.
    pub(super) fn may_match(&self, pattern: &ErrorPattern) -> bool {
        let tool = match pattern {
            ErrorPattern::Class(class) => matches!(class, ErrorClass::Tool(_)),
            ErrorPattern::Family(family) => *family == "tool",
        };
        self.any || tool && self.any_tool || self.known.iter().any(|class| pattern.matches(class))
    }

    /// The names of the classes, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = self.known.iter().map(ToString::to_string).collect::<Vec<_>>();
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

    /// What is left where these arms take theirs.
    fn without(mut self, arms: &[Recover]) -> Self {
        self.known.retain(|class| !arms.iter().any(|arm| arm.catches(class)));
        let all_tools = |arm: &Recover| arm.patterns.is_empty() || arm.patterns.contains(&ErrorPattern::Family("tool"));
        self.any_tool &= !arms.iter().any(all_tools);
        self
    }
}

impl Raising {
    /// What a step can fail with before its arms take over.
    pub(super) fn step(&mut self, plan: &Plan, step: &Step) -> Classes {
        let blocks = self.blocks(plan);
        self.work(plan, step, &blocks)
    }

    /// By the number of the block.
    fn blocks(&mut self, plan: &Plan) -> Rc<Vec<Classes>> {
        if let Some(known) = self.blocks.get(&std::ptr::from_ref(plan)) {
            return known.clone();
        }
        let mut blocks = vec![Classes::default(); plan.blocks.len()];
        // A block has a higher number than the one around it.
        for (number, block) in plan.blocks.iter().enumerate().rev() {
            let classes = self.block(plan, block, &blocks);
            if let Some(place) = blocks.get_mut(number) {
                *place = classes;
            }
        }
        let blocks = Rc::new(blocks);
        self.blocks.insert(std::ptr::from_ref(plan), blocks.clone());
        blocks
    }

    fn block(&mut self, plan: &Plan, block: &Block, inner: &[Classes]) -> Classes {
        let mut classes = Classes::default();
        classes.add(anywhere());
        for node in &block.nodes {
            match &node.kind {
                NodeKind::Step(step) => {
                    classes.join(&self.work(plan, step, inner).without(&step.recover));
                    for arm in &step.recover {
                        inner.get(arm.body.0 as usize).into_iter().for_each(|arm| classes.join(arm));
                    }
                }
                NodeKind::Ensure { .. } => classes.add([ErrorClass::Validation(Validation::Ensure)]),
                NodeKind::Fail(failing) => classes.add([failing.class.clone()]),
                NodeKind::Listener(listener) => {
                    inner.get(listener.body.0 as usize).into_iter().for_each(|body| classes.join(body));
                }
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

    /// What a step does, without its arms.
    fn work(&mut self, plan: &Plan, step: &Step, inner: &[Classes]) -> Classes {
        let mut classes = Classes::default();
        classes.add(anywhere());
        bounds(step, &mut classes);
        match &step.kind {
            StepKind::Call(Call { target: Target::Tool(signature), effect, .. }) => {
                tool(signature, *effect, &mut classes);
            }
            StepKind::Call(Call { target: Target::Plan(index, _), .. }) => {
                let called: Option<Arc<Plan>> = plan.plans.get(*index).cloned();
                if let Some(body) = called.and_then(|called| self.blocks(&called).first().cloned()) {
                    classes.join(&body);
                }
            }
            StepKind::Do(_) | StepKind::Each(_) | StepKind::Repeat(_) | StepKind::Race(_) | StepKind::Match { .. } => {
                step.bodies().filter_map(|body| inner.get(body.0 as usize)).for_each(|body| classes.join(body));
            }
            StepKind::Input(_) => classes.add([ErrorClass::Denied(Denied::Human)]),
            StepKind::Wait(wait) => match &**wait {
                Wait::For(_) | Wait::Until(_) => {}
                Wait::Event { .. } => classes.add([ErrorClass::Validation(Validation::Result)]),
            },
            StepKind::Ask(_) | StepKind::Infer(_) | StepKind::Damaged => classes.any = true,
        }
        classes
    }
}

/// What every step and every block can fail with.
fn anywhere() -> [ErrorClass; 2] {
    [ErrorClass::Validation(Validation::Expression), ErrorClass::Internal]
}

/// What the clauses of a step bring.
fn bounds(step: &Step, classes: &mut Classes) {
    if step.until().is_some() {
        classes.add([ErrorClass::Validation(Validation::Until)]);
    } else if step.within().is_some() {
        let for_somebody = match &step.kind {
            StepKind::Input(_) => true,
            StepKind::Wait(wait) => matches!(**wait, Wait::Event { .. }),
            _ => false,
        };
        classes.add([if for_somebody { ErrorClass::Expired } else { ErrorClass::Transient(Transient::Timeout) }]);
    }
    if step.clauses.as_ref().is_some_and(|clauses| clauses.confirm.is_some()) {
        classes.add([ErrorClass::Denied(Denied::Human), ErrorClass::Expired]);
    }
}

/// What a call of a tool can fail with.
fn tool(signature: &Signature, effect: Effect, classes: &mut Classes) {
    let transient = [Transient::Timeout, Transient::Unavailable, Transient::RateLimited, Transient::Network];
    classes.add(transient.map(ErrorClass::Transient));
    classes.add([Validation::Arguments, Validation::Result].map(ErrorClass::Validation));
    classes.add([Auth::Authentication, Auth::Authorization].map(ErrorClass::Auth));
    classes.add([ErrorClass::Denied(Denied::Policy)]);
    if !effect.floats() {
        classes.add([ErrorClass::UnknownOutcome]);
    }
    // An empty list says nothing; one with names is complete, since any other reason is `tool.failed`.
    classes.any_tool = signature.raises.is_empty();
    classes.add(signature.raises.iter().map(|name| ErrorClass::Tool(name.clone())));
    classes.add([ErrorClass::Tool("failed".into())]);
}
