//! `permission-unused`: the plan allows what none of its calls can use.

use super::Subject;
use super::subject::allow;
use crate::diag::{Diagnostic, Edit, codes};
use crate::lint::reach::{Door, Lists, Reach};
use crate::permission::Permissions;
use crate::source::Span;
use crate::syntax::ast;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // What stands in damaged text may well need it.
    let Some(written) = subject.setting(allow).filter(|_| subject.whole) else {
        return;
    };
    let ast::ExprKind::Object(entries) = &written.kind else {
        return;
    };
    let (tools, agents) = (true, true);
    let reach = Reach::of(subject.plan, Lists { tools, agents });
    for entry in entries {
        let ast::EntryKey::Name(name) = &entry.key else {
            continue;
        };
        let Some(door) = Door::ALL
            .into_iter()
            .find(|door| door.name() == &*name.text)
        else {
            continue;
        };
        let ast::ExprKind::List(patterns) = &entry.value.kind else {
            continue;
        };
        if reach.open.iter().any(|(open, _)| *open == door) {
            continue;
        }
        let needs = reach
            .needs
            .iter()
            .filter(|need| need.door == door)
            .collect::<Vec<_>>();
        for (index, pattern) in patterns.iter().enumerate() {
            let ast::ExprKind::Literal(ast::Literal::String(text)) = &pattern.kind else {
                continue;
            };
            let project = subject.project;
            let Ok(only) = Permissions::new(&door.only(text), project.root, project.paths) else {
                continue;
            };
            if needs
                .iter()
                .any(|need| need.granted(&only, project.root, project.paths))
            {
                continue;
            }
            let edit = if patterns.len() == 1 && !door.is_open_without_list() {
                entry_removal(written, entries, entry)
            } else {
                let spans = patterns.iter().map(|pattern| pattern.span);
                one_of(&spans.collect::<Vec<_>>(), index)
            };
            found.push(unused(subject, &name.text, pattern.span, edit));
        }
    }
}

/// What is said of a pattern that no call needs, and the removal of it.
fn unused(subject: &Subject<'_>, setting: &str, pattern: Span, removal: Span) -> Diagnostic {
    let message = format!(
        "no call of this plan needs `{setting}: {}`",
        subject.source.slice(pattern)
    );
    let finding = Diagnostic::new(&codes::safety::PERMISSION_UNUSED, pattern, message)
        .help("take it out: what a plan may reach and need not is only of use to a mistake");
    if !subject.is_text() {
        return finding;
    }
    let edit = Edit::removal(removal);
    finding.unsafe_fix("take it out", vec![edit])
}

/// The text that goes with an element of a list, one comma included.
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

/// A setting that allows nothing any more goes, and the whole `allow` where it was the only one.
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
