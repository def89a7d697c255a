//! Observers of a run.

use planrun_lang::sema::{BlockId, NodeId, Plan};

use planrun_core::journal::{AnswerError, Event};
use planrun_core::run::Reached;
use planrun_tools::tools::Progress;

/// Observes a run. Called while the run is driven, so it must not block.
pub trait Observer: Send {
    fn observe(&mut self, event: &Event);

    /// A call reports progress. The message is text from outside, and may contain secrets of the run.
    fn progressed(&mut self, _path: &str, _progress: &Progress) {}

    /// An answer was refused.
    fn refused(&mut self, _error: &AnswerError) {}

    /// Nothing more happens before an input from outside. Buffered output can be flushed now.
    fn idle(&mut self) {}

    /// Returns true if the observer wants events. Called once, before the run begins.
    fn observes(&self) -> bool {
        true
    }

    /// Returns true if the observer wants [`Self::reached`]. Called once, before the run begins.
    fn watches(&self) -> bool {
        false
    }

    /// A statement of the plan, or of one that it calls, has reached a coverage point, which no event records.
    fn reached(&mut self, _plan: &Plan, _block: BlockId, _node: NodeId, _what: &Reached) {}
}

/// An observer that ignores everything.
pub struct Silence;

impl Observer for Silence {
    fn observe(&mut self, _event: &Event) {}

    fn observes(&self) -> bool {
        false
    }
}

impl<F: FnMut(&Event) + Send> Observer for F {
    fn observe(&mut self, event: &Event) {
        self(event);
    }
}
