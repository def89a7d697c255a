//! Removes `let` statements that nothing reads.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{
    ArmBody, Block, ClauseKind, Expr, ExprKind, Inner, Statement, StatementKind, StepBody, WaitFor,
};

/// Removes every unused `let`, including those that only unused ones read.
pub fn remove(body: &mut Block) {
    loop {
        let mut read = BTreeSet::new();
        expressions(body, &mut |expression| names(expression, &mut read));
        if !sweep(body, &read) {
            return;
        }
    }
}

fn names(expression: &Expr, read: &mut BTreeSet<String>) {
    if let ExprKind::Name(name) = &expression.kind {
        read.insert(name.to_string());
    }
    expression.parts(&mut |part| names(part, read));
}

/// Returns true if anything was removed.
fn sweep(body: &mut Block, read: &BTreeSet<String>) -> bool {
    let before = body.statements.len();
    let is_read = |statement: &Statement| match &statement.kind {
        StatementKind::Let { name, .. } => read.contains(&*name.text),
        _ => true,
    };
    body.statements.retain(is_read);
    let mut swept = before != body.statements.len();
    for statement in &mut body.statements {
        match &mut statement.kind {
            StatementKind::If { arms, otherwise } => {
                let blocks = arms.iter_mut().map(|(_, block)| block).chain(otherwise);
                swept |= blocks
                    .map(|block| sweep(block, read))
                    .fold(false, |a, b| a | b);
            }
            StatementKind::Parallel(block) | StatementKind::Listener { body: block, .. } => {
                swept |= sweep(block, read);
            }
            StatementKind::Step(step) => {
                if let StepBody::Do(block)
                | StepBody::Each { body: block, .. }
                | StepBody::Repeat { body: block, .. } = &mut step.body
                {
                    swept |= sweep(block, read);
                }
            }
            _ => {}
        }
    }
    swept
}

type Visit<'v> = dyn FnMut(&Expr) + 'v;

/// Visits the top-level expressions of all statements in a block and its inner blocks.
pub fn expressions(body: &Block, visit: &mut Visit<'_>) {
    for statement in &body.statements {
        of_statement(statement, visit);
        statement.inner(&mut |inner| match inner {
            Inner::Block(block) => expressions(block, visit),
            Inner::Call(call) => visit(call),
        });
    }
}

/// Visits the expressions of a statement besides its inner blocks and calls.
fn of_statement(statement: &Statement, visit: &mut Visit<'_>) {
    match &statement.kind {
        StatementKind::Step(step) => {
            of_step(&step.body, visit);
            for clause in &step.clauses {
                of_clause(&clause.kind, visit);
            }
        }
        StatementKind::Let { value, .. }
        | StatementKind::Policy(value)
        | StatementKind::Allow(value) => visit(value),
        StatementKind::If { arms, .. } => arms.iter().for_each(|(condition, _)| visit(condition)),
        StatementKind::Set { context, when, .. } => {
            context.iter().chain(when).for_each(|value| visit(value));
        }
        StatementKind::Listener { on, when, max, .. } => {
            visit(on);
            when.iter().chain(max).for_each(|value| visit(value));
        }
        StatementKind::Ensure { condition, message } => {
            visit(condition);
            visit(message);
        }
        StatementKind::Fail { message, when, .. } => {
            message.iter().chain(when).for_each(|value| visit(value));
        }
        StatementKind::Reply(end) | StatementKind::Yield(end) | StatementKind::Next(end) => {
            visit(&end.value);
            end.when.iter().for_each(|value| visit(value));
        }
        StatementKind::Parallel(_) | StatementKind::Task { .. } | StatementKind::Error => {}
    }
}

fn of_step(body: &StepBody, visit: &mut Visit<'_>) {
    match body {
        StepBody::Each {
            list,
            max,
            parallel,
            by,
            ..
        } => {
            let others = max.iter().chain(parallel).chain(by);
            [list]
                .into_iter()
                .chain(others)
                .for_each(|value| visit(value));
        }
        StepBody::Repeat { initial, max, .. } => {
            [initial]
                .into_iter()
                .chain(max)
                .for_each(|value| visit(value));
        }
        StepBody::Wait(WaitFor::Duration(value) | WaitFor::Until(value)) => visit(value),
        StepBody::Wait(WaitFor::Condition { on, .. }) => visit(on),
        StepBody::Input { prompt, .. } => visit(prompt),
        StepBody::Match { subject, arms } => {
            visit(subject);
            for arm in arms {
                of_arm(&arm.body, visit);
            }
        }
        StepBody::Race(arms) => arms.iter().for_each(|(_, body)| of_arm(body, visit)),
        StepBody::Call(_)
        | StepBody::Do(_)
        | StepBody::Ask(_)
        | StepBody::Infer { .. }
        | StepBody::Error => {}
    }
}

fn of_clause(clause: &ClauseKind, visit: &mut Visit<'_>) {
    match clause {
        ClauseKind::When(value)
        | ClauseKind::By(value)
        | ClauseKind::Timeout(value)
        | ClauseKind::Within(value)
        | ClauseKind::Expires(value)
        | ClauseKind::Retry(value)
        | ClauseKind::Cache(value)
        | ClauseKind::Confirm { text: value, .. } => visit(value),
        ClauseKind::Verify { check, .. } => visit(check),
        ClauseKind::Until { condition, every } => {
            visit(condition);
            visit(every);
        }
        ClauseKind::Recover { body, .. } => of_arm(body, visit),
        ClauseKind::Undo(_) | ClauseKind::After(_) | ClauseKind::Error => {}
    }
}

fn of_arm(body: &ArmBody, visit: &mut Visit<'_>) {
    if let ArmBody::Fail {
        message: Some(message),
        ..
    } = body
    {
        visit(message);
    }
}
