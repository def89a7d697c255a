//! Evaluating with what is known: names without a value make an expression unknown, not wrong.

use std::sync::Arc;

use planrun_lang::eval::{self, Came, Knowledge};
use planrun_lang::permission::Permissions;
use planrun_lang::sema::expr::Code;
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
    /// None where the value is not known yet.
    pub slots: Vec<Option<Value>>,
    /// By node: how conditions come out.
    pub conditions: Vec<Condition>,
    pub permissions: Arc<Permissions>,
    /// What `yield` or `reply` gives.
    pub value: Option<Value>,
}

/// How a condition comes out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    True,
    False,
    /// Its own guard is false: neither branch is taken.
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

/// The names around an expression.
struct Around<'a> {
    frames: &'a [Frame],
    frame: usize,
}

impl Around<'_> {
    fn slot(&self, place: Place) -> Option<&Value> {
        let mut frame = self.frames.get(self.frame)?;
        for _ in 0..place.up {
            frame = self.frames.get(frame.outer?)?;
        }
        frame.slots.get(place.slot as usize)?.as_ref()
    }
}

impl Knowledge for Around<'_> {
    fn known(&self, place: Place) -> Option<Value> {
        self.slot(place).cloned()
    }
}

/// What an expression in a frame comes to.
pub(super) fn come(frames: &[Frame], frame: usize, code: &Code) -> Came {
    eval::come(code, &Around { frames, frame })
}

/// What stands for an expression that has no value.
pub(super) fn unknown(
    frames: &[Frame],
    frame: usize,
    code: &Code,
    text: Option<String>,
) -> Unknown {
    let around = Around { frames, frame };
    let missing = code
        .reads
        .iter()
        .filter(|read| around.slot(read.place).is_none());
    let mut after: Vec<Arc<str>> = Vec::new();
    for read in missing {
        if !after.contains(&read.name) {
            after.push(read.name.clone());
        }
    }
    let fails = match come(frames, frame, code) {
        Came::Fails(error) => Some(error.to_string()),
        Came::Value(_) | Came::Unknown => None,
    };
    Unknown {
        expression: text,
        after,
        fails,
    }
}

impl Known {
    /// The value, where there is one.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value { value } => Some(value),
            Self::Unknown { .. } => None,
        }
    }
}
