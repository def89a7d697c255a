//! Builds the graph of a checked plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use petgraph::graph::NodeIndex;

use super::contexts::{Contexts, Uses};
use super::order::{Dag, add_places, placements};
use super::{BlockGraph, Edge, FiringRead, Graph, Slots, Waits};
use crate::sema::expr::ReadKind;
use crate::sema::{Block, BlockId, Event, EventKind, Node, NodeKind, Place, Plan, TaskId};

/// A read of an outer frame by a block: number of frames outwards from the block's owner, slot, and what is read.
type OuterRead = (u16, u32, ReadKind);

/// Builds the graph of a plan. Every edge leads forwards in source order, so there are no cycles.
#[must_use]
pub fn build(plan: &Plan) -> Graph {
    let mut outer: Vec<BTreeSet<OuterRead>> = vec![BTreeSet::new(); plan.blocks.len()];
    let mut blocks = Vec::with_capacity(plan.blocks.len());
    let mut contexts = Contexts::of(plan);
    // A block has a higher number than the block that owns it, so its reads are known when the owner is built.
    for (index, block) in plan.blocks.iter().enumerate().rev() {
        let (graph, reads) = build_block((BlockId(super::narrow(index)), block), &outer, &contexts);
        contexts.add_block(index, block);
        outer[index] = reads;
        blocks.push(graph);
    }
    blocks.reverse();
    let plans = plan
        .plans
        .iter()
        .map(|plan| Arc::new(build(plan)))
        .collect();
    Graph { blocks, plans }
}

fn build_block(
    (id, block): (BlockId, &Block),
    outer: &[BTreeSet<OuterRead>],
    contexts: &Contexts<'_>,
) -> (BlockGraph, BTreeSet<OuterRead>) {
    let mut dag = Dag::with_capacity(block.nodes.len(), block.nodes.len() * 2);
    let mut barriers = Vec::with_capacity(block.nodes.len());
    for placement in placements(block) {
        dag.add_node(placement.vertex());
        barriers.push(placement.is_barrier());
    }
    let slots = Slots::of(block);
    let mut outward = BTreeSet::new();
    let (mut declared, mut uses) = (BTreeMap::new(), Uses::of(contexts, block));
    let mut reads = BTreeSet::new();
    let mut firing_reads = Vec::new();
    for (index, node) in block.nodes.iter().enumerate() {
        let target = NodeIndex::new(index);
        uses.add_order(&mut dag, contexts, block, index);
        reads.clear();
        collect_reads(node, outer, &mut reads);
        for &(up, slot, kind) in &reads {
            let task = contexts.task(id, Place { up, slot });
            if let Some(task) = task {
                uses.add_read(&mut dag, contexts, task, index, kind.into());
            }
            if up > 0 {
                outward.insert((up - 1, slot, kind));
                continue;
            }
            // While `until` polls, it reads the step's own slot; that is not a dependency.
            if task.is_some() || node.slot == Some(slot) {
                continue;
            }
            for source in sources(block, &slots, slot, index) {
                dag.add_edge(NodeIndex::new(source as usize), target, kind.into());
            }
        }
        add_guard_edges(&mut dag, target, node);
        add_event_edges(&mut dag, target, node, &slots, &mut declared);
        uses.add_changes(&mut dag, contexts, block, index);
        let number = super::narrow(index);
        firings(block, number, outer, &slots, &mut firing_reads);
    }
    add_places(&mut dag, block, &uses.shared_reads);
    let waits = waits(&dag);
    (
        BlockGraph {
            dag,
            nodes: block.nodes.len(),
            barriers,
            shared_reads: uses.shared_reads,
            waits,
            slots,
            firing_reads,
        },
        outward,
    )
}

/// Adds the edges from the conditions of a statement and from what it names in `after`.
fn add_guard_edges(dag: &mut Dag, target: NodeIndex, node: &Node) {
    for atom in &node.guard {
        let condition = NodeIndex::new(atom.condition.0 as usize);
        dag.add_edge(condition, target, Edge::Guard);
    }
    for after in &node.after {
        dag.add_edge(NodeIndex::new(after.node.0 as usize), target, Edge::After);
    }
}

/// Returns the statements before a reader that may give the value of a slot, without those in other branches of an `if`
/// around it.
fn sources<'a>(
    block: &'a Block,
    slots: &'a Slots,
    slot: u32,
    reader: usize,
) -> impl Iterator<Item = u32> + 'a {
    let above = slots
        .nodes(slot)
        .filter(move |source| (*source as usize) < reader);
    let node = |index: usize| block.nodes.get(index);
    let apart = move |source: &u32| match (node(*source as usize), node(reader)) {
        (Some(source), Some(reader)) => super::exclusive(source, reader),
        _ => false,
    };
    above.filter(move |source| !apart(source))
}

/// Collects what the firings of a listener read from its block.
fn firings(
    block: &Block,
    index: u32,
    outer: &[BTreeSet<OuterRead>],
    slots: &Slots,
    firing_reads: &mut Vec<FiringRead>,
) {
    let NodeKind::Listener(listener) = &block.nodes[index as usize].kind else {
        return;
    };
    let mut add = |slot: u32, kind: ReadKind, in_when: bool| {
        for source in sources(block, slots, slot, index as usize) {
            let needs_value = kind == ReadKind::Value;
            firing_reads.push(FiringRead {
                listener: index,
                source,
                needs_value,
                in_when,
            });
        }
    };
    let body = outer.get(listener.body.0 as usize);
    body.into_iter()
        .flatten()
        .filter(|(up, ..)| *up == 0)
        .for_each(|(_, slot, kind)| add(*slot, *kind, false));
    let of_when = listener
        .when
        .iter()
        .flat_map(|when| &when.reads)
        .filter(|read| read.place.up == 1);
    of_when.for_each(|read| add(read.place.slot, read.kind, true));
}

/// Adds the edges that a statement has because of events that start listeners. `declared` are the tasks of the block so
/// far.
fn add_event_edges(
    dag: &mut Dag,
    target: NodeIndex,
    node: &Node,
    slots: &Slots,
    declared: &mut BTreeMap<TaskId, usize>,
) {
    if let NodeKind::Task(task) = node.kind {
        declared.insert(task, target.index());
    }
    let mut subjects = BTreeSet::new();
    let mut visit = |leaf: &Event| match &leaf.kind {
        EventKind::Step { place, .. } if place.up == 0 => {
            subjects.extend(slots.nodes(place.slot).map(|node| node as usize));
        }
        EventKind::Task { task, .. } => subjects.extend(declared.get(task).copied()),
        EventKind::Step { .. }
        | EventKind::Plan(_)
        | EventKind::Signal(_)
        | EventKind::Not(_)
        | EventKind::All(_)
        | EventKind::Any(_)
        | EventKind::Damaged => {}
    };
    node.event()
        .into_iter()
        .for_each(|event| event.leaves(&mut visit));
    for subject in subjects {
        dag.add_edge(NodeIndex::new(subject), target, Edge::Listener);
    }
}

/// Collects the names that a node and its inner blocks read, relative to its frame.
fn collect_reads(node: &Node, outer: &[BTreeSet<OuterRead>], reads: &mut BTreeSet<OuterRead>) {
    let place = |read: &crate::sema::expr::Read| (read.place.up, read.place.slot, read.kind);
    node.codes(&mut |code| reads.extend(code.reads.iter().map(place)));
    // A listener does not wait; its firings do. What they read in outer frames exists before this block begins.
    let nearest = u16::from(matches!(node.kind, NodeKind::Listener(_)));
    node.inner_codes(&mut |code| {
        let outwards = code
            .reads
            .iter()
            .map(place)
            .filter(|(up, ..)| *up > nearest);
        reads.extend(outwards.map(|(up, slot, kind)| (up - 1, slot, kind)));
    });
    node.inner(&mut |inner| {
        if let Some(inner) = outer.get(inner.0 as usize) {
            reads.extend(inner.iter().filter(|(up, ..)| *up >= nearest));
        }
    });
}

fn waits(dag: &Dag) -> Vec<Waits> {
    let mut waits = vec![Waits::default(); dag.node_count()];
    for edge in dag.raw_edges() {
        let Some(target) = waits.get_mut(edge.target().index()) else {
            continue;
        };
        // A listener does not wait for its event, which may never occur.
        if edge.weight == Edge::Listener {
            continue;
        }
        if edge.weight.decides_guard() {
            target.guard += 1;
        } else {
            target.rest += 1;
        }
    }
    waits
}
