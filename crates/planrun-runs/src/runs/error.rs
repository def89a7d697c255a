//! Errors of the service: a kind for programs, a sentence for people.

use planrun_lang::diag::render::{FileReport, visible_line};

use super::repeated::Repeated;
use crate::journal::store::JournalError;
use planrun_core::journal::AnswerError;
use planrun_core::run::RepeatReason;

/// An error of the service. Nothing has changed then, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The project, or the record of a run, cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// An event of a run cannot be parsed, or does not follow the one before.
    #[error("event {number} of the run `{run}` cannot be used: {why}")]
    Event {
        run: String,
        number: u64,
        why: String,
    },
    /// The request does not fit the plan or the run.
    #[error("{0}")]
    Invalid(String),
    /// The plan, or the project around it, has errors.
    #[error("the plan has errors")]
    Findings(Vec<FileReport>),
    /// The plan has no errors, but a run of it could not complete. The report contains what no check has reported yet.
    #[error("parts of the plan cannot be executed")]
    Obstacles(Box<FileReport>),
    /// The file has no plan of the requested name; without a name, it has none at all, or several.
    #[error("{}", plan_choice(requested.as_deref(), plans))]
    PlanChoice {
        requested: Option<String>,
        plans: Vec<String>,
    },
    /// The plan itself has no such step.
    #[error("`{plan}` has no step `{step}`{purpose}; {hint}")]
    UnknownStep {
        plan: String,
        step: String,
        purpose: &'static str,
        hint: String,
    },
    /// Required inputs are missing.
    #[error("`{plan}` needs more inputs: {}", missing.iter().map(|input| &*input.name).collect::<Vec<_>>().join(", "))]
    MissingInputs {
        plan: String,
        missing: Vec<MissingInput>,
    },
    /// A new run would repeat effects of the run that it is based on.
    #[error(
        "this would repeat what the run {run} {}: {}",
        has_done(steps),
        visible_list(steps)
    )]
    RepeatsEffects { run: String, steps: Vec<Repeated> },
    /// A run with this id has begun with another plan, other inputs or other options.
    #[error(
        "the run `{run}` already exists and began with something else; what differs: {}; use another run id, or start it \
         with the plan, inputs and options that it began with",
        visible_line(&differences.join(", "))
    )]
    BeganDifferently {
        run: String,
        differences: Vec<String>,
    },
    /// The results of a run cannot be reused before it has ended.
    #[error(
        "the run `{run}` has not ended, so it may still use or undo its results: it is {state}"
    )]
    NotEnded { run: String, state: &'static str },
    #[error("the run `{run}` has ended: {state}")]
    Ended { run: String, state: &'static str },
    /// The run has progressed since the request was checked against it.
    #[error("the run `{run}` has progressed in the meantime, so nothing was changed")]
    Changed { run: String },
    /// Only a damaged run is deleted before it has ended.
    #[error("the run `{run}` is not damaged, so it was not deleted")]
    NotDamaged { run: String, ended: bool },
    /// Processes died repeatedly without progress; the run is now paused.
    #[error(
        "the run {run} is paused: its process died {deaths} times at event {event} without making progress"
    )]
    Stuck {
        run: String,
        deaths: u32,
        event: u64,
    },
    /// An answer is refused.
    #[error("{error}")]
    Answer { run: String, error: AnswerError },
    /// No run asks a question at this path.
    #[error("no run has an open question at `{path}`")]
    NothingAsked { path: String },
}

/// The kind of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// There is no such run, plan, step or question, or more than one.
    NotFound,
    /// The request does not fit.
    Invalid,
    /// The run is not in a state that allows it.
    Conflict,
    /// Findings prevent the plan from being run.
    Findings,
    /// The run is paused and waits for a person's decision.
    Paused,
    /// Another process drives the run, or holds the journal.
    Busy,
    /// Files, the project or the journal cannot be used.
    Environment,
}

/// A required input of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingInput {
    pub name: String,
    /// A value of its type, as a user would type it; an ellipsis if there is no example.
    pub example: String,
}

impl Error {
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(error) => journal_kind(error),
            Self::Unusable(_) | Self::Event { .. } => ErrorKind::Environment,
            Self::Invalid(_)
            | Self::MissingInputs { .. }
            | Self::NotDamaged { .. }
            | Self::Answer { .. } => ErrorKind::Invalid,
            Self::Findings(_) | Self::Obstacles(_) => ErrorKind::Findings,
            Self::PlanChoice { .. } | Self::UnknownStep { .. } | Self::NothingAsked { .. } => {
                ErrorKind::NotFound
            }
            Self::RepeatsEffects { .. }
            | Self::BeganDifferently { .. }
            | Self::NotEnded { .. }
            | Self::Ended { .. }
            | Self::Changed { .. } => ErrorKind::Conflict,
            Self::Stuck { .. } => ErrorKind::Paused,
        }
    }
}

fn journal_kind(error: &JournalError) -> ErrorKind {
    match error {
        JournalError::NotFound { .. } | JournalError::Ambiguous { .. } => ErrorKind::NotFound,
        JournalError::OtherInput { .. } => ErrorKind::Conflict,
        JournalError::Driven { .. } | JournalError::Fenced { .. } | JournalError::Busy { .. } => {
            ErrorKind::Busy
        }
        JournalError::Absent { .. }
        | JournalError::NoValue { .. }
        | JournalError::NewerFormat { .. }
        | JournalError::OlderFormat { .. }
        | JournalError::NoJournal { .. }
        | JournalError::Damaged { .. }
        | JournalError::NoSpace { .. }
        | JournalError::ReadOnly { .. }
        | JournalError::Misused(_)
        | JournalError::Output(_)
        | JournalError::Panicked { .. }
        | JournalError::Io { .. } => ErrorKind::Environment,
    }
}

fn plan_choice(requested: Option<&str>, plans: &[String]) -> String {
    let names = plans
        .iter()
        .map(|plan| format!("`{plan}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match (requested, plans) {
        (Some(requested), []) => {
            format!("there is no plan `{requested}`: the file contains no plans")
        }
        (Some(requested), _) => format!("there is no plan `{requested}`; available: {names}"),
        (None, []) => "the file contains no plans".to_owned(),
        (None, _) => format!("there are several plans: {names}; choose one"),
    }
}

fn has_done(steps: &[Repeated]) -> &'static str {
    let is_unknown = |step: &Repeated| step.reason == RepeatReason::Unknown;
    if steps.iter().any(is_unknown) {
        "has already done, or may have done"
    } else {
        "has already done"
    }
}

fn visible_list(steps: &[Repeated]) -> String {
    steps
        .iter()
        .map(|step| visible_line(&step.to_string()).into_owned())
        .collect::<Vec<_>>()
        .join(", ")
}
