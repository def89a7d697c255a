//! Checks a plan text with the language crate alone and prints the diagnostics:
//! `cargo run -p planrun-lang --example check_text`.

use std::io;
use std::path::{Path, PathBuf};

use planrun_lang::diag::render::{Appearance, FileReport, human};
use planrun_lang::lint::{Project, check_file};
use planrun_lang::permission::PathResolver;
use planrun_lang::sema::{Budget, Files, Policy, Tools};
use planrun_lang::source::SourceFile;

/// Provides neither other plans nor a file system.
struct Nothing;

impl Files for Nothing {
    fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
        Err(format!("`{path}` is not there"))
    }
}

impl PathResolver for Nothing {
    fn canonical(&self, _path: &Path) -> io::Result<PathBuf> {
        Err(io::ErrorKind::NotFound.into())
    }
}

fn main() {
    let source = SourceFile::new("greet.plan", "plan greet(name: string) { reply nmae }");
    let project = Project {
        policy: &Policy::default(),
        limits: &Budget::default(),
        allow: None,
        root: Path::new("/"),
        paths: &Nothing,
        tools: None,
        severities: None,
        calls: None,
    };
    let checked = check_file(&source, &Tools::default(), &Nothing, &project);
    let reports = [FileReport::new(source, checked.diagnostics)];
    print!("{}", human(&reports, Appearance::PLAIN));
}
