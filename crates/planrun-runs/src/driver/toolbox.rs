//! The tools of a run: one set for each plan instance, with the permissions of its plan.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use foldhash::fast::FixedState;
use planrun_lang::permission::Permissions;
use planrun_lang::sema::Plan;
use planrun_lang::types::{CallKind, Signature};
use planrun_lang::value::Value;

use super::early::Early;
use planrun_core::run::{ScopeId, ToolNames};
use planrun_tools::host::Host;
use planrun_tools::tools::{
    Allowed, Catalog, Origin, RequiredPermission, StandIn, Tool, Transport, may_call,
};

/// The tools of a run.
pub(super) struct Toolbox {
    /// Every tool that the plan calls, without permissions.
    catalog: Arc<Catalog>,
    /// The project's limit on the permissions of plans; `None` if it sets none.
    limit: Option<Permissions>,
    /// Folder that relative paths in permissions are resolved against.
    root: PathBuf,
    /// The tools that a person must confirm, so that no agent gets them.
    confirm: Arc<[ToolNames]>,
    stand_in: Option<Arc<dyn StandIn>>,
    early: Option<Early>,
    host: Arc<dyn Host>,
    scopes: HashMap<ScopeId, Scope, FixedState>,
}

/// The tools of one plan instance.
struct Scope {
    catalog: Arc<Catalog>,
    permissions: Arc<Permissions>,
    /// The transports of the tools that were called, by the address of the signature in the plan; `None` if the tool
    /// has no known address.
    called: HashMap<usize, Option<Arc<dyn Transport>>, FixedState>,
}

impl Toolbox {
    pub(super) fn new(
        catalog: Arc<Catalog>,
        (limit, root, confirm): (Option<Permissions>, PathBuf, Arc<[ToolNames]>),
        (stand_in, early): (Option<Arc<dyn StandIn>>, Option<Early>),
        host: Arc<dyn Host>,
    ) -> Self {
        Self {
            catalog,
            limit,
            root,
            confirm,
            stand_in,
            early,
            host,
            scopes: HashMap::default(),
        }
    }

    /// Stops early reads that were not taken over, and closes the connections to all servers that were called. A run
    /// that begins early reads leaves both to the run of the whole plan.
    pub(super) async fn close(&self) {
        match &self.early {
            Some(Early::Start(..)) => {}
            Some(Early::Reuse(reads)) => {
                reads.close().await;
                self.catalog.close().await;
            }
            None => self.catalog.close().await,
        }
    }

    /// Opens the tools of a plan instance, within the permissions of its caller. If those of the plan cannot be resolved,
    /// it has none, so that every call that needs one is denied.
    pub(super) fn open_scope(&mut self, scope: ScopeId, outer: Option<ScopeId>, plan: &Plan) {
        let outer = outer.and_then(|outer| self.scopes.get(&outer));
        let own = plan
            .allow
            .as_ref()
            .map(|grant| Permissions::new(grant, &self.root, &*self.host))
            .transpose();
        if let (Ok(None), Some(outer)) = (&own, outer) {
            let (catalog, permissions) = (outer.catalog.clone(), outer.permissions.clone());
            return self.insert(scope, catalog, permissions);
        }
        let limit = match outer {
            Some(outer) => Some((*outer.permissions).clone()),
            None => self.limit.clone(),
        };
        let own = own.unwrap_or_else(|error| {
            tracing::warn!(plan = %plan.name, %error, "the plan has no permissions");
            Some(Permissions::none())
        });
        let permissions = match (own, limit) {
            (Some(own), Some(limit)) => own.within(&limit),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => Permissions::none(),
        };
        let permissions = Arc::new(permissions);
        let catalog = Arc::new(self.catalog.with_permissions(&permissions));
        self.insert(scope, catalog, permissions);
    }

    fn insert(&mut self, scope: ScopeId, catalog: Arc<Catalog>, permissions: Arc<Permissions>) {
        let called = HashMap::default();
        self.scopes.insert(
            scope,
            Scope {
                catalog,
                permissions,
                called,
            },
        );
    }

    /// Returns the transport of a tool, if a call with these arguments is permitted.
    pub(super) fn permitted(
        &mut self,
        scope: ScopeId,
        signature: &Arc<Signature>,
        arguments: &Value,
    ) -> Option<Arc<dyn Transport>> {
        let transport = self.transport(scope, signature)?;
        let scope = self.scopes.get(&scope)?;
        let place = (&*self.host, &*self.root);
        let known = scope.catalog.tool(&signature.namespace, &signature.name);
        let required = RequiredPermission::of(signature, origin(known.is_some()), arguments, place);
        may_call(&scope.permissions, signature).ok()?;
        required.check(&scope.permissions).ok()?;
        Some(transport)
    }

    /// Returns the transport of a tool, which is looked up once per plan instance.
    pub(super) fn transport(
        &mut self,
        scope: ScopeId,
        signature: &Arc<Signature>,
    ) -> Option<Arc<dyn Transport>> {
        let scope = self.scopes.get_mut(&scope)?;
        // The plan keeps the signature alive as long as the run, so no other signature gets its address.
        let address = Arc::as_ptr(signature).addr();
        if let Some(known) = scope.called.get(&address) {
            return known.clone();
        }
        let guarded = |inner: Arc<dyn Transport>, origin: Origin| -> Arc<dyn Transport> {
            Arc::new(Allowed {
                inner,
                origin,
                permissions: scope.permissions.clone(),
                host: self.host.clone(),
                root: self.root.clone(),
            })
        };
        let narrows = scope.permissions.narrows_calls();
        let (catalog, namespace) = (&scope.catalog, &signature.namespace);
        let tool = match signature.kind {
            CallKind::Tool | CallKind::Skill => catalog
                .tool(namespace, &signature.name)
                .map(|tool| tool.transport.clone()),
            CallKind::Model => catalog.model(),
            CallKind::Agent | CallKind::ReadOnlyAgent => catalog.agent(namespace, |tool| {
                may_call(&scope.permissions, &tool.signature).ok()?;
                let only_reads = signature.kind == CallKind::ReadOnlyAgent;
                let is_allowed = !only_reads || tool.signature.effect.is_read_only();
                let is_confirmed = |names: &ToolNames| names.covers(&tool.signature);
                (is_allowed && !self.confirm.iter().any(is_confirmed)).then(|| Tool {
                    signature: tool.signature.clone(),
                    transport: guarded(tool.transport.clone(), Origin::Project),
                })
            }),
        };
        let stand_in = self
            .stand_in
            .as_ref()
            .filter(|stand_in| stand_in.replaces(signature));
        let origin = origin(tool.is_some());
        let transport = match stand_in {
            // Permissions apply no matter what answers.
            Some(stand_in) => Some(guarded(stand_in.clone().wrap(tool), origin)),
            None if narrows => tool.map(|tool| guarded(tool, origin)),
            None => tool,
        };
        let transport = transport.map(|transport| match &self.early {
            Some(early) => early.over(signature, transport),
            None => transport,
        });
        scope.called.insert(address, transport.clone());
        transport
    }
}

/// Returns the origin of a tool: the project or the plan.
fn origin(is_of_the_project: bool) -> Origin {
    if is_of_the_project {
        Origin::Project
    } else {
        Origin::Plan
    }
}
