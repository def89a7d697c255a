//! Parses large files in pieces of whole items: in parallel, and with pest's nodes in memory for a few pieces only.

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

/// Minimum size of a piece, in bytes.
const PIECE: usize = 32 * 1024;

/// Parses a file in pieces. Returns `None` if the file is small or any part of it cannot be parsed, since damaged text
/// is explained best with the whole file around it.
pub(super) fn read(scan: &Scan<'_>) -> Option<(ast::File, Vec<Diagnostic>)> {
    if scan.text.len() < LARGE || !scan.is_clean() {
        return None;
    }
    let pieces = ranges(scan).into_par_iter().map(|range| {
        let read = stack::with_stack(scan.depth, || {
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

/// Returns ranges of the text that each begin with an item and are at least [`PIECE`] long, except the last.
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
