//! The rules of the language's semantics, one test per rule.

mod absence;
mod agent_checks;
mod budget;
mod cache;
mod calls;
mod classes;
mod effects;
mod events;
mod failure;
mod flow;
mod forms;
mod kept;
mod listeners;
mod names;
mod order;
mod output;
mod pause;
mod people;
mod recover;
mod tasks;
mod time;
mod undo;
mod undo_retry;
mod values;
mod verify;
