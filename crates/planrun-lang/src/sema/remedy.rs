//! Fixes that need the source text: removals of whole lines, and moving a statement above its reader.

use super::checker::PlanChecker;
use super::plan::NodeKind;
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{self, CommentKind};

/// Extends removals to the lines that they would leave empty, and to the doc comments that would then document
/// something else.
pub fn tidy_removals(source: &SourceFile, diagnostics: &mut [Diagnostic]) {
    let fixes = diagnostics
        .iter_mut()
        .filter_map(|diagnostic| diagnostic.fix.as_mut());
    for edit in fixes
        .flat_map(|fix| &mut fix.edits)
        .filter(|edit| edit.text.is_empty() && !edit.span.is_empty())
    {
        edit.span =
            whole_lines(source, edit.span).unwrap_or_else(|| with_space_before(source, edit.span));
    }
}

/// Returns the full lines of a span that covers everything on them, including the line break and doc comments above.
fn whole_lines(source: &SourceFile, span: Span) -> Option<Span> {
    let text = source.text();
    let (before, after) = (
        text.get(..span.start as usize)?,
        text.get(span.end as usize..)?,
    );
    let mut start = before.rfind('\n').map_or(0, |line_break| line_break + 1);
    let rest = after
        .find('\n')
        .map_or(after.len(), |line_break| line_break + 1);
    if !text.get(start..span.start as usize)?.trim().is_empty()
        || !after.get(..rest)?.trim().is_empty()
    {
        return None;
    }
    while let Some(above) = text.get(..start.saturating_sub(1)).filter(|_| start > 0) {
        let line = above.rfind('\n').map_or(0, |line_break| line_break + 1);
        if CommentKind::of(above.get(line..)?.trim_start()) != CommentKind::Doc {
            break;
        }
        start = line;
    }
    Some(Span::new(start, span.end as usize + rest))
}

fn with_space_before(source: &SourceFile, span: Span) -> Span {
    let before = source.text().get(..span.start as usize).unwrap_or("");
    let kept = before.trim_end_matches([' ', '\t']).len();
    let follows = source.text().get(span.end as usize..).unwrap_or("");
    // A space between two words must be kept.
    if follows.starts_with(|next: char| next.is_whitespace() || next == ',') {
        Span::new(kept, span.end as usize)
    } else {
        span
    }
}

/// Adds fixes to the diagnostics since `first` about names that this block defines later.
pub(super) fn add_move_fixes(
    checker: &mut PlanChecker<'_>,
    first: usize,
    statements: &[ast::Statement],
) {
    let is_unfixed = |found: &Diagnostic| {
        found.code == &codes::names::USE_BEFORE_DEFINITION && found.fix.is_none()
    };
    for index in first..checker.diagnostics.len() {
        let Some(found) = checker
            .diagnostics
            .get(index)
            .filter(|found| is_unfixed(found))
        else {
            continue;
        };
        let Some(definition) = found.labels.first().map(|label| label.span) else {
            continue;
        };
        let holds = |span: Span| {
            statements
                .iter()
                .position(|statement| contains(statement.span, span))
        };
        let (Some(reader), Some(maker)) = (holds(found.span), holds(definition)) else {
            continue;
        };
        if reader == maker {
            report_self_reference(checker, index, statements.get(reader), definition);
        } else if let Some((edits, safe)) = moving_edits(checker, statements, reader, maker) {
            let name = checker.shared.source.slice(definition);
            let title = format!("move `{name}` above its use");
            if let Some(found) = checker.diagnostics.get_mut(index) {
                let mended = found.clone();
                *found = if safe {
                    mended.fix_all(title, edits)
                } else {
                    mended.unsafe_fix(title, edits)
                };
            }
        }
    }
}

/// Rewrites the diagnostic of a step or `let` that reads itself.
fn report_self_reference(
    checker: &mut PlanChecker<'_>,
    index: usize,
    statement: Option<&ast::Statement>,
    definition: Span,
) {
    let own = statement.is_some_and(|statement| match &statement.kind {
        ast::StatementKind::Step(step) => step.name.span == definition,
        ast::StatementKind::Let { name, .. } => name.span == definition,
        _ => false,
    });
    if let Some(found) = checker.diagnostics.get_mut(index).filter(|_| own) {
        let name = checker.shared.source.slice(definition);
        found.message = format!("`{name}` reads itself");
        found.help = Some(format!(
            "`{name}` has no value before it has completed; name the intended step, or iterate with `repeat`"
        ));
    }
}

/// Returns the edits that move a statement above an earlier one, and whether this cannot change anything else.
fn moving_edits(
    checker: &PlanChecker<'_>,
    statements: &[ast::Statement],
    reader: usize,
    maker: usize,
) -> Option<(Vec<Edit>, bool)> {
    let source = checker.shared.source;
    let between = statements.get(reader..maker)?;
    let (reader, maker) = (statements.get(reader)?, statements.get(maker)?);
    let own = source.slice(maker.span);
    let reads = |name: &ast::Name| words(own).any(|word| word == &*name.text);
    if between
        .iter()
        .filter_map(|statement| statement.kind.name())
        .any(reads)
    {
        return None;
    }
    let lines = whole_lines(source, maker.span)?;
    let line = whole_lines(source, reader.span)?;
    let mut text = source.slice(lines).to_owned();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let edits = vec![Edit::new(line.before(), text), Edit::removal(lines)];
    // A `let` is evaluated when it is read. A read sees the effects above it, so it may only move past statements
    // without effects.
    let value = matches!(maker.kind, ast::StatementKind::Let { .. });
    let passes = || {
        is_movable(checker, maker)
            && between
                .iter()
                .all(|statement| is_movable(checker, statement))
    };
    Some((edits, value || passes()))
}

/// Returns true if a statement of the innermost block has no effects, so that it may be moved.
fn is_movable(checker: &PlanChecker<'_>, statement: &ast::Statement) -> bool {
    let nodes = checker
        .blocks
        .innermost()
        .map_or(&[][..], |block| &block.nodes);
    nodes
        .iter()
        .filter(|node| contains(statement.span, node.span))
        .all(|node| match node.step() {
            Some(step) => step.effect.is_read_only(),
            None => matches!(node.kind, NodeKind::Let(_) | NodeKind::Condition(_)),
        })
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !unicode_ident::is_xid_continue(character))
}
