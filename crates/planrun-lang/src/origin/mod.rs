//! Where a value comes from: followed backwards, through names, fields, templates and blocks, to the calls that gave it.
//!
//! `origins` follows only what surely passes on, so that nothing is said of what cannot be shown. [`flow`] follows
//! everything that a value is made of or chosen by.

mod flow;
mod text;

use std::sync::Arc;

use foldhash::HashSet;

use crate::builtins::{Function, Shape};
use crate::sema::expr::{
    Code, Comprehension, Link, LinkOp, MacroKind, MapKey, Node, Op, Operator, Piece,
};
use crate::sema::{
    Block, BlockId, Call, Nesting, Node as Statement, NodeKind, Place, Step, StepKind, Target,
};
use crate::source::Span;
use crate::types::{CallKind, Signature};
use crate::value::Key;
use flow::{Gathering, ListOf};

pub use flow::{Flow, Ground, Part, Source, flow};
pub(crate) use text::{gives_free_text, is_free_text};

/// How many operations one value is followed through.
const MAX_STEPS: usize = 10_000;

/// A part of the result of a call.
#[derive(Clone, Debug)]
pub(crate) struct Origin<'a> {
    pub call: &'a Call,
    pub signature: &'a Signature,
    /// The fields from the result to the part; elements of lists have no name.
    pub path: Vec<Arc<str>>,
    /// The names that it passed through, from the reader back to the call.
    pub through: Vec<(Span, Arc<str>)>,
}

impl Origin<'_> {
    /// The part as it would be written behind the tool's name.
    pub(crate) fn told(&self) -> String {
        let tool = self.signature.path();
        if self.path.is_empty() {
            format!("`{tool}`")
        } else {
            format!("`{}` of `{tool}`", self.path.join("."))
        }
    }

    /// The name by which an expression reads it; all of the expression where it is the call itself.
    pub(crate) fn read_in(&self, code: Span) -> Span {
        let first = self.through.first().map(|(span, _)| *span);
        first
            .filter(|first| code.start <= first.start && first.end <= code.end)
            .unwrap_or(code)
    }

    /// Whether both are the same part of the same answer.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self.call, other.call) && self.path == other.path
    }
}

/// Every call that surely gives a part of the value of an expression.
pub(crate) fn origins<'a>(
    nesting: &Nesting<'a>,
    block: BlockId,
    code: &'a Code,
) -> Vec<Origin<'a>> {
    of_node(nesting, block, &code.root)
}

/// The same for a part of an expression that stands outside of every macro.
pub(crate) fn of_node<'a>(
    nesting: &Nesting<'a>,
    block: BlockId,
    node: &'a Node,
) -> Vec<Origin<'a>> {
    of_path(nesting, block, node, &[])
}

/// The same for a value and some of the links behind it.
pub(crate) fn of_path<'a>(
    nesting: &Nesting<'a>,
    block: BlockId,
    base: &'a Node,
    links: &'a [Link],
) -> Vec<Origin<'a>> {
    let mut trace = Trace::new(nesting, None);
    trace.path(block, base, links, Vec::new());
    trace.found
}

struct Trace<'s, 'a> {
    nesting: &'s Nesting<'a>,
    found: Vec<Origin<'a>>,
    /// What gathers everything that the value is made of or chosen by; without it only what surely passes on is followed.
    gathering: Option<Gathering<'s>>,
    through: Vec<(Span, Arc<str>)>,
    /// Variables of macros: the block, and the list whose elements they are.
    registers: Vec<(u16, Range<'a>)>,
    seen: HashSet<(BlockId, u32, Vec<Arc<str>>, u32)>,
    left: usize,
}

/// A value with some of the links behind it.
#[derive(Clone, Copy)]
struct Range<'a> {
    base: &'a Node,
    links: &'a [Link],
}

impl<'s, 'a> Trace<'s, 'a> {
    fn new(nesting: &'s Nesting<'a>, gathering: Option<Gathering<'s>>) -> Self {
        Self {
            nesting,
            found: Vec::new(),
            gathering,
            through: Vec::new(),
            registers: Vec::new(),
            seen: HashSet::default(),
            left: MAX_STEPS,
        }
    }

    /// `wanted` are the fields that the reader takes of the value; none for all of it.
    fn node(&mut self, block: BlockId, node: &'a Node, wanted: &[Arc<str>]) {
        if self.left == 0 {
            return self.lost();
        }
        self.left -= 1;
        match &node.op {
            Op::Constant(value) => self.constant(value, wanted),
            Op::Place(place) => self.place(block, *place, node.span, wanted),
            Op::Register(register) => self.register(block, *register, wanted),
            Op::Template(pieces) => self.joined(pieces.len() > 1, |trace| {
                trace.nodes(block, pieces.iter().filter_map(Piece::value), &[]);
            }),
            Op::List(elements) => self.list(ListOf::Element, |trace| {
                trace.nodes(block, elements.iter().map(|(node, _)| node), wanted);
            }),
            Op::Coalesce(nodes) => self.nodes(block, nodes, wanted),
            Op::Map(entries) => self.entries(block, entries, wanted),
            Op::Path { base, links } => self.path(block, base, links, wanted.to_vec()),
            Op::Chain { first, rest } => {
                let nodes = || std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node));
                if rest.iter().all(|(operator, _)| *operator == Operator::Add) {
                    self.joined(true, |trace| trace.nodes(block, nodes(), wanted));
                } else {
                    self.computed(|trace| trace.nodes(block, nodes(), &[]));
                }
            }
            Op::Conditional { arms, otherwise } => {
                self.nodes(block, arms.iter().map(|(_, value)| value), wanted);
                self.node(block, otherwise, wanted);
                self.decided(|trace| {
                    trace.nodes(block, arms.iter().map(|(condition, _)| condition), &[]);
                });
            }
            Op::Match { subject, arms } => {
                self.nodes(block, arms.iter().map(|(_, value)| value), wanted);
                self.decided(|trace| trace.node(block, subject, &[]));
            }
            Op::Call {
                function,
                arguments,
            } => self.function(block, function, arguments, wanted),
            Op::Let {
                register,
                value,
                body,
            } => {
                self.bind(*register, value, &[]);
                self.node(block, body, wanted);
                self.registers.pop();
            }
            Op::Not(node) | Op::Negate(node) | Op::Has(node) => {
                self.computed(|trace| trace.node(block, node, &[]));
            }
            Op::And(nodes) | Op::Or(nodes) => self.computed(|trace| trace.nodes(block, nodes, &[])),
            Op::Matches { subject, .. } => self.computed(|trace| trace.node(block, subject, &[])),
            // How a step has ended is nobody's data.
            Op::Is { .. } | Op::Winner(_) | Op::Fail(_) => self.computed(|_| {}),
        }
    }

    fn nodes(
        &mut self,
        block: BlockId,
        nodes: impl IntoIterator<Item = &'a Node>,
        wanted: &[Arc<str>],
    ) {
        for node in nodes {
            self.node(block, node, wanted);
        }
    }

    fn function(
        &mut self,
        block: BlockId,
        function: &Function,
        arguments: &'a [Node],
        wanted: &[Arc<str>],
    ) {
        if !gives_text(function) {
            return self.computed(|trace| trace.nodes(block, arguments, &[]));
        }
        let keeps = keeps_elements(function);
        self.joined(!keeps, |trace| {
            trace.nodes(block, arguments, if keeps { wanted } else { &[] });
        });
    }

    /// The register stands for this value until it is popped.
    fn bind(&mut self, register: u16, base: &'a Node, links: &'a [Link]) {
        self.registers.push((register, Range { base, links }));
    }

    fn register(&mut self, block: BlockId, register: u16, wanted: &[Arc<str>]) {
        let known = self
            .registers
            .iter()
            .rev()
            .find(|(known, _)| *known == register);
        if let Some((_, range)) = known.copied() {
            self.list(ListOf::Value, |trace| {
                trace.path(block, range.base, range.links, wanted.to_vec());
            });
        }
    }

    fn entries(&mut self, block: BlockId, entries: &'a [(MapKey, Node)], wanted: &[Arc<str>]) {
        for (key, value) in entries {
            match (key, wanted) {
                (MapKey::Constant(Key::String(name)), [first, rest @ ..]) if name == first => {
                    self.node(block, value, rest);
                }
                (MapKey::Constant(_), []) => self.node(block, value, &[]),
                (MapKey::Computed(key), []) => {
                    self.node(block, value, &[]);
                    self.decided(|trace| trace.node(block, key, &[]));
                }
                // Which key it is, only a run knows: it may be the one that is wanted.
                (MapKey::Computed(key), [_, rest @ ..]) => self.decided(|trace| {
                    trace.node(block, value, rest);
                    trace.node(block, key, &[]);
                }),
                (MapKey::Constant(_), [_, ..]) => {}
            }
        }
    }

    /// Links are taken from the last one back to the value that they start from.
    fn path(
        &mut self,
        block: BlockId,
        base: &'a Node,
        links: &'a [Link],
        mut wanted: Vec<Arc<str>>,
    ) {
        let Some((last, before)) = links.split_last() else {
            return self.node(block, base, &wanted);
        };
        match &last.op {
            LinkOp::Field {
                key: Key::String(name),
                ..
            } => {
                wanted.insert(0, name.clone());
                self.path(block, base, before, wanted);
            }
            LinkOp::Index(index) => {
                if let Some(name) = index.constant().and_then(|name| name.as_str()) {
                    wanted.insert(0, name.into());
                    self.path(block, base, before, wanted);
                } else {
                    self.list(ListOf::Value, |trace| {
                        trace.path(block, base, before, wanted);
                    });
                }
                self.decided(|trace| trace.node(block, index, &[]));
            }
            LinkOp::Call {
                function,
                arguments,
            } if gives_text(function) => {
                let keeps = keeps_elements(function);
                self.joined(!keeps, |trace| {
                    trace.path(block, base, before, if keeps { wanted } else { Vec::new() });
                    trace.nodes(block, arguments, &[]);
                });
            }
            LinkOp::Macro(comprehension) => {
                self.comprehension(block, base, before, comprehension, wanted);
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
        wanted: Vec<Arc<str>>,
    ) {
        let variables = [Some(comprehension.first), comprehension.second];
        for register in variables.into_iter().flatten() {
            self.bind(register, base, links);
        }
        let body = &comprehension.body;
        match comprehension.kind {
            MacroKind::Filter | MacroKind::SortBy => {
                self.path(block, base, links, wanted);
                self.decided(|trace| trace.node(block, body, &[]));
            }
            MacroKind::Map if comprehension.second.is_none() => {
                self.list(ListOf::Element, |trace| trace.node(block, body, &wanted));
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

    fn place(&mut self, block: BlockId, place: Place, span: Span, wanted: &[Arc<str>]) {
        let Some(frame) = self.nesting.frame(block, place) else {
            return;
        };
        let key = (frame, place.slot, wanted.to_vec(), self.mode());
        if !self.seen.insert(key) {
            return;
        }
        let content = self.nesting.plan().block(frame);
        let mut none = true;
        for made in content.givers(place.slot) {
            none = false;
            self.made(frame, made, span, wanted);
        }
        if none {
            self.local(frame, place.slot, wanted);
        }
    }

    /// What a statement gives.
    fn made(&mut self, frame: BlockId, made: &'a Statement, span: Span, wanted: &[Arc<str>]) {
        if let Some(name) = &made.name {
            self.through.push((span, name.clone()));
        }
        match &made.kind {
            NodeKind::Let(code) => self.node(frame, &code.root, wanted),
            NodeKind::Step(step) => self.step(frame, made, step, wanted),
            NodeKind::Task(task) => self.context(*task, wanted),
            _ => {}
        }
        if made.name.is_some() {
            self.through.pop();
        }
    }

    /// What a block brings with it: the element of an `each`, the state of a `repeat`.
    fn local(&mut self, frame: BlockId, slot: u32, wanted: &[Arc<str>]) {
        let Some((outer, owner)) = self.nesting.owner(frame) else {
            return self.parameter(slot);
        };
        let kind = owner.step().map(|step| &step.kind);
        match kind {
            Some(StepKind::Each(each)) if each.body == frame && slot == 0 => {
                self.list(ListOf::Value, |trace| {
                    trace.node(outer, &each.list.root, wanted);
                });
            }
            Some(StepKind::Repeat(repeat)) if repeat.body == frame && slot == 0 => {
                self.node(outer, &repeat.initial.root, wanted);
                self.values(frame, wanted, |node| {
                    if let NodeKind::Next(code) = &node.kind {
                        Some(code)
                    } else {
                        None
                    }
                });
            }
            _ => self.brought(outer, owner, frame, slot, wanted),
        }
    }

    fn step(&mut self, block: BlockId, node: &'a Statement, step: &'a Step, wanted: &[Arc<str>]) {
        match (&step.kind, wanted) {
            (StepKind::Call(call), _) => self.call(block, call, wanted),
            (StepKind::Each(each), [value, rest @ ..]) if each.settle && **value == *"value" => {
                self.list(ListOf::Element, |trace| trace.yields(each.body, rest));
            }
            (StepKind::Each(each), [_, ..]) if each.settle => {
                self.computed(|trace| trace.yields(each.body, &[]));
            }
            (StepKind::Do(body), _) => self.yields(*body, wanted),
            (StepKind::Each(each), _) => {
                self.list(ListOf::Element, |trace| trace.yields(each.body, wanted));
            }
            (StepKind::Repeat(repeat), _) => {
                self.list(ListOf::Element, |trace| trace.yields(repeat.body, wanted));
            }
            (StepKind::Race(branches), _) => branches
                .iter()
                .for_each(|(_, body)| self.yields(*body, wanted)),
            (StepKind::Match { subject, arms }, _) => {
                for (_, body) in arms {
                    self.yields(*body, wanted);
                }
                self.decided(|trace| trace.node(block, &subject.root, &[]));
            }
            (StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged, _) => {
                self.outside(block, node, step, wanted);
            }
        }
        step.recover
            .iter()
            .for_each(|arm| self.yields(arm.body, wanted));
    }

    fn call(&mut self, block: BlockId, call: &'a Call, wanted: &[Arc<str>]) {
        let signature = match &call.target {
            Target::Tool(signature) => signature,
            Target::Plan(index, _) => return self.called_plan(block, call, *index),
        };
        if let Some(given) = signature
            .gives_back
            .as_deref()
            .and_then(|name| call.argument(name))
        {
            return self.node(block, &given.root, wanted);
        }
        let source = match signature.kind {
            CallKind::Model => Some(Source::Model),
            CallKind::Agent | CallKind::ReadOnlyAgent => {
                Some(Source::Agent(signature.namespace.clone()))
            }
            CallKind::Tool | CallKind::Skill => None,
        };
        if let (Some(source), true) = (source, self.gathering.is_some()) {
            return self.prompted(block, call, source);
        }
        let origin = Origin {
            call,
            signature,
            path: wanted.to_vec(),
            through: self.through.clone(),
        };
        if let Some(gathering) = &mut self.gathering {
            gathering.result(&origin);
        } else if !self.found.iter().any(|known| known.is(&origin)) {
            self.found.push(origin);
        }
    }

    fn yields(&mut self, block: BlockId, wanted: &[Arc<str>]) {
        self.values(block, wanted, |node| {
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
        wanted: &[Arc<str>],
        of: impl Fn(&'a Statement) -> Option<&'a Code>,
    ) {
        let content: &'a Block = self.nesting.plan().block(block);
        content
            .nodes
            .iter()
            .filter_map(of)
            .for_each(|code| self.node(block, &code.root, wanted));
    }
}

/// Whether a text that goes into a function may come out of it.
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

/// Whether the elements that come out are elements that went in.
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
