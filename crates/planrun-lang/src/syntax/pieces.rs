//! Large files are read in pieces of whole items: on every thread, and with no more of pest's nodes than of a few pieces.

use std::ops::Range;

use rayon::prelude::*;

use super::ast;
use super::grammar::parse::Rule;
use super::large::LARGE;
use super::lower::Lowering;
use super::scan::Scan;
use super::stack;
use super::tree::Tree;
use crate::diag::Diagnostic;

/// The least that is worth a task of its own.
const PIECE: usize = 32 * 1024;

/// The file with what lowering found in it. `None` where it is small, or where something in it cannot be read: what is
/// damaged is explained best with all that stands around it.
pub(super) fn read(scan: &Scan<'_>) -> Option<(ast::File, Vec<Diagnostic>)> {
    if scan.text.len() < LARGE || !scan.is_clean() {
        return None;
    }
    let pieces = ranges(scan).into_par_iter().map(|range| {
        let read = stack::with_room(scan.depth, || {
            let tree = Tree::read(Rule::file, &scan.text, range).ok()?;
            let mut lowering = Lowering::new(&scan.text, scan.author, &scan.comments);
            let items = lowering.items(&tree);
            lowering
                .damage
                .is_empty()
                .then_some((items, lowering.diagnostics))
        });
        read.flatten()
    });
    let pieces = pieces.collect::<Option<Vec<_>>>()?;
    let mut file = Lowering::new(&scan.text, scan.author, &scan.comments).file();
    let mut diagnostics = Vec::new();
    for (items, found) in pieces {
        file.items.extend(items);
        diagnostics.extend(found);
    }
    Some((file, diagnostics))
}

/// The text cut before items.
fn ranges(scan: &Scan<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for item in scan.items() {
        if item - start >= PIECE {
            ranges.push(start..item);
            start = item;
        }
    }
    ranges.push(start..scan.text.len());
    ranges
}
