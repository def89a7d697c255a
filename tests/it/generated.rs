//! Generated plans: correct ones give no finding, and what passes the check does not fail for what could have been known.

mod correct;
mod edges;
mod fixtures;
mod shrink;
mod sound;
mod stage;
mod workshop;
