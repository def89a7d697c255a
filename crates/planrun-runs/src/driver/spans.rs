//! Spans of a run for `tracing`: the run, its steps, and their attempts. Fields are names, paths and numbers; paths are
//! redacted, because they can contain keys of elements.

use std::collections::HashMap;
use std::sync::Arc;

use planrun_core::journal::{Event, EventKind};
use planrun_lang::call::CallOutcome;
use planrun_lang::diag::render::visible_line;
use planrun_lang::secrets::Redactor;
use tracing::{Level, Span, debug, debug_span, info_span};

/// Creates the span of a run, which covers everything that its driver does.
pub(super) fn run(run: &str, plan: &str) -> Span {
    info_span!("run", run = %visible_line(run), %plan)
}

/// The spans of the running steps.
pub(super) struct StepSpans {
    open: HashMap<Arc<str>, Span>,
}

impl StepSpans {
    /// Returns `None` if no subscriber wants these spans when the run begins; steps then cost nothing.
    pub(super) fn new() -> Option<Self> {
        tracing::enabled!(Level::DEBUG).then(|| Self {
            open: HashMap::new(),
        })
    }

    /// Opens the span of a step when it begins, and closes it when it settles.
    pub(super) fn note(&mut self, event: &Event, redactor: &Redactor) {
        if let EventKind::StepRunning { path, tool, .. } = &event.kind
            && !self.open.contains_key(path)
        {
            let redacted = redactor.text(path);
            let parent = self.around(path);
            let span = debug_span!(parent: &parent, "step", path = %visible_line(&redacted), %tool);
            self.open.insert(path.clone(), span);
        }
        if let EventKind::StepSettled {
            path,
            state,
            attempts,
            ..
        } = &event.kind
            && let Some(span) = self.open.remove(path)
        {
            span.in_scope(|| debug!(state = %state.name(), attempts, "settled"));
        }
    }

    /// Creates the span of an attempt at the call of a step.
    pub(super) fn attempt(&self, path: &str, tool: &str) -> Span {
        let step = self.open.get(path).cloned();
        let parent = step.unwrap_or_else(Span::current);
        debug_span!(parent: &parent, "attempt", %tool)
    }

    /// Returns the span of the innermost step around the step at this path, or that of the run.
    fn around(&self, path: &str) -> Span {
        let ends = path.char_indices().rev();
        let mut ends = ends.filter(|(_, character)| matches!(character, '.' | '['));
        let step = ends.find_map(|(end, _)| self.open.get(path.get(..end)?));
        step.cloned().unwrap_or_else(Span::current)
    }
}

/// Logs how an attempt ended, without its result and without text from the peer.
pub(super) fn ended(outcome: &CallOutcome) {
    match outcome {
        Ok(_) => debug!("answered"),
        Err(error) => debug!(class = %error.class, sent = %error.sent.name(), "failed"),
    }
}
