//! Plans of other systems: what becomes of them, what is told of it, and that they do the same.

mod arazzo;
mod command;
mod fixtures;
mod hostile;
mod page;
mod recorded;
mod systems;
mod workflows;
