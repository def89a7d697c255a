//! What was found in a plan and what became of its run, told in the few words that a model can afford.

mod blocks;
mod findings;
mod json;
mod outcome;
mod shorten;

pub use blocks::{Block, separated};
pub use findings::findings;
pub(crate) use json::text;
pub use outcome::{facts, failure, success};
pub use shorten::{Cut, NoSuchPlace, Part, Shortened, at, shorten};

/// What a result has at most where nobody says otherwise, in tokens.
pub const DEFAULT_RESULT_TOKENS: usize = 4_000;
/// What it has at most whatever is asked for.
pub const MAX_RESULT_TOKENS: usize = 10_000;
