//! Transfers labels, contracts and sensitive paths from the arguments of tools to the form fields that are passed to
//! them, also through called plans.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expr::{CheckedExpr, LinkOp, Op, ReadKind};
use super::plan::{
    Block, Call, Input, InputField, Node, NodeId, NodeKind, PassedArgument, Plan, PlanParameter,
    Step, StepKind, Target,
};
use super::scope::Place;
use crate::call::sensitive_arguments;
use crate::diag::{Diagnostic, codes};
use crate::types::{Contract, Parameter};
use crate::value::{Key, Value, path_in};

/// Annotates the forms among these statements with what the calls below them say about their fields. `blocks` are the
/// complete blocks of the plan, `plans` the ones that it calls.
pub(super) fn annotate_forms(
    nodes: &mut [Node],
    blocks: &[Block],
    plans: &[Arc<Plan>],
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for index in 0..nodes.len() {
        let passed = passed_on(nodes, index, (blocks, plans));
        let Some(form) = nodes.get_mut(index).and_then(form_of) else {
            continue;
        };
        for passed in passed {
            if let Some(field) = form
                .fields
                .iter_mut()
                .find(|field| field.name == passed.name)
            {
                found.extend(passed.to.annotate(field));
            }
        }
    }
    found
}

/// Records to which arguments of tools the parameters of a plan are passed.
pub(super) fn record_passed_arguments(
    parameters: &mut [PlanParameter],
    blocks: &[Block],
    plans: &[Arc<Plan>],
) {
    let Some(body) = blocks.first() else { return };
    let names: Vec<Arc<str>> = parameters
        .iter()
        .map(|parameter| parameter.name.clone())
        .collect();
    let mut reader = ReadFinder {
        blocks,
        plans,
        watched: WatchedSlots::Parameters(&names),
        found: Vec::new(),
    };
    reader.read((&body.nodes, 0), 0, &|node| node.guard.is_empty(), true);
    for Passed { name, to } in reader.found {
        let Some(parameter) = parameters
            .iter_mut()
            .find(|parameter| parameter.name == name)
        else {
            continue;
        };
        let same = |other: &&mut PassedArgument| {
            Arc::ptr_eq(&other.signature, &to.signature) && other.argument == to.argument
        };
        match parameter.passed_on.iter_mut().find(same) {
            Some(known) => known.always |= to.always,
            None => parameter.passed_on.push(to),
        }
    }
}

fn form_of(node: &mut Node) -> Option<&mut Input> {
    let NodeKind::Step(step) = &mut node.kind else {
        return None;
    };
    if let StepKind::Input(input) = &mut step.kind {
        Some(input)
    } else {
        None
    }
}

/// A field of a form, or a parameter of a plan, that is passed unchanged as an argument of a tool.
struct Passed {
    name: Arc<str>,
    to: PassedArgument,
}

impl PassedArgument {
    fn annotate(&self, field: &mut InputField) -> Option<Diagnostic> {
        let labelled = sensitive_arguments(&self.signature, &Value::Null);
        let secret = labelled
            .iter()
            .filter_map(|path| path_in(&self.argument, path));
        field.sensitive.extend(secret.map(Arc::from));
        let parameter = self.signature.parameter(&self.argument)?;
        field.label = field.label.take().or_else(|| parameter.description.clone());
        let contract = parameter.schema.clone().filter(|_| self.always)?;
        let broken = self.broken(field, parameter, &contract);
        field.contracts.push(contract);
        broken
    }

    /// Reports a constant value of the field that breaks the contract of the argument.
    fn broken(
        &self,
        field: &InputField,
        parameter: &Parameter,
        contract: &Contract,
    ) -> Option<Diagnostic> {
        field.codes().find_map(|code| {
            let constant = code.constant()?;
            let choices = field
                .options
                .as_ref()
                .filter(|options| options.span == code.span);
            let values = if choices.is_some() {
                constant.as_list()?
            } else {
                std::slice::from_ref(constant)
            };
            let violation = values
                .iter()
                .filter(|value| !value.is_null())
                .find_map(|value| {
                    let violation = contract.violations(&value.to_json()).into_iter().next()?;
                    Some(format!("{} {violation}", value.preview(60)))
                })?;
            let message = format!(
                "`{}` is passed on as `{}` of `{}`, but {violation}",
                field.name,
                parameter.name,
                self.signature.path()
            );
            let diagnostic = codes::types::SCHEMA_VIOLATION.at(code.span, message);
            Some(diagnostic.help("change the value to one that the contract allows"))
        })
    }
}

/// The values whose uses are searched. They are in the frame of the statements that are read first.
#[derive(Clone, Copy)]
enum WatchedSlots<'b> {
    /// The fields of the form in this slot.
    Form(u32),
    /// The parameters of a plan, each in the slot of its index.
    Parameters(&'b [Arc<str>]),
}

impl WatchedSlots<'_> {
    fn slots(self) -> std::ops::Range<u32> {
        match self {
            Self::Form(slot) => slot..slot + 1,
            Self::Parameters(names) => 0..u32::try_from(names.len()).unwrap_or(u32::MAX),
        }
    }
}

/// A search for the uses of values.
struct ReadFinder<'b> {
    blocks: &'b [Block],
    plans: &'b [Arc<Plan>],
    watched: WatchedSlots<'b>,
    found: Vec<Passed>,
}

fn passed_on(
    nodes: &[Node],
    index: usize,
    (blocks, plans): (&[Block], &[Arc<Plan>]),
) -> Vec<Passed> {
    let asks = |node: &&Node| {
        node.step()
            .is_some_and(|step| matches!(step.kind, StepKind::Input(_)))
    };
    let Some(form) = nodes.get(index).filter(asks) else {
        return Vec::new();
    };
    let Some(slot) = form.slot else {
        return Vec::new();
    };
    let mut reader = ReadFinder {
        blocks,
        plans,
        watched: WatchedSlots::Form(slot),
        found: Vec::new(),
    };
    let around = |node: &Node| node.guard.iter().all(|atom| form.guard.contains(atom));
    reader.read((nodes, index + 1), 0, &around, true);
    reader.found
}

impl ReadFinder<'_> {
    /// Reads statements that are `up` frames inside the frame of the values. A call after a statement that may end the
    /// block because of a value is not certain to be made.
    fn read(
        &mut self,
        (nodes, first): (&[Node], usize),
        up: u16,
        unguarded: &dyn Fn(&Node) -> bool,
        mut always: bool,
    ) {
        let mut answered: BTreeSet<Place> = self
            .watched
            .slots()
            .map(|slot| Place { up, slot })
            .collect();
        let mut conditions = BTreeSet::new();
        for (id, node) in (0..).map(NodeId).zip(nodes).skip(first) {
            let reads = reads_any(node, &answered);
            match &node.kind {
                NodeKind::Let(_) if reads => {
                    answered.extend(node.slot.map(|slot| Place { up: 0, slot }));
                }
                NodeKind::Condition(_) if reads => drop(conditions.insert(id)),
                NodeKind::Ensure { .. } => always &= !reads,
                NodeKind::Fail(_) => {
                    always &= !node
                        .guard
                        .iter()
                        .any(|atom| conditions.contains(&atom.condition));
                }
                NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => {
                    always &= unguarded(node);
                }
                NodeKind::Step(step) => self.step(step, up, always && unguarded(node)),
                NodeKind::Let(_)
                | NodeKind::Condition(_)
                | NodeKind::Task(_)
                | NodeKind::Set(_)
                | NodeKind::Listener(_) => {}
            }
        }
    }

    fn step(&mut self, step: &Step, up: u16, always: bool) {
        if let StepKind::Call(call) = &step.kind {
            self.call(call, up, always);
        }
        // Other blocks may not run at all, or run more than once.
        let once = always && matches!(step.kind, StepKind::Do(_));
        let mut inner = Vec::new();
        step.inner(&mut |block| inner.push(block));
        for block in inner
            .into_iter()
            .filter_map(|block| self.blocks.get(block.0 as usize))
        {
            self.read(
                (&block.nodes, 0),
                up + 1,
                &|node| node.guard.is_empty(),
                once,
            );
        }
    }

    fn call(&mut self, call: &Call, up: u16, always: bool) {
        for (argument, code) in &call.arguments {
            let Some(name) = self.name(code, up) else {
                continue;
            };
            match &call.target {
                Target::Tool(signature) => {
                    let to = PassedArgument {
                        signature: signature.clone(),
                        argument: argument.clone(),
                        always,
                    };
                    self.found.push(Passed { name, to });
                }
                Target::Plan(called, _) => {
                    let parameters = self.plans.get(*called).map(|plan| &plan.parameters);
                    let parameter = parameters
                        .and_then(|all| all.iter().find(|parameter| parameter.name == *argument));
                    let further = parameter.map_or(&[][..], |parameter| &parameter.passed_on);
                    self.found.extend(further.iter().map(|to| {
                        let to = PassedArgument {
                            always: always && to.always,
                            ..to.clone()
                        };
                        Passed {
                            name: name.clone(),
                            to,
                        }
                    }));
                }
            }
        }
    }

    /// Returns the name of the watched value that an expression consists of.
    fn name(&self, code: &CheckedExpr, up: u16) -> Option<Arc<str>> {
        match (self.watched, &code.root.op) {
            (WatchedSlots::Form(slot), Op::Path { base, links }) => {
                let ([link], Op::Place(place)) = (links.as_slice(), &base.op) else {
                    return None;
                };
                let LinkOp::Field {
                    key: Key::String(field),
                    ..
                } = &link.op
                else {
                    return None;
                };
                (*place == Place { up, slot }).then(|| field.clone())
            }
            (WatchedSlots::Parameters(names), Op::Place(place)) if place.up == up => {
                names.get(place.slot as usize).cloned()
            }
            (WatchedSlots::Form(_) | WatchedSlots::Parameters(_), _) => None,
        }
    }
}

fn reads_any(node: &Node, places: &BTreeSet<Place>) -> bool {
    let mut reads = false;
    node.codes(&mut |code| {
        reads |= code
            .reads
            .iter()
            .any(|read| read.kind == ReadKind::Value && places.contains(&read.place));
    });
    reads
}
