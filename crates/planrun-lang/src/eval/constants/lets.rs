//! Finds out which `let`s are read. One that is never read is never computed, so it cannot fail.

use foldhash::{HashMap, HashSet};

use crate::sema::expr::CheckedExpr;
use crate::sema::{BlockId, Nesting, NodeKind, Plan};

/// A name, by the block that defines it and its slot there.
pub(super) type Slot = (BlockId, u32);

/// Returns the names that a plan reads, except those that only `let`s read that are never read themselves.
pub(super) fn read(plan: &Plan) -> HashSet<Slot> {
    let nesting = Nesting::of(plan);
    let mut by_let: HashMap<Slot, Vec<Slot>> = HashMap::default();
    let mut open = Vec::new();
    for (block, _, node) in plan.sites() {
        let mut reads = Vec::new();
        let mut add = |from: BlockId, code: &CheckedExpr| {
            let places = code.reads.iter().map(|read| read.place);
            let frames = places.filter_map(|place| Some((nesting.frame(from, place)?, place.slot)));
            reads.extend(frames);
        };
        node.codes(&mut |code| add(block, code));
        let mut inner = None;
        node.inner(&mut |body| inner = inner.or(Some(body)));
        if let Some(inner) = inner {
            node.inner_codes(&mut |code| add(inner, code));
        }
        match (&node.kind, node.slot) {
            (NodeKind::Let(_), Some(slot)) => {
                by_let.entry((block, slot)).or_default().extend(reads);
            }
            _ => open.extend(reads),
        }
    }
    let mut found = HashSet::default();
    while let Some(slot) = open.pop() {
        if found.insert(slot) {
            open.extend(by_let.remove(&slot).into_iter().flatten());
        }
    }
    found
}
