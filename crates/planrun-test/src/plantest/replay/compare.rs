//! Compares a replay with the recorded run: lists the differences in the order of the plan, with redacted values.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexSet;
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::protocol::{RunState, StepState, is_below};
use planrun_lang::secrets::{Redactor, redact_paths};
use planrun_lang::sema::{NodeKind, Plan};
use planrun_lang::source::Span;
use planrun_lang::types::ErrorClass;
use planrun_lang::value::{Value, shortened};
use serde_json::Value as Json;

use super::history::{Asked, Attempt, History, StepEnd, StepHistory};
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
        /// What people were asked before a step.
        Question = "question",
        /// Whether a step runs, and its final state.
        State = "state",
        /// The output of a step, or its error.
        Outcome = "outcome",
        /// A step that only the replay has.
        New = "new",
        /// A step that only the recorded run has.
        Gone = "gone",
        /// The final status and context of a task.
        Task = "task",
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

    /// Returns the texts of two values; what is sensitive in one of them is redacted in both.
    fn values(&self, values: [&Value; 2], sensitive: [&[Arc<str>]; 2]) -> [String; 2] {
        let sensitive = sensitive.concat();
        values.map(|value| self.value(value, &sensitive))
    }

    fn value(&self, value: &Value, sensitive: &[Arc<str>]) -> String {
        let value = redact_paths(value, sensitive);
        let redacted = self.redactor.value(&value).unwrap_or(value);
        shortened(&redacted.to_json_text(), MAX_QUOTED)
    }

    fn json(&self, json: Option<&Json>) -> String {
        let Some(mut json) = json.cloned() else {
            return "nothing".to_owned();
        };
        self.redactor.json(&mut json);
        shortened(&json.to_string(), MAX_QUOTED)
    }

    fn questions(&self, questions: &[Asked]) -> String {
        let question = |asked: &Asked| {
            let role = asked.role.as_deref();
            let role = role.map_or_else(String::new, |role| format!(" by {role}"));
            format!("{} {:?}{role}", asked.kind.name(), asked.text)
        };
        let text = questions.iter().map(question).collect::<Vec<_>>();
        let text = if text.is_empty() {
            "nothing".to_owned()
        } else {
            text.join(", ")
        };
        shortened(&self.redactor.text(&text), MAX_QUOTED)
    }

    fn error(&self, error: &StepError) -> String {
        let text = format!("{}: {}", error.class, error.message);
        shortened(&self.redactor.text(&text), MAX_QUOTED)
    }
}

/// Returns the differences between two runs.
pub(super) fn compare(
    program: &Program,
    original: &OriginalRun,
    replayed: &ReplayedRun,
    redaction: &Redaction,
) -> Vec<Difference> {
    let outcome = replayed.played.outcome.as_ref();
    let open = outcome.map(|outcome| outcome.left_open(program));
    let unanswered = replayed.played.unanswered.iter();
    let mut comparison = Comparison {
        program,
        plan: &program.plan,
        original,
        replayed,
        redaction,
        unanswered: unanswered.map(|call| call.path.clone()).collect(),
        open: open.unwrap_or_default(),
        found: Vec::new(),
    };
    comparison.steps(outcome);
    if comparison.unanswered.is_empty() {
        comparison.tasks();
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
        let reports = outcome.map(Outcome::steps).unwrap_or_default();
        let paths = reports.into_iter().map(|step| step.path);
        let others = replayed.steps.keys().chain(original.steps.keys()).cloned();
        let paths: IndexSet<Arc<str>> = paths.chain(others).collect();
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
            let counts = [original.attempts.len(), replayed.attempts.len()].map(times);
            let message =
                format!("`{path}` makes one more call, for which the original run has no answer");
            return self.report(Kind::Calls, path, message, counts);
        }
        if !self.unanswered.is_empty() {
            return;
        }
        if original.questions != replayed.questions {
            let asked = [original, replayed].map(|step| self.redaction.questions(&step.questions));
            let message = format!("`{path}` asks people something else");
            return self.report_values(Kind::Question, path, message, asked);
        }
        let is_call = |attempt: &&Attempt| attempt.arguments.is_some();
        let calls = [original, replayed].map(|step| step.attempts.iter().filter(is_call).count());
        let reuses = |step: &StepHistory| !step.attempts.iter().all(|attempt| is_call(&attempt));
        // The state of a step that makes no call at all explains the difference.
        let both_call = !calls.contains(&0);
        if both_call && calls[0] != calls[1] && !reuses(original) && !reuses(replayed) {
            let message = format!("`{path}` makes a different number of calls");
            return self.report(Kind::Calls, path, message, calls.map(times));
        }
        if let (Some(original), Some(replayed)) = (&original.end, &replayed.end) {
            self.step_end(path, original, replayed);
        } else if original.end.is_some() != replayed.end.is_some() {
            let words = [original, replayed].map(|step| match &step.end {
                Some(end) => state(end),
                None => "has not ended".to_owned(),
            });
            self.report(
                Kind::State,
                path,
                format!("`{path}` ends differently"),
                words,
            );
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
        let which = match index {
            0 => format!("`{path}`"),
            _ => format!("call {} of `{path}`", index + 1),
        };
        let (kind, finding) = if original.tool != replayed.tool {
            let finding = self.finding(path, format!("{which} calls another tool"));
            (Kind::Tool, finding.expected(&original.tool, &replayed.tool))
        } else if before != after {
            let message = format!("{which} calls `{}` with other arguments", replayed.tool);
            let sensitive = [&*original.sensitive, &replayed.sensitive];
            let values = self.redaction.values([before, after], sensitive);
            (
                Kind::Arguments,
                with_values(self.finding(path, message), values),
            )
        } else {
            return None;
        };
        let path = path.clone();
        Some(Difference {
            kind,
            path,
            finding,
        })
    }

    fn contract(&self, path: &Arc<str>, replayed: &StepHistory) -> Option<Difference> {
        let first = replayed.attempts.first();
        let tool = &first.filter(|attempt| attempt.arguments.is_some())?.tool;
        let before = self.original.contracts.get(&**tool)?;
        let mut calls = self.replayed.played.calls.iter();
        let called = calls.find(|call| call.path == *path)?;
        if *called.signature.digest() == **before {
            return None;
        }
        let message = format!(
            "the contract of `{tool}`, which `{path}` calls, has changed since the original run"
        );
        Some(Difference {
            kind: Kind::Contract,
            path: path.clone(),
            finding: self.finding(path, message),
        })
    }

    fn step_end(&mut self, path: &Arc<str>, original: &StepEnd, replayed: &StepEnd) {
        let ends = [original, replayed];
        let [before, after] = ends.map(|end| (end.state, &end.reason, end.recovered));
        if before != after {
            let message = format!("`{path}` ends differently");
            return self.report(Kind::State, path, message, ends.map(state));
        }
        let [before, after] = ends.map(|end| why(end.error.as_deref()));
        if before != after {
            let errors = ends.map(|end| match &end.error {
                Some(error) => self.redaction.error(error),
                None => "nothing".to_owned(),
            });
            let message = format!("`{path}` fails differently");
            self.report_values(Kind::Outcome, path, message, errors);
        } else if let (Some(before), Some(after)) = (&original.output, &replayed.output)
            && before != after
        {
            let sensitive = ends.map(|end| &*end.sensitive);
            let values = self.redaction.values([before, after], sensitive);
            let message = format!("`{path}` returns another result");
            self.report_values(Kind::Outcome, path, message, values);
        }
    }

    fn new_step(&mut self, path: &Arc<str>) {
        let reported = self.is_below(path, Kind::New) || self.is_unsettled(path);
        let follows = !self.unanswered.is_empty() && !self.unanswered.contains(path);
        if reported || follows {
            return;
        }
        let mut unanswered = self.replayed.played.unanswered.iter();
        let called = unanswered.find(|call| call.path == *path);
        let finding = if let Some(call) = called {
            let message = format!(
                "`{path}` calls `{}`, which the original run did not do there, so there is no answer for it",
                call.signature.path()
            );
            let step = self.replayed.history.steps.get(path);
            let attempt = step.and_then(|step| step.attempts.first());
            let sensitive = attempt.map_or(&[][..], |attempt| &attempt.sensitive);
            let arguments = self.redaction.value(&call.arguments, sensitive);
            let finding = self.finding(path, message);
            let finding = finding.note(format!("it is called with {arguments}"));
            finding.help("differences that follow from this are not reported")
        } else {
            let message = format!("`{path}` is new: the original run has no such step");
            self.finding(path, message)
        };
        self.add(Kind::New, path, finding);
    }

    fn gone_step(&mut self, path: &Arc<str>) {
        if self.is_below(path, Kind::Gone) || self.is_unsettled(path) || !self.unanswered.is_empty()
        {
            return;
        }
        let step = self.original.history.steps.get(path);
        let attempt = step.and_then(|step| step.attempts.first());
        let tool = attempt.map(|attempt| &attempt.tool);
        let message = match tool.filter(|tool| !tool.is_empty()) {
            Some(tool) => format!("`{path}` is missing: the original run called `{tool}` there"),
            None => format!("`{path}` is missing: the original run has this step"),
        };
        let finding = self.finding(path, message);
        self.add(Kind::Gone, path, finding);
    }

    /// Compares the tasks at the end. A step whose progress depends on the clock might have moved them.
    fn tasks(&mut self) {
        if !self.open.is_empty() {
            return;
        }
        let tasks = [&self.original.history.tasks, &self.replayed.history.tasks];
        let paths: BTreeSet<&Arc<str>> = tasks.iter().flat_map(|tasks| tasks.keys()).collect();
        for path in paths {
            let states = tasks.map(|tasks| tasks.get(path));
            let statuses = states.map(|state| state.map_or("not set", |(status, _)| status));
            let contexts = states.map(|state| state.map_or(&Value::Null, |(_, context)| context));
            if statuses[0] != statuses[1] {
                let message = format!("the task `{path}` has another status");
                self.report(Kind::Task, path, message, statuses.map(str::to_owned));
            } else if contexts[0] != contexts[1] {
                let values = self.redaction.values(contexts, [&[], &[]]);
                let message = format!("the task `{path}` has another context");
                self.report_values(Kind::Task, path, message, values);
            }
        }
    }

    fn end(&mut self) {
        let histories = [&self.original.history, &self.replayed.history];
        let run: Arc<str> = "".into();
        let state = |history: &History| history.state.unwrap_or(RunState::Running);
        let [before, after] =
            histories.map(|history| (state(history), why(history.error.as_deref())));
        if before != after {
            let words = histories.map(|history| match &history.error {
                Some(error) => format!("{} with {}", state(history), self.redaction.error(error)),
                None => state(history).to_string(),
            });
            let message = "the run ends differently".to_owned();
            self.report_values(Kind::End, &run, message, words);
        }
        let replies = histories.map(|history| history.reply.as_ref());
        if replies[0] != replies[1] {
            let place = self.reply();
            let finding = codes::tests::REPLAY_PARTS.at(place, "the reply is different");
            let replies = replies.map(|reply| self.redaction.json(reply));
            self.found.push(Difference {
                kind: Kind::Reply,
                path: run,
                finding: with_values(finding, replies),
            });
        }
    }

    /// Reports a difference with what was expected and what is the case.
    fn report(&mut self, kind: Kind, path: &Arc<str>, message: String, [was, is]: [String; 2]) {
        let finding = self.finding(path, message).expected(was, is);
        self.add(kind, path, finding);
    }

    /// Reports a difference between two values, which may be secret.
    fn report_values(&mut self, kind: Kind, path: &Arc<str>, message: String, both: [String; 2]) {
        let finding = with_values(self.finding(path, message), both);
        self.add(kind, path, finding);
    }

    fn add(&mut self, kind: Kind, path: &Arc<str>, finding: Diagnostic) {
        let path = path.clone();
        self.found.push(Difference {
            kind,
            path,
            finding,
        });
    }

    pub fn finding(&self, path: &str, message: String) -> Diagnostic {
        codes::tests::REPLAY_PARTS.at(place(self.plan, path), message)
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
        let nodes = self.plan.blocks.first().map(|block| &block.nodes);
        let mut nodes = nodes.into_iter().flatten();
        let last = nodes.rfind(|node| matches!(node.kind, NodeKind::Reply(_)));
        last.map_or(self.plan.span, |node| node.span)
    }
}

/// Returns the span of the innermost step of a path that is written in the plan itself, or of its task; the span of the
/// plan's name if there is none.
fn place(plan: &Plan, path: &str) -> Span {
    let nodes = || plan.blocks.iter().flat_map(|block| &block.nodes);
    let of = |part: &str| {
        let name = part.split('[').next().unwrap_or_default();
        nodes()
            .find(|node| node.name.as_deref() == Some(name))
            .and_then(|node| node.step())
            .map(|step| step.span)
    };
    let task = || {
        let mut tasks = nodes().filter(|node| matches!(node.kind, NodeKind::Task(_)));
        tasks.find(|node| node.name.as_deref() == Some(path))
    };
    let found = path.rsplit('.').find_map(of);
    found
        .or_else(|| task().map(|node| node.span))
        .unwrap_or(plan.span)
}

/// Adds both values to a finding, or a note if they are equal once redacted.
fn with_values(finding: Diagnostic, [before, after]: [String; 2]) -> Diagnostic {
    if before == after {
        finding.note("the difference is in secret values, which are not shown")
    } else {
        finding.expected(before, after)
    }
}

/// Returns what distinguishes an error.
fn why(error: Option<&StepError>) -> Option<(&ErrorClass, &str)> {
    error.map(|error| (&error.class, &*error.message))
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
