//! Types shared by clients and servers: the states of steps and runs, and how far an attempt got.

mod run_id;
mod sent;
mod state;

pub use run_id::run_id_fault;
pub use sent::Sent;
pub use state::{RunState, StepState};
