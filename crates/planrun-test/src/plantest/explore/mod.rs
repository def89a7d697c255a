//! `--explore`: the failures that nobody thought of. Every run of a test is played again with one thing that can befall it,
//! and what must hold of every run is checked.

mod fault;
pub mod invariants;
mod reproduce;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::test::{Mock, Reaction, raisable, without_indices};
use planrun_lang::types::{ErrorClass, Signature};
use rayon::prelude::*;

use super::case::Case;
use super::play::{Played, RunOptions, TestEnvironment, play};
use super::responder::{Doubts, Instead};
use super::suite::{Suite, doubles};
use super::world::Called;
pub use fault::Fault;
use fault::Trouble;
use invariants::{Breach, breaches};
use planrun_core::journal::Waiting;
use planrun_core::run::{Order, Outcome, Program};
use planrun_runs::driver::Silence;
pub use reproduce::{literal, reproducer, word};

/// How far is explored.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// In how many orders every case is played.
    pub seeds: u64,
}

/// Something that must never be.
pub struct Discovery {
    pub case: Case,
    pub fault: Fault,
    pub breach: Breach,
    /// The tool that is called where it happens, and with what.
    pub called: Option<(Arc<Signature>, planrun_lang::value::Value)>,
    /// What was made up there, as lines of a test.
    pub made_up: Vec<String>,
    /// What is said there beside the test, and what usually comes out where that is the point, as lines of a test.
    pub beside: Vec<String>,
}

/// What an exploration came to.
#[derive(Default)]
pub struct Explored {
    /// How many runs were played.
    pub runs: usize,
    /// The first of each kind at each place.
    pub discoveries: Vec<Discovery>,
}

/// One run that is to be played.
struct Trip {
    case: usize,
    fault: Fault,
    /// What is said of a call of which nobody knows.
    happened: Option<bool>,
    called: Option<(Arc<Signature>, planrun_lang::value::Value)>,
}

impl Trip {
    /// With something that befalls no call.
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
    reach: Reach,
) -> Explored {
    let cases: Vec<&Case> = cases.iter().filter(|case| case.test.runs()).collect();
    let based: Vec<Option<(&Arc<Program>, Played)>> = cases
        .par_iter()
        .map(|case| {
            let program = suite.program(&case.test)?;
            let options = RunOptions::default();
            let doubles = doubles(environment, case, options);
            let played = play(environment, program, case, doubles, options, &mut Silence);
            Some((program, played))
        })
        .collect();
    let trips = trips(environment, &cases, &based, reach);
    let found: Vec<Vec<(usize, Breach, Vec<String>)>> = trips
        .par_iter()
        .enumerate()
        .map(|(index, trip)| {
            let Some((program, base)) = &based[trip.case] else {
                return Vec::new();
            };
            let found = travel(environment, program, cases[trip.case], trip, base);
            found
                .into_iter()
                .map(|(breach, made_up)| (index, breach, made_up))
                .collect()
        })
        .collect();
    let mut explored = Explored {
        runs: based.len() + trips.len(),
        discoveries: Vec::new(),
    };
    let mut reported: BTreeSet<(String, &'static str, String)> = BTreeSet::new();
    for (index, breach, made_up) in found.into_iter().flatten() {
        let trip = &trips[index];
        let case = cases[trip.case];
        let place = without_indices(trip.fault.path());
        if reported.insert((case.test.plan.name.to_string(), breach.name(), place)) {
            let (fault, called) = (trip.fault.clone(), trip.called.clone());
            let base = based[trip.case].as_ref().map(|(_, base)| base);
            let beside = base
                .into_iter()
                .filter_map(|base| beside(trip, base))
                .collect();
            explored.discoveries.push(Discovery {
                case: case.clone(),
                fault,
                breach,
                called,
                made_up,
                beside,
            });
        }
    }
    explored
}

/// What is said of a call of which nobody knows, and what comes out in the order of the source.
fn beside(trip: &Trip, base: &Played) -> Option<String> {
    if matches!(trip.fault, Fault::Order(_)) {
        let outcome = base.outcome.as_ref()?;
        // What is not shown in the open is not written into a test.
        let reply = outcome
            .reply
            .as_ref()
            .filter(|reply| outcome.shown_reply().as_ref() == Some(*reply));
        return Some(match reply {
            Some(reply) => format!("expect reply == {}", reproduce::literal(reply)),
            None => format!("expect status == \"{}\"", base.state),
        });
    }
    let in_doubt = trip
        .called
        .as_ref()
        .is_some_and(|(signature, _)| !signature.effect.repeatable());
    let path = trip.fault.path();
    if !trip.happened.filter(|_| in_doubt)? {
        return Some(format!("answer {path} => {{ happened: false }}"));
    }
    let steps = base.outcome.as_ref()?.steps();
    let gave = steps
        .iter()
        .find(|step| *step.path == *path)
        .map(|step| reproduce::literal(&step.output))?;
    Some(format!(
        "answer {path} => {{ happened: true, value: {gave} }}"
    ))
}

/// Everything that can befall these runs, each at each place of a plan once.
fn trips(
    environment: &TestEnvironment,
    cases: &[&Case],
    based: &[Option<(&Arc<Program>, Played)>],
    reach: Reach,
) -> Vec<Trip> {
    let mut trips = Vec::new();
    let mut seen: BTreeSet<(usize, String, String)> = BTreeSet::new();
    for (case, base) in based.iter().enumerate() {
        let Some((program, played)) = base else {
            continue;
        };
        let plan = Arc::as_ptr(&program.plan).addr();
        let mut new = |fault: &Fault| {
            let place = without_indices(fault.path());
            let what = fault.to_string().replace(fault.path(), "");
            seen.insert((plan, place, what))
        };
        for call in &played.calls {
            let called = Some((call.signature.clone(), call.arguments.clone()));
            for (fault, happened) in befalls(&call.path, &call.signature) {
                if new(&fault) || happened == Some(false) {
                    trips.push(Trip {
                        case,
                        fault,
                        happened,
                        called: called.clone(),
                    });
                }
            }
        }
        for (path, expires) in gates(played) {
            for instead in [Instead::Refuse, Instead::Expire] {
                let fault = Fault::Gate {
                    path: path.clone(),
                    instead,
                };
                if (instead == Instead::Refuse || expires) && new(&fault) {
                    trips.push(Trip::of(case, fault));
                }
            }
        }
        let edges = (0..edges(environment, cases[case], played)).map(Fault::Edge);
        let orders = (0..reach.seeds).map(Fault::Order);
        trips.extend(edges.chain(orders).map(|fault| Trip::of(case, fault)));
        debug_assert!(cases.len() == based.len(), "each case was played");
    }
    trips
}

/// How many edges what is made up in a case has: as many as that tool of which it has most.
fn edges(environment: &TestEnvironment, case: &Case, played: &Played) -> u64 {
    let makes_up = |mock: &&Mock| {
        mock.reactions
            .iter()
            .any(|reaction| matches!(reaction.reaction, Reaction::Generated))
    };
    let mocks: Vec<&Mock> = case.test.mocks.iter().filter(makes_up).collect();
    let is_made_up = |called: &&Called| {
        let same = |known: &Arc<Signature>| {
            known.namespace == called.signature.namespace && known.name == called.signature.name
        };
        mocks
            .iter()
            .any(|mock| mock.signature.as_ref().is_none_or(same))
    };
    let made_up = played.calls.iter().filter(is_made_up);
    made_up
        .map(|called| environment.made_up.edges(&called.signature))
        .max()
        .unwrap_or(0)
}

/// What can befall a call, and what is said afterwards of whether it happened.
fn befalls(path: &Arc<str>, signature: &Signature) -> Vec<(Fault, Option<bool>)> {
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

/// The gates at which somebody was asked, and whether they expire.
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

fn travel(
    environment: &TestEnvironment,
    program: &Arc<Program>,
    case: &Case,
    trip: &Trip,
    base: &Played,
) -> Vec<(Breach, Vec<String>)> {
    let mut options = RunOptions::default();
    match &trip.fault {
        Fault::Order(seed) => options.order = Order::Seeded(*seed),
        Fault::Edge(edge) => options.edge = Some(*edge),
        Fault::Fails { .. } | Fault::Crashes { .. } | Fault::Gate { .. } => {}
    }
    let mut doubles = doubles(environment, case, options);
    let doubts = trip.happened.map(|happened| Doubts {
        happened,
        given: given(base),
    });
    doubles.responder = doubles.responder.in_doubt(doubts);
    match &trip.fault {
        Fault::Fails { .. } | Fault::Crashes { .. } => doubles
            .sources
            .insert(0, Box::new(Trouble(trip.fault.clone()))),
        Fault::Gate { path, instead } => {
            doubles.responder = doubles.responder.saying(path, *instead);
        }
        Fault::Order(_) | Fault::Edge(_) => {}
    }
    let played = play(environment, program, case, doubles, options, &mut Silence);
    let mut found = breaches(&program.plan, &played);
    // What the test itself leads to is what its author wants.
    let before = breaches(&program.plan, base);
    found.retain(|breach| !before.iter().any(|other| other.name() == breach.name()));
    // A call that nobody had thought of has no answer; what follows from that is no discovery.
    if !played.unanswered.is_empty() {
        found.retain(|breach| !matches!(breach, Breach::Internal(_)));
    }
    if matches!(trip.fault, Fault::Order(_)) {
        found.extend(differs(base, &played));
    }
    let made_up = if matches!(trip.fault, Fault::Edge(_)) && !found.is_empty() {
        answers(&played)
    } else {
        Vec::new()
    };
    found
        .into_iter()
        .map(|breach| (breach, made_up.clone()))
        .collect()
}

/// What the calls of a run gave, as lines of a test.
fn answers(played: &Played) -> Vec<String> {
    let steps = played
        .outcome
        .as_ref()
        .map(Outcome::steps)
        .unwrap_or_default();
    let called = steps
        .into_iter()
        .filter(|step| step.status == StepState::Completed);
    let lines = called.filter_map(|step| {
        let (tool, output) = (step.tool?, reproduce::literal(&step.output));
        let tool = tool
            .split('.')
            .map(reproduce::word)
            .collect::<Vec<_>>()
            .join(".");
        Some(format!(
            "mock {tool}{} => {output}",
            reproduce::arguments(&step.arguments)
        ))
    });
    lines.collect()
}

/// What the steps of a run gave, by their paths.
fn given(played: &Played) -> Arc<BTreeMap<Arc<str>, serde_json::Value>> {
    let steps = played
        .outcome
        .as_ref()
        .map(Outcome::steps)
        .unwrap_or_default();
    Arc::new(
        steps
            .into_iter()
            .map(|step| (step.path, step.output.to_json()))
            .collect(),
    )
}

/// What is another outcome in another order.
fn differs(base: &Played, other: &Played) -> Option<Breach> {
    let (one, two) = (base.outcome.as_ref()?, other.outcome.as_ref()?);
    if base.state != other.state {
        return Some(Breach::OrderDependent(format!(
            "it is {} and was {}",
            other.state, base.state
        )));
    }
    (one.reply != two.reply).then(|| Breach::OrderDependent("the reply is another one".to_owned()))
}
