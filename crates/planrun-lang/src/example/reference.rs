//! The documents that a schema may refer to, and following references through them.

use std::sync::Arc;

use jsonschema::{Draft, Registry, Uri};
use serde_json::Value as Json;

use crate::types::SchemaError;

/// The address of a schema that names none.
const NAMELESS: &str = "json-schema:///";

/// A schema that a value must conform to, with the address that its references start from.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub schema: Json,
    pub base: Arc<Uri<String>>,
}

/// The schema with everything it refers to.
pub(super) struct Documents {
    registry: Registry<'static>,
    root: Part,
    /// Up to draft 7, whatever stands beside a `$ref` counts for nothing.
    pub alone: bool,
}

impl Documents {
    pub fn new(schema: &Json, documents: &[(String, Json)]) -> Result<Self, SchemaError> {
        let told = |error: jsonschema::ReferencingError| SchemaError::new(&error);
        let draft = Draft::default().detect(schema);
        let base = schema
            .get("$id")
            .and_then(Json::as_str)
            .filter(|id| id.contains("://"))
            .unwrap_or(NAMELESS);
        let mut registry = Registry::new().draft(draft);
        for (address, document) in documents {
            let own = draft.detect(document).create_resource(document.clone());
            registry = registry.add(address.as_str(), own).map_err(told)?;
        }
        let registry = registry
            .add(base, draft.create_resource(schema.clone()))
            .map_err(told)?;
        let registry = registry.prepare().map_err(told)?;
        let base = Arc::new(jsonschema::uri::from_str(base.trim_end_matches('#')).map_err(told)?);
        let alone = matches!(draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7);
        Ok(Self {
            registry,
            root: Part {
                schema: schema.clone(),
                base,
            },
            alone,
        })
    }

    pub fn root(&self) -> Part {
        self.root.clone()
    }

    /// What a reference leads to; none where it leads nowhere.
    pub fn follow(&self, reference: &str, base: &Arc<Uri<String>>) -> Option<Part> {
        let resolver = self.registry.resolver(base.as_ref().clone());
        let found = resolver.lookup(reference).ok()?;
        Some(Part {
            schema: found.contents().clone(),
            base: found.resolver().base_uri(),
        })
    }

    /// The address that references within a schema start from: its own, where it has one.
    pub fn base(&self, part: &Part) -> Arc<Uri<String>> {
        let id = part
            .schema
            .get("$id")
            .and_then(Json::as_str)
            .filter(|id| !id.starts_with('#'));
        let own = id.and_then(|id| {
            self.registry
                .resolve_uri(&part.base.borrow(), id.trim_end_matches('#'))
                .ok()
        });
        own.unwrap_or_else(|| part.base.clone())
    }
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Documents")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}
