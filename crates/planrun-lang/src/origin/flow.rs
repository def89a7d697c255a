//! Collects all sources that a value is made of or chosen by, across called plans.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Origin, Trace, gives_free_text, is_free_text};
use crate::protocol::StepState;
use crate::sema::expr::{CheckedExpr, StateTest};
use crate::sema::{
    AgentCheck, BlockId, Call, Event, EventKind, Nesting, Node as Statement, NodeKind, Step,
    StepKind, TaskId, Wait,
};
use crate::value::Value;

/// Maximum number of recorded sources of one value.
const MAX_PARTS: usize = 32;

/// Where a value, or a part of it, comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It is written in the plan.
    Constant(Json),
    /// It is written in the plan and must be redacted.
    Hidden,
    /// An input of the plan, by its name.
    Input(Arc<str>),
    /// The result of a tool, by its dotted name.
    Result(Arc<str>),
    /// The answer of an agent, by its name.
    Agent(Arc<str>),
    /// The answer of a model.
    Model,
    /// The answer of a person to the step with this name.
    Answer(Arc<str>),
    /// The payload of the signal with this name.
    Signal(Arc<str>),
    /// The error of the step, listener or plan with this name.
    Error(Arc<str>),
    /// Data that was set from outside on the task with this name.
    Task(Arc<str>),
    /// It was not followed to its source.
    Unknown,
}

/// One source of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub source: Source,
    /// Whether text may pass from it into the value, unchanged or as a part of another text.
    pub text: bool,
    /// Whether this text is free text from untrusted sources.
    pub from_open_world: bool,
    /// Whether the value may be all of the source itself: not only a part of it, made of it, or chosen by it.
    pub whole: bool,
}

/// The sources of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Each source once, in the order in which they were found.
    pub parts: Vec<Part>,
    /// Whether the value is computed from the sources instead of being one of them.
    pub computed: bool,
    /// Whether there are more sources than are listed.
    pub more: bool,
}

/// A plan with the sources of the replies of the plans that it calls.
pub struct FlowContext<'a> {
    pub nesting: Nesting<'a>,
    /// By the index in [`Target::Plan`](crate::sema::Target::Plan); inputs are those of the called plan.
    pub replies: Vec<Arc<Flow>>,
}

/// Returns the sources of an expression in a block of a plan. Inputs are those of the plan itself.
#[must_use]
pub fn flow(context: &FlowContext<'_>, block: BlockId, code: &CheckedExpr) -> Flow {
    let collector = Collector {
        replies: &context.replies,
        flow: Flow::default(),
        text: is_free_text(&code.ty),
        place: InValue::Whole,
        in_value: true,
        within: 0,
    };
    let mut trace = Trace::new(&context.nesting, Some(collector));
    trace.node(block, &code.root, &[]);
    trace
        .collector
        .map(|collector| collector.flow)
        .unwrap_or_default()
}

/// The role of the current expression in the value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InValue {
    /// The value itself.
    Whole,
    /// An element of a list or a map that the value is or is made of.
    Element,
    /// Something that the value is computed from, or chosen by. Its constants are not collected.
    Operand,
}

/// State of the collection of sources.
pub(super) struct Collector<'s> {
    replies: &'s [Arc<Flow>],
    flow: Flow,
    /// Whether text passes from the current expression into the value.
    text: bool,
    place: InValue,
    /// Whether the current expression contributes to the value, and does not only choose it.
    in_value: bool,
    /// Number of lists inside which the value is an element.
    within: u32,
}

/// Direction in which a list is followed.
#[derive(Clone, Copy)]
pub(super) enum ListOf {
    /// The list that holds what has been followed so far.
    Value,
    /// An element of the list that has been followed so far.
    Element,
}

impl Flow {
    /// Adds a source, or merges it with the same one.
    pub fn add(&mut self, part: Part) {
        let known = |known: &&mut Part| known.source == part.source;
        if let Some(known) = self.parts.iter_mut().find(known) {
            known.text |= part.text;
            known.from_open_world |= part.from_open_world;
            known.whole &= part.whole;
        } else if self.parts.len() < MAX_PARTS {
            self.parts.push(part);
        } else {
            self.more = true;
        }
    }

    /// Replaces constants of the plan by [`Source::Hidden`].
    pub fn redact(&mut self) {
        for part in std::mem::take(&mut self.parts) {
            let source = match part.source {
                Source::Constant(_) => Source::Hidden,
                source => source,
            };
            self.add(Part { source, ..part });
        }
    }

    /// Adds the sources of another value that may be used instead of this one.
    pub fn merge(&mut self, other: Self) {
        other.parts.into_iter().for_each(|part| self.add(part));
        self.computed |= other.computed;
        self.more |= other.more;
    }
}

impl Collector<'_> {
    pub(super) fn result(&mut self, origin: &Origin<'_>) {
        let from_open_world = self.text && origin.signature.open_world && gives_free_text(origin);
        self.flow.add(Part {
            source: Source::Result(origin.signature.path().into()),
            text: self.text,
            from_open_world,
            whole: self.is_whole(&origin.path),
        });
    }

    fn source(&mut self, source: Source, selected: &[Arc<str>]) {
        self.flow.add(Part {
            source,
            text: self.text,
            from_open_world: false,
            whole: self.is_whole(selected),
        });
    }

    /// Adds a constant. If it is only an element of the value, the value is not the constant.
    fn constant(&mut self, value: Json) {
        self.flow.computed |= self.place == InValue::Element && self.in_value;
        self.source(Source::Constant(value), &[]);
    }

    /// Returns true if the value may be these fields of the current expression.
    fn is_whole(&self, selected: &[Arc<str>]) -> bool {
        self.place == InValue::Whole && self.within == 0 && selected.is_empty()
    }
}

impl<'a> Trace<'_, 'a> {
    fn carries_text(&self) -> bool {
        self.collector
            .as_ref()
            .is_none_or(|collector| collector.text)
    }

    /// Returns the mode in which values are collected, as a number: a name is followed again if it is read in another
    /// mode.
    pub(super) fn mode(&self) -> u32 {
        let passed = u32::try_from(self.passed.len()).unwrap_or(u32::MAX);
        self.collector.as_ref().map_or(passed, |collector| {
            let Collector {
                text,
                place,
                in_value,
                within,
                ..
            } = collector;
            u32::from(*text)
                | u32::from(*in_value) << 1
                | (*place as u32) << 2
                | (*within).min(3) << 4
        })
    }

    /// Records a source that is not followed any further.
    pub(super) fn give_up(&mut self) {
        self.source(Source::Unknown);
    }

    /// Collects a constant, or the selected parts of it.
    pub(super) fn constant(&mut self, value: &Value, selected: &[Arc<str>]) {
        let Some(collector) = self
            .collector
            .as_mut()
            .filter(|own| own.place != InValue::Operand)
        else {
            return;
        };
        let mut open = vec![(value, selected, collector.within)];
        while let Some((value, selected, within)) = open.pop() {
            match (value, selected.split_first()) {
                (Value::List(list), fields) if within > 0 || fields.is_some() => {
                    let inner = within.saturating_sub(1);
                    open.extend(list.iter().rev().map(|element| (element, selected, inner)));
                }
                (_, Some((first, rest))) => {
                    open.push((value.get(first).unwrap_or(&Value::Null), rest, within));
                }
                (_, None) => collector.constant(value.to_json()),
            }
        }
    }

    /// Follows a list of which the value is an element, or the elements of a list.
    pub(super) fn list(&mut self, of: ListOf, follow: impl FnOnce(&mut Self)) {
        let Some(collector) = &mut self.collector else {
            return follow(self);
        };
        let before = collector.within;
        match of {
            ListOf::Value => {
                collector.within = before.saturating_add(1);
                follow(self);
            }
            ListOf::Element => {
                collector.within = before.saturating_sub(1);
                self.inside(before == 0, follow);
            }
        }
        if let Some(collector) = &mut self.collector {
            collector.within = before;
        }
    }

    /// Follows the parts of a list or a map that the value is or is made of.
    pub(super) fn elements(&mut self, follow: impl FnOnce(&mut Self)) {
        let collector = self.collector.as_ref();
        self.inside(collector.is_some_and(|own| own.within == 0), follow);
    }

    /// Follows something that is a part of the value, if `inside` is set.
    fn inside(&mut self, inside: bool, follow: impl FnOnce(&mut Self)) {
        let Some(collector) = &mut self.collector else {
            return follow(self);
        };
        let before = collector.place;
        if inside && before == InValue::Whole {
            collector.place = InValue::Element;
        }
        follow(self);
        if let Some(collector) = &mut self.collector {
            collector.place = before;
        }
    }

    /// Follows the parts that are combined into the value; texts stay texts.
    pub(super) fn joined(&mut self, joins: bool, follow: impl FnOnce(&mut Self)) {
        let Some(collector) = self.collector.as_mut().filter(|_| joins) else {
            return follow(self);
        };
        collector.flow.computed |= collector.in_value;
        let place = std::mem::replace(&mut collector.place, InValue::Operand);
        follow(self);
        if let Some(collector) = &mut self.collector {
            collector.place = place;
        }
    }

    /// Follows operands that the value is computed from without containing their text, if all sources are collected.
    pub(super) fn computed(&mut self, follow: impl FnOnce(&mut Self)) {
        self.indirectly(true, follow);
    }

    /// Follows the conditions that choose the value, if all sources are collected.
    pub(super) fn decided(&mut self, follow: impl FnOnce(&mut Self)) {
        self.indirectly(false, follow);
    }

    fn indirectly(&mut self, computes: bool, follow: impl FnOnce(&mut Self)) {
        let Some(collector) = &mut self.collector else {
            return;
        };
        collector.flow.computed |= computes && collector.in_value;
        let before = (collector.text, collector.place, collector.in_value);
        (collector.text, collector.place) = (false, InValue::Operand);
        collector.in_value &= computes;
        follow(self);
        if let Some(collector) = &mut self.collector {
            (collector.text, collector.place, collector.in_value) = before;
        }
    }

    fn source(&mut self, source: Source) {
        if let Some(collector) = &mut self.collector {
            collector.source(source, &[]);
        }
    }

    pub(super) fn parameter(&mut self, slot: u32, selected: &[Arc<str>]) {
        let Some(parameter) = self.nesting.plan().parameters.get(slot as usize) else {
            return;
        };
        if let Some(collector) = &mut self.collector {
            collector.source(Source::Input(parameter.name.clone()), selected);
        } else {
            self.certain_input(slot, selected);
        }
    }

    /// Collects the sources of the reply of a called plan; its inputs are the arguments of the call.
    pub(super) fn called_plan(
        &mut self,
        block: BlockId,
        (call, index): (&'a Call, usize),
        selected: &[Arc<str>],
    ) {
        let Some(collector) = &mut self.collector else {
            return self.replied(block, (call, index), selected);
        };
        let Some(reply) = collector.replies.get(index).cloned() else {
            return;
        };
        collector.flow.computed |= reply.computed && collector.in_value;
        collector.flow.more |= reply.more;
        for part in &reply.parts {
            let follow = |trace: &mut Self| trace.of_reply(block, (call, index), part, selected);
            if part.whole {
                follow(self);
            } else {
                self.elements(follow);
            }
        }
    }

    /// Collects one source of the reply of a called plan.
    fn of_reply(
        &mut self,
        block: BlockId,
        (call, index): (&'a Call, usize),
        part: &Part,
        selected: &[Arc<str>],
    ) {
        let selected = if part.whole { selected } else { &[] };
        match &part.source {
            Source::Input(name) => {
                if let Some(code) = call.argument(name) {
                    self.passed(part.text && is_free_text(&code.ty), |trace| {
                        trace.node(block, &code.root, selected);
                    });
                } else if let Some(value) = default(self.nesting, index, name) {
                    self.constant(value, selected);
                }
            }
            Source::Constant(value) => self.constant(&Value::from_json(value), selected),
            source => {
                if let Some(collector) = &mut self.collector {
                    collector.flow.add(Part {
                        source: source.clone(),
                        text: part.text && collector.text,
                        from_open_world: part.from_open_world && collector.text,
                        whole: part.whole && collector.is_whole(selected),
                    });
                }
            }
        }
    }

    /// Follows a value with text passing only if `text` is set.
    fn passed(&mut self, text: bool, follow: impl FnOnce(&mut Self)) {
        let before = self.carries_text();
        if let Some(collector) = &mut self.collector {
            collector.text &= text;
        }
        follow(self);
        if let Some(collector) = &mut self.collector {
            collector.text = before;
        }
    }

    /// Collects the answers of people and the data of events.
    pub(super) fn external(
        &mut self,
        block: BlockId,
        node: &'a Statement,
        step: &'a Step,
        selected: &[Arc<str>],
    ) {
        let name = || node.name.clone().unwrap_or_default();
        match &step.kind {
            // What a person has answered is certainly not what was proposed.
            StepKind::Input(_) if self.collector.is_none() => {}
            StepKind::Input(input) => {
                self.source(Source::Answer(name()));
                let known = input.fields.iter().filter(|field| {
                    selected
                        .first()
                        .is_none_or(|selected| **selected == *field.name)
                });
                let rest = selected.get(1..).unwrap_or_default();
                known
                    .flat_map(crate::sema::InputField::codes)
                    .for_each(|code| self.node(block, &code.root, rest));
            }
            StepKind::Wait(wait) => {
                if let Wait::Event { on, .. } = &**wait {
                    self.event(block, on, selected);
                }
            }
            _ => {}
        }
    }

    /// Collects the answer of a model or an agent, which may repeat its prompt and data.
    pub(super) fn prompted(&mut self, block: BlockId, call: &'a Call, source: Source) {
        self.source(source);
        for (_, code) in &call.arguments {
            self.joined(true, |trace| trace.node(block, &code.root, &[]));
        }
    }

    /// Follows a value that a block binds, other than elements and loop states: an error, the data of an event, or the
    /// value of the step that is verified or undone.
    pub(super) fn bound_value(
        &mut self,
        outer: BlockId,
        owner: &'a Statement,
        frame: BlockId,
        slot: u32,
        selected: &[Arc<str>],
    ) {
        if let Some(listener) = owner.listener() {
            match listener.snapshot.iter().find(|(_, own)| *own == slot) {
                Some((task, _)) => self.context(*task, selected),
                None => self.event(outer, &listener.on, selected),
            }
            return;
        }
        let Some(step) = owner.step().filter(|_| slot == 0) else {
            return;
        };
        if step.recover.iter().any(|arm| arm.body == frame) {
            self.source(Source::Error(owner.name.clone().unwrap_or_default()));
        } else if step.agent_check().and_then(AgentCheck::body) == Some(frame) {
            // It is made of the name of the step and its arguments, without their secrets.
            if self.collector.is_none() {
                return;
            }
            self.computed(|_| {});
            let arguments = step.call().into_iter().flat_map(|call| &call.arguments);
            for (_, code) in arguments {
                self.joined(true, |trace| trace.node(outer, &code.root, &[]));
            }
        } else if step.auxiliary_blocks().any(|block| block == frame) {
            self.step(outer, owner, step, selected);
        }
    }

    /// Follows the data of an event: a payload, an error or a value of a step, the context of a task.
    fn event(&mut self, block: BlockId, event: &'a Event, selected: &[Arc<str>]) {
        let mut leaves = Vec::new();
        event.leaves(&mut |leaf| leaves.push(leaf));
        for leaf in leaves {
            match &leaf.kind {
                EventKind::Signal(name) => self.source(Source::Signal(name.clone())),
                EventKind::Task { task, .. } => self.context(*task, selected),
                EventKind::Step { test, .. }
                    if self.collector.is_none()
                        && *test != Some(StateTest::State(StepState::Completed)) => {}
                EventKind::Step { place, name, .. } => {
                    self.place(block, *place, leaf.span, selected);
                    self.source(Source::Error(name.clone()));
                }
                EventKind::Plan(_) => {
                    let plan = self.nesting.plan().name.clone();
                    self.source(Source::Error(plan));
                }
                EventKind::Not(_) | EventKind::All(_) | EventKind::Any(_) | EventKind::Damaged => {}
            }
        }
    }

    /// Follows the values of every `set` of a task, and external input if the task admits it.
    pub(super) fn context(&mut self, id: TaskId, selected: &[Arc<str>]) {
        let plan = self.nesting.plan();
        let task = plan.task(id);
        if task.external {
            self.source(Source::Task(task.name.clone()));
        }
        for (block, _, node) in plan.sites() {
            if let NodeKind::Set(set) = &node.kind
                && set.task == id
                && let Some(code) = &set.context
            {
                self.node(block, &code.root, selected);
            }
        }
    }
}

/// Returns the default of an input of a called plan if it is a constant.
fn default<'a>(nesting: &Nesting<'a>, index: usize, name: &str) -> Option<&'a Value> {
    let called = nesting.plan().plans.get(index)?;
    let parameter = called.parameters.iter().find(|own| *own.name == *name)?;
    parameter.default.as_ref()?.constant()
}
