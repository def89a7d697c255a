//! Calls and plans as runs: approved where they change something, driven to where they rest, and told to the model.

use std::fmt::Write as _;
use std::sync::Arc;

use planrun_core::journal::StepError;
use planrun_core::run::{Approval, Outcome};
use planrun_lang::diag::render::visible_line;
use planrun_lang::protocol::RunState;
use planrun_lang::secrets::hidden;
use planrun_lang::types::{Denied, ErrorClass, Signature};
use planrun_lang::value::Value;
use planrun_runs::driver::{Answering, Silence};
use planrun_runs::runs::{CheckedPlan, Error, InputReader, ResumeOptions, Run, RunOptions};
use planrun_serve::asking::PutQuestion;
use planrun_serve::mode::{Reply, approval};
use planrun_serve::report;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::Toolbox;

/// Bytes of an argument in the question before a call, and of all of them.
const ARGUMENT_BYTES: usize = 300;
const ARGUMENTS_BYTES: usize = 1_200;

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    Answered(String),
    /// Why nothing came of it, for the model.
    Failed(String),
    /// Its run waits for somebody who is not here.
    Waits {
        run: String,
        question: String,
    },
}

/// What a run is for the model.
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
            Reply::Told { text, .. } => Self::Answered(text),
            Reply::Failed(why) | Reply::Unknown(why) => Self::Failed(why),
            Reply::Waits { question, .. } | Reply::Asks(question, _) => Self::Waits {
                run: question.run.clone(),
                question: question.text.clone(),
            },
        }
    }
}

impl Toolbox {
    /// Starts a run of a plan, and drives it to where it rests.
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
            reader.take_over(base.inputs());
        }
        let told = match shape {
            Shape::Call(tool) => told(&inputs, tool),
            Shape::Plan { .. } => String::new(),
        };
        reader.take_object(inputs)?;
        let inputs = reader.finish()?;
        plan.verify_contracts().await?;
        let bounds = plan.bounds(None);
        let approval = match plan.grant(&bounds) {
            Some(grant) => {
                let standing = plan.standing_grant(self.planrun(), &grant)?;
                let asked = approval(run, &plan.plan, &bounds, standing.unwrap_or(grant));
                let text = format!("{}{told}", asked.text).into();
                Some(Approval { text, ..asked })
            }
            None => None,
        };
        let options = RunOptions {
            id: Some(run.to_owned()),
            approval,
            base,
            drive: self.how(cancel),
            ..RunOptions::default()
        };
        self.planrun().start(plan, inputs, options)
    }

    /// Goes on with a run that rested, as a process before this one left it.
    ///
    /// # Errors
    /// Where there is no such run, or it cannot be gone on with.
    pub async fn resume(&self, run: &str, cancel: &CancellationToken) -> Result<Called, Error> {
        let run = self.planrun().resume(run, self.how(cancel))?;
        let shape = Shape::Plan {
            base: None,
            max_tokens: None,
        };
        Ok(self.drive(run, &shape, cancel).await)
    }

    fn how(&self, cancel: &CancellationToken) -> ResumeOptions {
        ResumeOptions {
            answering: Answering {
                answers: Vec::new(),
                asker: self.asker.clone(),
            },
            // What is in flight and changes something is awaited.
            cancel: cancel.clone(),
            ..ResumeOptions::default()
        }
    }

    async fn drive(&self, run: Run, shape: &Shape<'_>, cancel: &CancellationToken) -> Called {
        let id = run.id().to_owned();
        match run.drive(&mut Silence).await {
            Ok(driven) => came_of(&driven.outcome, shape, cancel),
            Err(error) => Called::Failed(format!("run {id}: {error}")),
        }
    }
}

fn came_of(outcome: &Outcome, shape: &Shape<'_>, cancel: &CancellationToken) -> Called {
    let run = &outcome.run;
    match outcome.state {
        RunState::Completed => Called::Answered(result(outcome, shape)),
        RunState::Running | RunState::Paused if cancel.is_cancelled() => Called::Failed(format!(
            "[Interrupted] The user stopped it; run {run} goes on with `planrun runs resume {run}`."
        )),
        RunState::Running | RunState::Paused => match outcome.questions.first() {
            Some((path, question)) => {
                let question = PutQuestion::new(run, path, question.clone());
                let question = format!("{}\n{}", question.command(), question.text);
                let run = run.clone();
                Called::Waits { run, question }
            }
            None => Called::Failed(report::failure(outcome)),
        },
        RunState::Failed | RunState::Cancelled | RunState::Stalled => {
            Called::Failed(failure(outcome, shape))
        }
    }
}

/// What a completed run gives: of a call the value alone, unless it is too long.
fn result(outcome: &Outcome, shape: &Shape<'_>) -> String {
    let max_tokens = match shape {
        Shape::Call(_) => {
            let reply = outcome.shown_reply().unwrap_or(Value::Null);
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

/// The arguments of a call without what its tool says is secret, for whoever is asked whether it may be made.
fn told(arguments: &Map<String, Json>, tool: &Signature) -> String {
    let mut text = "\nIts arguments:".to_owned();
    let arguments = Value::from_json(&Json::Object(arguments.clone()));
    let shown = hidden(&arguments, &tool.sensitive).to_json();
    for (name, value) in shown.as_object().into_iter().flatten() {
        let value = cut(&value.to_string(), ARGUMENT_BYTES);
        let _ = write!(text, "\n| {}: {}", visible_line(name), visible_line(&value));
    }
    cut(&text, ARGUMENTS_BYTES)
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!(
        "{}… ({} bytes in all)",
        text.get(..end).unwrap_or_default(),
        text.len()
    )
}
