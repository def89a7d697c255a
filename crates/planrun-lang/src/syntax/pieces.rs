//! Parses large files in pieces of whole items, and large plans in pieces of whole statements: in parallel, and with
//! pest's nodes in memory for a few pieces only.

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
use crate::source::Span;

/// Minimum size of a piece, in bytes.
const PIECE: usize = 32 * 1024;

/// A part of a file that is parsed by itself.
enum Piece {
    Items(Range<usize>),
    /// The first part of a plan, up to a statement of its body.
    Head {
        part: Range<usize>,
        /// Where the plan ends in the file.
        end: usize,
    },
    /// Further statements of the plan.
    Statements(Range<usize>),
}

/// The tree of a piece.
enum Parsed {
    Items(Vec<ast::Item>),
    Statements(Vec<ast::Statement>),
}

/// Parses a file in pieces. Returns `None` if the file is small or any part of it cannot be parsed, since damaged text
/// is explained best with the whole file around it.
pub(super) fn read(scan: &Scan<'_>) -> Option<(ast::File, Vec<Diagnostic>)> {
    if scan.text.len() < LARGE || !scan.is_clean() {
        return None;
    }
    let parsed = pieces(scan).into_par_iter().map(|piece| {
        let parsed = stack::with_stack(scan.depth, || parse(scan, &piece));
        parsed.flatten()
    });
    let parsed = parsed.collect::<Option<Vec<_>>>()?;
    let mut file = Lowering::new(&scan.text, scan.author, &scan.comments).file();
    let mut diagnostics = Vec::new();
    for (piece, found) in parsed {
        match (piece, file.items.last_mut().map(|item| &mut item.kind)) {
            (Parsed::Items(items), _) => file.items.extend(items),
            (Parsed::Statements(statements), Some(ast::ItemKind::Plan(plan))) => {
                plan.body.statements.extend(statements);
            }
            (Parsed::Statements(_), _) => return None,
        }
        diagnostics.extend(found);
    }
    Some((file, diagnostics))
}

/// Parses a piece. Returns `None` if any part of it cannot be parsed.
fn parse(scan: &Scan<'_>, piece: &Piece) -> Option<(Parsed, Vec<Diagnostic>)> {
    let closed;
    let (rule, text, part) = match piece {
        Piece::Items(part) => (Rule::file, &*scan.text, part.clone()),
        Piece::Statements(part) => (Rule::short, &*scan.text, part.clone()),
        Piece::Head { part, .. } => {
            closed = format!("{}}}", scan.text.get(..part.end)?);
            (Rule::file, &*closed, part.start..closed.len())
        }
    };
    let tree = Tree::read(rule, text, part).ok()?;
    let mut lowering = Lowering::new(text, text, &scan.comments);
    let parsed = match piece {
        Piece::Items(_) => Parsed::Items(lowering.items(&tree)),
        Piece::Head { end, .. } => {
            let mut items = lowering.items(&tree);
            let [item] = items.as_mut_slice() else {
                return None;
            };
            let ast::ItemKind::Plan(plan) = &mut item.kind else {
                return None;
            };
            item.span = Span::new(item.span.start as usize, *end);
            plan.body.span = Span::new(plan.body.span.start as usize, *end);
            Parsed::Items(items)
        }
        Piece::Statements(_) => {
            let (items, statements) = lowering.short(&tree);
            if !items.is_empty() {
                return None;
            }
            Parsed::Statements(statements)
        }
    };
    let is_whole = lowering.damage.is_empty();
    is_whole.then_some((parsed, lowering.diagnostics))
}

/// Returns pieces that are at least [`PIECE`] long, except those at the end of the file or of a large plan.
fn pieces(scan: &Scan<'_>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut item = 0;
    let ends = scan.items().skip(1).chain([scan.text.len()]);
    for end in ends {
        let plan = (end - item >= LARGE)
            .then(|| scan.statements(item..end))
            .flatten();
        if let Some((plan_end, statements)) = plan {
            if item > start {
                pieces.push(Piece::Items(start..item));
            }
            pieces.extend(plan_pieces(item, plan_end, &statements));
            start = end;
        } else if end - start >= PIECE {
            pieces.push(Piece::Items(start..end));
            start = end;
        }
        item = end;
    }
    if start < scan.text.len() || pieces.is_empty() {
        pieces.push(Piece::Items(start..scan.text.len()));
    }
    pieces
}

/// Returns the pieces of a plan whose statements begin at these offsets.
fn plan_pieces(start: usize, end: usize, statements: &[usize]) -> Vec<Piece> {
    let mut cuts = vec![start];
    for statement in statements.iter().skip(1) {
        if cuts.last().is_none_or(|last| statement - last >= PIECE) {
            cuts.push(*statement);
        }
    }
    let [_, rest @ ..] = cuts.as_slice() else {
        return Vec::new();
    };
    // The brace that closes the body is not part of its statements.
    let ends = rest.iter().skip(1).copied().chain([end - 1]);
    let statements = rest.iter().zip(ends).map(|(start, end)| *start..end);
    let head = start..rest.first().copied().unwrap_or(end - 1);
    let head = Piece::Head { part: head, end };
    std::iter::once(head)
        .chain(statements.map(Piece::Statements))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{read_file, scan};

    #[test]
    fn pieces_have_the_same_trees_as_the_whole_text() {
        let statements = "    let a = \"${ { b: [1] } }\"\n    /// Why.\n    step b = kit.get(a: 1)\n        when a != \"\"\n    if true {\n        step c = kit.get(a: 2)\n    } else {\n        fail tool.x\n    }\n";
        let (small, large) = (statements, statements.repeat(2 * LARGE / statements.len()));
        let plan = |name: &str, body: &str| {
            format!(
                "/// {name}\nplan {name}(n: {{ a: int }}) -> {{ b: int }} {{\n{body}    // Below.\n}}\n\n"
            )
        };
        let items = [
            plan("p", &large),
            "use kit\n\n".to_owned(),
            plan("q", small),
            plan("r", &large),
            plan("s", &large),
            plan("t", small),
        ];
        for first in 0..items.len() {
            let text = format!("//! A file.\n\n{}", items[first..].concat());
            let scan = scan::scan(&text);
            let Some((file, diagnostics)) = read(&scan) else {
                assert!(text.len() < LARGE, "{first}");
                continue;
            };
            assert!(diagnostics.is_empty());
            let (whole, _) = stack::with_stack(scan.depth, || read_file(&scan)).unwrap();
            assert!(format!("{file:?}") == format!("{whole:?}"), "{first}");
        }
    }
}
