//! Wire shapes that clients and servers share: the states of steps and runs, what the world saw of an attempt.

mod sent;
mod state;

pub use sent::Sent;
pub use state::{RunState, StepState};
