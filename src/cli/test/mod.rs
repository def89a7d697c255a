//! `planrun test`: plans without their systems, in no time, with what happened held against what was expected.

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
use self::snapshots::Wanted;
use super::{Exit, Failure, Terminal, plan_files, review, watch};
use planrun_runs::driver::{Observer, Silence};
use planrun_test::plantest::coverage::{Goals, Seen, Watching};
use planrun_test::plantest::report::{github, json, junit};
use planrun_test::plantest::snapshot::Mode;
use planrun_test::plantest::suite::{Prepared, Ran, SuiteOptions, unused_in_every_row};

const EXAMPLES: &str = "\
Examples:
  planrun test                          every test below this folder
  planrun test plans/refund.plan        those of one file
  planrun test -k \"is down\"             those whose names contain this
  planrun test --explore                and again with everything that can befall them
  planrun test --accept                 take snapshots as they are; --review asks for each
  planrun test --format junit           for CI services; also json and github
  planrun test --coverage --min 90      what no test reached, and 1 where it is too much
  planrun test --coverage=lcov          for editors and CI services; also json and html
  planrun test --record once            call the real tools where there is no recording yet, and record what they answer
  planrun test --replay 0193a1f2        whether a run of the journal would go the same way with the plan as it is now
  planrun test --seeds 20               in twenty further orders: what fails in one of them is flaky";

/// Test plans without their systems.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Arguments {
    /// Files and folders. Folders are searched for *.plan, *.plan.json and *.plantest, except what git ignores.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Run only tests whose file, plan or name contains this. May be repeated.
    #[arg(short = 'k', long = "filter", value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Play each test in so many further orders of what needs none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seeds: u64,
    /// Play each passing test again with everything that can befall it: failures of every class, deaths of the process
    /// before and after every call, refusals, other orders. What must hold of every run is looked at, and a test is printed
    /// for each that breaks it.
    #[arg(long)]
    pub explore: bool,
    /// Record what the real tools answer to calls that no mock answers. Without this nothing is ever called.
    #[arg(long, value_name = "WHAT", default_value = "none", conflicts_with_all = ["watch", "review"])]
    pub record: Record,
    /// Record what the `mock:` sections of the apps answer, over loopback, in place of the real systems.
    #[arg(long, requires = "record")]
    pub mock: bool,
    /// Tell what of the plans below the paths was reached: steps, conditions both ways, arms, errors, undo, verify, listeners,
    /// replies. May be repeated for several reports.
    #[arg(long, value_name = "REPORT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub coverage: Vec<Report>,
    /// The folder of reports that are files.
    #[arg(long, value_name = "DIR", default_value = ".", requires = "coverage")]
    pub coverage_dir: PathBuf,
    /// The least that must be reached, in percent; exit code 1 where it is less.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(0..=100))]
    pub min: Option<u64>,
    /// Take snapshots as they are now.
    #[arg(long, conflicts_with = "review")]
    pub accept: bool,
    /// Run nothing: show each snapshot that waits with what differs, and take it, reject it or leave it.
    #[arg(long)]
    pub review: bool,
    /// Run again whenever a plan, a test, an app file or the project's file changes, until Ctrl-C.
    #[arg(long, conflicts_with = "review")]
    pub watch: bool,
    /// Run no test: live through a run of the journal again with the plan as it is now, calling nothing, and tell where they
    /// part. A PATH is the plan's file, where it is not the one that the run was started with.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["filter", "seeds", "explore", "record", "mock", "coverage", "min", "accept", "review", "watch"])]
    pub replay: Option<String>,
    /// What becomes of snapshots that no test names any more.
    #[arg(long, value_name = "WHAT", default_value = "warn")]
    pub unreferenced: Unreferenced,
    /// How results are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Failures in their lines, for people.
    Human,
    /// One JSON document, for programs.
    Json,
    /// The XML of JUnit, for CI services.
    Junit,
    /// Workflow commands that GitHub Actions shows at their lines.
    Github,
}

/// What becomes of snapshots that no test names.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Unreferenced {
    /// They are told.
    Warn,
    /// They are removed.
    Delete,
}

/// What came of the tests of one file, in source order.
pub(super) struct FileRun<'a> {
    pub file: &'a TestedFile,
    pub ran: Vec<Ran>,
}

/// Runs the tests that the arguments name and tells what came of them.
///
/// # Errors
/// When a path does not exist, no test is found, or the output cannot be written.
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
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
        return watch::watch(&arguments.paths, terminal, || {
            once(arguments, project, terminal)
        });
    }
    once(arguments, project, terminal)
}

fn once(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let began = RealHost.monotonic();
    let measures = !arguments.coverage.is_empty() || arguments.min.is_some();
    let mut tested = if measures {
        files::open_all(&arguments.paths, project)?
    } else {
        files::open(&arguments.paths, project)?
    };
    record::record_all(&mut tested, arguments, terminal)?;
    let (mut runs, seen) = run_all(&tested, arguments, measures);
    let snapshots = snapshots::settle(&RealHost, &tested, &mut runs, wanted(arguments)?, terminal)?;
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
        Format::Human => human::tell(&tested, &runs, &snapshots, took, terminal)?,
        Format::Json => terminal.print_json(&json(&report::report(&tested, &runs, took)))?,
        Format::Junit => terminal.print_exactly(&junit(&report::report(&tested, &runs, took)))?,
        Format::Github => terminal.print_exactly(&github(&report::report(&tested, &runs, took)))?,
    }
    if arguments.explore {
        let told = explore::told(&explored);
        // Beside a document for programs.
        if arguments.format == Format::Human {
            terminal.print(&told)?;
        } else {
            terminal.say_plainly(&told);
        }
    }
    let goals = measures.then(|| coverage::goals(&tested));
    let too_little = match goals {
        Some(goals) => covers_too_little(&goals, &seen, arguments, terminal)?,
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
        Exit::Fine
    })
}

/// Tells what the tests reach, and whether it is less than `--min` asks for.
fn covers_too_little(
    goals: &[Goals],
    seen: &Seen,
    arguments: &Arguments,
    terminal: Terminal,
) -> Result<bool, Failure> {
    let (formats, folder) = (&arguments.coverage, &arguments.coverage_dir);
    let beside = arguments.format != Format::Human;
    let told = coverage::tell(goals, seen, formats, folder, beside, terminal)?;
    let reached = told.percent();
    match arguments.min {
        Some(min) if (reached as u64) < min => {
            terminal.complain(&format!(
                "{reached} % is reached, and --min asks for {min} %"
            ));
            Ok(true)
        }
        Some(_) | None => Ok(false),
    }
}

/// What is wanted of snapshots.
fn wanted(arguments: &Arguments) -> Result<Wanted, Failure> {
    let mode = Mode::chosen(&RealHost, arguments.accept)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let removes = arguments.unreferenced == Unreferenced::Delete;
    Ok(Wanted {
        mode,
        removes,
        complete: arguments.filter.is_empty(),
    })
}

/// Plays every case that is wanted, as many at a time as there are threads; tells what they reached, if that is asked.
fn run_all<'a>(
    tested: &'a Tested,
    arguments: &Arguments,
    measures: bool,
) -> (Vec<FileRun<'a>>, Seen) {
    let options = SuiteOptions {
        seeds: arguments.seeds,
        ..SuiteOptions::default()
    };
    let mut wanted: Vec<(usize, Prepared)> = Vec::new();
    for (index, file) in tested
        .files
        .iter()
        .enumerate()
        .filter(|(_, file)| file.suite.broken.is_empty())
    {
        let cases = file.suite.cases().into_iter();
        wanted.extend(
            cases
                .filter(|case| is_wanted(file, case, &arguments.filter))
                .map(|case| (index, case)),
        );
    }
    let play = |(index, prepared): &(usize, Prepared)| {
        let file = &tested.files[*index];
        let (mut seen, mut nobody) = (Seen::default(), Silence);
        let mut watching = Watching {
            seen: &mut seen,
            inner: &mut nobody,
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
    for (index, ran, seen) in wanted.par_iter().map(play).collect::<Vec<_>>() {
        runs[index].ran.push(ran);
        all.merge(&seen);
    }
    for run in &mut runs {
        unused_in_every_row(&mut run.ran);
    }
    (runs, all)
}

fn is_wanted(file: &TestedFile, prepared: &Prepared, filter: &[String]) -> bool {
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
        return format!("no test is called like {}", arguments.filter.join(" or "));
    }
    let shown = arguments
        .paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "there is no test below {shown}: a test is written `test \"what it shows\" for PLAN {{ … }}` in a plan file"
    )
}
