//! The outcome of a run: its state, its reply, and a report of every step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::graph;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::secrets::Redactor;
use planrun_lang::sema::{Node, NodeKind};
use planrun_lang::value::Value;
use serde::Serialize;

use super::frame::{Frame, NodeRef};
use super::interruption::Interruption;
use super::listener::ListenerReport;
use super::past_calls::{self, PastCall};
use super::people::asked::QuestionReport;
use super::program::Program;
use super::scope::Scope;
use super::task::TaskReport;
use super::trace::{StepReport, Trace};
use crate::journal::{Question, StepError};

/// The outcome of a run.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the run"
)]
pub struct Outcome {
    pub run: String,
    pub plan: Arc<str>,
    pub state: RunState,
    pub reply: Option<Value>,
    pub error: Option<Arc<StepError>>,
    pub usage: Usage,
    pub duration: Duration,
    /// Tasks of the plan itself, in source order.
    pub tasks: Vec<TaskReport>,
    /// Listeners of the plan itself, in source order.
    pub listeners: Vec<ListenerReport>,
    /// Why the process suspended the run before its end.
    pub interruption: Option<Interruption>,
    /// Why steps could not be undone.
    pub not_undone: Vec<Arc<StepError>>,
    /// Steps whose `undo` has failed and can be retried, although the run has ended.
    pub retryable: Vec<Arc<str>>,
    /// Questions that are still open, by the paths under which they are answered.
    pub questions: Vec<(Arc<str>, Arc<Question>)>,
    /// Everything that people were asked, with the results.
    pub asked: Vec<QuestionReport>,
    /// Paths of answers that were given in advance and that nothing asked for.
    pub unused_answers: Vec<Arc<str>>,
    /// Whether `recover` arms that only replace a result by a placeholder were disabled.
    pub strict: bool,
    /// Whether the run is in a journal, so that others can read what it did, and another process can resume it.
    pub recorded: bool,
    /// Whether messages have arrived that this process has not handled, because it was already suspending the run.
    pub is_behind: bool,
    /// Whether the plan has ended, although its effects may still have to be undone, or its listeners to run.
    pub plan_has_ended: bool,
    /// Results of verification; `None` if the run was suspended, or ended before its statements had ended.
    pub(super) found: Option<BTreeMap<NodeRef, CheckReport>>,
    trace: Trace,
}

/// Usage of a run.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Usage {
    /// Number of attempts, without `exempt_calls`.
    pub calls: u64,
    /// As reported by the tools, like `cost`.
    pub tokens: u64,
    pub cost: f64,
    /// Attempts in `verify` and `undo` blocks, which no budget counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub exempt_calls: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde expects"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The JSON document of a run.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    run: &'a str,
    plan: &'a str,
    status: &'a str,
    reply: Option<Value>,
    steps: Vec<StepReport>,
    tasks: &'a [TaskReport],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    listeners: &'a [ListenerReport],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    questions: &'a [QuestionReport],
    verification: Verification,
    usage: Usage,
    error: Option<Value>,
}

/// Results of verifying the effects of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Verification {
    pub verified: usize,
    /// Number of calls with effects that were not verified.
    pub unverified: usize,
    /// Number of verifications that did not find the effect.
    pub failed: usize,
    /// Number of verifications that could not decide.
    pub inconclusive: usize,
    /// By path.
    pub checks: Vec<CheckReport>,
}

/// Result of verifying one step.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    pub path: Arc<str>,
    pub status: CheckStatus,
    /// Tools that were called to verify it, each once, in the order of their first calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    Verified,
    Unverified,
    Failed,
    Inconclusive,
}

impl Verification {
    /// Formats the counts for people. `inconclusive` is only included if it is not zero.
    #[must_use]
    pub fn counts(&self) -> String {
        let Self {
            verified,
            unverified,
            failed,
            inconclusive,
            ..
        } = self;
        let nobody_knows = if *inconclusive > 0 {
            format!(", {inconclusive} inconclusive")
        } else {
            String::new()
        };
        format!("{verified} verified, {unverified} unverified, {failed} failed{nobody_knows}")
    }

    fn new(mut checks: Vec<CheckReport>) -> Self {
        checks.sort_by(|one, other| one.path.cmp(&other.path));
        let count =
            |status: CheckStatus| checks.iter().filter(|check| check.status == status).count();
        Self {
            verified: count(CheckStatus::Verified),
            unverified: count(CheckStatus::Unverified),
            failed: count(CheckStatus::Failed),
            inconclusive: count(CheckStatus::Inconclusive),
            checks,
        }
    }
}

impl Outcome {
    pub(super) fn new(run: String, plan: &Arc<str>, state: RunState) -> Self {
        Self {
            run,
            plan: plan.clone(),
            state,
            reply: None,
            error: None,
            usage: Usage::default(),
            duration: Duration::ZERO,
            tasks: Vec::new(),
            listeners: Vec::new(),
            interruption: None,
            not_undone: Vec::new(),
            retryable: Vec::new(),
            questions: Vec::new(),
            asked: Vec::new(),
            unused_answers: Vec::new(),
            strict: false,
            recorded: false,
            is_behind: false,
            plan_has_ended: false,
            found: None,
            trace: Trace::default(),
        }
    }

    /// Turns this into the outcome of a run that has not ended: there is no reply yet, and nothing to retry.
    pub fn pause(&mut self) {
        (self.state, self.reply) = (RunState::Paused, None);
        self.retryable.clear();
    }

    pub(super) fn with_trace(
        mut self,
        frames: Vec<Frame>,
        scopes: Vec<Scope>,
        begun_at: i128,
        redactor: Redactor,
    ) -> Self {
        let has_ending = |root: &Frame| root.ending.is_some();
        self.plan_has_ended = frames.first().is_some_and(has_ending)
            || scopes.first().is_some_and(|scope| scope.end.is_some());
        let programs = scopes.into_iter().map(|scope| scope.program).collect();
        if !redactor.is_empty() {
            let redacted = |error: Arc<StepError>| Arc::new(error.redacted(&redactor));
            self.error = self.error.map(redacted);
            self.not_undone = self.not_undone.into_iter().map(redacted).collect();
            for task in &mut self.tasks {
                task.context = redactor
                    .value(&task.context)
                    .unwrap_or_else(|| task.context.clone());
            }
        }
        Self {
            trace: Trace {
                frames,
                programs,
                begun_at,
                redactor,
            },
            ..self
        }
    }

    /// Returns the results of verification; empty if the run was suspended, or ended before its statements had ended.
    #[must_use]
    pub fn verification(&self) -> Verification {
        let Some(found) = &self.found else {
            return Verification::default();
        };
        let unverified = self.trace.unverified(found);
        Verification::new(found.values().cloned().chain(unverified).collect())
    }

    /// Returns everything that must be redacted in output of the run.
    #[must_use]
    pub fn secrets(&self) -> &Redactor {
        &self.trace.redactor
    }

    /// Returns the reply with secrets redacted.
    #[must_use]
    pub fn redacted_reply(&self) -> Option<Value> {
        let reply = self.reply.as_ref()?;
        Some(
            self.trace
                .redactor
                .value(reply)
                .unwrap_or_else(|| reply.clone()),
        )
    }

    /// Returns the reports of all steps, in source order, with secrets redacted. Steps in other frames follow the step
    /// that holds them.
    #[must_use]
    pub fn steps(&self) -> Vec<StepReport> {
        self.trace.reports()
    }

    /// Returns the calls of tools that matter for a run that is based on this one, with their real values: those that
    /// have completed, and effects that may have happened or were undone. Calls in `verify` and `undo` blocks belong to
    /// their run only.
    #[must_use]
    pub fn past_calls(&self) -> Vec<PastCall> {
        past_calls::past_calls(&self.trace)
    }

    /// Returns the plan's own steps whose end depends on timing and on the order: what ended the run did not wait for
    /// them. A statement that ends the plan waits for everything above it, a step that fails only for what it needs.
    #[must_use]
    pub fn left_open(&self, program: &Program) -> BTreeSet<Arc<str>> {
        let graph = program.graph.blocks.first();
        let Some((frame, graph)) = self.trace.frames.first().zip(graph) else {
            return BTreeSet::new();
        };
        let nodes = &program.plan.body().nodes;
        let end = ending_statement(frame, nodes);
        let has_settled = |index: usize| frame.nodes[index].state.is_settled();
        let settled = if frame.ending.is_none() && frame.unsettled == 0 || has_ended(frame, end) {
            end
        } else {
            // Its value could not be evaluated, or a statement below it has failed.
            let has_replied = |index: &usize| {
                matches!(nodes[*index].kind, NodeKind::Reply(_)) && has_ended(frame, *index)
            };
            (0..end).rfind(has_replied).unwrap_or(0)
        };
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let failed = (settled..end).filter(|index| {
            let state = frame.nodes[*index].state;
            matches!(state, StepState::Failed | StepState::Unknown)
        });
        let needed: BTreeSet<u32> = failed
            .flat_map(|index| graph::needed(graph, program.plan.body(), number(index)))
            .collect();
        // A run that waits or stalls has done everything that it can do.
        let waits = frame.ending.is_none() || self.state == RunState::Stalled;
        let waits_after = |index: usize| {
            waits && has_settled(index) && frame.nodes[index].state != StepState::Cancelled
        };
        let is_open = |index: usize| {
            index >= end
                || index >= settled && !needed.contains(&number(index)) && !waits_after(index)
        };
        let steps = nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.step().is_some());
        let open = steps.filter(|(index, _)| is_open(*index));
        open.filter_map(|(_, node)| node.name.clone()).collect()
    }

    /// Writes the JSON document of the run.
    ///
    /// # Errors
    /// Returns an error if the writer fails.
    pub fn write_json(&self, writer: impl std::io::Write) -> std::io::Result<()> {
        self.write_json_with_status(self.state.name(), writer)
    }

    /// Writes the JSON document of a recorded run with this status, which also says whether a process drives it.
    ///
    /// # Errors
    /// Returns an error if the writer fails.
    pub fn write_json_with_status(
        &self,
        status: &str,
        writer: impl std::io::Write,
    ) -> std::io::Result<()> {
        let steps = self.steps();
        let document = Document {
            version: 1,
            run: &self.run,
            plan: &self.plan,
            status,
            reply: self.redacted_reply(),
            steps,
            tasks: &self.tasks,
            listeners: &self.listeners,
            questions: &self.asked,
            verification: self.verification(),
            usage: self.usage,
            error: self.error.as_ref().map(|error| error.to_value()),
        };
        serde_json::to_writer_pretty(writer, &document).map_err(Into::into)
    }
}

/// Returns the statement of the plan that ends it: a `fail`, or what was taken of the others. It waits for everything
/// above it, and for nothing below it. Without one, the number of statements.
fn ending_statement(frame: &Frame, nodes: &[Node]) -> usize {
    if let Some(taken) = &frame.taken {
        return taken.node as usize;
    }
    let fails = |(index, node): &(usize, &Node)| {
        matches!(node.kind, NodeKind::Fail(_)) && has_ended(frame, *index)
    };
    let failing = nodes.iter().enumerate().find(fails);
    failing.map_or(nodes.len(), |(index, _)| index)
}

/// Returns true if a statement that is not a step has taken effect.
fn has_ended(frame: &Frame, index: usize) -> bool {
    (frame.nodes.get(index)).is_some_and(|node| node.state == StepState::Completed)
}
