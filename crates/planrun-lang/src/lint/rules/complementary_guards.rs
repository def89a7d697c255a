//! `complementary-guards`: two consecutive steps, of which exactly one runs.

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::sema::expr::atoms;
use crate::source::{SourceFile, Span};
use crate::syntax::{ast, indent_lines};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    check_statements(subject, &subject.written.body.statements, found);
}

fn check_statements(
    subject: &Subject<'_>,
    statements: &[ast::Statement],
    found: &mut Vec<Diagnostic>,
) {
    let mut joined = None;
    for pair in statements.windows(2) {
        let [one, other] = pair else { continue };
        if joined == Some(one.span) {
            continue;
        }
        if let (Some(first), Some(second)) = (guarded(one), guarded(other))
            && excludes(first.1, second.1)
            && !reads_task(subject, first.1)
        {
            found.push(report(subject.source, first, second));
            joined = Some(other.span);
        }
    }
    for statement in statements {
        statement.inner(&mut |inner| {
            if let ast::Inner::Block(block) = inner {
                check_statements(subject, &block.statements, found);
            }
        });
    }
}

/// Returns true if a condition reads a task, which may change between its two evaluations.
fn reads_task(subject: &Subject<'_>, condition: &ast::Expr) -> bool {
    if let ast::ExprKind::Name(name) = &condition.kind {
        return subject.plan.tasks.iter().any(|task| task.name == *name);
    }
    let mut reads = false;
    condition.parts(&mut |part| reads |= reads_task(subject, part));
    reads
}

/// A step with a condition: the statement, the condition and the clause.
type Guarded<'a> = (&'a ast::Statement, &'a ast::Expr, Span);

fn guarded(statement: &ast::Statement) -> Option<Guarded<'_>> {
    let ast::StatementKind::Step(step) = &statement.kind else {
        return None;
    };
    step.clauses.iter().find_map(|clause| match &clause.kind {
        ast::ClauseKind::When(condition) => Some((statement, condition, clause.span)),
        _ => None,
    })
}

/// Returns true if one condition is the negation of the other.
fn excludes(one: &ast::Expr, other: &ast::Expr) -> bool {
    match (atoms(one).as_slice(), atoms(other).as_slice()) {
        ([one], [other]) => one.text == other.text && one.negated != other.negated,
        _ => false,
    }
}

fn report(source: &SourceFile, first: Guarded<'_>, second: Guarded<'_>) -> Diagnostic {
    let message = "this runs exactly when the step above does not";
    let diagnostic = codes::order::COMPLEMENTARY_GUARDS
        .at(second.2, message)
        .label(first.2, "the opposite condition")
        .help("combine them: `if … { … } else { … }`; the names can be read below as before");
    let between = source
        .text()
        .get(first.0.span.end as usize..second.0.span.start as usize)
        .unwrap_or("x");
    let documented = first.0.doc.is_some() || second.0.doc.is_some();
    if documented || !between.trim().is_empty() {
        return diagnostic;
    }
    let margin = margin(source, first.0.span);
    let [one, other] =
        [first, second].map(|(statement, _, clause)| body(source, statement.span, clause));
    let condition = source.slice(first.1.span);
    let text = format!(
        "if {condition} {{\n{margin}    {one}\n{margin}}} else {{\n{margin}    {other}\n{margin}}}"
    );
    let edit = Edit::new(first.0.span.to(second.0.span), text);
    diagnostic.fix_all("write `if` and `else`", vec![edit])
}

/// Returns a statement without its condition, indented by one level.
fn body(source: &SourceFile, statement: Span, clause: Span) -> String {
    let text = source.text();
    let before = text
        .get(statement.start as usize..clause.start as usize)
        .unwrap_or("")
        .trim_end();
    let behind = text
        .get(clause.end as usize..statement.end as usize)
        .unwrap_or("");
    indent_lines(&format!("{before}{behind}"), "    ")
}

/// Returns the indentation of a statement; empty if other text precedes it on its line.
fn margin(source: &SourceFile, statement: Span) -> &str {
    let before = source.text().get(..statement.start as usize).unwrap_or("");
    let line = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
    if line.trim().is_empty() { line } else { "" }
}
