//! Reports diagnostics and outcomes of runs to models, as briefly as possible.

mod blocks;
mod findings;
mod json;
mod outcome;
mod shorten;

pub use blocks::{Block, separated};
pub use findings::{NOTHING_CALLED, findings};
pub(crate) use json::text;
pub use outcome::{facts, failure, success};
pub use shorten::{Cut, Part, PathNotFound, Shortened, at, shorten};

/// Default maximum size of a result, in tokens.
pub const DEFAULT_RESULT_TOKENS: usize = 4_000;
/// Maximum size of a result, in tokens, whatever is requested.
pub const MAX_RESULT_TOKENS: usize = 10_000;
