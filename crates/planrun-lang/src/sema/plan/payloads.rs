//! The types that a plan declares for the payloads of signals.

use std::sync::Arc;

use super::{EventKind, Plan};
use crate::source::Span;
use crate::types::Type;

/// A declaration of the payload of a signal, at a listener or a `wait for`.
#[derive(Debug)]
pub struct Payload<'p> {
    pub signal: &'p Arc<str>,
    /// Span of the signal in the condition.
    pub span: Span,
    pub ty: &'p Type,
}

impl Plan {
    /// Returns the payloads that the plan declares; those of the plans that it calls are not included.
    #[must_use]
    pub fn payloads(&self) -> Vec<Payload<'_>> {
        let nodes = self.blocks.iter().flat_map(|block| &block.nodes);
        let mut found = Vec::new();
        for node in nodes {
            let Some((on, Some(ty))) = node.event_and_payload() else {
                continue;
            };
            on.leaves(&mut |leaf| {
                if let EventKind::Signal(signal) = &leaf.kind {
                    let span = leaf.span;
                    found.push(Payload { signal, span, ty });
                }
            });
        }
        found
    }
}
