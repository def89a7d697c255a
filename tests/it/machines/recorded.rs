//! A recorded state machine: its input, the answer of each task, and its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::Plan;
use planrun_lang::types::{ErrorClass, decode};
use planrun_lang::value::Value;
use serde_json::{Map, Value as Json, json};

use crate::world::{Script, World, after, give};

/// The delay of a task that was never answered, in milliseconds. Longer than any timeout.
const NEVER: u64 = 1000 * 60 * 60 * 24;

/// The namespace of all tasks; each has the name of its state.
pub const NAMESPACE: &str = "states";

/// The history of one task state.
#[derive(Default)]
pub struct Task {
    /// The results of its attempts, in order.
    pub answers: Vec<Script>,
    /// The arguments of each attempt.
    pub inputs: Vec<Json>,
    /// The timeout of an attempt, in seconds.
    pub timeout: Option<u64>,
    /// The waits between attempts according to the machine, in milliseconds, and whether they have jitter.
    pub waits: Vec<u128>,
    pub jitter: bool,
}

pub struct Recorded {
    case: Json,
    pub tasks: BTreeMap<String, Task>,
    /// The states whose tasks ended, in that order.
    pub ended: Vec<String>,
}

impl Recorded {
    pub fn read(case: Json) -> Self {
        let (mut tasks, mut ended) = (BTreeMap::<String, Task>::new(), Vec::new());
        let events = case["events"].as_array().cloned().unwrap_or_default();
        let by_id: BTreeMap<u64, &Json> = events
            .iter()
            .filter_map(|event| Some((event["id"].as_u64()?, event)))
            .collect();
        let mut unnumbered = Unnumbered::default();
        for event in &events {
            let state = if event["id"].is_u64() {
                state_of(event, &by_id)
            } else {
                unnumbered.state_of(event)
            };
            if let Some(state) = state {
                let task = tasks.entry(state.clone()).or_default();
                let before = task.answers.len();
                note(task, event);
                ended.extend((task.answers.len() > before).then_some(state));
            }
        }
        let mut states = BTreeMap::new();
        collect_states(&case["definition"], &mut states);
        for (name, task) in &mut tasks {
            plan_waits(task, &states[name.as_str()]["Retry"]);
        }
        Self { case, tasks, ended }
    }

    pub fn test(&self) -> &str {
        self.case["test"].as_str().unwrap()
    }

    /// Returns the machine as JSON.
    pub fn definition(&self) -> &Json {
        &self.case["definition"]
    }

    /// Returns its input.
    pub fn input(&self) -> Json {
        unwrapped(&self.case["input"])
    }

    /// Returns how its execution ended, in the words of the records.
    pub fn end(&self) -> &str {
        self.case["end"].as_str().unwrap()
    }

    /// Returns true if the record has the output, and not a placeholder.
    pub fn has_output(&self) -> bool {
        !self.case["detail"]["output"]
            .as_str()
            .is_some_and(|text| text.contains("EventDetails"))
    }

    /// Returns all states by name, including nested ones.
    pub fn states(&self) -> BTreeMap<&str, &Json> {
        let mut states = BTreeMap::new();
        collect_states(&self.case["definition"], &mut states);
        states
    }

    pub fn succeeded(&self) -> bool {
        self.case["end"] == "ExecutionSucceeded"
    }

    /// Returns its output, with error names replaced by classes.
    pub fn output(&self) -> Json {
        with_classes(self.written_output())
    }

    /// Returns its output with the names of errors that the machine has.
    pub fn written_output(&self) -> Json {
        unwrapped(&self.case["detail"]["output"])
    }

    /// Returns the class of its error, and its cause.
    pub fn error(&self) -> (String, Json) {
        let detail = &self.case["detail"];
        (
            class_of(detail["error"].as_str()),
            unwrapped(&detail["cause"]),
        )
    }

    /// Returns tools that answer like the tasks.
    pub fn world(&self) -> World {
        self.tasks.iter().fold(World::new(), |world, (name, task)| {
            world.tool(&format!("{NAMESPACE}.{name}"), task.answers.iter().cloned())
        })
    }

    /// Returns the fields of the input that a plan takes. An input that is not an object is the parameter `input`.
    ///
    /// `None` if one does not have the type that the plan declares.
    pub fn inputs(&self, plan: &Plan) -> Option<BTreeMap<Arc<str>, Value>> {
        let input = match unwrapped(&self.case["input"]) {
            Json::Object(fields) => fields,
            other => Map::from_iter([("input".to_owned(), other)]),
        };
        let given = plan
            .parameters
            .iter()
            .filter_map(|parameter| Some((parameter, input.get(&*parameter.name)?)));
        given
            .map(|(parameter, json)| {
                Some((parameter.name.clone(), decode(json, &parameter.ty).ok()?))
            })
            .collect()
    }

    /// Returns the total time of its `Wait` states according to the machine or its input, in milliseconds.
    pub fn waits(&self) -> Option<u128> {
        let mut states = BTreeMap::new();
        collect_states(&self.case["definition"], &mut states);
        let waits: Vec<&Json> = states
            .values()
            .copied()
            .filter(|state| state["Type"] == "Wait")
            .collect();
        let seconds = waits.iter().filter_map(|state| {
            let path = state["SecondsPath"]
                .as_str()
                .and_then(|path| path.strip_prefix("$."))?;
            self.case["input"]
                .pointer(&format!("/{}", path.replace('.', "/")))?
                .as_u64()
        });
        (!waits.is_empty()).then(|| seconds.map(|seconds| u128::from(seconds) * 1000).sum())
    }
}

/// Returns the state that an event of a task belongs to.
fn state_of(event: &Json, by_id: &BTreeMap<u64, &Json>) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut event = event;
    let of_task = |name: &str| name.starts_with("Task") || name.starts_with("LambdaFunction");
    of_task(event["type"].as_str()?).then_some(())?;
    while event["type"] != "TaskStateEntered" {
        let before = event["previousEventId"].as_u64()?;
        seen.insert(before).then_some(())?;
        event = by_id.get(&before)?;
    }
    event["stateEnteredEventDetails"]["name"]
        .as_str()
        .map(str::to_owned)
}

/// Events of branches, which have no ids in the records: the nth event of a kind belongs to the nth state entered.
#[derive(Default)]
struct Unnumbered {
    entered: Vec<String>,
    seen: BTreeMap<String, usize>,
}

impl Unnumbered {
    fn state_of(&mut self, event: &Json) -> Option<String> {
        let kind = event["type"].as_str()?;
        if kind == "TaskStateEntered" {
            self.entered.extend(
                event["stateEnteredEventDetails"]["name"]
                    .as_str()
                    .map(str::to_owned),
            );
        }
        let number = self.seen.entry(kind.to_owned()).or_default();
        *number += 1;
        kind.starts_with("Task").then(|| {
            self.entered
                .get((*number - 1).min(self.entered.len().saturating_sub(1)))
                .cloned()
        })?
    }
}

/// Adds the data of one event to a task.
fn note(task: &mut Task, event: &Json) {
    let name = event["type"].as_str().unwrap();
    let details = event
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, _)| name.ends_with("EventDetails"));
    let details = details.map_or(Json::Null, |(_, details)| details.clone());
    if name.ends_with("Scheduled") {
        task.inputs.push(
            details
                .get("parameters")
                .or(details.get("input"))
                .cloned()
                .unwrap_or_default(),
        );
        task.timeout = details["timeoutInSeconds"].as_u64();
    } else if name.ends_with("TimedOut") {
        task.answers.push(after(NEVER, give(Json::Null)));
    } else if name.ends_with("Succeeded") {
        task.answers.push(give(unwrapped(&details["output"])));
    } else if name.ends_with("Failed") {
        let class = ErrorClass::find(&class_of(details["error"].as_str())).unwrap();
        let message = match &details["cause"] {
            Json::Null => String::new(),
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        task.answers.push(Script::Error(CallError::new(
            class,
            message,
            Sent::Answered,
        )));
    }
}

/// Computes the waits of the first entry of `Retry`. The defaults are one second, doubled each time.
fn plan_waits(task: &mut Task, retry: &Json) {
    let Some(rule) = retry.get(0) else { return };
    let interval = rule["IntervalSeconds"].as_f64().unwrap_or(1.0);
    let rate = rule["BackoffRate"].as_f64().unwrap_or(2.0);
    let longest = rule["MaxDelaySeconds"].as_f64().unwrap_or(f64::MAX);
    let mut wait = interval;
    for _ in 1..task.inputs.len() {
        task.waits
            .push(Duration::from_secs_f64(wait.min(longest)).as_millis());
        wait *= rate;
    }
    task.jitter = rule["JitterStrategy"] == "FULL";
}

/// Collects all states of a machine by name, including nested ones.
fn collect_states<'j>(machine: &'j Json, found: &mut BTreeMap<&'j str, &'j Json>) {
    for (name, state) in machine["States"].as_object().into_iter().flatten() {
        found.insert(name, state);
        for inner in ["ItemProcessor", "Iterator"] {
            collect_states(&state[inner], found);
        }
        state["Branches"]
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|branch| collect_states(branch, found));
    }
}

/// Returns the class for the name of an error: a timeout, an error of the machine itself, or an error of a task.
pub fn class_of(name: Option<&str>) -> String {
    match name {
        None => "tool.failed".to_owned(),
        Some("States.Timeout") => "transient.timeout".to_owned(),
        Some(name) if name.starts_with("States.") => "validation.expression".to_owned(),
        Some(name) => format!("tool.{}", snake(name)),
    }
}

/// Converts `Lambda.TooLarge` to `lambda_too_large`.
fn snake(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            snake.push('_');
            continue;
        }
        let before = index.checked_sub(1).map(|before| characters[before]);
        let opens = characters
            .get(index + 1)
            .is_some_and(|next| next.is_lowercase())
            && before.is_some_and(char::is_uppercase);
        if character.is_uppercase() && (before.is_some_and(char::is_lowercase) || opens) {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}

/// Removes the layers of strings that histories put around JSON.
pub fn unwrapped(json: &Json) -> Json {
    match json {
        Json::String(text) if text.starts_with(['{', '[', '"']) => {
            serde_json::from_str::<Json>(text)
                .map_or_else(|_| json.clone(), |inner| unwrapped(&inner))
        }
        Json::Array(items) => items.iter().map(unwrapped).collect(),
        Json::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), unwrapped(value)))
            .collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.clone(),
    }
}

/// Replaces the name of each error with a class.
fn with_classes(json: Json) -> Json {
    match json {
        Json::Array(items) => items.into_iter().map(with_classes).collect(),
        Json::Object(mut fields)
            if fields.contains_key("Error") && fields.contains_key("Cause") =>
        {
            fields["Error"] = json!(class_of(fields["Error"].as_str()));
            if fields["Cause"].is_null() {
                fields["Cause"] = json!("");
            }
            fields
                .into_iter()
                .map(|(name, value)| (name, with_classes(value)))
                .collect()
        }
        Json::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, with_classes(value)))
            .collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json,
    }
}

#[test]
fn names_of_errors_become_classes() {
    let named = |name| class_of(Some(name));
    assert_eq!(
        named("Lambda.ResourceNotFoundException"),
        "tool.lambda_resource_not_found_exception"
    );
    assert_eq!(
        named("SQS.AmazonSQSException"),
        "tool.sqs_amazon_sqs_exception"
    );
    assert_eq!(
        named("S3.NoSuchKeyException"),
        "tool.s3_no_such_key_exception"
    );
    assert_eq!(named("ApiGateway.403"), "tool.api_gateway_403");
    assert_eq!(named("Failure error"), "tool.failure_error");
    assert_eq!(
        (named("States.Timeout"), class_of(None)),
        ("transient.timeout".into(), "tool.failed".into())
    );
}
