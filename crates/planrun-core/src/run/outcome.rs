//! The outcome of a run: its state, its reply, and a report of every step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::graph;
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::secrets::{Redactor, redact_paths};
use planrun_lang::sema::{Call, Node, NodeKind, Step};
use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::Serialize;

use super::frame::{Flags, Frame, FrameId, NodeRef, Record, Undone};
use super::interruption::Interruption;
use super::listener::ListenerReport;
use super::people::asked::QuestionReport;
use super::program::Program;
use super::scope::Scope;
use super::sensitive::{in_arguments, in_output};
use super::task::TaskReport;
use crate::journal::{Question, StepError};

/// The outcome of a run.
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

/// The frames of the run, from which step reports are made on demand.
#[derive(Default)]
struct Trace {
    frames: Vec<Frame>,
    programs: Vec<Arc<Program>>,
    begun_at: i128,
    redactor: Redactor,
}

/// The report of one step.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    pub path: Arc<str>,
    /// The called tool; absent for steps that hold other steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Effect of the called tool; `None` for steps that hold other steps, and in `verify` and `undo` blocks.
    #[serde(skip)]
    pub effect: Option<Effect>,
    pub status: StepState,
    pub attempts: u32,
    /// RFC 3339; null if it never started.
    pub started_at: Option<String>,
    pub duration_ms: u64,
    pub arguments: Value,
    pub output: Value,
    pub error: Option<Value>,
    /// The error that a `recover` arm caught.
    pub recovered: Option<Value>,
    pub attributes: Vec<&'static str>,
    /// Why it was skipped: `guard`, `upstream`, `replied` or `failed`; the last two refer to a statement above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Paths of the steps whose values are missing, in source order, if `reason` is `upstream`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Arc<str>>,
    /// Why it was executed again although another run had executed it: `asked`, `definition`, `arguments` or
    /// `contract`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<&'static str>,
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
        let mut reports = Vec::new();
        // Frames, each with the node to continue with, innermost last, instead of recursion, because nesting may be
        // deep.
        let mut open: Vec<(FrameId, usize)> = if self.trace.frames.is_empty() {
            Vec::new()
        } else {
            vec![(0, 0)]
        };
        while let Some((frame, node)) = open.pop() {
            let state = &self.trace.frames[frame];
            let block = self.trace.programs[state.scope].plan.block(state.block);
            let Some(statement) = block.nodes.get(node) else {
                continue;
            };
            open.push((frame, node + 1));
            let untaken = block.siblings(statement).is_some_and(|siblings| {
                state
                    .taken(siblings.iter().copied())
                    .is_some_and(|taken| taken as usize != node)
            });
            if let Some(step) = statement.step().filter(|_| !untaken) {
                reports.push(self.trace.report(state, node, statement, step));
            }
            // A listener is not a step, but its firings hold steps.
            let inner = state.records[node]
                .details()
                .map(|details| details.frames.as_slice())
                .unwrap_or_default();
            open.extend(inner.iter().rev().map(|inner| (*inner, 0)));
        }
        reports
    }

    /// Returns the plan's own steps whose end depends on timing and on the order: the run was cut short or replied
    /// early, and what ended it did not wait for them.
    #[must_use]
    pub fn left_open(&self, program: &Program) -> BTreeSet<Arc<str>> {
        let Some(frame) = self.trace.frames.first() else {
            return BTreeSet::new();
        };
        let block = program.plan.body();
        let Some(graph) = program.graph.blocks.first() else {
            return BTreeSet::new();
        };
        let cut = self.state != RunState::Completed;
        let ends = |index: usize, node: &Node| match frame.nodes[index].state {
            StepState::Failed | StepState::Unknown => cut,
            // An early reply: everything above it has settled.
            StepState::Completed => {
                !cut && matches!(node.kind, NodeKind::Reply(_)) && !node.guard.is_empty()
            }
            _ => false,
        };
        let ending = block
            .nodes
            .iter()
            .enumerate()
            .filter(|(index, node)| ends(*index, node));
        let ending: Vec<usize> = ending.map(|(index, _)| index).collect();
        if ending.is_empty() && !cut {
            return BTreeSet::new();
        }
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let needed: BTreeSet<u32> = ending
            .iter()
            .flat_map(|index| graph::needed(graph, block, number(*index)))
            .collect();
        let above = |index: usize| !cut && ending.iter().all(|end| index < *end);
        let steps = block
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.step().is_some());
        let open = steps.filter(|(index, _)| !needed.contains(&number(*index)) && !above(*index));
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

impl Trace {
    /// Returns reports for the effects that happened and were not verified.
    fn unverified(&self, found: &BTreeMap<NodeRef, CheckReport>) -> Vec<CheckReport> {
        let mut reports = Vec::new();
        let frames = self.frames.iter().enumerate();
        for (id, frame) in frames.filter(|(_, frame)| !frame.auxiliary) {
            let block = self.programs[frame.scope].plan.block(frame.block);
            for (node, (content, state)) in block.nodes.iter().zip(&frame.nodes).enumerate() {
                let at = (id, u32::try_from(node).unwrap_or(u32::MAX));
                let changes = content
                    .step()
                    .is_some_and(|step| step.tool().is_some() && !step.effect.is_read_only());
                if changes && state.state == StepState::Completed && !found.contains_key(&at) {
                    let name = content.name.as_ref();
                    reports.push(CheckReport {
                        path: name.map_or_else(|| frame.path.clone(), |name| frame.path_of(name)),
                        status: CheckStatus::Unverified,
                        tools: Vec::new(),
                        error: None,
                    });
                }
            }
        }
        reports
    }

    fn report(&self, frame: &Frame, node: usize, statement: &Node, step: &Step) -> StepReport {
        let record = &frame.records[node];
        let details = record.details();
        // A parked step is reported with its failure.
        let visible = u32::try_from(node)
            .ok()
            .and_then(|node| frame.visible.get(&node));
        let state = visible.copied().unwrap_or(frame.nodes[node].state);
        let path = statement
            .name
            .as_ref()
            .map_or_else(|| frame.path.clone(), |name| frame.path_of(name));
        let output = if state == StepState::Completed {
            statement
                .slot
                .and_then(|slot| frame.slots.get(slot as usize))
                .cloned()
                .unwrap_or(Value::Null)
        } else {
            Value::Null
        };
        let caught = details.and_then(|details| details.error.as_ref());
        let caught = caught.map(|error| error.redacted(&self.redactor).to_value());
        let arguments = details.and_then(|details| details.arguments.clone());
        let arguments = arguments.unwrap_or_else(|| Value::Map(Arc::default()));
        let (error, recovered) = if record.recovered {
            (None, caught)
        } else {
            (caught, None)
        };
        StepReport {
            path,
            tool: step.call().map(Call::path),
            effect: (!frame.auxiliary && step.tool().is_some()).then_some(step.effect),
            status: state,
            attempts: record.attempts,
            started_at: record.started.map(|started| self.instant(started)),
            duration_ms: record.duration / 1000,
            output: self.redacted(&output, &in_output(step)),
            arguments: self.redacted(&arguments, &in_arguments(step, &arguments)),
            attributes: attributes(record),
            error,
            recovered,
            reason: record.reason,
            blocked_by: if record.reason == Some("upstream") {
                self.blocked_by(frame, node)
            } else {
                Vec::new()
            },
            again: details
                .and_then(|details| details.again)
                .map(super::copies::RepeatReason::name),
        }
    }

    /// Returns the steps of its block that a statement needed, for their value or their success, and that have none.
    fn blocked_by(&self, frame: &Frame, node: usize) -> Vec<Arc<str>> {
        let program = &self.programs[frame.scope];
        let (graph, block) = (
            &program.graph.blocks[frame.block.0 as usize],
            program.plan.block(frame.block),
        );
        let (mut open, mut seen, mut found) = (vec![node], BTreeSet::new(), BTreeSet::new());
        while let Some(node) = open.pop() {
            for (source, _) in graph
                .dependencies(node)
                .filter(|(_, edge)| edge.needs_success())
            {
                if frame.nodes[source].flags.has(Flags::AVAILABLE) || !seen.insert(source) {
                    continue;
                }
                match block.nodes.get(source) {
                    Some(statement) if statement.step().is_some() => {
                        found.insert(source);
                    }
                    // Conditions, `let`s and joins have no value because of nodes that they depend on.
                    Some(_) | None => open.push(source),
                }
            }
        }
        let name = |node: usize| {
            block.nodes[node]
                .name
                .as_ref()
                .map(|name| frame.path_of(name))
        };
        found.into_iter().filter_map(name).collect()
    }

    fn redacted(&self, value: &Value, labels: &[Arc<str>]) -> Value {
        let value = redact_paths(value, labels);
        self.redactor.value(&value).unwrap_or(value)
    }

    fn instant(&self, since_start: u64) -> String {
        super::clock::instant(self.begun_at, since_start)
    }
}

fn attributes(record: &Record) -> Vec<&'static str> {
    let recovered = record.recovered.then_some("recovered");
    let undone = record
        .details()
        .and_then(|details| details.undone.as_ref())
        .map(|undone| match undone {
            Undone::Yes => "undone",
            Undone::No(_) => "undo_failed",
            Undone::Skipped(_) => "not_undone",
        });
    let copied = record
        .details()
        .is_some_and(|details| details.copied)
        .then_some("copied");
    let cached = record
        .details()
        .is_some_and(|details| details.cached)
        .then_some("cached");
    let reused = record.reused.then_some("reused");
    reused
        .into_iter()
        .chain(copied)
        .chain(cached)
        .chain(recovered)
        .chain(undone)
        .collect()
}
