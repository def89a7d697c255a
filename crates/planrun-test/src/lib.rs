//! Plans under test: cases, doubles, recordings, snapshots, coverage, exploration and mutants; and what a change of a plan
//! breaks for whom. Nothing is printed here.

pub mod breaking;
pub mod plantest;
