//! Properties of app tools beyond their types: sensitive fields, deprecation, and the inverse tool.

use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use serde_json::Value as Json;

use super::section::Section;
use planrun_lang::yaml::Content;

/// Maximum depth of a schema that is searched for secrets.
const MAX_DEPTH: usize = 16;

/// Returns the paths under `sensitive`, and those that the schemas mark with `writeOnly`, `format: password` or
/// `x-sensitive`.
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

/// Returns the paths that the schemas of the arguments and of the result mark as sensitive.
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

/// Collects every path in a schema that is marked as sensitive. Elements of a list have the path of the list. Only
/// `properties` and `items` are searched, not parts behind `$ref` or in `anyOf`, for example.
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

/// Reads `deprecated: true`, or the reason: `deprecated: use orders.place`.
pub(super) fn deprecated(section: &Section, found: &mut Vec<Diagnostic>) -> Option<Arc<str>> {
    let node = section.get("deprecated")?;
    match &node.content {
        Content::Bool(truth) => truth.then(Arc::default),
        Content::Text(reason) => Some(reason.as_str().into()),
        Content::Null | Content::Number(_) | Content::List(_) | Content::Map(_) => {
            let message = format!(
                "`deprecated` must be true or the reason, but is {}",
                node.kind()
            );
            section.report(node.span, message, found);
            None
        }
    }
}

/// Returns the dotted name of the tool that undoes this one. A name without a dot is in the same file.
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
