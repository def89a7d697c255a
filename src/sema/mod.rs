//! Names, scopes, types and effects: from a tree to a checked plan.

pub mod expr;
mod scope;

pub use scope::{Atom, Binding, Lookup, NameKind, Place, Scope};
