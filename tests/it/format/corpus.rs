//! Every plan in the repository that can be parsed.

use std::fs;
use std::path::Path;

use super::meaning::reads;
use crate::support::root;

/// Returns the names and texts.
pub fn texts() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for folder in [
        "plans",
        "examples",
        "tests",
        "docs",
        "crates/planrun-lang/src/diag/codes/pages",
    ] {
        collect(&root().join(folder), &mut texts);
    }
    from_document(
        "README.md",
        &fs::read_to_string(root().join("README.md")).unwrap(),
        &mut texts,
    );
    for (id, text) in crate::nestools::texts() {
        texts.push((id, text));
    }
    texts.retain(|(_, text)| reads(text));
    texts
}

fn collect(folder: &Path, texts: &mut Vec<(String, String)>) {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path
            .strip_prefix(root())
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() {
            collect(&path, texts);
        } else if let (Some("plan" | "plantest" | "md"), Ok(text)) =
            (ending, fs::read_to_string(&path))
        {
            if ending == Some("md") {
                from_document(&name, &text, texts);
            } else {
                texts.push((name, text));
            }
        }
    }
}

fn from_document(name: &str, text: &str, texts: &mut Vec<(String, String)>) {
    for (index, block) in text.split("```plan").skip(1).enumerate() {
        let block = block.split_once('\n').map_or("", |(_, block)| block);
        let block = block.split("```").next().unwrap_or("");
        texts.push((format!("{name}, block {}", index + 1), block.to_owned()));
    }
}
