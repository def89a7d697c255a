//! `planrun test`: runs plans with mocked tools in virtual time, and compares the results with the expectations.

mod coverage;
mod explore;
pub(crate) mod files;
mod human;
mod record;
mod replay;
mod report;
mod snapshots;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rayon::prelude::*;

pub use self::coverage::Report;
use planrun_tools::host::{Host as _, RealHost};

use self::files::{Tested, TestedFile};
use self::record::Record;
use self::snapshots::SnapshotOptions;
use super::{Exit, Failure, Result, Terminal, plan_files, review, watch};
use planrun_runs::driver::{Observer, Silence};
use planrun_test::plantest::coverage::{CoverageObserver, Goals, Seen};
use planrun_test::plantest::report::{github, json, junit};
use planrun_test::plantest::snapshot::Mode;
use planrun_test::plantest::suite::{Prepared, Ran, SuiteOptions, unused_in_every_row};

const EXAMPLES: &str = "\
Examples:
  planrun test                          every test below this folder
  planrun test plans/refund.plan        those of one file
  planrun test -k \"is down\"             those whose names contain this
  planrun test --explore                run them again with every fault that can occur
  planrun test --accept                 accept all snapshots; --review asks for each
  planrun test --format junit           for CI services; also json and github
  planrun test --coverage --min 90      report what no test reached; exit code 1 below 90 %
  planrun test --coverage=lcov          for editors and CI services; also json and html
  planrun test --record once            record answers of the real tools that are not recorded yet
  planrun test --replay 0193a1f2        would this run go the same way with the current plan?
  planrun test --seeds 20               in twenty more orders: finds flaky tests";

/// Test plans without calling their tools
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Arguments {
    /// Files and folders with tests. Folders are searched for *.plan, *.plan.json and *.plantest files, except those
    /// that git ignores
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Run only tests whose file, plan or name contains this text (repeatable)
    #[arg(short = 'k', long = "filter", value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Run each test in N additional orders of its independent steps
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seeds: u64,
    /// Also run each passing test with injected faults: failures of every class, process deaths before and after
    /// every call, refusals, other orders. Prints a test that reproduces each violation of the invariants of runs
    #[arg(long)]
    pub explore: bool,
    /// Record the answers of real tools to calls that no mock answers; by default no real tool is called
    #[arg(long, value_name = "WHAT", default_value = "none", conflicts_with_all = ["watch", "review"])]
    pub record: Record,
    /// Record the answers of the apps' `mock:` sections, on the loopback interface, instead of those of the real
    /// tools
    #[arg(long, requires = "record")]
    pub mock: bool,
    /// Report which parts of the plans were reached: steps, both outcomes of conditions, arms, errors, undo, verify,
    /// listeners, replies (repeatable)
    #[arg(long, value_name = "REPORT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub coverage: Vec<Report>,
    /// Folder for coverage reports that are files
    #[arg(long, value_name = "DIR", default_value = ".", requires = "coverage")]
    pub coverage_dir: PathBuf,
    /// Exit with 1 if coverage is below this percentage
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(0..=100))]
    pub min: Option<u64>,
    /// Accept all snapshots as they are now
    #[arg(long, conflicts_with = "review")]
    pub accept: bool,
    /// Review the pending snapshots one by one, without running tests
    #[arg(long, conflicts_with_all = ["filter", "seeds", "explore", "coverage", "min", "unreferenced", "format"])]
    pub review: bool,
    /// Run again whenever a plan, a test, an app file or the project file changes, until Ctrl-C
    #[arg(long, conflicts_with = "review")]
    pub watch: bool,
    /// Replay a run of the journal against the current plan without calling anything, and report the differences. No
    /// tests are run; PATH is the file of the plan, if it is not the one that the run was started with
    #[arg(long, value_name = "RUN", conflicts_with_all = ["filter", "seeds", "explore", "record", "mock", "coverage", "min", "accept", "review", "watch", "unreferenced"])]
    pub replay: Option<String>,
    /// What to do with snapshots that no test references
    #[arg(long, value_name = "WHAT", default_value = "warn")]
    pub unreferenced: Unreferenced,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Failures with their source lines
    Human,
    /// One JSON document
    Json,
    /// JUnit XML, for CI services
    Junit,
    /// Workflow commands that GitHub Actions displays at the source lines
    Github,
}

/// The handling of snapshots that no test references.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Unreferenced {
    /// Print their names
    Warn,
    /// Remove them
    Delete,
}

/// The results of the tests of one file, in source order.
pub(super) struct FileRun<'a> {
    pub file: &'a TestedFile,
    pub ran: Vec<Ran>,
}

/// Runs the tests that the arguments name, and prints the results. Returns an error if a path does not exist, a project
/// or a snapshot cannot be used, no test is found, or the output cannot be written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    if let Some(run) = &arguments.replay {
        return replay::replay(run, arguments, project, terminal);
    }
    if arguments.review {
        let found = plan_files::find(&arguments.paths)?;
        let paths: Vec<PathBuf> = found
            .files
            .iter()
            .map(|file| file.path().to_owned())
            .collect();
        return review::review(&RealHost, &paths, terminal);
    }
    if arguments.watch {
        if arguments.paths.iter().any(|path| path.as_os_str() == "-") {
            return Err(watch::standard_input());
        }
        return watch::watch(&arguments.paths, terminal, || {
            once(arguments, project, terminal)
        });
    }
    once(arguments, project, terminal)
}

fn once(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let began = RealHost.monotonic();
    let measures = !arguments.coverage.is_empty() || arguments.min.is_some();
    let mut tested = if measures {
        files::open_all(&arguments.paths, project)?
    } else {
        files::open(&arguments.paths, project)?
    };
    let recorded = record::record_all(&mut tested, arguments, terminal)?;
    let (mut runs, seen) = run_all(&tested, arguments, measures);
    let options = snapshot_options(arguments)?;
    let snapshots = snapshots::settle(&RealHost, &tested, &mut runs, options, terminal)?;
    let explored = if arguments.explore {
        explore::explore_all(&tested, &runs, arguments.seeds)
    } else {
        Vec::new()
    };
    let took = RealHost.monotonic().saturating_sub(began);
    let broken = tested.is_broken();
    if runs.iter().all(|run| run.ran.is_empty()) && !broken {
        return Err(Failure::Environment(nothing_found(arguments)));
    }
    match arguments.format {
        Format::Human => human::print(&tested, &runs, &snapshots, took, terminal)?,
        Format::Json => terminal.print_json(&json(&report::report(&tested, &runs, took)))?,
        Format::Junit => terminal.print_exactly(&junit(&report::report(&tested, &runs, took)))?,
        Format::Github => terminal.print_exactly(&github(&report::report(&tested, &runs, took)))?,
    }
    if arguments.explore {
        let text = explore::render(&explored);
        // Standard output holds a document for programs.
        if arguments.format == Format::Human {
            terminal.print(&text)?;
        } else {
            terminal.eprint(&text);
        }
    }
    let goals = measures.then(|| coverage::goals(&tested));
    let too_little = match goals {
        Some(goals) => covers_too_little((&goals, broken), &seen, arguments, terminal)?,
        None => false,
    };
    let discovered = explored
        .iter()
        .any(|file| !file.explored.discoveries.is_empty());
    let failed = runs
        .iter()
        .flat_map(|run| &run.ran)
        .any(|ran| !ran.faults.is_empty());
    Ok(if failed || broken || discovered || too_little {
        Exit::Findings
    } else {
        recorded
    })
}

/// Prints the coverage reports, and returns true if coverage is below `--min`. Broken files have no goals, and fail the
/// command anyway.
fn covers_too_little(
    (goals, broken): (&[Goals], bool),
    seen: &Seen,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<bool> {
    let (formats, folder) = (&arguments.coverage, &arguments.coverage_dir);
    let to_stderr = arguments.format != Format::Human;
    let share = coverage::print_reports(goals, seen, formats, folder, to_stderr, terminal)?;
    let reached = share.percent();
    if arguments.min.is_some() && goals.is_empty() && !broken {
        let searched = plan_files::listed(&arguments.paths);
        return Err(Failure::Environment(format!(
            "no plans found in {searched}, so nothing is covered: name the files with the plans, besides those with their tests"
        )));
    }
    match arguments.min {
        Some(min) if (reached as u64) < min => {
            terminal.error(&format!(
                "the coverage is {reached} %, but `--min` requires {min} %"
            ));
            Ok(true)
        }
        Some(_) | None => Ok(false),
    }
}

/// Returns how to handle snapshots.
fn snapshot_options(arguments: &Arguments) -> Result<SnapshotOptions> {
    let mode = Mode::chosen(&RealHost, arguments.accept)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let removes = arguments.unreferenced == Unreferenced::Delete;
    Ok(SnapshotOptions {
        mode,
        removes,
        complete: arguments.filter.is_empty(),
    })
}

/// Runs every selected case in parallel, and returns the results in order. Also returns the coverage, if `measures`
/// is true.
fn run_all<'a>(
    tested: &'a Tested,
    arguments: &Arguments,
    measures: bool,
) -> (Vec<FileRun<'a>>, Seen) {
    let options = SuiteOptions {
        seeds: arguments.seeds,
        ..SuiteOptions::default()
    };
    let mut selected: Vec<(usize, Prepared)> = Vec::new();
    for (index, file) in tested
        .files
        .iter()
        .enumerate()
        .filter(|(_, file)| file.suite.broken.is_empty())
    {
        let cases = file.suite.cases().into_iter();
        selected.extend(
            cases
                .filter(|case| is_selected(file, case, &arguments.filter))
                .map(|case| (index, case)),
        );
    }
    let play = |(index, prepared): &(usize, Prepared)| {
        let file = &tested.files[*index];
        let (mut seen, mut silence) = (Seen::default(), Silence);
        let mut watching = CoverageObserver {
            seen: &mut seen,
            inner: &mut silence,
        };
        let observer: &mut dyn Observer = if measures {
            &mut watching
        } else {
            &mut Silence
        };
        let environment = &tested.environments[file.project];
        let ran = file.suite.run(environment, prepared, options, observer);
        (*index, ran, seen)
    };
    let mut runs: Vec<FileRun<'a>> = tested
        .files
        .iter()
        .map(|file| FileRun {
            file,
            ran: Vec::new(),
        })
        .collect();
    let mut all = Seen::default();
    for (index, ran, seen) in selected.par_iter().map(play).collect::<Vec<_>>() {
        runs[index].ran.push(ran);
        all.merge(&seen);
    }
    for run in &mut runs {
        unused_in_every_row(&mut run.ran);
    }
    (runs, tested.named(all))
}

fn is_selected(file: &TestedFile, prepared: &Prepared, filter: &[String]) -> bool {
    let named = |text: &String| {
        let test = &prepared.test;
        [file.suite.source.name(), &*test.plan.name, &*test.name]
            .iter()
            .any(|name| name.contains(text.as_str()))
    };
    filter.is_empty() || filter.iter().any(named)
}

fn nothing_found(arguments: &Arguments) -> String {
    if !arguments.filter.is_empty() {
        return format!("no test matches {}", arguments.filter.join(" or "));
    }
    let searched = plan_files::listed(&arguments.paths);
    format!(
        "no tests found in {searched}: write a test as `test \"what it shows\" for PLAN {{ … }}` in a plan file"
    )
}
