//! What a run came to as rows of results and as observations: the shapes that other planners have for it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::cli::arguments::Language;
use crate::engine::{Outcome, StepReport};
use crate::protocol::{RunState, StepState};
use crate::value::Value;

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
    /// A `recover` arm gave the value, after this failure.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    degraded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded_reason: Option<&'a str>,
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
    let output = last_row(&steps).filter(|row| row.ok).and_then(|row| row.output);
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
    let status = task_status(outcome);
    json!({ "task_status": status, "stats": counts, "last_step_id": row.step_id, "tool": row.tool, "output": row.output })
}

/// A line for each call that was made, or one that says that there was none.
pub fn observation_lines(outcome: &Outcome, language: Language) -> String {
    let steps = outcome.steps();
    let mut lines = String::new();
    for (number, step) in (1..).zip(calls(&steps)) {
        let row = Row::of(step);
        let tool = row.tool.unwrap_or_default();
        let came_to = if row.ok { step.output.to_json_text() } else { row.why().to_owned() };
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
        let mut json = json!({ "step": number, "tool": row.tool, "ok": row.ok, "latency_ms": step.duration_ms });
        let (name, came_to) =
            if row.ok { ("result", step.output.to_json()) } else { ("error", row.why().to_owned().into()) };
        if let Json::Object(fields) = &mut json {
            fields.insert(name.to_owned(), came_to);
        }
        json
    });
    observed.collect()
}

/// The calls that were made and have ended.
fn calls(steps: &[StepReport]) -> impl Iterator<Item = &StepReport> {
    steps.iter().filter(|step| step.tool.is_some() && step.attempts > 0 && step.status.is_settled())
}

/// The last step of the plan itself that a guard or an early reply did not leave out.
fn last_row(steps: &[StepReport]) -> Option<Row<'_>> {
    let own = |step: &&StepReport| !step.path.contains(['.', '[']);
    let meant = |step: &&StepReport| !matches!(step.reason, Some("guard" | "replied"));
    steps.iter().filter(own).rfind(meant).map(Row::of)
}

fn task_status(outcome: &Outcome) -> &'static str {
    match outcome.state {
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
            StepState::Skipped | StepState::Pending | StepState::Queued | StepState::Running | StepState::Waiting => {
                (false, true)
            }
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
        let which = |wanted: &dyn Fn(&&Row<'a>) -> bool| rows.iter().filter(wanted).map(|row| row.step_id).collect();
        let meant = |row: &&Row<'a>| !matches!(row.reason, Some("guard" | "replied"));
        Self {
            step_id: META,
            ok: outcome.state == RunState::Completed,
            task_status: task_status(outcome),
            reason: outcome.error.as_ref().map(|error| &*error.message),
            stats: Stats::of(rows),
            blocked_steps: which(&|row| row.skipped && meant(row)),
            failed_steps: which(&|row| !row.ok && !row.skipped),
            degraded_steps: which(&|row| row.degraded),
            strict_degraded: false,
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
