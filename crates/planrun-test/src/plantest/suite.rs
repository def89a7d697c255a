//! The tests of one file: which of them can run, and the outcome of each.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::diag::render::{FileReport, Look, human};
use planrun_lang::diag::{Diagnostic, codes};
use planrun_lang::graph;
use planrun_lang::sema::test::{Snapshot, SnapshotOf, Test};
use planrun_lang::sema::{CheckedFile, Plan};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::ast;
use planrun_tools::host::{Host, RealHost};

use super::case::{Case, cases};
use super::mocks::{Mocks, Which};
use super::play::{Doubles, Played, RunOptions, TestEnvironment, play};
use super::recording::{self, Recordings, Replay};
use super::responder::ScriptedResponder;
use super::trace::trace;
use super::verdict::{fault, faults, unused};
use super::world::Source;
use planrun_core::run::{Order, Outcome, Program};
use planrun_runs::driver::{Observer, Silence};

/// A checked file with tests.
pub struct Suite {
    pub source: Arc<SourceFile>,
    pub checked: CheckedFile,
    /// Findings that keep the file from being tested: those that no test expects.
    pub broken: Vec<Diagnostic>,
    /// What the real tools answered in its tests.
    pub recordings: Recordings,
    programs: BTreeMap<usize, Arc<Program>>,
}

/// A case that may be played, or why it may not.
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
    /// The numbers of the answers of its test that nobody asked for.
    pub unused: Vec<usize>,
    /// It passes in the order of the source, and not in another.
    pub is_flaky: bool,
    /// What is to be compared with what was kept.
    pub kept: Vec<Kept>,
    /// What is not as it was kept, drawn for people.
    pub differences: Vec<String>,
    /// By the clock of the machine.
    pub took: Duration,
}

/// A text that a `snapshot` speaks of.
pub struct Kept {
    pub snapshot: Snapshot,
    pub text: String,
}

/// How cases are run.
#[derive(Clone, Copy, Default)]
pub struct SuiteOptions {
    /// In how many further orders each case is played.
    pub seeds: u64,
    pub run: RunOptions,
}

impl Suite {
    /// The tests of a file. Findings of error in a plan that a test expects keep nothing from being tested.
    #[must_use]
    pub fn new(source: SourceFile, checked: CheckedFile) -> Self {
        let expecting = checked
            .tests
            .iter()
            .filter(|test| test.diagnostics.is_some());
        let expected: Vec<Span> = expecting
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
            programs,
        }
    }

    /// The same, with the recordings beside its file.
    #[must_use]
    pub fn with_recordings(self, host: &dyn Host) -> Self {
        let tests = self.checked.tests.iter().map(|test| &*test.name);
        let recordings = Recordings::beside(host, Path::new(self.source.name()), tests);
        Self { recordings, ..self }
    }

    /// Every case, in source order.
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

    /// The program of a plan that is tested here.
    #[must_use]
    pub fn program(&self, test: &Test) -> Option<&Arc<Program>> {
        self.programs.get(&Arc::as_ptr(&test.plan).addr())
    }

    /// Plays a case and holds it against what is expected.
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

    /// The same, with the run that it was judged by; nothing where none was made.
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
            kept: Vec::new(),
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
        ran.kept.extend(kept(program, case, &played));
        if !ran.faults.is_empty() {
            return Some(played);
        }
        for seed in 0..options.seeds {
            let options = RunOptions {
                order: Order::Seeded(seed),
                ..options.run
            };
            let other = perform(options, &mut Silence);
            let found = faults(&other);
            if let Some(first) = found.into_iter().next() {
                let message = format!(
                    "it passes in the order of the source and fails in that of seed {seed}: {}",
                    first.message
                );
                ran.faults.push(Diagnostic { message, ..first });
                ran.is_flaky = true;
                break;
            }
        }
        Some(played)
    }

    /// Why a case cannot be played.
    fn refused(&self, case: &Case) -> Option<Diagnostic> {
        let broken = self.recordings.of(case)?.as_ref().err()?;
        let finding = Diagnostic::new(&codes::tests::RECORDING, case.test.span, broken.to_string());
        Some(finding.help(broken.remedy.clone()))
    }

    /// What is wrong with a case that was played.
    fn faults(&self, case: &Case, played: &Played) -> Vec<Diagnostic> {
        let recording_faults = |unused| {
            let place = (
                case.test.span,
                self.source.name(),
                &*self.recordings.path(case),
            );
            let replayed = played.replayed.as_ref();
            replayed
                .map(|replayed| recording::faults(replayed, place, unused))
                .unwrap_or_default()
        };
        let misfits = recording_faults(false);
        if !misfits.is_empty() {
            // Whatever else is wrong may follow from that.
            return misfits;
        }
        let mut faults = faults(&self.source, case, played);
        if faults.is_empty() {
            faults = recording_faults(true);
            // Of the rows of a table each may need its own.
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

    /// Checks what needs no run: expected findings and drawings.
    fn check_without_run(&self, test: &Test, ran: &mut Ran) {
        let found = self.findings(&test.plan);
        if let Some(expected) = &test.diagnostics {
            let mut wanted: Vec<&str> = expected.codes.iter().map(|code| &**code).collect();
            let mut actual: Vec<&str> = found.iter().map(|found| found.code.name).collect();
            wanted.sort_unstable();
            actual.sort_unstable();
            if wanted != actual {
                let message = format!("`{}` has other findings", test.plan.name);
                let finding = Diagnostic::new(&codes::tests::EXPECTATION, expected.span, message);
                let listed = |codes: &[&str]| {
                    if codes.is_empty() {
                        "none".to_owned()
                    } else {
                        codes.join(", ")
                    }
                };
                ran.faults
                    .push(finding.expected(listed(&wanted), listed(&actual)));
            }
        }
        for snapshot in test
            .snapshots
            .iter()
            .filter(|snapshot| !snapshot.of.needs_run())
        {
            let drawn = match snapshot.of {
                SnapshotOf::Diagnostics => {
                    let report = FileReport::new(self.source.clone(), found.clone());
                    human(&[report], Look::PLAIN)
                }
                SnapshotOf::Graph | SnapshotOf::Trace | SnapshotOf::Reply => {
                    graph::draw::mermaid(&graph::drawing(&test.plan, &graph::build(&test.plan)))
                }
            };
            ran.kept.push(Kept {
                snapshot: *snapshot,
                text: drawn,
            });
        }
    }

    /// What is found in a plan of this file.
    fn findings(&self, plan: &Plan) -> Vec<Diagnostic> {
        let Some(item) = item_of(&self.checked, plan) else {
            return Vec::new();
        };
        self.checked
            .diagnostics
            .iter()
            .filter(|found| item.contains(found.span))
            .cloned()
            .collect()
    }
}

/// Tells of answers that nobody asked for in any row of a test, at its first row; `all` are the cases of one file.
pub fn unused_in_every_row(all: &mut [Ran]) {
    for rows in all.chunk_by_mut(|one, next| Arc::ptr_eq(&one.test, &next.test)) {
        if rows
            .iter()
            .any(|ran| ran.row.is_none() || !ran.faults.is_empty())
        {
            continue;
        }
        let nowhere = |index: &usize| rows.iter().all(|ran| ran.unused.contains(index));
        let nowhere = rows.first().map(|first| {
            first
                .unused
                .iter()
                .copied()
                .filter(nowhere)
                .collect::<Vec<_>>()
        });
        if let (Some(first), Some(nowhere)) = (rows.first_mut(), nowhere) {
            let test = first.test.clone();
            first
                .faults
                .extend(nowhere.into_iter().filter_map(|index| unused(&test, index)));
        }
    }
}

/// Who plays the world of a test.
#[must_use]
pub fn doubles(environment: &TestEnvironment, case: &Case, options: RunOptions) -> Doubles {
    let replay = case
        .recording
        .as_ref()
        .map(|recording| Arc::new(Replay::new(recording, true)));
    doubles_with(environment, &case.test, options, replay)
}

/// Who plays the world of a test: its mocks, what was recorded, and what it says of all the rest.
pub(super) fn doubles_with(
    environment: &TestEnvironment,
    test: &Arc<Test>,
    options: RunOptions,
    replay: Option<Arc<Replay>>,
) -> Doubles {
    let mocks =
        |which| Box::new(Mocks::new(test, which, &environment.made_up, options)) as Box<dyn Source>;
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
        again: None,
    }
}

fn reply(played: &Played) -> String {
    let reply = played.outcome.as_ref().and_then(Outcome::shown_reply);
    let json = reply.map(|reply| reply.to_json()).unwrap_or_default();
    serde_json::to_string_pretty(&json).unwrap_or_default()
}

/// Where a plan is written, if it is one of this file.
fn item_of(checked: &CheckedFile, plan: &Plan) -> Option<Span> {
    let own = checked
        .plans
        .iter()
        .any(|own| std::ptr::eq(&raw const **own, plan));
    let mut items = checked.tree.items.iter().filter(|_| own);
    items.find_map(|item| match &item.kind {
        ast::ItemKind::Plan(written) => (written.name.span == plan.span).then_some(item.span),
        _ => None,
    })
}

/// The texts of the snapshots of a case that speak of its run.
fn kept(program: &Program, case: &Case, played: &Played) -> Vec<Kept> {
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
        .map(|snapshot| Kept {
            snapshot: *snapshot,
            text: text(snapshot.of),
        })
        .collect()
}
