//! Wire shapes that clients and servers share: the states of steps and runs.

mod state;

pub use state::{RunState, StepState};
