//! Drives runs: a driver carries out the commands of the state machine of a run.

mod askings;
mod attempt;
mod context;
mod early;
mod in_flight;
mod observer;
mod peer_question;
mod result_cache;
mod spans;
mod tokio;
mod toolbox;

pub use context::{Answering, Asker, Context};
pub use early::{Early, EarlyReads};
pub use observer::{Observer, Silence};
pub use tokio::run;
