//! `permission-unused`: the plan allows something that none of its calls can use.

use super::Subject;
use super::subject::allow;
use crate::diag::{Diagnostic, Edit, codes};
use crate::lint::reach::{Access, Lists, Reach};
use crate::permission::Permissions;
use crate::source::Span;
use crate::syntax::ast;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // Damaged text may contain a call that needs it.
    let Some(written) = subject.setting(allow).filter(|_| subject.whole) else {
        return;
    };
    let ast::ExprKind::Object(entries) = &written.kind else {
        return;
    };
    let (tools, agents) = (true, true);
    let reach = Reach::of(&subject.walked(), Lists { tools, agents });
    for entry in entries {
        let ast::EntryKey::Name(name) = &entry.key else {
            continue;
        };
        let Some(access) = Access::ALL
            .into_iter()
            .find(|access| access.name() == &*name.text)
        else {
            continue;
        };
        let ast::ExprKind::List(patterns) = &entry.value.kind else {
            continue;
        };
        if reach.open.iter().any(|open| open.access == access) {
            continue;
        }
        let needs = reach
            .needs
            .iter()
            .filter(|need| need.access == access)
            .collect::<Vec<_>>();
        for (index, pattern) in patterns.iter().enumerate() {
            let ast::ExprKind::Literal(ast::Literal::String(text)) = &pattern.kind else {
                continue;
            };
            let project = subject.project;
            let Ok(only) = Permissions::new(&access.only(text), project.root, project.paths) else {
                continue;
            };
            if needs
                .iter()
                .any(|need| need.granted(&only, project.root, project.paths))
            {
                continue;
            }
            let edit = if patterns.len() == 1 && !access.allowed_by_default() {
                entry_removal(written, entries, entry)
            } else {
                let spans = patterns.iter().map(|pattern| pattern.span);
                one_of(&spans.collect::<Vec<_>>(), index)
            };
            found.push(unused(subject, &name.text, pattern.span, edit));
        }
    }
}

/// Returns the diagnostic for a pattern that no call needs, with a fix that removes it.
fn unused(subject: &Subject<'_>, setting: &str, pattern: Span, removal: Span) -> Diagnostic {
    let message = format!(
        "no call of this plan needs `{setting}: {}`",
        subject.source.slice(pattern)
    );
    let finding = codes::safety::PERMISSION_UNUSED.at(pattern, message).help(
        "remove it: a permission that a plan does not need only increases the damage of a mistake",
    );
    if !subject.is_text() {
        return finding;
    }
    let edit = Edit::removal(removal);
    finding.unsafe_fix("remove it", vec![edit])
}

/// Returns the span to remove with an element of a list, including one comma.
fn one_of(spans: &[Span], index: usize) -> Span {
    let own = spans.get(index).copied().unwrap_or_default();
    match (
        spans.get(index + 1),
        index.checked_sub(1).and_then(|before| spans.get(before)),
    ) {
        (Some(next), _) => Span::new(own.start as usize, next.start as usize),
        (None, Some(before)) => Span::new(before.end as usize, own.end as usize),
        (None, None) => own,
    }
}

/// Returns the span to remove with a setting that would become empty; the whole `allow` if it is the only setting.
fn entry_removal(written: &ast::Expr, entries: &[ast::Entry], entry: &ast::Entry) -> Span {
    if let [only] = entries {
        let head = "allow ".len();
        return Span::new(
            (written.span.start as usize).saturating_sub(head),
            written.span.end.max(only.span.end) as usize,
        );
    }
    let spans = entries.iter().map(|entry| entry.span).collect::<Vec<_>>();
    one_of(
        &spans,
        spans
            .iter()
            .position(|span| *span == entry.span)
            .unwrap_or(0),
    )
}
