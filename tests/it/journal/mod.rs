//! The journal's store: durable events are there, alterations are reported, and each run has one driver.

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
mod temp_journal;
