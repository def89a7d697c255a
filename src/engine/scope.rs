//! Plan instances in execution: their settings, their tools, what they may reach, and what they have used.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Program;
use super::budget::Spent;
use super::dispatcher::Dispatcher;
use super::frame::Microseconds;
use super::policy::Effective;
use crate::journal::StepError;
use crate::tools::{Allowed, Catalog, Origin, Permissions, Transport};
use crate::types::{Denied, ErrorClass, Signature};

/// One plan in execution.
pub(super) struct Scope {
    pub program: Arc<Program>,
    pub policy: Effective,
    /// The tools, reaching what this plan may reach.
    pub tools: Arc<Catalog>,
    /// Those that have been called, by the address of the signature that the plan holds.
    pub called: BTreeMap<usize, Arc<Called>>,
    pub permissions: Arc<Permissions>,
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

/// A tool that a plan instance has called.
pub(super) struct Called {
    /// Its dotted name.
    pub path: String,
    /// `None` where nothing tells where it is.
    pub transport: Option<Arc<dyn Transport>>,
}

impl Dispatcher<'_> {
    /// Opens a plan instance: its settings, and its tools within what its caller may reach.
    pub(super) fn open_scope(
        &mut self,
        program: &Arc<Program>,
        outer: Option<usize>,
    ) -> Result<usize, StepError> {
        let plan = &program.plan;
        let host = &*self.context.host;
        let own = plan
            .allow
            .as_ref()
            .map(|grant| Permissions::new(grant, &self.context.root, host))
            .transpose();
        let (own, refused) = match own {
            Ok(own) => (own, None),
            Err(error) => (None, Some(error)),
        };
        let limit = match outer {
            Some(outer) => Some((*self.scopes[outer].permissions).clone()),
            None => self.context.limit.clone(),
        };
        let inherited = outer.filter(|_| own.is_none());
        let permissions = match (own, limit) {
            (Some(own), Some(limit)) => own.within(&limit),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => Permissions::none(),
        };
        let permissions = Arc::new(permissions);
        let tools = match inherited {
            Some(outer) => self.scopes[outer].tools.clone(),
            None => Arc::new(self.context.tools.with_permissions(&permissions)),
        };
        let policy = Effective::new(&plan.policy, &self.context.defaults);
        let begun = self.elapsed();
        self.scopes.push(Scope {
            program: program.clone(),
            policy,
            tools,
            permissions,
            outer,
            in_use: 0,
            spent: Spent::default(),
            steps: 0,
            low: Vec::new(),
            begun,
            called: BTreeMap::new(),
        });
        match refused {
            Some(error) => Err(StepError::new(
                ErrorClass::Denied(Denied::Policy),
                error.to_string(),
                &"".into(),
            )),
            None => Ok(self.scopes.len() - 1),
        }
    }

    /// The tool behind a signature, looked up once for each plan instance.
    pub(super) fn called(&mut self, scope: usize, signature: &Arc<Signature>) -> Arc<Called> {
        let stand_in = self
            .context
            .stand_in
            .as_ref()
            .filter(|stand_in| stand_in.replaces(signature));
        let (host, root) = (&self.context.host, &self.context.root);
        let scope = &mut self.scopes[scope];
        // The plan holds the signature as long as the scope lives, so no other one gets its address.
        let called = scope
            .called
            .entry(Arc::as_ptr(signature).addr())
            .or_insert_with(|| {
                let tool = scope
                    .tools
                    .tool(&signature.namespace, &signature.name)
                    .map(|tool| tool.transport.clone());
                let transport = match stand_in {
                    // What may not be reached is not, whoever answers.
                    Some(stand_in) => {
                        let origin = if tool.is_some() {
                            Origin::Project
                        } else {
                            Origin::Plan
                        };
                        Some(Arc::new(Allowed {
                            inner: stand_in.clone().over(tool),
                            origin,
                            permissions: scope.permissions.clone(),
                            host: host.clone(),
                            root: root.clone(),
                        }) as Arc<dyn Transport>)
                    }
                    None => tool,
                };
                Arc::new(Called {
                    path: signature.path(),
                    transport,
                })
            });
        called.clone()
    }
}
