//! Tests of plans: how they are checked, what they see, what is found around them, and that those of the project hold.

mod behaviour;
mod checks;
mod explore;
mod kit;
mod mutants;
mod program;
mod projects;
mod proofs;
