//! Removes `let` statements that nothing reads.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{
    ArmBody, Block, ClauseKind, Expr, ExprKind, Probe, Statement, StatementKind, Step, StepBody,
    Undo, WaitFor,
};

/// Removes every unused `let`, including those that only unused ones read.
pub fn remove(body: &mut Block) {
    loop {
        let mut read = BTreeSet::new();
        block(body, &mut |expression| names(expression, &mut read));
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

/// Visits the top-level expressions of all statements in a block and its inner blocks.
pub fn expressions(body: &Block, visit: &mut dyn FnMut(&Expr)) {
    block(body, visit);
}

type Visit<'v> = dyn FnMut(&Expr) + 'v;

fn block(body: &Block, visit: &mut Visit<'_>) {
    for statement in &body.statements {
        match &statement.kind {
            StatementKind::Step(step) => of_step(step, visit),
            StatementKind::Let { value, .. }
            | StatementKind::Policy(value)
            | StatementKind::Allow(value) => visit(value),
            StatementKind::If { arms, otherwise } => {
                for (condition, inner) in arms {
                    visit(condition);
                    block(inner, visit);
                }
                if let Some(inner) = otherwise {
                    block(inner, visit);
                }
            }
            StatementKind::Parallel(inner) => block(inner, visit),
            StatementKind::Set { context, when, .. } => {
                context.iter().chain(when).for_each(|value| visit(value));
            }
            StatementKind::Listener {
                on,
                when,
                max,
                body,
                ..
            } => {
                visit(on);
                when.iter().chain(max).for_each(|value| visit(value));
                block(body, visit);
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
            StatementKind::Task { .. } | StatementKind::Error => {}
        }
    }
}

fn of_step(step: &Step, visit: &mut Visit<'_>) {
    match &step.body {
        StepBody::Call(call) => visit(call),
        StepBody::Do(body) => block(body, visit),
        StepBody::Each {
            list,
            max,
            parallel,
            by,
            body,
            ..
        } => {
            visit(list);
            max.iter()
                .chain(parallel)
                .chain(by)
                .for_each(|value| visit(value));
            block(body, visit);
        }
        StepBody::Repeat {
            initial, max, body, ..
        } => {
            visit(initial);
            if let Some(max) = max {
                visit(max);
            }
            block(body, visit);
        }
        StepBody::Wait(WaitFor::Duration(value) | WaitFor::Until(value)) => visit(value),
        StepBody::Wait(WaitFor::Condition { on, .. }) => visit(on),
        StepBody::Input { prompt, .. } => visit(prompt),
        StepBody::Match { subject, arms } => {
            visit(subject);
            for one in arms {
                arm(&one.body, visit);
            }
        }
        StepBody::Race(arms) => arms.iter().for_each(|(_, body)| arm(body, visit)),
        StepBody::Ask(_) | StepBody::Infer { .. } | StepBody::Error => {}
    }
    for clause in &step.clauses {
        of_clause(&clause.kind, visit);
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
        ClauseKind::Until { condition, every } => {
            visit(condition);
            visit(every);
        }
        ClauseKind::Verify { probe, check, .. } => {
            if let Probe::Call(call) = probe {
                visit(call);
            }
            visit(check);
        }
        ClauseKind::Recover { body, .. } => arm(body, visit),
        ClauseKind::Undo(Undo::Call(call)) => visit(call),
        ClauseKind::Undo(Undo::Do(body)) => block(body, visit),
        ClauseKind::After(_) | ClauseKind::Error => {}
    }
}

fn arm(body: &ArmBody, visit: &mut Visit<'_>) {
    match body {
        ArmBody::Expr(value) => visit(value),
        ArmBody::Do(body) => block(body, visit),
        ArmBody::Fail { message, .. } => message.iter().for_each(|value| visit(value)),
        ArmBody::Ask(_) | ArmBody::Infer { .. } => {}
    }
}
