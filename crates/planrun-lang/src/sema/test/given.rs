//! Checks `given`: the inputs of the plan, as one row or a table of rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::TestChecker;
use super::item::{Row, Test};
use crate::diag::codes;
use crate::sema::finding::{listed, unknown};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

impl TestChecker<'_> {
    /// Returns the rows of one `given`.
    pub(super) fn table(&mut self, given: &ast::Expr) -> Vec<Row> {
        match &given.kind {
            ast::ExprKind::List(rows) if rows.is_empty() => {
                self.no_row(given);
                Vec::new()
            }
            ast::ExprKind::List(rows) => rows.iter().filter_map(|row| self.row(row)).collect(),
            ast::ExprKind::Object(_) => self.row(given).into_iter().collect(),
            ast::ExprKind::Error => Vec::new(),
            _ => {
                self.no_row(given);
                Vec::new()
            }
        }
    }

    fn row(&mut self, row: &ast::Expr) -> Option<Row> {
        let ast::ExprKind::Object(entries) = &row.kind else {
            if row.kind != ast::ExprKind::Error {
                self.no_row(row);
            }
            return None;
        };
        let mut inputs: Vec<(Arc<str>, _)> = Vec::new();
        for entry in entries {
            let ast::EntryKey::Name(name) = &entry.key else {
                self.no_row(&entry.value);
                continue;
            };
            let plan = self.plan.clone();
            let Some(parameter) = plan
                .parameters
                .iter()
                .find(|parameter| parameter.name == name.text)
            else {
                let names = plan.parameters.iter().map(|parameter| &*parameter.name);
                let what = format!("input of `{}` named", plan.name);
                let code = &codes::names::UNKNOWN_ARGUMENT;
                self.diagnostics
                    .push(unknown(code, &what, &name.text, name.span, names));
                continue;
            };
            let what = format_args!("the input `{}` of `{}`", parameter.name, plan.name);
            let expected = if parameter.required {
                parameter.ty.clone()
            } else {
                Type::union([parameter.ty.clone(), Type::Null])
            };
            let code = self.constant_of(&entry.value, &expected, &what);
            inputs.push((name.text.clone(), code));
        }
        Some(Row {
            span: row.span,
            inputs,
        })
    }

    fn no_row(&mut self, expression: &ast::Expr) {
        let message = "the inputs of a test must be an object with the plan's parameters as fields, or a list of such objects";
        let finding = codes::types::NOT_AN_OBJECT.at(expression.span, message);
        self.diagnostics
            .push(finding.help("write `given { name: value }`"));
    }

    /// Reports inputs that several tables give, of which only one could hold.
    pub(super) fn given_twice(&mut self, test: &ast::Test) {
        let tables = test.body.iter().filter_map(|line| match &line.kind {
            ast::TestStatementKind::Given(given) => Some(given),
            _ => None,
        });
        let mut firsts: BTreeMap<&str, (usize, Span)> = BTreeMap::new();
        let mut reported = BTreeSet::new();
        for (table, given) in tables.enumerate() {
            for name in names(given) {
                let (first, place) = *firsts.entry(&name.text).or_insert((table, name.span));
                if first == table || !reported.insert((table, &name.text)) {
                    continue;
                }
                let message = format!("the input `{}` is given by two tables", name.text);
                let finding = codes::text::DUPLICATE_FIELD.at(name.span, message);
                let help = "give it in one of them: each row of one table is combined with each row of the other";
                self.diagnostics
                    .push(finding.label(place, "first given here").help(help));
            }
        }
    }

    /// Reports required inputs that no table gives in all of its rows.
    pub(super) fn needs_inputs(&mut self, test: &ast::Test, checked: &Test) {
        if !checked.runs() {
            return;
        }
        let everywhere = |name: &str| {
            let has = |row: &Row| row.inputs.iter().any(|(known, _)| **known == *name);
            checked
                .tables
                .iter()
                .any(|table| !table.is_empty() && table.iter().all(has))
        };
        let needed = self
            .plan
            .parameters
            .iter()
            .filter(|parameter| parameter.required);
        let missing = needed
            .filter(|parameter| !everywhere(&parameter.name))
            .collect::<Vec<_>>();
        let damaged = test.body.iter().any(|line| match &line.kind {
            ast::TestStatementKind::Error => true,
            ast::TestStatementKind::Given(given) => given.kind == ast::ExprKind::Error,
            _ => false,
        });
        // A misspelled input has been reported at its name.
        let misspelt = self.diagnostics.iter().any(|found| {
            found.code == &codes::names::UNKNOWN_ARGUMENT
                && test.body.iter().any(|line| line.span.contains(found.span))
        });
        if missing.is_empty() || damaged || misspelt {
            return;
        }
        let names = missing
            .iter()
            .map(|parameter| &*parameter.name)
            .collect::<Vec<_>>();
        let (word, verb) = if names.len() == 1 {
            ("input", "is")
        } else {
            ("inputs", "are")
        };
        let message = format!(
            "the {word} {} of `{}` {verb} not given",
            listed(&names),
            self.plan.name
        );
        let additions = missing
            .iter()
            .map(|parameter| format!("{}: {}", parameter.name, parameter.ty));
        let help = format!(
            "add `given {{ {} }}`",
            additions.collect::<Vec<_>>().join(", ")
        );
        let finding = codes::types::MISSING_ARGUMENT.at(test.name.span, message);
        self.diagnostics.push(finding.help(help).available(names));
    }
}

/// Returns the names of the inputs in the rows of a table.
fn names(given: &ast::Expr) -> impl Iterator<Item = &ast::Name> {
    let rows = match &given.kind {
        ast::ExprKind::List(rows) => rows.as_slice(),
        _ => std::slice::from_ref(given),
    };
    let entries = rows.iter().flat_map(|row| match &row.kind {
        ast::ExprKind::Object(entries) => entries.as_slice(),
        _ => &[],
    });
    entries.filter_map(|entry| match &entry.key {
        ast::EntryKey::Name(name) => Some(name),
        ast::EntryKey::Expr(_) => None,
    })
}
