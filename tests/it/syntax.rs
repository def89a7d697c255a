//! Text to tree: snapshots of trees, recovery, damaged files.

use planrun::source::SourceFile;
use planrun::syntax;

use super::support;

#[test]
fn every_fixture_parses_without_a_finding() {
    let folder = support::root().join("tests/fixtures/syntax");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "plan") {
            let text = std::fs::read_to_string(&path).unwrap();
            let parsed = syntax::parse(&SourceFile::new(path.display().to_string(), text));
            assert!(parsed.diagnostics.is_empty(), "{}: {:#?}", path.display(), parsed.diagnostics);
        }
    }
}

#[test]
fn cel_cases_parse() {
    let Some(path) = support::cases("cel/cel.jsonl") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let mut failed = 0;
    for line in text.lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let source = case["expr"].as_str().unwrap();
        let (_, diagnostics) = syntax::parse_expression(&SourceFile::new("e", source));
        if !diagnostics.is_empty() {
            failed += 1;
            println!("{source}   {:?}", diagnostics[0].message);
        }
    }
    println!("{failed}");
}
