//! The bodies of steps: the result of checking them, which statements end them, and the type of their value.

use super::blocks::{BlockKind, OpenBlock};
use super::checker::PlanChecker;
use super::plan::{Footprint, StepKind};
use crate::syntax::ast;
use crate::types::Type;

/// A checked body of a step.
pub(super) struct CheckedBody {
    pub kind: StepKind,
    pub ty: Type,
    pub does: Footprint,
    /// The type of `winner(x)` for a `race`.
    pub winner: Option<Type>,
}

impl CheckedBody {
    /// Creates a body whose errors have been reported.
    pub(super) fn damaged(ty: Type) -> Self {
        Self::new(StepKind::Damaged, ty, Footprint::none())
    }

    pub(super) fn new(kind: StepKind, ty: Type, does: Footprint) -> Self {
        Self {
            kind,
            ty,
            does,
            winner: None,
        }
    }
}

/// Closes the innermost block and creates the body of the step that owns it.
pub(super) fn close_body(
    checker: &mut PlanChecker<'_>,
    statements: &[ast::Statement],
    kind: BlockKind,
    make: impl FnOnce(&OpenBlock) -> StepKind,
) -> CheckedBody {
    let Some(mut block) = checker.close_block() else {
        return CheckedBody::damaged(Type::Invalid);
    };
    let step = make(&block);
    let ty = value_type(std::mem::take(&mut block.yields), statements, kind);
    CheckedBody::new(step, ty, block.does)
}

/// Returns the type of a block's value: the union of its yields, and null if a path yields nothing. For a `repeat`, the
/// type of the values of its rounds: a round that yields nothing adds no value.
pub(super) fn value_type(
    yields: Vec<Type>,
    statements: &[ast::Statement],
    kind: BlockKind,
) -> Type {
    let always = if kind == BlockKind::Repeat {
        !yields.is_empty()
    } else {
        statements.iter().any(|statement| ends(statement, kind))
    };
    let absent = if always { None } else { Some(Type::Null) };
    Type::union(yields.into_iter().chain(absent))
}

/// Returns true if nothing below this statement can run.
pub(super) fn ends(statement: &ast::Statement, kind: BlockKind) -> bool {
    match &statement.kind {
        ast::StatementKind::Reply(guarded) | ast::StatementKind::Next(guarded) => {
            guarded.when.is_none()
        }
        ast::StatementKind::Yield(guarded) => guarded.when.is_none() && kind != BlockKind::Repeat,
        ast::StatementKind::Fail { when, .. } => when.is_none(),
        ast::StatementKind::If { arms, otherwise } => {
            let ended = |block: &ast::Block| {
                block
                    .statements
                    .iter()
                    .any(|statement| ends(statement, kind))
            };
            otherwise.as_ref().is_some_and(ended) && arms.iter().all(|(_, block)| ended(block))
        }
        ast::StatementKind::Policy(_)
        | ast::StatementKind::Allow(_)
        | ast::StatementKind::Step(_)
        | ast::StatementKind::Let { .. }
        | ast::StatementKind::Parallel(_)
        | ast::StatementKind::Task { .. }
        | ast::StatementKind::Set { .. }
        | ast::StatementKind::Listener { .. }
        | ast::StatementKind::Ensure { .. }
        | ast::StatementKind::Error => false,
    }
}
