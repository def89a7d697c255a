//! Which of a project's tools a model is told of from the beginning.

use std::sync::Arc;

use planrun_lang::types::Signature;
use planrun_tools::contract::ToolIndex;

/// So many tools are told at most; the others once they have been described.
const MAX_TOOLS: usize = 48;

/// All tools where they are few, else those that a request speaks of, the best first.
#[must_use]
pub fn shortlist(tools: &[Arc<Signature>], request: &str) -> Vec<Arc<Signature>> {
    if tools.len() <= MAX_TOOLS {
        return tools.to_vec();
    }
    let index = ToolIndex::new(tools.iter().cloned());
    let found = index.find(request).into_iter().take(MAX_TOOLS);
    found.cloned().collect()
}
