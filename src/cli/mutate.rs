//! `planrun mutate`: mutation testing of plans.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use parking_lot::Mutex;
use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{command, quoted, visible_line};
use planrun_lang::sema::{BlockId, Files, NodeId, NodeKind, OrderClass, Plan, Step};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast::ItemKind;
use planrun_lang::value::{counted, shortened};
use planrun_tools::host::RealHost;
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::test::files::{self, Tested, TestedFile};
use super::{Exit, Failure, Result, Terminal, plan_files};
use planrun_runs::driver::{Observer, Silence};
use planrun_test::plantest::coverage::{CoverageObserver, Item, Seen, What};
use planrun_test::plantest::mutate::{Kind, Mutant, mutants};
use planrun_test::plantest::snapshot::{Mode, Place, SnapshotError, Store};
use planrun_test::plantest::suite::{Ran, Suite, SuiteOptions};

const EXAMPLES: &str = "\
Examples:
  planrun mutate plans              every plan below this folder, with the tests below it
  planrun mutate plans --min 90     for CI: exit code 1 if fewer than 90 % are detected
  planrun mutate plans --format json";

/// Measure how many small changes of plans their tests detect
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files and folders of plans and of their tests
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Exit with 1 if the tests detect less than this share of the mutants, in percent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub min: Option<f64>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// Parses a share in percent.
fn percent(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 100".to_owned())
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Mutants that no test detects, with their locations
    Human,
    /// One JSON document
    Json,
}

/// The result of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MutantResult {
    /// The check rejects the mutant.
    Rejected,
    /// A test fails.
    Killed,
    /// Every test passes, and at least one of them reaches the mutated statement.
    Survived,
    /// Every test passes, and none of them reaches the mutated statement.
    Uncovered,
}

impl MutantResult {
    const fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Killed => "killed",
            Self::Survived => "survived",
            Self::Uncovered => "uncovered",
        }
    }
}

/// A mutant of a plan file with its result.
struct Tried<'a> {
    source: &'a SourceFile,
    mutant: Mutant,
    fate: MutantResult,
}

/// Mutates the plans that the arguments name, and runs their tests. Returns an error if a path does not exist, a
/// project or a snapshot cannot be used, a file has errors, a test fails without any mutation, or the output cannot be
/// written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let tested = files::open_all(&arguments.paths, project)?;
    is_usable(&tested, &arguments.paths)?;
    let used: Vec<Vec<String>> = tested
        .files
        .par_iter()
        .map(|file| used_by(&tested, file))
        .collect();
    let seen = run_unchanged(&tested)?;
    let mut all: Vec<(usize, Mutant)> = Vec::new();
    for (index, file) in tested.files.iter().enumerate() {
        let checked = &file.suite.checked;
        let nodes = checked.plans.iter().flat_map(|plan| plan.nodes());
        let barriers: BTreeSet<Span> = nodes
            .filter(|node| node.order() == OrderClass::Barrier)
            .map(|node| node.span)
            .collect();
        let is_barrier = |span: Span| barriers.contains(&span);
        let found = mutants(&file.suite.source, &checked.tree, &is_barrier);
        all.extend(found.into_iter().map(|mutant| (index, mutant)));
    }
    let tried = |(index, mutant): (usize, Mutant)| {
        let home = &tested.files[index];
        let fate = match fate(&tested, &used, home, &mutant)? {
            MutantResult::Survived if !is_covered(home, &seen, mutant.span) => {
                MutantResult::Uncovered
            }
            fate => fate,
        };
        Ok(Tried {
            source: &home.suite.source,
            mutant,
            fate,
        })
    };
    let tried: Result<Vec<Tried<'_>>, SnapshotError> = all.into_par_iter().map(tried).collect();
    let tried = tried?;
    let share = share(&tried);
    match arguments.format {
        Format::Human => print_report(&tried, share, terminal)?,
        Format::Json => terminal.print_document(&document(&tried, share))?,
    }
    Ok(Exit::fine_if(!arguments.min.is_some_and(|min| share < min)))
}

/// Returns an error if a file cannot be read or has errors, or if there is no plan at all: a score would then be that of
/// fewer plans than were named.
fn is_usable(tested: &Tested, paths: &[PathBuf]) -> Result<()> {
    if let Some(problem) = tested.problems.first() {
        return Err(Failure::Environment(problem.message.clone()));
    }
    let broken = tested.files.iter();
    let broken = broken.filter(|file| !file.suite.broken.is_empty());
    let broken = broken.map(|file| file.suite.source.name());
    let reported = tested.reports.iter().map(|report| report.source.name());
    if let Some(name) = reported.chain(broken).next() {
        let name = visible_line(name);
        return Err(Failure::Environment(format!(
            "`{name}` has errors; run `{}` for details",
            command(&format!("check {}", quoted(&name)))
        )));
    }
    let mut plans = tested.files.iter().map(|file| &file.suite.checked.plans);
    if plans.all(Vec::is_empty) {
        let searched = plan_files::listed(paths);
        return Err(Failure::Environment(format!(
            "no plans found in {searched}: name the files with the plans, besides those with their tests"
        )));
    }
    Ok(())
}

/// Runs the tests on the unchanged plans, and returns their coverage.
fn run_unchanged(tested: &Tested) -> Result<Seen> {
    let unchanged: Result<Vec<(Option<FailedTest>, Seen)>, SnapshotError> = tested
        .files
        .par_iter()
        .map(|file| {
            let (mut seen, mut silence) = (Seen::default(), Silence);
            let mut watching = CoverageObserver {
                seen: &mut seen,
                inner: &mut silence,
            };
            let failing = failure(tested, file, &file.suite, &mut watching)?;
            Ok((failing, seen))
        })
        .collect();
    let unchanged = unchanged?;
    let mut seen = Seen::default();
    for (_, own) in &unchanged {
        seen.merge(own);
    }
    match unchanged.into_iter().find_map(|(failing, _)| failing) {
        None => Ok(tested.named(seen)),
        Some(FailedTest { file, title }) => {
            let file = visible_line(&file);
            let message = format!("the test {title:?} of `{file}` fails without any mutation");
            Err(Failure::Environment(format!(
                "{message}; run `{}` for details",
                command(&format!("test {}", quoted(&file)))
            )))
        }
    }
}

/// Returns the names of the files that a file reads, starting with itself.
fn used_by(tested: &Tested, file: &TestedFile) -> Vec<String> {
    let workspace = &tested.workspaces[file.project];
    let recording = RecordingFiles {
        files: workspace.files(),
        read: Mutex::default(),
    };
    let _ = workspace.find(&file.suite.source, &recording);
    let mut used = vec![file.suite.source.name().to_owned()];
    used.extend(recording.read.into_inner());
    used
}

/// Tests a mutant. If the check accepts the mutated plan, every test file that reads it is checked and run again,
/// until a test fails. A test that no longer fits the plan counts as detection.
fn fate(
    tested: &Tested,
    used: &[Vec<String>],
    home: &TestedFile,
    mutant: &Mutant,
) -> Result<MutantResult, SnapshotError> {
    let name = home.suite.source.name();
    let Some(text) = mutant.apply(&home.suite.source) else {
        return Ok(MutantResult::Rejected);
    };
    let workspace = &tested.workspaces[home.project];
    let changed = Changed {
        files: workspace.files(),
        name,
        text: &text,
    };
    let own = SourceFile::new(name, text.as_str());
    let checked = workspace.find(&own, &changed);
    let own = Suite::new(own, checked);
    let tests = own
        .checked
        .tree
        .items
        .iter()
        .filter(|item| matches!(item.kind, ItemKind::Test(_)));
    let tests: Vec<Span> = tests.map(|item| item.span).collect();
    let in_a_test = |found: &Diagnostic| tests.iter().any(|test| test.contains(found.span));
    if !own.broken.iter().all(in_a_test) {
        return Ok(MutantResult::Rejected);
    }
    let sees = |(index, _): &(usize, &TestedFile)| used[*index].iter().any(|used| used == name);
    for (_, file) in tested.files.iter().enumerate().filter(sees) {
        let text = if file.suite.source.name() == name {
            &text
        } else {
            file.suite.source.text()
        };
        let source = SourceFile::new(file.suite.source.name(), text);
        let checked = workspace.find(&source, &changed);
        let suite = Suite::new(source, checked)
            .with_other_plans(&|source| workspace.find(source, &changed))
            .with_recordings(&RealHost);
        if !suite.broken.is_empty() || failure(tested, file, &suite, &mut Silence)?.is_some() {
            return Ok(MutantResult::Killed);
        }
    }
    Ok(MutantResult::Survived)
}

/// Returns true if a test reaches the innermost statement around a location of a plan file whose execution runs
/// report. Without such a statement, returns true if a test reaches the plan at all; always true outside of plans.
fn is_covered(home: &TestedFile, seen: &Seen, place: Span) -> bool {
    let items = &home.suite.checked.tree.items;
    let Some(item) = items.iter().find(|item| item.span.contains(place)) else {
        return true;
    };
    let Some(plan) = home
        .suite
        .checked
        .plans
        .iter()
        .find(|plan| item.span.contains(plan.span))
    else {
        return true;
    };
    let mut around = Vec::new();
    for (block, id, node) in plan.sites() {
        if node.span.contains(place) && is_observable(&node.kind) {
            around.push((node.span.end - node.span.start, (block, id)));
        }
    }
    match around.iter().min() {
        Some((_, innermost)) => {
            let (spot, what) = reported_at(plan, *innermost);
            let is_there = |item: &&Item| (item.block, item.node) == spot;
            let mut reached = seen.of(plan).filter(is_there);
            reached.any(|item| what.as_ref().is_none_or(|what| item.what == *what))
        }
        None => seen.of(plan).next().is_some(),
    }
}

/// Returns where runs report that they reach a statement, and as what; `None` for any report. Those in `verify` and
/// `undo` blocks are reported at the step of the block only.
fn reported_at(plan: &Plan, spot: (BlockId, NodeId)) -> ((BlockId, NodeId), Option<What>) {
    let owners = plan.owners();
    let (mut reported, mut block) = ((spot, None), spot.0);
    while let Some((outer, id)) = owners.get(block.0 as usize).copied().flatten() {
        let step = plan.block(outer).node(id).step();
        if step.is_some_and(|step| step.auxiliary_blocks().any(|own| own == block)) {
            let undo = step.and_then(Step::undo).map(|undo| undo.body);
            let what = if undo == Some(block) {
                What::Undone
            } else {
                What::Verified
            };
            reported = ((outer, id), Some(what));
        }
        block = outer;
    }
    reported
}

/// Returns true if a run reports that it reaches a statement of this kind.
fn is_observable(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Condition(_)
            | NodeKind::Step(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Reply(_)
            | NodeKind::Listener(_)
    )
}

/// A test that fails.
struct FailedTest {
    file: String,
    title: String,
}

/// Returns the first failing test of a file; `None` if all pass. Returns an error if a snapshot cannot be compared, so
/// that it is unknown whether its test passes.
fn failure(
    tested: &Tested,
    file: &TestedFile,
    suite: &Suite,
    observer: &mut dyn Observer,
) -> Result<Option<FailedTest>, SnapshotError> {
    let environment = &tested.environments[file.project];
    let store = Store::new(
        &RealHost,
        &tested.workspaces[file.project].project.root,
        Mode::Check,
    );
    let names = suite.checked.tests.iter().map(|test| &*test.name);
    let shelf = store.open(Path::new(suite.source.name()), names)?;
    for prepared in suite.cases() {
        let ran: Ran = suite.run(environment, &prepared, SuiteOptions::default(), observer);
        let mut failed = !ran.faults.is_empty();
        // As in `planrun test`, the snapshots of a failed test are not compared.
        for text in &ran.snapshots {
            if failed {
                break;
            }
            let place = Place {
                test: &ran.test.name,
                row: ran.row,
                kind: text.snapshot.of,
                line: 0,
            };
            failed = !shelf.settle(&place, &text.text)?.passes();
        }
        if failed {
            return Ok(Some(FailedTest {
                file: suite.source.name().to_owned(),
                title: ran.title,
            }));
        }
    }
    Ok(None)
}

/// Returns the share of detected mutants among those that the check accepts, in percent.
fn share(tried: &[Tried<'_>]) -> f64 {
    let count = |fate: MutantResult| tried.iter().filter(|tried| tried.fate == fate).count();
    let (killed, survived) = (
        count(MutantResult::Killed),
        count(MutantResult::Survived) + count(MutantResult::Uncovered),
    );
    let parts = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if killed + survived == 0 {
        100.0
    } else {
        parts(killed) * 100.0 / parts(killed + survived)
    }
}

fn print_report(tried: &[Tried<'_>], share: f64, terminal: Terminal) -> Result<()> {
    for one in tried
        .iter()
        .filter(|one| matches!(one.fate, MutantResult::Survived | MutantResult::Uncovered))
    {
        let position = one.source.position(one.mutant.span.start);
        let name = visible_line(one.source.name());
        let changed: Vec<String> = one
            .mutant
            .edits
            .iter()
            .map(|edit| changed(one.mutant.base(one.source), edit))
            .collect();
        terminal.print(&format!(
            "{} [{}] {name}:{}:{}: {}: {}\n",
            one.fate.name(),
            one.mutant.kind.name(),
            position.line,
            position.column,
            visible_line(&one.mutant.what),
            visible_line(&changed.join(", "))
        ))?;
    }
    let mut kinds: BTreeMap<Kind, [usize; 4]> = BTreeMap::new();
    for one in tried {
        kinds.entry(one.mutant.kind).or_default()[one.fate as usize] += 1;
    }
    for (kind, [rejected, killed, survived, uncovered]) in kinds {
        let untested = if uncovered > 0 {
            format!(", {uncovered} not reached by any test")
        } else {
            String::new()
        };
        terminal.print(&format!(
            "{:<9} {killed} of {} detected{untested}, {rejected} rejected by the check\n",
            kind.name(),
            killed + survived + uncovered
        ))?;
    }
    terminal.print(&format!(
        "{share:.1} % of {} detected\n",
        counted(tried.len() - rejected(tried), "mutant")
    ))
}

fn rejected(tried: &[Tried<'_>]) -> usize {
    tried
        .iter()
        .filter(|one| one.fate == MutantResult::Rejected)
        .count()
}

/// Describes one edit: the old and the new text.
fn changed(source: &SourceFile, edit: &planrun_lang::diag::Edit) -> String {
    let short = |text: &str| {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        shortened(&line, 60)
    };
    format!(
        "`{}` → `{}`",
        short(source.slice(edit.span)),
        short(&edit.text)
    )
}

fn document(tried: &[Tried<'_>], share: f64) -> Json {
    let entry = |one: &Tried<'_>| {
        let position = one.source.position(one.mutant.span.start);
        json!({
            "file": one.source.name(), "line": position.line, "column": position.column,
            "kind": one.mutant.kind.name(), "what": one.mutant.what,
            "edits": one.mutant.edits.iter().map(|edit| changed(one.mutant.base(one.source), edit)).collect::<Vec<_>>(),
            "fate": one.fate.name(),
        })
    };
    let count = |fate: MutantResult| tried.iter().filter(|one| one.fate == fate).count();
    let counts = json!({
        "killed": count(MutantResult::Killed), "survived": count(MutantResult::Survived), "uncovered": count(MutantResult::Uncovered),
        "rejected": count(MutantResult::Rejected),
    });
    json!({ "version": 1, "share": share, "counts": counts, "mutants": tried.iter().map(entry).collect::<Vec<_>>() })
}

/// The plan files, with the text of one of them replaced.
struct Changed<'a, F> {
    files: F,
    name: &'a str,
    text: &'a str,
}

impl<F: Files> Files for Changed<'_, F> {
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String> {
        let read = self.files.read(from, path)?;
        Ok(if read.name() == self.name {
            SourceFile::new(read.name(), self.text)
        } else {
            read
        })
    }
}

/// The plan files, recording the names of the files that are read.
struct RecordingFiles<F> {
    files: F,
    read: Mutex<Vec<String>>,
}

impl<F: Files> Files for RecordingFiles<F> {
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String> {
        let read = self.files.read(from, path)?;
        self.read.lock().push(read.name().to_owned());
        Ok(read)
    }
}
