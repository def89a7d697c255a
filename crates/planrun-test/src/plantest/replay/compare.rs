//! Compares a replay with the recorded run: lists the differences in the order of the plan, with redacted values.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::protocol::{RunState, StepState, is_below};
use planrun_lang::secrets::{Redactor, redact_paths};
use planrun_lang::sema::{NodeKind, Plan};
use planrun_lang::source::Span;
use planrun_lang::value::{Value, shortened};
use serde_json::Value as Json;

use super::history::{Attempt, History, StepEnd, StepHistory};
use super::{OriginalRun, ReplayedRun};
use crate::plantest::MAX_QUOTED;
use planrun_core::journal::StepError;
use planrun_core::run::{Outcome, Program};
use planrun_lang::words;

words! {
    /// The kind of a difference between two runs.
    Kind {
        /// The inputs of the plan.
        Inputs = "inputs",
        /// The tool that is called.
        Tool = "tool",
        /// The arguments of a call.
        Arguments = "arguments",
        /// The number of calls.
        Calls = "calls",
        /// Whether two calls are made in the same order.
        Order = "order",
        /// The contract of the tool.
        Contract = "contract",
        /// Whether a step runs, and its final state.
        State = "state",
        /// The output of a step, or its error.
        Outcome = "outcome",
        /// A step that only the replay has.
        New = "new",
        /// A step that only the recorded run has.
        Gone = "gone",
        Reply = "reply",
        /// The final state of the run.
        End = "end",
    }
}

/// One difference between the runs.
#[derive(Clone, Debug)]
pub struct Difference {
    pub kind: Kind,
    /// The path of the step; empty for the run.
    pub path: Arc<str>,
    pub finding: Diagnostic,
}

/// The secrets of both runs, for redaction.
pub struct Redaction {
    redactor: Redactor,
}

impl Redaction {
    /// Collects the secrets of both runs.
    #[must_use]
    pub fn of(original: &Outcome, replayed: Option<&Outcome>) -> Self {
        let mut redactor = original.secrets().clone();
        if let Some(replayed) = replayed {
            redactor.join(replayed.secrets());
        }
        Self { redactor }
    }

    fn value(&self, value: &Value, sensitive: &[Arc<str>]) -> String {
        let value = redact_paths(value, sensitive);
        shortened(
            &self.redactor.value(&value).unwrap_or(value).to_json_text(),
            MAX_QUOTED,
        )
    }

    fn json(&self, json: Option<&Json>) -> String {
        let Some(mut json) = json.cloned() else {
            return "nothing".to_owned();
        };
        self.redactor.json(&mut json);
        shortened(&json.to_string(), MAX_QUOTED)
    }

    fn error(&self, error: &StepError) -> String {
        shortened(
            &self
                .redactor
                .text(&format!("{}: {}", error.class, error.message)),
            MAX_QUOTED,
        )
    }
}

/// Returns the differences between two runs.
pub(super) fn compare(
    program: &Program,
    original: &OriginalRun,
    replayed: &ReplayedRun,
    redaction: &Redaction,
) -> Vec<Difference> {
    let plan = &*program.plan;
    let unanswered = replayed
        .played
        .unanswered
        .iter()
        .map(|call| call.path.clone())
        .collect();
    let outcome = replayed.played.outcome.as_ref();
    let open = outcome
        .map(|outcome| outcome.left_open(program))
        .unwrap_or_default();
    let mut comparison = Comparison {
        program,
        plan,
        original,
        replayed,
        redaction,
        unanswered,
        open,
        found: Vec::new(),
    };
    comparison.steps(outcome);
    if comparison.unanswered.is_empty() {
        comparison.end();
    }
    comparison.found
}

/// The comparison of two runs.
pub(super) struct Comparison<'a> {
    pub program: &'a Program,
    pub plan: &'a Plan,
    pub original: &'a OriginalRun,
    pub replayed: &'a ReplayedRun,
    redaction: &'a Redaction,
    /// Calls that the recorded run has no answer for. The replay ends at them, so their consequences are not
    /// reported.
    pub unanswered: BTreeSet<Arc<str>>,
    /// Steps of the plan whose final state depends on the clock.
    open: BTreeSet<Arc<str>>,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn steps(&mut self, outcome: Option<&Outcome>) {
        let (original, replayed) = (&self.original.history, &self.replayed.history);
        let mut paths: Vec<Arc<str>> = outcome
            .map(Outcome::steps)
            .unwrap_or_default()
            .into_iter()
            .map(|step| step.path)
            .collect();
        let mut known: BTreeSet<Arc<str>> = paths.iter().cloned().collect();
        paths.extend(
            replayed
                .steps
                .keys()
                .chain(original.steps.keys())
                .filter(|path| known.insert((*path).clone()))
                .cloned(),
        );
        let mut moved = self.moved();
        for path in &paths {
            self.found.extend(moved.remove(path));
            match (original.steps.get(path), replayed.steps.get(path)) {
                (Some(original), Some(replayed)) => self.step(path, original, replayed),
                (None, Some(_)) => self.new_step(path),
                (Some(_), None) => self.gone_step(path),
                (None, None) => {}
            }
        }
    }

    fn step(&mut self, path: &Arc<str>, original: &StepHistory, replayed: &StepHistory) {
        let calls = original.attempts.iter().zip(&replayed.attempts).enumerate();
        let called = |(index, (original, replayed)): (usize, (&Attempt, &Attempt))| {
            self.call(path, index, original, replayed)
        };
        let other = calls.clone().find_map(called);
        let differs = other.is_some();
        self.found.extend(other);
        let contract = self.contract(path, replayed);
        self.found.extend(contract);
        if differs || self.is_unsettled(path) {
            return;
        }
        if self.unanswered.contains(path) {
            let (before, after) = (original.attempts.len(), replayed.attempts.len());
            let message =
                format!("`{path}` makes one more call, for which the original run has no answer");
            let finding = self
                .finding(path, message)
                .expected(times(before), times(after));
            self.report(Kind::Calls, path, finding);
            return;
        }
        if !self.unanswered.is_empty() {
            return;
        }
        let calls = |step: &StepHistory| {
            step.attempts
                .iter()
                .filter(|attempt| attempt.arguments.is_some())
                .count()
        };
        let reuses = |step: &StepHistory| {
            step.attempts
                .iter()
                .any(|attempt| attempt.arguments.is_none())
        };
        // The state of a step that makes no call at all explains the difference.
        let both_call = calls(original) > 0 && calls(replayed) > 0;
        if both_call && calls(original) != calls(replayed) && !reuses(original) && !reuses(replayed)
        {
            let finding = self.finding(path, format!("`{path}` makes a different number of calls"));
            let finding = finding.expected(times(calls(original)), times(calls(replayed)));
            return self.report(Kind::Calls, path, finding);
        }
        if let (Some(original), Some(replayed)) = (&original.end, &replayed.end) {
            self.step_end(path, original, replayed);
        } else if original.end.is_some() != replayed.end.is_some() {
            let word =
                |end: &Option<StepEnd>| end.as_ref().map_or("has not ended".to_owned(), state);
            let finding = self.finding(path, format!("`{path}` ends differently"));
            let finding = finding.expected(word(&original.end), word(&replayed.end));
            self.report(Kind::State, path, finding);
        }
    }

    fn call(
        &self,
        path: &Arc<str>,
        index: usize,
        original: &Attempt,
        replayed: &Attempt,
    ) -> Option<Difference> {
        let (before, after) = (original.arguments.as_ref()?, replayed.arguments.as_ref()?);
        let which = if index == 0 {
            format!("`{path}`")
        } else {
            format!("call {} of `{path}`", index + 1)
        };
        if original.tool != replayed.tool {
            let finding = self.finding(path, format!("{which} calls another tool"));
            let finding = finding.expected(&original.tool, &replayed.tool);
            return Some(Difference {
                kind: Kind::Tool,
                path: path.clone(),
                finding,
            });
        }
        if before == after {
            return None;
        }
        let labels: Vec<Arc<str>> = original
            .sensitive
            .iter()
            .chain(&replayed.sensitive)
            .cloned()
            .collect();
        let (before, after) = (
            self.redaction.value(before, &labels),
            self.redaction.value(after, &labels),
        );
        let finding = self.finding(
            path,
            format!("{which} calls `{}` with other arguments", replayed.tool),
        );
        Some(Difference {
            kind: Kind::Arguments,
            path: path.clone(),
            finding: with_values(finding, before, after),
        })
    }

    fn contract(&self, path: &Arc<str>, replayed: &StepHistory) -> Option<Difference> {
        let tool = &replayed
            .attempts
            .first()
            .filter(|attempt| attempt.arguments.is_some())?
            .tool;
        let before = self.original.contracts.get(&**tool)?;
        let called = self
            .replayed
            .played
            .calls
            .iter()
            .find(|call| call.path == *path)?;
        if *called.signature.digest() == **before {
            return None;
        }
        let finding = self.finding(
            path,
            format!(
                "the contract of `{tool}`, which `{path}` calls, has changed since the original run"
            ),
        );
        Some(Difference {
            kind: Kind::Contract,
            path: path.clone(),
            finding,
        })
    }

    fn step_end(&mut self, path: &Arc<str>, original: &StepEnd, replayed: &StepEnd) {
        if (original.state, &original.reason, original.recovered)
            != (replayed.state, &replayed.reason, replayed.recovered)
        {
            let finding = self.finding(path, format!("`{path}` ends differently"));
            return self.report(
                Kind::State,
                path,
                finding.expected(state(original), state(replayed)),
            );
        }
        let why = |end: &StepEnd| {
            end.error
                .as_ref()
                .map(|error| (error.class.clone(), error.message.clone()))
        };
        if why(original) != why(replayed) {
            let describe = |end: &StepEnd| {
                end.error
                    .as_ref()
                    .map_or("nothing".to_owned(), |error| self.redaction.error(error))
            };
            let finding = with_values(
                self.finding(path, format!("`{path}` fails differently")),
                describe(original),
                describe(replayed),
            );
            self.report(Kind::Outcome, path, finding);
        } else if let (Some(before), Some(after)) = (&original.output, &replayed.output)
            && before != after
        {
            let labels: Vec<Arc<str>> = original
                .sensitive
                .iter()
                .chain(&replayed.sensitive)
                .cloned()
                .collect();
            let (before, after) = (
                self.redaction.value(before, &labels),
                self.redaction.value(after, &labels),
            );
            let finding = with_values(
                self.finding(path, format!("`{path}` returns another result")),
                before,
                after,
            );
            self.report(Kind::Outcome, path, finding);
        }
    }

    fn new_step(&mut self, path: &Arc<str>) {
        let reported = self.is_below(path, Kind::New) || self.is_unsettled(path);
        let follows = !self.unanswered.is_empty() && !self.unanswered.contains(path);
        if reported || follows {
            return;
        }
        let call = self
            .replayed
            .played
            .unanswered
            .iter()
            .find(|call| call.path == *path);
        let finding = match call {
            Some(call) => {
                let message = format!(
                    "`{path}` calls `{}`, which the original run did not do there, so there is no answer for it",
                    call.signature.path()
                );
                let sensitive = self
                    .replayed
                    .history
                    .steps
                    .get(path)
                    .and_then(|step| step.attempts.first());
                let sensitive = sensitive
                    .map(|attempt| attempt.sensitive.clone())
                    .unwrap_or_default();
                let arguments = self.redaction.value(&call.arguments, &sensitive);
                let finding = self
                    .finding(path, message)
                    .note(format!("it is called with {arguments}"));
                finding.help("differences that follow from this are not reported")
            }
            None => self.finding(
                path,
                format!("`{path}` is new: the original run has no such step"),
            ),
        };
        self.report(Kind::New, path, finding);
    }

    fn gone_step(&mut self, path: &Arc<str>) {
        if self.is_below(path, Kind::Gone) || self.is_unsettled(path) || !self.unanswered.is_empty()
        {
            return;
        }
        let step = self.original.history.steps.get(path);
        let tool = step
            .and_then(|step| step.attempts.first())
            .map(|attempt| attempt.tool.clone());
        let message = match tool.filter(|tool| !tool.is_empty()) {
            Some(tool) => format!("`{path}` is missing: the original run called `{tool}` there"),
            None => format!("`{path}` is missing: the original run has this step"),
        };
        let finding = self.finding(path, message);
        self.report(Kind::Gone, path, finding);
    }

    fn end(&mut self) {
        let (original, replayed) = (&self.original.history, &self.replayed.history);
        let run: Arc<str> = "".into();
        let why = |history: &History| {
            history
                .error
                .as_ref()
                .map(|error| (error.class.clone(), error.message.clone()))
        };
        let state = |history: &History| history.state.unwrap_or(RunState::Running);
        if state(original) != state(replayed) || why(original) != why(replayed) {
            let word = |history: &History| match &history.error {
                Some(error) => format!("{} with {}", state(history), self.redaction.error(error)),
                None => state(history).to_string(),
            };
            let finding = with_values(
                self.finding(&run, "the run ends differently".to_owned()),
                word(original),
                word(replayed),
            );
            self.report(Kind::End, &run, finding);
        }
        if original.reply != replayed.reply {
            let (before, after) = (
                self.redaction.json(original.reply.as_ref()),
                self.redaction.json(replayed.reply.as_ref()),
            );
            let finding = Diagnostic::new(
                &codes::tests::REPLAY_PARTS,
                self.reply(),
                "the reply is different",
            );
            self.report(Kind::Reply, &run, with_values(finding, before, after));
        }
    }

    fn report(&mut self, kind: Kind, path: &Arc<str>, finding: Diagnostic) {
        self.found.push(Difference {
            kind,
            path: path.clone(),
            finding,
        });
    }

    pub fn finding(&self, path: &str, message: String) -> Diagnostic {
        Diagnostic::new(&codes::tests::REPLAY_PARTS, place(self.plan, path), message)
    }

    /// Returns true if the same kind of difference is already reported for an enclosing step.
    fn is_below(&self, path: &str, kind: Kind) -> bool {
        let mut found = self.found.iter();
        found.any(|found| found.kind == kind && is_below(path, &found.path))
    }

    /// Returns true if the progress of a step depends on the clock.
    pub fn is_unsettled(&self, path: &str) -> bool {
        let own = path.split(['.', '[']).next().unwrap_or_default();
        self.open.contains(own) && !self.unanswered.contains(path)
    }

    /// Returns the span of the last reply of the plan.
    fn reply(&self) -> Span {
        let mut replies = self
            .plan
            .blocks
            .first()
            .map(|block| block.nodes.iter().rev())
            .into_iter()
            .flatten();
        let last = replies.find(|node| matches!(node.kind, NodeKind::Reply(_)));
        last.map_or(self.plan.span, |node| node.span)
    }
}

/// Returns the span of the innermost step of a path that is written in the plan itself; the span of the plan's name
/// if there is none.
fn place(plan: &Plan, path: &str) -> Span {
    let nodes = || plan.blocks.iter().flat_map(|block| &block.nodes);
    let of = |part: &str| {
        let name = part.split('[').next().unwrap_or_default();
        nodes()
            .find(|node| node.name.as_deref() == Some(name))
            .and_then(|node| node.step())
            .map(|step| step.span)
    };
    path.rsplit('.').find_map(of).unwrap_or(plan.span)
}

/// Adds both values to a finding, or a note if they are equal once redacted.
fn with_values(finding: Diagnostic, before: String, after: String) -> Diagnostic {
    if before == after {
        finding.note("the difference is in secret values, which are not shown")
    } else {
        finding.expected(before, after)
    }
}

fn state(end: &StepEnd) -> String {
    let recovered = if end.recovered && end.state == StepState::Completed {
        " (recovered)"
    } else {
        ""
    };
    match &end.reason {
        Some(reason) => format!("{} ({reason})", end.state),
        None => format!("{}{recovered}", end.state),
    }
}

fn times(count: usize) -> String {
    if count == 1 {
        "one call".to_owned()
    } else {
        format!("{count} calls")
    }
}
