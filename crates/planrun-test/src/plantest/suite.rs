//! The tests of one file: prepares their cases, and runs them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::diag::render::{Appearance, FileReport, human};
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::graph;
use planrun_lang::sema::test::{Snapshot, SnapshotOf, Test};
use planrun_lang::sema::{CheckedFile, Plan};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast;
use planrun_lang::value::shortened;
use planrun_tools::host::{Host, RealHost};

use super::case::{Case, cases};
use super::mocks::{Mocks, Which};
use super::play::{Doubles, Played, RunOptions, TestEnvironment, play};
use super::recording::{self, Recordings, Replay};
use super::responder::ScriptedResponder;
use super::trace::trace;
use super::verdict::{fault, faults, secrets, unused};
use super::world::Source;
use crate::plantest::MAX_QUOTED;
use planrun_core::run::{Order, Outcome, Program};
use planrun_runs::driver::{Observer, Silence};

/// A checked file with tests.
pub struct Suite {
    pub source: Arc<SourceFile>,
    pub checked: CheckedFile,
    /// Errors that prevent the tests from running: those that no test expects.
    pub broken: Vec<Diagnostic>,
    /// The recordings of its tests.
    pub recordings: Recordings,
    /// The checks of other files with plans whose diagnostics a test compares, by their names.
    others: BTreeMap<String, CheckedFile>,
    programs: BTreeMap<usize, Arc<Program>>,
}

/// A case, or why it cannot run.
pub struct Prepared {
    pub test: Arc<Test>,
    pub case: Result<Case, String>,
}

/// The outcome of one case.
pub struct Ran {
    pub test: Arc<Test>,
    pub row: Option<usize>,
    /// The name of the test, with its row.
    pub title: String,
    pub faults: Vec<Diagnostic>,
    /// Indices of the answers of its test that no question used.
    pub unused: Vec<usize>,
    /// Whether it passes in source order but fails in another order.
    pub is_flaky: bool,
    /// The texts of its snapshots, to be compared.
    pub snapshots: Vec<SnapshotText>,
    /// Differences from stored snapshots, formatted for display.
    pub differences: Vec<String>,
    /// Wall-clock time.
    pub took: Duration,
}

/// The text of a `snapshot` statement.
pub struct SnapshotText {
    pub snapshot: Snapshot,
    pub text: String,
}

impl SnapshotText {
    /// Returns the fault of the same snapshot having another text in another run; `None` if they are the same.
    fn fault(&self, other: &Self) -> Option<Diagnostic> {
        let (mut lines, mut other) = (self.text.lines(), other.text.lines());
        loop {
            let (line, other) = (lines.next(), other.next());
            if line.is_none() && other.is_none() {
                return None;
            }
            if line != other {
                let message = format!("its {} is different", self.snapshot.of.name());
                let found = codes::tests::SNAPSHOT.at(self.snapshot.span, message);
                let text = |line: Option<&str>| {
                    line.map_or("nothing".to_owned(), |line| shortened(line, MAX_QUOTED))
                };
                return Some(found.expected(text(line), text(other)));
            }
        }
    }
}

/// How cases are run.
#[derive(Clone, Copy, Default)]
pub struct SuiteOptions {
    /// Number of further orders in which each case runs.
    pub seeds: u64,
    pub run: RunOptions,
}

impl Suite {
    /// Returns the tests of a file. Errors in a plan whose diagnostics a test expects do not prevent the tests.
    #[must_use]
    pub fn new(source: SourceFile, checked: CheckedFile) -> Self {
        let expecting = checked
            .tests
            .iter()
            .filter(|test| test.diagnostics.is_some());
        let expected: Vec<Span> = expecting
            .filter(|test| test.plan.source.name() == source.name())
            .filter_map(|test| item_of(&checked, &test.plan))
            .collect();
        let is_expected =
            |found: &Diagnostic| expected.iter().any(|item| item.contains(found.span));
        let broken = checked
            .diagnostics
            .iter()
            .filter(|found| found.is_error() && !is_expected(found))
            .cloned();
        let broken: Vec<Diagnostic> = broken.collect();
        let mut programs = BTreeMap::new();
        if broken.is_empty() {
            for test in checked.tests.iter().filter(|test| test.runs()) {
                let program = || Arc::new(Program::new(test.plan.clone()));
                programs
                    .entry(Arc::as_ptr(&test.plan).addr())
                    .or_insert_with(program);
            }
        }
        Self {
            source: Arc::new(source),
            checked,
            broken,
            recordings: Recordings::default(),
            others: BTreeMap::new(),
            programs,
        }
    }

    /// Returns the suite with the diagnostics of plans of other files, if a test compares them.
    #[must_use]
    pub fn with_other_plans(mut self, check: &dyn Fn(&SourceFile) -> CheckedFile) -> Self {
        let compares = |test: &&Arc<Test>| {
            let of_diagnostics = |snapshot: &Snapshot| snapshot.of == SnapshotOf::Diagnostics;
            test.diagnostics.is_some() || test.snapshots.iter().any(of_diagnostics)
        };
        for test in self.checked.tests.iter().filter(compares) {
            let source = &test.plan.source;
            if source.name() != self.source.name() && !self.others.contains_key(source.name()) {
                self.others.insert(source.name().to_owned(), check(source));
            }
        }
        self
    }

    /// Returns the suite with the recordings next to its file.
    #[must_use]
    pub fn with_recordings(self, host: &dyn Host) -> Self {
        let tests = self.checked.tests.iter().map(|test| &*test.name);
        let recordings = Recordings::next_to(host, Path::new(self.source.name()), tests);
        Self { recordings, ..self }
    }

    /// Returns all cases, in source order.
    #[must_use]
    pub fn cases(&self) -> Vec<Prepared> {
        let mut prepared = Vec::new();
        for test in &self.checked.tests {
            match cases(test) {
                Ok(cases) => {
                    prepared.extend(cases.into_iter().map(|case| self.prepared(case)));
                }
                Err(reason) => prepared.push(Prepared {
                    test: test.clone(),
                    case: Err(reason),
                }),
            }
        }
        prepared
    }

    fn prepared(&self, case: Case) -> Prepared {
        let recording = self
            .recordings
            .of(&case)
            .and_then(|found| found.as_ref().ok().cloned());
        Prepared {
            test: case.test.clone(),
            case: Ok(Case { recording, ..case }),
        }
    }

    /// Returns the program of the plan of a test.
    #[must_use]
    pub fn program(&self, test: &Test) -> Option<&Arc<Program>> {
        self.programs.get(&Arc::as_ptr(&test.plan).addr())
    }

    /// Runs a case and checks its expectations.
    #[must_use]
    pub fn run(
        &self,
        environment: &TestEnvironment,
        prepared: &Prepared,
        options: SuiteOptions,
        observer: &mut dyn Observer,
    ) -> Ran {
        self.run_played(environment, prepared, options, observer).0
    }

    /// Like [`Self::run`], and also returns the run that was checked; `None` if there was none.
    #[must_use]
    pub fn run_played(
        &self,
        environment: &TestEnvironment,
        prepared: &Prepared,
        options: SuiteOptions,
        observer: &mut dyn Observer,
    ) -> (Ran, Option<Played>) {
        let began = RealHost.monotonic();
        let test = &prepared.test;
        let mut ran = Ran {
            test: test.clone(),
            row: None,
            title: test.name.to_string(),
            faults: Vec::new(),
            unused: Vec::new(),
            is_flaky: false,
            snapshots: Vec::new(),
            differences: Vec::new(),
            took: Duration::ZERO,
        };
        let played = match &prepared.case {
            Ok(case) => {
                (ran.row, ran.title) = (case.row, case.title());
                self.check_without_run(test, &mut ran);
                self.perform(environment, case, options, observer, &mut ran)
            }
            Err(reason) => {
                ran.faults.push(fault(test.span, reason.as_str()));
                None
            }
        };
        ran.took = RealHost.monotonic().saturating_sub(began);
        (ran, played)
    }

    fn perform(
        &self,
        environment: &TestEnvironment,
        case: &Case,
        options: SuiteOptions,
        observer: &mut dyn Observer,
        ran: &mut Ran,
    ) -> Option<Played> {
        let program = self.program(&case.test).filter(|_| case.test.runs())?;
        if let Some(refused) = self.refused(case) {
            ran.faults.push(refused);
            return None;
        }
        let perform = |options: RunOptions, observer: &mut dyn Observer| {
            let doubles = doubles(environment, case, options);
            play(environment, program, case, doubles, options, observer)
        };
        let faults = |played: &Played| self.faults(case, played);
        let played = perform(options.run, observer);
        ran.faults.extend(faults(&played));
        ran.unused.clone_from(&played.unused);
        let texts = snapshot_texts(program, case, &played);
        if !ran.faults.is_empty() {
            ran.snapshots.extend(texts);
            return Some(played);
        }
        for seed in 0..options.seeds {
            let options = RunOptions {
                order: Order::Seeded(seed),
                ..options.run
            };
            let other = perform(options, &mut Silence);
            let found = faults(&other).into_iter().next();
            let found = found.or_else(|| {
                let mut texts = texts.iter().zip(snapshot_texts(program, case, &other));
                texts.find_map(|(text, other)| text.fault(&other))
            });
            if let Some(first) = found {
                let message = format!(
                    "it passes in source order, but fails in the order of seed {seed}: {}",
                    first.message
                );
                ran.faults.push(Diagnostic { message, ..first });
                ran.is_flaky = true;
                break;
            }
        }
        ran.snapshots.extend(texts);
        Some(played)
    }

    /// Returns why a case cannot run; `None` if it can.
    fn refused(&self, case: &Case) -> Option<Diagnostic> {
        if let Some(plan) = self.with_errors(&case.test.plan) {
            let message = format!("`{}` has errors, so it cannot run", plan.name);
            let help = "a test with only `expect diagnostics` does not run its plan";
            return Some(fault(case.test.span, message).help(help));
        }
        let broken = self.recordings.of(case)?.as_ref().err()?;
        let finding = codes::tests::RECORDING.at(case.test.span, broken.to_string());
        Some(finding.help(broken.remedy.clone()))
    }

    /// Returns the plan with errors among a plan and those that it calls. Only tests that expect errors can have one, and
    /// only in their own file.
    fn with_errors<'p>(&self, plan: &'p Plan) -> Option<&'p Plan> {
        let own = plan.source.name() == self.source.name();
        let item = own.then(|| item_of(&self.checked, plan)).flatten();
        let mut errors = (self.checked.diagnostics.iter()).filter(|found| found.is_error());
        if item.is_some_and(|item| errors.any(|found| item.contains(found.span))) {
            return Some(plan);
        }
        let mut called = plan.plans.iter();
        called.find_map(|called| self.with_errors(called))
    }

    /// Returns the faults of a case that was run.
    fn faults(&self, case: &Case, played: &Played) -> Vec<Diagnostic> {
        let recording_faults = |unused| {
            let place = (
                case.test.span,
                self.source.name(),
                &*self.recordings.path(case),
            );
            let replayed = played.replayed.as_ref();
            let secrets = || secrets(case, played);
            replayed
                .map(|replayed| recording::faults(replayed, place, &secrets, unused))
                .unwrap_or_default()
        };
        let misfits = recording_faults(false);
        if !misfits.is_empty() {
            // Other faults may be consequences of a mismatch.
            return misfits;
        }
        let mut faults = faults(&self.source, case, played);
        if faults.is_empty() {
            faults = recording_faults(true);
            // Each row of a table may need other answers.
            if case.row.is_none() {
                faults.extend(
                    played
                        .unused
                        .iter()
                        .filter_map(|index| unused(&case.test, *index)),
                );
            }
        }
        faults
    }

    /// Checks everything that needs no run: expected diagnostics and graphs.
    fn check_without_run(&self, test: &Test, ran: &mut Ran) {
        let found = self.findings(&test.plan);
        if let Some(expected) = &test.diagnostics {
            let mut expected_codes: Vec<&str> = expected.codes.iter().map(|code| &**code).collect();
            let mut actual: Vec<&str> = found.iter().map(|found| found.code.name).collect();
            expected_codes.sort_unstable();
            actual.sort_unstable();
            if expected_codes != actual {
                let message = format!("`{}` has other diagnostics", test.plan.name);
                let finding = codes::tests::EXPECTATION.at(expected.span, message);
                let listed = |codes: &[&str]| {
                    if codes.is_empty() {
                        "none".to_owned()
                    } else {
                        codes.join(", ")
                    }
                };
                ran.faults
                    .push(finding.expected(listed(&expected_codes), listed(&actual)));
            }
        }
        for snapshot in test
            .snapshots
            .iter()
            .filter(|snapshot| !snapshot.of.needs_run())
        {
            let drawn = match snapshot.of {
                SnapshotOf::Diagnostics => {
                    // The path of the file depends on the current folder.
                    let source = &test.plan.source;
                    let name = source.name().rsplit('/').next().unwrap_or_default();
                    let source = SourceFile::new(name, source.text());
                    let report = FileReport::new(source, found.clone());
                    human(&[report], Appearance::PLAIN)
                }
                SnapshotOf::Graph | SnapshotOf::Trace | SnapshotOf::Reply => {
                    graph::draw::mermaid(&graph::drawing(&test.plan, &graph::build(&test.plan)))
                }
            };
            ran.snapshots.push(SnapshotText {
                snapshot: *snapshot,
                text: drawn,
            });
        }
    }

    /// Returns the diagnostics in a plan of this file, or of one that it uses.
    fn findings(&self, plan: &Plan) -> Vec<Diagnostic> {
        let name = plan.source.name();
        let checked = if name == self.source.name() {
            Some(&self.checked)
        } else {
            self.others.get(name)
        };
        let Some((checked, item)) = checked.and_then(|one| Some((one, item_of(one, plan)?))) else {
            return Vec::new();
        };
        let found = checked.diagnostics.iter();
        found
            .filter(|found| item.contains(found.span))
            .cloned()
            .collect()
    }
}

/// Reports answers that no question used in any row of a test, at its first row. `all` are the cases of one file.
pub fn unused_in_every_row(all: &mut [Ran]) {
    for rows in all.chunk_by_mut(|one, next| Arc::ptr_eq(&one.test, &next.test)) {
        if rows
            .iter()
            .any(|ran| ran.row.is_none() || !ran.faults.is_empty())
        {
            continue;
        }
        let unused_everywhere = |index: &usize| rows.iter().all(|ran| ran.unused.contains(index));
        let unused_everywhere = rows.first().map(|first| {
            first
                .unused
                .iter()
                .copied()
                .filter(unused_everywhere)
                .collect::<Vec<_>>()
        });
        if let (Some(first), Some(unused_everywhere)) = (rows.first_mut(), unused_everywhere) {
            let test = first.test.clone();
            first.faults.extend(
                unused_everywhere
                    .into_iter()
                    .filter_map(|index| unused(&test, index)),
            );
        }
    }
}

/// Returns the doubles for a case.
#[must_use]
pub fn doubles(environment: &TestEnvironment, case: &Case, options: RunOptions) -> Doubles {
    let replay = case
        .recording
        .as_ref()
        .map(|recording| Arc::new(Replay::new(recording, true)));
    doubles_with(environment, &case.test, options, replay)
}

/// Returns the doubles for a test: its named mocks take precedence over the recording, and that over `_`.
pub(super) fn doubles_with(
    environment: &TestEnvironment,
    test: &Arc<Test>,
    options: RunOptions,
    replay: Option<Arc<Replay>>,
) -> Doubles {
    let mocks =
        |which| Box::new(Mocks::new(test, which, &environment.results, options)) as Box<dyn Source>;
    let recorded = replay
        .iter()
        .map(|replay| Box::new(replay.clone()) as Box<dyn Source>);
    let sources = std::iter::once(mocks(Which::Named))
        .chain(recorded)
        .chain([mocks(Which::Rest)])
        .collect();
    Doubles {
        sources,
        responder: ScriptedResponder::new(test),
        replay,
        live: None,
        recorded: None,
    }
}

fn reply(played: &Played) -> String {
    let reply = played.outcome.as_ref().and_then(Outcome::redacted_reply);
    let json = reply.map(|reply| reply.to_json()).unwrap_or_default();
    serde_json::to_string_pretty(&json).unwrap_or_default()
}

/// Returns the span of the item of a plan of a file.
fn item_of(checked: &CheckedFile, plan: &Plan) -> Option<Span> {
    let mut items = checked.tree.items.iter();
    items.find_map(|item| match &item.kind {
        ast::ItemKind::Plan(written) => (written.name.span == plan.span).then_some(item.span),
        _ => None,
    })
}

/// Returns the texts of the snapshots of a case that depend on its run.
fn snapshot_texts(program: &Program, case: &Case, played: &Played) -> Vec<SnapshotText> {
    let snapshots = case.test.snapshots.iter();
    let of_run = snapshots.filter(|snapshot| snapshot.of.needs_run());
    let text = |of: SnapshotOf| {
        if of == SnapshotOf::Trace {
            trace(program, played)
        } else {
            reply(played)
        }
    };
    of_run
        .map(|snapshot| SnapshotText {
            snapshot: *snapshot,
            text: text(snapshot.of),
        })
        .collect()
}
