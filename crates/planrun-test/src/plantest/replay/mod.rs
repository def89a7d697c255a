//! A run of the journal lived through again with a plan as it is now, calling nothing, and where the two part.

mod before;
mod compare;
mod lives;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use compare::{Difference, Kind, Views};
pub use lives::Lives;
pub use told::Told;

use planrun_lang::sema::Plan;
use planrun_lang::sema::test::Test;
use planrun_lang::value::Value;

use self::before::{Before, People};
use super::case::Case;
use super::play::{Again, Doubles, Played, RunOptions, TestEnvironment, play};
use super::responder::ScriptedResponder;
use planrun_core::journal::{Event, EventError};
use planrun_core::run::Program;
use planrun_runs::driver::Silence;

/// A run of then, as its journal tells it.
pub struct Then {
    pub run: Arc<str>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    pub told: Told,
    /// The hashes of the contracts that tools had, by their dotted names.
    pub contracts: BTreeMap<String, Arc<str>>,
}

/// What came of it now.
pub struct Now {
    pub played: Played,
    pub told: Told,
}

/// Lives through a run again.
///
/// # Errors
/// When what it did now cannot be read.
pub fn live_again(
    environment: &TestEnvironment,
    program: &Arc<Program>,
    then: &Then,
) -> Result<Now, EventError> {
    let test = Arc::new(bare(&program.plan));
    let lives = Arc::new(Lives::new(&then.told.deaths));
    let before = Before::new(&then.told, lives.clone());
    let people = People::new(&then.told, lives.clone());
    let again = Again {
        run: then.run.clone(),
        begun_at: then.told.begun_at,
        said: then.told.said.clone(),
        people: Arc::new(people),
        lives,
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
    let mut told = Told::default();
    let log = played.events.clone();
    let mut kept = |digest: &str| {
        log.kept(digest)
            .ok_or_else(|| format!("nothing is kept under {digest}"))
    };
    for line in played.events.lines() {
        told.take(Event::read(line.as_bytes(), &mut kept)?);
    }
    Ok(Now {
        played,
        told: told.finish(),
    })
}

/// Where the run of then and that of now part, in the order of the plan.
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
