//! Reads a whole document: its address, the tools for its operations, and the operations that cannot be tools.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::codes::contracts::OPENAPI_INVALID;
use planrun_lang::source::SourceFile;
use planrun_lang::types::Effect;
use reqwest::Url;
use serde_json::Value as Json;

use super::access::KeyScheme;
use super::document::{At, Document};
use super::naming;
use super::operation::{self, Found, METHODS, Operation, Security};
use super::schema::{MAX_SCHEMAS, Schemas};

use crate::tools::http::parameter::Place;

/// Maximum size of a document, in bytes.
pub const MAX_DOCUMENT_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum number of operations of one document that become tools.
const MAX_OPERATIONS: usize = 10_000;

/// The operations of one document, by the name that the project gives it.
#[derive(Clone)]
pub struct Api {
    /// The namespace of the tools.
    pub name: Arc<str>,
    pub operations: Vec<Arc<Operation>>,
    /// Number of operations that cannot be tools. Each is reported as a diagnostic.
    pub left_out: usize,
    /// The absolute address that the document declares for all operations, if any.
    pub server: Option<Arc<str>>,
    /// The locations of the document's API keys.
    pub key_schemes: Vec<KeyScheme>,
}

impl std::fmt::Debug for Api {
    /// Leaves out the addresses, which may contain credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tools = self.operations.iter().map(|one| &one.signature.name);
        f.debug_struct("Api")
            .field("name", &self.name)
            .field("tools", &tools.collect::<Vec<_>>())
            .field("left_out", &self.left_out)
            .finish_non_exhaustive()
    }
}

/// Reads a document. Its operations become tools of the namespace `name`; `classes` are the effect classes that the
/// project assigns.
pub fn read_api(
    source: &Arc<SourceFile>,
    name: &Arc<str>,
    classes: &BTreeMap<String, Effect>,
) -> (Option<Api>, Vec<Diagnostic>) {
    let document = match Document::parse(source.clone()) {
        Ok(document) => document,
        Err(problem) => {
            let message = format!("this is neither JSON nor YAML: {}", problem.message);
            return (
                None,
                vec![Diagnostic::new(&OPENAPI_INVALID, problem.span, message)],
            );
        }
    };
    let api = Reader {
        document: &document,
        name,
        classes,
    }
    .read();
    (api, document.into_findings())
}

struct Reader<'a> {
    document: &'a Document,
    name: &'a Arc<str>,
    classes: &'a BTreeMap<String, Effect>,
}

impl Reader<'_> {
    fn read(&self) -> Option<Api> {
        let is_3_0 = self.version()?;
        let schemas = Schemas {
            document: self.document,
            is_3_0,
            left: Cell::new(MAX_SCHEMAS),
        };
        let found = self.operations();
        let (mut operations, mut taken) = (Vec::new(), BTreeSet::new());
        let mut left_out = 0;
        for found in &found {
            let name = self.operation_name(found, &taken);
            let class = self.classes.get(&name).copied();
            let read = if operations.len() == MAX_OPERATIONS {
                Err(format!("a document has at most {MAX_OPERATIONS} tools"))
            } else if taken.contains(&name) {
                Err(format!(
                    "its name {name} is already taken by another operation"
                ))
            } else {
                operation::read(&schemas, found, (self.name, &name), class)
            };
            match read {
                Ok(operation) => {
                    taken.insert(name);
                    operations.push(Arc::new(operation));
                }
                Err(why) => {
                    left_out += 1;
                    let message = format!("{} {} is not a tool: {why}", found.method, found.path);
                    self.document.warn(&found.operation.pointer, message, None);
                }
            }
        }
        if schemas.left.get() == 0 {
            let message = format!(
                "its operations need more than {MAX_SCHEMAS} schemas; the rest is treated as `any`"
            );
            self.document.warn(
                "/paths",
                message,
                Some("remove operations that no plan needs"),
            );
        }
        Some(Api {
            name: self.name.clone(),
            operations,
            left_out,
            server: server(&self.document.root()),
            key_schemes: self.key_schemes(),
        })
    }

    /// Returns true for `OpenAPI` 3.0 and false for 3.1. Reports any other document and returns `None`.
    fn version(&self) -> Option<bool> {
        let root = self.document.root();
        let version = root.json.get("openapi").map(|version| match version {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        });
        let is_3_0 = match version.as_deref() {
            Some(version) if version.starts_with("3.0") => Some(true),
            Some(version) if version.starts_with("3.1") => Some(false),
            _ => None,
        };
        if is_3_0.is_some() {
            return is_3_0;
        }
        let (message, help) = if root.json.get("swagger").is_some() {
            (
                "this is a Swagger 2.0 document",
                "convert it to OpenAPI 3, for instance with `npx swagger2openapi`",
            )
        } else if version.is_some() {
            (
                "only OpenAPI 3.0 and 3.1 are supported",
                "convert the document to one of them",
            )
        } else {
            (
                "this is not an OpenAPI document: it has no `openapi`",
                "name a document that contains `openapi: 3.1.0`",
            )
        };
        let place = if version.is_some() { "/openapi" } else { "" };
        self.document.refuse(place, message, help);
        None
    }

    /// Returns every operation of the document, in its order.
    fn operations(&self) -> Vec<Found<'_>> {
        let root = self.document.root();
        let usual = security(&root).unwrap_or_default();
        let mut found = Vec::new();
        for (path, at) in root.get("paths").iter().flat_map(At::entries) {
            if path.starts_with("x-") {
                continue;
            }
            let item = match self.document.follow(at.clone()) {
                Ok(item) if path.starts_with('/') => item,
                Ok(_) => {
                    self.document.warn(
                        &at.pointer,
                        format!("`{path}` is not a path: it does not begin with `/`"),
                        None,
                    );
                    continue;
                }
                Err(problem) => {
                    self.document.warn(
                        &at.pointer,
                        format!("the operations of {path} are not tools: {problem}"),
                        None,
                    );
                    continue;
                }
            };
            self.warn_of_server(&item);
            for (word, method) in METHODS {
                let Some(operation) = item.get(word) else {
                    continue;
                };
                self.warn_of_server(&operation);
                found.push(Found {
                    method,
                    path,
                    server: server(&operation).or_else(|| server(&item)),
                    security: security(&operation).unwrap_or(usual),
                    item: item.clone(),
                    operation,
                });
            }
            if let Some(trace) = item.get("trace") {
                self.document.warn(
                    &trace.pointer,
                    format!(
                        "TRACE {path} is not a tool: it would return the whole \
                                                            request, including credentials"
                    ),
                    None,
                );
            }
        }
        found
    }

    /// Reports the server of a path or an operation if its address cannot be used.
    fn warn_of_server(&self, at: &At) {
        let first = at.get("servers").and_then(|all| all.items().next());
        let Some(first) = first.filter(|_| server(at).is_none()) else {
            return;
        };
        let url = first.text("url").unwrap_or_default();
        let message = format!(
            "`{url}` is no absolute web address, so the server of the whole document is called instead"
        );
        let help = "write the whole address, or set `server` in planrun.yaml";
        self.document.warn(&first.pointer, message, Some(help));
    }

    /// Returns the name of an operation. If its `operationId` is taken, it is named after its method and path.
    fn operation_name(&self, found: &Found, taken: &BTreeSet<String>) -> String {
        let name = naming::tool(
            found.operation.text("operationId"),
            &found.method,
            found.path,
        );
        if !taken.contains(&name) {
            return name;
        }
        let by_path = naming::from_path(&found.method, found.path);
        if !taken.contains(&by_path) {
            let pointer = format!("{}/operationId", found.operation.pointer);
            let message = format!(
                "another operation already has the `operationId` {name}; this one is named {by_path}"
            );
            self.document.warn(
                &pointer,
                message,
                Some("give each operation an `operationId` of its own"),
            );
            return by_path;
        }
        name
    }

    fn key_schemes(&self) -> Vec<KeyScheme> {
        let schemes = self
            .document
            .root()
            .get("components")
            .and_then(|all| all.get("securitySchemes"));
        let schemes = schemes.iter().flat_map(At::entries);
        let schemes = schemes.filter_map(|(scheme, at)| {
            let at = self.document.follow(at).ok()?;
            let place = Place::find(at.text("in")?).filter(|place| *place != Place::Path)?;
            (at.text("type") == Some("apiKey")).then_some(KeyScheme {
                scheme: scheme.to_owned(),
                place,
                name: at.text("name")?.to_owned(),
            })
        });
        schemes.collect()
    }
}

/// Returns what the document, or an operation, declares about credentials.
fn security(at: &At<'_>) -> Option<Security> {
    let alternatives = at.get("security")?;
    let mut schemes = alternatives.items().map(|one| one.entries().count());
    Some(match schemes.next() {
        None => Security::Public,
        Some(first) if first == 0 || schemes.any(|schemes| schemes == 0) => Security::Optional,
        Some(_) => Security::Required,
    })
}

/// Returns the first server address, with its variables replaced by their defaults; `None` if it is not absolute.
fn server(at: &At) -> Option<Arc<str>> {
    let first = at.get("servers")?.items().next()?;
    let mut url = first.text("url")?.to_owned();
    for (name, variable) in first.get("variables").iter().flat_map(At::entries) {
        url = url.replace(
            &format!("{{{name}}}"),
            variable.text("default").unwrap_or_default(),
        );
    }
    is_web_address(&url).then(|| url.into())
}

/// Returns true if a text is an absolute web address.
fn is_web_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}
