//! The coverage goals of a plan: everything in it that a test can reach.
//!
//! Errors that the contract of a tool names are goals of every call of the tool, because the contract says that they
//! happen. Errors that any tool can have are goals only of steps for which the plan handles them: the step has a
//! `retry` or a `recover` for them, or an expression reads its state. These errors are `tool.failed`, an error
//! without a name, and all `transient` errors, which count as one. An outcome that the checker rules out is not a
//! goal, and a call that makes up a whole arm is covered by the goal of the arm. The checks that the policy requires
//! of agents are goals of each agent and not of each step, because each agent is asked once per run, whichever of its
//! steps comes first.

use std::sync::Arc;

use planrun_lang::sema::Plan;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::ErrorClass;
use planrun_lang::words;

use super::Item;
use super::finder::find;
use planrun_core::run::Reached;

words! {
    /// The kind of a goal.
    #[derive(PartialOrd, Ord)]
    Kind {
        Step = "step",
        /// A condition of `when`, `if`, a guarded statement or a listener.
        Condition = "condition",
        Ensure = "ensure",
        /// An arm of a `match`.
        Arm = "arm",
        Recover = "recover",
        /// A loop of `each` or `repeat`.
        Loop = "loop",
        Error = "error",
        Undo = "undo",
        Verify = "verify",
        Listener = "listener",
        Reply = "reply",
        Gate = "gate",
        Input = "input",
    }
}

/// An outcome of a statement, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Started,
    Decided(bool),
    Arm(usize),
    Recovered(usize),
    /// The dotted class of the error; all transient errors are one class.
    Failed(String),
    /// `each` over a list with elements (`true`) or over an empty one (`false`).
    Elements(bool),
    Once,
    Again,
    Undone,
    Verified,
    /// The answer of an agent to a check that the policy requires: done, not done, or left open.
    Asked(Option<bool>),
    Fired,
    Replied,
    Approved,
    Refused,
    Answered,
}

/// One goal that a test can reach.
#[derive(Debug)]
pub struct Goal {
    pub kind: Kind,
    /// Its name: the path of a step, or the text of a condition.
    pub name: String,
    /// Its span in the file.
    pub span: Span,
    pub item: Item,
    /// The goal that must be reached before it.
    pub prerequisite: Option<Item>,
    /// The message for reports while no test reaches it.
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
    /// Finds the goals of a plan of this file. Plans that it calls have goals of their own.
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

    /// Returns the line of a goal, from 1.
    #[must_use]
    pub fn line(&self, goal: &Goal) -> u32 {
        self.file.position(goal.span.start).line
    }
}

impl What {
    /// Converts an event of the engine.
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
            Reached::Asked(verified) => Self::Asked(verified),
            Reached::Fired => Self::Fired,
            Reached::Replied => Self::Replied,
            Reached::Approved => Self::Approved,
            Reached::Refused => Self::Refused,
            Reached::Answered => Self::Answered,
        }
    }
}

impl What {
    /// Returns the word that distinguishes goals with the same name.
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
    /// Returns true if it is one of several branches at the same statement.
    #[must_use]
    pub const fn is_branch(self) -> bool {
        matches!(
            self,
            Self::Condition | Self::Ensure | Self::Arm | Self::Recover | Self::Loop | Self::Gate
        )
    }
}
