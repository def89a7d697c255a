//! `test` items: the plan, the inputs and the tools that they name must exist.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::checker::Shared;
use super::file::Namespace;
use super::finding::unknown;
use super::plan::Plan;
use crate::diag::{Diagnostic, codes};
use crate::syntax::ast;

/// Checks the names in every `test` item of a file.
pub(super) fn check(
    file: &ast::File,
    plans: &[Arc<Plan>],
    shared: &Shared<'_>,
    used: &mut BTreeSet<Arc<str>>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for item in &file.items {
        let ast::ItemKind::Test(test) = &item.kind else { continue };
        let plan = plans.iter().find(|plan| plan.name == test.plan.text);
        if plan.is_none() {
            let names = plans.iter().map(|plan| &*plan.name);
            let code = &codes::names::UNKNOWN_PLAN;
            diagnostics.push(unknown(code, "plan", &test.plan.text, test.plan.span, names));
        }
        for statement in &test.body {
            match &statement.kind {
                ast::TestStatementKind::Given(given) => {
                    if let Some(plan) = plan {
                        check_given(given, plan, diagnostics);
                    }
                }
                ast::TestStatementKind::Mock { namespace, tool, .. } => {
                    check_tool(namespace, tool, shared, used, diagnostics);
                }
                ast::TestStatementKind::Answer { .. }
                | ast::TestStatementKind::Signal { .. }
                | ast::TestStatementKind::Expect(_)
                | ast::TestStatementKind::ExpectDiagnostics(_)
                | ast::TestStatementKind::Snapshot(_)
                | ast::TestStatementKind::Error => {}
            }
        }
    }
}

fn check_given(given: &ast::Expr, plan: &Plan, diagnostics: &mut Vec<Diagnostic>) {
    match &given.kind {
        ast::ExprKind::List(rows) => {
            for row in rows {
                check_row(row, plan, diagnostics);
            }
        }
        _ => check_row(given, plan, diagnostics),
    }
}

fn check_row(row: &ast::Expr, plan: &Plan, diagnostics: &mut Vec<Diagnostic>) {
    let ast::ExprKind::Object(entries) = &row.kind else { return };
    for entry in entries {
        let ast::EntryKey::Name(name) = &entry.key else { continue };
        if !plan.parameters.iter().any(|parameter| parameter.name == name.text) {
            let names = plan.parameters.iter().map(|parameter| &*parameter.name);
            let what = format!("input of `{}` named", plan.name);
            let code = &codes::names::UNKNOWN_ARGUMENT;
            diagnostics.push(unknown(code, &what, &name.text, name.span, names));
        }
    }
}

fn check_tool(
    namespace: &ast::Name,
    tool: &ast::Name,
    shared: &Shared<'_>,
    used: &mut BTreeSet<Arc<str>>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    used.insert(namespace.text.clone());
    match shared.namespaces.get(&namespace.text) {
        None => {
            let known = shared.namespaces.keys().map(|name| &**name);
            let code = &codes::names::UNKNOWN_NAMESPACE;
            diagnostics.push(unknown(code, "namespace", &namespace.text, namespace.span, known));
        }
        Some(Namespace::Tools(catalog)) if shared.tools.find(catalog, &tool.text).is_none() => {
            let what = format!("tool in `{}` named", namespace.text);
            let names = shared.tools.names(catalog);
            diagnostics.push(unknown(&codes::names::UNKNOWN_TOOL, &what, &tool.text, tool.span, names));
        }
        Some(Namespace::Tools(_) | Namespace::Plans(_) | Namespace::Unresolved) => {}
    }
}
