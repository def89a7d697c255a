//! Selects the tools that a model is offered at the start.

use std::sync::Arc;

use planrun_lang::types::Signature;
use planrun_tools::contract::ToolIndex;

/// Maximum number of tools offered; the others are offered once they have been described.
const MAX_TOOLS: usize = 48;

/// Returns all tools if there are few, otherwise those that match a request, best match first.
pub fn shortlist(tools: &[Arc<Signature>], request: &str) -> Vec<Arc<Signature>> {
    if tools.len() <= MAX_TOOLS {
        return tools.to_vec();
    }
    let index = ToolIndex::new(tools.iter().cloned());
    let found = index.find(request).into_iter().take(MAX_TOOLS);
    found.cloned().collect()
}
