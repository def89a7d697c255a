//! Removes diagnostics that damaged text may have caused: about names that the damaged text may declare, and about what
//! seems to be missing from a statement of which a part could not be parsed.

use foldhash::HashSet;

use crate::diag::{Code, codes};
use crate::sema::CheckedFile;
use crate::source::{SourceFile, Span, SpanIndex};
use crate::syntax::ast::{Block, Inner, Item, ItemKind, StatementKind};

/// Codes about a name without a declaration.
const UNDECLARED: [&Code; 6] = [
    &codes::names::UNKNOWN_NAME,
    &codes::names::UNKNOWN_NAMESPACE,
    &codes::names::UNKNOWN_PLAN,
    &codes::names::UNKNOWN_TYPE,
    &codes::names::UNKNOWN_FIELD,
    &codes::names::UNKNOWN_ARGUMENT,
];

/// Codes about something that a statement lacks, which its damaged part may contain.
const INCOMPLETE: [&Code; 4] = [
    &codes::types::MAYBE_ABSENT,
    &codes::types::MISSING_ARGUMENT,
    &codes::types::NON_EXHAUSTIVE_MATCH,
    &codes::types::REPLY_TYPE,
];

/// Codes about something that a plan lacks, or does not use, because of damaged text in it or below it.
const INCOMPLETE_PLAN: [&Code; 6] = [
    &codes::text::EMPTY_PLAN,
    &codes::types::MISSING_REPLY,
    &codes::names::UNUSED_LET,
    &codes::names::UNUSED_INPUT,
    &codes::names::UNUSED_TASK,
    &codes::names::UNUSED_RESULT,
];

/// Removes the diagnostics of a file that its damaged text may have caused. The errors about the damaged text stay.
pub(super) fn remove(source: &SourceFile, checked: &mut CheckedFile) {
    let damaged = &checked.tree.damaged;
    if damaged.is_empty() {
        return;
    }
    let slice = |span: Span| source.text().get(span.range()).unwrap_or("");
    let names = damaged.iter().flat_map(|span| declarable(slice(*span)));
    let names = names.collect::<HashSet<_>>();
    let starts = starts_of(damaged);
    let statements = damaged_statements(&checked.tree.items, &starts);
    let plans = damaged_plans(&checked.tree.items, &starts);
    let uses_are_whole = whole_uses(&checked.tree.items, &starts);
    checked.diagnostics.retain(|found| {
        let within = |codes: &[&Code], texts: &SpanIndex| {
            codes.contains(&found.code) && texts.any_contains(found.span)
        };
        let may_be_declared = UNDECLARED.contains(&found.code)
            && names.contains(slice(found.span).trim_matches('`'))
            || *found.code == codes::names::UNKNOWN_NAMESPACE && !uses_are_whole;
        let may_be_given = within(&INCOMPLETE, &statements)
            || within(&INCOMPLETE_PLAN, &plans)
            || !found.is_error() && statements.any_contains(found.span);
        !may_be_declared && !may_be_given
    });
}

fn starts_of(damaged: &[Span]) -> Vec<u32> {
    let mut starts = damaged.iter().map(|span| span.start).collect::<Vec<_>>();
    starts.sort_unstable();
    starts
}

/// Returns true if no `use` is damaged.
fn whole_uses(items: &[Item], starts: &[u32]) -> bool {
    let mut uses = items
        .iter()
        .filter(|item| matches!(item.kind, ItemKind::Use(_)));
    uses.all(|item| starts_in(starts, item.span).is_empty())
}

/// Returns the spans of the plans with damaged text in them, or between them and the next item.
fn damaged_plans(items: &[Item], starts: &[u32]) -> SpanIndex {
    let mut items = items
        .iter()
        .filter(|item| !matches!(item.kind, ItemKind::Error))
        .peekable();
    let mut found = Vec::new();
    while let Some(item) = items.next() {
        let end = items.peek().map_or(u32::MAX, |next| next.span.start);
        let region = Span::from(item.span.start..end);
        if matches!(item.kind, ItemKind::Plan(_)) && !starts_in(starts, region).is_empty() {
            found.push(region);
        }
    }
    found.into_iter().collect()
}

/// Returns the words of a damaged text that may be declarations in it: not namespaces, fields and what is called.
fn declarable(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| !(c.is_alphanumeric() || c == '_');
    let mut from = 0;
    text.split(is_separator).filter(move |word| {
        let before = text.get(..from).unwrap_or("");
        let behind = text.get(from + word.len()..).unwrap_or("");
        from += word.len() + behind.chars().next().map_or(0, char::len_utf8);
        !word.is_empty() && !before.ends_with('.') && !behind.starts_with(['.', '('])
    })
}

/// Returns the spans of the innermost statements that contain the beginning of a damaged text. Text that is no statement
/// may be a clause of the statement above it, which is damaged then, too.
fn damaged_statements(items: &[Item], starts: &[u32]) -> SpanIndex {
    let mut found = Vec::new();
    for item in items {
        if let ItemKind::Plan(plan) = &item.kind {
            visit(&plan.body, starts, &mut found);
        }
    }
    found.into_iter().collect()
}

fn visit(block: &Block, starts: &[u32], found: &mut Vec<Span>) {
    let mut above = None;
    for statement in &block.statements {
        let inside = starts_in(starts, statement.span);
        let mut deeper = 0;
        if !inside.is_empty() {
            statement.inner(&mut |inner| {
                if let Inner::Block(block) = inner {
                    deeper += starts_in(starts, block.span).len();
                    visit(block, starts, found);
                }
            });
        }
        if inside.len() > deeper {
            found.push(statement.span);
            found.extend(above.filter(|_| matches!(statement.kind, StatementKind::Error)));
        }
        above = Some(statement.span);
    }
}

/// Returns those of the sorted offsets that are in the span.
fn starts_in(starts: &[u32], span: Span) -> &[u32] {
    let from = starts.partition_point(|start| *start < span.start);
    let to = starts.partition_point(|start| *start < span.end);
    starts.get(from..to).unwrap_or_default()
}
