//! Compares a replay with the recorded run: where they differ, in the order of the plan, with values redacted.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::secrets::{Redactor, hidden};
use planrun_lang::sema::{NodeKind, Plan};
use planrun_lang::source::Span;
use planrun_lang::value::{Value, shortened};
use serde_json::Value as Json;

use super::history::{Attempt, End, History, StepHistory};
use super::{Now, Then};
use crate::plantest::MAX_QUOTED;
use planrun_core::journal::StepError;
use planrun_core::run::{Outcome, Program};

/// What two runs differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// What the plan takes.
    Inputs,
    /// Which tool is called.
    Tool,
    /// What it is called with.
    Arguments,
    /// How often it is called.
    Calls,
    /// The contract of the tool.
    Contract,
    /// Whether a step runs, and how it ends.
    State,
    /// What it gives, or why it fails.
    Outcome,
    /// A step that was not there.
    New,
    /// A step that is not there any more.
    Gone,
    Reply,
    /// How the run ends.
    End,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inputs => "inputs",
            Self::Tool => "tool",
            Self::Arguments => "arguments",
            Self::Calls => "calls",
            Self::Contract => "contract",
            Self::State => "state",
            Self::Outcome => "outcome",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Reply => "reply",
            Self::End => "end",
        }
    }
}

/// One place where the runs part.
#[derive(Clone, Debug)]
pub struct Difference {
    pub kind: Kind,
    /// The step; empty for the run.
    pub path: Arc<str>,
    pub finding: Diagnostic,
}

/// What must not be seen of either run.
pub struct Views {
    redactor: Redactor,
}

impl Views {
    /// What neither run shows.
    #[must_use]
    pub fn of(then: &Outcome, now: Option<&Outcome>) -> Self {
        let mut redactor = then.secrets().clone();
        if let Some(now) = now {
            redactor.join(now.secrets());
        }
        Self { redactor }
    }

    fn value(&self, value: &Value, sensitive: &[Arc<str>]) -> String {
        let value = hidden(value, sensitive);
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

/// Where two runs part.
pub(super) fn compare(program: &Program, then: &Then, now: &Now, views: &Views) -> Vec<Difference> {
    let plan = &*program.plan;
    let unanswered = now
        .played
        .unanswered
        .iter()
        .map(|call| call.path.clone())
        .collect();
    let outcome = now.played.outcome.as_ref();
    let open = outcome
        .map(|outcome| outcome.left_open(program))
        .unwrap_or_default();
    let mut comparison = Comparison {
        plan,
        then,
        now,
        views,
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

struct Comparison<'a> {
    plan: &'a Plan,
    then: &'a Then,
    now: &'a Now,
    views: &'a Views,
    /// Calls that the run of then has no answer to. It ends with them, and what follows from that is not reported.
    unanswered: BTreeSet<Arc<str>>,
    /// Steps of the plan whose end hangs on the clock.
    open: BTreeSet<Arc<str>>,
    found: Vec<Difference>,
}

impl Comparison<'_> {
    fn steps(&mut self, outcome: Option<&Outcome>) {
        let (then, now) = (&self.then.history, &self.now.history);
        let mut paths: Vec<Arc<str>> = outcome
            .map(Outcome::steps)
            .unwrap_or_default()
            .into_iter()
            .map(|step| step.path)
            .collect();
        let mut known: BTreeSet<Arc<str>> = paths.iter().cloned().collect();
        paths.extend(
            now.steps
                .keys()
                .chain(then.steps.keys())
                .filter(|path| known.insert((*path).clone()))
                .cloned(),
        );
        for path in &paths {
            match (then.steps.get(path), now.steps.get(path)) {
                (Some(then), Some(now)) => self.step(path, then, now),
                (None, Some(_)) => self.new_step(path),
                (Some(_), None) => self.gone_step(path),
                (None, None) => {}
            }
        }
    }

    fn step(&mut self, path: &Arc<str>, then: &StepHistory, now: &StepHistory) {
        let calls = then.attempts.iter().zip(&now.attempts).enumerate();
        let called =
            |(index, (then, now)): (usize, (&Attempt, &Attempt))| self.call(path, index, then, now);
        let other = calls.clone().find_map(called);
        let parts = other.is_some();
        self.found.extend(other);
        let contract = self.contract(path, now);
        self.found.extend(contract);
        if parts || self.is_unsettled(path) {
            return;
        }
        if self.unanswered.contains(path) {
            let (before, after) = (then.attempts.len(), now.attempts.len());
            let message =
                format!("`{path}` calls once more than it did, and the run has no answer to that");
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
        let taken = |step: &StepHistory| {
            step.attempts
                .iter()
                .any(|attempt| attempt.arguments.is_none())
        };
        // A step that does not call at all tells why with its state.
        let both_call = calls(then) > 0 && calls(now) > 0;
        if both_call && calls(then) != calls(now) && !taken(then) && !taken(now) {
            let finding = self.finding(path, format!("`{path}` does not call as often as it did"));
            let finding = finding.expected(times(calls(then)), times(calls(now)));
            return self.report(Kind::Calls, path, finding);
        }
        if let (Some(then), Some(now)) = (&then.end, &now.end) {
            self.step_end(path, then, now);
        } else if then.end.is_some() != now.end.is_some() {
            let word = |end: &Option<End>| end.as_ref().map_or("has not ended".to_owned(), state);
            let finding = self.finding(path, format!("`{path}` does not end as it did"));
            let finding = finding.expected(word(&then.end), word(&now.end));
            self.report(Kind::State, path, finding);
        }
    }

    fn call(
        &self,
        path: &Arc<str>,
        index: usize,
        then: &Attempt,
        now: &Attempt,
    ) -> Option<Difference> {
        let (before, after) = (then.arguments.as_ref()?, now.arguments.as_ref()?);
        let which = if index == 0 {
            format!("`{path}`")
        } else {
            format!("call {} of `{path}`", index + 1)
        };
        if then.tool != now.tool {
            let finding = self.finding(path, format!("{which} calls another tool than it did"));
            let finding = finding.expected(&then.tool, &now.tool);
            return Some(Difference {
                kind: Kind::Tool,
                path: path.clone(),
                finding,
            });
        }
        if before == after {
            return None;
        }
        let labels: Vec<Arc<str>> = then
            .sensitive
            .iter()
            .chain(&now.sensitive)
            .cloned()
            .collect();
        let (before, after) = (
            self.views.value(before, &labels),
            self.views.value(after, &labels),
        );
        let finding = self.finding(
            path,
            format!(
                "{which} calls `{}` with something else than it did",
                now.tool
            ),
        );
        Some(Difference {
            kind: Kind::Arguments,
            path: path.clone(),
            finding: held(finding, before, after),
        })
    }

    fn contract(&self, path: &Arc<str>, now: &StepHistory) -> Option<Difference> {
        let tool = &now
            .attempts
            .first()
            .filter(|attempt| attempt.arguments.is_some())?
            .tool;
        let before = self.then.contracts.get(&**tool)?;
        let called = self
            .now
            .played
            .calls
            .iter()
            .find(|call| call.path == *path)?;
        if *called.signature.digest() == **before {
            return None;
        }
        let finding = self.finding(
            path,
            format!("the contract of `{tool}`, which `{path}` calls, has changed since"),
        );
        Some(Difference {
            kind: Kind::Contract,
            path: path.clone(),
            finding,
        })
    }

    fn step_end(&mut self, path: &Arc<str>, then: &End, now: &End) {
        if (then.state, &then.reason, then.recovered) != (now.state, &now.reason, now.recovered) {
            let finding = self.finding(path, format!("`{path}` does not end as it did"));
            return self.report(Kind::State, path, finding.expected(state(then), state(now)));
        }
        let why = |end: &End| {
            end.error
                .as_ref()
                .map(|error| (error.class.clone(), error.message.clone()))
        };
        if why(then) != why(now) {
            let shown = |end: &End| {
                end.error
                    .as_ref()
                    .map_or("nothing".to_owned(), |error| self.views.error(error))
            };
            let finding = held(
                self.finding(path, format!("`{path}` fails otherwise")),
                shown(then),
                shown(now),
            );
            self.report(Kind::Outcome, path, finding);
        } else if let (Some(before), Some(after)) = (&then.output, &now.output)
            && before != after
        {
            let labels: Vec<Arc<str>> = then
                .sensitive
                .iter()
                .chain(&now.sensitive)
                .cloned()
                .collect();
            let (before, after) = (
                self.views.value(before, &labels),
                self.views.value(after, &labels),
            );
            let finding = held(
                self.finding(path, format!("`{path}` gives something else")),
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
            .now
            .played
            .unanswered
            .iter()
            .find(|call| call.path == *path);
        let finding = match call {
            Some(call) => {
                let message = format!(
                    "`{path}` calls `{}`, which the run did not do there, so that there is no answer to it",
                    call.signature.path()
                );
                let sensitive = self
                    .now
                    .history
                    .steps
                    .get(path)
                    .and_then(|step| step.attempts.first());
                let sensitive = sensitive
                    .map(|attempt| attempt.sensitive.clone())
                    .unwrap_or_default();
                let arguments = self.views.value(&call.arguments, &sensitive);
                let finding = self
                    .finding(path, message)
                    .note(format!("it is called with {arguments}"));
                finding.help("what follows from that is not told")
            }
            None => self.finding(path, format!("`{path}` is new: the run had no such step")),
        };
        self.report(Kind::New, path, finding);
    }

    fn gone_step(&mut self, path: &Arc<str>) {
        if self.is_below(path, Kind::Gone) || self.is_unsettled(path) || !self.unanswered.is_empty()
        {
            return;
        }
        let step = self.then.history.steps.get(path);
        let tool = step
            .and_then(|step| step.attempts.first())
            .map(|attempt| attempt.tool.clone());
        let message = match tool.filter(|tool| !tool.is_empty()) {
            Some(tool) => format!("`{path}` is gone: the run called `{tool}` there"),
            None => format!("`{path}` is gone: the run had such a step"),
        };
        let finding = self.finding(path, message);
        self.report(Kind::Gone, path, finding);
    }

    fn end(&mut self) {
        let (then, now) = (&self.then.history, &self.now.history);
        let run: Arc<str> = "".into();
        let why = |history: &History| {
            history
                .error
                .as_ref()
                .map(|error| (error.class.clone(), error.message.clone()))
        };
        let state = |history: &History| history.state.unwrap_or(RunState::Running);
        if state(then) != state(now) || why(then) != why(now) {
            let word = |history: &History| match &history.error {
                Some(error) => format!("{} with {}", state(history), self.views.error(error)),
                None => state(history).to_string(),
            };
            let finding = held(
                self.finding(&run, "the run ends otherwise".to_owned()),
                word(then),
                word(now),
            );
            self.report(Kind::End, &run, finding);
        }
        if then.reply != now.reply {
            let (before, after) = (
                self.views.json(then.reply.as_ref()),
                self.views.json(now.reply.as_ref()),
            );
            let finding = Diagnostic::new(
                &codes::tests::REPLAY_PARTS,
                self.reply(),
                "the reply is another one",
            );
            self.report(Kind::Reply, &run, held(finding, before, after));
        }
    }

    fn report(&mut self, kind: Kind, path: &Arc<str>, finding: Diagnostic) {
        self.found.push(Difference {
            kind,
            path: path.clone(),
            finding,
        });
    }

    fn finding(&self, path: &str, message: String) -> Diagnostic {
        Diagnostic::new(&codes::tests::REPLAY_PARTS, place(self.plan, path), message)
    }

    /// Whether a step stands in one of which the same is reported already.
    fn is_below(&self, path: &str, kind: Kind) -> bool {
        let outer = |other: &str| {
            path.strip_prefix(other)
                .is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        self.found
            .iter()
            .any(|found| found.kind == kind && outer(&found.path))
    }

    /// Whether the clock decides how far a step had come.
    fn is_unsettled(&self, path: &str) -> bool {
        let own = path.split(['.', '[']).next().unwrap_or_default();
        self.open.contains(own) && !self.unanswered.contains(path)
    }

    /// The last reply of the plan.
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

/// The place of the innermost step of a path that the plan's own text has; the name of the plan where it has none.
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

/// What was and what is; nothing of both where what differs must not be seen.
fn held(finding: Diagnostic, before: String, after: String) -> Diagnostic {
    if before == after {
        finding.note("what differs is not shown")
    } else {
        finding.expected(before, after)
    }
}

fn state(end: &End) -> String {
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
