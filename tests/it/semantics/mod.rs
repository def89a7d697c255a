//! The rules of what a plan means, one test a rule.

mod absence;
mod budget;
mod effects;
mod failure;
mod flow;
mod listeners;
mod order;
mod output;
mod pause;
mod people;
mod tasks;
mod time;
mod undo;
mod verify;
