//! Follows a value backwards, through names, fields, templates and blocks, to the calls that gave it.
//!
//! `origins` follows only what certainly passes values on, so that every reported origin is certain. [`flow`] follows
//! everything that a value is made of or chosen by.

mod called;
mod flow;
mod text;

use std::rc::Rc;
use std::sync::Arc;

use foldhash::HashSet;

use crate::builtins::{Function, Shape};
use crate::sema::expr::{
    CheckedExpr, Comprehension, Link, LinkOp, MacroKind, MapKey, Node, Op, Operator, Piece,
};
use crate::sema::{
    Block, BlockId, Call, Nesting, Node as Statement, NodeKind, Place, Step, StepKind, Target,
};
use crate::source::Span;
use crate::types::{CallKind, Signature};
use crate::value::Key;
use flow::{Collector, ListOf};

pub(crate) use called::{InputPart, Origins, Passed, Reached, Traced};
pub use flow::{Flow, FlowContext, Part, Source, flow};
pub(crate) use text::{gives_free_text, is_free_text};

/// Maximum number of operations through which one value is followed.
const MAX_STEPS: usize = 10_000;

/// A part of the result of a call.
#[derive(Clone, Debug)]
pub(crate) struct Origin<'a> {
    /// The call in the plan that reads the value: of the tool, or of a plan that passes its result on.
    pub call: &'a Call,
    /// The contract of the tool.
    pub signature: &'a Signature,
    /// The fields from the result to the part; elements of lists have no name.
    pub path: Vec<Arc<str>>,
    /// Names that the value passed through, from the reader back to the call, each with the span that reads it.
    pub through: Vec<(Span, Arc<str>)>,
    /// Replies of called plans that passed the value on.
    pub passed: Vec<Rc<Passed<'a>>>,
}

impl Origin<'_> {
    /// Describes the part, such as `` `body.text` of `mail.read` ``.
    pub(crate) fn describe(&self) -> String {
        let tool = self.signature.path();
        if self.path.is_empty() {
            format!("`{tool}`")
        } else {
            format!("`{}` of `{tool}`", self.path.join("."))
        }
    }

    /// Returns the span of the name by which an expression reads it; all of the expression if it contains the call
    /// itself.
    pub(crate) fn read_in(&self, code: Span) -> Span {
        let first = self.through.first().map(|(span, _)| *span);
        first
            .filter(|first| code.start <= first.start && first.end <= code.end)
            .unwrap_or(code)
    }

    /// Returns true if both are the same part of the same result.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.call, other.call)
            && std::ptr::eq(self.signature, other.signature)
            && self.path == other.path
    }
}

struct Trace<'s, 'a> {
    nesting: &'s Nesting<'a>,
    /// How the replies of called plans are followed to certain origins.
    origins: Option<&'s Origins<'a>>,
    /// Certain origins, and the inputs of the plan that are certainly passed on.
    found: Traced<'a>,
    /// Replies of called plans that pass the current value on.
    passed: Vec<Rc<Passed<'a>>>,
    /// Number of called plans that the current plan is inside of.
    depth: usize,
    /// Collector of everything that the value is made of or chosen by; if `None`, only certain origins are followed.
    collector: Option<Collector<'s>>,
    through: Vec<(Span, Arc<str>)>,
    /// Variables of macros, innermost last.
    registers: Vec<Variable<'a>>,
    seen: HashSet<(BlockId, u32, Vec<Arc<str>>, u32)>,
    left: usize,
}

/// A variable of a macro, with the value that it is or whose elements it takes: some of the links after `base`.
#[derive(Clone, Copy)]
struct Variable<'a> {
    register: u16,
    base: &'a Node,
    links: &'a [Link],
    is_element: bool,
}

impl<'a> Variable<'a> {
    /// Returns a variable that is this value.
    fn new(register: u16, base: &'a Node) -> Self {
        Self {
            register,
            base,
            links: &[],
            is_element: false,
        }
    }
}

impl<'s, 'a> Trace<'s, 'a> {
    fn new(nesting: &'s Nesting<'a>, collector: Option<Collector<'s>>) -> Self {
        Self {
            nesting,
            origins: None,
            found: Traced::default(),
            passed: Vec::new(),
            depth: 0,
            collector,
            through: Vec::new(),
            registers: Vec::new(),
            seen: HashSet::default(),
            left: MAX_STEPS,
        }
    }

    /// Follows an expression. `selected` are the fields that the reader takes from the value; empty for all of it.
    fn node(&mut self, block: BlockId, node: &'a Node, selected: &[Arc<str>]) {
        if self.left == 0 {
            return self.give_up();
        }
        self.left -= 1;
        match &node.op {
            Op::Constant(value) => self.constant(value, selected),
            Op::Place(place) => self.place(block, *place, node.span, selected),
            Op::Register(register) => self.register(block, *register, selected),
            Op::Template(pieces) => self.joined(pieces.len() > 1, |trace| {
                trace.nodes(block, pieces.iter().filter_map(Piece::value), &[]);
            }),
            Op::List(elements) => self.list(ListOf::Element, |trace| {
                trace.nodes(block, elements.iter().map(|(node, _)| node), selected);
            }),
            Op::Coalesce(nodes) => self.nodes(block, nodes, selected),
            Op::Map(entries) => self.entries(block, entries, selected),
            Op::Path { base, links } => self.path(block, base, links, selected.to_vec()),
            Op::Chain { first, rest } => {
                let nodes = || std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node));
                if rest.iter().all(|(operator, _)| *operator == Operator::Add) {
                    self.joined(true, |trace| trace.nodes(block, nodes(), selected));
                } else {
                    self.computed(|trace| trace.nodes(block, nodes(), &[]));
                }
            }
            Op::Conditional { arms, otherwise } => {
                self.nodes(block, arms.iter().map(|(_, value)| value), selected);
                self.node(block, otherwise, selected);
                self.decided(|trace| {
                    trace.nodes(block, arms.iter().map(|(condition, _)| condition), &[]);
                });
            }
            Op::Match { subject, arms } => {
                self.nodes(block, arms.iter().map(|(_, value)| value), selected);
                self.decided(|trace| trace.node(block, subject, &[]));
            }
            Op::Call {
                function,
                arguments,
            } => self.function(block, function, arguments, selected),
            Op::Let {
                register,
                value,
                body,
            } => {
                self.registers.push(Variable::new(*register, value));
                self.node(block, body, selected);
                self.registers.pop();
            }
            Op::Not(node) | Op::Negate(node) | Op::Has(node) => {
                self.computed(|trace| trace.node(block, node, &[]));
            }
            Op::And(nodes) | Op::Or(nodes) => self.computed(|trace| trace.nodes(block, nodes, &[])),
            Op::Matches { subject, .. } => self.computed(|trace| trace.node(block, subject, &[])),
            // The end state of a step is not data of any source.
            Op::Is { .. } | Op::Winner(_) | Op::Fail(_) => self.computed(|_| {}),
        }
    }

    fn nodes(
        &mut self,
        block: BlockId,
        nodes: impl IntoIterator<Item = &'a Node>,
        selected: &[Arc<str>],
    ) {
        for node in nodes {
            self.node(block, node, selected);
        }
    }

    fn function(
        &mut self,
        block: BlockId,
        function: &Function,
        arguments: &'a [Node],
        selected: &[Arc<str>],
    ) {
        if !gives_text(function) {
            return self.computed(|trace| trace.nodes(block, arguments, &[]));
        }
        let keeps = keeps_elements(function);
        self.elements(|trace| {
            trace.joined(!keeps, |trace| {
                trace.nodes(block, arguments, if keeps { selected } else { &[] });
            });
        });
    }

    fn register(&mut self, block: BlockId, register: u16, selected: &[Arc<str>]) {
        let mut known = self.registers.iter().rev();
        let Some(known) = known.find(|known| known.register == register).copied() else {
            return;
        };
        let follow = |trace: &mut Self| {
            trace.path(block, known.base, known.links, selected.to_vec());
        };
        if known.is_element {
            self.list(ListOf::Value, follow);
        } else {
            follow(self);
        }
    }

    fn entries(&mut self, block: BlockId, entries: &'a [(MapKey, Node)], selected: &[Arc<str>]) {
        for (key, value) in entries {
            match (key, selected) {
                (MapKey::Constant(Key::String(name)), [first, rest @ ..]) if name == first => {
                    self.node(block, value, rest);
                }
                (MapKey::Constant(_), []) => {
                    self.elements(|trace| trace.node(block, value, &[]));
                }
                (MapKey::Computed(key), []) => {
                    self.elements(|trace| trace.node(block, value, &[]));
                    self.decided(|trace| trace.node(block, key, &[]));
                }
                // The key is only known at run time: it may be the selected one.
                (MapKey::Computed(key), [_, rest @ ..]) => self.decided(|trace| {
                    trace.node(block, value, rest);
                    trace.node(block, key, &[]);
                }),
                (MapKey::Constant(_), [_, ..]) => {}
            }
        }
    }

    /// Follows the links from the last one back to the base value.
    fn path(
        &mut self,
        block: BlockId,
        base: &'a Node,
        links: &'a [Link],
        mut selected: Vec<Arc<str>>,
    ) {
        let Some((last, before)) = links.split_last() else {
            return self.node(block, base, &selected);
        };
        match &last.op {
            LinkOp::Field {
                key: Key::String(name),
                ..
            } => {
                selected.insert(0, name.clone());
                self.path(block, base, before, selected);
            }
            LinkOp::Index(index) => {
                if let Some(name) = index.constant().and_then(|name| name.as_str()) {
                    selected.insert(0, name.into());
                    self.path(block, base, before, selected);
                } else {
                    self.list(ListOf::Value, |trace| {
                        trace.path(block, base, before, selected);
                    });
                }
                self.decided(|trace| trace.node(block, index, &[]));
            }
            LinkOp::Call {
                function,
                arguments,
            } if gives_text(function) => {
                let keeps = keeps_elements(function);
                let selected = if keeps { selected } else { Vec::new() };
                self.elements(|trace| {
                    trace.joined(!keeps, |trace| {
                        trace.path(block, base, before, selected);
                        trace.nodes(block, arguments, &[]);
                    });
                });
            }
            LinkOp::Macro(comprehension) => {
                self.comprehension(block, base, before, comprehension, selected);
            }
            LinkOp::Call { arguments, .. } => self.computed(|trace| {
                trace.path(block, base, before, Vec::new());
                trace.nodes(block, arguments, &[]);
            }),
            LinkOp::Field { .. } | LinkOp::Matches(_) | LinkOp::Fail(_) => {
                self.computed(|trace| trace.path(block, base, before, Vec::new()));
            }
        }
    }

    fn comprehension(
        &mut self,
        block: BlockId,
        base: &'a Node,
        links: &'a [Link],
        comprehension: &'a Comprehension,
        selected: Vec<Arc<str>>,
    ) {
        let variables = [Some(comprehension.first), comprehension.second];
        for register in variables.into_iter().flatten() {
            self.registers.push(Variable {
                register,
                base,
                links,
                is_element: true,
            });
        }
        let body = &comprehension.body;
        match comprehension.kind {
            MacroKind::Filter | MacroKind::SortBy => {
                self.elements(|trace| trace.path(block, base, links, selected));
                self.decided(|trace| trace.node(block, body, &[]));
            }
            MacroKind::Map if comprehension.second.is_none() => {
                self.list(ListOf::Element, |trace| trace.node(block, body, &selected));
            }
            MacroKind::Map
            | MacroKind::All
            | MacroKind::Exists
            | MacroKind::ExistsOne
            | MacroKind::TransformList
            | MacroKind::TransformMap
            | MacroKind::TransformMapEntry => self.computed(|trace| {
                trace.path(block, base, links, Vec::new());
                trace.node(block, body, &[]);
            }),
        }
        if let Some(condition) = &comprehension.condition {
            self.decided(|trace| trace.node(block, condition, &[]));
        }
        for _ in variables.into_iter().flatten() {
            self.registers.pop();
        }
    }

    fn place(&mut self, block: BlockId, place: Place, span: Span, selected: &[Arc<str>]) {
        let Some(frame) = self.nesting.frame(block, place) else {
            return;
        };
        let key = (frame, place.slot, selected.to_vec(), self.mode());
        if !self.seen.insert(key) {
            return;
        }
        let content = self.nesting.plan().block(frame);
        let mut none = true;
        for produced in content.producers(place.slot) {
            none = false;
            self.produced(frame, produced, span, selected);
        }
        if none {
            self.local(frame, place.slot, selected);
        }
    }

    /// Follows the value that a statement produces.
    fn produced(
        &mut self,
        frame: BlockId,
        produced: &'a Statement,
        span: Span,
        selected: &[Arc<str>],
    ) {
        if let Some(name) = &produced.name {
            self.through.push((span, name.clone()));
        }
        match &produced.kind {
            NodeKind::Let(code) => self.node(frame, &code.root, selected),
            NodeKind::Step(step) => self.step(frame, produced, step, selected),
            NodeKind::Task(task) => self.context(*task, selected),
            _ => {}
        }
        if produced.name.is_some() {
            self.through.pop();
        }
    }

    /// Follows a value that a block binds: the element of an `each`, the state of a `repeat`.
    fn local(&mut self, frame: BlockId, slot: u32, selected: &[Arc<str>]) {
        let Some((outer, owner)) = self.nesting.owner(frame) else {
            return self.parameter(slot, selected);
        };
        let kind = owner.step().map(|step| &step.kind);
        match kind {
            Some(StepKind::Each(each)) if each.body == frame && slot == 0 => {
                self.list(ListOf::Value, |trace| {
                    trace.node(outer, &each.list.root, selected);
                });
            }
            // The number of an element is not data of any source.
            Some(StepKind::Each(each)) if each.body == frame => self.computed(|_| {}),
            Some(StepKind::Repeat(repeat)) if repeat.body == frame && slot == 0 => {
                self.node(outer, &repeat.initial.root, selected);
                self.values(frame, selected, |node| {
                    if let NodeKind::Next(code) = &node.kind {
                        Some(code)
                    } else {
                        None
                    }
                });
            }
            _ => self.bound_value(outer, owner, frame, slot, selected),
        }
    }

    fn step(&mut self, block: BlockId, node: &'a Statement, step: &'a Step, selected: &[Arc<str>]) {
        match (&step.kind, selected) {
            (StepKind::Call(call), _) => self.call(block, call, selected),
            (StepKind::Each(each), [value, rest @ ..]) if each.settle && **value == *"value" => {
                self.list(ListOf::Element, |trace| trace.yields(each.body, rest));
            }
            (StepKind::Each(each), [_, ..]) if each.settle => {
                self.computed(|trace| trace.yields(each.body, &[]));
            }
            (StepKind::Do(body), _) => self.yields(*body, selected),
            (StepKind::Each(each), _) => {
                self.list(ListOf::Element, |trace| trace.yields(each.body, selected));
            }
            (StepKind::Repeat(repeat), _) => {
                self.list(ListOf::Element, |trace| trace.yields(repeat.body, selected));
            }
            (StepKind::Race(branches), _) => branches
                .iter()
                .for_each(|(_, body)| self.yields(*body, selected)),
            (StepKind::Match { subject, arms }, _) => {
                for (_, body) in arms {
                    self.yields(*body, selected);
                }
                self.decided(|trace| trace.node(block, &subject.root, &[]));
            }
            (StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged, _) => {
                self.external(block, node, step, selected);
            }
        }
        step.recover
            .iter()
            .for_each(|arm| self.yields(arm.body, selected));
    }

    fn call(&mut self, block: BlockId, call: &'a Call, selected: &[Arc<str>]) {
        let signature = match &call.target {
            Target::Tool(signature) => signature,
            Target::Plan(index, _) => return self.called_plan(block, (call, *index), selected),
        };
        if let Some(given) = signature
            .returned_argument
            .as_deref()
            .and_then(|name| call.argument(name))
        {
            return self.node(block, &given.root, selected);
        }
        let source = match signature.kind {
            CallKind::Model => Some(Source::Model),
            CallKind::Agent | CallKind::ReadOnlyAgent => {
                Some(Source::Agent(signature.namespace.clone()))
            }
            CallKind::Tool | CallKind::Skill => None,
        };
        if let (Some(source), true) = (source, self.collector.is_some()) {
            return self.prompted(block, call, source);
        }
        let origin = Origin {
            call,
            signature,
            path: selected.to_vec(),
            through: self.through.clone(),
            passed: self.passed.clone(),
        };
        if let Some(collector) = &mut self.collector {
            collector.result(&origin);
        } else {
            self.found.add(origin);
        }
    }

    fn yields(&mut self, block: BlockId, selected: &[Arc<str>]) {
        self.values(block, selected, |node| {
            if let NodeKind::Yield(code) = &node.kind {
                Some(code)
            } else {
                None
            }
        });
    }

    fn values(
        &mut self,
        block: BlockId,
        selected: &[Arc<str>],
        of: impl Fn(&'a Statement) -> Option<&'a CheckedExpr>,
    ) {
        let content: &'a Block = self.nesting.plan().block(block);
        content
            .nodes
            .iter()
            .filter_map(of)
            .for_each(|code| self.node(block, &code.root, selected));
    }
}

/// Reports whether text that is passed to a function may be part of its result.
fn gives_text(function: &Function) -> bool {
    function
        .overloads
        .iter()
        .any(|overload| carries(&overload.result))
}

fn carries(shape: &Shape) -> bool {
    match shape {
        Shape::Any | Shape::String | Shape::Bytes | Shape::Variable(_) => true,
        Shape::List(element) | Shape::Entry(element) | Shape::Optional(element) => carries(element),
        Shape::Map(_, value) => carries(value),
        Shape::Null
        | Shape::Bool
        | Shape::Int
        | Shape::Uint
        | Shape::Double
        | Shape::Timestamp
        | Shape::Duration
        | Shape::Type
        | Shape::Number => false,
    }
}

/// Reports whether the elements of the result are elements of the arguments.
fn keeps_elements(function: &Function) -> bool {
    function
        .overloads
        .iter()
        .any(|overload| match overload.result {
            Shape::Variable(_) => true,
            Shape::List(element) | Shape::Optional(element) => {
                matches!(element, Shape::Variable(_))
            }
            _ => false,
        })
}
