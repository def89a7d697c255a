//! Plan instances in execution: their settings and their usage.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::protocol::RunState;
use planrun_lang::types::Signature;

use super::frame::Microseconds;
use super::policy::Effective;
use super::program::Program;

/// One plan in execution.
pub(super) struct Scope {
    pub program: Arc<Program>,
    pub policy: Effective,
    /// The dotted names of the tools that have been called, by the address of the signature that the plan holds.
    pub called: BTreeMap<usize, Arc<str>>,
    /// The plan instance that called it.
    pub outer: Option<usize>,
    /// Attempts in flight.
    pub in_use: u32,
    pub spent: Spent,
    /// How many steps have begun, those of the plans that it called included.
    pub steps: u64,
    /// The parts of its budget that have been told to run low.
    pub low: Vec<&'static str>,
    /// When it began, on the clock of the run.
    pub begun: Microseconds,
    /// What came of it, once it has told its end.
    pub end: Option<RunState>,
}

/// What a plan instance, and what works for it, has used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Attempts that were dispatched.
    pub calls: u64,
    pub used: Used,
}

impl Scope {
    /// The dotted name of a tool, made once for each plan instance.
    pub(super) fn tool_name(&mut self, signature: &Arc<Signature>) -> Arc<str> {
        // The plan holds the signature as long as the scope lives, so no other one gets its address.
        self.called
            .entry(Arc::as_ptr(signature).addr())
            .or_insert_with(|| signature.path().into())
            .clone()
    }
}

use crate::journal::Used;
