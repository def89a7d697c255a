//! `planrun mutate`: how many small changes of plans their tests notice.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::{Args, ValueEnum};
use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::{Files, NodeKind};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast::ItemKind;
use planrun_tools::host::RealHost;
use rayon::prelude::*;
use serde_json::{Value as Json, json};

use super::check::counted;
use super::test::files::{self, Tested, TestedFile};
use super::{Exit, Failure, Terminal};
use planrun_runs::driver::{Observer, Silence};
use planrun_test::plantest::coverage::{Seen, Watching};
use planrun_test::plantest::mutate::{Kind, Mutant, mutants};
use planrun_test::plantest::snapshot::{Mode, Place, Store};
use planrun_test::plantest::suite::{Prepared, Ran, Suite, SuiteOptions};

const EXAMPLES: &str = "\
Examples:
  planrun mutate plans              every plan below this folder, with the tests below it
  planrun mutate plans --min 90     for CI: exit code 1 where fewer of a hundred are noticed
  planrun mutate plans --format json";

/// Change plans a little, one change at a time, and count how many changes their tests notice.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files and folders, of plans and of their tests.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// The least share of mutants that must be noticed, in percent.
    #[arg(long, value_name = "PERCENT")]
    pub min: Option<f64>,
    /// How results are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// The mutants that no test notices, in their lines.
    Human,
    /// One JSON document, for programs.
    Json,
}

/// What became of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// The check refuses it.
    Rejected,
    /// A test fails.
    Killed,
    /// Every test passes, though one of them gets there.
    Survived,
    /// No test gets there.
    Uncovered,
}

impl Fate {
    const fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Killed => "killed",
            Self::Survived => "survived",
            Self::Uncovered => "uncovered",
        }
    }
}

/// A mutant of a plan file, by the number of the file among those that are mutated.
struct Tried<'a> {
    source: &'a SourceFile,
    mutant: Mutant,
    fate: Fate,
}

/// Changes the plans that the arguments name, and runs their tests.
///
/// # Errors
/// When a path does not exist, tests fail without any change, or the output cannot be written.
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let tested = files::open_all(&arguments.paths, project)?;
    let broken = tested
        .files
        .iter()
        .find(|file| !file.suite.broken.is_empty());
    if let Some(file) = broken {
        let name = visible_line(file.suite.source.name());
        return Err(Failure::Environment(format!(
            "`{name}` has errors; `planrun check {name}` tells them"
        )));
    }
    let used: Vec<Vec<String>> = tested
        .files
        .par_iter()
        .map(|file| used_by(&tested, file))
        .collect();
    let seen = run_unchanged(&tested)?;
    let mut all: Vec<(usize, Mutant)> = Vec::new();
    for (index, file) in tested.files.iter().enumerate() {
        let found = mutants(&file.suite.source, &file.suite.checked.tree);
        all.extend(found.into_iter().map(|mutant| (index, mutant)));
    }
    let tried = |(index, mutant): (usize, Mutant)| {
        let home = &tested.files[index];
        let fate = match fate(&tested, &used, home, &mutant) {
            Fate::Survived if !is_covered(home, &seen, mutant.span) => Fate::Uncovered,
            fate => fate,
        };
        Tried {
            source: &home.suite.source,
            mutant,
            fate,
        }
    };
    let tried: Vec<Tried<'_>> = all.into_par_iter().map(tried).collect();
    let share = share(&tried);
    match arguments.format {
        Format::Human => tell(&tried, share, terminal)?,
        Format::Json => terminal.print_json(&format!("{:#}\n", document(&tried, share)))?,
    }
    Ok(if arguments.min.is_some_and(|min| share < min) {
        Exit::Findings
    } else {
        Exit::Fine
    })
}

/// Runs the tests before anything is changed, and tells what they reach.
fn run_unchanged(tested: &Tested) -> Result<Seen, Failure> {
    let unchanged: Vec<(Option<(String, String)>, Seen)> = tested
        .files
        .par_iter()
        .map(|file| {
            let (mut seen, mut nobody) = (Seen::default(), Silence);
            let mut watching = Watching {
                seen: &mut seen,
                inner: &mut nobody,
            };
            let failing = failure(tested, file, &file.suite, &mut watching);
            (failing, seen)
        })
        .collect();
    let mut seen = Seen::default();
    for (_, own) in &unchanged {
        seen.merge(own);
    }
    match unchanged.into_iter().find_map(|(failing, _)| failing) {
        None => Ok(seen),
        Some((file, title)) => {
            let file = visible_line(&file);
            let message =
                format!("the test {title:?} of `{file}` fails before anything is changed");
            Err(Failure::Environment(format!(
                "{message}; `planrun test` tells why"
            )))
        }
    }
}

/// The files that a file uses, itself first.
fn used_by(tested: &Tested, file: &TestedFile) -> Vec<String> {
    let workspace = &tested.workspaces[file.project];
    let noting = Noting {
        files: workspace.files(),
        read: Mutex::default(),
    };
    let _ = workspace.find(&file.suite.source, &noting);
    let mut used = vec![file.suite.source.name().to_owned()];
    used.extend(noting.read.into_inner().unwrap_or_default());
    used
}

/// What becomes of a mutant: the check refuses its plan, or every file of tests that sees it is checked and run again. A
/// test that does not fit the plan any more has noticed.
fn fate(tested: &Tested, used: &[Vec<String>], home: &TestedFile, mutant: &Mutant) -> Fate {
    let name = home.suite.source.name();
    let text = mutant.apply(home.suite.source.text());
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
        return Fate::Rejected;
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
        let suite = Suite::new(source, checked);
        if !suite.broken.is_empty() || failure(tested, file, &suite, &mut Silence).is_some() {
            return Fate::Killed;
        }
    }
    Fate::Survived
}

/// Whether a test gets to the statement around a place of a plan file; true where runs do not tell.
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
    let reached: BTreeSet<_> = seen.of(plan).map(|item| (item.block, item.node)).collect();
    let mut around = Vec::new();
    for (block, id, node) in plan.sites() {
        if node.span.contains(place) && tells(&node.kind) {
            around.push((node.span.end - node.span.start, (block, id)));
        }
    }
    match around.iter().min() {
        Some((_, innermost)) => reached.contains(innermost),
        None => !reached.is_empty(),
    }
}

/// Whether a run tells that it gets to such a statement.
fn tells(kind: &NodeKind) -> bool {
    matches!(
        kind,
        NodeKind::Condition(_)
            | NodeKind::Step(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Reply(_)
            | NodeKind::Listener(_)
    )
}

/// The first test of a file that fails: its file and its name.
fn failure(
    tested: &Tested,
    file: &TestedFile,
    suite: &Suite,
    observer: &mut dyn Observer,
) -> Option<(String, String)> {
    let environment = &tested.environments[file.project];
    let store = Store::new(
        &RealHost,
        &tested.workspaces[file.project].project.root,
        Mode::Check,
    );
    let shelf = store
        .open(
            Path::new(suite.source.name()),
            suite.checked.tests.iter().map(|test| &*test.name),
        )
        .ok()?;
    let mut fails = |prepared: &Prepared| {
        let ran: Ran = suite.run(environment, prepared, SuiteOptions::default(), observer);
        let differs = || {
            ran.kept.iter().any(|kept| {
                let place = Place {
                    test: &ran.test.name,
                    row: ran.row,
                    kind: kept.snapshot.of,
                    line: 0,
                };
                shelf
                    .settle(&place, &kept.text)
                    .is_ok_and(|settled| !settled.passes())
            })
        };
        let failed = !ran.faults.is_empty() || differs();
        failed.then(|| (suite.source.name().to_owned(), ran.title.clone()))
    };
    suite.cases().iter().find_map(&mut fails)
}

/// How many of a hundred mutants that the check lets through are noticed.
fn share(tried: &[Tried<'_>]) -> f64 {
    let count = |fate: Fate| tried.iter().filter(|tried| tried.fate == fate).count();
    let (killed, survived) = (
        count(Fate::Killed),
        count(Fate::Survived) + count(Fate::Uncovered),
    );
    let parts = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    if killed + survived == 0 {
        100.0
    } else {
        parts(killed) * 100.0 / parts(killed + survived)
    }
}

fn tell(tried: &[Tried<'_>], share: f64, terminal: Terminal) -> Result<(), Failure> {
    for one in tried
        .iter()
        .filter(|one| matches!(one.fate, Fate::Survived | Fate::Uncovered))
    {
        let position = one.source.position(one.mutant.span.start);
        let name = visible_line(one.source.name());
        let changed: Vec<String> = one
            .mutant
            .edits
            .iter()
            .map(|edit| changed(one.source, edit))
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
            format!(", {uncovered} where no test gets to")
        } else {
            String::new()
        };
        terminal.print(&format!(
            "{:<9} {killed} of {} noticed{untested}, {rejected} refused by the check\n",
            kind.name(),
            killed + survived + uncovered
        ))?;
    }
    terminal.print(&format!(
        "{share:.1} % of {} noticed\n",
        counted(tried.len() - rejected(tried), "mutant")
    ))
}

fn rejected(tried: &[Tried<'_>]) -> usize {
    tried
        .iter()
        .filter(|one| one.fate == Fate::Rejected)
        .count()
}

/// One edit as people write it: what was there, and what is.
fn changed(source: &SourceFile, edit: &planrun_lang::diag::Edit) -> String {
    let short = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    };
    format!(
        "`{}` → `{}`",
        short(source.slice(edit.span)),
        short(&edit.text)
    )
}

fn document(tried: &[Tried<'_>], share: f64) -> Json {
    let told = |one: &Tried<'_>| {
        let position = one.source.position(one.mutant.span.start);
        json!({
            "file": one.source.name(), "line": position.line, "column": position.column,
            "kind": one.mutant.kind.name(), "what": one.mutant.what,
            "edits": one.mutant.edits.iter().map(|edit| changed(one.source, edit)).collect::<Vec<_>>(),
            "fate": one.fate.name(),
        })
    };
    let count = |fate: Fate| tried.iter().filter(|one| one.fate == fate).count();
    let counts = json!({
        "killed": count(Fate::Killed), "survived": count(Fate::Survived), "uncovered": count(Fate::Uncovered),
        "rejected": count(Fate::Rejected),
    });
    json!({ "version": 1, "share": share, "counts": counts, "mutants": tried.iter().map(told).collect::<Vec<_>>() })
}

/// Plan files, one of them with another text.
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

/// Plan files, and which were read.
struct Noting<F> {
    files: F,
    read: Mutex<Vec<String>>,
}

impl<F: Files> Files for Noting<F> {
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String> {
        let read = self.files.read(from, path)?;
        if let Ok(mut names) = self.read.lock() {
            names.push(read.name().to_owned());
        }
        Ok(read)
    }
}
