//! Recorded state machines, imported: each gives the recorded result, or is listed with the reason why not.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use planrun_import::report::Conversion;
use planrun_import::{Imported, asl};
use planrun_lang::protocol::RunState;
use planrun_lang::sema::{self, NoFiles, Plan, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::decode;
use planrun_lang::value::Value;
use regex::Regex;
use serde_json::Value as Json;

use crate::machines::{Recorded, records, unwrapped};
use crate::world::{Ran, World};

/// Minimum share of machines that give the recorded result, in percent.
const LEAST: usize = 71;

#[tokio::test(start_paused = true)]
async fn imported_machines_come_to_the_same() {
    let Some(reasons) = reasons().await else {
        return;
    };
    let all: usize = reasons.values().map(Vec::len).sum();
    let carried = reasons.get("").map_or(0, Vec::len);
    println!("imported state machines: {carried} of {all} come to the same");
    for (reason, tests) in &reasons {
        if !reason.is_empty() {
            println!("  {} {reason}", tests.len());
            for test in tests {
                println!("      {test}");
            }
        }
    }
    assert!(carried * 100 >= all * LEAST, "only {carried} of {all}");
}

/// Returns the machines by the reason why they do not give the recorded result, which is empty if they do. `None` if
/// there are no records.
pub async fn reasons() -> Option<BTreeMap<String, Vec<String>>> {
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for recorded in records()? {
        let reason = difference(&recorded).await.err().unwrap_or_default();
        let test = recorded.test().rsplit("::").next().unwrap().to_owned();
        reasons.entry(reason).or_default().push(test);
    }
    Some(reasons)
}

/// # Errors
/// The reason why a machine does not give the recorded result.
async fn difference(recorded: &Recorded) -> Result<(), String> {
    if !["ExecutionSucceeded", "ExecutionFailed"].contains(&recorded.end()) {
        return Err("the recording ends before the machine has ended".into());
    }
    let source = SourceFile::new("machine.json", recorded.definition().to_string());
    let made = planrun_import::import(&source, None, "machine", &Tools::default());
    let made = made.map_err(|refused| refused.message)?;
    let lost = made
        .report
        .notes
        .iter()
        .find(|note| note.fate == Conversion::NotCarried);
    if let Some(lost) = lost {
        return Err(format!(
            "not carried: {}",
            generally(lost.why.split("; replace `").next().unwrap())
        ));
    }
    let checked = sema::check_without_rules(
        &SourceFile::new("machine.plan", made.text.as_str()),
        &Tools::default(),
        &NoFiles,
    );
    if let Some(error) = checked.diagnostics.iter().find(|found| found.is_error()) {
        let sooner = if recorded.succeeded() {
            ""
        } else {
            "; the machine fails at that state"
        };
        return Err(format!("the check finds `{}`{sooner}", error.code.name));
    }
    let Some(inputs) = inputs(recorded, &made, &checked.plans[0]) else {
        return if recorded.succeeded() {
            Err("its input has no place in the plan".into())
        } else {
            Ok(())
        };
    };
    let is_silent = recorded
        .states()
        .values()
        .any(|state| state["Type"] == "Task");
    if is_silent && recorded.ended.is_empty() {
        return Err("the recording does not contain the results of its tasks".into());
    }
    if recorded.succeeded() && !recorded.has_output() {
        return Err("the recording contains no output to compare".into());
    }
    compare(
        recorded,
        &world(recorded).run_with(&made.text, inputs).await,
    )
}

fn compare(recorded: &Recorded, ran: &Ran) -> Result<(), String> {
    let (class, _) = recorded.error();
    let error = ran
        .outcome
        .error
        .as_ref()
        .map(|error| error.class.to_string());
    match (recorded.succeeded(), ran.outcome.state) {
        // The plan knows the names of the errors that the machine lists; others are classes.
        (true, RunState::Completed)
            if [recorded.written_output(), recorded.output()]
                .iter()
                .any(|output| plain(&ran.reply()) == plain(output)) =>
        {
            Ok(())
        }
        (true, RunState::Completed) => Err("the output is another one".into()),
        (false, RunState::Failed) if error.as_deref() == Some(class.as_str()) => Ok(()),
        (false, RunState::Failed) => Err(format!(
            "fails with another class: `{class}` there, `{}` here",
            error.unwrap_or_default()
        )),
        (true, _) => Err(format!("fails here: {}", error.unwrap_or_default())),
        (false, _) => Err("it fails there, and not here".into()),
    }
}

/// Returns the inputs of the plan: the whole input of the machine, or its fields. `None` if a field is missing.
fn inputs(recorded: &Recorded, made: &Imported, plan: &Plan) -> Option<BTreeMap<Arc<str>, Value>> {
    let input = recorded.input();
    let is_whole = made
        .report
        .notes
        .iter()
        .any(|note| note.why == "is the input `input` of the plan");
    let given = plan.parameters.iter().map(|parameter| {
        let json = if is_whole {
            &input
        } else {
            input.get(&*parameter.name)?
        };
        Some((parameter.name.clone(), decode(json, &parameter.ty).ok()?))
    });
    given.collect()
}

/// Returns tools that answer like the tasks. Several states may call one tool, which answers in the order of the
/// record.
fn world(recorded: &Recorded) -> World {
    let states = recorded.states();
    let mut next: HashMap<&str, usize> = HashMap::new();
    let mut tools: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for state in &recorded.ended {
        let resource = states
            .get(state.as_str())
            .and_then(|state| state["Resource"].as_str());
        let (namespace, tool) = asl::called(resource.unwrap_or_default(), state);
        let number = next.entry(state).or_default();
        let answer = recorded.tasks[state].answers[*number].clone();
        *number += 1;
        tools
            .entry(format!("{namespace}.{tool}"))
            .or_default()
            .push(answer);
    }
    tools
        .into_iter()
        .fold(World::new(), |world, (name, answers)| {
            world.tool(&name, answers)
        })
}

/// Parses strings that contain JSON, as in the records.
fn plain(json: &Json) -> Json {
    match unwrapped(json) {
        Json::String(text) => serde_json::from_str(&text).unwrap_or(Json::String(text)),
        other => other,
    }
}

/// Returns a reason without the names of a specific machine.
fn generally(why: &str) -> String {
    Regex::new("`[^`]*`")
        .unwrap()
        .replace_all(why, "`…`")
        .into_owned()
}

#[test]
fn a_reason_is_told_without_names() {
    assert_eq!(
        generally("there is no variable `$x` here"),
        "there is no variable `…` here"
    );
    assert_eq!(unwrapped(&Json::from("[1]")), serde_json::json!([1]));
}
