//! The journal's store: what was told durable is there, what was altered is named, one driver per run.

mod conformance;
mod damage;
mod driving;
mod export;
mod files;
mod inbox;
pub mod mounts;
mod processes;
mod property;
mod pruning;
mod reading;
mod stage;
