//! Properties of app tools beyond their types: sensitive fields, deprecation, and the inverse tool.

use std::sync::Arc;

use planrun_lang::types::sensitive_paths;
use serde_json::Value as Json;

use super::section::Section;
use planrun_lang::yaml::Content;

/// Returns the paths under `sensitive`, and those that the schemas mark with `writeOnly`, `format: password` or
/// `x-sensitive`.
pub(super) fn sensitive(
    section: &Section,
    parameters: Option<&Json>,
    returns: Option<&Json>,
) -> Vec<Arc<str>> {
    let mut paths: Vec<Arc<str>> = section
        .texts("sensitive")
        .into_iter()
        .map(|(path, _)| path.as_str().into())
        .collect();
    for path in sensitive_paths(parameters, returns) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Reads `deprecated: true`, or the reason: `deprecated: use orders.place`.
pub(super) fn deprecated(section: &Section) -> Option<Arc<str>> {
    let node = section.get("deprecated")?;
    match &node.content {
        Content::Bool(truth) => truth.then(Arc::default),
        Content::Text(reason) => Some(reason.as_str().into()),
        Content::Null | Content::Number(_) | Content::List(_) | Content::Map(_) => {
            let message = format!(
                "`deprecated` must be true or the reason, but is {}",
                node.kind()
            );
            section.report(node.span, message);
            None
        }
    }
}

/// Returns the dotted name of the tool that undoes this one. A name without a dot is in the same file.
pub(super) fn inverse(section: &Section, namespace: &str) -> Option<Arc<str>> {
    let name = section.text("inverse")?;
    Some(if name.contains('.') {
        name.into()
    } else {
        format!("{namespace}.{name}").into()
    })
}
