//! Which statements are allowed in which blocks.

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;

/// Statements that are not allowed in a `parallel`, because their order matters or because they belong elsewhere.
const REFUSED_BY_PARALLEL: [&str; 11] = [
    "policy", "allow", "task", "set", "listener", "ensure", "fail", "reply", "yield", "next",
    "parallel",
];

/// The construct that a block belongs to, which determines the statements it may contain.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Plan,
    /// An `if` of a plan.
    Branch,
    /// A `do` or an `each`.
    Value,
    Repeat,
    Listener,
    /// A `parallel`, and an `if` in one.
    Parallel,
    /// A damaged text, in which any statement is accepted.
    Unknown,
}

impl Place {
    /// Returns the place of the body of an object of this kind in the JSON form, which itself is in `self`.
    pub fn of_body(self, kind: &str) -> Self {
        match kind {
            "plan" => Self::Plan,
            "if" | "else_if" => self.inner(),
            "parallel" => Self::Parallel,
            "listener" => Self::Listener,
            "repeat" => Self::Repeat,
            _ => Self::Value,
        }
    }

    /// Returns the place of the block of an `if` inside this one.
    pub fn inner(self) -> Self {
        match self {
            Self::Plan | Self::Branch => Self::Branch,
            Self::Value | Self::Repeat | Self::Listener | Self::Parallel | Self::Unknown => self,
        }
    }

    /// Returns a diagnostic if the block may not contain a statement that begins with this word.
    pub fn refuses(self, word: &str, at: Span) -> Option<Diagnostic> {
        let (why, help) = match word {
            _ if self == Self::Parallel && REFUSED_BY_PARALLEL.contains(&word) => (
                "is not allowed in a `parallel`, which may contain only steps, `let` and `if`",
                "move it above or below the block, or group statements of the block in a `do`",
            ),
            "policy" | "allow" if !self.holds_settings() => (
                "is only allowed at the top of a plan",
                "move it to the beginning of the plan's block",
            ),
            "reply" if !self.replies() && self.yields() => (
                "ends the whole plan and is not allowed inside a block",
                "write `yield` to set the value of this block",
            ),
            "reply" if !self.replies() => (
                "is not allowed in a listener",
                "store the value in the context of a task with `set`",
            ),
            "yield" if !self.yields() => (
                "sets the value of a `do`, `each` or `repeat`, but it is not inside one",
                "write `reply` to set the value of the plan",
            ),
            "next" if !self.repeats() => (
                "sets the next state of a `repeat`, but it is not inside one",
                "remove it, or move it into the block of a `repeat`",
            ),
            _ => return None,
        };
        Some(
            codes::MISPLACED_STATEMENT
                .at(at, format!("`{word}` {why}"))
                .help(help),
        )
    }

    fn holds_settings(self) -> bool {
        matches!(self, Self::Plan | Self::Unknown)
    }

    fn replies(self) -> bool {
        matches!(self, Self::Plan | Self::Branch | Self::Unknown)
    }

    fn yields(self) -> bool {
        matches!(self, Self::Value | Self::Repeat | Self::Unknown)
    }

    fn repeats(self) -> bool {
        matches!(self, Self::Repeat | Self::Unknown)
    }
}
