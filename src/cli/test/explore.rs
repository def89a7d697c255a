//! `--explore`: runs the tests with injected faults, and prints a test that reproduces each violation.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use planrun_lang::diag::render::{visible_line, visible_text};
use planrun_lang::format;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{ast, json};
use planrun_lang::value::counted;
use planrun_tools::host::RealHost;
use rayon::prelude::*;

use super::FileRun;
use super::files::{Tested, TestedFile};
use planrun_core::run::Order;
use planrun_runs::driver::Silence;
use planrun_test::plantest::case::Case;
use planrun_test::plantest::explore::invariants::{Violation, violations};
use planrun_test::plantest::explore::{
    Discovery, ExploreOptions, Explored, Fault, MAX_ELEMENTS, MAX_RUNS, explore, reproducer,
};
use planrun_test::plantest::play::{RunOptions, play};
use planrun_test::plantest::suite::{Prepared, Suite, doubles};

/// Default number of orders in which every case is explored.
const SEEDS: u64 = 8;

/// The results of exploring the tests of one file.
pub(super) struct FileExplored<'a> {
    pub file: &'a TestedFile,
    pub explored: Explored,
    /// A reproducing test for each discovery.
    pub tests: Vec<String>,
}

/// Explores every case that passes.
pub(super) fn explore_all<'a>(
    tested: &'a Tested,
    runs: &[FileRun<'a>],
    seeds: u64,
) -> Vec<FileExplored<'a>> {
    let options = ExploreOptions {
        seeds: if seeds == 0 { SEEDS } else { seeds },
    };
    let one = |run: &FileRun<'a>| {
        let file = run.file;
        let passes = |prepared: &Prepared| {
            let same = |ran: &&planrun_test::plantest::suite::Ran| {
                std::sync::Arc::ptr_eq(&ran.test, &prepared.test)
                    && prepared.case.as_ref().is_ok_and(|case| case.row == ran.row)
            };
            run.ran
                .iter()
                .find(same)
                .is_some_and(|ran| ran.faults.is_empty())
        };
        let cases = file
            .suite
            .cases()
            .into_iter()
            .filter(passes)
            .filter_map(|prepared| prepared.case.ok());
        let cases: Vec<Case> = cases.collect();
        let explored = explore(
            &file.suite,
            &tested.environments[file.project],
            &cases,
            options,
        );
        let tests = explored
            .discoveries
            .iter()
            .map(|found| smallest(tested, file, found))
            .collect();
        FileExplored {
            file,
            explored,
            tests,
        }
    };
    runs.par_iter().map(one).collect()
}

/// Returns the smallest test that reproduces a discovery.
fn smallest(tested: &Tested, file: &TestedFile, discovery: &Discovery) -> String {
    let environment = &tested.environments[file.project];
    let options = match discovery.fault {
        Fault::Order(seed) => RunOptions {
            order: Order::Seeded(seed),
            ..RunOptions::default()
        },
        // The test that reproduces it contains the injected fault itself.
        Fault::Edge(_) | Fault::Fails { .. } | Fault::Crashes { .. } | Fault::Gate { .. } => {
            RunOptions::default()
        }
    };
    let (workspace, host) = (&tested.workspaces[file.project], RealHost);
    let text_form = text_form(&file.suite.source, &file.suite.checked.tree);
    let text_form = text_form.map(|source| {
        let checked = workspace.check(&source);
        Suite::new(source, checked)
    });
    let suite = text_form.as_ref().unwrap_or(&file.suite);
    let reproduces = |test: &str| {
        let source = &suite.source;
        let start = source.text().len();
        let source = SourceFile::new(source.name(), format!("{}\n{test}", source.text()));
        let checked = workspace.check(&source);
        let suite = Suite::new(source, checked).with_recordings(&host);
        let Some(prepared) = suite
            .cases()
            .into_iter()
            .find(|case| case.test.item.start as usize >= start)
        else {
            return false;
        };
        let (Ok(case), Some(program)) = (&prepared.case, suite.program(&prepared.test)) else {
            return false;
        };
        let played = play(
            environment,
            program,
            case,
            doubles(environment, case, options),
            options,
            &mut Silence,
        );
        let violations = violations(&program.plan, &played);
        // The text form has other places than the file in JSON form.
        let shows = |violation: &Violation| match text_form {
            Some(_) => violation.to_string() == discovery.violation.to_string(),
            None => *violation == discovery.violation,
        };
        // A call without an answer would fail the test for another reason.
        played.unanswered.is_empty() && violations.iter().any(shows)
    };
    reproducer(suite, discovery, &reproduces)
}

/// Returns the text form of a file in JSON form, next to it; `None` for a file that is text. A test is printed as text.
fn text_form(source: &SourceFile, tree: &ast::File) -> Option<SourceFile> {
    let text = format::print(tree).filter(|_| json::is_json(source))?;
    let name = source.name().replace(json::ENDING, ".plan");
    Some(SourceFile::new(name, text))
}

/// Renders the discoveries for people.
pub(super) fn render(explored: &[FileExplored<'_>]) -> String {
    let mut text = String::new();
    let mut found = 0;
    for file in explored {
        for (discovery, test) in file.explored.discoveries.iter().zip(&file.tests) {
            found += 1;
            let name = visible_line(file.file.suite.source.name());
            let what = format!(
                "{}: when {}",
                discovery.case.test.plan.name, discovery.fault
            );
            let (what, violation) = (
                visible_line(&what).into_owned(),
                discovery.violation.to_string(),
            );
            let kind = discovery.violation.name();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "FOUND [{kind}] {name}: {what}\n      {}\n",
                visible_line(&violation)
            );
            let _ = writeln!(text, "{}", visible_text(test));
        }
    }
    let sum = |of: fn(&Explored) -> usize| explored.iter().map(|file| of(&file.explored)).sum();
    let (runs, stopped): (usize, usize) = (sum(|of| of.runs), sum(|of| of.stopped));
    let left_out: usize = sum(|of| of.left_out);
    let elements: usize = sum(|of| of.elements_left_out);
    let _ = writeln!(text, "explored {}: {found} found", counted(runs, "run"));
    text.push_str(&unexplored(explored));
    if stopped > 0 {
        let stopped = counted(stopped, "run");
        let _ = writeln!(text, "{stopped} stopped: a step was called again and again");
    }
    if elements > 0 {
        let elements = counted(elements, "call");
        let _ = writeln!(
            text,
            "{elements} without faults: only {MAX_ELEMENTS} elements of an `each` have them"
        );
    }
    if left_out > 0 {
        let left_out = counted(left_out, "run");
        let _ = writeln!(
            text,
            "{left_out} left out: the limit is {MAX_RUNS} for a file; choose tests with `-k`"
        );
    }
    text
}

/// Returns the line about runs that ended at calls without an answer, with those calls; empty if there are none.
fn unexplored(explored: &[FileExplored<'_>]) -> String {
    let runs: usize = explored
        .iter()
        .map(|file| file.explored.unanswered_runs)
        .sum();
    if runs == 0 {
        return String::new();
    }
    let calls: BTreeSet<_> = explored
        .iter()
        .flat_map(|file| &file.explored.unanswered)
        .map(|(tool, path)| format!("`{tool}` (at `{path}`)"))
        .collect();
    let calls: Vec<String> = calls.into_iter().collect();
    let calls = calls.join(", ");
    let calls = visible_line(&calls);
    format!(
        "{} ended at calls that no mock answers: {calls}; add `mock _ => generated`\n",
        counted(runs, "run")
    )
}
