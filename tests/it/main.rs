//! The one integration test binary: building one keeps the build lean.

mod cel;
mod check;
mod expr;
mod graph;
mod mock;
mod mutation;
mod nestools;
mod plans;
mod readme;
mod run;
mod semantics;
mod support;
mod syntax;
mod tidy;
mod tools;
mod types;
