//! From the graph of a plan to what is drawn of it: statements that people wrote, and why they wait for each other.

use petgraph::visit::EdgeRef;

use super::draw::{Drawing, DrawnEdge, DrawnNode, EdgeKind, NodeKind as Shape};
use super::{Edge, Graph, Vertex, awaited_by_place};
use crate::sema::{Block, BlockId, Call, Node, NodeKind, Plan, Step, StepKind, Target};

/// The drawing of a plan: its own statements and those of its blocks. Called plans are single boxes.
#[must_use]
pub fn drawing(plan: &Plan, graph: &Graph) -> Drawing {
    let mut drawing = Drawing { plan: plan.name.to_string(), ..Drawing::default() };
    let numbers = numbers(plan);
    // Blocks with the path before their steps, in source order.
    let mut open = vec![(BlockId(0), String::new())];
    while let Some((id, path)) = open.pop() {
        let block = Placed { block: plan.block(id), path, first: numbers[id.0 as usize] };
        for (index, node) in block.nodes().iter().enumerate() {
            draw_node(plan, &block, index, node, &mut drawing);
        }
        draw_edges(&block, &graph.blocks[id.0 as usize], &mut drawing);
        let mut inner = Vec::new();
        for (index, node) in block.nodes().iter().enumerate() {
            let own = block.name(index);
            node.inner(&mut |id| {
                let label = plan.block(id).label.as_ref();
                inner.push((id, label.map_or_else(|| own.clone(), |label| format!("{own}.{label}"))));
            });
        }
        open.extend(inner.into_iter().rev());
    }
    drawing
}

/// A block where it stands.
struct Placed<'a> {
    block: &'a Block,
    /// What stands before the names of its statements.
    path: String,
    /// The number of its first statement in the plan.
    first: usize,
}

impl<'a> Placed<'a> {
    fn nodes(&self) -> &'a [Node] {
        &self.block.nodes
    }

    /// The path of a statement. Those without a name have a number: arms of one step share their path.
    fn name(&self, index: usize) -> String {
        let own = match &self.block.nodes[index].name {
            Some(name) => name.to_string(),
            None => format!("#{}", self.first + index),
        };
        if self.path.is_empty() { own } else { format!("{}.{own}", self.path) }
    }

    /// What tells a statement from all others: its path, with a number where other branches of an `if` give the same name.
    fn id(&self, index: usize) -> String {
        let name = self.name(index);
        let siblings = self.block.siblings(&self.block.nodes[index]);
        match siblings.and_then(|siblings| siblings.iter().position(|sibling| *sibling as usize == index)) {
            Some(position) if position > 0 => format!("{name}#{}", position + 1),
            Some(_) | None => name,
        }
    }
}

/// How many statements stand in the blocks before each.
fn numbers(plan: &Plan) -> Vec<usize> {
    let counts = plan.blocks.iter().map(|block| block.nodes.len());
    let count = |before: &mut usize, count| {
        let first = *before;
        *before += count;
        Some(first)
    };
    counts.scan(0, count).collect()
}

fn draw_node(plan: &Plan, block: &Placed<'_>, index: usize, node: &Node, drawing: &mut Drawing) {
    let (id, path) = (block.id(index), block.name(index));
    let (kind, label) = match &node.kind {
        NodeKind::Condition(_) => return,
        NodeKind::Step(step) => (shape(step), label(&path, step)),
        NodeKind::Let(_) => (Shape::Let, path),
        NodeKind::Ensure { .. } => (Shape::Ensure, "ensure".to_owned()),
        NodeKind::Fail(failing) => (Shape::Fail, format!("fail {}", failing.class)),
        NodeKind::Reply(_) => (Shape::Reply, "reply".to_owned()),
        NodeKind::Yield(_) => (Shape::Yield, "yield".to_owned()),
        NodeKind::Next(_) => (Shape::Yield, "next".to_owned()),
        NodeKind::Task(_) => (Shape::Task, format!("task {path}")),
        NodeKind::Set(set) => {
            let task = plan.task(set.task);
            (Shape::Task, format!("set {} {}", task.name, task.status_name(set.status)))
        }
        NodeKind::Listener(_) => (Shape::Task, format!("listener {path}")),
    };
    let group = (!block.path.is_empty()).then(|| block.path.clone());
    drawing.nodes.push(DrawnNode { id, label, kind, group });
}

fn draw_edges(block: &Placed<'_>, graph: &super::BlockGraph, drawing: &mut Drawing) {
    for target in 0..graph.nodes {
        if matches!(block.nodes()[target].kind, NodeKind::Condition(_)) {
            continue;
        }
        let mut drawn = Vec::new();
        // Joins and conditions are not drawn: what stands above them is what is waited for.
        let mut above = vec![(target, None)];
        while let Some((vertex, through)) = above.pop() {
            let edges =
                graph.dag.edges_directed(petgraph::graph::NodeIndex::new(vertex), petgraph::Direction::Incoming);
            for edge in edges {
                let source = edge.source().index();
                let kind = through.unwrap_or_else(|| kind(*edge.weight()));
                let hidden = source >= graph.nodes || matches!(block.nodes()[source].kind, NodeKind::Condition(_));
                if hidden {
                    above.push((source, Some(kind)));
                } else if !drawn.contains(&(source, kind)) {
                    drawn.push((source, kind));
                }
            }
        }
        if graph.vertex(super::narrow(target)) == Vertex::Decisions {
            // It waits for every decision above; the nearest stands for them all.
            let decision = (0..target).rev().find(|index| block.nodes()[*index].decides());
            drawn.extend(decision.map(|source| (source, EdgeKind::Order)).filter(|edge| !drawn.contains(edge)));
        }
        if block.nodes()[target].after.is_empty() {
            let mut place = awaited_by_place(block.block, graph, target);
            place.retain(|above| drawn.iter().all(|(source, _)| source != above));
            drawn.extend(place.into_iter().map(|above| (above, EdgeKind::Order)));
        }
        drawn.sort_unstable_by_key(|(source, kind)| (*source, *kind as u8));
        for (source, kind) in drawn {
            drawing.edges.push(DrawnEdge { from: block.id(source), to: block.id(target), kind });
        }
    }
}

const fn kind(edge: Edge) -> EdgeKind {
    match edge {
        Edge::Data | Edge::State => EdgeKind::Data,
        Edge::Guard => EdgeKind::Guard,
        Edge::After => EdgeKind::After,
        Edge::Place => EdgeKind::Order,
        Edge::Listener => EdgeKind::Listener,
    }
}

fn shape(step: &Step) -> Shape {
    match &step.kind {
        StepKind::Call(_) => Shape::Step,
        StepKind::Do(_) | StepKind::Each(_) | StepKind::Repeat(_) | StepKind::Race(_) | StepKind::Match { .. } => {
            Shape::Block
        }
        StepKind::Ask(_) | StepKind::Infer(_) | StepKind::Input(_) | StepKind::Wait(_) | StepKind::Damaged => {
            Shape::Wait
        }
    }
}

fn label(path: &str, step: &Step) -> String {
    let what = match &step.kind {
        StepKind::Call(Call { target: Target::Tool(signature), .. }) => signature.path(),
        StepKind::Call(Call { target: Target::Plan(_, name), .. }) => name.to_string(),
        other => other.word().unwrap_or("").to_owned(),
    };
    format!("{path}\n{what}")
}
