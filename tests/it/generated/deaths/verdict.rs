//! Invariants of a run that has died, alone and compared with an undisturbed run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;

use planrun_lang::protocol::RunState;
use planrun_lang::sema::{Plan, StepKind};
use serde_json::Value as Json;

use super::scenario::ScenarioResult;

/// Totals of the comparisons.
#[derive(Default)]
pub struct Tally {
    runs: u64,
    /// Runs in which everything had to be the same.
    whole: u64,
    completed: u64,
    unknown_outcomes: u64,
    undone: u64,
    retried: u64,
    answers: u64,
    verified: u64,
}

impl Tally {
    /// Returns true if this number of runs covered enough.
    pub fn is_telling(&self, runs: u64) -> bool {
        let seen = [
            self.unknown_outcomes,
            self.undone,
            self.retried,
            self.answers,
            self.verified,
        ];
        self.whole > runs / 10
            && self.completed > runs / 4
            && seen.iter().all(|seen| *seen > runs / 200)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            runs,
            whole,
            completed,
            unknown_outcomes,
            undone,
            retried,
            answers,
            verified,
        } = self;
        write!(
            f,
            "{runs} runs that died, {completed} completed, {whole} the same in everything; with calls in doubt {unknown_outcomes}, \
             with something taken back {undone}, looked at {verified}, done again {retried}, answered by people {answers}"
        )
    }
}

pub fn fault(
    plan: &Plan,
    before: &ScenarioResult,
    after: &ScenarioResult,
    tally: &Mutex<Tally>,
) -> Option<String> {
    let has =
        |result: &ScenarioResult, find: &dyn Fn(&Json) -> bool| result.events.iter().any(find);
    let is_event = |name: &'static str| move |event: &Json| event["event"] == name;
    let ends = |end: &'static str| {
        move |event: &Json| {
            event["path"]
                .as_str()
                .is_some_and(|path| path.ends_with(end))
        }
    };
    let has_unknown_outcome = |result: &ScenarioResult| {
        has(result, &|event| {
            matches!(event["for"].as_str(), Some("outcome" | "answer"))
        }) || has(result, &|event| {
            event.to_string().contains("unknown_outcome")
        })
    };
    let retried = has(before, &is_event("step.retried")) || has(after, &is_event("step.retried"));
    let open =
        has_unknown_outcome(before) || has_unknown_outcome(after) || retried || has_race(plan);
    let whole = !open && before.state == RunState::Completed;
    {
        let mut tally = tally.lock().unwrap();
        tally.runs += 1;
        tally.whole += u64::from(whole);
        tally.completed += u64::from(after.state == RunState::Completed);
        tally.unknown_outcomes += u64::from(has_unknown_outcome(after));
        tally.undone += u64::from(has(after, &ends(".undo")));
        tally.verified += u64::from(has(after, &ends(".verify")));
        tally.retried += u64::from(retried);
        tally.answers += u64::from(has(after, &is_event("answer.given")));
    }
    for result in [before, after] {
        let fault = journal_fault(result)
            .or_else(|| replay_fault(result))
            .or_else(|| call_fault(result));
        if fault.is_some() {
            return fault;
        }
    }
    if whole {
        whole_fault(before, after)
    } else {
        None
    }
}

/// Compares runs without unknown outcomes: everything is the same.
fn whole_fault(before: &ScenarioResult, after: &ScenarioResult) -> Option<String> {
    // Lost calls count too, so they can exhaust a budget.
    if after
        .class
        .as_ref()
        .is_some_and(|class| class.starts_with("budget"))
    {
        return None;
    }
    let cut = |result: &ScenarioResult| {
        result
            .steps
            .iter()
            .any(|step| step["status"] == "cancelled" || step["reason"] == "replied")
    };
    let steps = || {
        let mut pairs = before.steps.iter().zip(&after.steps);
        let same = |one: &Json, other: &Json| {
            let keys = [
                "path",
                "status",
                "reason",
                "tool",
                "arguments",
                "output",
                "error",
                "recovered",
                "attributes",
            ];
            keys.iter()
                .all(|key| without_attempts(&one[key]) == without_attempts(&other[key]))
        };
        let differs = pairs.find(|(one, other)| !same(one, other));
        differs.map(|(one, other)| format!("a step was {one} and is {other}"))
    };
    differs(&before.state, &after.state, "state")
        .or_else(|| differs(&before.reply, &after.reply, "reply"))
        .or_else(|| {
            if cut(before) || cut(after) {
                None
            } else {
                steps()
            }
        })
        .or_else(|| differs(&before.tasks, &after.tasks, "tasks"))
}

/// Checks that a process that only replays the journal sees the same as the last process.
fn replay_fault(result: &ScenarioResult) -> Option<String> {
    let (state, reply, steps, tasks) = &result.replayed;
    if result.waits.is_none() {
        let ended = differs(&result.state, state, "state of who looks")
            .or_else(|| differs(&result.reply, reply, "reply of who looks"));
        if ended.is_some() {
            return ended;
        }
    }
    let mut pairs = result.steps.iter().zip(steps);
    let step = pairs.find(|(one, other)| one != other);
    step.map(|(one, other)| format!("who looks sees {other}, and it was {one}"))
        .or_else(|| {
            differs(
                &result.steps.len(),
                &steps.len(),
                "number of steps of who looks",
            )
        })
        .or_else(|| differs(&result.tasks, tasks, "tasks of who looks"))
}

/// Checks the journal alone: event numbers without gaps, one idempotency key per execution, one end per generation.
fn journal_fault(result: &ScenarioResult) -> Option<String> {
    let mut keys: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
    let mut ended: BTreeSet<String> = BTreeSet::new();
    for (index, event) in result.events.iter().enumerate() {
        if event["number"] != index as u64 + 1 {
            return Some(format!(
                "event {} has the number {}",
                index + 1,
                event["number"]
            ));
        }
        let path = event["path"].as_str().unwrap_or_default().to_owned();
        match event["event"].as_str().unwrap_or_default() {
            "step.running" if ended.contains(&path) => {
                return Some(format!("`{path}` has ended, and begins again: {event}"));
            }
            "step.running" => {
                if let Some(key) = event["key"].as_str() {
                    let execution = event["execution"].as_u64().unwrap_or(0);
                    keys.entry((path, execution))
                        .or_default()
                        .insert(key.to_owned());
                }
            }
            "step.settled" if !ended.insert(path.clone()) => {
                return Some(format!("`{path}` ends twice: {event}"));
            }
            "step.retried" => {
                let inner = |other: &String| {
                    other
                        .strip_prefix(path.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                ended.retain(|other| !inner(other));
            }
            _ => {}
        }
        if event.to_string().contains("\"class\":\"internal\"") {
            return Some(format!("a fault of the engine: {event}"));
        }
    }
    if let Some((execution, keys)) = keys.iter().find(|(_, keys)| keys.len() > 1) {
        return Some(format!(
            "{execution:?} goes out under several keys: {keys:?}"
        ));
    }
    result
        .events
        .iter()
        .find(|event| {
            event["path"]
                .as_str()
                .is_some_and(|path| path.contains(".undo["))
        })
        .map(|event| format!("what was taken back is taken back again: {event}"))
}

/// Checks that every call of an effect is in the journal.
fn call_fault(result: &ScenarioResult) -> Option<String> {
    let keys: BTreeSet<&str> = result
        .events
        .iter()
        .filter_map(|event| event["key"].as_str())
        .collect();
    let unknown = result
        .calls
        .iter()
        .find(|call| call.effect && !keys.contains(call.key.as_str()));
    unknown.map(|call| {
        format!(
            "`{}` went out with the key {}, and the journal does not know it",
            call.tool, call.key
        )
    })
}

/// Removes the number of attempts from errors, because it depends on when a process died.
fn without_attempts(value: &Json) -> Json {
    match value {
        // An error may be a JSON text inside a string.
        Json::String(text) => match serde_json::from_str::<Json>(text) {
            Ok(inner) if inner.is_array() || inner.is_object() => {
                Json::String(without_attempts(&inner).to_string())
            }
            Ok(_) | Err(_) => value.clone(),
        },
        Json::Array(items) => items.iter().map(without_attempts).collect(),
        Json::Object(fields) => {
            let is_error = fields.contains_key("class") && fields.contains_key("retryable");
            let kept = fields
                .iter()
                .filter(|(name, _)| !(is_error && *name == "attempt"));
            kept.map(|(name, value)| (name.clone(), without_attempts(value)))
                .collect()
        }
        other => other.clone(),
    }
}

fn differs<T: PartialEq + fmt::Debug>(before: &T, after: &T, what: &str) -> Option<String> {
    (before != after).then(|| format!("the {what} was {before:?} and is {after:?}"))
}

/// Returns true if a plan has a race.
pub fn has_race(plan: &Plan) -> bool {
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
