//! Reports definitions that are never used: values, inputs, results, tasks, namespaces and types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::annotation::NamedTypes;
use super::candidates::LetCandidate;
use super::checker::PlanChecker;
use super::shared::{Namespace, Uses};
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};

/// Reports what nothing in the plan uses. Reports nothing if damaged text may contain a use.
pub(super) fn report_unread(checker: &mut PlanChecker<'_>, plan: &ast::Plan) {
    report_unknown_results(checker);
    let body = plan.body.span;
    if checker.shared.damage.any_begins_in(body.start..body.end) {
        return;
    }
    let meant = meant(checker.diagnostics, &codes::names::UNKNOWN_NAME).collect::<BTreeSet<_>>();
    let meant = |span: &Span| meant.contains(checker.shared.source.slice(*span));
    for LetCandidate {
        name,
        origin,
        statement,
    } in std::mem::take(&mut checker.candidates.lets)
    {
        if !checker.read.contains(&origin) && !meant(&name.span) {
            let message = format!("`{}` is never read", name.text);
            let diagnostic = codes::names::UNUSED_LET
                .at(name.span, message)
                .help("remove it: a value that is never read is not computed")
                .fix_all("remove it", removal(statement));
            checker.report(diagnostic);
        }
    }
    for (origin, span, called) in std::mem::take(&mut checker.candidates.results) {
        if !checker.read.contains(&origin) && !meant(&span) {
            let message = format!("the result of `{called}` is never read");
            let diagnostic = codes::names::UNUSED_RESULT
                .at(span, message)
                .help("remove the call: it only reads, and its result is not used");
            checker.report(diagnostic);
        }
    }
    for (name, span) in std::mem::take(&mut checker.candidates.tasks) {
        if !checker.read.contains(&span) && !meant(&span) {
            let message = format!("the task `{name}` is never set or read");
            let diagnostic = codes::names::UNUSED_TASK.at(span, message).help(format!(
                "set it where its part is done: `set {name} …`; or remove it"
            ));
            checker.report(diagnostic);
        }
    }
    for parameter in &plan.parameters {
        let name = &parameter.name;
        // Where it may not be read, as in settings, the error about that is enough.
        let is_refused = |found: &Diagnostic| {
            found.code == &codes::types::WRONG_TYPE
                && found.span != name.span
                && *checker.shared.source.slice(found.span) == *name.text
        };
        let is_read = checker.read.contains(&name.span) || meant(&name.span);
        if !is_read && !checker.diagnostics.iter().any(is_refused) {
            let message = format!("the input `{}` is never read", name.text);
            let diagnostic = codes::names::UNUSED_INPUT.at(name.span, message);
            checker
                .report(diagnostic.help("read it, or remove it from the parameters of the plan"));
        }
    }
}

/// Reports results that are read although their type is unknown.
fn report_unknown_results(checker: &mut PlanChecker<'_>) {
    for (origin, called, span) in std::mem::take(&mut checker.candidates.unknown_results) {
        if checker.valued.contains(&origin) {
            let message = format!(
                "the type of the result of `{called}` is unknown, so what is read from it is not checked"
            );
            let written = match called.split_once('.') {
                Some((namespace, name)) => {
                    format!("{}.{}", canonical_name(namespace), canonical_name(name))
                }
                None => called,
            };
            let help = format!("declare it: `tool {written}(…) -> {{ field: type }}` in this file");
            let diagnostic = codes::types::UNKNOWN_READ.at(span, message);
            checker.report(diagnostic.help(help));
        }
    }
}

/// Reports namespaces and types that nothing in the file names.
pub(super) fn unused_items(
    uses: &Uses,
    called: &BTreeSet<Arc<str>>,
    types: &NamedTypes,
    file: &ast::File,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let called = called
        .iter()
        .cloned()
        .chain(meant(diagnostics, &codes::names::UNKNOWN_NAMESPACE))
        .collect();
    let idle = if file
        .items
        .iter()
        .any(|item| matches!(item.kind, ast::ItemKind::Plan(_)))
    {
        idle_namespaces(uses, &called)
    } else {
        BTreeSet::new()
    };
    for item in &file.items {
        if let ast::ItemKind::Use(written) = &item.kind {
            unused_uses(item.span, written, &idle, diagnostics);
        }
    }
    let meant = meant(diagnostics, &codes::names::UNKNOWN_TYPE).collect::<BTreeSet<_>>();
    let items = file.items.iter().filter_map(|item| match &item.kind {
        ast::ItemKind::Type(definition) => Some((definition.name.span, item.span)),
        _ => None,
    });
    let items = items.collect::<BTreeMap<_, _>>();
    for (name, span) in types.unused().filter(|(name, _)| !meant.contains(*name)) {
        let message = format!(
            "the type `{}` is never used in this file",
            canonical_name(name)
        );
        let diagnostic = codes::names::UNUSED_TYPE
            .at(span, message)
            .help("remove it");
        diagnostics.push(match items.get(&span) {
            Some(item) => diagnostic.fix_all("remove it", removal(*item)),
            None => diagnostic,
        });
    }
}

/// Returns the spans of namespaces that no plan and no test calls.
fn idle_namespaces(uses: &Uses, called: &BTreeSet<Arc<str>>) -> BTreeSet<Span> {
    let idle = uses.namespaces.iter().filter(|(name, namespace)| {
        !called.contains(*name) && !matches!(namespace, Namespace::Unresolved)
    });
    idle.filter_map(|(name, _)| uses.spans.get(name).copied())
        .collect()
}

/// Reports the unused names of one `use`; the fix removes the line if all are unused, otherwise the name.
fn unused_uses(
    item: Span,
    written: &ast::Use,
    idle: &BTreeSet<Span>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut report = |alias: &ast::Name, title: &str, edit: Span| {
        let message = format!("`{}` is never called in this file", alias.text);
        let diagnostic = codes::names::UNUSED_USE.at(alias.span, message);
        diagnostics.push(diagnostic.help("remove it").fix_all(title, removal(edit)));
    };
    let names = match written {
        ast::Use::File { alias, .. } if idle.contains(&alias.span) => {
            return report(alias, "remove the line", item);
        }
        ast::Use::File { .. } => return,
        ast::Use::Namespaces(names) => names,
    };
    let is_idle = |name: &ast::UseNamespace| idle.contains(&alias(name).span);
    let all = names.iter().all(is_idle);
    for (index, name) in names.iter().enumerate().filter(|(_, name)| is_idle(name)) {
        let own = name.name.span.to(alias(name).span);
        let before = index.checked_sub(1).and_then(|index| names.get(index));
        let edit = match (before, names.get(index + 1)) {
            _ if all => item,
            (Some(before), _) => Span::new(alias(before).span.end as usize, own.end as usize),
            (None, Some(next)) => Span::new(own.start as usize, next.name.span.start as usize),
            (None, None) => item,
        };
        report(
            alias(name),
            if all {
                "remove the line"
            } else {
                "remove the name"
            },
            edit,
        );
    }
}

fn alias(written: &ast::UseNamespace) -> &ast::Name {
    written.alias.as_ref().unwrap_or(&written.name)
}

/// Returns the names that were intended by misspelled ones.
fn meant(diagnostics: &[Diagnostic], code: &'static codes::Code) -> impl Iterator<Item = Arc<str>> {
    let meant = diagnostics
        .iter()
        .filter(move |found| found.code == code && found.fix.is_some());
    meant
        .filter_map(|found| found.available.first().map(|name| name.as_str().into()))
        .collect::<Vec<_>>()
        .into_iter()
}

fn removal(span: Span) -> Vec<Edit> {
    vec![Edit::removal(span)]
}
