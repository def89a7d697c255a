//! The frames within a block: its `if`s, which the checked plan has as guards, and its `parallel` blocks.

use std::collections::{BTreeMap, BTreeSet};

use super::{Open, Picture, Words};
use crate::graph::draw::NodeKind as Shape;
use crate::sema::expr::Code;
use crate::sema::{Block, GuardAtom, NodeId, NodeKind};

/// What a frame of a block begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opening {
    Branch(GuardAtom),
    /// By its first node.
    Parallel(u32),
}

/// The frames of one block while its statements are drawn from above to below.
pub(super) struct Branches<'a> {
    block: &'a Block,
    /// The frame of the block itself.
    around: Option<usize>,
    /// The conditions of `if`s, not those behind `when`.
    conditions: BTreeSet<u32>,
    /// Those with an `else`.
    with_else: BTreeSet<u32>,
    /// Those whose `else` is nothing but another `if`.
    chained: BTreeSet<u32>,
    /// The frames that are open, with where what stands in them goes.
    open: Vec<(Opening, Option<usize>)>,
    /// The frame of each `if`, by its conditions.
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

    /// The condition behind the `when` of a statement.
    pub fn own_condition(&self, index: usize) -> Option<&'a Code> {
        let atom = self.block.nodes.get(index)?.guard.last()?;
        match &self.block.node(atom.condition).kind {
            NodeKind::Condition(code) if !self.conditions.contains(&atom.condition.0) => Some(code),
            _ => None,
        }
    }

    /// The frames of `if`s, each with one of its conditions.
    pub fn conditions(&self) -> impl Iterator<Item = (usize, usize)> {
        self.drawn
            .iter()
            .map(|(condition, frame)| (*condition as usize, *frame))
    }

    /// Whether a condition is that of an `if`.
    pub fn is_branch(&self, condition: usize) -> bool {
        self.conditions.contains(&super::super::narrow(condition))
    }

    /// The frame that a statement stands in, which is drawn where this is its first.
    pub fn frame_of(
        &mut self,
        index: usize,
        picture: &mut Picture,
        open: &Open<'_>,
        words: Words<'_>,
    ) -> Option<usize> {
        let wanted = self.openings(index);
        let same = self
            .open
            .iter()
            .zip(&wanted)
            .take_while(|((known, _), wanted)| known == *wanted)
            .count();
        self.open.truncate(same);
        for opening in wanted.into_iter().skip(same) {
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

    /// The frames around a statement within its block, the outermost first.
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

    /// Where the statements of a branch go: into the frame of the `if` itself where it has no other.
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

    /// The frame of the first `if` of a chain, in which an `else if` stands.
    fn continued(&self, condition: NodeId, parent: Option<usize>) -> Option<usize> {
        let guard = self.block.node(condition).guard.iter().rev();
        let frame = guard
            .filter(|before| before.negated && self.chained.contains(&before.condition.0))
            .find_map(|before| self.drawn.get(&before.condition.0).copied());
        frame.filter(|frame| Some(*frame) == parent)
    }
}

/// The conditions that stand behind the `when` of a statement: within it, and not above it.
fn own_conditions(block: &Block) -> BTreeSet<u32> {
    let own = block.nodes.iter().filter_map(|node| {
        let atom = node.guard.last().filter(|atom| !atom.negated)?;
        let condition = block.node(atom.condition);
        let is_statement = !matches!(node.kind, NodeKind::Condition(_));
        (is_statement && node.span.contains(condition.span)).then_some(atom.condition.0)
    });
    own.collect()
}
