//! Control-flow graphs: their nodes, reachability, cycles and join points.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::source::Span;

use crate::draft::excerpt;

/// Whether the document can end at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// It always continues.
    Never,
    Success,
    /// It only fails.
    Failure,
}

/// A node of the graph, such as a state of a machine or a task of a workflow.
#[derive(Debug)]
pub struct GraphNode<'d> {
    pub name: &'d str,
    pub span: Span,
    /// Its kind in the words of the document.
    pub kind: String,
    /// Its successors.
    pub targets: Vec<&'d str>,
    pub termination: Termination,
    /// The variables that it sets.
    pub sets: Vec<String>,
}

/// Nodes by name. Targets that are not nodes are outside the graph, and paths end there.
#[derive(Debug, Default)]
pub struct Graph<'d> {
    nodes: BTreeMap<&'d str, GraphNode<'d>>,
}

impl<'d> FromIterator<GraphNode<'d>> for Graph<'d> {
    fn from_iter<I: IntoIterator<Item = GraphNode<'d>>>(nodes: I) -> Self {
        let nodes = nodes.into_iter().map(|node| (node.name, node));
        Self {
            nodes: nodes.collect(),
        }
    }
}

impl<'d> Graph<'d> {
    pub fn get(&self, name: &str) -> Option<&GraphNode<'d>> {
        self.nodes.get(name)
    }

    fn targets(&self, name: &str) -> &[&'d str] {
        self.get(name).map_or(&[], |node| &node.targets)
    }

    /// Returns every node that is reachable without passing a stop.
    fn reachable(&self, from: &str, stops: &BTreeSet<&str>) -> BTreeSet<&'d str> {
        let mut found = BTreeSet::new();
        let mut open = self.targets(from).to_vec();
        while let Some(node) = open.pop() {
            if found.insert(node) && !stops.contains(node) {
                open.extend(self.targets(node));
            }
        }
        found
    }

    /// Returns true if there is a path from one node to another.
    pub fn reaches(&self, from: &str, to: &str) -> bool {
        self.reachable(from, &BTreeSet::new()).contains(to)
    }

    /// Returns the nodes of the cycle that starts at a node; `None` if there is no cycle.
    pub fn cycle(&self, head: &'d str, stops: &BTreeSet<&str>) -> Option<BTreeSet<&'d str>> {
        let after = self.reachable(head, stops);
        if !after.contains(head) {
            return None;
        }
        let inner = after.into_iter().filter(|node| !stops.contains(*node));
        let back = inner.filter(|node| *node == head || self.reachable(node, stops).contains(head));
        Some(back.collect())
    }

    /// Returns the only node to which a cycle exits. Nodes that only fail do not count. Returns a message if there is
    /// no exit or more than one, or if the document can end inside the cycle.
    pub fn exit(&self, cycle: &BTreeSet<&'d str>) -> Result<&'d str, String> {
        let mut exits = BTreeSet::new();
        for node in cycle.iter().filter_map(|name| self.get(name)) {
            if node.termination == Termination::Success {
                return Err(format!(
                    "it ends the whole run from inside the loop, at `{}`",
                    excerpt(node.name)
                ));
            }
            let outside = node.targets.iter().filter(|name| !cycle.contains(**name));
            let fails = |name: &str| {
                self.get(name)
                    .is_some_and(|node| node.termination == Termination::Failure)
            };
            exits.extend(outside.filter(|name| !fails(name)));
        }
        let mut found = exits.into_iter();
        match (found.next(), found.next()) {
            (Some(exit), None) => Ok(exit),
            (None, _) => Err("only failures lead out of it".to_owned()),
            (Some(one), Some(other)) => {
                let label = |node: &str| match node {
                    "" => "the end".to_owned(),
                    _ => format!("`{}`", excerpt(node)),
                };
                Err(format!(
                    "it has several exits, such as {} and {}, but a `repeat` has only one",
                    label(one),
                    label(other)
                ))
            }
        }
    }

    /// Returns the variables that the nodes of a cycle set.
    pub fn sets(&self, cycle: &BTreeSet<&str>) -> Vec<String> {
        let nodes = cycle.iter().filter_map(|name| self.get(name));
        let names: BTreeSet<&String> = nodes.flat_map(|node| &node.sets).collect();
        names.into_iter().cloned().collect()
    }

    /// Returns the node at which all paths from a node join. If paths that end prevent this, they are ignored.
    pub fn join_point(&self, node: &'d str, stops: &BTreeSet<&str>) -> Option<&'d str> {
        let join = |counts_ends| {
            let mut known = BTreeMap::new();
            let post_dominators = self.post_dominators(node, stops, counts_ends, &mut known)?;
            let others = post_dominators.into_iter().filter(|other| *other != node);
            let length = |other: &&str| known.get(*other).and_then(|all| Some(all.as_ref()?.len()));
            others.max_by_key(length)
        };
        join(true).or_else(|| join(false))
    }

    /// Returns the nodes that every path from a node passes (its post-dominators); `None` if all paths end (unless
    /// `counts_ends`) or only cycle.
    fn post_dominators(
        &self,
        name: &'d str,
        stops: &BTreeSet<&str>,
        counts_ends: bool,
        known: &mut BTreeMap<&'d str, Option<BTreeSet<&'d str>>>,
    ) -> Option<BTreeSet<&'d str>> {
        if let Some(known) = known.get(name) {
            return known.clone();
        }
        let targets = self.targets(name);
        let fails = self
            .get(name)
            .is_some_and(|node| node.termination == Termination::Failure);
        if stops.contains(name) || (targets.is_empty() && counts_ends && !fails) {
            let only = Some(BTreeSet::from([name]));
            known.insert(name, only.clone());
            return only;
        }
        known.insert(name, None);
        let mut common: Option<BTreeSet<&str>> = None;
        for target in targets {
            let Some(post_dominators) = self.post_dominators(target, stops, counts_ends, known)
            else {
                continue;
            };
            common = Some(match common {
                None => post_dominators,
                Some(common) => common.intersection(&post_dominators).copied().collect(),
            });
        }
        if let Some(common) = &mut common {
            common.insert(name);
        }
        known.insert(name, common.clone());
        common
    }
}
