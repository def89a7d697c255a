//! A language and an engine for plans: checked before the run, run as a durable graph, tested in CI.
//!
//! A plan says in which order tools are called, who is asked, and what happens when something fails. planrun checks it
//! completely before anything is called, runs it so that a crash loses nothing and repeats nothing, and lets people answer days
//! later. This crate is that for Rust programs; the program `planrun` is another client of the same service.
//!
//! [`Planrun`] is a project: a folder with plans, perhaps a `planrun.yaml` that names tools, and the journal of its runs. Any
//! number of runs can go on in one process, and a value can be cloned into each task.
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
//! | check texts and show what is found | [`check`] |
//! | bring tools along | [`tool`] |
//! | start, follow, answer, signal, cancel, resume and list runs | [`run`] |
//! | see what a run would do before it does anything | [`Planrun::forecast`] |
//! | test plans in `#[test]` | [`testing`] |
//!
//! Nothing here prints, asks on a terminal or ends the process, and why something did not work is an [`Error`] with an
//! [`ErrorKind`]. What drives runs needs a tokio runtime with time and IO. The crates behind this one (`planrun_lang`,
//! `planrun_core`, `planrun_tools`, `planrun_runs`, `planrun_test`) can be named for what is not here; only this one promises to
//! stay as it is.

pub mod check;
// The program is made of it. What it promises is its arguments and outputs, and none of its functions.
#[doc(hidden)]
pub mod cli;
pub mod run;
pub mod testing;
pub mod tool;

pub use planrun_runs::runs::{Error, ErrorKind, Planrun};
