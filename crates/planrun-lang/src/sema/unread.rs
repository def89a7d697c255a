//! What is made and never called: values, inputs, results, tasks, names of namespaces and types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::annotation::NamedTypes;
use super::checker::PlanChecker;
use super::finding::quoted;
use super::made::MadeLet;
use super::shared::{Namespace, Uses};
use crate::diag::{Diagnostic, Edit, codes};
use crate::source::Span;
use crate::syntax::ast;

/// Reports what nothing in the plan uses. Silent where damage may hide the use.
pub(super) fn report_unread(checker: &mut PlanChecker<'_>, plan: &ast::Plan) {
    report_unknown_results(checker);
    let body = plan.body.span;
    if checker.shared.damage.any_begins_in(body.start..body.end) {
        return;
    }
    let meant = meant(checker.diagnostics, &codes::names::UNKNOWN_NAME).collect::<BTreeSet<_>>();
    let meant = |span: &Span| meant.contains(checker.shared.source.slice(*span));
    for MadeLet {
        name,
        origin,
        statement,
    } in std::mem::take(&mut checker.made.lets)
    {
        if !checker.read.contains(&origin) && !meant(&name.span) {
            let message = format!("nothing reads `{}`", name.text);
            let diagnostic = Diagnostic::new(&codes::names::UNUSED_LET, name.span, message)
                .help("a value that nobody reads is never computed")
                .fix_all("remove it", removal(statement));
            checker.report(diagnostic);
        }
    }
    for (origin, span, called) in std::mem::take(&mut checker.made.results) {
        if !checker.read.contains(&origin) && !meant(&span) {
            let message = format!("nothing reads what `{called}` gives");
            let diagnostic = Diagnostic::new(&codes::names::UNUSED_RESULT, span, message)
                .help("a call that only looks and whose answer nobody reads can be left out");
            checker.report(diagnostic);
        }
    }
    for (name, span) in std::mem::take(&mut checker.made.tasks) {
        if !checker.read.contains(&span) && !meant(&span) {
            let message = format!("nothing moves or reads the task `{name}`");
            let diagnostic = Diagnostic::new(&codes::names::UNUSED_TASK, span, message).help(
                format!("move it where its part is done: `set {name} …`; or leave it out"),
            );
            checker.report(diagnostic);
        }
    }
    for parameter in &plan.parameters {
        let name = &parameter.name;
        if !checker.read.contains(&name.span) && !meant(&name.span) {
            let message = format!("nothing reads the input `{}`", name.text);
            let diagnostic = Diagnostic::new(&codes::names::UNUSED_INPUT, name.span, message);
            checker.report(
                diagnostic.help("read it somewhere, or take it out of the head of the plan"),
            );
        }
    }
}

/// Results that are read although nothing is known of them.
fn report_unknown_results(checker: &mut PlanChecker<'_>) {
    for (origin, called, span) in std::mem::take(&mut checker.made.unknown_results) {
        if checker.valued.contains(&origin) {
            let message = format!(
                "nothing is known of what `{called}` gives, so what is read of it is not checked"
            );
            let written = match called.split_once('.') {
                Some((namespace, name)) => format!("{}.{}", quoted(namespace), quoted(name)),
                None => called,
            };
            let help = format!("declare it: `tool {written}(…) -> {{ field: type }}` in this file");
            let diagnostic = Diagnostic::new(&codes::types::UNKNOWN_READ, span, message);
            checker.report(diagnostic.help(help));
        }
    }
}

/// Namespaces and types that nothing in the file names.
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
        let message = format!("nothing in this file uses the type `{}`", quoted(name));
        let diagnostic =
            Diagnostic::new(&codes::names::UNUSED_TYPE, span, message).help("remove it");
        diagnostics.push(match items.get(&span) {
            Some(item) => diagnostic.fix_all("remove it", removal(*item)),
            None => diagnostic,
        });
    }
}

/// The places of namespaces that no plan and no test calls.
fn idle_namespaces(uses: &Uses, called: &BTreeSet<Arc<str>>) -> BTreeSet<Span> {
    let idle = uses.namespaces.iter().filter(|(name, namespace)| {
        !called.contains(*name) && !matches!(namespace, Namespace::Unresolved)
    });
    idle.filter_map(|(name, _)| uses.spans.get(name).copied())
        .collect()
}

/// The names of one `use` that are idle: the line goes where all are, else the name.
fn unused_uses(
    item: Span,
    written: &ast::Use,
    idle: &BTreeSet<Span>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut report = |alias: &ast::Name, title: &str, edit: Span| {
        let message = format!("nothing in this file calls `{}`", alias.text);
        let diagnostic = Diagnostic::new(&codes::names::UNUSED_USE, alias.span, message);
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

/// The names that misspelt ones stood for.
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
