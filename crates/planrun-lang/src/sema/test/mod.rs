//! Checks `test` items: inputs, mocks and expectations, with the types of the plan.

mod answer;
mod expect;
mod given;
mod item;
mod mock;
mod scope;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::expr::{CheckedExpr, Checker, Expectation};
use super::finding::{duplicate_name, unknown, unknown_meant};
use super::plan::Plan;
use super::scope::NoNames;
use super::shared::{Namespace, Shared};
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::{ast, canonical_name};
use crate::types::Type;
use crate::value::{Value, saturating_duration};

pub use answer::{path_name, path_parts, steps_at, without_indices};
pub use expect::Place as OutcomeName;
pub use item::{
    CallQuery, Caller, Comparison, Expect, ExpectedCodes, Mock, MockReaction, Reaction, Row,
    Snapshot, SnapshotOf, Test, TestAnswer, TestSignal,
};
pub use mock::{called, raisable};

/// Checks the `test` items of a file, in source order.
pub(super) fn check(
    file: &ast::File,
    plans: &[Arc<Plan>],
    shared: &Shared<'_>,
    used: &mut BTreeSet<Arc<str>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Arc<Test>> {
    let mut names: Vec<ast::Name> = Vec::new();
    let mut tests = Vec::new();
    for item in &file.items {
        let ast::ItemKind::Test(test) = &item.kind else {
            continue;
        };
        let name = ast::Name {
            text: test.name.text.clone(),
            span: test.name.span,
        };
        if let Some(first) = names.iter().find(|other| other.text == name.text) {
            diagnostics.push(duplicate_name("test", &name, first.span));
        }
        names.push(name);
        let plan = find_plan(test, plans, shared, used, diagnostics);
        // A test cannot be checked without its plan.
        let Some(plan) = plan else {
            note_namespaces(test, used);
            continue;
        };
        let mut checker = TestChecker {
            shared,
            used,
            diagnostics,
            plan: &plan,
        };
        tests.push(Arc::new(checker.test(item.span, test)));
    }
    tests
}

/// The checker of one test.
struct TestChecker<'a> {
    shared: &'a Shared<'a>,
    used: &'a mut BTreeSet<Arc<str>>,
    diagnostics: &'a mut Vec<Diagnostic>,
    plan: &'a Arc<Plan>,
}

impl TestChecker<'_> {
    fn test(&mut self, item: Span, test: &ast::Test) -> Test {
        let mut checked = Test {
            name: test.name.text.clone(),
            span: test.name.span,
            item,
            plan: self.plan.clone(),
            tables: Vec::new(),
            mocks: Vec::new(),
            answers: Vec::new(),
            signals: Vec::new(),
            expects: Vec::new(),
            queries: Vec::new(),
            diagnostics: None,
            snapshots: Vec::new(),
        };
        for statement in &test.body {
            match &statement.kind {
                ast::TestStatementKind::Given(given) => checked.tables.push(self.table(given)),
                ast::TestStatementKind::Mock {
                    target,
                    arguments,
                    outcomes,
                } => {
                    let mock = self.mock(statement.span, target, arguments.as_deref(), outcomes);
                    checked.mocks.extend(mock);
                }
                ast::TestStatementKind::Answer { path, outcome } => {
                    checked.answers.extend(self.answer(path, outcome));
                }
                ast::TestStatementKind::Signal { name, payload, at } => {
                    checked
                        .signals
                        .extend(self.signal(name, payload.as_ref(), at));
                }
                ast::TestStatementKind::Expect(condition) => {
                    let expect = self.expect(condition, &mut checked.queries);
                    checked.expects.push(expect);
                }
                ast::TestStatementKind::ExpectDiagnostics(names) => {
                    self.expect_codes(&mut checked.diagnostics, statement.span, names);
                }
                ast::TestStatementKind::Snapshot(what) => {
                    self.snapshot(what, &mut checked.snapshots);
                }
                ast::TestStatementKind::Error => {}
            }
        }
        self.given_twice(test);
        self.needs_inputs(test, &checked);
        checked
    }

    /// Sets the diagnostics that a test expects; reports a second list.
    fn expect_codes(
        &mut self,
        expected: &mut Option<ExpectedCodes>,
        span: Span,
        names: &[ast::Name],
    ) {
        let codes = self.codes(span, names);
        if let Some(earlier) = expected.replace(codes) {
            let message = "the expected diagnostics of the plan are listed twice";
            self.twice(span, earlier.span, message, "merge them into one");
        }
    }

    /// Reports a statement that a test may have once.
    fn twice(&mut self, span: Span, first: Span, message: &str, help: &str) {
        let finding = codes::text::DUPLICATE_CLAUSE.at(span, message);
        self.diagnostics
            .push(finding.label(first, "first here").help(help));
    }

    fn codes(&mut self, span: Span, names: &[ast::Name]) -> ExpectedCodes {
        for name in names {
            if codes::find(&name.text).is_none() {
                let known = codes::all().map(|code| code.name);
                let code = &codes::tests::UNKNOWN_CODE;
                self.diagnostics
                    .push(unknown(code, "diagnostic", &name.text, name.span, known));
            }
        }
        ExpectedCodes {
            span,
            codes: names.iter().map(|name| name.text.clone()).collect(),
        }
    }

    /// Adds a snapshot; reports an unknown one, and one that the test has already: both would be stored in one file.
    fn snapshot(&mut self, what: &ast::Name, snapshots: &mut Vec<Snapshot>) {
        let Some(of) = SnapshotOf::find(&what.text) else {
            let names = SnapshotOf::ALL.iter().map(|of| of.name());
            let code = &codes::names::UNKNOWN_SETTING;
            self.diagnostics.push(unknown(
                code,
                "snapshot named",
                &what.text,
                what.span,
                names,
            ));
            return;
        };
        let span = what.span;
        match snapshots.iter().find(|known| known.of == of) {
            Some(first) => {
                let message = format!("the test has a snapshot of the {} twice", of.name());
                self.twice(span, first.span, &message, "remove one of them");
            }
            None => snapshots.push(Snapshot { of, span }),
        }
    }

    /// Checks a value of this type that reads no names.
    fn constant_of(
        &mut self,
        expression: &ast::Expr,
        ty: &Type,
        what: &dyn std::fmt::Display,
    ) -> CheckedExpr {
        Checker::new(&NoNames, self.diagnostics).check_against(
            expression,
            ty,
            Expectation::of(what),
        )
    }

    /// Returns a duration that is constant; reports others and returns zero.
    fn duration(&mut self, expression: &ast::Expr, what: &str) -> Duration {
        let before = self.diagnostics.len();
        let code = self.constant_of(expression, &Type::Duration, &what);
        if let Some(Value::Duration(nanos)) = code.constant() {
            if *nanos < 0 {
                let message = format!("{what} is negative");
                let code = &codes::tests::TEST_OUTCOME;
                self.diagnostics.push(code.at(expression.span, message));
            }
            return saturating_duration(*nanos);
        }
        self.must_be_known(before, expression.span, what);
        Duration::ZERO
    }

    /// Returns a count that is constant and at least 1; reports others and returns 1.
    fn times(&mut self, expression: &ast::Expr) -> u32 {
        let before = self.diagnostics.len();
        let code = self.constant_of(expression, &Type::Int, &"`times`");
        let Some(Value::Int(times)) = code.constant() else {
            self.must_be_known(before, expression.span, "`times`");
            return 1;
        };
        let known = u32::try_from(*times).ok().filter(|times| *times > 0);
        if known.is_none() {
            let message = format!(
                "`times` must be at least 1 and at most {}, but this is {times}",
                u32::MAX
            );
            let finding = codes::tests::TEST_OUTCOME.at(expression.span, message);
            self.diagnostics
                .push(finding.help("remove an outcome that never occurs"));
        }
        known.unwrap_or(1)
    }

    fn must_be_known(&mut self, before: usize, span: Span, what: &str) {
        if self.diagnostics.len() == before {
            let message = format!("{what} must be known before the test runs");
            let finding = codes::tests::TEST_OUTCOME.at(span, message);
            self.diagnostics
                .push(finding.help("write the value itself"));
        }
    }
}

fn find_plan(
    test: &ast::Test,
    plans: &[Arc<Plan>],
    shared: &Shared<'_>,
    used: &mut BTreeSet<Arc<str>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Arc<Plan>> {
    let (plans, what) = match &test.namespace {
        None => (plans, "plan".to_owned()),
        Some(namespace) => {
            used.insert(namespace.text.clone());
            match shared.namespaces.get(&namespace.text) {
                Some(Namespace::Plans(plans)) => (
                    plans.as_slice(),
                    format!("plan in `{}` named", namespace.text),
                ),
                Some(Namespace::Unresolved) => return None,
                Some(Namespace::Tools(_)) | None => {
                    let files = shared
                        .namespaces
                        .iter()
                        .filter(|(_, of)| matches!(of, Namespace::Plans(_)));
                    let names = files.map(|(name, _)| &**name);
                    let (code, what) = (&codes::names::UNKNOWN_NAMESPACE, "file of plans named");
                    let finding = unknown(code, what, &namespace.text, namespace.span, names);
                    let remedy =
                        format!("name the file: `use \"./FILE.plan\" as {}`", namespace.text);
                    diagnostics.push(if finding.help.is_none() {
                        finding.help(remedy)
                    } else {
                        finding
                    });
                    return None;
                }
            }
        }
    };
    let find = |name: &str| plans.iter().find(|plan| &*plan.name == name).cloned();
    find(&test.plan.text).or_else(|| {
        if let Some(finding) = elsewhere(test, shared) {
            diagnostics.push(finding);
            return None;
        }
        let names = plans.iter().map(|plan| &*plan.name);
        let (finding, meant) = unknown_meant(&codes::names::UNKNOWN_PLAN, &what, &test.plan, names);
        diagnostics.push(if finding.help.is_none() {
            finding.help("name its file, `use \"./FILE.plan\" as file`, and test `file.PLAN`")
        } else {
            finding
        });
        find(meant?)
    })
}

/// Creates the diagnostic for a test that names a plan of another file without its namespace.
fn elsewhere(test: &ast::Test, shared: &Shared<'_>) -> Option<Diagnostic> {
    if test.namespace.is_some() {
        return None;
    }
    let name = &test.plan;
    let has_plan = |of: &Namespace| match of {
        Namespace::Plans(plans) => plans.iter().any(|plan| plan.name == name.text),
        Namespace::Tools(_) | Namespace::Unresolved => false,
    };
    let (file, _) = shared.namespaces.iter().find(|(_, of)| has_plan(of))?;
    let path = format!("{}.{}", canonical_name(file), canonical_name(&name.text));
    let message = format!("there is no plan `{}` in this file", name.text);
    let finding = codes::names::UNKNOWN_PLAN.at(name.span, message);
    Some(
        finding
            .help(format!("write `{path}`"))
            .fix(format!("write `{path}`"), name.span, path),
    )
}

/// Marks the namespaces that a test names as used, although its plan is not known.
fn note_namespaces(test: &ast::Test, used: &mut BTreeSet<Arc<str>>) {
    for statement in &test.body {
        if let ast::TestStatementKind::Mock {
            target: ast::MockTarget::Tool { namespace, .. },
            ..
        } = &statement.kind
        {
            used.insert(namespace.text.clone());
        }
    }
}
