//! The tools of planrun: contracts and calls, and the one door to the machine that they and everything else go through.
//!
//! [`project`] reads where tools come from, [`tools`] calls them by one transport each, [`mock`] is their test double, and
//! [`host`] is files, clock, environment and randomness. Runs and their journal are not known here.

pub mod contract;
pub mod host;
pub mod mock;
pub mod project;
pub mod tools;
