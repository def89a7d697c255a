//! Plan instances in execution: their settings, and what they have used.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::BlockId;
use planrun_lang::types::{Denied, ErrorClass, Signature};

use super::Program;
use super::budget::Spent;
use super::command::{Command, ScopeId};
use super::frame::{Ending, Frame, Microseconds};
use super::machine::Run;
use super::policy::Effective;
use crate::journal::StepError;

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
}

impl Run {
    /// Opens a plan instance with its settings; its tools are the driver's.
    pub(super) fn open_scope(&mut self, program: &Arc<Program>, outer: Option<ScopeId>) -> ScopeId {
        let scope = self.scopes.len();
        let begun = self.elapsed();
        self.scopes.push(Scope {
            program: program.clone(),
            policy: Effective::new(&program.plan.policy, &self.setup.defaults),
            called: BTreeMap::new(),
            outer,
            in_use: 0,
            spent: Spent::default(),
            steps: 0,
            low: Vec::new(),
            begun,
        });
        self.commands.push(Command::OpenScope {
            scope,
            outer,
            program: program.clone(),
        });
        scope
    }

    /// What a plan may reach cannot be resolved, so it fails.
    pub(super) fn scope_refused(&mut self, scope: ScopeId, message: String) {
        let body = |frame: &Frame| frame.scope == scope && frame.block == BlockId(0);
        let Some(frame) = self.frames.iter().position(body) else {
            return;
        };
        let path = self.frames[frame].path.clone();
        let error = StepError::new(ErrorClass::Denied(Denied::Policy), message, &path);
        self.end_frame(frame, &Ending::Failed(Arc::new(error)));
    }

    /// The dotted name of a tool, made once for each plan instance.
    pub(super) fn tool_name(&mut self, scope: ScopeId, signature: &Arc<Signature>) -> Arc<str> {
        // The plan holds the signature as long as the scope lives, so no other one gets its address.
        self.scopes[scope]
            .called
            .entry(Arc::as_ptr(signature).addr())
            .or_insert_with(|| signature.path().into())
            .clone()
    }
}
