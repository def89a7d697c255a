//! Requests in plain words: a model writes a plan, or calls tools until it is done.
//!
//! [`planner`] holds the conversation that ends in a plan without errors; [`answer`] finds the plan in what a model says.
//! [`turns`] is the loop in which a model calls tools: each call is a run ([`toolbox`]), the conversation is kept
//! ([`session`]), and what of it is shown are [`blocks`]. [`profile`] says whom a model plays, and [`shortlist`] which tools it is told of. Nothing is printed here.

pub mod answer;
pub mod blocks;
pub mod file_tools;
pub mod markup;
pub mod planner;
pub mod profile;
pub mod references;
pub mod rules;
pub mod session;
pub mod shortlist;
pub mod toolbox;
pub mod turns;
