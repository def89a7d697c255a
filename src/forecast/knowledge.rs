//! Evaluating with what is known: names without a value make an expression unknown, not wrong.

use std::cell::Cell;
use std::sync::Arc;

use super::{Known, Unknown};
use crate::eval::{Environment, EvalError, evaluate};
use crate::protocol::StepState;
use crate::sema::expr::Code;
use crate::sema::{BlockId, Place, Plan};
use crate::source::Span;
use crate::tools::Permissions;
use crate::value::Value;

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

/// What an expression comes to.
pub(super) enum Came {
    Value(Value),
    Unknown,
    /// It fails whatever happens.
    Fails(EvalError),
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
    /// A value was asked for that is not known: an error may come of that alone.
    missing: Cell<bool>,
    /// A state was asked for: what came of it means nothing.
    guessed: Cell<bool>,
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

impl Environment for Around<'_> {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        self.slot(place).cloned().ok_or_else(|| {
            self.missing.set(true);
            EvalError::plain("it is not known yet", Span::at(0))
        })
    }

    fn state(&self, _place: Place) -> StepState {
        self.guessed.set(true);
        StepState::Pending
    }

    fn winner(&self, _place: Place) -> Option<Arc<str>> {
        self.guessed.set(true);
        None
    }
}

/// What an expression in a frame comes to.
pub(super) fn come(frames: &[Frame], frame: usize, code: &Code) -> Came {
    let around = Around { frames, frame, missing: Cell::new(false), guessed: Cell::new(false) };
    let came = evaluate(code, &around);
    match came {
        _ if around.guessed.get() => Came::Unknown,
        Ok(value) => Came::Value(value),
        Err(_) if around.missing.get() => Came::Unknown,
        Err(error) => Came::Fails(error),
    }
}

/// What stands for an expression that has no value.
pub(super) fn unknown(frames: &[Frame], frame: usize, code: &Code, text: Option<String>) -> Unknown {
    let around = Around { frames, frame, missing: Cell::new(false), guessed: Cell::new(false) };
    let missing = code.reads.iter().filter(|read| around.slot(read.place).is_none());
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
    Unknown { expression: text, after, fails }
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
