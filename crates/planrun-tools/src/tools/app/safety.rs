//! What an app file says of a tool beyond its types: what is secret, what is out of date, what takes it back.

use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use serde_json::Value as Json;

use super::section::Section;
use planrun_lang::yaml::Content;

/// How deep secrets are looked for in a schema; nobody hides one deeper.
const MAX_DEPTH: usize = 16;

/// The paths under `sensitive`, and what the schemas themselves mark: `writeOnly`, `format: password`, `x-sensitive`.
pub(super) fn sensitive(
    section: &Section,
    parameters: Option<&Json>,
    returns: Option<&Json>,
    found: &mut Vec<Diagnostic>,
) -> Vec<Arc<str>> {
    let mut paths: Vec<Arc<str>> = section
        .texts("sensitive", found)
        .into_iter()
        .map(|(path, _)| path.as_str().into())
        .collect();
    for path in marks(parameters, returns) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// What the schemas of the arguments and of the result themselves mark as secret.
pub(in crate::tools) fn marks(parameters: Option<&Json>, returns: Option<&Json>) -> Vec<Arc<str>> {
    let mut paths: Vec<Arc<str>> = Vec::new();
    let mut add = |path: &str| {
        if !paths.iter().any(|known| **known == *path) {
            paths.push(path.into());
        }
    };
    if let Some(schema) = parameters {
        marked(schema, "", MAX_DEPTH, &mut add);
    }
    if let Some(schema) = returns {
        marked(schema, "result", MAX_DEPTH, &mut add);
    }
    paths
}

/// Every path in a schema that is marked as secret. Elements of a list stand under the path of the list.
fn marked(schema: &Json, path: &str, depth: usize, add: &mut dyn FnMut(&str)) {
    let flag = |name: &str| schema.get(name) == Some(&Json::Bool(true));
    let password = schema.get("format").and_then(Json::as_str) == Some("password");
    if !path.is_empty() && (password || flag("writeOnly") || flag("x-sensitive")) {
        return add(path);
    }
    if depth == 0 {
        return;
    }
    if let Some(items) = schema.get("items") {
        marked(items, path, depth - 1, add);
    }
    for (name, inner) in schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let inner_path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        marked(inner, &inner_path, depth - 1, add);
    }
}

/// `deprecated: true`, or the reason: `deprecated: use orders.place`.
pub(super) fn deprecated(section: &Section, found: &mut Vec<Diagnostic>) -> Option<Arc<str>> {
    let node = section.get("deprecated")?;
    match &node.content {
        Content::Bool(truth) => truth.then(Arc::default),
        Content::Text(reason) => Some(reason.as_str().into()),
        Content::Null | Content::Number(_) | Content::List(_) | Content::Map(_) => {
            let message = format!(
                "`deprecated` must be true or the reason, and is {}",
                node.kind()
            );
            section.report(node.span, message, found);
            None
        }
    }
}

/// The dotted name of the tool that takes this one back; a name without a dot is of the same file.
pub(super) fn inverse(
    section: &Section,
    namespace: &str,
    found: &mut Vec<Diagnostic>,
) -> Option<Arc<str>> {
    let name = section.text("inverse", found)?;
    Some(if name.contains('.') {
        name.into()
    } else {
        format!("{namespace}.{name}").into()
    })
}
