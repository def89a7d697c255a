//! Plan instances in execution: their settings and their usage.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::protocol::RunState;
use planrun_lang::types::Signature;

use super::frame::{FrameId, Microseconds};
use super::policy::Effective;
use super::program::Program;
use crate::journal::Used;

/// One plan in execution.
pub(super) struct Scope {
    pub program: Arc<Program>,
    pub policy: Effective,
    /// Dotted names of the tools that were called, by the address of the signature in the plan.
    pub called: BTreeMap<usize, Arc<str>>,
    /// Number of the plan instance that called it.
    pub outer: Option<usize>,
    /// The frame of its body, once it is open.
    pub body: Option<FrameId>,
    /// Number of slots in use, including those of called plans.
    pub in_use: u32,
    pub spent: Spent,
    /// Number of steps that have begun, including those of called plans.
    pub steps: u64,
    /// Number of firings, including those of called plans.
    pub firings: u64,
    /// Limits of its budget for which a warning was emitted.
    pub low: Vec<&'static str>,
    /// How long the run had worked when it began.
    pub begun: Microseconds,
    /// Its final state, once its end has been reported.
    pub end: Option<RunState>,
}

/// Usage of a plan instance, including the plans that it calls.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Number of attempts.
    pub calls: u64,
    pub used: Used,
    /// Size of the results of calls, in bytes. A run keeps them until it ends.
    pub memory: u64,
}

impl Scope {
    /// Returns the dotted name of a tool, which is created once per plan instance.
    pub(super) fn tool_name(&mut self, signature: &Arc<Signature>) -> Arc<str> {
        // The plan keeps the signature alive as long as the scope, so no other signature gets its address.
        self.called
            .entry(Arc::as_ptr(signature).addr())
            .or_insert_with(|| signature.path().into())
            .clone()
    }
}
