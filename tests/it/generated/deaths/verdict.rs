//! What must hold of a run that has died, on its own and beside one that nobody disturbed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;

use planrun_lang::protocol::RunState;
use planrun_lang::sema::{Plan, StepKind};
use serde_json::Value as Json;

use super::life::Lived;

/// How much was held against what.
#[derive(Default)]
pub struct Tally {
    runs: u64,
    /// Runs in which everything had to be the same.
    whole: u64,
    completed: u64,
    doubts: u64,
    undone: u64,
    retried: u64,
    answers: u64,
    verified: u64,
}

impl Tally {
    /// Whether so many runs were worth it.
    pub fn is_telling(&self, runs: u64) -> bool {
        let seen = [
            self.doubts,
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
            doubts,
            undone,
            retried,
            answers,
            verified,
        } = self;
        write!(
            f,
            "{runs} runs that died, {completed} completed, {whole} the same in everything; with calls in doubt {doubts}, \
             with something taken back {undone}, looked at {verified}, done again {retried}, answered by people {answers}"
        )
    }
}

pub fn fault(plan: &Plan, before: &Lived, after: &Lived, tally: &Mutex<Tally>) -> Option<String> {
    let has = |lived: &Lived, find: &dyn Fn(&Json) -> bool| lived.events.iter().any(find);
    let told = |name: &'static str| move |event: &Json| event["event"] == name;
    let ends = |end: &'static str| {
        move |event: &Json| {
            event["path"]
                .as_str()
                .is_some_and(|path| path.ends_with(end))
        }
    };
    let doubt = |lived: &Lived| {
        has(lived, &|event| {
            matches!(event["for"].as_str(), Some("outcome" | "answer"))
        }) || has(lived, &|event| {
            event.to_string().contains("unknown_outcome")
        })
    };
    let retried = has(before, &told("step.retried")) || has(after, &told("step.retried"));
    let open = doubt(before) || doubt(after) || retried || has_race(plan);
    let whole = !open && before.state == RunState::Completed;
    {
        let mut tally = tally.lock().unwrap();
        tally.runs += 1;
        tally.whole += u64::from(whole);
        tally.completed += u64::from(after.state == RunState::Completed);
        tally.doubts += u64::from(doubt(after));
        tally.undone += u64::from(has(after, &ends(".undo")));
        tally.verified += u64::from(has(after, &ends(".verify")));
        tally.retried += u64::from(retried);
        tally.answers += u64::from(has(after, &told("answer.given")));
    }
    for lived in [before, after] {
        let fault = journal_fault(lived)
            .or_else(|| look_fault(lived))
            .or_else(|| call_fault(lived));
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

/// Nothing was in doubt: the run came to the same.
fn whole_fault(before: &Lived, after: &Lived) -> Option<String> {
    // What was lost counts, so a budget may be spent by it.
    if after
        .class
        .as_ref()
        .is_some_and(|class| class.starts_with("budget"))
    {
        return None;
    }
    let cut = |lived: &Lived| {
        lived
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

/// Who only looks at the journal sees what the last process saw.
fn look_fault(lived: &Lived) -> Option<String> {
    let (state, reply, steps, tasks) = &lived.looked;
    if lived.waits.is_none() {
        let ended = differs(&lived.state, state, "state of who looks")
            .or_else(|| differs(&lived.reply, reply, "reply of who looks"));
        if ended.is_some() {
            return ended;
        }
    }
    let mut pairs = lived.steps.iter().zip(steps);
    let step = pairs.find(|(one, other)| one != other);
    step.map(|(one, other)| format!("who looks sees {other}, and it was {one}"))
        .or_else(|| {
            differs(
                &lived.steps.len(),
                &steps.len(),
                "number of steps of who looks",
            )
        })
        .or_else(|| differs(&lived.tasks, tasks, "tasks of who looks"))
}

/// The journal on its own: numbers without gaps, one key for an execution, one end for each generation.
fn journal_fault(lived: &Lived) -> Option<String> {
    let mut keys: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
    let mut ended: BTreeSet<String> = BTreeSet::new();
    for (index, event) in lived.events.iter().enumerate() {
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
    lived
        .events
        .iter()
        .find(|event| {
            event["path"]
                .as_str()
                .is_some_and(|path| path.contains(".undo["))
        })
        .map(|event| format!("what was taken back is taken back again: {event}"))
}

/// What the world saw is in the journal.
fn call_fault(lived: &Lived) -> Option<String> {
    let keys: BTreeSet<&str> = lived
        .events
        .iter()
        .filter_map(|event| event["key"].as_str())
        .collect();
    let unknown = lived
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

/// A value without how often what failed in it was tried: that hangs on when a process died.
fn without_attempts(value: &Json) -> Json {
    match value {
        // An error may have been written into a text as JSON.
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

/// Whether somewhere the first answer wins.
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
