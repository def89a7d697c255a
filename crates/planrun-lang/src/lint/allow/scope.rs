//! The scope of an `allow` comment: its own line if it follows code, otherwise the next statement or item, otherwise
//! the next line.

use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Block, File, Inner, ItemKind, Statement};

/// Returns the span in which the diagnostics that the comment allows begin.
pub(super) fn of(source: &SourceFile, tree: &File, comment: Span) -> Span {
    let line = line_of(source, comment.start);
    if !source
        .slice(Span::from(line.start..comment.start))
        .trim()
        .is_empty()
    {
        return line;
    }
    let next = next_code(source.text(), comment.end as usize);
    let bounds = Span::new(comment.end as usize, next);
    beginning(tree, bounds).unwrap_or_else(|| Span {
        start: comment.end,
        ..line_of(source, Span::at(next).start)
    })
}

/// Returns the line of an offset, line break included.
fn line_of(source: &SourceFile, offset: u32) -> Span {
    let line = source
        .line(source.position(offset).line)
        .unwrap_or(Span::from(offset..offset));
    Span::from(line.start..line.end.saturating_add(1))
}

/// Returns the offset of the first text after `from` that is neither white space nor a comment.
fn next_code(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or("");
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if !trimmed.starts_with("//") {
            return at;
        }
        at += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}

/// Returns the span of the first item or statement that begins within the bounds.
fn beginning(tree: &File, bounds: Span) -> Option<Span> {
    let begins = |span: Span| bounds.start <= span.start && span.start <= bounds.end;
    for item in &tree.items {
        if begins(item.span) {
            return Some(item.span);
        }
        if item.span.start > bounds.end || item.span.end < bounds.start {
            continue;
        }
        let found = match &item.kind {
            ItemKind::Plan(plan) => in_block(&plan.body, bounds),
            ItemKind::Test(test) => test
                .body
                .iter()
                .map(|statement| statement.span)
                .find(|span| begins(*span)),
            ItemKind::Use(_) | ItemKind::Type(_) | ItemKind::Tool(_) | ItemKind::Error => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn in_block(block: &Block, bounds: Span) -> Option<Span> {
    if bounds.end < block.span.start || block.span.end < bounds.start {
        return None;
    }
    block
        .statements
        .iter()
        .find_map(|statement| in_statement(statement, bounds))
}

fn in_statement(statement: &Statement, bounds: Span) -> Option<Span> {
    if bounds.start <= statement.span.start && statement.span.start <= bounds.end {
        return Some(statement.span);
    }
    let mut found = None;
    statement.inner(&mut |inner| {
        if let (None, Inner::Block(block)) = (found, inner) {
            found = in_block(block, bounds);
        }
    });
    found
}
