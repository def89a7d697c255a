//! Arms of `match`, `race` and `recover`: each is a block, whatever it is written as.

use super::block::{arc, block_type, check_failure, check_statements};
use super::blocks::BlockKind;
use super::call::is_call;
use super::checker::PlanChecker;
use super::expr::Code;
use super::plan::{BlockId, Footprint, NodeKind, Step};
use super::scope::Place;
use super::step::{CheckedBody, check_call_step};
use super::waiting::{check_ask, check_infer};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::Type;

/// What an arm came out as.
pub(super) struct ArmBlock {
    pub id: BlockId,
    pub ty: Type,
    pub does: Footprint,
}

/// An arm of `race`, `match` or `recover` as a block. A call in it is a step with the path `x.label`. Values that
/// fit the type that the arm stands in for become values of it.
pub(super) fn check_arm(
    checker: &mut PlanChecker<'_>,
    label: &str,
    body: &ast::ArmBody,
    binding: Option<(Option<&ast::Name>, Type)>,
    stands_for: Option<&Type>,
) -> ArmBlock {
    let statements: &[ast::Statement] = match body {
        ast::ArmBody::Do(block) => &block.statements,
        ast::ArmBody::Expr(_)
        | ast::ArmBody::Ask { .. }
        | ast::ArmBody::Infer { .. }
        | ast::ArmBody::Fail { .. } => &[],
    };
    let own_label = matches!(body, ast::ArmBody::Do(_)).then(|| arc(label));
    let id = checker.open_block(BlockKind::Do, own_label, statements);
    if let Some(block) = checker.blocks.innermost_mut() {
        block.stands_for = stands_for.cloned();
    }
    match binding {
        Some((Some(name), ty)) => {
            checker.introduce_local(name, ty);
        }
        Some((None, _)) => {
            checker.names.slot();
        }
        None => {}
    }
    check_arm_body(checker, label, body);
    let kind = BlockKind::Do;
    let Some(mut block) = checker.close_block() else {
        return ArmBlock {
            id,
            ty: Type::Invalid,
            does: Footprint::none(),
        };
    };
    let yields = std::mem::take(&mut block.yields);
    let ty = match body {
        ast::ArmBody::Do(own) => block_type(yields, &own.statements, kind),
        ast::ArmBody::Fail { .. } => Type::Never,
        ast::ArmBody::Expr(_) | ast::ArmBody::Ask { .. } | ast::ArmBody::Infer { .. } => {
            Type::union(yields)
        }
    };
    ArmBlock {
        id,
        ty,
        does: block.does,
    }
}

/// What an arm does, in the block that was opened for it.
fn check_arm_body(checker: &mut PlanChecker<'_>, label: &str, body: &ast::ArmBody) {
    match body {
        ast::ArmBody::Do(block) => check_statements(checker, &block.statements),
        ast::ArmBody::Fail { class, message } => {
            if let Some(failing) = check_failure(checker, class, message.as_deref()) {
                checker.blocks.push(class.span, NodeKind::Fail(failing));
            }
        }
        ast::ArmBody::Expr(expression) => check_arm_expression(checker, label, expression),
        ast::ArmBody::Ask {
            agent,
            arguments,
            returns,
        } => {
            let asked = check_ask(checker, agent.span, agent, arguments, returns);
            push_arm_step(checker, label, agent.span.to(returns.span), asked);
        }
        ast::ArmBody::Infer {
            span,
            arguments,
            returns,
        } => {
            let inferred = check_infer(checker, *span, arguments, returns);
            push_arm_step(checker, label, *span, inferred);
        }
    }
}

fn check_arm_expression(checker: &mut PlanChecker<'_>, label: &str, expression: &ast::Expr) {
    if !is_call(checker, expression) {
        let code = checker.value(expression);
        let code = checker.blocks.yielded(code);
        checker.blocks.push(expression.span, NodeKind::Yield(code));
        return;
    }
    let body = check_call_step(checker, expression);
    push_arm_step(checker, label, expression.span, body);
}

/// An arm that is one step, whose value is that of the arm.
fn push_arm_step(checker: &mut PlanChecker<'_>, label: &str, span: Span, body: CheckedBody) {
    checker.blocks.note_does(&body.does);
    let slot = checker.names.slot();
    let step = Step::bare(span, body.kind, body.ty.clone(), body.does);
    checker.blocks.push_node(
        span,
        Some((arc(label), slot)),
        Vec::new(),
        NodeKind::Step(step),
    );
    let value = checker.blocks.yielded(Code::place(
        Place { up: 0, slot },
        arc(label),
        body.ty,
        span,
    ));
    checker.blocks.push(span, NodeKind::Yield(value));
}
