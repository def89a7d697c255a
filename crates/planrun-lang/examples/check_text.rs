//! Checks a plan text with the language crate alone and prints the diagnostics:
//! `cargo run -p planrun-lang --example check_text`.

use std::path::Path;

use planrun_lang::diag::render::{Appearance, FileReport, human};
use planrun_lang::lint::{Project, check_file};
use planrun_lang::sema::{Budget, NoFiles, Policy, Tools};
use planrun_lang::source::SourceFile;

fn main() {
    let source = SourceFile::new("greet.plan", "plan greet(name: string) { reply nmae }");
    let project = Project {
        policy: &Policy::default(),
        limits: &Budget::default(),
        allow: None,
        root: Path::new("/"),
        paths: &NoFiles,
        tools: None,
        severities: None,
        calls: None,
        by_model: false,
        is_call: false,
    };
    let checked = check_file(&source, &Tools::default(), &NoFiles, &project);
    let reports = [FileReport::new(source, checked.diagnostics)];
    print!("{}", human(&reports, Appearance::PLAIN));
}
