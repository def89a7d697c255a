//! `--explore`: finds failures that no test covers. Repeats every run of a test with one fault at a time, and checks
//! the invariants.

mod fallback;
mod fault;
pub mod invariants;
mod reproduce;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::call::Answer;
use planrun_lang::sema::test::{Mock, Reaction, raisable, without_indices};
use planrun_lang::syntax::canonical_name;
use planrun_lang::syntax::spelling::value_text;
use planrun_lang::types::{ErrorClass, Signature, decode};
use planrun_lang::value::Value;
use rayon::prelude::*;

use super::case::Case;
use super::play::{Doubles, Played, RunOptions, TestEnvironment, play};
use super::responder::{Replacement, UnknownOutcomes};
use super::suite::{Suite, doubles};
use super::world::Called;
use fallback::Fallback;
pub use fault::Fault;
use fault::FaultInjector;
use invariants::{Violation, violations};
use planrun_core::journal::Waiting;
use planrun_core::run::{Order, Outcome, Program};
use planrun_runs::driver::Silence;
pub use reproduce::reproducer;

/// Maximum number of runs with faults around the tests of a file.
pub const MAX_RUNS: usize = 100_000;

/// Maximum number of elements of an `each` with faults of their own, of one step in one case.
pub const MAX_ELEMENTS: usize = 8;

/// The extent of an exploration.
#[derive(Clone, Copy, Debug)]
pub struct ExploreOptions {
    /// Number of random orders in which every case runs.
    pub seeds: u64,
}

/// A violation of an invariant.
pub struct Discovery {
    pub case: Case,
    pub fault: Fault,
    pub violation: Violation,
    /// The tool that is called at the fault, with its arguments.
    pub called: Option<(Arc<Signature>, Value)>,
    /// The results of that run that no mock of the test gives, as lines of a test: generated and recorded ones.
    pub answers: Vec<String>,
    /// Further lines for the test: the answer about an unknown outcome, and the usual outcome of a run that depends
    /// on the order.
    pub extra_lines: Vec<String>,
}

/// The result of an exploration.
#[derive(Default)]
pub struct Explored {
    /// Number of runs.
    pub runs: usize,
    /// Number of runs that were not made, because there are more than [`MAX_RUNS`].
    pub left_out: usize,
    /// Number of runs that were stopped because a step made too many calls. That is no violation: a person who gives the
    /// same answer again and again can be the reason.
    pub stopped: usize,
    /// Number of elements, each of one step in one case, without faults of their own, because there are more than
    /// [`MAX_ELEMENTS`].
    pub elements_left_out: usize,
    /// Number of runs that ended at a call that nothing answers.
    pub unanswered_runs: usize,
    /// Those calls: their tools, each with the path of the step.
    pub unanswered: BTreeSet<(String, String)>,
    /// The first violation of each kind at each place.
    pub discoveries: Vec<Discovery>,
}

/// One run that is to be made.
struct Trial {
    case: usize,
    fault: Fault,
    /// The answer given if the outcome of the call is unknown; `None` for no answer.
    happened: Option<bool>,
    called: Option<(Arc<Signature>, Value)>,
}

impl Trial {
    /// Returns a run with a fault that concerns no call.
    fn of(case: usize, fault: Fault) -> Self {
        Self {
            case,
            fault,
            happened: None,
            called: None,
        }
    }
}

/// Explores around the cases of a file, all of which pass.
#[must_use]
pub fn explore(
    suite: &Suite,
    environment: &TestEnvironment,
    cases: &[Case],
    explore_options: ExploreOptions,
) -> Explored {
    let cases: Vec<&Case> = cases.iter().filter(|case| case.test.runs()).collect();
    let baseline = |case: &&Case| {
        let program = suite.program(&case.test)?;
        let options = RunOptions::default();
        let doubles = doubles(environment, case, options);
        let played = play(environment, program, case, doubles, options, &mut Silence);
        Some((program, played))
    };
    let baselines: Vec<Option<(&Arc<Program>, Played)>> = cases.par_iter().map(baseline).collect();
    let (mut trials, elements_left_out) = trials(environment, &cases, &baselines, explore_options);
    let left_out = trials.len().saturating_sub(MAX_RUNS);
    trials.truncate(MAX_RUNS);
    let run = |trial: &Trial| {
        let (program, base) = baselines[trial.case].as_ref()?;
        run_trial(environment, program, cases[trial.case], trial, base)
    };
    let results: Vec<Option<TrialResult>> = trials.par_iter().map(run).collect();
    let mut explored = Explored {
        runs: baselines.len() + trials.len(),
        left_out,
        elements_left_out,
        ..Explored::default()
    };
    explored.count(&results);
    let mut reported: BTreeSet<(String, &'static str, String)> = BTreeSet::new();
    for (trial, result) in trials.iter().zip(results) {
        let Some(result) = result else {
            continue;
        };
        let (case, base) = (cases[trial.case], &baselines[trial.case]);
        let place = without_indices(trial.fault.path());
        let extra_line = base.as_ref().and_then(|(_, base)| extra_line(trial, base));
        for violation in result.found {
            let plan = case.test.plan.name.to_string();
            if reported.insert((plan, violation.name(), place.clone())) {
                explored.discoveries.push(Discovery {
                    case: case.clone(),
                    fault: trial.fault.clone(),
                    violation,
                    called: trial.called.clone(),
                    answers: result.answers.clone(),
                    extra_lines: extra_line.iter().chain(&result.mocks).cloned().collect(),
                });
            }
        }
    }
    explored
}

impl Explored {
    /// Counts the runs that were cut short: those without a result, and those with calls that nothing answers.
    fn count(&mut self, results: &[Option<TrialResult>]) {
        for result in results {
            let Some(result) = result else {
                self.stopped += 1;
                continue;
            };
            self.unanswered_runs += usize::from(!result.unanswered.is_empty());
            self.unanswered.extend(result.unanswered.iter().cloned());
        }
    }
}

/// Returns the line that answers for an unknown outcome, or the line that expects the outcome of the source order.
fn extra_line(trial: &Trial, base: &Played) -> Option<String> {
    if matches!(trial.fault, Fault::Order(_)) {
        let outcome = base.outcome.as_ref()?;
        return Some(match &outcome.reply {
            Some(reply) => format!("expect reply == {}", value_text(reply)),
            None => format!("expect status == \"{}\"", base.state),
        });
    }
    let is_unknown = trial
        .called
        .as_ref()
        .is_some_and(|(signature, _)| !signature.effect.repeatable());
    let path = trial.fault.path();
    if !trial.happened.filter(|_| is_unknown)? {
        return Some(format!("answer {path} => {{ happened: false }}"));
    }
    let output = value_text(outputs_by_path(base).get(path)?);
    Some(format!(
        "answer {path} => {{ happened: true, value: {output} }}"
    ))
}

/// Returns all runs to make, and the number of elements that have none. Each fault at each place of a plan comes first
/// in one of them, so that every place is tried if there are too many runs.
fn trials(
    environment: &TestEnvironment,
    cases: &[&Case],
    baselines: &[Option<(&Arc<Program>, Played)>],
    explore_options: ExploreOptions,
) -> (Vec<Trial>, usize) {
    let (mut first, mut further, mut elements_left_out) = (Vec::new(), Vec::new(), 0);
    let mut seen: BTreeSet<(usize, String, String)> = BTreeSet::new();
    for (case, base) in baselines.iter().enumerate() {
        let Some((program, played)) = base else {
            continue;
        };
        let plan = Arc::as_ptr(&program.plan).addr();
        let mut places = Places::default();
        for trial in faults_of(case, played) {
            let path = trial.fault.path();
            let (place, what) = (without_indices(path), trial.fault.to_string());
            if !places.takes(&place, path, &what) {
                continue;
            }
            if seen.insert((plan, place, what.replace(path, ""))) {
                first.push(trial);
            } else {
                further.push(trial);
            }
        }
        elements_left_out += places.left_out.len();
        let edges = (0..edges(environment, cases[case], played)).map(Fault::Edge);
        let orders = (0..explore_options.seeds.min(MAX_RUNS as u64)).map(Fault::Order);
        first.extend(edges.chain(orders).map(|fault| Trial::of(case, fault)));
        debug_assert!(cases.len() == baselines.len(), "each case was played");
    }
    first.append(&mut further);
    (first, elements_left_out)
}

/// The places of one case that have faults.
#[derive(Default)]
struct Places {
    /// The paths of each step, without the indices of elements.
    elements: BTreeMap<String, BTreeSet<String>>,
    /// The faults at each of these paths.
    faults: BTreeSet<String>,
    left_out: BTreeSet<String>,
}

impl Places {
    /// Returns true if a fault is new, and its element is not one too many.
    fn takes(&mut self, place: &str, path: &str, fault: &str) -> bool {
        let elements = self.elements.entry(place.to_owned()).or_default();
        if !elements.contains(path) && elements.len() == MAX_ELEMENTS {
            self.left_out.insert(path.to_owned());
            return false;
        }
        elements.insert(path.to_owned());
        self.faults.insert(fault.to_owned())
    }
}

/// Returns every fault of the calls and of the gates of a case.
fn faults_of(case: usize, played: &Played) -> Vec<Trial> {
    let mut trials = Vec::new();
    for call in &played.calls {
        for (fault, happened) in possible_faults(&call.path, &call.signature) {
            trials.push(Trial {
                case,
                fault,
                happened,
                called: Some((call.signature.clone(), call.arguments.clone())),
            });
        }
    }
    for (path, expires) in gates(played) {
        for replacement in [Replacement::Refuse, Replacement::Expire] {
            let path = path.clone();
            if replacement == Replacement::Refuse || expires {
                trials.push(Trial::of(case, Fault::Gate { path, replacement }));
            }
        }
    }
    trials
}

/// Returns the number of edge cases of the generated results of a case: the largest number that one of its tools has.
fn edges(environment: &TestEnvironment, case: &Case, played: &Played) -> u64 {
    let has_generator = |mock: &&Mock| {
        mock.reactions
            .iter()
            .any(|reaction| matches!(reaction.reaction, Reaction::Generated))
    };
    let mocks: Vec<&Mock> = case.test.mocks.iter().filter(has_generator).collect();
    let is_generated = |called: &&Called| {
        let same = |known: &Arc<Signature>| {
            known.namespace == called.signature.namespace && known.name == called.signature.name
        };
        mocks
            .iter()
            .any(|mock| mock.signature.as_ref().is_none_or(same))
    };
    let generated = played.calls.iter().filter(is_generated);
    generated
        .map(|called| environment.results.edges(&called.signature))
        .max()
        .unwrap_or(0)
}

/// Returns the faults that a call can have, each with the answer to the question whether the call happened.
fn possible_faults(path: &Arc<str>, signature: &Signature) -> Vec<(Fault, Option<bool>)> {
    let path = || path.clone();
    let mut faults = Vec::new();
    for class in raisable(Some(signature)) {
        let passes = matches!(class, ErrorClass::Transient(_) | ErrorClass::UnknownOutcome);
        faults.push((
            Fault::Fails {
                path: path(),
                class: class.clone(),
                always: true,
            },
            None,
        ));
        if passes {
            faults.push((
                Fault::Fails {
                    path: path(),
                    class,
                    always: false,
                },
                Some(true),
            ));
        }
    }
    for after in [false, true] {
        faults.push((
            Fault::Crashes {
                path: path(),
                after,
            },
            Some(after),
        ));
    }
    faults
}

/// Returns the confirmations that were requested in a run, and whether they expire.
fn gates(played: &Played) -> Vec<(Arc<str>, bool)> {
    let mut gates = Vec::new();
    for line in played.events.lines() {
        let Ok(event) = serde_json::from_str::<serde_json::Value>(&line) else {
            continue;
        };
        let waits = event["event"] == "step.waiting" && event["for"] == Waiting::Confirm.name();
        if let Some(path) = event["path"].as_str().filter(|_| waits) {
            let expires = event["question"]["expires"].is_string() || event["expires"].is_string();
            gates.push((format!("{path}.confirm").into(), expires));
        }
    }
    gates
}

/// Adds the fault to the doubles of a case, and the answer about a call whose outcome is unknown then.
fn with_fault(mut doubles: Doubles, trial: &Trial, base: &Played) -> Doubles {
    let outputs = || outputs_by_path(base).into_iter();
    let unknown_outcomes = trial.happened.map(|happened| UnknownOutcomes {
        path: trial.fault.path().into(),
        happened,
        results: Arc::new(
            outputs()
                .map(|(path, output)| (path, output.to_json()))
                .collect(),
        ),
    });
    doubles.responder = doubles.responder.with_unknown_outcomes(unknown_outcomes);
    match &trial.fault {
        Fault::Fails { .. } | Fault::Crashes { .. } => doubles
            .sources
            .insert(0, Box::new(FaultInjector(trial.fault.clone()))),
        Fault::Gate { path, replacement } => {
            doubles.responder = doubles.responder.with_replacement(path, *replacement);
        }
        Fault::Order(_) | Fault::Edge(_) => {}
    }
    doubles
}

/// The result of a run with a fault.
struct TrialResult {
    found: Vec<Violation>,
    /// The lines that answer its calls, if no mock of the test does.
    answers: Vec<String>,
    /// The mocks of the results that were generated although no mock of the test answers the call.
    mocks: BTreeSet<String>,
    /// The calls that nothing answers: their tools, each with the path of the step.
    unanswered: BTreeSet<(String, String)>,
}

/// Makes a run with a fault; `None` if the run was stopped because a step made too many calls.
fn run_trial(
    environment: &TestEnvironment,
    program: &Arc<Program>,
    case: &Case,
    trial: &Trial,
    base: &Played,
) -> Option<TrialResult> {
    let mut options = RunOptions::default();
    match &trial.fault {
        Fault::Order(seed) => options.order = Order::Seeded(*seed),
        Fault::Edge(edge) => options.edge = Some(*edge),
        Fault::Fails { .. } | Fault::Crashes { .. } | Fault::Gate { .. } => {}
    }
    let mut doubles = with_fault(doubles(environment, case, options), trial, base);
    let mocks = Arc::default();
    doubles.sources.push(Box::new(Fallback {
        results: environment.results.clone(),
        mocks: Arc::clone(&mocks),
    }));
    let played = play(environment, program, case, doubles, options, &mut Silence);
    if played.endless.is_some() {
        return None;
    }
    let mut found = violations(&program.plan, &played);
    // Violations that occur without a fault as well are assumed to be intended by the author of the test.
    let before = violations(&program.plan, base);
    found.retain(|violation| !before.contains(violation));
    // A call that has no answer ends the run; the internal error that follows is not a discovery.
    if !played.unanswered.is_empty() {
        found.retain(|violation| !matches!(violation, Violation::Internal(_)));
    }
    if matches!(trial.fault, Fault::Order(_)) {
        found.extend(differs(base, &played));
    }
    // The test that reproduces it has no recording.
    let has_answers = matches!(trial.fault, Fault::Edge(_)) || case.recording.is_some();
    let answers = if has_answers && !found.is_empty() {
        mock_lines(&played)
    } else {
        Vec::new()
    };
    let unanswered = played.unanswered.iter();
    let unanswered = unanswered.map(|call| (call.signature.path(), without_indices(&call.path)));
    let mocks = std::mem::take(&mut *mocks.lock());
    Some(TrialResult {
        found,
        answers,
        mocks,
        unanswered: unanswered.collect(),
    })
}

/// Returns the results of the calls of a run, as lines of a test.
fn mock_lines(played: &Played) -> Vec<String> {
    let mut mocks: IndexMap<String, Vec<String>> = IndexMap::new();
    for call in &played.calls {
        let Some(output) = output_of(call) else {
            continue;
        };
        let (namespace, name) = (&call.signature.namespace, &call.signature.name);
        let (namespace, name) = (canonical_name(namespace), canonical_name(name));
        let arguments = reproduce::arguments(&call.arguments);
        let mock = format!("mock {namespace}.{name}{arguments}");
        let outputs = mocks.entry(mock).or_default();
        outputs.push(value_text(&output));
    }
    let line = |(mock, mut outputs): (String, Vec<String>)| {
        // The last outcome answers all further calls.
        while let [.., before, last] = outputs.as_slice()
            && before == last
        {
            outputs.pop();
        }
        format!("{mock} => {}", outputs.join(", then "))
    };
    mocks.into_iter().map(line).collect()
}

/// Returns the result of a call as a value of the declared type.
fn output_of(call: &Called) -> Option<Value> {
    Some(match call.answer.as_ref()? {
        Answer::Value(value) => value.clone(),
        Answer::Json(json) => {
            decode(json, &call.signature.returns).unwrap_or_else(|_| Value::from_json(json))
        }
    })
}

/// Returns the outputs of the steps of a run, by their paths. The reports are redacted, so the results of calls are
/// taken as they arrived.
fn outputs_by_path(played: &Played) -> BTreeMap<Arc<str>, Value> {
    let steps = played.outcome.as_ref().map(Outcome::steps);
    let reported = steps.unwrap_or_default().into_iter();
    let called = played.calls.iter();
    let called = called.filter_map(|call| Some((call.path.clone(), output_of(call)?)));
    let reported = reported.map(|step| (step.path, step.output));
    reported.chain(called).collect()
}

/// Returns a violation if two orders have different outcomes.
fn differs(base: &Played, other: &Played) -> Option<Violation> {
    let (one, two) = (base.outcome.as_ref()?, other.outcome.as_ref()?);
    if base.state != other.state {
        return Some(Violation::OrderDependent(format!(
            "the run is {} instead of {}",
            other.state, base.state
        )));
    }
    (one.reply != two.reply).then(|| Violation::OrderDependent("the reply is different".to_owned()))
}
