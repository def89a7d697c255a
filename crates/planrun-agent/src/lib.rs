//! Carries out requests in natural language: a model writes a plan, or calls tools until it is done.
//!
//! [`planner`] is the conversation that results in a plan without errors; [`answer`] finds the plan in the output of
//! a model. [`turns`] is the loop in which a model calls tools: each call is a run ([`toolbox`]), the conversation is
//! stored ([`session`]), and [`blocks`] is its display. [`profile`] defines the role of the model, [`rules`] reads the
//! project's instructions for it, and [`shortlist`] selects the tools it is offered; [`file_tools`] are among them.
//! [`references`] expands requests and instructions, whose marks [`markup`] parses. Nothing is printed here.

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
