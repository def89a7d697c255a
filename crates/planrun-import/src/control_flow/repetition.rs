//! Converts cycles with a single exit to `repeat` steps.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{Expr, Statement, StatementKind, StepBody};

use super::graph::GraphNode;
use super::{Continuation, Continued, Flow, Region, Stop, Walk};
use crate::draft::excerpt;
use crate::expression::quote::plan;
use crate::expression::value::Value;
use crate::tree;

/// The most rounds of a loop; every loop of a plan has a bound.
const MAX_ROUNDS: i64 = 1000;
/// The field for the data in the state of a loop, next to those for variables.
pub const DATA: &str = "data";

/// Writes the loop that starts at a node.
pub fn repeat<'d, 't, W: Walk<'d, 't> + ?Sized>(
    walk: &mut W,
    scope: &W::Scope,
    head: &GraphNode<'d>,
    cycle: &BTreeSet<&'d str>,
    flow: &Flow,
    out: &mut Vec<Statement>,
) -> Continued<'d> {
    let graph = W::graph(scope);
    let what = format!(
        "the loop that begins at {} `{}`",
        W::NODE_WORD,
        excerpt(head.name)
    );
    let exit = match graph.exit(cycle) {
        Ok(exit) => exit,
        Err(why) => {
            let hole = walk.draft().hole(head.span, what, why);
            out.push(tree::fail("tool.not_carried", hole));
            return Ok(Continuation::Finished(None));
        }
    };
    let variables = graph.sets(cycle);
    let start = walk.draft().name(&format!("{}_start", head.name));
    out.push(bind_any(&start, pack_state(flow, &variables)));
    let round = walk.draft().name("round");
    let rounds = walk.draft().name(&format!("{}_rounds", head.name));
    let mut region = Region::block();
    region
        .stops
        .insert(head.name, Stop::Continue(variables.clone()));
    region.stops.insert(exit, Stop::Break(variables.clone()));
    let mut body = Vec::new();
    let within = unpack_state(flow, &variables, &tree::variable(&round));
    walk.written().depth += 1;
    let reached = walk.walk_from(scope, head.name, within, &region, &mut body)?;
    walk.written().depth -= 1;
    if let Some((at, after)) = reached {
        finish(region.stops.get(at), &after, &mut body);
    }
    let body = repeat_with(&round, tree::variable(&start), MAX_ROUNDS, body);
    out.push(tree::step(&rounds, body, Vec::new()));
    let last = last_element(&tree::variable(&rounds));
    let why =
        format!("is a `repeat` of at most {MAX_ROUNDS} rounds: every loop of a plan has a bound");
    walk.draft().changed(head.span, what, why);
    Ok(Continuation::Next(
        exit,
        unpack_state(flow, &variables, &last),
    ))
}

/// Returns a `let` of type `any`: the state of a later round may have another type than the initial one.
pub fn bind_any(name: &str, value: Expr) -> Statement {
    tree::statement(StatementKind::Let {
        name: tree::name(name),
        ty: Some(Box::new(tree::type_named("any"))),
        value,
    })
}

/// Returns a `repeat` whose state has the name `round`.
pub fn repeat_with(round: &str, initial: Expr, max: i64, body: Vec<Statement>) -> StepBody {
    StepBody::Repeat {
        state: tree::name(round),
        initial: Box::new(initial),
        max: Some(Box::new(tree::int(max))),
        body: tree::block(body),
    }
}

/// Returns the last element of a list that is not empty.
pub fn last_element(list: &Expr) -> Expr {
    plan!("list[size(list) - 1]", list)
}

/// Ends a round, with the state of the next round or the output of the loop.
pub fn finish(stop: Option<&Stop>, flow: &Flow, out: &mut Vec<Statement>) {
    match stop {
        Some(Stop::Continue(variables)) => out.push(tree::next(pack_state(flow, variables))),
        Some(Stop::Break(variables)) => {
            out.push(tree::yields(pack_state(flow, variables)));
            out.push(tree::next(tree::null()));
        }
        // Branches that join were already given common names.
        Some(Stop::Join) | None => {}
    }
}

/// Packs the data, if there is any, and some variables into one value.
pub fn pack_state(flow: &Flow, variables: &[String]) -> Expr {
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

/// Unpacks the data and some variables from a value.
pub fn unpack_state(flow: &Flow, variables: &[String], place: &Expr) -> Flow {
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

/// A variable may have the name of the data field.
fn field_of(variable: &str) -> String {
    if variable == DATA {
        format!("{variable}_")
    } else {
        variable.to_owned()
    }
}
