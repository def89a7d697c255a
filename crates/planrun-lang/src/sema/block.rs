//! Checks statements block by block, and flattens `if`s into guards.

use super::blocks::{BlockKind, GuardMark};
use super::body::ends;
use super::candidates::LetCandidate;
use super::checker::PlanChecker;
use super::expr::Expectation;
use super::plan::{Failing, Footprint, NodeId, NodeKind, Parallel};
use super::remedy::add_move_fixes;
use super::scope::{NameKind, Scope as _};
use super::step::check_step;
use super::task::{check_set, check_task, close_listener, open_listener};
use crate::diag::codes;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{ErrorClass, Type};

/// Checks statements into the innermost open block.
pub(super) fn check_statements(checker: &mut PlanChecker<'_>, statements: &[ast::Statement]) {
    let first = checker.diagnostics.len();
    let around = (checker.statement, checker.unconditional);
    let mut ended: Option<&ast::Statement> = None;
    for statement in statements {
        if checker.has_too_many_conditions(statement.span) {
            break;
        }
        if let Some(end) = ended
            && !matches!(
                statement.kind,
                ast::StatementKind::Error | ast::StatementKind::Next(_)
            )
        {
            report_never_reached(checker, end, statement.span);
            ended = None;
        }
        checker.statement = Some(statement.span);
        checker.unconditional = is_unconditional(statement);
        check_statement(checker, statement);
        let kind = checker
            .blocks
            .innermost()
            .map_or(BlockKind::Plan, |block| block.kind);
        if ends(statement, kind) {
            ended = Some(statement);
        }
    }
    (checker.statement, checker.unconditional) = around;
    add_move_fixes(checker, first, statements);
}

/// Reports a statement after one that ends the block or the plan.
fn report_never_reached(checker: &mut PlanChecker<'_>, end: &ast::Statement, span: Span) {
    let diagnostic = if matches!(end.kind, ast::StatementKind::If { .. }) {
        codes::order::UNREACHABLE_STEP
            .at(
                span,
                "this can never run: execution ends in every branch above",
            )
            .label(end.span, "execution ends in every branch of this")
            .help("move it up, or let one branch continue")
    } else {
        codes::order::AFTER_REPLY
            .at(span, "this can never run")
            .label(end.span, "execution ends here")
            .help("move it up, or make the end conditional with `when`")
    };
    checker.report(diagnostic);
}

fn check_statement(checker: &mut PlanChecker<'_>, statement: &ast::Statement) {
    let span = statement.span;
    match &statement.kind {
        ast::StatementKind::Policy(_) | ast::StatementKind::Allow(_) => {
            refuse_late_settings(checker, span);
        }
        ast::StatementKind::Step(step) => check_step(checker, step, span),
        ast::StatementKind::Let { name, ty, value } => {
            check_let(checker, span, name, ty.as_deref(), value);
        }
        ast::StatementKind::If { arms, otherwise } => check_if(checker, arms, otherwise.as_ref()),
        ast::StatementKind::Parallel(block) => check_parallel(checker, span, block),
        ast::StatementKind::Task { .. } => check_task(checker, statement),
        ast::StatementKind::Set { .. } => check_set(checker, statement),
        ast::StatementKind::Listener { body, .. } => {
            if let Some(open) = open_listener(checker, statement) {
                check_statements(checker, &body.statements);
                close_listener(checker, open);
            }
        }
        ast::StatementKind::Ensure { condition, message } => {
            let code = checker.condition(condition);
            let what = "the message of `ensure`";
            let message = checker.conditionally(|checker| checker.text(message, what));
            checker.blocks.push(
                span,
                NodeKind::Ensure {
                    condition: code,
                    message: Box::new(message),
                },
            );
            checker.assume_not_taken(condition, false);
        }
        ast::StatementKind::Fail {
            class,
            message,
            when,
        } => {
            let mark = when.as_ref().map(|when| checker.guard(when));
            if let Some(failing) = check_failure(checker, class, message.as_deref()) {
                checker.blocks.push(span, NodeKind::Fail(failing));
            }
            end_guarded(checker, when.as_deref(), mark);
        }
        ast::StatementKind::Reply(guarded) => check_reply(checker, span, guarded),
        ast::StatementKind::Yield(guarded) => check_yield(checker, span, guarded),
        ast::StatementKind::Next(guarded) => check_next(checker, span, guarded),
        ast::StatementKind::Error => {}
    }
}

/// Returns true if a statement has no guard, so that its expressions are evaluated whenever it is reached.
fn is_unconditional(statement: &ast::Statement) -> bool {
    match &statement.kind {
        ast::StatementKind::Step(step) => step
            .clauses
            .iter()
            .all(|clause| !matches!(clause.kind, ast::ClauseKind::When(_))),
        ast::StatementKind::Let { .. } | ast::StatementKind::Ensure { .. } => true,
        ast::StatementKind::Fail { when, .. } => when.is_none(),
        ast::StatementKind::Reply(guarded)
        | ast::StatementKind::Yield(guarded)
        | ast::StatementKind::Next(guarded) => guarded.when.is_none(),
        ast::StatementKind::Policy(_)
        | ast::StatementKind::Allow(_)
        | ast::StatementKind::If { .. }
        | ast::StatementKind::Parallel(_)
        | ast::StatementKind::Task { .. }
        | ast::StatementKind::Set { .. }
        | ast::StatementKind::Listener { .. }
        | ast::StatementKind::Error => false,
    }
}

fn check_let(
    checker: &mut PlanChecker<'_>,
    span: Span,
    name: &ast::Name,
    ty: Option<&ast::TypeExpr>,
    value: &ast::Expr,
) {
    checker.claim("value", name, NameKind::Let);
    let code = match ty {
        Some(annotation) => {
            let ty = checker.types.resolve(annotation, checker.diagnostics);
            let what = format_args!("the value of `{}`", name.text);
            let mut code = checker.value_of(value, &ty, Expectation::of(&what));
            code.ty = ty;
            code
        }
        None => checker.value(value),
    };
    let slot = checker.introduce(name, NameKind::Let, code.ty.clone());
    checker.candidates.lets.push(LetCandidate {
        name: name.clone(),
        origin: checker.origin(name),
        statement: span,
    });
    checker.blocks.push_node(
        span,
        Some((name.text.clone(), slot)),
        Vec::new(),
        NodeKind::Let(code),
    );
}

/// Checks `parallel { … }`: its statements belong to the surrounding block, and are ordered as one statement of it.
fn check_parallel(checker: &mut PlanChecker<'_>, span: Span, block: &ast::Block) {
    checker.names.known.enter_unsettled(span);
    let first = next_node(checker);
    // The order class of the `parallel` depends on all its statements, so their footprint is collected separately.
    let around = checker
        .blocks
        .innermost_mut()
        .map(|open| std::mem::replace(&mut open.does, Footprint::none()));
    let mut sequences = Vec::new();
    for statement in &block.statements {
        let start = next_node(checker);
        check_statements(checker, std::slice::from_ref(statement));
        if matches!(statement.kind, ast::StatementKind::If { .. }) {
            sequences.push(start..next_node(checker));
        }
    }
    let nodes = first..next_node(checker);
    let (Some(open), Some(mut around)) = (checker.blocks.innermost_mut(), around) else {
        return;
    };
    around.merge(&open.does);
    let order = std::mem::replace(&mut open.does, around).order;
    open.parallels.push(Parallel {
        span,
        nodes,
        order,
        sequences,
    });
}

/// Returns the index of the next node.
fn next_node(checker: &PlanChecker<'_>) -> u32 {
    checker.blocks.innermost().map_or(0, |block| {
        u32::try_from(block.nodes.len()).unwrap_or(u32::MAX)
    })
}

fn check_if(
    checker: &mut PlanChecker<'_>,
    arms: &[(ast::Expr, ast::Block)],
    otherwise: Option<&ast::Block>,
) {
    let kind = checker
        .blocks
        .innermost()
        .map_or(BlockKind::Plan, |block| block.kind);
    let ended = |block: &ast::Block| {
        block
            .statements
            .iter()
            .any(|statement| ends(statement, kind))
    };
    let before = checker.names.known.mark();
    let mut first = None;
    let mut excluded = Vec::new();
    checker.names.begin_if();
    for (condition, block) in arms {
        if checker.has_too_many_conditions(condition.span) {
            break;
        }
        let code = checker.condition(condition);
        let node: NodeId = checker
            .blocks
            .push(condition.span, NodeKind::Condition(code));
        let mark = checker.guard_by(node, condition, false);
        check_statements(checker, &block.statements);
        excluded.extend(checker.names.known.excluded_by_ends(before, ended(block)));
        checker.unguard(mark);
        let mark = checker.guard_by(node, condition, true);
        first.get_or_insert(mark);
        checker.names.next_branch();
    }
    if let Some(block) = otherwise {
        check_statements(checker, &block.statements);
        excluded.extend(checker.names.known.excluded_by_ends(before, ended(block)));
    }
    checker.names.end_if();
    checker.unguard(first);
    for conditions in excluded {
        checker.names.known.exclude(conditions);
    }
}

/// Removes the guard of a statement that ends the block: below it the condition does not hold.
fn end_guarded(checker: &mut PlanChecker<'_>, when: Option<&ast::Expr>, mark: Option<GuardMark>) {
    checker.unguard(mark);
    if let Some(when) = when {
        checker.assume_not_taken(when, true);
    }
}

/// Checks `fail class "…"`; returns `None` if the class is unknown.
pub(super) fn check_failure(
    checker: &mut PlanChecker<'_>,
    class: &ast::Name,
    message: Option<&ast::Expr>,
) -> Option<Failing> {
    let message = message.map(|message| checker.text(message, "the message of `fail`"));
    let found = match ErrorClass::find(&class.text) {
        Some(found) => found,
        None if &*class.text == "tool" => ErrorClass::Tool("failed".into()),
        None => {
            let known = ErrorClass::names().filter(|name| ErrorClass::find(name).is_some());
            let code = &codes::names::UNKNOWN_ERROR_CLASS;
            let diagnostic =
                super::finding::unknown(code, "error class", &class.text, class.span, known);
            let root = class.text.split('.').next().unwrap_or_default();
            let is_value = checker.names.visible().iter().any(|name| **name == *root);
            checker.report(if is_value {
                let written = checker.shared.source.slice(class.span);
                diagnostic.help(format!(
                    "name the class before the message: `fail tool.refused \"${{{written}}}\"`"
                ))
            } else {
                diagnostic
            });
            return None;
        }
    };
    Some(Failing {
        class: found,
        message: message.map(Box::new),
    })
}

fn check_reply(checker: &mut PlanChecker<'_>, span: Span, guarded: &ast::Guarded) {
    let kind = checker
        .blocks
        .innermost()
        .map_or(BlockKind::Plan, |block| block.kind);
    let mark = guarded.when.as_ref().map(|when| checker.guard(when));
    if kind == BlockKind::Plan {
        let code = match checker.declared.clone() {
            Some(ty) => {
                let expectation = Expectation::reply();
                checker.value_of(&guarded.value, &ty, expectation)
            }
            None => checker.value(&guarded.value),
        };
        checker.replies.push(code.ty.clone());
        checker.blocks.push(span, NodeKind::Reply(code));
    } else {
        checker.value(&guarded.value);
        let help = "set the value of a step with `yield` in its block; in a listener, set a task";
        report_misplaced(
            checker,
            span,
            "`reply` ends the whole plan and is not allowed inside a block",
            help,
        );
    }
    end_guarded(checker, guarded.when.as_deref(), mark);
}

fn check_yield(checker: &mut PlanChecker<'_>, span: Span, guarded: &ast::Guarded) {
    let mark = guarded.when.as_ref().map(|when| checker.guard(when));
    let code = checker.value(&guarded.value);
    match checker.blocks.innermost() {
        Some(block) if !matches!(block.kind, BlockKind::Plan | BlockKind::Listener) => {
            let code = checker.blocks.yielded(code);
            checker.blocks.push(span, NodeKind::Yield(code));
        }
        Some(_) | None => {
            let help = "set the value of the plan with `reply`";
            report_misplaced(
                checker,
                span,
                "`yield` sets the value of a block, but it is not inside one",
                help,
            );
        }
    }
    if checker
        .blocks
        .innermost()
        .is_some_and(|block| block.kind == BlockKind::Repeat)
    {
        // The round continues to its `next`.
        checker.unguard(mark);
    } else {
        end_guarded(checker, guarded.when.as_deref(), mark);
    }
}

fn check_next(checker: &mut PlanChecker<'_>, span: Span, guarded: &ast::Guarded) {
    let mark = guarded.when.as_ref().map(|when| checker.guard(when));
    if checker
        .blocks
        .innermost()
        .is_some_and(|block| block.kind == BlockKind::Repeat)
    {
        let state = repeat_state(checker);
        let expectation = Expectation::of(&"the next state of the `repeat`");
        let code = checker.value_of(
            &guarded.value,
            &Type::union([state, Type::Null]),
            expectation,
        );
        checker.blocks.push(span, NodeKind::Next(code));
    } else {
        checker.value(&guarded.value);
        report_misplaced(
            checker,
            span,
            "`next` sets the state of a `repeat`, but it is not inside one",
            "remove it",
        );
    }
    end_guarded(checker, guarded.when.as_deref(), mark);
}

/// Returns the type of the state of the innermost `repeat`, which is in slot 0.
fn repeat_state(checker: &PlanChecker<'_>) -> Type {
    checker.names.first_type().unwrap_or(Type::Any)
}

/// Reports a misplaced statement unless the parser has reported it already.
fn report_misplaced(checker: &mut PlanChecker<'_>, span: Span, message: &str, help: &str) {
    let here = span.start..span.start.saturating_add(1);
    if checker.shared.damage.any_begins_in(here) {
        return;
    }
    checker.report(
        codes::text::MISPLACED_STATEMENT
            .at(span, message)
            .help(help),
    );
}

fn refuse_late_settings(checker: &mut PlanChecker<'_>, span: Span) {
    let nested = checker.blocks.outwards().nth(1).is_some()
        || checker
            .blocks
            .innermost()
            .is_some_and(|block| !block.guard.is_empty());
    if nested {
        report_misplaced(
            checker,
            span,
            "settings apply to the whole plan",
            "move them to the top of the plan",
        );
    }
}
