//! Bounds are never exceeded: no run of a generated plan executes a tool more often than its bound, or with other
//! arguments than the constants that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use planrun_core::journal::{Dispatch, EventKind};
use planrun_lang::bounds::{Bounds, BoundsContext, Role, Use, bounds};
use planrun_lang::origin::Source;
use planrun_lang::sema::{Budget, Plan, Policy};
use rayon::prelude::*;

use super::harness::{FailureRate, observe};
use super::project_context::{ProjectContext, seeds};
use crate::generate::{Size, project};

/// Number of plans that are tried in CI.
const PLANS: u64 = 4000;

/// Executions of a tool in a role, each as its path and its number.
#[derive(Default)]
pub struct Executed(BTreeMap<(String, Role), BTreeSet<(String, u32)>>);

impl Executed {
    pub fn note(&mut self, tool: &str, path: &str, execution: u32) {
        let executions = self.0.entry((tool.to_owned(), role(path))).or_default();
        executions.insert((path.to_owned(), execution));
    }

    /// Returns the first tool that was executed more often than these bounds allow.
    pub fn beyond(&self, bounds: &Bounds) -> Option<String> {
        self.0.iter().find_map(|((tool, role), executions)| {
            let count = executions.len() as u64;
            let most = most(bounds, tool, *role);
            let over = most.is_some_and(|most| count > most);
            over.then(|| {
                format!("{tool} {role:?}: {count} executions, {most:?} at most: {executions:?}")
            })
        })
    }
}

/// Returns the first argument of a call that is none of the constants which are its only sources.
fn other_than_its_constants(
    bounds: &Bounds,
    tool: &str,
    path: &str,
    call: &Dispatch,
) -> Option<String> {
    let role = role(path);
    let own = |used: &&Use| &*used.tool == tool && used.role == role && used.effect == call.effect;
    let arguments = bounds
        .uses
        .iter()
        .filter(own)
        .flat_map(|used| &used.arguments);
    let known = arguments.filter(|argument| !argument.computed && !argument.more);
    known.into_iter().find_map(|argument| {
        let value = call.arguments.get(&argument.name)?.to_json();
        let constants = argument.from.iter().map(|source| match source {
            Source::Constant(constant) => Some(constant),
            _ => None,
        });
        let constants: Vec<_> = constants.collect::<Option<_>>()?;
        (!constants.contains(&&value)).then(|| {
            let name = &argument.name;
            format!(
                "`{path}` passes {value} for `{name}` of {tool}, and only {constants:?} were known"
            )
        })
    })
}

/// Returns the bound of a tool in a role, with all effect classes together.
fn most(bounds: &Bounds, tool: &str, role: Role) -> Option<u64> {
    let uses = bounds.uses.iter();
    let own = uses.filter(|used| &*used.tool == tool && used.role == role);
    own.map(|used| used.max).sum()
}

/// Returns the role of a call at this path. `verify` and `undo` take precedence over the steps inside them.
fn role(path: &str) -> Role {
    let names = path
        .split('.')
        .map(|name| name.split('[').next().unwrap_or(name));
    let aside = names.clone().find_map(|name| match name {
        "undo" => Some(Role::Undo),
        "verify" => Some(Role::Verify),
        _ => None,
    });
    let recovers = names.into_iter().any(|name| name == "recover");
    aside.unwrap_or(if recovers {
        Role::Recover
    } else {
        Role::Forward
    })
}

/// Returns the bounds of a plan without project settings.
pub fn of(plan: &Plan) -> Bounds {
    let around = BoundsContext {
        policy: &Policy::default(),
        limits: &Budget::default(),
        retry: &|_| None,
        statements: None,
    };
    bounds(plan, &around)
}

/// Totals of all runs.
#[derive(Default, Debug)]
struct Tally {
    runs: u64,
    executions: u64,
    /// Executions in a role other than `Forward`.
    other_roles: u64,
    /// Bounds of more than one that were reached.
    reached: u64,
}

#[test]
fn no_tool_is_executed_more_often_than_its_bound_says() {
    let (base, count) = seeds(PLANS);
    let tally = Mutex::new(Tally::default());
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| try_seed(seed, &tally).err())
        .collect();
    let tally = tally.into_inner().unwrap();
    println!("{count} plans from seed {base}: {tally:?}");
    for fault in wrong.iter().take(3) {
        println!("{fault}");
    }
    assert!(wrong.is_empty(), "{} of {count} plans", wrong.len());
    if count >= 400 {
        // Makes sure that the test covers enough.
        assert!(
            tally.executions > count * 4
                && tally.other_roles > count / 10
                && tally.reached > count / 20,
            "too little ran"
        );
    }
}

fn try_seed(seed: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let size = Size {
        whole_language: seed.is_multiple_of(3),
        ..if seed.is_multiple_of(2) {
            Size::SMALL
        } else {
            Size::USUAL
        }
    };
    let made = project(seed, size);
    let checked = ProjectContext::of(&made).check(&made);
    let plan: &Arc<Plan> = checked.plans.last().unwrap();
    let bounds = of(plan);
    for failure_rate in [FailureRate::Never, FailureRate::Often] {
        let (mut executed, mut other) = (Executed::default(), None);
        observe(plan, &made, failure_rate, seed, |event| {
            if let EventKind::StepRunning {
                path,
                tool,
                call: Some(call),
                ..
            } = &event.kind
            {
                executed.note(tool, path, call.execution);
                other = other
                    .take()
                    .or_else(|| other_than_its_constants(&bounds, tool, path, call));
            }
        });
        if let Some(fault) = executed.beyond(&bounds).or(other) {
            return Err(format!(
                "seed {seed}, {failure_rate:?}: {fault}\n{}",
                made.main()
            ));
        }
        let mut tally = tally.lock().unwrap();
        tally.runs += 1;
        for ((tool, role), executions) in &executed.0 {
            let count = executions.len() as u64;
            tally.executions += count;
            tally.other_roles += if *role == Role::Forward { 0 } else { count };
            let reached = count > 1 && most(&bounds, tool, *role) == Some(count);
            tally.reached += u64::from(reached);
        }
    }
    Ok(())
}
