//! Coverage points: what a statement of a plan reaches in a run.

use planrun_lang::types::ErrorClass;

/// A milestone that a statement has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reached {
    /// A step has begun.
    Started,
    /// A condition, an `ensure` or the `when` of a listener was evaluated.
    Decided(bool),
    /// The arm of a `match` with this number was taken.
    Arm(usize),
    /// The arm of `recover` with this number was taken.
    Recovered(usize),
    /// A step, or an attempt at it, failed with this class, whether or not it was retried.
    Failed(ErrorClass),
    /// `each` has begun with this number of elements.
    Elements(usize),
    /// `repeat` has ended after its first round.
    Once,
    /// `repeat` has entered its second round.
    SecondRound,
    /// The `undo` of a step has begun.
    Undone,
    /// The `verify` of a step has begun.
    Verified,
    /// Its agent was asked whether the step was done: yes, no, or undecided.
    Asked(Option<bool>),
    /// A listener has fired.
    Fired,
    /// A `reply` has its value.
    Replied,
    /// A person approved a step.
    Approved,
    /// A person refused a step.
    Refused,
    /// A person filled in a form.
    Answered,
}
