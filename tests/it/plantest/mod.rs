//! Tests of plans: their check, their view on runs, the findings about them, and the tests of the project's own plans.

mod behaviour;
mod checks;
mod explore;
mod explored_paths;
mod kit;
mod mutants;
mod program;
mod projects;
mod proofs;
mod reported;
