//! Plans with tests, as texts, checked and played through the library.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_core::run::{Defaults, Program};
use planrun_lang::diag::Diagnostic;
use planrun_lang::lint;
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{NoFiles, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_runs::driver::Silence;
use planrun_test::plantest::case::Case;
use planrun_test::plantest::play::{Played, RunOptions, TestEnvironment, play};
use planrun_test::plantest::suite::{Ran, Suite, SuiteOptions, doubles};
use planrun_tools::host::MemoryHost;
use planrun_tools::tools::Catalog;

/// A file under test.
pub struct Bench {
    pub suite: Suite,
    pub environment: TestEnvironment,
}

/// Checks the tests of a single file.
pub fn bench(text: &str) -> Bench {
    let source = SourceFile::new("a.plan", text);
    let (policy, host) = (Policy::default(), MemoryHost::new(1));
    let project = lint::Project {
        limits: &planrun_lang::sema::Budget::default(),
        policy: &policy,
        allow: None,
        root: Path::new("/"),
        paths: &host,
        tools: None,
        severities: None,
        calls: None,
        by_model: false,
        is_call: false,
    };
    let checked = lint::check_file(&source, &tools(), &NoFiles, &project);
    Bench {
        suite: Suite::new(source, checked),
        environment: environment(),
    }
}

/// Returns the built-in tools.
fn tools() -> Tools {
    let catalog = Catalog::new(
        Arc::new(MemoryHost::new(1)),
        PathBuf::from("/"),
        &Arc::new(Permissions::none()),
    );
    catalog.signatures().cloned().collect()
}

/// Returns an environment without a project.
pub fn environment() -> TestEnvironment {
    TestEnvironment {
        limit: None,
        defaults: Defaults {
            policy: Policy::default(),
            ..Defaults::default()
        },
        root: PathBuf::from("/"),
        results: Arc::default(),
    }
}

impl Bench {
    /// Returns the diagnostics of the text.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.suite.checked.diagnostics
    }

    /// Plays and judges every case.
    pub fn run(&self, options: SuiteOptions) -> Vec<Ran> {
        assert!(self.suite.broken.is_empty(), "{:?}", self.suite.broken);
        self.suite
            .cases()
            .iter()
            .map(|case| {
                self.suite
                    .run(&self.environment, case, options, &mut Silence)
            })
            .collect()
    }

    /// Returns all cases. Panics if one cannot be played.
    pub fn cases(&self) -> Vec<Case> {
        assert!(self.suite.broken.is_empty(), "{:?}", self.suite.broken);
        self.suite
            .cases()
            .into_iter()
            .map(|prepared| prepared.case.unwrap())
            .collect()
    }

    pub fn program(&self, case: &Case) -> &Arc<Program> {
        self.suite.program(&case.test).unwrap()
    }

    /// Plays a case.
    pub fn play(&self, case: &Case, options: RunOptions) -> Played {
        let doubles = doubles(&self.environment, case, options);
        play(
            &self.environment,
            self.program(case),
            case,
            doubles,
            options,
            &mut Silence,
        )
    }
}
