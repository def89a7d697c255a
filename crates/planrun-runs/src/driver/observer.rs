//! Who listens to a run while it goes on.

use planrun_lang::sema::{BlockId, NodeId, Plan};

use planrun_core::journal::{AnswerError, Event};
use planrun_core::run::Reached;
use planrun_tools::tools::Progress;

/// Who listens. Called while the run is driven, so it must not block.
pub trait Observer: Send {
    fn observe(&mut self, event: &Event);

    /// A call says how far it has come. Its message is text from outside, and may hold secrets of the run.
    fn progressed(&mut self, _path: &str, _progress: &Progress) {}

    /// Somebody answered, and the answer cannot be taken.
    fn refused(&mut self, _error: &AnswerError) {}

    /// Nothing more happens until something outside does: the moment to pass on what was kept back.
    fn idle(&mut self) {}

    /// Whether it wants events at all; asked once, before the run begins.
    fn observes(&self) -> bool {
        true
    }

    /// Whether it wants [`Self::reached`]; asked once, before the run begins.
    fn watches(&self) -> bool {
        false
    }

    /// A statement of the plan, or of one that it calls, has been decided in a way that no event records.
    fn reached(&mut self, _plan: &Plan, _block: BlockId, _node: NodeId, _what: &Reached) {}
}

/// Nobody listens.
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
