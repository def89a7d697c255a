//! Ways that lead back: a plain loop is a `repeat`.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{BinaryOp, Expr, Statement, StatementKind, StepBody};

use super::graph::Place;
use super::{Flow, Going, Region, Stop, Walk};
use crate::document::Refused;
use crate::draft::excerpt;
use crate::expression::value::Value;
use crate::tree;

/// The most rounds of a loop, since every loop of a plan has a bound.
const MAX_ROUNDS: i64 = 1000;
/// What a round hands on beside the variables.
pub const DATA: &str = "data";

/// The loop that begins at a place.
///
/// # Errors
/// Where a part of the document is none.
pub fn repeat<'d, 't, W: Walk<'d, 't> + ?Sized>(
    walk: &mut W,
    scope: &W::Scope,
    head: &Place<'d>,
    cycle: &BTreeSet<&'d str>,
    flow: &Flow,
    out: &mut Vec<Statement>,
) -> Result<Going<'d>, Refused> {
    let graph = W::graph(scope);
    let what = format!(
        "the loop that begins at {} `{}`",
        W::PLACE,
        excerpt(head.name)
    );
    let exit = match graph.exit(cycle) {
        Ok(exit) => exit,
        Err(why) => {
            let hole = walk.draft().hole(head.span, what, why);
            out.push(tree::fail("tool.not_carried", hole));
            return Ok(Going::Over(None));
        }
    };
    let variables = graph.sets(cycle);
    let start = walk.draft().name(&format!("{}_start", head.name));
    out.push(any(&start, handed_on(flow, &variables)));
    let round = walk.draft().name("round");
    let rounds = walk.draft().name(&format!("{}_rounds", head.name));
    let mut region = Region::block();
    region
        .stops
        .insert(head.name, Stop::Again(variables.clone()));
    region.stops.insert(exit, Stop::Out(variables.clone()));
    let mut body = Vec::new();
    let within = taken_up(flow, &variables, &tree::variable(&round));
    let reached = walk.walk_from(scope, head.name, within, &region, &mut body)?;
    if let Some((at, after)) = reached {
        finish(region.stops.get(at), &after, &mut body);
    }
    let body = rounds_of(&round, tree::variable(&start), MAX_ROUNDS, body);
    out.push(tree::step(&rounds, body, Vec::new()));
    let last = last_of(tree::variable(&rounds));
    let why =
        format!("is a `repeat` of at most {MAX_ROUNDS} rounds: every loop of a plan has a bound");
    walk.draft().changed(head.span, what, why);
    Ok(Going::On(exit, taken_up(flow, &variables, &last)))
}

/// A `let` of any type: what a round hands on may be of another type than what the first one begins with.
pub fn any(name: &str, value: Expr) -> Statement {
    tree::statement(StatementKind::Let {
        name: tree::name(name),
        ty: Some(Box::new(tree::type_named("any"))),
        value,
    })
}

/// A `repeat`, whose state is called `round`.
pub fn rounds_of(round: &str, initial: Expr, max: i64, body: Vec<Statement>) -> StepBody {
    StepBody::Repeat {
        state: tree::name(round),
        initial: Box::new(initial),
        max: Some(Box::new(tree::int(max))),
        body: tree::block(body),
    }
}

/// The last element of a list that is not empty.
pub fn last_of(list: Expr) -> Expr {
    let size = tree::function("size", vec![list.clone()]);
    let end = tree::binary(size, BinaryOp::Subtract, tree::int(1));
    tree::index(list, end)
}

/// Ends a round: with what the next one begins with, or with what the loop gives.
pub fn finish(stop: Option<&Stop>, flow: &Flow, out: &mut Vec<Statement>) {
    match stop {
        Some(Stop::Again(variables)) => out.push(tree::next(handed_on(flow, variables))),
        Some(Stop::Out(variables)) => {
            out.push(tree::yields(handed_on(flow, variables)));
            out.push(tree::next(tree::null()));
        }
        // Branches that meet are given names where they part.
        Some(Stop::Join) | None => {}
    }
}

/// The data, where there is any, and some variables as one value.
pub fn handed_on(flow: &Flow, variables: &[String]) -> Expr {
    let mut fields = Vec::new();
    if flow.value != Value::Nothing {
        fields.push((DATA.to_owned(), flow.value.expr()));
    }
    fields.extend(variables.iter().map(|name| {
        let value = flow
            .variables
            .get(name)
            .map_or_else(tree::null, Value::expr);
        (field_of(name), value)
    }));
    tree::object(fields)
}

/// The data and some variables, read from where they were handed on to.
pub fn taken_up(flow: &Flow, variables: &[String], place: &Expr) -> Flow {
    let mut flow = flow.clone();
    if flow.value != Value::Nothing {
        flow.value = Value::Opaque(tree::field(place.clone(), DATA));
    }
    for name in variables {
        let value = tree::field(place.clone(), &field_of(name));
        flow.variables.insert(name.clone(), Value::Opaque(value));
    }
    flow
}

/// A variable may be called as the data is.
fn field_of(variable: &str) -> String {
    if variable == DATA {
        format!("{variable}_")
    } else {
        variable.to_owned()
    }
}
