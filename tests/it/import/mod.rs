//! Plans of other systems: the imported plans, the reports, and the same behaviour.

mod arazzo;
mod command;
mod dropped;
mod expressions;
mod fixtures;
mod hostile;
mod page;
mod recorded;
mod systems;
mod workflows;
