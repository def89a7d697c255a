//! Who listens to a run while it goes on.

use std::time::Duration;

use planrun_lang::sema::{BlockId, NodeId, Plan};
use planrun_lang::types::ErrorClass;

use crate::journal::{AnswerError, Event};
use crate::tools::Progress;

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

    /// Whether it wants to be told what of the plan is reached; asked once, before the run begins.
    fn watches(&self) -> bool {
        false
    }

    /// A statement of the plan, or of one that it calls, has come to something that no event tells.
    fn reached(&mut self, _plan: &Plan, _block: BlockId, _node: NodeId, _what: &Reached) {}
}

/// What a statement has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A step has begun.
    Started,
    /// A condition, an `ensure` or the `when` of a listener came out so.
    Decided(bool),
    /// The arm of a `match` with this number was taken.
    Arm(usize),
    /// The arm of `recover` with this number was taken.
    Recovered(usize),
    /// A step, or an attempt at it, failed so, whether or not it was tried again.
    Failed(ErrorClass),
    /// `each` has begun with so many elements.
    Elements(usize),
    /// `repeat` has ended after its first round.
    Once,
    /// `repeat` has gone into its second round.
    Again,
    /// What takes the step back has begun.
    Undone,
    /// What looks whether the step happened has begun.
    Verified,
    /// A listener has fired.
    Fired,
    /// A `reply` has its value.
    Replied,
    /// Somebody agreed to what a step asks for.
    Approved,
    /// Somebody said no to it.
    Refused,
    /// Somebody filled in a form.
    Answered,
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

/// A length of time as a person would say it, in its two largest units: `250ms`, `3s`, `2m`, `1h30m`, `2d`.
#[must_use]
pub fn short_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1000 => format!("{millis}ms"),
        1000..60_000 if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        1000..60_000 => format!("{:.1}s", duration.as_secs_f64()),
        60_000..3_600_000 => two(millis / 1000, (60, "m"), (1, "s")),
        3_600_000..86_400_000 => two(millis / 1000, (3600, "h"), (60, "m")),
        _ => two(millis / 1000, (86_400, "d"), (3600, "h")),
    }
}

fn two(seconds: u128, (large, first): (u128, &str), (small, second): (u128, &str)) -> String {
    match seconds % large / small {
        0 => format!("{}{first}", seconds / large),
        rest => format!("{}{first}{rest}{second}", seconds / large),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_lengths_of_time_are_told_in_the_units_of_people() {
        let told = |seconds: u64| short_duration(Duration::from_secs(seconds));
        let all = [3, 60, 123, 3600, 5400, 86_399, 86_400, 172_800, 180_000].map(told);
        assert_eq!(
            all,
            [
                "3s", "1m", "2m3s", "1h", "1h30m", "23h59m", "1d", "2d", "2d2h"
            ]
        );
        assert_eq!(short_duration(Duration::from_millis(1500)), "1.5s");
    }
}
