//! The known values of the names of a plan, and the conditions that are known to hold.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt as _};

use super::failure::Cause;
use crate::eval::EvalError;
use crate::eval::known::Knowledge;
use crate::sema::{Block, BlockId, GuardAtom, Node, NodeId, NodeKind, Place, StepKind};
use crate::source::Span;
use crate::value::Value;

/// The names whose values are known so far.
pub(super) struct Names<'a> {
    /// For each block, the block around it and the node that owns it.
    owners: Vec<Option<(BlockId, &'a Node)>>,
    slots: HashMap<(BlockId, u32), Vec<Definition<'a>>>,
    conditions: HashMap<(BlockId, NodeId), bool>,
    /// The values that loops give to the first names of their bodies, and calls to the parameters of a plan.
    bound: HashMap<(BlockId, u32), Value>,
}

/// A statement that gives a slot its value.
struct Definition<'a> {
    guard: &'a [GuardAtom],
    /// The value if it is known, or the failure that reading it causes.
    value: Result<Option<Value>, EvalError>,
    span: Span,
    name: Arc<str>,
}

/// The names that are known only inside one block.
pub(super) struct InBlock<'a> {
    bound: Vec<((BlockId, u32), Value)>,
    slots: Vec<((BlockId, u32), Vec<Definition<'a>>)>,
    conditions: Vec<((BlockId, NodeId), bool)>,
}

/// Where an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub block: BlockId,
    /// Conditions of that block that hold there.
    pub guard: &'a [GuardAtom],
}

impl Site<'_> {
    pub fn of(block: BlockId) -> Self {
        Self { block, guard: &[] }
    }
}

/// Knowledge of the names at one site.
pub(super) struct KnownAtSite<'n, 'a> {
    names: &'n Names<'a>,
    site: Site<'n>,
}

impl Knowledge for KnownAtSite<'_, '_> {
    fn known(&self, place: Place) -> Option<Value> {
        let (block, _) = self.names.frame(self.site, place.up)?;
        if let Some(bound) = self.names.bound.get(&(block, place.slot)) {
            return Some(bound.clone());
        }
        let definition = self.names.definition(self.site, place)?;
        definition.value.as_ref().ok()?.clone()
    }

    fn failure(&self, place: Place) -> Option<EvalError> {
        let definition = self.names.definition(self.site, place)?;
        definition.value.as_ref().err().cloned()
    }
}

impl<'a> Names<'a> {
    /// Returns the knowledge of nothing about a plan with this number of blocks.
    pub fn new(blocks: usize) -> Self {
        Self {
            owners: vec![None; blocks],
            slots: HashMap::new(),
            conditions: HashMap::new(),
            bound: HashMap::new(),
        }
    }

    pub fn at<'n>(&'n self, site: Site<'n>) -> KnownAtSite<'n, 'a> {
        KnownAtSite { names: self, site }
    }

    /// Records that a node of a block owns its inner blocks.
    pub fn own(&mut self, block: BlockId, node: &'a Node) {
        node.inner(&mut |inner| {
            if let Some(owner) = self.owners.get_mut(inner.0 as usize) {
                *owner = Some((block, node));
            }
        });
    }

    /// Gives a slot a value, whatever defines it.
    pub fn bind(&mut self, block: BlockId, slot: u32, value: Value) {
        self.bound.insert((block, slot), value);
    }

    pub fn unbind_all(&mut self) {
        self.bound.clear();
    }

    /// Records whether a condition of a block holds.
    pub fn decide(&mut self, block: BlockId, condition: NodeId, holds: bool) {
        self.conditions.insert((block, condition), holds);
    }

    /// Returns whether a guard holds; `None` if that is not known.
    pub fn runs(&self, block: BlockId, guard: &[GuardAtom]) -> Option<bool> {
        let mut all = Some(true);
        for atom in guard {
            match self.conditions.get(&(block, atom.condition)) {
                Some(holds) if *holds == atom.negated => return Some(false),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    }

    /// Returns true if a block is the body of a `repeat`, whose rounds continue after a `yield`.
    pub fn is_round(&self, block: BlockId) -> bool {
        let owner = self.owners.get(block.0 as usize).copied().flatten();
        owner
            .and_then(|(_, node)| node.step())
            .is_some_and(|step| matches!(step.kind, StepKind::Repeat(_)))
    }

    /// Records the value that a node gives its name, if it is known; a node that does not run gives null.
    pub fn define(
        &mut self,
        block: BlockId,
        node: &'a Node,
        runs: Option<bool>,
        value: Result<Option<Value>, EvalError>,
    ) {
        let (Some(slot), Some(name)) = (node.slot, &node.name) else {
            return;
        };
        let value = match (&node.kind, runs) {
            (_, Some(false)) => Ok(Some(Value::Null)),
            (NodeKind::Let(_), _) => value,
            _ => Ok(None),
        };
        let guard = if runs == Some(true) {
            &[][..]
        } else {
            &node.guard
        };
        let definition = Definition {
            guard,
            value,
            span: node.span,
            name: name.clone(),
        };
        self.slots
            .entry((block, slot))
            .or_default()
            .push(definition);
    }

    /// Removes and returns the names that are known only inside a block.
    pub fn take(&mut self, id: BlockId, block: &Block) -> InBlock<'a> {
        let bound = (0..2).filter_map(|slot| self.bound.remove_entry(&(id, slot)));
        let bound = bound.collect();
        let slots = block.nodes.iter().filter_map(|node| node.slot);
        let slots = slots.filter_map(|slot| self.slots.remove_entry(&(id, slot)));
        let slots = slots.collect();
        let numbers = (0..).map(NodeId).zip(&block.nodes);
        let conditions =
            numbers.filter_map(|(number, _)| self.conditions.remove_entry(&(id, number)));
        let conditions = conditions.collect();
        InBlock {
            bound,
            slots,
            conditions,
        }
    }

    /// Puts back what [`Self::take`] removed.
    pub fn put_back(&mut self, known: InBlock<'a>) {
        self.bound.extend(known.bound);
        self.slots.extend(known.slots);
        self.conditions.extend(known.conditions);
    }

    /// Returns the name at a place if its value is known.
    pub fn cause(&self, site: Site<'_>, place: Place) -> Option<Cause> {
        let definition = self.definition(site, place)?;
        let value = definition.value.as_ref().ok()?.clone()?;
        Some(Cause {
            name: definition.name.clone(),
            span: definition.span,
            value,
        })
    }

    /// Returns the block that is this many levels around a site, and the conditions of that block that hold there.
    fn frame<'s>(&self, site: Site<'s>, up: u16) -> Option<(BlockId, &'s [GuardAtom])>
    where
        'a: 's,
    {
        let (mut block, mut guard) = (site.block, site.guard);
        for _ in 0..up {
            let (outer, node) = self.owners.get(block.0 as usize).copied().flatten()?;
            (block, guard) = (outer, &node.guard);
        }
        Some((block, guard))
    }

    /// Returns the statement that certainly defines the value at a place.
    fn definition(&self, site: Site<'_>, place: Place) -> Option<&Definition<'a>> {
        let (block, guard) = self.frame(site, place.up)?;
        let definitions = self.slots.get(&(block, place.slot))?;
        let never =
            |definition: &&Definition<'_>| self.runs(block, definition.guard) == Some(false);
        let mut possible = definitions.iter().filter(|definition| !never(definition));
        let (first, others) = (possible.next(), possible.next().is_some());
        let holds =
            |definition: &&Definition<'_>| definition.guard.iter().all(|atom| guard.contains(atom));
        match first {
            None => definitions.first(),
            Some(only) if !others => Some(only).filter(holds),
            Some(_) => definitions
                .iter()
                .filter(|definition| !never(definition) && !definition.guard.is_empty())
                .find(holds),
        }
    }
}
