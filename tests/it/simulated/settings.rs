//! The settings of the project in which a simulated run takes place.

use std::time::Duration;

use planrun_core::run::{Defaults, ToolNames, ToolRetry};
use planrun_lang::sema::{Budget, OnFailure, Policy, Retry};

use crate::generate::{Dice, Project};

/// Returns settings for what plans leave open; most projects have none.
pub fn drawn(made: &Project, dice: &mut Dice) -> Defaults {
    if !dice.one_in(3) {
        return Defaults::default();
    }
    let on_failure = [
        None,
        Some(OnFailure::Undo),
        Some(OnFailure::Pause),
        Some(OnFailure::Pause),
        Some(OnFailure::Settle),
    ];
    let minutes = |minutes| Some(Duration::from_mins(minutes));
    let mut policy = Policy {
        deadline: *dice.pick(&[None, None, None, minutes(5), minutes(120)]),
        budget: Budget {
            time: *dice.pick(&[None, None, None, minutes(3), minutes(60)]),
            ..Budget::default()
        },
        concurrency: *dice.pick(&[None, Some(1), Some(2)]),
        on_failure: *dice.pick(&on_failure),
        retry: Retry {
            pause_when_exhausted: dice.one_in(3).then_some(true),
            ..Retry::default()
        },
        ..Policy::default()
    };
    let retry = Retry {
        attempts: Some(3),
        delay: Some(Duration::from_secs(90)),
        ..Retry::default()
    };
    let mut tools = || {
        let called = (!made.tools.is_empty() && dice.one_in(2)).then(|| dice.pick(&made.tools));
        called.and_then(|tool| ToolNames::find(&format!("{}.*", tool.namespace)))
    };
    let confirm = tools().into_iter().collect();
    let retries = tools().map(|tools| ToolRetry { tools, retry });
    let retries = retries.into_iter().collect();
    let strict = dice.one_in(4);
    let mut few = || *dice.pick(&[None, None, None, None, Some(2), Some(5)]);
    policy.max_steps = few();
    policy.max_firings = few();
    policy.budget.calls = few();
    Defaults {
        policy,
        confirm,
        retries,
        strict,
        ..Defaults::default()
    }
}

/// Returns true if a run may make other calls than its plan alone allows.
pub fn add_calls(defaults: &Defaults) -> bool {
    !defaults.retries.is_empty() || defaults.policy.on_failure.is_some() || defaults.strict
}
