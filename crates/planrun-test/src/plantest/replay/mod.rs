//! Replays a recorded run with the current plan, without calling anything, and finds where the two differ.

mod compare;
mod crashes;
mod history;
mod order;
mod recorded;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use compare::{Difference, Kind, Redaction};
pub use crashes::Crashes;
pub use history::History;

use planrun_lang::sema::Plan;
use planrun_lang::sema::test::Test;
use planrun_lang::value::Value;

use self::recorded::{RecordedAnswers, RecordedPeople};
use super::case::Case;
use super::play::{Doubles, Played, RecordedInputs, RunOptions, TestEnvironment, play};
use super::responder::ScriptedResponder;
use planrun_core::journal::{Event, EventError};
use planrun_core::run::Program;
use planrun_runs::driver::Silence;

/// A recorded run.
pub struct OriginalRun {
    pub run: Arc<str>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    pub history: History,
    /// The hashes of the contracts of its tools, by dotted name.
    pub contracts: BTreeMap<String, Arc<str>>,
}

/// The replay of a recorded run.
pub struct ReplayedRun {
    pub played: Played,
    pub history: History,
}

/// Replays a run: calls, questions and messages are answered as recorded, at the recorded times.
///
/// # Errors
/// Returns an error if the events of the replay cannot be read.
pub fn replay_run(
    environment: &TestEnvironment,
    program: &Arc<Program>,
    original: &OriginalRun,
) -> Result<ReplayedRun, EventError> {
    let test = Arc::new(empty_test(&program.plan));
    let crashes = Arc::new(Crashes::new(&original.history.crashes));
    let answers = RecordedAnswers::new(&original.history, crashes.clone());
    let people = RecordedPeople::new(&original.history, crashes.clone());
    let recorded = RecordedInputs {
        run: original.run.clone(),
        begun_at: original.history.begun_at,
        messages: original.history.messages.clone(),
        people: Arc::new(people),
        crashes,
    };
    let responder = ScriptedResponder::new(&test);
    let doubles = Doubles {
        sources: vec![Box::new(answers)],
        responder,
        replay: None,
        live: None,
        recorded: Some(recorded),
    };
    let case = Case {
        test,
        row: None,
        inputs: original.inputs.clone(),
        recording: None,
    };
    let played = play(
        environment,
        program,
        &case,
        doubles,
        RunOptions::default(),
        &mut Silence,
    );
    let mut history = History::default();
    let log = played.events.clone();
    let mut kept = |digest: &str| {
        log.kept(digest)
            .ok_or_else(|| format!("no value is stored under {digest}"))
    };
    for line in played.events.lines() {
        history.take(Event::read(line.as_bytes(), &mut kept)?);
    }
    Ok(ReplayedRun {
        played,
        history: history.finish(),
    })
}

/// Returns the differences between the recorded run and its replay, in the order of the plan.
#[must_use]
pub fn differences(
    program: &Program,
    original: &OriginalRun,
    replayed: &ReplayedRun,
    redaction: &Redaction,
) -> Vec<Difference> {
    compare::compare(program, original, replayed, redaction)
}

/// Returns a test without statements: the comparison reads the journal only.
fn empty_test(plan: &Arc<Plan>) -> Test {
    Test {
        name: plan.name.clone(),
        span: plan.span,
        item: plan.span,
        plan: plan.clone(),
        tables: Vec::new(),
        mocks: Vec::new(),
        answers: Vec::new(),
        signals: Vec::new(),
        expects: Vec::new(),
        queries: Vec::new(),
        diagnostics: None,
        snapshots: Vec::new(),
    }
}
