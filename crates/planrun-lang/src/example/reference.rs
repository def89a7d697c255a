//! The documents that a schema may refer to, and the resolution of references.

use std::sync::Arc;

use jsonschema::{Draft, Registry, Uri};
use serde_json::Value as Json;

use crate::types::SchemaError;

/// The address of a schema without `$id`.
const DEFAULT_ADDRESS: &str = "json-schema:///";

/// A schema that a value must conform to, with the base address of its references.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub schema: Json,
    pub base: Arc<Uri<String>>,
}

/// The schema and all documents that it refers to.
pub(super) struct Documents {
    registry: Registry<'static>,
    root: Part,
    /// Whether keywords next to a `$ref` are ignored, as in drafts up to 7.
    pub alone: bool,
}

impl Documents {
    pub fn new(schema: &Json, documents: &[(String, Json)]) -> Result<Self, SchemaError> {
        let schema_error = |error: jsonschema::ReferencingError| SchemaError::new(&error);
        let draft = Draft::default().detect(schema);
        let base = schema
            .get("$id")
            .and_then(Json::as_str)
            .filter(|id| id.contains("://"))
            .unwrap_or(DEFAULT_ADDRESS);
        let mut registry = Registry::new().draft(draft);
        for (address, document) in documents {
            let own = draft.detect(document).create_resource(document.clone());
            registry = registry.add(address.as_str(), own).map_err(schema_error)?;
        }
        let registry = registry
            .add(base, draft.create_resource(schema.clone()))
            .map_err(schema_error)?;
        let registry = registry.prepare().map_err(schema_error)?;
        let base =
            Arc::new(jsonschema::uri::from_str(base.trim_end_matches('#')).map_err(schema_error)?);
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

    /// Resolves a reference; `None` if it has no target.
    pub fn follow(&self, reference: &str, base: &Arc<Uri<String>>) -> Option<Part> {
        let resolver = self.registry.resolver(base.as_ref().clone());
        let found = resolver.lookup(reference).ok()?;
        Some(Part {
            schema: found.contents().clone(),
            base: found.resolver().base_uri(),
        })
    }

    /// Returns the base address of references within a schema: its own address if it has one.
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
