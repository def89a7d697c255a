//! The trace of a run: the frames of its steps, from which reports are made on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::secrets::{Redactor, redact_paths};
use planrun_lang::sema::{Call, Node, Step};
use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::Serialize;

use super::copies::RepeatReason;
use super::frame::{Flags, Frame, FrameId, NodeRef, Record, Undone};
use super::outcome::{CheckReport, CheckStatus};
use super::program::Program;
use super::sensitive::{in_arguments, in_output};

/// The frames of the run, from which step reports are made on demand.
#[derive(Default)]
pub(super) struct Trace {
    pub frames: Vec<Frame>,
    pub programs: Vec<Arc<Program>>,
    pub begun_at: i128,
    pub redactor: Redactor,
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
    /// Whether its own call may have happened, although it has no answer of it.
    #[serde(skip)]
    pub in_doubt: bool,
    /// Why it was skipped: `guard`, `upstream`, `replied` or `failed`; the last two refer to a statement above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    /// Paths of the steps whose values are missing, in source order, if `reason` is `upstream`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<Arc<str>>,
    /// Why it was executed again although another run had executed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<RepeatReason>,
}

impl Trace {
    /// Returns the reports of all steps, with secrets redacted.
    pub(super) fn reports(&self) -> Vec<StepReport> {
        let mut reports = Vec::new();
        self.visit(|frame, node, statement, step| {
            reports.push(self.report(frame, node, statement, step));
        });
        reports
    }

    /// Visits all steps, in source order. Steps in other frames follow the step that holds them.
    pub(super) fn visit(&self, mut with: impl FnMut(&Frame, usize, &Node, &Step)) {
        // Frames, each with the node to continue with, innermost last, instead of recursion, because nesting may be
        // deep.
        let mut open: Vec<(FrameId, usize)> = if self.frames.is_empty() {
            Vec::new()
        } else {
            vec![(0, 0)]
        };
        while let Some((frame, node)) = open.pop() {
            let state = &self.frames[frame];
            let block = self.programs[state.scope].plan.block(state.block);
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
                with(state, node, statement, step);
            }
            // A listener is not a step, but its firings hold steps.
            let inner = state.records[node]
                .details()
                .map(|details| details.frames.as_slice())
                .unwrap_or_default();
            open.extend(inner.iter().rev().map(|inner| (*inner, 0)));
        }
    }

    /// Returns reports for the effects that happened and were not verified.
    pub(super) fn unverified(&self, found: &BTreeMap<NodeRef, CheckReport>) -> Vec<CheckReport> {
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
        let number = u32::try_from(node).unwrap_or(u32::MAX);
        // A parked step is reported with its failure.
        let visible = frame.visible.get(&number).copied();
        let state = visible.unwrap_or(frame.nodes[node].state);
        let held_back = frame.late.get(&number);
        let held_back = held_back.filter(|_| state == StepState::Pending);
        let state = held_back.map_or(state, |_| StepState::Waiting);
        let path = path_of(frame, statement);
        let output = if state == StepState::Completed {
            output_of(frame, statement)
        } else {
            Value::Null
        };
        let caught = details.and_then(|details| details.error.as_ref());
        let caught = held_back.or(caught);
        let caught = caught.map(|error| error.redacted(&self.redactor).to_value());
        let arguments = arguments_of(record);
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
            output: self.redacted(&output, &in_output(step, &output)),
            arguments: self.redacted(&arguments, &in_arguments(step, &arguments)),
            attributes: attributes(record),
            in_doubt: record.in_doubt,
            error,
            recovered,
            reason: record.reason,
            blocked_by: if record.reason == Some("upstream") {
                self.blocked_by(frame, node)
            } else {
                Vec::new()
            },
            again: details.and_then(|details| details.again),
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

pub(super) fn path_of(frame: &Frame, statement: &Node) -> Arc<str> {
    let name = statement.name.as_ref();
    name.map_or_else(|| frame.path.clone(), |name| frame.path_of(name))
}

/// Returns the value of a completed step.
pub(super) fn output_of(frame: &Frame, statement: &Node) -> Value {
    let slot = statement.slot;
    let value = slot.and_then(|slot| frame.slots.get(slot as usize));
    value.cloned().unwrap_or(Value::Null)
}

pub(super) fn arguments_of(record: &Record) -> Value {
    let details = record.details();
    let arguments = details.and_then(|details| details.arguments.clone());
    arguments.unwrap_or_else(|| Value::Map(Arc::default()))
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
