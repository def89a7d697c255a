//! Who listens to a run while it goes on.

use std::time::Duration;

use crate::journal::{AnswerError, Event};

/// Who listens. Called by the dispatcher between two changes, so it must not block.
pub trait Observer: Send {
    fn observe(&mut self, event: &Event<'_>);

    /// Somebody answered, and the answer cannot be taken.
    fn refused(&mut self, _error: &AnswerError) {}

    /// Nothing more happens until something outside does: the moment to pass on what was kept back.
    fn idle(&mut self) {}
}

/// Nobody listens.
pub struct Silence;

impl Observer for Silence {
    fn observe(&mut self, _event: &Event<'_>) {}
}

impl<F: FnMut(&Event<'_>) + Send> Observer for F {
    fn observe(&mut self, event: &Event<'_>) {
        self(event);
    }
}

/// A length of time as a person would say it: `250ms`, `3s`, `2m`.
#[must_use]
pub fn short_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1000 => format!("{millis}ms"),
        1000..60_000 if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        1000..60_000 => format!("{:.1}s", duration.as_secs_f64()),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ => format!("{}m{}s", millis / 60_000, millis % 60_000 / 1000),
    }
}
