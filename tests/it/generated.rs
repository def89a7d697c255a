//! Generated plans: correct ones have no findings, a plan that passes the check does not fail for a reason that the
//! check could have known, no tool is called more often than the forecast allows, and every plan has a JSON form.

pub mod bounds;
pub mod correct;
mod deaths;
pub mod edges;
mod fixes;
mod fixtures;
pub mod harness;
mod json_form;
mod limits;
pub mod people;
pub mod project_context;
mod sequential;
mod shrink;
mod sound;
mod sufficient;
mod unfinished;
