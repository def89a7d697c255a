//! Compares runs in different orders: some properties must be the same, others may differ.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;

use planrun_core::run::Order;
use planrun_lang::sema::{Block, Plan, StepKind};

use super::play::{Call, Play, Played};

/// Totals of the comparisons.
#[derive(Default)]
pub struct Tally {
    runs: u64,
    /// Runs in which everything had to be the same.
    whole: u64,
    /// Runs whose calls began in another order than the source order.
    reordered: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} runs: {} the same in everything, the others as far as they may be; {} with their calls in another order",
            self.runs, self.whole, self.reordered
        )
    }
}

/// Runs a play in the source order, and in this number of other orders.
pub fn differs(play: &Play, orders: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let source = play.perform(Order::Source);
    for seed in 0..orders {
        let other = play.perform(Order::Seeded(seed));
        let whole = !(source.was_cut_short() || other.was_cut_short() || has_race(&play.plan));
        {
            let mut tally = tally.lock().unwrap();
            tally.runs += 1;
            tally.whole += u64::from(whole);
            tally.reordered += u64::from(source.calls != other.calls);
        }
        let fault = if whole {
            whole_fault(play, &source, &other)
        } else {
            partial_fault(play, &source, &other)
        };
        if let Some(fault) = fault {
            return Err(format!("order {seed} of {}\n  {fault}", play.name));
        }
    }
    Ok(())
}

/// Compares runs without undone steps: everything is the same, except the order of independent calls.
fn whole_fault(play: &Play, source: &Played, other: &Played) -> Option<String> {
    let steps = || {
        let differs =
            |(path, step): &(&String, &serde_json::Value)| other.steps.get(*path) != Some(*step);
        let first = source.steps.iter().find(differs);
        first.map(|(path, step)| format!("`{path}` was {step} and is {:?}", other.steps.get(path)))
    };
    fault(&source.state, &other.state, "state")
        .or_else(|| fault(&source.reply, &other.reply, "reply"))
        .or_else(steps)
        .or_else(|| fault(&source.steps.len(), &other.steps.len(), "number of steps"))
        .or_else(|| {
            fault(
                &source.set_of_calls(),
                &other.set_of_calls(),
                "set of calls",
            )
        })
        .or_else(|| fault(&source.reactions, &other.reactions, "tasks and listeners"))
        .or_else(|| order_fault(&play.plan, source, other))
}

/// Compares runs with undone steps, or with a race: the progress of other steps may differ. The state is the same, the
/// reply is the same unless a race decides it, effects keep their order, and calls in both runs have the same
/// idempotency key.
fn partial_fault(play: &Play, source: &Played, other: &Played) -> Option<String> {
    let raced = has_race(&play.plan);
    let reply = || fault(&source.reply, &other.reply, "reply").filter(|_| !raced);
    let known: BTreeMap<(&str, u32), &Call> = source
        .calls
        .iter()
        .map(|call| ((call.path.as_str(), call.attempt), call))
        .collect();
    let calls = || {
        let mut both = other
            .calls
            .iter()
            .filter_map(|call| Some((*known.get(&(&*call.path, call.attempt))?, call)));
        let same = |(before, call): &(&Call, &Call)| {
            (&before.tool, &before.key) == (&call.tool, &call.key)
        };
        both.find(|pair| !same(pair))
            .map(|(before, call)| format!("{before:?} became {call:?}"))
    };
    let is_internal = |played: &Played| played.class.as_deref() == Some("internal");
    let internal =
        (is_internal(other) && !is_internal(source)).then(|| format!("internal: {}", other.reply));
    internal
        .or_else(|| fault(&source.state, &other.state, "state").filter(|_| !raced))
        .or_else(reply)
        .or_else(calls)
        .or_else(|| order_fault(&play.plan, source, other))
}

/// Compares the order of effects on one system in both runs. The members of one `parallel` have no order.
fn order_fault(plan: &Plan, source: &Played, other: &Played) -> Option<String> {
    let (before, after) = (source.effects(), other.effects());
    before.iter().find_map(|(system, before)| {
        let after = after.get(system)?;
        let kept: Vec<_> = before.iter().filter(|path| after.contains(path)).collect();
        let now: Vec<_> = after.iter().filter(|path| before.contains(path)).collect();
        let place = |path: &str| now.iter().position(|other| **other == path);
        let pairs = kept
            .iter()
            .enumerate()
            .flat_map(|(index, one)| kept.iter().skip(index + 1).map(move |two| (one, two)));
        let mut turned = pairs.filter(|(one, two)| place(one) > place(two));
        let turned = turned.find(|(one, two)| !side_by_side(plan, one, two));
        turned.and_then(|_| fault(&kept, &now, "order of effects"))
    })
}

/// Returns true if two steps of a block are members of one `parallel`, and not of one `if` in it.
fn side_by_side(plan: &Plan, one: &str, other: &str) -> bool {
    let name = |path: &str| {
        path.rsplit_once('.')
            .map_or(path, |(_, name)| name)
            .to_owned()
    };
    let names = [name(one), name(other)];
    let together = |block: &Block| {
        let node = |name: &String| {
            block
                .nodes
                .iter()
                .position(|node| node.name.as_deref() == Some(name.as_str()))
        };
        let nodes = names
            .each_ref()
            .map(|name| node(name).map(|node| u32::try_from(node).unwrap()));
        let [Some(one), Some(other)] = nodes else {
            return false;
        };
        block.parallel_around(one).is_some_and(|around| {
            let in_order = around
                .sequences
                .iter()
                .any(|part| part.contains(&one) && part.contains(&other));
            around.nodes.contains(&other) && !in_order
        })
    };
    plan.blocks.iter().any(together) || plan.plans.iter().any(|plan| side_by_side(plan, one, other))
}

fn fault<T: PartialEq + fmt::Debug>(source: &T, other: &T, what: &str) -> Option<String> {
    (source != other).then(|| format!("the {what} was {source:?} and is {other:?}"))
}

/// Returns true if a plan has a race.
fn has_race(plan: &Plan) -> bool {
    let steps = plan
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter_map(|node| node.step());
    steps
        .into_iter()
        .any(|step| matches!(step.kind, StepKind::Race(_)))
        || plan.plans.iter().any(|plan| has_race(plan))
}
