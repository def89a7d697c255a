//! Names, scopes, types and effects: from a tree to a checked plan.

mod annotation;
mod block;
mod call;
mod checker;
mod clause;
mod contradiction;
pub mod expr;
mod file;
mod finding;
mod names;
mod plan;
mod remedy;
mod scope;
mod settings;
mod step;
mod test_item;
mod tools;
mod unread;
mod waiting;

pub use file::{CheckedFile, Files, check_file};
pub use plan::{
    Block, BlockId, Call, Each, Failing, GuardAtom, Jitter, Node, NodeId, NodeKind, OnFailure, Plan, PlanParameter,
    Policy, Recover, Repeat, Retry, Step, StepKind, Target, Touch, Until,
};
pub use remedy::tidy_removals;
pub use scope::{Atom, Binding, Lookup, NameKind, Place, Scope};
pub use tools::Tools;
