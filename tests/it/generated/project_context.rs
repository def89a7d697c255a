//! A generated project for the checker and the engine: its tools, files and findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::lint;
use planrun_lang::permission::Permissions;
use planrun_lang::sema::{CheckedFile, Files, Policy, Tools};
use planrun_lang::source::SourceFile;
use planrun_tools::host::MemoryHost;
use planrun_tools::tools::Catalog;
use planrun_tools::tools::app::read_app;

use crate::generate::Project;

/// Outside of CI, one in this number of plans is tried.
const LOCAL_FRACTION: u64 = 10;

/// Returns the first seed and the number of seeds: all of them if `CI` is set. `PLANRUN_SEED` replays one,
/// `PLANRUN_PLANS` sets the number.
pub fn seeds(all: u64) -> (u64, u64) {
    let usual = if std::env::var_os("CI").is_some() {
        all
    } else {
        all / LOCAL_FRACTION
    };
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|text| text.parse::<u64>().unwrap())
    };
    match (number("PLANRUN_SEED"), number("PLANRUN_PLANS")) {
        (Some(seed), count) => (seed, count.unwrap_or(1)),
        (None, count) => (0, count.unwrap_or(usual)),
    }
}

/// The tools and files of a project.
pub struct ProjectContext {
    pub tools: Tools,
    files: BTreeMap<String, String>,
}

impl ProjectContext {
    pub fn of(project: &Project) -> Self {
        let host = MemoryHost::new(1);
        let mut tools: Tools = Catalog::new(
            Arc::new(MemoryHost::new(1)),
            PathBuf::from("/"),
            &Arc::new(Permissions::none()),
        )
        .signatures()
        .cloned()
        .collect();
        for (path, text) in &project.apps {
            let (app, found) = read_app(
                &SourceFile::new(path.as_str(), text.as_str()),
                &host,
                &BTreeSet::new(),
            );
            assert!(found.is_empty(), "{path}: {found:#?}\n{text}");
            app.unwrap()
                .tools
                .iter()
                .for_each(|tool| tools.insert(tool.signature.clone()));
        }
        Self {
            tools,
            files: project.plans.iter().cloned().collect(),
        }
    }

    /// Checks the main plan as the commands do.
    pub fn check(&self, project: &Project) -> CheckedFile {
        let policy = Policy::default();
        let rules = lint::Project {
            limits: &planrun_lang::sema::Budget::default(),
            policy: &policy,
            allow: None,
            root: Path::new("/"),
            paths: &MemoryHost::new(1),
            tools: None,
            severities: None,
            calls: None,
            by_model: false,
            is_call: false,
        };
        lint::check_file(
            &SourceFile::new("main.plan", project.main()),
            &self.tools,
            self,
            &rules,
        )
    }
}

impl Files for ProjectContext {
    fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
        let name = path.trim_start_matches("./");
        let text = self
            .files
            .get(name)
            .ok_or_else(|| format!("there is no `{path}`"))?;
        Ok(SourceFile::new(name, text.as_str()))
    }
}
