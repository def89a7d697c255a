//! Maps slots of a frame to the statements that give their values: one per slot, or several in branches of one `if`.

use std::collections::BTreeMap;

use crate::sema::{Block, GuardAtom, Node};

/// The nodes of a block by the slot that holds their value.
#[derive(Debug, Default)]
pub struct Slots {
    first: Vec<Option<u32>>,
    shared: BTreeMap<u32, Vec<u32>>,
}

impl Slots {
    /// Collects the slots of a block.
    #[must_use]
    pub fn of(block: &Block) -> Self {
        let mut slots = Self {
            first: vec![None; block.slots as usize],
            shared: block.shared.clone(),
        };
        for (index, node) in block.nodes.iter().enumerate() {
            if let Some(place) = node
                .slot
                .and_then(|slot| slots.first.get_mut(slot as usize))
            {
                place.get_or_insert(super::narrow(index));
            }
        }
        slots
    }

    /// Returns the nodes that give the value of a slot, in source order. At most one of them runs.
    pub fn nodes(&self, slot: u32) -> impl Iterator<Item = u32> + Clone {
        let shared = self.shared.get(&slot).map_or(&[][..], Vec::as_slice);
        let only = self
            .first
            .get(slot as usize)
            .copied()
            .flatten()
            .filter(|_| shared.is_empty());
        only.into_iter().chain(shared.iter().copied())
    }
}

/// Returns true if two nodes of a block are in different branches of one `if`, so that at most one of them runs.
#[must_use]
pub fn exclusive(one: &Node, other: &Node) -> bool {
    let opposite = |atom: &GuardAtom, known: &GuardAtom| {
        known.condition == atom.condition && known.negated != atom.negated
    };
    one.guard
        .iter()
        .any(|atom| other.guard.iter().any(|known| opposite(atom, known)))
}
