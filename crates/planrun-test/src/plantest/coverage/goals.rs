//! Everything in a plan that a test can reach.
//!
//! The errors that a tool's contract names are goals wherever it is called, because the contract says that they happen.
//! Those that happen to every tool are goals only of steps whose plan says what shall happen then: the step has a
//! `retry` or a `recover` for them, or something asks for its state. They are `tool.failed`, a refusal without a name,
//! and all that is `transient`, which counts as one. What the checker knows to come out in one way only is no goal in the
//! other, and a call that is all of an arm is covered by the goal of the arm. What agents are asked by the policy has goals
//! for each agent and none for each step, since each is asked once in a run, whichever of its steps was the first.

use std::sync::Arc;

use planrun_lang::sema::Plan;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::ErrorClass;

use super::Item;
use super::finder::find;
use planrun_core::run::Reached;

/// What sort of thing it is that can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Step,
    /// Of `when`, `if`, a guarded statement or a listener.
    Condition,
    Ensure,
    /// Of a `match`.
    Arm,
    Recover,
    /// `each` and `repeat`.
    Loop,
    Error,
    Undo,
    Verify,
    Listener,
    Reply,
    Gate,
    Input,
}

/// What a statement can come to, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Started,
    Decided(bool),
    Arm(usize),
    Recovered(usize),
    /// The dotted class; all that are transient are one.
    Failed(String),
    /// `each` over a list without elements, or over one with some.
    Elements(bool),
    Once,
    Again,
    Undone,
    Verified,
    /// What an agent said when it was asked by the policy: yes, no, or nothing of both.
    Asked(Option<bool>),
    Fired,
    Replied,
    Approved,
    Refused,
    Answered,
}

/// One thing that a test can reach.
#[derive(Debug)]
pub struct Goal {
    pub kind: Kind,
    /// What it is called: the path of a step, the text of a condition.
    pub name: String,
    /// Where it is written.
    pub span: Span,
    pub item: Item,
    /// What must be reached before it.
    pub under: Option<Item>,
    /// What is said of it while no test reaches it.
    pub missing: String,
}

/// The goals of one plan, in the order of its text.
#[derive(Debug)]
pub struct Goals {
    file: Arc<SourceFile>,
    plan: Arc<Plan>,
    pub list: Vec<Goal>,
}

impl Goals {
    /// Finds the goals of a plan that stands in this file. Plans that it calls have goals of their own.
    #[must_use]
    pub fn of(file: &Arc<SourceFile>, plan: &Arc<Plan>) -> Self {
        let mut list = find(file, plan);
        list.sort_by(|one, other| {
            (one.span.start, &one.item).cmp(&(other.span.start, &other.item))
        });
        Self {
            file: file.clone(),
            plan: plan.clone(),
            list,
        }
    }

    #[must_use]
    pub fn file(&self) -> &SourceFile {
        &self.file
    }

    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The line of a goal, from 1.
    #[must_use]
    pub fn line(&self, goal: &Goal) -> u32 {
        self.file.position(goal.span.start).line
    }
}

impl What {
    /// What the engine tells, as it is kept.
    #[must_use]
    pub fn of(reached: &Reached) -> Self {
        match *reached {
            Reached::Started => Self::Started,
            Reached::Decided(truth) => Self::Decided(truth),
            Reached::Arm(index) => Self::Arm(index),
            Reached::Recovered(index) => Self::Recovered(index),
            Reached::Failed(ErrorClass::Transient(_)) => Self::Failed("transient".into()),
            Reached::Failed(ref class) => Self::Failed(class.to_string()),
            Reached::Elements(count) => Self::Elements(count > 0),
            Reached::Once => Self::Once,
            Reached::SecondRound => Self::Again,
            Reached::Undone => Self::Undone,
            Reached::Verified => Self::Verified,
            Reached::Asked(said) => Self::Asked(said),
            Reached::Fired => Self::Fired,
            Reached::Replied => Self::Replied,
            Reached::Approved => Self::Approved,
            Reached::Refused => Self::Refused,
            Reached::Answered => Self::Answered,
        }
    }
}

impl What {
    /// The word for it, where several goals may have one name.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Started => "started",
            Self::Decided(true) => "true",
            Self::Decided(false) => "false",
            Self::Arm(_) | Self::Recovered(_) => "taken",
            Self::Failed(class) => class,
            Self::Elements(true) => "some",
            Self::Elements(false) => "none",
            Self::Once => "once",
            Self::Again => "again",
            Self::Undone => "undone",
            Self::Verified | Self::Asked(Some(true)) => "verified",
            Self::Asked(Some(false)) => "failed",
            Self::Asked(None) => "inconclusive",
            Self::Fired => "fired",
            Self::Replied => "replied",
            Self::Approved => "approved",
            Self::Refused => "refused",
            Self::Answered => "answered",
        }
    }
}

impl Kind {
    /// Every kind, in the order of the reports.
    pub const ALL: [Self; 13] = [
        Self::Step,
        Self::Condition,
        Self::Ensure,
        Self::Arm,
        Self::Recover,
        Self::Loop,
        Self::Error,
        Self::Undo,
        Self::Verify,
        Self::Listener,
        Self::Reply,
        Self::Gate,
        Self::Input,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Condition => "condition",
            Self::Ensure => "ensure",
            Self::Arm => "arm",
            Self::Recover => "recover",
            Self::Loop => "loop",
            Self::Error => "error",
            Self::Undo => "undo",
            Self::Verify => "verify",
            Self::Listener => "listener",
            Self::Reply => "reply",
            Self::Gate => "gate",
            Self::Input => "input",
        }
    }

    /// Whether it is one of several ways on from the same place.
    #[must_use]
    pub const fn is_branch(self) -> bool {
        matches!(
            self,
            Self::Condition | Self::Ensure | Self::Arm | Self::Recover | Self::Loop | Self::Gate
        )
    }
}
