//! Expressions: typing, narrowing, evaluation, and `planrun eval`.

mod depth;
mod evaluation;
mod findings;
mod generated;
mod library;
mod narrowing;
mod patterns;
mod world;
