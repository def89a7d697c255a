//! What an `allow` comment speaks of: its own line behind code, else the next statement or item, else the next line.

use crate::source::{SourceFile, Span};
use crate::syntax::ast::{
    ArmBody, Block, ClauseKind, File, ItemKind, Statement, StatementKind, Step, StepBody, Undo,
};

/// The range in which findings begin that the comment allows.
pub(super) fn of(source: &SourceFile, tree: &File, comment: Span) -> Span {
    let line = line_of(source, comment.start);
    if !source
        .slice(Span::from(line.start..comment.start))
        .trim()
        .is_empty()
    {
        return line;
    }
    let next = next_code(source.text(), comment.end as usize);
    let bounds = Span::new(comment.end as usize, next);
    beginning(tree, bounds).unwrap_or_else(|| Span {
        start: comment.end,
        ..line_of(source, Span::at(next).start)
    })
}

/// The line of an offset; the end of an empty last line belongs to it.
fn line_of(source: &SourceFile, offset: u32) -> Span {
    let line = source
        .line(source.position(offset).line)
        .unwrap_or(Span::from(offset..offset));
    Span::from(line.start..line.end.saturating_add(1))
}

/// Where the first thing behind `from` begins that is neither space nor comment.
fn next_code(text: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        let rest = text.get(at..).unwrap_or("");
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if !trimmed.starts_with("//") {
            return at;
        }
        at += trimmed.find('\n').unwrap_or(trimmed.len());
    }
}

/// The item or statement that begins within the bounds; its comments above belong to it.
fn beginning(tree: &File, bounds: Span) -> Option<Span> {
    let begins = |span: Span| bounds.start <= span.start && span.start <= bounds.end;
    for item in &tree.items {
        if begins(item.span) {
            return Some(item.span);
        }
        if item.span.start > bounds.end || item.span.end < bounds.start {
            continue;
        }
        let found = match &item.kind {
            ItemKind::Plan(plan) => in_block(&plan.body, bounds),
            ItemKind::Test(test) => test
                .body
                .iter()
                .map(|statement| statement.span)
                .find(|span| begins(*span)),
            ItemKind::Use(_) | ItemKind::Type(_) | ItemKind::Tool(_) | ItemKind::Error => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn in_block(block: &Block, bounds: Span) -> Option<Span> {
    if bounds.end < block.span.start || block.span.end < bounds.start {
        return None;
    }
    block
        .statements
        .iter()
        .find_map(|statement| in_statement(statement, bounds))
}

fn in_statement(statement: &Statement, bounds: Span) -> Option<Span> {
    if bounds.start <= statement.span.start && statement.span.start <= bounds.end {
        return Some(statement.span);
    }
    match &statement.kind {
        StatementKind::Step(step) => in_step(step, bounds),
        StatementKind::If { arms, otherwise } => arms
            .iter()
            .map(|(_, block)| block)
            .chain(otherwise)
            .find_map(|block| in_block(block, bounds)),
        StatementKind::Listener { body, .. } | StatementKind::Parallel(body) => {
            in_block(body, bounds)
        }
        StatementKind::Policy(_)
        | StatementKind::Allow(_)
        | StatementKind::Let { .. }
        | StatementKind::Task { .. }
        | StatementKind::Set { .. }
        | StatementKind::Ensure { .. }
        | StatementKind::Fail { .. }
        | StatementKind::Reply(_)
        | StatementKind::Yield(_)
        | StatementKind::Next(_)
        | StatementKind::Error => None,
    }
}

fn in_step(step: &Step, bounds: Span) -> Option<Span> {
    let within = match &step.body {
        StepBody::Do(body) | StepBody::Each { body, .. } | StepBody::Repeat { body, .. } => {
            in_block(body, bounds)
        }
        StepBody::Race(arms) => arms.iter().find_map(|(_, body)| in_arm(body, bounds)),
        StepBody::Match { arms, .. } => arms.iter().find_map(|arm| in_arm(&arm.body, bounds)),
        StepBody::Call(_)
        | StepBody::Ask { .. }
        | StepBody::Infer { .. }
        | StepBody::Input { .. }
        | StepBody::Wait(_)
        | StepBody::Error => None,
    };
    within.or_else(|| {
        step.clauses.iter().find_map(|clause| match &clause.kind {
            ClauseKind::Recover { body, .. } => in_arm(body, bounds),
            ClauseKind::Undo(Undo::Do(body)) => in_block(body, bounds),
            ClauseKind::When(_)
            | ClauseKind::After(_)
            | ClauseKind::Confirm { .. }
            | ClauseKind::Timeout(_)
            | ClauseKind::By(_)
            | ClauseKind::Within(_)
            | ClauseKind::Expires(_)
            | ClauseKind::Retry(_)
            | ClauseKind::Until { .. }
            | ClauseKind::Cache(_)
            | ClauseKind::Verify { .. }
            | ClauseKind::Undo(Undo::Call(_))
            | ClauseKind::Error => None,
        })
    })
}

fn in_arm(body: &ArmBody, bounds: Span) -> Option<Span> {
    match body {
        ArmBody::Do(block) => in_block(block, bounds),
        ArmBody::Expr(_) | ArmBody::Ask { .. } | ArmBody::Infer { .. } | ArmBody::Fail { .. } => {
            None
        }
    }
}
