//! Tests of plans (cases, doubles, recordings, snapshots, coverage, exploration, mutants) and detection of breaking
//! changes between two versions of a plan. This crate prints nothing.

pub mod breaking;
pub mod plantest;
