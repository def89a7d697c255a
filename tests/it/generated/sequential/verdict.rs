//! Compares a run with the meaning of its plan.

use std::collections::BTreeMap;

use planrun_lang::protocol::RunState;
use planrun_lang::value::Value;

use super::Ran;
use super::double::Seen;
use super::oracle::{Expected, Fault, Meaning};

/// Returns the first difference between the expected and the actual run.
pub fn fault(expected: &Meaning, ran: &Ran) -> Option<String> {
    calls(expected, ran).or_else(|| end(expected, ran))
}

fn calls(expected: &Meaning, ran: &Ran) -> Option<String> {
    let seen: BTreeMap<(&str, u32), &Seen> = ran
        .calls
        .iter()
        .map(|call| ((call.path.as_str(), call.attempt), call))
        .collect();
    let of = |call: &Expected| seen.get(&(call.path.as_str(), call.attempt)).copied();
    for call in &expected.calls {
        match of(call) {
            None if call.optional.is_some() => {}
            None => {
                return Some(format!(
                    "`{}` was not called (attempt {})",
                    call.path, call.attempt
                ));
            }
            Some(seen) if (&seen.tool, &seen.arguments) != (&call.tool, &call.arguments) => {
                return Some(format!("{seen:?} was to be {call:?}"));
            }
            Some(Seen { ends: None, .. }) => {
                return Some(format!("`{}` was not awaited", call.path));
            }
            Some(seen)
                if call.optional.is_none()
                    && seen
                        .ends
                        .is_some_and(|ends| ends.1 < seen.begins.1 + call.takes) =>
            {
                return Some(format!("`{}` did not wait", call.path));
            }
            Some(_) => {}
        }
    }
    let known: BTreeMap<(&str, u32), &Expected> = expected
        .calls
        .iter()
        .map(|call| ((call.path.as_str(), call.attempt), call))
        .collect();
    if let Some(surplus) = ran
        .calls
        .iter()
        .find(|call| !known.contains_key(&(call.path.as_str(), call.attempt)))
    {
        return Some(format!(
            "`{}` was called (attempt {})",
            surplus.path, surplus.attempt
        ));
    }
    if !expected.wide {
        return exact(expected, ran);
    }
    for (above, below) in &expected.before {
        let (above, below) = (&expected.calls[*above], &expected.calls[*below]);
        match (of(above).and_then(|call| call.ends), of(below)) {
            (_, None) => {}
            (Some(ended), Some(begun)) if ended.0 < begun.begins.0 => {}
            // A call that was skipped because its block ended does not delay a call that comes after both.
            (None, Some(_)) if above.optional.is_some() && above.optional != below.optional => {}
            (_, Some(_)) => {
                return Some(format!(
                    "`{}` begins before `{}` has ended",
                    below.path, above.path
                ));
            }
        }
    }
    None
}

/// Compares sequential calls one by one.
fn exact(expected: &Meaning, ran: &Ran) -> Option<String> {
    let mut last = 0;
    for (planned, seen) in expected.calls.iter().zip(&ran.calls) {
        if planned.path != seen.path {
            return Some(format!(
                "`{}` was called, and `{}` was to be",
                seen.path, planned.path
            ));
        }
        let ends = seen.ends.map_or(usize::MAX, |(mark, _)| mark);
        if (seen.begins.0, ends) != (last + 1, last + 2) {
            return Some(format!("`{}` runs beside something else", seen.path));
        }
        last = ends;
    }
    None
}

fn end(expected: &Meaning, ran: &Ran) -> Option<String> {
    let outcome = &ran.outcome;
    let state = if expected.error.is_some() {
        RunState::Failed
    } else {
        RunState::Completed
    };
    if outcome.state != state {
        return Some(format!(
            "the run is {} and was to be {state}",
            outcome.state
        ));
    }
    let class = |class: Option<String>| class.unwrap_or_default();
    let (was, planned) = (
        class(outcome.error.as_ref().map(|error| error.class.to_string())),
        class(expected.error.as_ref().map(|fault| fault.class.to_string())),
    );
    let is_any = |fault: &Fault| {
        fault.upstream
            && expected
                .failures
                .iter()
                .any(|class| class.to_string() == was)
    };
    if was != planned && !expected.error.as_ref().is_some_and(is_any) {
        return Some(format!(
            "the run fails with `{was}` and was to fail with `{planned}`"
        ));
    }
    if outcome.reply != expected.reply {
        return Some(format!(
            "the reply is {:?} and was to be {:?}",
            outcome.reply, expected.reply
        ));
    }
    let tasks: Vec<(String, Value)> = outcome
        .tasks
        .iter()
        .map(|task| (task.name.to_string(), task.context.clone()))
        .collect();
    // The run may have ended before or after a `set`.
    if tasks != expected.tasks && !(expected.wide && expected.error.is_some()) {
        return Some(format!(
            "the tasks are {tasks:?} and were to be {:?}",
            expected.tasks
        ));
    }
    let mut undone: Vec<(String, bool)> = Vec::new();
    for step in outcome.steps() {
        let well = step.attributes.contains(&"undone");
        if well || step.attributes.contains(&"undo_failed") {
            undone.push((step.path.to_string(), well));
        }
    }
    let mut planned = expected.undone.clone();
    undone.sort();
    planned.sort();
    (undone != planned).then(|| format!("undone were {undone:?}, and were to be {planned:?}"))
}
