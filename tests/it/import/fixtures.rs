//! Documents of each format, with the expected plan and report; `PLANRUN_BLESS=1` rewrites both.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use planrun_import::Format;
use planrun_lang::sema::{self, NoFiles, Tools};
use planrun_lang::source::SourceFile;
use planrun_tools::host::MemoryHost;
use planrun_tools::tools::app::read_app;

use crate::support::{compare, root};
use crate::world::World;

/// Returns the folder of each format. Each of its folders contains one document.
fn folders() -> Vec<(Format, PathBuf)> {
    let mut folders = Vec::new();
    for format in Format::ALL {
        let folder = root().join("tests/it/import/fixtures").join(format.name());
        let entries = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        assert!(!found.is_empty(), "{} has no documents", format.name());
        folders.extend(found.into_iter().map(|path| (format, path)));
    }
    folders
}

/// Returns the tools of the fixtures' project and the built-in tools.
pub fn tools() -> Tools {
    let folder = root().join("tests/it/import/fixtures/apps");
    let mut tools: Tools = World::new().into_catalog().signatures().cloned().collect();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let source = SourceFile::new("app.yaml", std::fs::read_to_string(path).unwrap());
        let (app, found) = read_app(&source, &MemoryHost::new(1), &BTreeSet::new());
        assert!(found.is_empty(), "{found:#?}");
        app.unwrap()
            .tools
            .iter()
            .for_each(|tool| tools.insert(tool.signature.clone()));
    }
    tools
}

fn document(folder: &Path) -> SourceFile {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let path = entries
        .into_iter()
        .find(|path| path.file_stem().unwrap() == "source")
        .unwrap();
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    SourceFile::new(name, std::fs::read_to_string(path).unwrap())
}

#[test]
fn every_document_comes_to_its_plan_and_report() {
    let tools = tools();
    let mut faults = Vec::new();
    for (format, folder) in folders() {
        let source = document(&folder);
        let plan = folder.file_name().unwrap().to_string_lossy().into_owned();
        let (text, report) = match planrun_import::import(&source, None, &plan, &tools) {
            Ok(made) => {
                assert_eq!(made.format, format, "{} is recognized", folder.display());
                let mut report = made.report.lines(&source);
                report.push_str(&findings(&made.text, &tools));
                (Some(made.text), report)
            }
            Err(refused) => (
                None,
                format!(
                    "refused  {}  {}\n  help: {}\n",
                    source.place(refused.span),
                    refused.message,
                    refused.help
                ),
            ),
        };
        if let Some(text) = &text {
            faults.extend(compare(&folder.join("made.plan"), text).err());
        }
        faults.extend(compare(&folder.join("report.txt"), &report).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Returns the findings of the check, one per line.
fn findings(text: &str, tools: &Tools) -> String {
    let source = SourceFile::new("made.plan", text);
    let checked = sema::check_without_rules(&source, tools, &NoFiles);
    let errors = checked.diagnostics.iter().filter(|found| found.is_error());
    errors.fold(String::new(), |mut lines, found| {
        let (place, code) = (source.place(found.span), found.code.name);
        writeln!(lines, "check  {place}  {code}: {}", found.message).unwrap();
        lines
    })
}
