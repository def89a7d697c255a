//! The fields of the input that a plan certainly reads, on whichever path it runs.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{
    BinaryOp, Block, ClauseKind, Expr, ExprKind, LinkKind, Statement, StatementKind, Step,
    StepBody, WaitFor,
};

use super::inputs::field_of_input;
use crate::expression::ONE;

type Fields = BTreeSet<String>;

/// Returns the fields of the input that the statements read unless they fail before.
pub fn fields(statements: &[Statement]) -> Fields {
    let mut read = Fields::new();
    for (number, statement) in statements.iter().enumerate() {
        match &statement.kind {
            StatementKind::If { arms, otherwise } => {
                if let Some((condition, _)) = arms.first() {
                    expression(condition, &mut read);
                }
                let rest = fields(statements.get(number + 1..).unwrap_or_default());
                let blocks = arms.iter().map(|(_, block)| Some(block));
                let branches = blocks
                    .chain([otherwise.as_ref()])
                    .map(|block| block.map_or(&[][..], |block| &block.statements));
                read.extend(of_all(branches, &rest));
                return read;
            }
            StatementKind::Step(step) => of_step(step, &mut read),
            StatementKind::Parallel(block) => read.extend(fields(&block.statements)),
            StatementKind::Let { value, .. }
            | StatementKind::Ensure {
                condition: value, ..
            } => expression(value, &mut read),
            StatementKind::Fail { when, .. } => {
                if let Some(value) = when {
                    expression(value, &mut read);
                }
            }
            StatementKind::Reply(end) | StatementKind::Yield(end) | StatementKind::Next(end) => {
                expression(end.when.as_deref().unwrap_or(&end.value), &mut read);
            }
            StatementKind::Policy(_)
            | StatementKind::Allow(_)
            | StatementKind::Task { .. }
            | StatementKind::Set { .. }
            | StatementKind::Listener { .. }
            | StatementKind::Error => {}
        }
    }
    read
}

/// Returns what all branches read, each with the rest of its block unless it ends. Those that do nothing but fail do not
/// count: a missing field fails, too.
fn of_all<'b>(branches: impl Iterator<Item = &'b [Statement]>, rest: &Fields) -> Fields {
    let branches = branches.filter(|branch| !only_fails(branch));
    let read = branches.map(|branch| {
        let mut read = fields(branch);
        if !branch.iter().any(may_end) {
            read.extend(rest.iter().cloned());
        }
        read
    });
    read.reduce(|all, one| &all & &one).unwrap_or_default()
}

fn only_fails(branch: &[Statement]) -> bool {
    let Some((last, before)) = branch.split_last() else {
        return false;
    };
    let is_value = |one: &Statement| matches!(one.kind, StatementKind::Let { .. });
    matches!(last.kind, StatementKind::Fail { when: None, .. }) && before.iter().all(is_value)
}

/// Returns true if a statement may end its block.
fn may_end(statement: &Statement) -> bool {
    let block =
        |block: &Block| !only_fails(&block.statements) && block.statements.iter().any(may_end);
    match &statement.kind {
        StatementKind::Reply(_)
        | StatementKind::Yield(_)
        | StatementKind::Next(_)
        | StatementKind::Fail { when: None, .. } => true,
        StatementKind::If { arms, otherwise } => {
            arms.iter().any(|(_, inner)| block(inner)) || otherwise.as_ref().is_some_and(block)
        }
        _ => false,
    }
}

fn of_step(step: &Step, read: &mut Fields) {
    match &step.body {
        StepBody::Call(value)
        | StepBody::Wait(WaitFor::Duration(value) | WaitFor::Until(value))
        | StepBody::Match { subject: value, .. } => expression(value, read),
        StepBody::Do(block) => read.extend(fields(&block.statements)),
        // A list may be empty.
        StepBody::Each { list, parallel, .. } => {
            expression(list, read);
            if let Some(value) = parallel {
                expression(value, read);
            }
        }
        StepBody::Repeat { initial, body, .. } => {
            expression(initial, read);
            read.extend(fields(&body.statements));
        }
        StepBody::Wait(WaitFor::Condition { .. })
        | StepBody::Ask(_)
        | StepBody::Infer { .. }
        | StepBody::Race(_)
        | StepBody::Input { .. }
        | StepBody::Error => {}
    }
    for clause in &step.clauses {
        if let ClauseKind::Timeout(value) | ClauseKind::Within(value) = &clause.kind {
            expression(value, read);
        }
    }
}

/// Adds the fields that an expression reads wherever it is evaluated, and where a missing one makes it fail.
fn expression(value: &Expr, read: &mut Fields) {
    match &value.kind {
        ExprKind::Coalesce(_) => {}
        ExprKind::Call { function, .. } if &*function.text == "has" => {}
        ExprKind::Conditional { arms, .. } => {
            arms.iter()
                .take(1)
                .for_each(|(condition, _)| expression(condition, read));
        }
        ExprKind::Chain { first, rest }
            if rest
                .iter()
                .any(|link| matches!(link.operator, BinaryOp::And | BinaryOp::Or)) =>
        {
            expression(first, read);
        }
        // The elements of a list are read only if there are any.
        ExprKind::Path { base, links } if links.iter().any(|link| is_of_elements(&link.kind)) => {
            read.extend(field_of_input(value).map(str::to_owned));
            expression(base, read);
        }
        _ => {
            read.extend(field_of_input(value).map(str::to_owned));
            value.parts(&mut |part| expression(part, read));
        }
    }
}

fn is_of_elements(link: &LinkKind) -> bool {
    matches!(link, LinkKind::Call { arguments, .. }
        if arguments.first().is_some_and(|first| first.value.kind == ExprKind::Name(ONE.into())))
}
