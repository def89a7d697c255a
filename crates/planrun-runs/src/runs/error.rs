//! Why the service did not do what was asked: a kind for programs, a sentence for people.

use planrun_lang::diag::render::{FileReport, visible_line};

use crate::journal::store::JournalError;
use planrun_core::journal::AnswerError;

/// Why the service did not do what was asked. Nothing has changed then, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The project, or what was written of a run, cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// An event of a run cannot be read, or cannot follow those before it.
    #[error("event {number} of the run `{run}` cannot be used: {why}")]
    Event {
        run: String,
        number: u64,
        why: String,
    },
    /// What was asked for does not fit the plan or the run.
    #[error("{0}")]
    Invalid(String),
    /// The plan, or the project around it, has errors.
    #[error("the plan has errors")]
    Findings(Vec<FileReport>),
    /// The plan is right, and a run of it could not be done as a whole. The report holds what no check has reported yet.
    #[error("the plan could not be done as a whole")]
    Obstacles(Box<FileReport>),
    /// The file has no plan of the name that was asked for; without a name it has none at all, or several.
    #[error("{}", plan_choice(wanted.as_deref(), plans))]
    PlanChoice {
        wanted: Option<String>,
        plans: Vec<String>,
    },
    /// The plan has no such step of its own.
    #[error("`{plan}` has no step `{step}`{purpose}; {hint}")]
    UnknownStep {
        plan: String,
        step: String,
        purpose: &'static str,
        hint: String,
    },
    /// Required inputs that were not given.
    #[error("`{plan}` needs more inputs: {}", missing.iter().map(|input| &*input.name).collect::<Vec<_>>().join(", "))]
    MissingInputs {
        plan: String,
        missing: Vec<MissingInput>,
    },
    /// A new run would repeat effects of the run that it begins from.
    #[error(
        "this would do again what the run {run} has done: {}",
        visible_list(steps)
    )]
    RepeatsEffects { run: String, steps: Vec<String> },
    #[error("the run `{run}` has ended: {state}")]
    Ended { run: String, state: String },
    /// Processes died at the same event again and again; the run is paused now.
    #[error(
        "the run {run} is paused: it died {deaths} times at event {event} without getting further"
    )]
    Stuck {
        run: String,
        deaths: u32,
        event: u64,
    },
    /// An answer is not taken.
    #[error("{error}")]
    Answer { run: String, error: AnswerError },
    /// No run asks anything at this path.
    #[error("no run asks anything at `{path}`")]
    NothingAsked { path: String },
}

/// What kind of thing is in the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// There is no such run, plan or step, or more than one.
    NotFound,
    /// What was asked for does not fit.
    Invalid,
    /// The run is not in a state for it.
    Conflict,
    /// Findings keep the plan from being run.
    Findings,
    /// The run is paused and waits for somebody's decision.
    Paused,
    /// Another process drives the run, or holds the journal.
    Busy,
    /// Files, the project or the journal are not as they must be.
    Environment,
}

/// An input that a plan wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingInput {
    pub name: String,
    /// A value of its type, as somebody would type it; an ellipsis where none can be made up.
    pub example: String,
}

impl Error {
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Journal(error) => journal_kind(error),
            Self::Unusable(_) | Self::Event { .. } => ErrorKind::Environment,
            Self::Invalid(_) | Self::MissingInputs { .. } | Self::Answer { .. } => {
                ErrorKind::Invalid
            }
            Self::Findings(_) | Self::Obstacles(_) => ErrorKind::Findings,
            Self::PlanChoice { .. } | Self::UnknownStep { .. } | Self::NothingAsked { .. } => {
                ErrorKind::NotFound
            }
            Self::RepeatsEffects { .. } | Self::Ended { .. } => ErrorKind::Conflict,
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
        | JournalError::Io { .. } => ErrorKind::Environment,
    }
}

fn plan_choice(wanted: Option<&str>, plans: &[String]) -> String {
    let names = plans
        .iter()
        .map(|plan| format!("`{plan}`"))
        .collect::<Vec<_>>()
        .join(", ");
    match (wanted, plans) {
        (Some(wanted), []) => format!("there is no plan `{wanted}`, and no plan at all"),
        (Some(wanted), _) => format!("there is no plan `{wanted}`; there are {names}"),
        (None, []) => "there is no plan".to_owned(),
        (None, _) => format!("there are several plans: {names}; choose one"),
    }
}

fn visible_list(names: &[String]) -> String {
    names
        .iter()
        .map(|name| visible_line(name))
        .collect::<Vec<_>>()
        .join(", ")
}
