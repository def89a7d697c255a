//! The tools of a run: one set for each plan instance, reaching what its plan allows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::permission::Permissions;
use planrun_lang::sema::Plan;
use planrun_lang::types::{CallKind, Signature};
use planrun_lang::value::Value;

use super::early::Early;
use planrun_core::run::ScopeId;
use planrun_tools::host::Host;
use planrun_tools::tools::{
    Allowed, Catalog, Origin, RequiredPermission, StandIn, Tool, Transport, may_call,
};

/// The tools of a run.
pub(super) struct Toolbox {
    /// Every tool that the plan calls, without permissions.
    catalog: Arc<Catalog>,
    /// The limit of what plans may reach; `None` where the project sets none.
    limit: Option<Permissions>,
    /// Where relative paths in permissions begin.
    root: PathBuf,
    stand_in: Option<Arc<dyn StandIn>>,
    early: Option<Early>,
    host: Arc<dyn Host>,
    scopes: HashMap<ScopeId, Scope>,
}

/// The tools of one plan instance.
struct Scope {
    catalog: Arc<Catalog>,
    permissions: Arc<Permissions>,
    /// Those that were called, by the address of the signature that the plan holds; `None` where nothing tells where one
    /// is.
    called: HashMap<usize, Option<Arc<dyn Transport>>>,
}

impl Toolbox {
    pub(super) fn new(
        catalog: Arc<Catalog>,
        (limit, root): (Option<Permissions>, PathBuf),
        (stand_in, early): (Option<Arc<dyn StandIn>>, Option<Early>),
        host: Arc<dyn Host>,
    ) -> Self {
        Self {
            catalog,
            limit,
            root,
            stand_in,
            early,
            host,
            scopes: HashMap::new(),
        }
    }

    /// Lets go of every server that was called, where no other run goes on with it.
    pub(super) async fn close(&self) {
        match &self.early {
            Some(Early::Begins(..)) => {}
            Some(Early::TakesOver(reads)) => {
                reads.close().await;
                self.catalog.close().await;
            }
            None => self.catalog.close().await,
        }
    }

    /// Opens the tools of a plan instance, within what its caller may reach.
    ///
    /// # Errors
    /// Why what the plan allows cannot be resolved. Its tools then reach nothing.
    pub(super) fn open_scope(
        &mut self,
        scope: ScopeId,
        outer: Option<ScopeId>,
        plan: &Plan,
    ) -> Result<(), String> {
        let outer = outer.and_then(|outer| self.scopes.get(&outer));
        let own = plan
            .allow
            .as_ref()
            .map(|grant| Permissions::new(grant, &self.root, &*self.host))
            .transpose();
        if let (Ok(None), Some(outer)) = (&own, outer) {
            let (catalog, permissions) = (outer.catalog.clone(), outer.permissions.clone());
            self.insert(scope, catalog, permissions);
            return Ok(());
        }
        let limit = match outer {
            Some(outer) => Some((*outer.permissions).clone()),
            None => self.limit.clone(),
        };
        let (own, refused) = match own {
            Ok(own) => (own, Ok(())),
            Err(error) => (Some(Permissions::none()), Err(error.to_string())),
        };
        let permissions = match (own, limit) {
            (Some(own), Some(limit)) => own.within(&limit),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => Permissions::none(),
        };
        let permissions = Arc::new(permissions);
        let catalog = Arc::new(self.catalog.with_permissions(&permissions));
        self.insert(scope, catalog, permissions);
        refused
    }

    fn insert(&mut self, scope: ScopeId, catalog: Arc<Catalog>, permissions: Arc<Permissions>) {
        let called = HashMap::new();
        self.scopes.insert(
            scope,
            Scope {
                catalog,
                permissions,
                called,
            },
        );
    }

    /// The tool behind a signature, if a call of it with these arguments may be made.
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

    /// The tool behind a signature, looked up once for each plan instance.
    pub(super) fn transport(
        &mut self,
        scope: ScopeId,
        signature: &Arc<Signature>,
    ) -> Option<Arc<dyn Transport>> {
        let scope = self.scopes.get_mut(&scope)?;
        // The plan holds the signature as long as the run lives, so no other one gets its address.
        let address = Arc::as_ptr(signature).addr();
        if let Some(known) = scope.called.get(&address) {
            return known.clone();
        }
        let held = |inner: Arc<dyn Transport>, origin: Origin| -> Arc<dyn Transport> {
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
                let only_looks = signature.kind == CallKind::ReadOnlyAgent;
                if only_looks && !tool.signature.effect.is_read_only() {
                    return None;
                }
                Some(Tool {
                    signature: tool.signature.clone(),
                    transport: held(tool.transport.clone(), Origin::Project),
                })
            }),
        };
        let stand_in = self
            .stand_in
            .as_ref()
            .filter(|stand_in| stand_in.replaces(signature));
        let origin = origin(tool.is_some());
        let transport = match stand_in {
            // What may not be reached is not, whoever answers.
            Some(stand_in) => Some(held(stand_in.clone().over(tool), origin)),
            None if narrows => tool.map(|tool| held(tool, origin)),
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

/// Who says that a tool is there.
fn origin(is_of_the_project: bool) -> Origin {
    if is_of_the_project {
        Origin::Project
    } else {
        Origin::Plan
    }
}
