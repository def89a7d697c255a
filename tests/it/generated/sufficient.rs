//! Limits that suffice change nothing: a plan, or one that it calls, with exactly the time, firings, steps and calls that
//! it needs runs as without limits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::{EventKind, StepError};
use planrun_core::run::Outcome;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::Plan;
use planrun_lang::types::ErrorClass;
use rayon::prelude::*;

use super::harness::{FailureRate, observe};
use super::project_context::{ProjectContext, seeds};
use crate::generate::{Project, Size, project};

/// Number of plans that are tried in CI.
const PLANS: u64 = 1000;

/// What a plan needs.
#[derive(Clone, Copy, Default, Debug)]
struct Needs {
    time: Duration,
    firings: usize,
    steps: usize,
    attempts: usize,
}

/// A run as its events show it. Each path stands for one event.
#[derive(Default)]
struct Observed {
    /// Every event with its path and, if a step has settled, its state; at last the result of the run.
    events: Vec<String>,
    firings: Vec<Arc<str>>,
    steps: Vec<Arc<str>>,
    attempts: Vec<Arc<str>>,
    /// The paths of calls of plans and of blocks, each with the name of the plan if there is one.
    blocks: BTreeMap<Arc<str>, String>,
    settled: Vec<(Arc<str>, Duration)>,
    /// Whether a budget of its own was spent.
    is_spent: bool,
}

impl Observed {
    fn take(&mut self, kind: &EventKind) {
        let path = kind.path();
        match kind {
            EventKind::BudgetLow { .. } => return,
            EventKind::ListenerFired { path } => self.firings.push(path.clone()),
            EventKind::StepRunning {
                path, tool, call, ..
            } => {
                self.steps.push(path.clone());
                if call.is_some() {
                    self.attempts.push(path.clone());
                } else {
                    let name = tool.rsplit('.').next().unwrap_or_default();
                    self.blocks.insert(path.clone(), name.to_owned());
                }
            }
            EventKind::StepSettled {
                path,
                state,
                duration,
                error,
                ..
            } => {
                self.note_failure(error.as_deref());
                self.steps.push(path.clone());
                if *state == StepState::Cancelled {
                    // It may have been counted while its result was looked for in the cache.
                    self.attempts.push(path.clone());
                }
                self.settled.push((path.clone(), *duration));
                return self.events.push(format!("{path} {}", state.name()));
            }
            _ => {}
        }
        self.events.push(format!("{path} {:?}", kind.name()));
    }

    fn note_failure(&mut self, error: Option<&StepError>) {
        self.is_spent |= error.is_some_and(|error| matches!(error.class, ErrorClass::Budget(_)));
    }

    fn conclude(&mut self, outcome: &Outcome) {
        let error = outcome.error.as_deref();
        self.note_failure(error);
        let (state, class) = (outcome.state.name(), error.map(|error| &error.class));
        self.events
            .push(format!("{state} {:?} {class:?}", outcome.reply));
    }

    /// Returns what the step at a path needs for what is inside of it.
    fn needs(&self, outer: &str, time: Duration) -> Needs {
        let within = |all: &[Arc<str>]| {
            let inner = all.iter().filter_map(|path| path.strip_prefix(outer));
            inner
                .filter(|rest| outer.is_empty() || rest.starts_with(['.', '[']))
                .count()
        };
        Needs {
            time,
            firings: within(&self.firings),
            steps: within(&self.steps),
            attempts: within(&self.attempts),
        }
    }

    /// Returns the calls of plans, each with the name of the plan and what it needs.
    fn calls(&self) -> impl Iterator<Item = (&str, Needs)> {
        self.settled.iter().filter_map(|(path, duration)| {
            let name = self.blocks.get(path).filter(|name| !name.is_empty())?;
            Some((&**name, self.needs(path, *duration)))
        })
    }
}

/// Runs the last plan of a project. Returns the run, and what every plan in it needs at most, by its name.
fn run(made: &Project, seed: u64) -> (Observed, BTreeMap<String, Needs>) {
    let checked = ProjectContext::of(made).check(made);
    let plan: &Arc<Plan> = checked.plans.last().unwrap();
    let failure_rate = if seed.is_multiple_of(2) {
        FailureRate::Never
    } else {
        FailureRate::Often
    };
    let mut observed = Observed::default();
    let outcome = observe(plan, made, failure_rate, seed, |event| {
        observed.take(&event.kind);
    });
    observed.conclude(&outcome);
    let mut all = BTreeMap::<String, Needs>::new();
    let own = observed.needs("", outcome.duration);
    for (name, needs) in observed.calls().chain([(&*plan.name, own)]) {
        let known = all.entry(name.to_owned()).or_default();
        known.time = known.time.max(needs.time);
        known.firings = known.firings.max(needs.firings);
        known.steps = known.steps.max(needs.steps);
        known.attempts = known.attempts.max(needs.attempts);
    }
    (observed, all)
}

/// Returns the text of a file with exactly these limits.
fn limited(text: &str, needs: &BTreeMap<String, Needs>) -> String {
    let mut text = text.to_owned();
    for (name, needs) in needs {
        let Some(plan) = text.find(&format!("plan {name}(")) else {
            continue;
        };
        let opening = " {\n";
        let Some(body) = text[plan..].find(opening) else {
            continue;
        };
        let body = plan + body + opening.len();
        let mut limits = String::new();
        let deadline = needs.time.as_millis() + 2;
        let (firings, steps) = (needs.firings.max(1), needs.steps.max(1));
        let calls = needs.attempts.max(1);
        writeln!(limits, "        deadline: {deadline}ms,").unwrap();
        writeln!(limits, "        max_firings: {firings},").unwrap();
        writeln!(limits, "        max_steps: {steps},").unwrap();
        writeln!(
            limits,
            "        budget: {{ calls: {calls}, time: {deadline}ms }},"
        )
        .unwrap();
        let policy = "    policy {\n";
        if text[body..].starts_with(policy) {
            let start = body + policy.len();
            let end = start + text[start..].find("    }\n").unwrap();
            let own = text[start..end].split_inclusive('\n').filter(|line| {
                let key = line.trim_start().split(':').next().unwrap_or_default();
                !["deadline", "max_firings", "max_steps", "budget"].contains(&key)
            });
            let own: String = own.collect();
            text.replace_range(start..end, &(limits + &own));
        } else {
            text.insert_str(body, &format!("{policy}{limits}    }}\n"));
        }
    }
    text
}

#[test]
fn limits_that_suffice_change_nothing() {
    let (base, count) = seeds(PLANS);
    let tally = Mutex::new((0, 0));
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| try_seed(seed, &tally).err())
        .collect();
    let (called, fired) = tally.into_inner().unwrap();
    println!("{count} plans from seed {base}: {called} calls of plans, {fired} firings");
    for fault in wrong.iter().take(3) {
        println!("{fault}");
    }
    assert!(wrong.is_empty(), "{} of {count} plans", wrong.len());
    if count >= 100 {
        // Makes sure that the test covers enough.
        assert!(called > 10 && fired > 50, "too little ran");
    }
}

fn try_seed(seed: u64, tally: &Mutex<(usize, usize)>) -> Result<(), String> {
    let size = Size {
        whole_language: true,
        plans: 3,
        ..Size::SMALL
    };
    let made = project(seed, size);
    let (free, needs) = run(&made, seed);
    if free.is_spent {
        return Ok(());
    }
    let plans = made.plans.iter();
    let plans = plans.map(|(path, text)| (path.clone(), limited(text, &needs)));
    let bounded = Project {
        plans: plans.collect(),
        ..made.clone()
    };
    let (limited, _) = run(&bounded, seed);
    if free.events != limited.events {
        let mut both = free.events.iter().zip(&limited.events);
        let differs = both.find(|(free, limited)| free != limited);
        return Err(format!("seed {seed}: {differs:?}\n{}", bounded.main()));
    }
    let mut tally = tally.lock().unwrap();
    tally.0 += free.calls().count();
    tally.1 += free.firings.len();
    Ok(())
}
