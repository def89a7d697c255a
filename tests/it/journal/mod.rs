//! The journal's store: what was told durable is there, what was altered is named, one driver per run.

mod driving;
mod files;
mod inbox;
mod reading;
mod stage;
