//! From a checked plan to its graph.

use std::collections::BTreeSet;
use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};

use super::order::Order;
use super::{BlockGraph, Edge, Graph, Vertex, Waits};
use crate::sema::expr::ReadKind;
use crate::sema::{Block, Node, NodeKind, Plan, StepKind};

/// A name of an outer frame that a block reads: frames outwards from the block's owner, slot, and what is read.
type OuterRead = (u16, u32, ReadKind);

/// The graph of a plan. Every edge leads downwards in source order, so there are no cycles.
#[must_use]
pub fn build(plan: &Plan) -> Graph {
    let mut outer: Vec<BTreeSet<OuterRead>> = vec![BTreeSet::new(); plan.blocks.len()];
    let mut blocks = Vec::with_capacity(plan.blocks.len());
    // A block has a higher number than the block that owns it, so its reads are known when the owner is built.
    for (index, block) in plan.blocks.iter().enumerate().rev() {
        let (graph, reads) = build_block(block, &outer);
        outer[index] = reads;
        blocks.push(graph);
    }
    blocks.reverse();
    let plans = plan.plans.iter().map(|plan| Arc::new(build(plan))).collect();
    Graph { blocks, plans }
}

fn build_block(block: &Block, outer: &[BTreeSet<OuterRead>]) -> (BlockGraph, BTreeSet<OuterRead>) {
    let mut dag: DiGraph<Vertex, Edge, u32> = DiGraph::with_capacity(block.nodes.len(), block.nodes.len() * 2);
    for node in &block.nodes {
        dag.add_node(vertex(node));
    }
    let mut by_slot: Vec<Option<u32>> = vec![None; block.slots as usize];
    for (index, node) in block.nodes.iter().enumerate() {
        if let Some(place) = node.slot.and_then(|slot| by_slot.get_mut(slot as usize)) {
            *place = Some(super::narrow(index));
        }
    }
    let mut outward = BTreeSet::new();
    let mut order = Order::default();
    let mut reads = BTreeSet::new();
    for (index, node) in block.nodes.iter().enumerate() {
        let target = NodeIndex::new(index);
        reads.clear();
        collect_reads(node, outer, &mut reads);
        for &(up, slot, kind) in &reads {
            if up > 0 {
                outward.insert((up - 1, slot, kind));
                continue;
            }
            let source = by_slot.get(slot as usize).copied().flatten();
            // While `until` polls it reads the step's own slot: no edge.
            if let Some(source) = source.filter(|source| (*source as usize) < index) {
                let edge = match kind {
                    ReadKind::Value => Edge::Data,
                    ReadKind::State => Edge::State,
                };
                dag.add_edge(NodeIndex::new(source as usize), target, edge);
            }
        }
        for atom in &node.guard {
            dag.add_edge(NodeIndex::new(atom.condition.0 as usize), target, Edge::Guard);
        }
        for after in &node.after {
            dag.add_edge(NodeIndex::new(after.0 as usize), target, Edge::After);
        }
        if let Some(step) = node.step() {
            order.add(&mut dag, target, step);
        }
    }
    let waits = waits(&dag);
    (BlockGraph { dag, nodes: block.nodes.len(), waits, by_slot }, outward)
}

/// The names that a node and the blocks in it read, as seen from its frame.
fn collect_reads(node: &Node, outer: &[BTreeSet<OuterRead>], reads: &mut BTreeSet<OuterRead>) {
    node.codes(&mut |code| {
        reads.extend(code.reads.iter().map(|read| (read.place.up, read.place.slot, read.kind)));
    });
    if let Some(StepKind::Each(each)) = node.step().map(|step| &step.kind)
        && let Some(by) = &each.by
    {
        // `by` is evaluated in the frame of the body.
        let outwards = by.reads.iter().filter(|read| read.place.up > 0);
        reads.extend(outwards.map(|read| (read.place.up - 1, read.place.slot, read.kind)));
    }
    node.inner(&mut |inner| {
        if let Some(inner) = outer.get(inner.0 as usize) {
            reads.extend(inner);
        }
    });
}

fn vertex(node: &Node) -> Vertex {
    match &node.kind {
        NodeKind::Fail(_) if node.guard.is_empty() => Vertex::Everything,
        NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => Vertex::Everything,
        NodeKind::Step(step) if !step.effect.floats() => Vertex::Decisions,
        NodeKind::Step(_)
        | NodeKind::Fail(_)
        | NodeKind::Condition(_)
        | NodeKind::Let(_)
        | NodeKind::Ensure { .. }
        | NodeKind::NotYet(_) => Vertex::Free,
    }
}

fn waits(dag: &DiGraph<Vertex, Edge, u32>) -> Vec<Waits> {
    let mut waits = vec![Waits::default(); dag.node_count()];
    for edge in dag.raw_edges() {
        let Some(target) = waits.get_mut(edge.target().index()) else { continue };
        if edge.weight.decides_guard() {
            target.guard += 1;
        } else {
            target.rest += 1;
        }
    }
    waits
}
