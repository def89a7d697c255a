//! Generated plans: correct ones give no finding.

mod correct;
mod fixtures;
mod workshop;
