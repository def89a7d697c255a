//! Ways that lead back: a plain loop is a `repeat`.

use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{BinaryOp, Expr, Statement, StatementKind, StepBody};

use super::flow::{End, Flow, Going, Region, Stop, Translator};
use super::machine::{Machine, State};
use super::value::Value;
use crate::document::Refused;
use crate::tree;

/// The most rounds of a loop, since every loop of a plan has a bound.
const MAX_ROUNDS: i64 = 1000;
/// What a round hands on beside the variables.
const DATA: &str = "data";

impl Translator<'_, '_> {
    /// The loop that begins at a state.
    pub fn repeat<'d>(
        &mut self,
        machine: &Machine<'d>,
        head: &State<'d>,
        cycle: &BTreeSet<&'d str>,
        flow: &Flow,
        out: &mut Vec<Statement>,
    ) -> Result<Going<'d>, Refused> {
        let exit = match exit(machine, cycle) {
            Ok(exit) => exit,
            Err(why) => {
                let what = format!("the loop that begins at state `{}`", head.name);
                let hole = self.draft.hole(head.entry.span, what, why);
                out.push(tree::fail("tool.not_carried", hole));
                return Ok(Going::Over(None));
            }
        };
        let variables = assigned(machine, cycle);
        let start = self.draft.name(&format!("{}_start", head.name));
        out.push(tree::statement(StatementKind::Let {
            name: tree::name(&start),
            // What a round hands on may be of another type than what the first one begins with.
            ty: Some(Box::new(tree::type_named("any"))),
            value: handed_on(flow, &variables),
        }));
        let round = self.draft.name("round");
        let rounds = self.draft.name(&format!("{}_rounds", head.name));
        let mut region = Region::whole(End::Yield);
        region
            .stops
            .insert(head.name, Stop::Again(variables.clone()));
        region.stops.insert(exit, Stop::Out(variables.clone()));
        let mut body = Vec::new();
        let within = taken_up(flow, &variables, &tree::variable(&round));
        let reached = self.walk_from(machine, head.name, within, &region, &mut body)?;
        if let Some((at, after)) = reached {
            finish(region.stops.get(at), &after, &mut body);
        }
        let repeat = StepBody::Repeat {
            state: tree::name(&round),
            initial: Box::new(tree::variable(&start)),
            max: Some(Box::new(tree::int(MAX_ROUNDS))),
            body: tree::block(body),
        };
        out.push(tree::step(&rounds, repeat, Vec::new()));
        let what = format!("the loop that begins at state `{}`", head.name);
        let why = format!(
            "is a `repeat` of at most {MAX_ROUNDS} rounds: every loop of a plan has a bound"
        );
        self.draft.changed(head.entry.span, what, why);
        let size = tree::function("size", vec![tree::variable(&rounds)]);
        let last = tree::binary(size, BinaryOp::Subtract, tree::int(1));
        let last = tree::index(tree::variable(&rounds), last);
        Ok(Going::On(exit, taken_up(flow, &variables, &last)))
    }
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

fn handed_on(flow: &Flow, variables: &[String]) -> Expr {
    let mut fields = vec![(DATA.to_owned(), flow.value.expr())];
    fields.extend(variables.iter().map(|name| {
        let value = flow
            .variables
            .get(name)
            .map_or_else(tree::null, Value::expr);
        (field_of(name), value)
    }));
    tree::object(fields)
}

fn taken_up(flow: &Flow, variables: &[String], place: &Expr) -> Flow {
    let mut flow = flow.clone();
    flow.value = Value::Opaque(tree::field(place.clone(), DATA));
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

/// The one state to which a loop is left.
fn exit<'d>(machine: &Machine<'d>, cycle: &BTreeSet<&'d str>) -> Result<&'d str, String> {
    let mut exits = BTreeSet::new();
    for state in cycle.iter().filter_map(|name| machine.states.get(name)) {
        let ends = state.targets().is_empty()
            || (state.get("End").is_some() && state.get("Next").is_none());
        if ends && state.kind != "Choice" {
            return Err(format!(
                "it ends the machine in its middle, at `{}`",
                super::short(state.name)
            ));
        }
        let outside = state
            .targets()
            .into_iter()
            .filter(|target| !cycle.contains(target));
        let fails = |target: &&str| {
            machine
                .states
                .get(*target)
                .is_some_and(|state| state.kind == "Fail")
        };
        exits.extend(outside.filter(|target| !fails(target)));
    }
    let mut found = exits.iter();
    match (found.next(), found.next()) {
        (Some(exit), None) => Ok(exit),
        (None, _) => Err("nothing leads out of it but failures".to_owned()),
        (Some(one), Some(other)) => Err(format!(
            "it is left to several states, such as `{}` and `{}`, and a `repeat` goes on at one place",
            super::short(one),
            super::short(other)
        )),
    }
}

/// The variables that a loop sets.
fn assigned(machine: &Machine<'_>, cycle: &BTreeSet<&str>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for state in cycle.iter().filter_map(|name| machine.states.get(name)) {
        let listed = |field: &str| state.items(field).iter();
        let places = listed("Choices")
            .chain(listed("Catch"))
            .chain([&state.entry.value]);
        for place in places.filter_map(|place| place.get("Assign")?.entries()) {
            names.extend(
                place
                    .iter()
                    .map(|entry| entry.name.trim_end_matches(".$").to_owned()),
            );
        }
    }
    names.into_iter().collect()
}
