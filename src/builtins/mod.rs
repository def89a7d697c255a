//! The function library: one descriptor per function.

mod failure;
mod function;
pub mod operators;

pub use failure::{Failure, FailureKind};
pub use function::{Example, Form, Function, Overload, Shape};
