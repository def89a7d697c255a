//! Semantic analysis: resolves names, scopes, types and effects, and produces checked plans.

mod agent_check;
mod annotation;
mod arm;
mod auxiliary;
mod backoff;
mod block;
mod blocks;
mod body;
mod call;
mod callable;
mod callee;
mod candidates;
mod checker;
mod clause;
mod context;
mod context_facts;
mod contract;
mod contradiction;
mod declaration;
mod event;
mod event_value;
pub mod expr;
mod file;
mod finding;
mod form_to_argument;
mod knowledge;
mod least;
mod names;
mod one_cause;
mod own_plans;
mod payloads;
mod plan;
mod plan_item;
mod presence;
mod remedy;
mod scope;
mod settings;
mod shared;
mod step;
mod step_path;
mod task;
pub mod test;
mod tools;
mod unread;
mod waiting;
mod widened;

pub use backoff::{Backoff, MAX_RESENDS};
pub(crate) use contract::CallArguments;
pub use declaration::{
    Declaration, declaration, inputs_of_call, plan_of_call, spelled_name, tool_of_call,
};
pub use file::{CheckedFile, Files, NoFiles, check_without_rules, declared_tools};
pub use plan::{
    After, AgentCheck, Block, BlockId, Budget, Call, Clauses, Confirm, Each, Event, EventKind,
    Failing, Footprint, GuardAtom, Input, InputField, Jitter, Listener, Nesting, Node, NodeId,
    NodeKind, OnFailure, OrderClass, Parallel, PassedArgument, Payload, Plan, PlanParameter,
    PlanTest, Policy, Recover, Repeat, Retry, Set, Status, Step, StepKind, Target, Task, TaskId,
    TaskTest, Touch, Undo, Until, Verify, Wait,
};
pub use remedy::tidy_removals;
pub use scope::{Atom, Binding, Definition, Lookup, NameKind, Place, Scope};
pub use tools::Tools;
