//! Converts the outcome of a run to rows of results and to observations, in the shapes that other planners use.

use std::sync::Arc;

use planrun_lang::diag::render::Language;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::value::Value;
use serde::Serialize;
use serde_json::{Value as Json, json};

use planrun_core::run::{Outcome, StepReport};

/// The id of the last row, which is about the run.
const META: &str = "__meta__";

/// A row of results: one step.
#[derive(Serialize)]
struct Row<'a> {
    step_id: &'a Arc<str>,
    tool: Option<&'a str>,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// Nothing was tried, or not yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    skipped: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// The steps without whose results it could not run.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocked_by: &'a [Arc<str>],
    /// Whether a `recover` arm gave the value, after the failure in `degraded_reason`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded_reason: Option<&'a str>,
}

/// A call, as JSON.
#[derive(Serialize)]
struct Observation<'a> {
    step: usize,
    tool: Option<&'a str>,
    ok: bool,
    /// Absent if nothing was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// Only present for a call that was refused before it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a Value>,
}

/// The row about the run.
#[derive(Serialize)]
struct Meta<'a> {
    step_id: &'static str,
    ok: bool,
    task_status: &'static str,
    reason: Option<&'a str>,
    stats: Stats,
    blocked_steps: Vec<&'a Arc<str>>,
    failed_steps: Vec<&'a Arc<str>>,
    degraded_steps: Vec<&'a Arc<str>>,
    strict_degraded: bool,
}

#[derive(Clone, Copy, Serialize)]
struct Stats {
    total_steps: usize,
    ok: usize,
    skipped: usize,
    failed: usize,
    degraded_count: usize,
}

/// Returns everything: the reply, a row for each step, and one about the run.
pub fn full(outcome: &Outcome) -> Json {
    let steps = outcome.steps();
    let rows: Vec<Row> = steps.iter().map(Row::of).collect();
    let mut results: Vec<Json> = rows.iter().map(|row| json!(row)).collect();
    results.push(json!(Meta::of(outcome, &rows)));
    let reply = outcome.redacted_reply().map(|reply| reply.to_json());
    json!({ "run": outcome.run, "plan": *outcome.plan, "reply": reply, "execution_results": results })
}

/// Returns the output of the last step if it is an object, otherwise everything.
pub fn last(outcome: &Outcome) -> Json {
    let steps = outcome.steps();
    let output = last_row(&steps)
        .filter(|row| row.ok)
        .and_then(|row| row.output);
    match output {
        Some(output @ Value::Map(_)) => output.to_json(),
        _ => full(outcome),
    }
}

/// Returns the output of the last step of a completed run, with counts; of any other run, everything.
pub fn last_with_status(outcome: &Outcome) -> Json {
    let steps = outcome.steps();
    let row = last_row(&steps).filter(|_| outcome.state == RunState::Completed);
    let Some(row) = row else { return full(outcome) };
    let rows: Vec<Row> = steps.iter().map(Row::of).collect();
    let counts = Stats::of(&rows);
    let status = task_status(outcome, rows.len());
    json!({ "task_status": status, "stats": counts, "last_step_id": row.step_id, "tool": row.tool, "output": row.output })
}

/// Returns a line for each call that was made or refused, or one stating that there was none.
pub fn observation_lines(outcome: &Outcome, language: Language) -> String {
    let steps = outcome.steps();
    let mut lines = String::new();
    for (number, step) in (1..).zip(calls(&steps)) {
        let row = Row::of(step);
        let tool = row.tool.unwrap_or_default();
        let line = match (language, row.observed()) {
            (Language::En, Ok(result)) => {
                format!(
                    "#{number} tool {tool} succeeded: {}\n",
                    result.to_json_text()
                )
            }
            (Language::En, Err(why)) => format!("#{number} tool {tool} failed: {why}\n"),
            (Language::Zh, Ok(result)) => {
                format!("#{number} 工具 {tool} 成功：{}\n", result.to_json_text())
            }
            (Language::Zh, Err(why)) => format!("#{number} 工具 {tool} 失败：{why}\n"),
        };
        lines.push_str(&line);
    }
    if lines.is_empty() {
        return match language {
            Language::En => "(no step ran, or the tools returned nothing)\n".to_owned(),
            Language::Zh => "（没有可执行的步骤或工具返回空结果）\n".to_owned(),
        };
    }
    lines
}

pub fn observations(outcome: &Outcome) -> Json {
    let steps = outcome.steps();
    let observed = calls(&steps).enumerate().map(|(number, step)| {
        let row = Row::of(step);
        let sent = step.attempts > 0;
        let observation = Observation {
            step: number,
            tool: row.tool,
            ok: row.observed().is_ok(),
            latency_ms: sent.then_some(step.duration_ms),
            result: row.observed().ok(),
            error: row.observed().err(),
            arguments: (!sent).then_some(&step.arguments),
        };
        json!(observation)
    });
    observed.collect()
}

/// Returns the reply, trimmed if it is text; if it is empty, a line for each call.
pub fn summary(outcome: &Outcome, language: Language) -> String {
    match outcome.redacted_reply().filter(|reply| !is_blank(reply)) {
        Some(Value::String(text)) => format!("{}\n", text.trim()),
        Some(reply) => format!(
            "{}\n",
            serde_json::to_string_pretty(&reply.to_json()).unwrap_or_default()
        ),
        None => observation_lines(outcome, language),
    }
}

/// Returns the summary as JSON: the reply, null if it is empty, and the observations.
pub fn summary_document(outcome: &Outcome) -> Json {
    let reply = outcome
        .redacted_reply()
        .filter(|reply| !is_blank(reply))
        .map(|reply| match reply {
            Value::String(text) => text.trim().into(),
            reply => reply.to_json(),
        });
    json!({ "reply": reply, "observations": observations(outcome) })
}

/// Returns true if a reply is null, or blank text.
fn is_blank(reply: &Value) -> bool {
    match reply {
        Value::Null => true,
        reply => reply.as_str().is_some_and(|text| text.trim().is_empty()),
    }
}

/// Returns the calls that have ended, including those refused before they were sent.
fn calls(steps: &[StepReport]) -> impl Iterator<Item = &StepReport> {
    let ended = |step: &&StepReport| match step.status {
        StepState::Failed | StepState::Unknown => true,
        StepState::Completed | StepState::Cancelled => step.attempts > 0,
        StepState::Skipped
        | StepState::Pending
        | StepState::Queued
        | StepState::Running
        | StepState::Waiting => false,
    };
    steps
        .iter()
        .filter(|step| step.tool.is_some())
        .filter(ended)
}

/// Returns the last step of the plan itself that was not skipped by a guard or an early reply.
fn last_row(steps: &[StepReport]) -> Option<Row<'_>> {
    let own = |step: &&StepReport| !step.path.contains(['.', '[']);
    let is_relevant = |step: &&StepReport| !matches!(step.reason, Some("guard" | "replied"));
    steps.iter().filter(own).rfind(is_relevant).map(Row::of)
}

/// Returns true if a run has completed without a step or a reply.
fn nothing_was_done(outcome: &Outcome, steps: usize) -> bool {
    outcome.state == RunState::Completed && outcome.reply.is_none() && steps == 0
}

fn task_status(outcome: &Outcome, steps: usize) -> &'static str {
    match outcome.state {
        RunState::Completed if nothing_was_done(outcome, steps) => "BLOCKED",
        RunState::Completed => "COMPLETED",
        RunState::Failed if outcome.reply.is_some() => "PARTIAL",
        RunState::Failed | RunState::Cancelled => "FAILED",
        RunState::Paused | RunState::Stalled | RunState::Running => "BLOCKED",
    }
}

impl<'a> Row<'a> {
    fn of(step: &'a StepReport) -> Self {
        let message = |error: &'a Option<Value>| error.as_ref()?.get("message")?.as_str();
        let (ok, skipped) = match step.status {
            StepState::Completed => (true, false),
            StepState::Failed | StepState::Cancelled | StepState::Unknown => (false, false),
            StepState::Skipped
            | StepState::Pending
            | StepState::Queued
            | StepState::Running
            | StepState::Waiting => (false, true),
        };
        let state = (!ok && step.status != StepState::Skipped).then(|| step.status.name());
        Self {
            step_id: &step.path,
            tool: step.tool.as_deref(),
            ok,
            output: ok.then_some(&step.output),
            error: message(&step.error),
            skipped,
            reason: step.reason.or(state.filter(|_| step.error.is_none())),
            blocked_by: &step.blocked_by,
            degraded: step.recovered.is_some(),
            degraded_reason: message(&step.recovered),
        }
    }

    /// Returns what the call of the step gave, or why it failed: not the value of the `recover` arm that replaces it.
    fn observed(&self) -> Result<&'a Value, &'a str> {
        match self.output {
            Some(output) if !self.degraded => Ok(output),
            Some(_) => Err(self.degraded_reason.unwrap_or_default()),
            None => Err(self.error.or(self.reason).unwrap_or_default()),
        }
    }
}

impl<'a> Meta<'a> {
    fn of(outcome: &'a Outcome, rows: &[Row<'a>]) -> Self {
        let which = |predicate: &dyn Fn(&&Row<'a>) -> bool| {
            rows.iter()
                .filter(predicate)
                .map(|row| row.step_id)
                .collect()
        };
        let is_relevant = |row: &&Row<'a>| !matches!(row.reason, Some("guard" | "replied"));
        Self {
            step_id: META,
            ok: outcome.state == RunState::Completed && !nothing_was_done(outcome, rows.len()),
            task_status: task_status(outcome, rows.len()),
            reason: match &outcome.error {
                Some(error) => Some(&error.message),
                None => nothing_was_done(outcome, rows.len())
                    .then_some("the plan has no steps and no reply"),
            },
            stats: Stats::of(rows),
            blocked_steps: which(&|row| row.skipped && is_relevant(row)),
            failed_steps: which(&|row| !row.ok && !row.skipped),
            degraded_steps: which(&|row| row.degraded),
            strict_degraded: outcome.strict,
        }
    }
}

impl Stats {
    fn of(rows: &[Row]) -> Self {
        let count = |predicate: fn(&&Row) -> bool| rows.iter().filter(predicate).count();
        Self {
            total_steps: rows.len(),
            ok: count(|row| row.ok),
            skipped: count(|row| row.skipped),
            failed: count(|row| !row.ok && !row.skipped),
            degraded_count: count(|row| row.degraded),
        }
    }
}
