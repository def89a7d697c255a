//! Wire shapes that clients and servers share: the states of steps and runs, what the world saw of an attempt.

mod run_id;
mod sent;
mod state;

pub use run_id::run_id_fault;
pub use sent::Sent;
pub use state::{RunState, StepState};
