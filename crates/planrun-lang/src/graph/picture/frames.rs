//! Reconstructs the frames within a block: its `if`s, which the checked plan represents as guards, and its `parallel`
//! blocks.

use std::collections::{BTreeMap, BTreeSet};

use super::{Open, Picture, Words};
use crate::graph::draw::NodeKind as Shape;
use crate::sema::expr::CheckedExpr;
use crate::sema::{Block, GuardAtom, NodeId, NodeKind};

/// The construct that opens a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opening {
    Branch(GuardAtom),
    /// The number of its first node.
    Parallel(u32),
}

/// The frames of one block, opened while its statements are drawn in source order.
pub(super) struct Branches<'a> {
    block: &'a Block,
    /// The frame of the block itself.
    around: Option<usize>,
    /// The conditions of `if`s, without those of `when`.
    conditions: BTreeSet<u32>,
    /// Conditions with an `else`.
    with_else: BTreeSet<u32>,
    /// Conditions whose `else` consists of another `if`.
    chained: BTreeSet<u32>,
    /// The open frames, with the drawn frame that their statements go into.
    open: Vec<(Opening, Option<usize>)>,
    /// The drawn frame of each `if`, by condition.
    drawn: BTreeMap<u32, usize>,
}

impl<'a> Branches<'a> {
    pub fn new(block: &'a Block, around: Option<usize>) -> Self {
        let mut conditions = BTreeSet::new();
        let mut with_else: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let own = own_conditions(block);
        for (index, node) in block.nodes.iter().enumerate() {
            if matches!(node.kind, NodeKind::Condition(_))
                && !own.contains(&super::super::narrow(index))
            {
                conditions.insert(super::super::narrow(index));
            }
            let last = node
                .guard
                .iter()
                .rev()
                .find(|atom| !own.contains(&atom.condition.0));
            if let Some(atom) = last.filter(|atom| atom.negated) {
                with_else.entry(atom.condition.0).or_default().push(index);
            }
        }
        let alone = |inside: &[usize]| matches!(inside, [only] if conditions.contains(&super::super::narrow(*only)));
        let chained = with_else
            .iter()
            .filter(|(_, inside)| alone(inside))
            .map(|(condition, _)| *condition)
            .collect();
        let with_else = with_else.into_keys().collect();
        Self {
            block,
            around,
            conditions,
            with_else,
            chained,
            open: Vec::new(),
            drawn: BTreeMap::new(),
        }
    }

    /// Returns the condition of a statement's own `when`.
    pub fn own_condition(&self, index: usize) -> Option<&'a CheckedExpr> {
        match &self.block.nodes.get(self.own_condition_node(index)?)?.kind {
            NodeKind::Condition(code) => Some(code),
            _ => None,
        }
    }

    /// Returns the node of the condition of a statement's own `when`.
    pub fn own_condition_node(&self, index: usize) -> Option<usize> {
        let condition = self.block.nodes.get(index)?.guard.last()?.condition.0;
        (!self.conditions.contains(&condition)).then_some(condition as usize)
    }

    /// Returns the drawn frames of `if`s, each with one of its conditions.
    pub fn conditions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.drawn
            .iter()
            .map(|(condition, frame)| (*condition as usize, *frame))
    }

    /// Returns true if a condition belongs to an `if`.
    pub fn is_branch(&self, condition: usize) -> bool {
        self.conditions.contains(&super::super::narrow(condition))
    }

    /// Returns the frame of a statement, and draws it if this is its first statement.
    pub fn frame_of(
        &mut self,
        index: usize,
        picture: &mut Picture,
        open: &Open<'_>,
        words: Words<'_>,
    ) -> Option<usize> {
        let openings = self.openings(index);
        let same = self
            .open
            .iter()
            .zip(&openings)
            .take_while(|((known, _), opening)| known == *opening)
            .count();
        self.open.truncate(same);
        for opening in openings.into_iter().skip(same) {
            let parent = self.open.last().map_or(self.around, |(_, frame)| *frame);
            let frame = match opening {
                Opening::Parallel(_) => {
                    let label = "parallel".to_owned();
                    Some(picture.frame(
                        &open.inner("parallel"),
                        Shape::Parallel,
                        label,
                        String::new(),
                        parent,
                    ))
                }
                Opening::Branch(atom) => self.branch(atom, parent, picture, open, words),
            };
            self.open.push((opening, frame));
        }
        self.open.last().map_or(self.around, |(_, frame)| *frame)
    }

    /// Returns the frames around a statement within its block, the outermost first.
    fn openings(&self, index: usize) -> Vec<Opening> {
        let number = super::super::narrow(index);
        let node = &self.block.nodes[index];
        let branches = node
            .guard
            .iter()
            .filter(|atom| self.conditions.contains(&atom.condition.0));
        let mut openings: Vec<_> = branches.map(|atom| Opening::Branch(*atom)).collect();
        if let Some(parallel) = self.block.parallel_around(number) {
            let first = parallel.nodes.start;
            let is_outside = |opening: &&Opening| matches!(opening, Opening::Branch(atom) if atom.condition.0 < first);
            let place = openings.iter().take_while(is_outside).count();
            openings.insert(place, Opening::Parallel(first));
        }
        openings
    }

    /// Returns the frame for the statements of a branch: that of the `if` itself if it has a single branch.
    fn branch(
        &mut self,
        atom: GuardAtom,
        parent: Option<usize>,
        picture: &mut Picture,
        open: &Open<'_>,
        words: Words<'_>,
    ) -> Option<usize> {
        let number = atom.condition.0;
        let NodeKind::Condition(code) = &self.block.node(atom.condition).kind else {
            return parent;
        };
        let continued = self.continued(atom.condition, parent);
        let has_arms = self.with_else.contains(&number) || continued.is_some();
        let whole = continued
            .or_else(|| self.drawn.get(&number).copied())
            .unwrap_or_else(|| {
                let detail = if has_arms {
                    String::new()
                } else {
                    words.code(code)
                };
                picture.frame(
                    &open.inner("if"),
                    Shape::If,
                    "if".to_owned(),
                    detail,
                    parent,
                )
            });
        self.drawn.insert(number, whole);
        if atom.negated && self.chained.contains(&number) {
            return Some(whole);
        }
        if !has_arms {
            picture.sequences.insert(Some(whole));
            return Some(whole);
        }
        let (word, label) = if atom.negated {
            ("else", "else".to_owned())
        } else {
            ("then", words.code(code))
        };
        let arm = picture.frame(
            &open.inner(word),
            Shape::Arm,
            label,
            String::new(),
            Some(whole),
        );
        picture.sequences.insert(Some(arm));
        Some(arm)
    }

    /// Returns the frame of the first `if` of a chain that an `else if` belongs to.
    fn continued(&self, condition: NodeId, parent: Option<usize>) -> Option<usize> {
        let guard = self.block.node(condition).guard.iter().rev();
        let frame = guard
            .filter(|before| before.negated && self.chained.contains(&before.condition.0))
            .find_map(|before| self.drawn.get(&before.condition.0).copied());
        frame.filter(|frame| Some(*frame) == parent)
    }
}

/// Returns the conditions that belong to the `when` of a statement, whose span lies within the statement.
fn own_conditions(block: &Block) -> BTreeSet<u32> {
    let own = block.nodes.iter().filter_map(|node| {
        let atom = node.guard.last().filter(|atom| !atom.negated)?;
        let condition = block.node(atom.condition);
        let is_statement = !matches!(node.kind, NodeKind::Condition(_));
        (is_statement && node.span.contains(condition.span)).then_some(atom.condition.0)
    });
    own.collect()
}
