//! The examples of the README and the docs work.
//!
//! In `README.md` and in every Markdown file under `docs/`:
//!
//! - a block fenced as `plan` is a whole file without findings of `planrun check`; fenced as `plan bad` it has an
//!   error;
//! - one fenced as `plan from FILE` is a verbatim part of that file;
//! - a line ``File `name`:`` saves the following block (in any language) next to the plans of the document;
//! - in a block fenced as `console run`, the lines `$ planrun …` are executed, in the folder of the saved files if the
//!   document has some, else in the root; the text below each is its output, in which a line `…` matches any lines and
//!   a `…` in a line matches any text;
//! - in other `console` blocks the commands must at least exist.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{folder, planrun, root, words};

#[test]
fn examples_run() {
    let mut broken = Vec::new();
    let walk = ignore::WalkBuilder::new(root().join("docs"))
        .sort_by_file_path(Path::cmp)
        .build();
    let docs = walk.filter_map(Result::ok).map(ignore::DirEntry::into_path);
    for path in std::iter::once(root().join("README.md")).chain(docs) {
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        match fs::read_to_string(&path) {
            Ok(text)
                if Path::new(&name)
                    .extension()
                    .is_some_and(|ending| ending == "md") =>
            {
                broken.extend(
                    faults(&text)
                        .into_iter()
                        .map(|(line, fault)| format!("{name}:{line}: {fault}")),
                );
            }
            Ok(_) => {}
            Err(_) if path.is_dir() => {}
            Err(error) => crate::support::left_out(format_args!("{name}: {error}")),
        }
    }
    assert!(
        broken.is_empty(),
        "{} examples are wrong:\n{}",
        broken.len(),
        broken.join("\n")
    );
}

#[test]
fn wrong_examples_are_noticed() {
    let document = "\
```console run
$ planrun explain unknown-tool-of-nobody
fine
```
File `a/x.txt`:
```text
x
```
```console run
$ planrun explain no-such-code && rm x
```
```console
$ planrun frobnicate --hard
```
```text
$ planrun frobnicate
```
```plan from plans/refund.plantest
test 'nobody wrote this' for refund.refund {}
```
```plan from plans/nowhere.plan
```
";
    let found: Vec<_> = faults(document).into_iter().map(|(line, _)| line).collect();
    assert_eq!(found, [2, 10, 13, 19, 22]);
    assert_eq!(blocks(document)[1].file.as_deref(), Some("a/x.txt"));
    assert_eq!(words("a 'b c' \"d 'e\" f"), ["a", "b c", "d 'e", "f"]);
    assert!(same("a (…) b", "a (1) b") && same("a…", "a") && !same("a (…)", "a (1"));
    assert!(
        matches("a\n…\nd\n", "a\nb\nc\nd\n")
            && matches("…\n", "")
            && !matches("a\n…\nd\n", "a\nb\n")
    );
}

/// One fenced block.
struct Block {
    /// The text after the opening fence.
    info: String,
    /// The line on which its text begins, from 1.
    line: usize,
    text: String,
    /// The file name that the document gives to it.
    file: Option<String>,
}

/// Returns everything that is wrong in a document, with its line.
fn faults(document: &str) -> Vec<(usize, String)> {
    let blocks = blocks(document);
    let files: Vec<_> = blocks
        .iter()
        .filter_map(|block| Some((block.file.clone()?, block.text.clone())))
        .collect();
    let place = (!files.is_empty()).then(|| folder(files));
    let mut faults = Vec::new();
    for block in &blocks {
        match block.info.as_str() {
            "plan" | "plan bad" => {
                let fault = check(block, place.as_ref());
                faults.extend(fault.map(|fault| (block.line, fault)));
            }
            info if info.starts_with("plan from ") => {
                let fault = quoted(&info["plan from ".len()..], &block.text);
                faults.extend(fault.map(|fault| (block.line, fault)));
            }
            "console run" => faults.extend(commands(block).into_iter().filter_map(
                |(line, command, output)| {
                    execute(&command, &output, place.as_ref()).map(|fault| (line, fault))
                },
            )),
            "console" => faults.extend(
                commands(block)
                    .into_iter()
                    .filter_map(|(line, command, _)| exists(&command).map(|fault| (line, fault))),
            ),
            _ => {}
        }
    }
    faults
}

fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut file = None;
    let mut lines = document.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(name) = line
            .trim()
            .strip_prefix("File `")
            .and_then(|rest| rest.strip_suffix("`:"))
        {
            file = Some(name.to_owned());
        } else if let Some(info) = line.strip_prefix("```") {
            let inside = lines
                .by_ref()
                .take_while(|(_, line)| !line.starts_with("```"));
            let text = inside
                .map(|(_, line)| format!("{line}\n"))
                .collect::<Vec<_>>()
                .concat();
            blocks.push(Block {
                info: info.trim().to_owned(),
                line: index + 2,
                text,
                file: file.take(),
            });
        }
    }
    blocks
}

/// Checks one plan, alone or with the other files of the document. Returns the fault, if any.
fn check(block: &Block, place: Option<&TempDir>) -> Option<String> {
    let own = folder([("example.plan", &block.text)]);
    let (within, name) = match (&block.file, place) {
        (Some(name), Some(place)) => (place.path(), name.as_str()),
        (None, Some(place)) => {
            fs::write(place.path().join("example.plan"), &block.text).unwrap();
            (place.path(), "example.plan")
        }
        (_, None) => (own.path(), "example.plan"),
    };
    let output = planrun(["check", "--format", "json", name])
        .within(within)
        .run();
    if output.status > 1 {
        return Some(format!(
            "check ended with {}: {}",
            output.status, output.stderr
        ));
    }
    let found = output.json()["diagnostics"].as_array().unwrap().clone();
    let errors = found
        .iter()
        .filter(|finding| finding["severity"] == "error")
        .count();
    match block.info.as_str() {
        "plan bad" => (errors == 0).then(|| "this bad plan has no error".to_owned()),
        _ => (!found.is_empty()).then(|| {
            format!(
                "this plan has findings: {:#}",
                serde_json::Value::Array(found)
            )
        }),
    }
}

/// Returns a fault unless this text is a part of a file of the project.
fn quoted(file: &str, text: &str) -> Option<String> {
    match fs::read_to_string(root().join(file)) {
        Ok(whole) => (!whole.contains(text)).then(|| format!("this does not stand in {file}")),
        Err(error) => Some(format!("{file}: {error}")),
    }
}

/// Returns the commands of a block: line, command, and the output below it.
fn commands(block: &Block) -> Vec<(usize, String, String)> {
    let mut commands: Vec<(usize, String, String)> = Vec::new();
    for (index, line) in block.text.lines().enumerate() {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push((block.line + index, command.to_owned(), String::new()));
        } else if let Some((_, _, output)) = commands.last_mut() {
            output.push_str(line);
            output.push('\n');
        }
    }
    commands.retain(|(_, command, _)| command.starts_with("planrun"));
    commands
}

/// Runs a command and compares its output: standard output, then standard error. Returns the fault, if any.
fn execute(command: &str, expected: &str, place: Option<&TempDir>) -> Option<String> {
    if command.contains(['|', '&', '>', '<', ';', '\\']) {
        return Some(format!(
            "`{command}` needs a shell; show it in a block fenced as `console`"
        ));
    }
    let program = planrun(words(command).into_iter().skip(1));
    let output = program
        .within(place.map_or(root(), |place| place.path().to_owned()))
        .run();
    let printed = format!("{}{}", output.stdout, output.stderr);
    (!matches(expected, &printed)).then(|| {
        format!(
            "`{command}` ends with {} and prints\n{printed}",
            output.status
        )
    })
}

/// Returns a fault unless the program has this command.
fn exists(command: &str) -> Option<String> {
    let words = words(command);
    let name = words.iter().skip(1).find(|word| !word.starts_with('-'))?;
    let output = planrun(["help", name]).run();
    (output.status != 0).then(|| format!("`{command}`: {}", output.stderr))
}

/// Returns true if `actual` matches `expected`, where a line `…` stands for any number of lines, and a `…` in a line
/// for any text. Trailing blanks are ignored.
fn matches(expected: &str, actual: &str) -> bool {
    let lines = |text: &str| {
        text.trim_end()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>()
    };
    fits(&lines(expected), &lines(actual))
}

fn fits(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((first, rest)) if first == "…" => {
            (0..=actual.len()).any(|skipped| fits(rest, &actual[skipped..]))
        }
        Some((first, rest)) => {
            actual.first().is_some_and(|line| same(first, line)) && fits(rest, &actual[1..])
        }
    }
}

fn same(expected: &str, actual: &str) -> bool {
    match expected.split_once('…') {
        None => expected == actual,
        Some((before, after)) => actual.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| same(after, &rest[at..]))
        }),
    }
}
