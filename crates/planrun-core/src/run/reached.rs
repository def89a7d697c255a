//! Coverage points: what each statement of a plan has come to in a run.

use planrun_lang::types::ErrorClass;

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
    SecondRound,
    /// What undoes the step has begun.
    Undone,
    /// What verifies the step has begun.
    Verified,
    /// Its agent was asked whether it was done, and said yes, no, or nothing of both.
    Asked(Option<bool>),
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
