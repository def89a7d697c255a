//! Generated plans that have revealed bugs of the checker, one per file: `//! finds: nothing`, or the codes.

use std::path::Path;

use planrun_lang::diag::Severity;
use planrun_lang::sema::{self, NoFiles, Tools};
use planrun_lang::source::SourceFile;

use crate::support::root;

#[test]
fn each_finds_what_its_head_says() {
    let mut plans: Vec<_> = std::fs::read_dir(root().join("tests/fixtures/soundness"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    plans.retain(|path| path.extension().is_some_and(|ending| ending == "plan"));
    plans.sort();
    assert!(plans.len() > 2, "{plans:?}");
    let wrong: Vec<String> = plans.iter().filter_map(|path| judge(path).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn judge(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).unwrap();
    let head = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("//! finds: "));
    let expected =
        head.ok_or_else(|| format!("{}: the first line says what is found", path.display()))?;
    let found = sema::check_without_rules(
        &SourceFile::new("fixture.plan", text.as_str()),
        &Tools::default(),
        &NoFiles,
    )
    .diagnostics;
    let codes: Vec<&str> = found
        .iter()
        .filter(|found| found.severity != Severity::Note)
        .map(|found| found.code.name)
        .collect();
    let codes = if codes.is_empty() {
        "nothing".to_owned()
    } else {
        codes.join(", ")
    };
    if codes == expected {
        Ok(())
    } else {
        Err(format!(
            "{}: finds {codes}, not {expected}: {found:#?}",
            path.display()
        ))
    }
}
