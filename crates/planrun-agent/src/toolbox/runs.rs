//! Calls and plans as runs: approved if they change something, driven until they end or wait, and reported to the
//! model.

use std::fmt::Write as _;
use std::sync::Arc;

use planrun_core::journal::{Event, EventKind, StepError, Waiting};
use planrun_core::run::Outcome;
use planrun_lang::call::sensitive_arguments;
use planrun_lang::diag::render::{command, visible_line};
use planrun_lang::protocol::RunState;
use planrun_lang::secrets::redact_paths;
use planrun_lang::sema::inputs_of_call;
use planrun_lang::types::{Denied, ErrorClass, Signature};
use planrun_lang::value::Value;
use planrun_runs::driver::Answering;
use planrun_runs::runs::{CheckedPlan, Error, InputReader, Inputs, ResumeOptions, Run};
use planrun_serve::asking::PendingQuestion;
use planrun_serve::mode::{Reply, run_options};
use planrun_serve::report;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::Toolbox;

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    Answered(String),
    /// The reason for the failure, as a message for the model.
    Failed(String),
    /// The run waits for an answer that no one here can give.
    Waits {
        run: String,
        question: String,
    },
}

/// The meaning of a run for the model.
#[derive(Clone)]
pub(super) enum Shape<'a> {
    Call(&'a Arc<Signature>),
    Plan {
        base: Option<String>,
        max_tokens: Option<usize>,
    },
}

impl Called {
    pub(super) fn of(reply: Reply) -> Self {
        match reply {
            Reply::Success { text, .. } => Self::Answered(text),
            Reply::Failed(why) | Reply::Unknown(why) => Self::Failed(why),
            Reply::Waits { question, .. } | Reply::Asks(question, _) => Self::waits(&question),
        }
    }

    fn waits(question: &PendingQuestion) -> Self {
        Self::Waits {
            run: question.run.clone(),
            question: question_text(question),
        }
    }
}

/// Returns a question with the command that answers it.
fn question_text(question: &PendingQuestion) -> String {
    format!("{}\n{}", question.command(), question.text)
}

impl Toolbox {
    /// Starts a run of a plan, and drives it until it ends or waits.
    pub(super) async fn start(
        &self,
        plan: &CheckedPlan,
        inputs: Map<String, Json>,
        (run, shape): (&str, Shape<'_>),
        cancel: &CancellationToken,
    ) -> Called {
        let started = self.begin(plan, inputs, (run, &shape), cancel).await;
        match started {
            Ok(run) => self.drive(run, &shape, cancel).await,
            Err(error) => Called::of(Reply::from(error)),
        }
    }

    async fn begin(
        &self,
        plan: &CheckedPlan,
        inputs: Map<String, Json>,
        (run, shape): (&str, &Shape<'_>),
        cancel: &CancellationToken,
    ) -> Result<Run, Error> {
        let base = match shape {
            Shape::Plan {
                base: Some(run), ..
            } => Some(self.planrun().base(run).await?),
            Shape::Plan { base: None, .. } | Shape::Call(_) => None,
        };
        let mut reader = InputReader::new(&plan.plan);
        if let Some(base) = &base {
            reader.take_over(&base.inputs_for(&plan.plan));
        }
        let arguments_text = match shape {
            Shape::Call(tool) => describe_arguments(&inputs, tool),
            Shape::Plan { .. } => String::new(),
        };
        reader.take_object(match shape {
            Shape::Call(tool) => inputs_of_call(tool, inputs).collect(),
            Shape::Plan { .. } => inputs,
        })?;
        let inputs = reader.finish()?;
        plan.verify_contracts().await?;
        // The inputs of a single call are listed as its arguments.
        let none = Inputs::default();
        let listed = match shape {
            Shape::Plan { .. } => &inputs,
            Shape::Call(_) => &none,
        };
        let mut options = run_options(self.planrun(), plan, run.to_owned(), listed, base)?;
        if let Some(approval) = &mut options.approval {
            approval.text = format!("{}{arguments_text}", approval.text).into();
        }
        options.drive = self.resume_options(cancel);
        self.planrun().start(plan, inputs, options)
    }

    /// Resumes a run that an earlier process left unfinished. Returns an error if there is no such run, or it cannot be
    /// resumed.
    pub async fn resume(&self, run: &str, cancel: &CancellationToken) -> Result<Called, Error> {
        let run = self.planrun().resume(run, self.resume_options(cancel))?;
        let shape = Shape::Plan {
            base: None,
            max_tokens: None,
        };
        Ok(self.drive(run, &shape, cancel).await)
    }

    fn resume_options(&self, cancel: &CancellationToken) -> ResumeOptions {
        ResumeOptions {
            answering: Answering {
                answers: Vec::new(),
                asker: self.asker.clone(),
            },
            // After a cancellation, effects in flight are awaited.
            cancel: cancel.clone(),
            ..ResumeOptions::default()
        }
    }

    async fn drive(&self, run: Run, shape: &Shape<'_>, cancel: &CancellationToken) -> Called {
        let id = run.id().to_owned();
        // A call that waits for an answer does not end the run.
        let mut report = |event: &Event| {
            if let EventKind::StepAsks { path, question } = &event.kind
                && question.kind == Waiting::Peer
                && self.asker.is_none()
            {
                let asked = PendingQuestion::new(&id, &question.path(path), question.clone());
                (self.report_question)(&question_text(&asked));
            }
        };
        match run.drive(&mut report).await {
            Ok(driven) => called(&driven.outcome, shape, cancel),
            Err(error) => Called::Failed(format!("run {id}: {error}")),
        }
    }
}

fn called(outcome: &Outcome, shape: &Shape<'_>, cancel: &CancellationToken) -> Called {
    let run = &outcome.run;
    match outcome.state {
        RunState::Completed => Called::Answered(result(outcome, shape)),
        RunState::Running | RunState::Paused if cancel.is_cancelled() => Called::Failed(format!(
            "[Interrupted] The user stopped it; resume run {run} with `{}`.",
            command(&format!("runs resume {run}"))
        )),
        RunState::Running | RunState::Paused => match outcome.questions.first() {
            Some((path, question)) => {
                Called::waits(&PendingQuestion::new(run, path, question.clone()))
            }
            None => Called::Failed(report::failure(outcome)),
        },
        RunState::Failed | RunState::Cancelled | RunState::Stalled => {
            Called::Failed(failure(outcome, shape))
        }
    }
}

/// Returns the result of a completed run; of a call only the value, unless it has to be truncated.
fn result(outcome: &Outcome, shape: &Shape<'_>) -> String {
    let max_tokens = match shape {
        Shape::Call(_) => {
            let reply = outcome.redacted_reply().unwrap_or(Value::Null);
            let (reply, _) = report::separated(&reply);
            let shortened = report::shorten(&reply, None);
            if shortened.cuts.is_empty() {
                return match reply {
                    Json::String(text) => text,
                    other => other.to_string(),
                };
            }
            None
        }
        Shape::Plan { max_tokens, .. } => *max_tokens,
    };
    report::success(outcome, max_tokens).0
}

fn failure(outcome: &Outcome, shape: &Shape<'_>) -> String {
    let error = outcome.error.as_deref().map(StepError::innermost);
    let Some(error) = error else {
        return report::failure(outcome);
    };
    match (&error.class, shape) {
        (ErrorClass::Denied(Denied::Human), Shape::Call(_)) => {
            format!("Rejected: {}. Nothing was called.", error.message)
        }
        (ErrorClass::Denied(Denied::Human), Shape::Plan { .. }) => {
            format!("Rejected: {}.\n{}", error.message, report::failure(outcome))
        }
        (ErrorClass::UnknownOutcome, _) | (_, Shape::Plan { .. }) => report::failure(outcome),
        (class, Shape::Call(tool)) => {
            format!(
                "Error executing {}: {class}: {}",
                tool.path(),
                error.message
            )
        }
    }
}

/// Describes the arguments of a call for the approver, with those that its tool declares secret redacted. Nothing is
/// left out: a person must be able to read what they approve.
fn describe_arguments(arguments: &Map<String, Json>, tool: &Signature) -> String {
    let inbox = command("runs inbox --format json");
    let mut text = format!("\nIts arguments (in full: {inbox}):");
    let arguments = Value::from_json(&Json::Object(arguments.clone()));
    let redacted = redact_paths(&arguments, &sensitive_arguments(tool, &arguments)).to_json();
    for (name, value) in redacted.as_object().into_iter().flatten() {
        let value = value.to_string();
        let _ = write!(text, "\n| {}: {}", visible_line(name), visible_line(&value));
    }
    text
}
