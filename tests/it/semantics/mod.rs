//! The rules of what a plan means, one test a rule.

mod absence;
mod failure;
mod flow;
mod order;
mod time;
