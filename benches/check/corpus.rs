//! The texts to check: the plans in `plans/` repeated under new names, and large single files.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::{self, ast};

use crate::report::sized;

/// Number of plans in the project.
const PLANS: usize = 1000;
/// Size of a large file, in bytes.
const LARGE: usize = 5_000_000;
/// Number of statements in the largest plan.
const STATEMENTS: usize = 50_000;

/// Files that are checked together.
pub struct Corpus {
    pub name: &'static str,
    pub files: Vec<SourceFile>,
    /// The spans of the top-level items of each file, for a parser that parses them one by one.
    pub items: Vec<Vec<Span>>,
    pub bytes: usize,
}

impl Corpus {
    fn new(name: &'static str, files: Vec<SourceFile>) -> Self {
        let items = files.iter().map(item_spans).collect();
        let bytes = files.iter().map(|file| file.text().len()).sum();
        Self {
            name,
            files,
            items,
            bytes,
        }
    }
}

/// Returns the folder of the project that the texts belong to.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plans")
}

/// Returns every corpus.
///
/// # Errors
/// Returns an error if the plans cannot be read.
pub fn all() -> Result<Vec<Corpus>, String> {
    let originals = originals()?;
    Ok(vec![
        Corpus::new("1,000 plans", many(&originals)),
        Corpus::new("one file of many plans", vec![joined("many", &originals)]),
        Corpus::new(
            "one file of many plans in Chinese",
            vec![joined("chinese", chinese(&originals)?)],
        ),
        Corpus::new("one plan of 50,000 statements", vec![one_plan()]),
    ])
}

/// A plan file of the project and its tree.
struct Original {
    stem: String,
    text: String,
    tree: ast::File,
}

fn originals() -> Result<Vec<Original>, String> {
    let entries = std::fs::read_dir(folder()).map_err(|error| error.to_string())?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "plan"));
    paths.sort();
    let read = paths.iter().map(|path| {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let parsed = syntax::parse(&SourceFile::new("original.plan", text.as_str()));
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Original {
            stem,
            text,
            tree: parsed.file,
        })
    });
    read.collect()
}

fn chinese(originals: &[Original]) -> Result<&[Original], String> {
    let found = originals
        .iter()
        .position(|original| !original.stem.is_ascii());
    found
        .map(|at| &originals[at..=at])
        .ok_or_else(|| "no plan has a Chinese name".to_owned())
}

/// Writes one file per plan.
fn many(originals: &[Original]) -> Vec<SourceFile> {
    let copy = |(number, original): (usize, &Original)| {
        let mut text = original.text.clone();
        let plans = original.tree.items.iter().rev().filter_map(plan_name);
        plans.for_each(|name| text.insert_str(name.end as usize, &format!("_{number}")));
        SourceFile::new(
            folder()
                .join(format!("{}_{number}.plan", original.stem))
                .to_string_lossy(),
            text,
        )
    };
    originals
        .iter()
        .cycle()
        .take(sized(PLANS))
        .enumerate()
        .map(|(number, original)| copy((number, original)))
        .collect()
}

/// Repeats all plans in one file under new names; shared items occur once. A file whose items clash with those of an
/// earlier file is left out.
fn joined(name: &str, originals: &[Original]) -> SourceFile {
    let mut head: Vec<(String, String)> = Vec::new();
    let mut fitting: Vec<&Original> = Vec::new();
    for original in originals {
        let own: Vec<_> = original
            .tree
            .items
            .iter()
            .flat_map(|item| shared(item, &original.text))
            .collect();
        let clashes = |(key, text): &(String, String)| {
            head.iter()
                .any(|(known, other)| known == key && other != text)
        };
        let hides = |defining: &Original, heads: &[(String, String)]| {
            heads
                .iter()
                .filter_map(|(key, _)| key.strip_prefix("use "))
                .any(|name| defines(&defining.text, name))
        };
        if own.iter().any(clashes)
            || hides(original, &head)
            || fitting.iter().any(|other| hides(other, &own))
        {
            continue;
        }
        for item in own {
            if !head.contains(&item) {
                head.push(item);
            }
        }
        fitting.push(original);
    }
    let mut text = head
        .into_iter()
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join("\n");
    let mut number = 0;
    while text.len() < sized(LARGE) {
        for original in &fitting {
            for item in &original.tree.items {
                let Some(name) = plan_name(item) else {
                    continue;
                };
                let before = &original.text[item.span.start as usize..name.end as usize];
                let behind = &original.text[name.end as usize..item.span.end as usize];
                let _ = write!(text, "\n\n{before}_{number}{behind}");
                number += 1;
            }
        }
    }
    SourceFile::new(
        folder().join(format!("{name}.plan")).to_string_lossy(),
        text,
    )
}

/// Returns true if a plan has a statement with this name, which must differ from all namespaces of its file.
fn defines(text: &str, name: &str) -> bool {
    ["step", "let", "task", "listener"]
        .iter()
        .any(|word| text.contains(&format!("{word} {name} ")))
}

/// Writes one very long plan: calls, values, conditions.
fn one_plan() -> SourceFile {
    let mut text = "use sys\n\nplan long(size: int = 3) {\n".to_owned();
    for step in (0..sized(STATEMENTS)).step_by(5) {
        let _ = write!(
            text,
            "    step call{step} = sys.echo(value: {{ id: \"number {step}\", count: {step} + size, tags: [\"a\", \"b\"] }})\n    \
             let name{step} = \"step ${{call{step}.id}} has ${{call{step}.count}} of ${{size}}\"\n    \
             step seen{step} = sys.echo(value: name{step})\n        timeout 5s when call{step}.count > {step}\n    \
             let length{step} = size(name{step}) * 2 + (size > 4 ? call{step}.count : {step})\n    \
             step last{step} = sys.echo(value: [length{step}, call{step}.count, seen{step} == null ? 0 : 1])\n",
        );
    }
    text.push_str("    reply size\n}\n");
    SourceFile::new(folder().join("long.plan").to_string_lossy(), text)
}

fn plan_name(item: &ast::Item) -> Option<Span> {
    if let ast::ItemKind::Plan(plan) = &item.kind {
        Some(plan.name.span)
    } else {
        None
    }
}

/// Returns the keys and texts of an item that all plans of its file share, with one entry per namespace.
fn shared(item: &ast::Item, text: &str) -> Vec<(String, String)> {
    let whole = |key: String| vec![(key, text[item.span.range()].to_owned())];
    match &item.kind {
        ast::ItemKind::Plan(_) | ast::ItemKind::Test(_) | ast::ItemKind::Error => Vec::new(),
        ast::ItemKind::Use(ast::Use::Namespaces(names)) => {
            let alias =
                |name: &ast::UseNamespace| name.alias.as_ref().unwrap_or(&name.name).text.clone();
            let one = |name: &ast::UseNamespace| {
                (
                    format!("use {}", alias(name)),
                    format!("use {} as {}", name.name.text, alias(name)),
                )
            };
            names.iter().map(one).collect()
        }
        ast::ItemKind::Use(_) => whole(text[item.span.range()].to_owned()),
        ast::ItemKind::Type(declared) => whole(format!("type {}", declared.name.text)),
        ast::ItemKind::Tool(tool) => {
            whole(format!("tool {}.{}", tool.namespace.text, tool.name.text))
        }
    }
}

fn item_spans(file: &SourceFile) -> Vec<Span> {
    syntax::parse(file)
        .file
        .items
        .iter()
        .map(|item| item.span)
        .collect()
}
