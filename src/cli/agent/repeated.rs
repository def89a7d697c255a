//! `planrun agent --dry-run --repeat N`: measures how often a model finds a plan for a request, and counts the other
//! results.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use planrun_agent::planner::{Options, Planner, Refusal};
use planrun_lang::value::counted;
use planrun_models::client::HttpModel;
use planrun_models::model::ErrorKind;
use planrun_runs::runs::Planrun;
use serde_json::json;

use super::{Arguments, print_event};
use crate::cli::arguments::RunFormat;
use crate::cli::run::wait;
use crate::cli::{Exit, Result, Terminal};

/// The result of planning a request once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Ending {
    Planned,
    /// The model wrote no plan, or one that cannot be run.
    NoPlan,
    /// The plan still had errors after the last round.
    Errors,
    /// The model only looked up tools.
    Lookups,
    RateLimited,
    /// The model gave no answer for another reason.
    NoAnswer,
}

impl Ending {
    const ALL: [Self; 6] = [
        Self::Planned,
        Self::NoPlan,
        Self::Errors,
        Self::Lookups,
        Self::RateLimited,
        Self::NoAnswer,
    ];

    /// Returns the key in JSON, and the words for people.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Planned => ("planned", "plans without errors"),
            Self::NoPlan => ("no_plan", "answers without a plan"),
            Self::Errors => ("errors", "plans with errors"),
            Self::Lookups => ("lookups", "stopped after too many lookups"),
            Self::RateLimited => ("rate_limited", "rate-limited by the model's server"),
            Self::NoAnswer => ("no_answer", "no answer from the model"),
        }
    }
}

/// Plans a request several times, each in a new conversation, and counts the results. Returns an error if the project
/// cannot be used.
pub(super) fn run(
    planrun: &Planrun,
    model: &HttpModel,
    (request, times): (&str, u32),
    options: &Options,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<Exit> {
    let mut endings = BTreeMap::<Ending, u32>::new();
    let mut turns = BTreeMap::<usize, u32>::new();
    for _ in 0..times {
        let mut watch = |event: planrun_agent::planner::Event<'_>| {
            if arguments.debug {
                print_event(event, true, terminal);
            }
        };
        let conversation = Planner::new(planrun.clone(), model, options.clone(), &mut watch);
        let ending = match wait(conversation?.plan(request))? {
            Ok(planned) => {
                *turns.entry(planned.turns).or_default() += 1;
                Ending::Planned
            }
            Err(Refusal::Project(error)) => return Err((*error).into()),
            Err(Refusal::Model(error)) if error.kind == ErrorKind::RateLimited => {
                Ending::RateLimited
            }
            Err(Refusal::Model(_)) => Ending::NoAnswer,
            Err(Refusal::NoPlan(_) | Refusal::Unusable(_)) => Ending::NoPlan,
            Err(Refusal::Errors { .. }) => Ending::Errors,
            Err(Refusal::Lookups) => Ending::Lookups,
        };
        *endings.entry(ending).or_default() += 1;
    }
    print_counts(
        &Counts { endings, turns },
        times,
        arguments.format,
        terminal,
    )
}

/// The results of planning a request several times.
struct Counts {
    endings: BTreeMap<Ending, u32>,
    /// Number of plans by the number of turns of the model that they took, including lookups.
    turns: BTreeMap<usize, u32>,
}

fn print_counts(
    counts: &Counts,
    times: u32,
    format: RunFormat,
    terminal: Terminal,
) -> Result<Exit> {
    let count = |ending| counts.endings.get(&ending).copied().unwrap_or_default();
    match format {
        RunFormat::Json | RunFormat::Ndjson => {
            let words = Ending::ALL.map(|ending| (ending.names().0, count(ending)));
            let endings: BTreeMap<&str, u32> = words.into();
            let document = json!({ "times": times, "endings": endings, "turns": counts.turns });
            terminal.print_json(&format!("{document}\n"))?;
        }
        RunFormat::Human | RunFormat::Quiet => {
            let mut text = String::new();
            for ending in Ending::ALL.into_iter().filter(|ending| count(*ending) > 0) {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{:>4} {}", count(ending), ending.names().1);
                for (turns, plans) in counts.turns.iter().filter(|_| ending == Ending::Planned) {
                    let _ = writeln!(text, "{plans:>8} after {}", counted(*turns, "turn"));
                }
            }
            terminal.print(&text)?;
        }
    }
    let all_planned = count(Ending::Planned) == times;
    Ok(Exit::fine_if(all_planned))
}
