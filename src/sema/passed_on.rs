//! What a form takes over from the tools that its fields are passed on to: labels, contracts, and what must not be shown.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::expr::{Code, LinkOp, Op, ReadKind};
use super::plan::{Block, Call, Input, InputField, Node, NodeId, NodeKind, Step, StepKind, Target};
use super::scope::Place;
use crate::diag::{Diagnostic, codes};
use crate::tools::sensitive_arguments;
use crate::types::{Contract, Parameter, Signature};
use crate::value::{Key, Value};

/// Hands to the forms among these statements what the calls below them say of their fields. `blocks` are the finished
/// blocks of the plan.
pub(super) fn take_over(nodes: &mut [Node], blocks: &[Block]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for index in 0..nodes.len() {
        let passed = passed_on(nodes, index, blocks);
        let Some(form) = nodes.get_mut(index).and_then(form_of) else { continue };
        for passed in passed {
            if let Some(field) = form.fields.iter_mut().find(|field| field.name == passed.field) {
                found.extend(passed.hand_to(field));
            }
        }
    }
    found
}

fn form_of(node: &mut Node) -> Option<&mut Input> {
    let NodeKind::Step(step) = &mut node.kind else { return None };
    if let StepKind::Input(input) = &mut step.kind { Some(input) } else { None }
}

/// A field of a form that is an argument of a tool, unchanged.
struct Passed {
    field: Arc<str>,
    signature: Arc<Signature>,
    argument: Arc<str>,
    /// Whether the call is made wherever the form was filled in.
    always: bool,
}

impl Passed {
    fn hand_to(&self, field: &mut InputField) -> Option<Diagnostic> {
        let labelled = sensitive_arguments(&self.signature, &Value::Null);
        let secret = labelled.iter().filter_map(|path| {
            let rest = path.strip_prefix(&*self.argument)?;
            rest.is_empty().then_some(rest).or_else(|| rest.strip_prefix('.'))
        });
        field.sensitive.extend(secret.map(Arc::from));
        let parameter = self.signature.parameter(&self.argument)?;
        field.label = field.label.take().or_else(|| parameter.description.clone());
        let contract = parameter.schema.clone().filter(|_| self.always)?;
        let broken = self.broken(field, parameter, &contract);
        field.contracts.push(contract);
        broken
    }

    /// A value written at the field that no call would take.
    fn broken(&self, field: &InputField, parameter: &Parameter, contract: &Contract) -> Option<Diagnostic> {
        field.codes().find_map(|code| {
            let constant = code.constant()?;
            let choices = field.options.as_ref().filter(|options| options.span == code.span);
            let values = if choices.is_some() { constant.as_list()? } else { std::slice::from_ref(constant) };
            let violation = values.iter().filter(|value| !value.is_null()).find_map(|value| {
                let violation = contract.violations(&value.to_json()).into_iter().next()?;
                Some(format!("{} {violation}", value.preview(60)))
            })?;
            let message = format!(
                "`{}` is passed on as `{}` of `{}`, and {violation}",
                field.name,
                parameter.name,
                self.signature.path()
            );
            let diagnostic = Diagnostic::new(&codes::types::SCHEMA_VIOLATION, code.span, message);
            Some(diagnostic.help("change the value to one that the contract allows"))
        })
    }
}

/// Where a form is read from: how many frames further out its value lies, and what its answers have decided so far.
struct Reader<'b> {
    blocks: &'b [Block],
    slot: u32,
    found: Vec<Passed>,
}

fn passed_on(nodes: &[Node], index: usize, blocks: &[Block]) -> Vec<Passed> {
    let asks = |node: &&Node| node.step().is_some_and(|step| matches!(step.kind, StepKind::Input(_)));
    let Some(form) = nodes.get(index).filter(asks) else { return Vec::new() };
    let Some(slot) = form.slot else { return Vec::new() };
    let mut reader = Reader { blocks, slot, found: Vec::new() };
    let around = |node: &Node| node.guard.iter().all(|atom| form.guard.contains(atom));
    reader.read((nodes, index + 1), 0, &around, true);
    reader.found
}

impl Reader<'_> {
    /// Reads statements `up` frames inside of the form's. Behind what an answer may end no call is sure to be made.
    fn read(&mut self, (nodes, first): (&[Node], usize), up: u16, unguarded: &dyn Fn(&Node) -> bool, mut always: bool) {
        let mut answered = BTreeSet::from([Place { up, slot: self.slot }]);
        let mut conditions = BTreeSet::new();
        for (id, node) in (0..).map(NodeId).zip(nodes).skip(first) {
            let reads = reads_any(node, &answered);
            match &node.kind {
                NodeKind::Let(_) if reads => answered.extend(node.slot.map(|slot| Place { up: 0, slot })),
                NodeKind::Condition(_) if reads => drop(conditions.insert(id)),
                NodeKind::Ensure { .. } => always &= !reads,
                NodeKind::Fail(_) => {
                    always &= !node.guard.iter().any(|atom| conditions.contains(&atom.condition));
                }
                NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => always &= unguarded(node),
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
        // What other blocks hold may be done never, or more than once.
        let once = always && matches!(step.kind, StepKind::Do(_));
        let mut inner = Vec::new();
        step.inner(&mut |block| inner.push(block));
        for block in inner.into_iter().filter_map(|block| self.blocks.get(block.0 as usize)) {
            self.read((&block.nodes, 0), up + 1, &|node| node.guard.is_empty(), once);
        }
    }

    fn call(&mut self, call: &Call, up: u16, always: bool) {
        let Target::Tool(signature) = &call.target else { return };
        for (argument, code) in &call.arguments {
            let Some(field) = self.field(code, up) else { continue };
            let (signature, argument) = (signature.clone(), argument.clone());
            self.found.push(Passed { field, signature, argument, always });
        }
    }

    /// The field of the form that an expression is, and nothing else.
    fn field(&self, code: &Code, up: u16) -> Option<Arc<str>> {
        let Op::Path { base, links } = &code.root.op else { return None };
        let ([link], Op::Place(place)) = (links.as_slice(), &base.op) else { return None };
        let LinkOp::Field { key: Key::String(field), .. } = &link.op else { return None };
        (*place == Place { up, slot: self.slot }).then(|| field.clone())
    }
}

fn reads_any(node: &Node, places: &BTreeSet<Place>) -> bool {
    let mut reads = false;
    node.codes(&mut |code| {
        reads |= code.reads.iter().any(|read| read.kind == ReadKind::Value && places.contains(&read.place));
    });
    reads
}
