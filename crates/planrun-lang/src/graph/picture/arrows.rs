//! Adds the arrows of a drawing: what a statement reads, names in `after` and listens to.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use super::Picture;
use super::frames::Branches;
use crate::graph::draw::{Drawing, DrawnEdge, EdgeKind, NodeKind as Shape};
use crate::graph::{BlockGraph, Edge};
use crate::sema::{Block, Event, EventKind, NodeKind, Plan, Set, Status, Task, TaskId, TaskTest};

/// Maximum number of statements that change a task and are drawn as sources; beyond it, its declaration is drawn
/// instead.
const MAX_SETS: usize = 8;

/// Statements that change tasks, and statements that listen to these changes.
#[derive(Default)]
pub(super) struct Events<'a> {
    listeners: Vec<(usize, &'a Plan, &'a Event)>,
    /// Statements that read the context of a task that no preceding statement of their block has changed.
    readers: Vec<(usize, &'a Plan, TaskId)>,
    /// Indexed by plan and task.
    moves: BTreeMap<(*const Plan, TaskId), Vec<(usize, Status)>>,
    declared: BTreeMap<(*const Plan, TaskId), usize>,
}

impl<'a> Events<'a> {
    pub fn listens(&mut self, place: usize, plan: &'a Plan, event: &'a Event) {
        self.listeners.push((place, plan, event));
    }

    pub fn sets(&mut self, place: usize, plan: &'a Plan, set: &Set) {
        self.moves
            .entry((ptr::from_ref(plan), set.task))
            .or_default()
            .push((place, set.status));
    }

    pub fn declares(&mut self, place: usize, plan: &'a Plan, task: TaskId) {
        self.declared.insert((ptr::from_ref(plan), task), place);
    }

    /// Returns the arrows from statements that change a task to statements that listen to it.
    fn arrows(&self, drawing: &Drawing) -> Vec<DrawnEdge> {
        let mut edges = Vec::new();
        for (place, plan, event) in &self.listeners {
            let mut sources = BTreeSet::new();
            event.leaves(&mut |leaf| {
                if let EventKind::Task { task, test } = &leaf.kind {
                    self.moved(
                        drawing,
                        (ptr::from_ref(*plan), *task),
                        plan.task(*task),
                        *test,
                        *place,
                        &mut sources,
                    );
                }
            });
            edges.extend(sources.into_iter().map(|from| DrawnEdge {
                from,
                to: *place,
                kind: EdgeKind::Listener,
            }));
        }
        for (place, plan, task) in &self.readers {
            let key = (ptr::from_ref(*plan), *task);
            let above = |from: &usize| {
                drawing
                    .siblings(*from, *place)
                    .is_some_and(|(from, to)| from < to)
            };
            let moves = self
                .moves
                .get(&key)
                .map_or(&[][..], Vec::as_slice)
                .iter()
                .map(|(from, _)| *from);
            let mut sources: Vec<usize> = moves.filter(above).take(MAX_SETS + 1).collect();
            if sources.is_empty() || sources.len() > MAX_SETS {
                sources = self.declared.get(&key).copied().into_iter().collect();
            }
            edges.extend(sources.into_iter().map(|from| DrawnEdge {
                from,
                to: *place,
                kind: EdgeKind::Data,
            }));
        }
        edges
    }

    fn moved(
        &self,
        drawing: &Drawing,
        key: (*const Plan, TaskId),
        task: &Task,
        test: TaskTest,
        listener: usize,
        sources: &mut BTreeSet<usize>,
    ) {
        let moves = self.moves.get(&key).map_or(&[][..], Vec::as_slice);
        let outside = |place: usize| drawing.siblings(place, listener).is_some();
        let fit = moves
            .iter()
            .filter(|(place, status)| test.holds(task, *status) && outside(*place));
        let fit: Vec<usize> = fit.take(MAX_SETS + 1).map(|(place, _)| *place).collect();
        let begins = test.holds(task, Status(0));
        if fit.is_empty() || fit.len() > MAX_SETS || begins || task.external {
            sources.extend(self.declared.get(&key));
        }
        if fit.len() <= MAX_SETS {
            sources.extend(fit);
        }
    }
}

impl Picture {
    /// Adds the arrows between the statements of one block.
    pub(super) fn edges<'a>(
        &mut self,
        block: &Block,
        graph: &BlockGraph,
        places: &[Option<usize>],
        branches: &Branches<'_>,
        (events, plan): (&mut Events<'a>, &'a Plan),
    ) {
        let place = |index: usize| places.get(index).copied().flatten();
        for index in 0..graph.nodes {
            let Some(to) = place(index) else { continue };
            for (source, edge) in graph.sources(index) {
                let task = match block.nodes.get(source).map(|node| &node.kind) {
                    Some(NodeKind::Task(task)) => Some(*task),
                    _ => None,
                };
                let kind = match edge {
                    // All changes of a task are known only when everything is drawn.
                    Edge::Data | Edge::State | Edge::Listener if task.is_some() => {
                        if edge != Edge::Listener {
                            events.readers.extend(task.map(|task| (to, plan, task)));
                        }
                        continue;
                    }
                    Edge::Data | Edge::State => EdgeKind::Data,
                    Edge::After => EdgeKind::After,
                    // Guards of an `if` are drawn at its frame.
                    Edge::Guard if branches.is_branch(source) => continue,
                    Edge::Guard => {
                        self.guards(graph, places, source, to);
                        continue;
                    }
                    // Arrows of source order are drawn between siblings.
                    Edge::Place => continue,
                    Edge::Listener => EdgeKind::Listener,
                };
                let from = place(source);
                self.drawing
                    .edges
                    .extend(from.map(|from| DrawnEdge { from, to, kind }));
            }
        }
        for (condition, frame) in branches.conditions() {
            self.guards(graph, places, condition, frame);
        }
    }

    /// Adds arrows to a guarded node from what its condition reads.
    fn guards(
        &mut self,
        graph: &BlockGraph,
        places: &[Option<usize>],
        condition: usize,
        to: usize,
    ) {
        let read = graph
            .sources(condition)
            .into_iter()
            .filter(|(_, edge)| matches!(edge, Edge::Data | Edge::State));
        let from = read.filter_map(|(above, _)| places.get(above).copied().flatten());
        self.drawing.edges.extend(from.map(|from| DrawnEdge {
            from,
            to,
            kind: EdgeKind::Guard,
        }));
    }

    /// Returns the finished drawing, with nodes in source order and without duplicate arrows.
    pub(super) fn finish(mut self, events: &Events<'_>) -> Drawing {
        let arrows = events.arrows(&self.drawing);
        self.drawing.edges.extend(arrows);
        self.drawing.edges.retain(|edge| edge.from != edge.to);
        self.order();
        let Self { mut drawing, .. } = self;
        in_source_order(&mut drawing);
        drawing
            .edges
            .sort_unstable_by_key(|edge| (edge.to, edge.from, edge.kind));
        drawing.edges.dedup();
        drawing
    }
}

/// Moves the contents of a frame directly after the frame, and the work of a step before its `recover` and `undo`.
fn in_source_order(drawing: &mut Drawing) {
    let mut inside = drawing.inside();
    for inside in &mut inside {
        inside
            .sort_by_key(|node| matches!(drawing.nodes[*node].kind, Shape::Recover | Shape::Undo));
    }
    let whole = drawing.nodes.len();
    let mut order = Vec::with_capacity(whole);
    let mut open: Vec<usize> = inside[whole].iter().rev().copied().collect();
    while let Some(node) = open.pop() {
        order.push(node);
        open.extend(inside[node].iter().rev());
    }
    let mut places = vec![0; whole];
    for (place, node) in order.iter().enumerate() {
        places[*node] = place;
    }
    let mut nodes: Vec<_> = std::mem::take(&mut drawing.nodes)
        .into_iter()
        .map(Some)
        .collect();
    drawing.nodes = order
        .iter()
        .filter_map(|node| nodes[*node].take())
        .collect();
    for node in &mut drawing.nodes {
        node.parent = node.parent.map(|parent| places[parent]);
    }
    for edge in &mut drawing.edges {
        (edge.from, edge.to) = (places[edge.from], places[edge.to]);
    }
}
