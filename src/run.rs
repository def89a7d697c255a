//! Runs: starting, driving, following, signalling, and resuming them in another process.
//!
//! A run is written to the project's journal before any of it executes, so every process that opens the project can
//! resume it: after a crash, after a deployment, or because a person answered a week later. At most one process at a
//! time drives a run.
//!
//! ```
//! use planrun::check::PlanText;
//! use planrun::run::{Addressee, CancelOptions, EventOptions, ResumeOptions, RunFilter, RunOptions};
//! use planrun::run::{RunState, Silence, SubmittedAnswer};
//! use planrun::{ErrorKind, Planrun};
//! use serde_json::{Map, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let planrun = Planrun::open(folder.path())?;
//! let text = r#"
//!     plan order(item: string) -> string {
//!         step form = input "How many?" -> { count: int }
//!         step paid = wait for signal "paid" -> { euros: int }
//!         reply "${form.count} ${item} for ${paid.euros} euros"
//!     }"#;
//! let plan = planrun.check(PlanText::new("order.plan", text))?.plan(None)?;
//! let inputs = plan.inputs(Map::from_iter([("item".to_owned(), json!("cups"))]))?;
//!
//! // An id is generated if none is given. If a run with the same id, plan and inputs exists, it is resumed.
//! let options = RunOptions { id: Some("order-1".to_owned()), ..RunOptions::default() };
//! let run = planrun.start(&plan, inputs, options)?;
//! // The plan asks a question and no one is there to answer: the run is suspended.
//! let outcome = run.drive(&mut Silence).await?.outcome;
//! assert_eq!(outcome.state, RunState::Paused);
//!
//! // Any process of the project sees the question and can answer it. An answer of the wrong type is refused.
//! let (path, question) = planrun.questions("order-1")?.questions().remove(0);
//! assert_eq!((&*path, &*question.text), ("form", "How many?"));
//! let order = Addressee::Run("order-1");
//! let refused = planrun.answer(order, &[SubmittedAnswer::new("form", json!({ "count": "many" }))]);
//! assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
//! planrun.answer(order, &[SubmittedAnswer::new("form", json!({ "count": 3 }))])?;
//!
//! planrun.signal("order-1", "paid", json!({ "euros": 12 }))?;
//! let outcome = planrun.resume("order-1", ResumeOptions::default())?.drive(&mut Silence).await?.outcome;
//! assert_eq!(outcome.reply, Some("3 cups for 12 euros".into()));
//!
//! // The events of the run: one JSON object each, with secrets redacted. The stream ends with the run.
//! let mut events = planrun.follow("order-1", EventOptions::default())?;
//! let mut last = String::new();
//! while let Some(event) = events.next().await {
//!     last = event?.line;
//! }
//! assert!(last.contains("run.settled"), "{last}");
//!
//! let completed = RunFilter { states: vec![RunState::Completed], ..RunFilter::default() };
//! assert_eq!(planrun.list(&completed)?[0].run, "order-1");
//! // A run that has ended accepts no further command.
//! let late = planrun.cancel("order-1", CancelOptions::default(), ResumeOptions::default());
//! assert_eq!(late.err().map(|error| error.kind()), Some(ErrorKind::Conflict));
//! # Ok(())
//! # }
//! ```
//!
//! An [`Observer`] receives each event while this process drives the run; a closure over [`Event`] is an observer. An
//! [`Asker`] in [`Answering`] is called as soon as a question comes up. Times are in nanoseconds since the Unix
//! epoch, UTC.
//!
//! All methods but [`Run::drive`] and [`FollowedEvents::next`] read and write files and wait for the disk. In a server,
//! call them in `tokio::task::spawn_blocking`.

pub use planrun_core::journal::{
    AnswerError, Event, EventKind, FormField, Question, StepError, SubmittedAnswer, Waiting,
};
pub use planrun_core::run::{Approval, Asking, Interruption, Outcome, StepReport, Usage};
pub use planrun_lang::protocol::{RunState, StepState};
pub use planrun_lang::value::Value;
pub use planrun_runs::driver::{Answering, Asker, Observer, Silence};
pub use planrun_runs::forecast::Forecast;
pub use planrun_runs::runs::{
    Addressee, Answered, Base, CancelOptions, Driven, EventOptions, ExportFault, Exported,
    FollowedEvents, Inbox, Inputs, OpenRun, Prunable, Prune, Pruned, Receiver, RecordedRun,
    ResumeOptions, Run, RunEvent, RunEvents, RunFilter, RunInfo, RunOptions, RunSummary,
};
pub use tokio_util::sync::CancellationToken;
