//! What a run came to as rows of results and as observations: the shapes that other planners have for it.

use std::sync::Arc;

use planrun_lang::diag::render::Language;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::value::Value;
use serde::Serialize;
use serde_json::{Value as Json, json};

use planrun_core::run::{Outcome, StepReport};

/// The last row is about the run.
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
    /// The steps that gave it nothing.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    blocked_by: &'a [Arc<str>],
    /// A `recover` arm gave the value, after this failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded_reason: Option<&'a str>,
}

/// A call, for programs.
#[derive(Serialize)]
struct Observation<'a> {
    step: usize,
    tool: Option<&'a str>,
    ok: bool,
    /// Absent where nothing was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// Of a call that was refused before it was sent.
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

/// Everything: the reply, a row for each step, and one about the run.
pub fn full(outcome: &Outcome) -> Json {
    let steps = outcome.steps();
    let rows: Vec<Row> = steps.iter().map(Row::of).collect();
    let mut results: Vec<Json> = rows.iter().map(|row| json!(row)).collect();
    results.push(json!(Meta::of(outcome, &rows)));
    let reply = outcome.shown_reply().map(|reply| reply.to_json());
    json!({ "run": outcome.run, "plan": *outcome.plan, "reply": reply, "execution_results": results })
}

/// What the last step gave, where that is an object; else everything.
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

/// What the last step of a completed run gave, and how many there were; of any other run everything.
pub fn last_with_status(outcome: &Outcome) -> Json {
    let steps = outcome.steps();
    let row = last_row(&steps).filter(|_| outcome.state == RunState::Completed);
    let Some(row) = row else { return full(outcome) };
    let rows: Vec<Row> = steps.iter().map(Row::of).collect();
    let counts = Stats::of(&rows);
    let status = task_status(outcome, rows.len());
    json!({ "task_status": status, "stats": counts, "last_step_id": row.step_id, "tool": row.tool, "output": row.output })
}

/// A line for each call that was made, or one that says that there was none.
pub fn observation_lines(outcome: &Outcome, language: Language) -> String {
    let steps = outcome.steps();
    let mut lines = String::new();
    for (number, step) in (1..).zip(calls(&steps)) {
        let row = Row::of(step);
        let tool = row.tool.unwrap_or_default();
        let came_to = if row.ok {
            step.output.to_json_text()
        } else {
            row.why().to_owned()
        };
        let line = match (language, row.ok) {
            (Language::En, true) => format!("#{number} tool {tool} succeeded: {came_to}\n"),
            (Language::En, false) => format!("#{number} tool {tool} failed: {came_to}\n"),
            (Language::Zh, true) => format!("#{number} 工具 {tool} 成功：{came_to}\n"),
            (Language::Zh, false) => format!("#{number} 工具 {tool} 失败：{came_to}\n"),
        };
        lines.push_str(&line);
    }
    if lines.is_empty() {
        return match language {
            Language::En => "(no step ran, or the tools gave nothing back)\n".to_owned(),
            Language::Zh => "（没有可执行的步骤或工具返回空结果）\n".to_owned(),
        };
    }
    lines
}

/// The same for programs.
pub fn observations(outcome: &Outcome) -> Json {
    let steps = outcome.steps();
    let observed = calls(&steps).enumerate().map(|(number, step)| {
        let row = Row::of(step);
        let sent = step.attempts > 0;
        let observation = Observation {
            step: number,
            tool: row.tool,
            ok: row.ok,
            latency_ms: sent.then_some(step.duration_ms),
            result: row.ok.then_some(&step.output),
            error: (!row.ok).then(|| row.why()),
            arguments: (!sent).then_some(&step.arguments),
        };
        json!(observation)
    });
    observed.collect()
}

/// The reply, without the space around a text; where it says nothing, a line for each call.
pub fn summary(outcome: &Outcome, language: Language) -> String {
    match outcome.shown_reply().filter(|reply| !says_nothing(reply)) {
        Some(Value::String(text)) => format!("{}\n", text.trim()),
        Some(reply) => format!(
            "{}\n",
            serde_json::to_string_pretty(&reply.to_json()).unwrap_or_default()
        ),
        None => observation_lines(outcome, language),
    }
}

/// The same for programs: the reply, null where it says nothing, and the observations.
pub fn summary_document(outcome: &Outcome) -> Json {
    let reply = outcome
        .shown_reply()
        .filter(|reply| !says_nothing(reply))
        .map(|reply| match reply {
            Value::String(text) => text.trim().into(),
            reply => reply.to_json(),
        });
    json!({ "reply": reply, "observations": observations(outcome) })
}

/// Whether a reply is null, or a text of nothing but space.
fn says_nothing(reply: &Value) -> bool {
    match reply {
        Value::Null => true,
        reply => reply.as_str().is_some_and(|text| text.trim().is_empty()),
    }
}

/// The calls that have ended, those included that were refused before they were sent.
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

/// The last step of the plan itself that a guard or an early reply did not leave out.
fn last_row(steps: &[StepReport]) -> Option<Row<'_>> {
    let own = |step: &&StepReport| !step.path.contains(['.', '[']);
    let meant = |step: &&StepReport| !matches!(step.reason, Some("guard" | "replied"));
    steps.iter().filter(own).rfind(meant).map(Row::of)
}

/// Whether a run came to its end without anything to show for it.
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

    /// Why there is no output.
    fn why(&self) -> &'a str {
        self.error.or(self.reason).unwrap_or_default()
    }
}

impl<'a> Meta<'a> {
    fn of(outcome: &'a Outcome, rows: &[Row<'a>]) -> Self {
        let which = |wanted: &dyn Fn(&&Row<'a>) -> bool| {
            rows.iter().filter(wanted).map(|row| row.step_id).collect()
        };
        let meant = |row: &&Row<'a>| !matches!(row.reason, Some("guard" | "replied"));
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
            blocked_steps: which(&|row| row.skipped && meant(row)),
            failed_steps: which(&|row| !row.ok && !row.skipped),
            degraded_steps: which(&|row| row.degraded),
            strict_degraded: outcome.strict,
        }
    }
}

impl Stats {
    fn of(rows: &[Row]) -> Self {
        let count = |wanted: fn(&&Row) -> bool| rows.iter().filter(wanted).count();
        Self {
            total_steps: rows.len(),
            ok: count(|row| row.ok),
            skipped: count(|row| row.skipped),
            failed: count(|row| !row.ok && !row.skipped),
            degraded_count: count(|row| row.degraded),
        }
    }
}
