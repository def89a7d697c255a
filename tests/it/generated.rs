//! Generated plans: correct ones give no finding, what passes the check does not fail for what could have been known,
//! no tool is called more often than was said before, and all of them have a JSON form.

mod bounds;
pub mod correct;
mod deaths;
mod edges;
mod fixes;
mod fixtures;
mod json_form;
mod limits;
pub mod people;
mod sequential;
mod shrink;
mod sound;
pub mod stage;
mod unfinished;
pub mod workshop;
