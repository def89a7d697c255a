//! References in a request: `@[path]`, `@[path:10]` and `@[path:10:20]` bring the text of files along.

use std::fmt::Write as _;

use planrun_tools::host::FileKind;
use planrun_tools::tools::FileWorld;

/// So many references of a request are followed.
const MAX_REFERENCES: usize = 32;
/// Bytes of all that they bring along.
const MAX_BYTES: usize = 512 * 1024;
/// Entries of a folder that are told.
const MAX_ENTRIES: usize = 500;

/// A place that a request refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reference<'a> {
    /// As it stands between the brackets.
    written: &'a str,
    path: &'a str,
    /// The first and the last line, from 1.
    lines: Option<(usize, usize)>,
}

/// A request with what it refers to under it, as far as these files may be read. What cannot be read is told in its place.
#[must_use]
pub fn expanded(request: &str, files: &FileWorld) -> String {
    let mut found = Vec::new();
    for reference in references(request) {
        if !found.contains(&reference) {
            found.push(reference);
        }
    }
    let mut text = request.to_owned();
    let mut left = MAX_BYTES;
    for (index, reference) in found.iter().enumerate() {
        let told = if index < MAX_REFERENCES {
            content(reference, files)
        } else {
            Err(format!("at most {MAX_REFERENCES} references are followed"))
        };
        match told {
            Ok(content) => {
                let end = content.floor_char_boundary(left);
                let shown = content.get(..end).unwrap_or_default();
                left -= end;
                let fence = fence(shown);
                let cut = if end < content.len() { ", cut" } else { "" };
                let _ = write!(
                    text,
                    "\n\n@[{}]{cut}:\n{fence}\n{}\n{fence}",
                    reference.written,
                    shown.trim_end_matches('\n')
                );
            }
            Err(why) => {
                let _ = write!(
                    text,
                    "\n\n@[{}] could not be read: {why}",
                    reference.written
                );
            }
        }
    }
    text
}

/// The references of a text, in their order.
fn references(text: &str) -> Vec<Reference<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("@[") {
        let Some((written, left)) = after.split_once(']') else {
            break;
        };
        if !written.trim().is_empty() && !written.contains('\n') {
            found.push(Reference::of(written));
        }
        rest = left;
    }
    found
}

impl<'a> Reference<'a> {
    fn of(written: &'a str) -> Self {
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number > 0);
        let whole = Self {
            written,
            path: written.trim(),
            lines: None,
        };
        let Some((before, last)) = written.trim().rsplit_once(':') else {
            return whole;
        };
        let Some(last) = number(last) else {
            return whole;
        };
        let range = before
            .rsplit_once(':')
            .and_then(|(path, first)| Some((path, number(first)?)));
        let (path, first) = range.unwrap_or((before, last));
        Self {
            written,
            path,
            lines: Some((first, last)),
        }
    }
}

fn content(reference: &Reference<'_>, files: &FileWorld) -> Result<String, String> {
    let place = files
        .existing(reference.path)
        .map_err(|error| error.message)?;
    if files
        .host
        .kind(&place)
        .is_ok_and(|kind| kind == FileKind::Folder)
    {
        return folder(&place, files);
    }
    let text = files.read(reference.path).map_err(|error| error.message)?;
    let Some((first, last)) = reference.lines else {
        return Ok(text);
    };
    let lines: Vec<&str> = text.lines().collect();
    if first > last {
        return Err(format!("line {first} comes after line {last}"));
    }
    let shown = lines.get(first - 1..last.min(lines.len()));
    let shown = shown.filter(|lines| !lines.is_empty());
    shown
        .map(|lines| lines.join("\n"))
        .ok_or_else(|| format!("it has {} lines", lines.len()))
}

/// What is in a folder.
fn folder(place: &std::path::Path, files: &FileWorld) -> Result<String, String> {
    let entries = files
        .host
        .list_folder(place)
        .map_err(|error| error.to_string())?;
    let mut text = String::new();
    for path in entries.iter().take(MAX_ENTRIES) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let _ = match files.host.kind(path) {
            Ok(FileKind::Folder) => writeln!(text, "[DIR] {name}"),
            Ok(FileKind::File) | Err(_) => writeln!(text, "[FILE] {name}"),
        };
    }
    if entries.len() > MAX_ENTRIES {
        let _ = writeln!(text, "and {} more", entries.len() - MAX_ENTRIES);
    }
    Ok(text)
}

/// Backticks, more than stand beside each other in the text.
fn fence(text: &str) -> String {
    let mut longest = 0;
    let mut current = 0;
    for character in text.chars() {
        current = if character == '`' { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    "`".repeat((longest + 1).max(3))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use planrun_lang::permission::{Grant, Permissions};
    use planrun_tools::host::MemoryHost;

    use super::*;

    fn files() -> FileWorld {
        let host = MemoryHost::default()
            .with_file("/p/src/a.rs", "one\ntwo\nthree\n")
            .with_file("/p/src/b.md", "```\ncode\n```")
            .with_file("/p/src/inner/c", "")
            .with_file("/p/secret", "hunter2");
        let grant = Grant {
            read: vec!["src".to_owned()],
            ..Grant::default()
        };
        let permissions = Permissions::new(&grant, Path::new("/p"), &host).unwrap();
        FileWorld {
            host: Arc::new(host),
            permissions: Arc::new(permissions),
            root: "/p".into(),
        }
    }

    #[test]
    fn s4_25_references_bring_files_lines_and_folders() {
        let files = files();
        for (written, content) in [
            ("src/a.rs", "```\none\ntwo\nthree\n```"),
            ("src/a.rs:2", "```\ntwo\n```"),
            ("src/a.rs:2:3", "```\ntwo\nthree\n```"),
            ("src/a.rs:2:99", "```\ntwo\nthree\n```"),
            ("src/b.md", "````\n```\ncode\n```\n````"),
            ("src", "```\n[FILE] a.rs\n[FILE] b.md\n[DIR] inner\n```"),
        ] {
            let request = format!("look at @[{written}] twice: @[{written}]");
            let expected = format!("{request}\n\n@[{written}]:\n{content}");
            assert_eq!(expanded(&request, &files), expected);
        }
    }

    #[test]
    fn s4_25_what_cannot_be_read_is_told_in_its_place_and_what_is_none_is_text() {
        let files = files();
        for (written, why) in [
            ("secret", "reading secret is not allowed"),
            ("src/../secret", "is not allowed"),
            ("no/such", "is not allowed"),
            ("src/none", "does not exist"),
            ("src/a.rs:9", "it has 3 lines"),
            ("src/a.rs:3:2", "line 3 comes after line 2"),
        ] {
            let told = expanded(&format!("@[{written}]"), &files);
            assert!(
                told.contains(&format!("@[{written}] could not be read: ")),
                "{told}"
            );
            assert!(told.contains(why) && !told.contains("hunter2"), "{told}");
        }
        for text in ["a@b.c", "@[", "@[ ]", "@[x\ny]", "@[]"] {
            assert_eq!(expanded(text, &files), text);
        }
    }
}
