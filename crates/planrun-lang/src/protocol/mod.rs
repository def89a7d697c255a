//! Types that runs, tools and clients share: the states of steps and runs, run ids, and how far an attempt got.

mod run_id;
mod sent;
mod state;

pub use run_id::run_id_fault;
pub use sent::Sent;
pub use state::{RunState, StepState};
