//! Replays a recorded run with the plan as it is now, without calling anything, and finds where the two differ.

mod before;
mod compare;
mod crashes;
mod history;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use compare::{Difference, Kind, Views};
pub use crashes::Crashes;
pub use history::History;

use planrun_lang::sema::Plan;
use planrun_lang::sema::test::Test;
use planrun_lang::value::Value;

use self::before::{Before, People};
use super::case::Case;
use super::play::{Doubles, Played, RecordedInputs, RunOptions, TestEnvironment, play};
use super::responder::ScriptedResponder;
use planrun_core::journal::{Event, EventError};
use planrun_core::run::Program;
use planrun_runs::driver::Silence;

/// A recorded run.
pub struct Then {
    pub run: Arc<str>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    pub history: History,
    /// The hashes of the contracts that tools had, by their dotted names.
    pub contracts: BTreeMap<String, Arc<str>>,
}

/// The same run, replayed.
pub struct Now {
    pub played: Played,
    pub history: History,
}

/// Replays a run: calls, questions and messages are answered as they were, at the times that are recorded.
///
/// # Errors
/// When the events of the replay cannot be read.
pub fn replay_run(
    environment: &TestEnvironment,
    program: &Arc<Program>,
    then: &Then,
) -> Result<Now, EventError> {
    let test = Arc::new(bare(&program.plan));
    let crashes = Arc::new(Crashes::new(&then.history.crashes));
    let before = Before::new(&then.history, crashes.clone());
    let people = People::new(&then.history, crashes.clone());
    let again = RecordedInputs {
        run: then.run.clone(),
        begun_at: then.history.begun_at,
        said: then.history.said.clone(),
        people: Arc::new(people),
        crashes,
    };
    let responder = ScriptedResponder::new(&test);
    let doubles = Doubles {
        sources: vec![Box::new(before)],
        responder,
        replay: None,
        live: None,
        again: Some(again),
    };
    let case = Case {
        test,
        row: None,
        inputs: then.inputs.clone(),
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
            .ok_or_else(|| format!("nothing is kept under {digest}"))
    };
    for line in played.events.lines() {
        history.take(Event::read(line.as_bytes(), &mut kept)?);
    }
    Ok(Now {
        played,
        history: history.finish(),
    })
}

/// Where the recorded run and its replay differ, in the order of the plan.
#[must_use]
pub fn differences(program: &Program, then: &Then, now: &Now, views: &Views) -> Vec<Difference> {
    compare::compare(program, then, now, views)
}

/// A test that says nothing: whatever happens, the journal says.
fn bare(plan: &Arc<Plan>) -> Test {
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
        asked: Vec::new(),
        diagnostics: None,
        snapshots: Vec::new(),
    }
}
