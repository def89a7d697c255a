//! A language and an engine for plans of tool calls: checked before they run, durable while they run, tested in CI.
//!
//! A plan states in which order tools are called, which people are asked, and what happens when a step fails. planrun
//! checks a plan completely before it calls anything, runs it durably (after a crash, finished calls keep their
//! results, and no effect is repeated blindly), and lets people answer days later. This crate is the Rust interface;
//! the program `planrun` is another client of the same service.
//!
//! [`Planrun`] is a project: a folder with plans, an optional `planrun.yaml` that names tools, and the journal of its
//! runs. One process can drive any number of runs at the same time, and a `Planrun` can be cloned into each task.
//!
//! ```
//! use planrun::check::PlanText;
//! use planrun::run::{RunOptions, Silence};
//! use planrun::tool::{self, CallError};
//! use planrun::Planrun;
//! use serde_json::{Map, Value, json};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! // A tool written in Rust: its contract is what plans are checked against.
//! let length = tool::from_fn("tool text.length(text: string) -> int pure", |asked: Value| {
//!     Ok::<_, CallError>(asked["text"].as_str().unwrap_or_default().chars().count())
//! })?;
//! let planrun = Planrun::open(folder)?.with_tools([length]);
//!
//! let text = r#"
//!     use text
//!
//!     plan longest(words: string[]) -> int {
//!         step lengths = each word in words max 100 {
//!             step own = text.length(text: word)
//!             yield own
//!         }
//!         reply lengths.max() ?? 0
//!     }"#;
//! let plan = planrun.check(PlanText::new("longest.plan", text))?.plan(None)?;
//! let inputs = plan.inputs(Map::from_iter([("words".to_owned(), json!(["a", "plan"]))]))?;
//!
//! let run = planrun.start(&plan, inputs, RunOptions::default())?;
//! let outcome = run.drive(&mut Silence).await?.outcome;
//! assert_eq!(outcome.reply.map(|reply| reply.to_json()), Some(json!(4)));
//! # Ok(())
//! # }
//! ```
//!
//! Where to go from here:
//!
//! | to | see |
//! | --- | --- |
//! | check plan texts and render the diagnostics | [`check`] |
//! | add tools written in Rust | [`tool`] |
//! | start, follow, answer, signal, cancel, resume and list runs | [`run`] |
//! | preview a run without executing it | [`Planrun::forecast`] |
//! | test plans in `#[test]` | [`testing`] |
//!
//! Nothing in this interface prints, asks on a terminal, or ends the process. Every failure is an [`Error`] with an
//! [`ErrorKind`]. Driving a run requires a tokio runtime with time and IO enabled. The crates behind this one
//! (`planrun_lang`, `planrun_core`, `planrun_tools`, `planrun_runs`, `planrun_test`) are available for anything that
//! is not re-exported here, but only this crate promises a stable interface.

#![warn(clippy::missing_errors_doc, clippy::must_use_candidate)]

pub mod check;
// The implementation of the program. Its stable interface is its arguments and outputs, not its functions.
#[expect(
    clippy::must_use_candidate,
    reason = "these functions are for the program only"
)]
#[doc(hidden)]
pub mod cli;
pub mod run;
pub mod testing;
pub mod tool;

pub use planrun_runs::runs::{Error, ErrorKind, Planrun};
