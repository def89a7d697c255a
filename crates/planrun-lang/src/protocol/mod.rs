//! Names that runs, tools and clients share: the states of steps and runs, run ids, paths of steps, and how far an
//! attempt got.

mod run_id;
mod sent;
mod state;
mod step_path;

pub use run_id::run_id_fault;
pub use sent::Sent;
pub use state::{RunState, StepState};
pub use step_path::{is_at_or_below, is_below};
