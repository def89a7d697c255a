//! The approval of a run as a whole, for exactly what its plan may do, or for less.

use std::time::Duration;

use planrun_core::run::{Approval, Program};
use planrun_runs::runs::required_grant;

use crate::generate::Dice;
use crate::generated::bounds;

/// What has to be approved before a run does anything.
pub struct Consent {
    pub approval: Approval,
    /// Whether it covers every call that the plan may make, and does not expire during the run.
    pub is_complete: bool,
}

impl Consent {
    /// Returns an approval for the run of a plan, sometimes; `None` for plans that only read.
    pub fn of(program: &Program, dice: &mut Dice) -> Option<Self> {
        if !dice.one_in(4) {
            return None;
        }
        let mut grant = required_grant(&program.plan, &bounds::of(&program.plan))?;
        let is_complete = dice.one_in(2);
        if !is_complete {
            let dropped = dice.below(grant.calls.len() * 2);
            for calls in &mut grant.calls {
                calls.max = calls.max.min(1 + dice.next() % 3);
            }
            if dropped < grant.calls.len() {
                grant.calls.remove(dropped);
            }
        }
        let minutes = if is_complete {
            60 * 24 * 10_000
        } else {
            *dice.pick(&[1, 10, 100_000])
        };
        let approval = Approval {
            text: "May it run?".into(),
            open_for: Duration::from_hours(24),
            grant,
            valid_for: Duration::from_mins(minutes),
        };
        Some(Self {
            approval,
            is_complete,
        })
    }
}
