//! Everything that a value is made of or chosen by, across the plans that are called.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Origin, Trace, gives_free_text, is_free_text};
use crate::sema::expr::Code;
use crate::sema::{
    AgentCheck, BlockId, Call, Event, EventKind, Nesting, Node as Statement, NodeKind, Step,
    StepKind, TaskId, Wait,
};
use crate::value::Value;

/// The most parts of one value that are told.
const MAX_PARTS: usize = 32;

/// Where a value, or a part of it, comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It stands in the plan.
    Constant(Json),
    /// It stands in the plan and must not be shown.
    Hidden,
    /// An input of the plan, by its name.
    Input(Arc<str>),
    /// The result of a tool, by its dotted name.
    Result(Arc<str>),
    /// The answer of an agent, by its name.
    Agent(Arc<str>),
    /// What a model gave.
    Model,
    /// What a person has filled in at a step of this name.
    Answer(Arc<str>),
    /// What a signal of this name brings.
    Signal(Arc<str>),
    /// The error of a step or listener of this name.
    Error(Arc<str>),
    /// What somebody outside has told of a task of this name.
    Task(Arc<str>),
    /// It was not followed to its end.
    Unknown,
}

/// One source of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub source: Source,
    /// Whether a text may pass from it into the value unchanged or as a part of another text.
    pub text: bool,
    /// Whether this text is free and strangers write it.
    pub strangers: bool,
}

/// The sources of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Each source once, in the order in which they were found.
    pub parts: Vec<Part>,
    /// Whether the value is made of them and not one of them.
    pub computed: bool,
    /// Whether there are more than are told.
    pub more: bool,
}

/// A plan with the sources of what the plans give that it calls.
pub struct Ground<'a> {
    pub nesting: Nesting<'a>,
    /// By [`Target::Plan`](crate::sema::Target::Plan); inputs are theirs.
    pub replies: Vec<Arc<Flow>>,
}

/// The sources of an expression in a block of a plan. Inputs are those of the plan itself.
#[must_use]
pub fn flow(ground: &Ground<'_>, block: BlockId, code: &Code) -> Flow {
    let gathering = Gathering {
        replies: &ground.replies,
        flow: Flow::default(),
        text: is_free_text(&code.ty),
        plain: true,
        told: true,
        within: 0,
    };
    let mut trace = Trace::new(&ground.nesting, Some(gathering));
    trace.node(block, &code.root, &[]);
    trace
        .gathering
        .map(|gathering| gathering.flow)
        .unwrap_or_default()
}

/// What is gathered on the way.
pub(super) struct Gathering<'s> {
    replies: &'s [Arc<Flow>],
    flow: Flow,
    /// Whether texts pass from here into the value.
    text: bool,
    /// Whether a constant here is the value, and not a part of it or what it is compared with.
    plain: bool,
    /// Whether what is computed here is the value, and not what chooses it.
    told: bool,
    /// How many lists the value is an element within.
    within: u32,
}

/// Which side of a list is followed.
#[derive(Clone, Copy)]
pub(super) enum ListOf {
    /// The list that holds what has been followed so far.
    Value,
    /// An element of the list that has been followed so far.
    Element,
}

impl Flow {
    /// Adds another source, or says more of one that is known.
    pub fn add(&mut self, part: Part) {
        let known = |known: &&mut Part| known.source == part.source;
        if let Some(known) = self.parts.iter_mut().find(known) {
            known.text |= part.text;
            known.strangers |= part.strangers;
        } else if self.parts.len() < MAX_PARTS {
            self.parts.push(part);
        } else {
            self.more = true;
        }
    }

    /// Leaves out what stands in the plan and must not be shown.
    pub fn hide(&mut self) {
        for part in std::mem::take(&mut self.parts) {
            let source = match part.source {
                Source::Constant(_) => Source::Hidden,
                source => source,
            };
            self.add(Part { source, ..part });
        }
    }

    /// Adds the sources of another value that may stand in the place of this one.
    pub fn merge(&mut self, other: Self) {
        other.parts.into_iter().for_each(|part| self.add(part));
        self.computed |= other.computed;
        self.more |= other.more;
    }
}

impl Gathering<'_> {
    pub(super) fn result(&mut self, origin: &Origin<'_>) {
        let strangers = self.text && origin.signature.open_world && gives_free_text(origin);
        self.flow.add(Part {
            source: Source::Result(origin.signature.path().into()),
            text: self.text,
            strangers,
        });
    }

    fn source(&mut self, source: Source) {
        self.flow.add(Part {
            source,
            text: self.text,
            strangers: false,
        });
    }
}

impl<'a> Trace<'_, 'a> {
    fn carries_text(&self) -> bool {
        self.gathering
            .as_ref()
            .is_none_or(|gathering| gathering.text)
    }

    /// What is made of the values that are met now: a name that is read again for something else is followed again.
    pub(super) fn mode(&self) -> u32 {
        self.gathering.as_ref().map_or(0, |gathering| {
            let Gathering {
                text,
                plain,
                told,
                within,
                ..
            } = gathering;
            u32::from(*text)
                | u32::from(*plain) << 1
                | u32::from(*told) << 2
                | (*within).min(3) << 3
        })
    }

    /// It goes on, and nobody follows.
    pub(super) fn lost(&mut self) {
        self.source(Source::Unknown);
    }

    /// A constant, or the parts of it that the reader takes.
    pub(super) fn constant(&mut self, value: &Value, wanted: &[Arc<str>]) {
        let Some(gathering) = self.gathering.as_mut().filter(|gathering| gathering.plain) else {
            return;
        };
        let mut open = vec![(value, wanted, gathering.within)];
        while let Some((value, wanted, within)) = open.pop() {
            match (value, wanted.split_first()) {
                (Value::List(list), fields) if within > 0 || fields.is_some() => {
                    let inner = within.saturating_sub(1);
                    open.extend(list.iter().rev().map(|element| (element, wanted, inner)));
                }
                (_, Some((first, rest))) => {
                    open.push((value.get(first).unwrap_or(&Value::Null), rest, within));
                }
                (_, None) => gathering.source(Source::Constant(value.to_json())),
            }
        }
    }

    /// Follows a list of which the value is an element, or the elements of one.
    pub(super) fn list(&mut self, of: ListOf, follow: impl FnOnce(&mut Self)) {
        let Some(gathering) = &mut self.gathering else {
            return follow(self);
        };
        let before = gathering.within;
        gathering.within = match of {
            ListOf::Value => before.saturating_add(1),
            ListOf::Element => before.saturating_sub(1),
        };
        follow(self);
        if let Some(gathering) = &mut self.gathering {
            gathering.within = before;
        }
    }

    /// Follows what is put together to the value; texts remain what they are.
    pub(super) fn joined(&mut self, joins: bool, follow: impl FnOnce(&mut Self)) {
        let Some(gathering) = self.gathering.as_mut().filter(|_| joins) else {
            return follow(self);
        };
        gathering.flow.computed |= gathering.told;
        let plain = std::mem::replace(&mut gathering.plain, false);
        follow(self);
        if let Some(gathering) = &mut self.gathering {
            gathering.plain = plain;
        }
    }

    /// Follows what the value is computed from without any text of it in the value, where everything is followed.
    pub(super) fn computed(&mut self, follow: impl FnOnce(&mut Self)) {
        self.beside(true, follow);
    }

    /// Follows what chooses the value, where everything is followed.
    pub(super) fn decided(&mut self, follow: impl FnOnce(&mut Self)) {
        self.beside(false, follow);
    }

    fn beside(&mut self, computes: bool, follow: impl FnOnce(&mut Self)) {
        let Some(gathering) = &mut self.gathering else {
            return;
        };
        gathering.flow.computed |= computes && gathering.told;
        let before = (gathering.text, gathering.plain, gathering.told);
        (gathering.text, gathering.plain) = (false, false);
        gathering.told &= computes;
        follow(self);
        if let Some(gathering) = &mut self.gathering {
            (gathering.text, gathering.plain, gathering.told) = before;
        }
    }

    fn source(&mut self, source: Source) {
        if let Some(gathering) = &mut self.gathering {
            gathering.source(source);
        }
    }

    pub(super) fn parameter(&mut self, slot: u32) {
        let parameters = &self.nesting.plan().parameters;
        if let Some(parameter) = parameters.get(slot as usize) {
            self.source(Source::Input(parameter.name.clone()));
        }
    }

    /// What another plan gives: its inputs are what the call gives them.
    pub(super) fn called_plan(&mut self, block: BlockId, call: &'a Call, index: usize) {
        let Some(gathering) = &mut self.gathering else {
            return;
        };
        let Some(reply) = gathering.replies.get(index).cloned() else {
            return;
        };
        gathering.flow.computed |= reply.computed && gathering.told;
        gathering.flow.more |= reply.more;
        for part in &reply.parts {
            let Source::Input(name) = &part.source else {
                if let Some(gathering) = &mut self.gathering {
                    let text = part.text && gathering.text;
                    let strangers = part.strangers && gathering.text;
                    let source = part.source.clone();
                    gathering.flow.add(Part {
                        source,
                        text,
                        strangers,
                    });
                }
                continue;
            };
            if let Some(code) = call.argument(name) {
                self.passed(part.text && is_free_text(&code.ty), |trace| {
                    trace.node(block, &code.root, &[]);
                });
            } else if let Some(value) = default(self.nesting, index, name) {
                self.constant(value, &[]);
            }
        }
    }

    /// Follows what goes on as a text only where that is so.
    fn passed(&mut self, text: bool, follow: impl FnOnce(&mut Self)) {
        let before = self.carries_text();
        if let Some(gathering) = &mut self.gathering {
            gathering.text &= text;
        }
        follow(self);
        if let Some(gathering) = &mut self.gathering {
            gathering.text = before;
        }
    }

    /// What comes from people and events.
    pub(super) fn outside(
        &mut self,
        block: BlockId,
        node: &'a Statement,
        step: &'a Step,
        wanted: &[Arc<str>],
    ) {
        if self.gathering.is_none() {
            return;
        }
        let name = || node.name.clone().unwrap_or_default();
        match &step.kind {
            StepKind::Input(input) => {
                self.source(Source::Answer(name()));
                let known = input
                    .fields
                    .iter()
                    .filter(|field| wanted.first().is_none_or(|wanted| **wanted == *field.name));
                let rest = wanted.get(1..).unwrap_or_default();
                known
                    .flat_map(crate::sema::InputField::codes)
                    .for_each(|code| self.node(block, &code.root, rest));
            }
            StepKind::Wait(wait) => {
                if let Wait::Event { on, .. } = &**wait {
                    self.event(block, on, wanted);
                }
            }
            _ => {}
        }
    }

    /// What comes from a model or an agent, which may say again what it was told.
    pub(super) fn prompted(&mut self, block: BlockId, call: &'a Call, source: Source) {
        self.source(source);
        for (_, code) in &call.arguments {
            self.joined(true, |trace| trace.node(block, &code.root, &[]));
        }
    }

    /// What blocks bring with them beside the elements and states of loops: errors, what events bring, the values of steps
    /// that are looked at or taken back.
    pub(super) fn brought(
        &mut self,
        outer: BlockId,
        owner: &'a Statement,
        frame: BlockId,
        slot: u32,
        wanted: &[Arc<str>],
    ) {
        if self.gathering.is_none() {
            return;
        }
        if let Some(listener) = owner.listener() {
            match listener.snapshot.iter().find(|(_, own)| *own == slot) {
                Some((task, _)) => self.context(*task, wanted),
                None => self.event(outer, &listener.on, wanted),
            }
            return;
        }
        let Some(step) = owner.step().filter(|_| slot == 0) else {
            return;
        };
        if step.recover.iter().any(|arm| arm.body == frame) {
            self.source(Source::Error(owner.name.clone().unwrap_or_default()));
        } else if step.agent_check().and_then(AgentCheck::body) == Some(frame) {
            // What the step was given.
            let arguments = step.call().into_iter().flat_map(|call| &call.arguments);
            for (_, code) in arguments {
                self.joined(true, |trace| trace.node(outer, &code.root, &[]));
            }
        } else if step.asides().any(|aside| aside == frame) {
            self.step(outer, owner, step, wanted);
        }
    }

    /// What an event brings: a payload, an error or a value of a step, the context of a task.
    fn event(&mut self, block: BlockId, event: &'a Event, wanted: &[Arc<str>]) {
        let mut leaves = Vec::new();
        event.leaves(&mut |leaf| leaves.push(leaf));
        for leaf in leaves {
            match &leaf.kind {
                EventKind::Signal(name) => self.source(Source::Signal(name.clone())),
                EventKind::Task { task, .. } => self.context(*task, wanted),
                EventKind::Step { place, name, .. } => {
                    self.place(block, *place, leaf.span, wanted);
                    self.source(Source::Error(name.clone()));
                }
                EventKind::Plan(_)
                | EventKind::Not(_)
                | EventKind::All(_)
                | EventKind::Any(_)
                | EventKind::Damaged => {}
            }
        }
    }

    /// What every `set` of a task gives, and whoever else may.
    pub(super) fn context(&mut self, id: TaskId, wanted: &[Arc<str>]) {
        if self.gathering.is_none() {
            return;
        }
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
                self.node(block, &code.root, wanted);
            }
        }
    }
}

/// What an input of a called plan is where the call leaves it out, as far as that stands in the plan.
fn default<'a>(nesting: &Nesting<'a>, index: usize, name: &str) -> Option<&'a Value> {
    let called = nesting.plan().plans.get(index)?;
    let parameter = called.parameters.iter().find(|own| *own.name == *name)?;
    parameter.default.as_ref()?.constant()
}
