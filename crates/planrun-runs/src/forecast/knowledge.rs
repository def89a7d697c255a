//! Evaluates expressions with partial knowledge: names without a value make an expression unknown, not wrong.

use std::sync::Arc;

use planrun_lang::eval::{self, Evaluated, Knowledge};
use planrun_lang::permission::Permissions;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{BlockId, Place, Plan};
use planrun_lang::value::Value;

use super::{Known, Unknown};

/// One block, as far as it is known.
pub(super) struct Frame {
    pub plan: Arc<Plan>,
    pub block: BlockId,
    /// The frame whose names it can read.
    pub outer: Option<usize>,
    pub path: String,
    /// The values of slots; `None` if not known yet.
    pub slots: Vec<Option<Value>>,
    /// The results of conditions, by node.
    pub conditions: Vec<Condition>,
    pub permissions: Arc<Permissions>,
    /// The value of `yield` or `reply`.
    pub value: Option<Value>,
}

/// The result of a condition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    True,
    False,
    /// Its own guard is false, so neither branch is taken.
    Untaken,
    Unknown,
}

impl Frame {
    pub(super) fn new(plan: &Arc<Plan>, block: BlockId, permissions: Arc<Permissions>) -> Self {
        let of = plan.block(block);
        Self {
            plan: plan.clone(),
            block,
            outer: None,
            path: String::new(),
            slots: vec![None; of.slots as usize],
            conditions: vec![Condition::Unknown; of.nodes.len()],
            permissions,
            value: None,
        }
    }
}

/// The names that an expression can read.
struct Names<'a> {
    frames: &'a [Frame],
    frame: usize,
}

impl Names<'_> {
    fn slot(&self, place: Place) -> Option<&Value> {
        let mut frame = self.frames.get(self.frame)?;
        for _ in 0..place.up {
            frame = self.frames.get(frame.outer?)?;
        }
        frame.slots.get(place.slot as usize)?.as_ref()
    }
}

impl Knowledge for Names<'_> {
    fn known(&self, place: Place) -> Option<Value> {
        self.slot(place).cloned()
    }
}

/// Evaluates an expression in a frame, as far as possible.
pub(super) fn evaluate(frames: &[Frame], frame: usize, code: &CheckedExpr) -> Evaluated {
    eval::evaluate_partially(code, &Names { frames, frame })
}

/// Returns the description of an expression whose value is unknown.
pub(super) fn unknown(
    frames: &[Frame],
    frame: usize,
    code: &CheckedExpr,
    text: Option<String>,
) -> Unknown {
    let names = Names { frames, frame };
    let missing = code
        .reads
        .iter()
        .filter(|read| names.slot(read.place).is_none());
    let mut after: Vec<Arc<str>> = Vec::new();
    for read in missing {
        if !after.contains(&read.name) {
            after.push(read.name.clone());
        }
    }
    let fails = match evaluate(frames, frame, code) {
        Evaluated::Fails(error) => Some(error.to_string()),
        Evaluated::Value(_) | Evaluated::Unknown => None,
    };
    Unknown {
        expression: text,
        after,
        fails,
    }
}

impl Known {
    /// Returns the value, if it is known.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value { value } => Some(value),
            Self::Unknown { .. } => None,
        }
    }
}
