//! Requests in plain words: a model writes a plan, the checker's findings go back until it is clean.
//!
//! [`planner`] holds that conversation, [`profile`] says whom the model plays in it, and [`answer`] finds the plan in what it
//! says. What a model sees of a project is that of plan mode. Nothing is printed here.

pub mod answer;
pub mod planner;
pub mod profile;
