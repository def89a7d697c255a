//! Adds waits for events from outside to a generated plan: signals, and moves of external tasks.

use std::sync::Arc;

use planrun_core::run::Program;

use super::plan_body::Body;
use crate::generate::{Dice, Project};
use crate::generated::project_context::ProjectContext;

/// Statements that react to something from outside, each with the lines that it needs at the head of the plan.
const REACTIONS: [(&str, &str); 6] = [
    ("", "step heard = wait for signal \"go\" -> int"),
    ("", "step heard = wait for signal \"go\" -> int within 1h"),
    (
        "task outer \"Done elsewhere\" statuses [open, done] { n: int } external",
        "step moved = wait for outer is done within 2d recover expired => null",
    ),
    (
        "task outer \"Done elsewhere\" statuses [open, done] { n: int } external",
        "step moved = wait for outer is done || signal \"go\"",
    ),
    (
        "task outer \"Done elsewhere\" statuses [open, done] { n: int } external",
        "listener moves on outer as now max 3 { let seen = now.n }",
    ),
    (
        "",
        "listener calls on signal \"go\" -> int as count max 3 { step told = sys.echo(value: count) }",
    ),
];

/// Adds some of them, as far as the plan then still passes the check.
pub fn with_events(
    made: &Project,
    program: &Arc<Program>,
    dice: &mut Dice,
) -> (Project, Arc<Program>) {
    let mut best = (made.clone(), program.clone());
    for _ in 0..2 {
        let (head, statement) = *dice.pick(&REACTIONS);
        let plan = &program.plan.name;
        let added = added(best.0.main(), plan, (head, statement), dice);
        let Some(text) = added else { continue };
        let mut project = best.0.clone();
        project.plans[0].1 = text;
        let checked = ProjectContext::of(&project).check(&project);
        let mut diagnostics = checked.diagnostics.iter();
        if diagnostics.any(planrun_lang::diag::Diagnostic::is_error) {
            continue;
        }
        let mut plans = checked.plans.into_iter();
        if let Some(plan) = plans.find(|plan| plan.name == program.plan.name) {
            best = (project, Arc::new(Program::new(plan)));
        }
    }
    best
}

fn added(
    text: &str,
    plan: &str,
    (head, statement): (&str, &str),
    dice: &mut Dice,
) -> Option<String> {
    let needs_use = statement.contains("sys.") && !text.contains("sys");
    let text = if needs_use {
        format!("use sys\n{text}")
    } else {
        text.to_owned()
    };
    let mut body = Body::of(&text, plan)?;
    let place = body.any_statement(dice)?;
    body.insert(place, statement);
    if !head.is_empty() && !text.contains(head) {
        let first = body
            .lines
            .iter()
            .position(|line| line.starts_with("    step ") || line.starts_with("    task "))?;
        body.insert(first, head);
    }
    Some(body.text())
}
