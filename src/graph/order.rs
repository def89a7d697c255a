//! Effect order: calls that change one state keep the order in which they are written; reads float between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use super::{Edge, Vertex};
use crate::sema::{Step, Touch};

type Dag = DiGraph<Vertex, Edge, u32>;

/// The calls that later ones on the same state still have to wait for, by namespace and resource.
#[derive(Default)]
pub(super) struct Order {
    namespaces: BTreeMap<Arc<str>, States>,
}

/// The last calls on one state.
#[derive(Default)]
struct Frontier {
    effects: Vec<NodeIndex>,
    /// Reads since the last effect.
    reads: Vec<NodeIndex>,
}

impl Order {
    /// Adds the edges that a step has because of the state that it touches. One that is `guarded` may be skipped before
    /// the data that it reads is there; so that those behind it wait for what is above it all the same, its edges of order
    /// stand beside those of data.
    pub(super) fn add(&mut self, dag: &mut Dag, node: NodeIndex, step: &Step, guarded: bool) {
        for touch in &step.touches {
            if !self.namespaces.contains_key(&touch.namespace) {
                self.namespaces.insert(touch.namespace.clone(), BTreeMap::new());
            }
            let Some(states) = self.namespaces.get_mut(&touch.namespace) else { continue };
            if touch.effect.floats() {
                add_read(dag, states, node, touch);
            } else {
                add_effect(dag, states, node, touch, Place { unordered: step.unordered, guarded });
            }
        }
    }
}

/// How an effect stands among others.
#[derive(Clone, Copy)]
struct Place {
    /// `after none`
    unordered: bool,
    guarded: bool,
}

type States = BTreeMap<Option<Arc<str>>, Frontier>;

fn add_read(dag: &mut Dag, states: &mut States, node: NodeIndex, touch: &Touch) {
    if touch.resource.is_none() {
        gather(states);
    }
    for state in overlapping(touch) {
        let Some(frontier) = states.get_mut(&state) else { continue };
        if let Some(effect) = joined(dag, &mut frontier.effects, Edge::Effect) {
            add_edge(dag, effect, node, Edge::Effect, false);
        }
    }
    states.entry(touch.resource.clone()).or_default().reads.push(node);
}

fn add_effect(dag: &mut Dag, states: &mut States, node: NodeIndex, touch: &Touch, place: Place) {
    if place.unordered {
        states.entry(touch.resource.clone()).or_default().effects.push(node);
        return;
    }
    if touch.resource.is_none() {
        gather(states);
    }
    for state in overlapping(touch) {
        let Some(frontier) = states.get_mut(&state) else { continue };
        if let Some(effect) = joined(dag, &mut frontier.effects, Edge::Effect) {
            add_edge(dag, effect, node, Edge::Effect, place.guarded);
        }
        if let Some(read) = joined(dag, &mut frontier.reads, Edge::Settle) {
            add_edge(dag, read, node, Edge::Settle, place.guarded);
        }
    }
    if touch.resource.is_none() {
        // Whatever comes later on any part of the namespace waits for this one, and so for all before it.
        states.clear();
    }
    states.insert(touch.resource.clone(), Frontier { effects: vec![node], reads: Vec::new() });
}

/// The states that a call on this one has to respect: its own, and that of the whole namespace.
fn overlapping(touch: &Touch) -> impl Iterator<Item = Option<Arc<str>>> {
    let own = touch.resource.clone();
    own.is_some().then_some(own).into_iter().chain([None])
}

/// Moves what is awaited of every part to the whole namespace, for a call that touches all of it. Later calls on one
/// part then wait for earlier ones on the others too, which is rare and costs no more than some parallelism.
fn gather(states: &mut States) {
    if states.keys().all(Option::is_none) {
        return;
    }
    let mut whole = Frontier::default();
    for (_, frontier) in std::mem::take(states) {
        whole.effects.extend(frontier.effects);
        whole.reads.extend(frontier.reads);
    }
    states.insert(None, whole);
}

/// One vertex that stands for all of these, so that many readers of many calls stay linear in number.
fn joined(dag: &mut Dag, vertices: &mut Vec<NodeIndex>, edge: Edge) -> Option<NodeIndex> {
    if vertices.len() > 1 {
        let join = dag.add_node(Vertex::Join);
        for vertex in vertices.iter() {
            dag.add_edge(*vertex, join, edge);
        }
        *vertices = vec![join];
    }
    vertices.first().copied()
}

/// Adds an edge unless a stronger one between the same two was just added, and it need not stand beside that: arguments
/// often come from the step before.
fn add_edge(dag: &mut Dag, from: NodeIndex, to: NodeIndex, edge: Edge, beside: bool) {
    // Arguments are few, while an effect may have any number of readers: look from below.
    let mut above = dag.edges_directed(to, Direction::Incoming);
    let known =
        !beside && above.any(|known| known.source() == from && !matches!(known.weight(), Edge::State | Edge::Guard));
    if !known && from != to {
        dag.add_edge(from, to, edge);
    }
}
