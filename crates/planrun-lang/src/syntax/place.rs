//! Which statement may stand where.

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;

/// The statements that have a place of their own, or none at all, and so cannot stand in a `parallel`.
const REFUSED_BY_PARALLEL: [&str; 11] = [
    "policy", "allow", "task", "set", "listener", "ensure", "fail", "reply", "yield", "next",
    "parallel",
];

/// What a block belongs to, which decides what it may hold.
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
    /// Something damaged, of which nothing is known.
    Unknown,
}

impl Place {
    /// The block of an object of the JSON form of this kind, where this is the place around it.
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

    /// The block of an `if`, which belongs to what stands around it.
    pub fn inner(self) -> Self {
        match self {
            Self::Plan | Self::Branch => Self::Branch,
            Self::Value | Self::Repeat | Self::Listener | Self::Parallel | Self::Unknown => self,
        }
    }

    /// The finding about a statement that begins with this word, where the block cannot hold it.
    pub fn refuses(self, word: &str, at: Span) -> Option<Diagnostic> {
        let (why, help) = match word {
            _ if self == Self::Parallel && REFUSED_BY_PARALLEL.contains(&word) => (
                "cannot stand in a `parallel`, which holds steps, `let` and `if`",
                "move it above or below the block; what belongs together in it is a `do`",
            ),
            "policy" | "allow" if !self.holds_settings() => (
                "stands only at the top of a plan",
                "move it to the beginning of the plan's block",
            ),
            "reply" if !self.replies() && self.yields() => (
                "ends a plan, and this block is a part of one",
                "write `yield` to give this block's value",
            ),
            "reply" if !self.replies() => (
                "cannot stand in a listener",
                "keep what is to be replied in a task's context with `set`",
            ),
            "yield" if !self.yields() => (
                "gives the value of a `do`, `each` or `repeat`, and none stands around it",
                "write `reply` to give the plan's value",
            ),
            "next" if !self.repeats() => (
                "gives the next state of a `repeat`, and none stands around it",
                "remove it, or put it into the block of a `repeat`",
            ),
            _ => return None,
        };
        Some(Diagnostic::new(&codes::MISPLACED_STATEMENT, at, format!("`{word}` {why}")).help(help))
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
