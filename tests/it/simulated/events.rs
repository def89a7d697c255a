//! Adds waits for events from outside to a generated plan: signals, and moves of external tasks.

use std::sync::Arc;

use planrun_core::run::Program;

use super::checked;
use super::plan_body::Body;
use crate::generate::{Dice, Project};
use crate::generated::project_context::ProjectContext;

/// Statements that react to something from outside, each with the lines that it needs at the head of the plan.
const REACTIONS: [(&str, &str); 7] = [
    (
        "",
        "step counted = ask desk(\"How many?\") -> int\n    step named = ask desk(\"Who?\") -> string",
    ),
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

/// Adds one of them to the plan or to a plan that it calls, if it then still passes the check.
pub fn with_event(
    context: &ProjectContext,
    made: Project,
    program: Arc<Program>,
    dice: &mut Dice,
) -> (Project, Arc<Program>) {
    let plan = &program.plan.name;
    let plans = program.plan.with_called();
    let place = if dice.one_in(3) {
        &dice.pick(&plans).name
    } else {
        plan
    };
    let Some(text) = added(made.main(), place, *dice.pick(&REACTIONS), dice) else {
        return (made, program);
    };
    let mut edited = made.clone();
    edited.plans[0].1 = text;
    match checked(context, &edited, Some(plan)) {
        Some(program) => (edited, program),
        None => (made, program),
    }
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
