//! Single breaking edits to every plan in the repository: each gives one diagnostic near the edit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::fix::{self, Caution};
use planrun_lang::source::SourceFile;
use planrun_lang::syntax;

use super::support;

/// Minimum share of mutants that must give exactly one diagnostic near the edit, in percent.
const MIN_SHARE: usize = 90;
/// Maximum distance between the edit and the span, or a label, of its diagnostic, in lines.
const NEAR: u32 = 2;
/// Approximate number of mutants per file, spread evenly over it: representative, and fast.
const MAX_MUTANTS: usize = 400;

#[test]
fn a_single_edit_gives_a_single_diagnostic_near_it() {
    let mut tally: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    let mut failures = Vec::new();
    for path in plans() {
        let text = std::fs::read_to_string(&path).unwrap();
        if !syntax::parse(&SourceFile::new("sound", text.as_str()))
            .diagnostics
            .is_empty()
        {
            continue;
        }
        let mutants = mutants(&text);
        let stride = (mutants.len() / MAX_MUTANTS).max(1);
        for mutant in mutants.into_iter().step_by(stride) {
            if let Some(good) = judge(&mutant) {
                let (all, right) = tally.entry(mutant.kind).or_default();
                *all += 1;
                *right += usize::from(good);
                if !good {
                    failures.push(describe(&path, &mutant));
                }
            }
        }
    }
    let (all, right) = tally
        .values()
        .fold((0, 0), |(all, right), (a, r)| (all + a, right + r));
    for failure in &failures {
        println!("{failure}");
    }
    for (kind, (all, right)) in &tally {
        println!("{kind:24} {right:5} of {all:5}");
    }
    println!("one diagnostic near the edit: {right} of {all} mutants that no longer parse");
    assert!(all > 500, "too few mutants to judge: {all}");
    assert!(right * 100 >= all * MIN_SHARE, "{right} of {all}");
}

/// Approximate number of mutants per file whose fixes are tried.
const MAX_FIXED_MUTANTS: usize = 60;

#[test]
fn c12_no_fix_of_a_damaged_text_leads_to_another_error() {
    let mut failures = Vec::new();
    let mut tried = 0;
    for path in plans() {
        let text = std::fs::read_to_string(&path).unwrap();
        if !found_in(&text).is_empty() {
            continue;
        }
        let mutants = mutants(&text);
        let stride = (mutants.len() / MAX_FIXED_MUTANTS).max(1);
        for mutant in mutants.into_iter().step_by(stride) {
            let before = found_in(&mutant.text);
            let fixes = before.iter().filter_map(|found| found.fix.as_ref());
            let alone = fixes.filter_map(|fix| fix::apply(&mutant.text, &fix.edits));
            let together = [Caution::Safe, Caution::Unsafe].map(|caution| {
                let source = SourceFile::new("mutant", mutant.text.as_str());
                fix::apply_fixes(&source, before.clone(), caution, |source| {
                    found_in(source.text())
                })
                .text
                .to_string()
            });
            for mended in alone
                .chain(together)
                .filter(|mended| *mended != mutant.text)
            {
                tried += 1;
                let new = &error_codes(&found_in(&mended)) - &error_codes(&before);
                if !new.is_empty() {
                    failures.push(format!(
                        "{new:?} in\n{mended}\nfrom {}",
                        describe(&path, &mutant)
                    ));
                }
            }
        }
    }
    println!("{tried} mended texts");
    for failure in failures.iter().take(5) {
        println!("{failure}");
    }
    assert!(
        failures.is_empty(),
        "{} of {tried} fixes lead to another error",
        failures.len()
    );
    assert!(tried > 300, "only {tried}");
}

fn found_in(text: &str) -> Vec<Diagnostic> {
    syntax::parse(&SourceFile::new("mutant", text)).diagnostics
}

fn error_codes(found: &[Diagnostic]) -> BTreeSet<&'static str> {
    found
        .iter()
        .filter(|found| found.is_error())
        .map(|found| found.code.name)
        .collect()
}

/// Returns the plans of the project and the fixtures.
fn plans() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut folders = vec![
        support::root().join("plans"),
        support::root().join("tests/fixtures/syntax"),
    ];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "plan")
            {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths
}

/// A text with one edit.
struct Mutant {
    kind: &'static str,
    text: String,
    /// The line of the edit, from 1.
    line: u32,
}

fn mutants(text: &str) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let mut add = |kind, start: usize, end: usize, new: &str| {
        let line = 1 + u32::try_from(text[..start].matches('\n').count()).unwrap();
        mutants.push(Mutant {
            kind,
            text: format!("{}{new}{}", &text[..start], &text[end..]),
            line,
        });
    };
    for (at, c) in code(text) {
        let end = at + c.len_utf8();
        match c {
            '(' | '[' | '{' => {
                add("delete opening", at, end, "");
                add("double opening", at, at, &c.to_string());
            }
            ')' | ']' | '}' => {
                add("delete closing", at, end, "");
                add("double closing", at, at, &c.to_string());
                add("swap closing", at, end, if c == ')' { "]" } else { ")" });
            }
            '"' => add("delete quote", at, end, ""),
            ',' => {
                add("delete comma", at, end, "");
                add("double comma", at, at, ",");
                add("semicolon for comma", at, end, ";");
            }
            '=' | ':' => {
                add("delete mark", at, end, "");
                add("junk at mark", at, at, "@ ");
            }
            '+' | '<' => add("double operator", at, at, "* "),
            _ => {}
        }
    }
    let keywords = [
        "step", "let", "plan", "reply", "in", "max", "each", "task", "set", "listener", "on",
        "ensure", "else", "when",
    ];
    for word in words(text).filter(|word| keywords.contains(&&text[word.clone()])) {
        add("delete keyword", word.start, word.end, "");
        add(
            "misspell keyword",
            word.start,
            word.end,
            &format!("{}x", &text[word.clone()]),
        );
        add(
            "double keyword",
            word.start,
            word.start,
            &format!("{} ", &text[word.clone()]),
        );
    }
    mutants
}

/// Returns the characters outside of comments.
fn code(text: &str) -> impl Iterator<Item = (usize, char)> {
    text.char_indices().filter(|(at, _)| {
        let line = text[..*at].rfind('\n').map_or(0, |newline| newline + 1);
        !text[line..*at].trim_start().starts_with("//") && !text[*at..].starts_with("//")
    })
}

/// Returns the ranges of the words outside of comments and strings.
fn words(text: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    let starts = code(text).filter(|(at, c)| {
        let before = text[..*at].chars().next_back().unwrap_or(' ');
        let line = text[..*at].rfind('\n').map_or(0, |newline| newline + 1);
        c.is_alphabetic()
            && before.is_whitespace()
            && text[line..*at].matches('"').count().is_multiple_of(2)
    });
    starts.map(|(at, _)| {
        let length = text[at..]
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(text.len() - at);
        at..at + length
    })
}

/// Reports whether the mutant gives one diagnostic near its edit. `None` if it still parses.
fn judge(mutant: &Mutant) -> Option<bool> {
    let source = SourceFile::new("mutant", mutant.text.as_str());
    let diagnostics = syntax::parse(&source).diagnostics;
    let first = diagnostics
        .iter()
        .find(|diagnostic| diagnostic.is_error())?;
    let mut places = vec![first.span];
    places.extend(first.labels.iter().map(|label| label.span));
    let near = places
        .iter()
        .any(|span| source.position(span.start).line.abs_diff(mutant.line) <= NEAR);
    Some(diagnostics.len() == 1 && near)
}

fn describe(path: &Path, mutant: &Mutant) -> String {
    let source = SourceFile::new("mutant", mutant.text.as_str());
    let found = syntax::parse(&source)
        .diagnostics
        .into_iter()
        .map(|diagnostic| {
            let place = source.position(diagnostic.span.start);
            format!(
                "\n      {}:{} {} {}",
                place.line, place.column, diagnostic.code.name, diagnostic.message
            )
        });
    let line = mutant
        .text
        .lines()
        .nth(mutant.line as usize - 1)
        .unwrap_or("");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "{name}:{} {}: {}{}",
        mutant.line,
        mutant.kind,
        line.trim(),
        found.collect::<String>()
    )
}
