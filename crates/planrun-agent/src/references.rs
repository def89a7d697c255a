//! References in requests, rules and skills: `@[path]`, `@[path:10]` and `@[path:10:20]` include the text of files,
//! `@[tool{"argument": 1}]` the result of a call.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use planrun_lang::value::counted;
use planrun_tools::host::FileKind;
use planrun_tools::tools::FileAccess;

use crate::markup::{MAX_CALL, Macros, Mark, parts};

/// Maximum number of references of a request that are followed, and of its calls that are made.
const MAX_REFERENCES: usize = 32;
/// Maximum nesting depth of the project's own texts.
const MAX_DEPTH: usize = 8;
/// Maximum total size of the included texts, in bytes.
const MAX_BYTES: usize = 512 * 1024;
/// Maximum size of the text between the brackets of a reference, in bytes.
const MAX_WRITTEN: usize = 4096;
/// Maximum total size of the macro values in one text, in bytes.
const MAX_VALUES: usize = 64 * 1024;
/// Maximum number of entries of a folder that are listed.
const MAX_ENTRIES: usize = 500;

/// The results of calls, or why there is none, by the text between their brackets.
pub type CallResults = BTreeMap<String, Result<String, String>>;

/// The text between brackets, with macros expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Place(String),
    Call(String),
}

/// A reference to a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reference<'a> {
    /// The text between the brackets.
    written: &'a str,
    path: &'a str,
    /// The first and the last line, from 1.
    lines: Option<(usize, usize)>,
}

/// Returns the distinct calls in a request, as the text between their brackets with macros expanded.
pub fn calls_of(request: &str, macros: &Macros) -> Vec<String> {
    let mut calls = Vec::new();
    filled_in(request, &mut macros.clone(), |target, _| {
        if let Target::Call(written) = target
            && !calls.contains(&written)
        {
            calls.push(written);
        }
        String::new()
    });
    calls.truncate(MAX_REFERENCES);
    calls
}

/// Expands a request: macros are replaced in it, and the referenced content is appended, as far as the files may be
/// read. Content that cannot be read is replaced by the reason, and content that one of the earlier requests `before`
/// has included unchanged by a note. `macros` are those of the conversation; only the request itself defines more,
/// not the included content. `results` holds the results of its calls.
pub fn expanded(
    request: &str,
    before: &[&str],
    macros: &mut Macros,
    files: &FileAccess,
    results: &CallResults,
) -> String {
    let mut found = Vec::new();
    let mut text = filled_in(request, macros, |target, _| {
        let (Target::Place(written) | Target::Call(written)) = &target;
        let output = format!("@[{written}]");
        if !found.contains(&target) {
            found.push(target);
        }
        output
    });
    if text.trim().is_empty() {
        // A request that contains only definitions is kept as written: services refuse messages without text.
        request.clone_into(&mut text);
    }
    let mut left = MAX_BYTES;
    for (index, target) in found.iter().enumerate() {
        let (written, output) = match target {
            Target::Call(written) => (written, result(written, results)),
            Target::Place(written) if index < MAX_REFERENCES => {
                let output = content(&Reference::of(written), files);
                (written, output.map_err(|why| unreadable(&why)))
            }
            Target::Place(written) => {
                let why = format!("at most {MAX_REFERENCES} references are followed");
                (written, Err(unreadable(&why)))
            }
        };
        let output = match output {
            Ok(content) => {
                let whole = block(written, &content, MAX_BYTES);
                let same = before.iter().position(|text| text.contains(&whole));
                if let Some(same) = same {
                    let number = same + 1;
                    format!("\n\n@[{written}]: content unchanged since request {number}")
                } else {
                    let output = block(written, &content, left);
                    left = left.saturating_sub(content.len());
                    output
                }
            }
            Err(why) => format!("\n\n@[{written}] {why}"),
        };
        text.push_str(&output);
    }
    text
}

/// Returns a text without its definitions, with macros replaced by their values, and references replaced by the
/// result of `replace`. Marks inside values are plain text.
fn filled_in(
    text: &str,
    macros: &mut Macros,
    mut replace: impl FnMut(Target, &Macros) -> String,
) -> String {
    let mut output = String::new();
    let mut left = MAX_VALUES;
    for (written, mark) in parts(text) {
        let part = match mark {
            None => written.to_owned(),
            Some(Mark::Reference(inner)) => match macros.filled(inner, MAX_WRITTEN) {
                Some(inner) => replace(Target::Place(inner), macros),
                None => {
                    format!("{written} could not be read: it has more than {MAX_WRITTEN} bytes")
                }
            },
            Some(Mark::Call(inner)) => match macros.filled(inner, MAX_CALL) {
                Some(inner) => replace(Target::Call(inner), macros),
                None => format!("{written} was not called: it has more than {MAX_CALL} bytes"),
            },
            Some(Mark::Definition { name, value }) => {
                macros.define(name, value).err().unwrap_or_default()
            }
            Some(Mark::Use(name)) => match macros.value(name) {
                None => written.to_owned(),
                Some(value) if value.len() > left => {
                    format!(
                        "{written} was not replaced: the values have more than {MAX_VALUES} bytes"
                    )
                }
                Some(value) => {
                    left -= value.len();
                    value.to_owned()
                }
            },
        };
        output.push_str(&part);
    }
    output
}

/// Returns the result of the call with this text.
fn result(written: &str, results: &CallResults) -> Result<String, String> {
    match results.get(written) {
        Some(Ok(text)) => Ok(text.clone()),
        Some(Err(why)) => Err(format!("failed: {why}")),
        None => Err(format!(
            "was not called: at most {MAX_REFERENCES} calls are made"
        )),
    }
}

fn unreadable(why: &str) -> String {
    format!("could not be read: {why}")
}

/// Formats included content as a block, truncated to `max` bytes.
fn block(written: &str, content: &str, max: usize) -> String {
    let end = content.floor_char_boundary(max);
    let excerpt = content.get(..end).unwrap_or_default();
    let fence = fence(excerpt);
    let cut = if end < content.len() { ", cut" } else { "" };
    let excerpt = excerpt.trim_end_matches('\n');
    format!("\n\n@[{written}]{cut}:\n{fence}\n{excerpt}\n{fence}")
}

/// Replaces references in the project's own texts, such as rules, by the referenced content. References in included
/// texts of the same folder are followed; those in other files are not, because their content is untrusted.
pub struct Inlining<'a> {
    files: &'a FileAccess,
    /// The folder of the project's own texts, canonical.
    own: PathBuf,
    /// Number of references that may still be followed, and of bytes that may still be included.
    references: usize,
    bytes: usize,
    /// The results of calls, and the calls that have not been made.
    results: CallResults,
    open: Vec<String>,
}

impl<'a> Inlining<'a> {
    /// Creates an inliner for the texts below this folder of the project, with the results of their calls.
    pub fn of(folder: &str, files: &'a FileAccess, results: CallResults) -> Self {
        let root = files.host.canonical(&files.root);
        Self {
            files,
            own: root.unwrap_or_else(|_| files.root.clone()).join(folder),
            references: MAX_REFERENCES,
            bytes: MAX_BYTES,
            results,
            open: Vec::new(),
        }
    }

    /// Returns the calls that were found and have not been made.
    pub fn open_calls(self) -> Vec<String> {
        self.open
    }

    /// Returns the text of this file with its references replaced.
    pub fn inlined(&mut self, path: &str, text: &str) -> String {
        self.nested(text, &mut vec![path.to_owned()], Macros::default())
    }

    /// Macros that the text defines are valid in it and in the texts it includes, and nowhere else.
    fn nested(&mut self, text: &str, chain: &mut Vec<String>, mut macros: Macros) -> String {
        filled_in(text, &mut macros, |target, macros| match target {
            Target::Place(written) => {
                let content = self.one(&Reference::of(&written), chain, macros);
                content.unwrap_or_else(|why| format!("@[{written}] {}", unreadable(&why)))
            }
            Target::Call(written) => self.call(written),
        })
    }

    fn call(&mut self, written: String) -> String {
        match result(&written, &self.results) {
            Ok(text) => {
                let output = block(&written, &text, self.bytes);
                self.bytes = self.bytes.saturating_sub(text.len());
                output
            }
            Err(why) => {
                let output = format!("@[{written}] {why}");
                let is_known = self.results.contains_key(&written) || self.open.contains(&written);
                if !is_known && self.open.len() < MAX_REFERENCES {
                    self.open.push(written);
                }
                output
            }
        }
    }

    fn one(
        &mut self,
        reference: &Reference<'_>,
        chain: &mut Vec<String>,
        macros: &Macros,
    ) -> Result<String, String> {
        let path = self.own_path(reference.path);
        let path = path.unwrap_or_else(|| reference.path.to_owned());
        if let Some(begin) = chain.iter().position(|known| *known == path) {
            let circle = chain.iter().skip(begin).chain([&path]);
            let circle = circle.map(|path| &**path).collect::<Vec<_>>().join(" -> ");
            return Ok(format!("Error: Circular reference detected: {circle}"));
        }
        if self.references == 0 || chain.len() > MAX_DEPTH {
            return Err(format!(
                "at most {MAX_REFERENCES} references are followed, nested at most {MAX_DEPTH} deep"
            ));
        }
        self.references -= 1;
        let Some(text) = self.own_text(reference) else {
            let content = content(reference, self.files)?;
            let output = block(reference.written, &content, self.bytes);
            self.bytes = self.bytes.saturating_sub(content.len());
            return Ok(output);
        };
        let text = text?;
        if text.len() > self.bytes {
            return Err(format!("together they have more than {MAX_BYTES} bytes"));
        }
        self.bytes -= text.len();
        chain.push(path);
        let output = self.nested(text.trim_end_matches('\n'), chain, macros.clone());
        chain.pop();
        Ok(output)
    }

    /// Returns the path of one of the project's own files, relative to the root of the project; `None` for other
    /// files.
    fn own_path(&self, path: &str) -> Option<String> {
        let root = self.files.host.canonical(&self.files.root).ok()?;
        let place = self
            .files
            .host
            .canonical(&self.files.root.join(path))
            .ok()?;
        let inner = place.strip_prefix(&root).ok()?;
        place
            .starts_with(&self.own)
            .then(|| inner.display().to_string())
    }

    /// Returns the referenced text of one of the project's own files, which needs no `allow`; `None` for other files.
    fn own_text(&self, reference: &Reference<'_>) -> Option<Result<String, String>> {
        let place = self.files.root.join(self.own_path(reference.path)?);
        let kind = self.files.host.kind(&place);
        if !kind.is_ok_and(|kind| kind == FileKind::File) {
            return None;
        }
        let text = self.files.host.read_bounded(&place, MAX_BYTES as u64);
        let text = text.map_err(|error| error.to_string());
        Some(text.and_then(|text| reference.lines_of(text)))
    }
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

    /// Returns the referenced lines of a file, or all lines.
    fn lines_of(&self, text: String) -> Result<String, String> {
        let Some((first, last)) = self.lines else {
            return Ok(text);
        };
        let lines: Vec<&str> = text.lines().collect();
        if first > last {
            return Err(format!("line {first} comes after line {last}"));
        }
        let selected = lines.get(first - 1..last.min(lines.len()));
        let selected = selected.filter(|lines| !lines.is_empty());
        selected
            .map(|lines| lines.join("\n"))
            .ok_or_else(|| format!("it has {}", counted(lines.len(), "line")))
    }
}

fn content(reference: &Reference<'_>, files: &FileAccess) -> Result<String, String> {
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
    reference.lines_of(text)
}

/// Lists the entries of a folder.
fn folder(place: &std::path::Path, files: &FileAccess) -> Result<String, String> {
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

/// Returns a fence with more backticks than any run of them in the text.
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

    fn files() -> FileAccess {
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
        FileAccess {
            host: Arc::new(host),
            permissions: Arc::new(permissions),
            root: "/p".into(),
        }
    }

    /// Expands a request of a conversation without macros.
    fn alone(request: &str, before: &[&str], files: &FileAccess) -> String {
        expanded(
            request,
            before,
            &mut Macros::default(),
            files,
            &CallResults::new(),
        )
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
            assert_eq!(alone(&request, &[], &files), expected);
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
            let output = alone(&format!("@[{written}]"), &[], &files);
            assert!(
                output.contains(&format!("@[{written}] could not be read: ")),
                "{output}"
            );
            assert!(
                output.contains(why) && !output.contains("hunter2"),
                "{output}"
            );
        }
        for text in ["a@b.c", "@[", "@[ ]", "@[x\ny]", "@[]"] {
            assert_eq!(alone(text, &[], &files), text);
        }
    }

    #[test]
    fn s4_25_what_was_brought_along_before_is_not_brought_again_unless_it_has_changed() {
        let files = files();
        let first = alone("look at @[src/a.rs:1]", &[], &files);
        let again = alone("and @[src/a.rs:1]?", &["hm", &first], &files);
        let expected = "and @[src/a.rs:1]?\n\n@[src/a.rs:1]: content unchanged since request 2";
        assert_eq!(again, expected);
        let other = alone("and @[src/a.rs]?", &[&first], &files);
        assert!(other.ends_with("one\ntwo\nthree\n```"), "{other}");
        files
            .host
            .write_file(Path::new("/p/src/a.rs"), b"new\n")
            .unwrap();
        let changed = alone("and @[src/a.rs:1]?", &[&first], &files);
        assert!(
            changed.ends_with("@[src/a.rs:1]:\n```\nnew\n```"),
            "{changed}"
        );
    }

    #[test]
    fn s4_25_macros_stand_for_texts_from_their_definition_on_and_in_later_requests() {
        let files = files();
        let mut macros = Macros::default();
        let first = "@{define DIR, src}\n@{define FILE, \"@{DIR}/a.rs\"}\nIn @{DIR} read @[@{FILE}:2].<!-- @def DIR=none -->";
        let output = expanded(first, &[], &mut macros, &files, &CallResults::new());
        assert_eq!(
            output,
            "In src read @[src/a.rs:2].\n\n@[src/a.rs:2]:\n```\ntwo\n```"
        );
        let later = "@[<!-- @echo FILE -->:1] @{DIR} @{OTHER} @[@{OTHER}/x]";
        let output = expanded(later, &[&output], &mut macros, &files, &CallResults::new());
        let begin = "@[src/a.rs:1] none @{OTHER} @[@{OTHER}/x]\n\n@[src/a.rs:1]:\n```\none\n```\n\n\
                     @[@{OTHER}/x] could not be read: ";
        assert!(output.starts_with(begin), "{output}");
        let again = expanded(
            "@[@{FILE}:1]",
            &[&output],
            &mut macros,
            &files,
            &CallResults::new(),
        );
        assert!(
            again.ends_with("@[src/a.rs:1]: content unchanged since request 1"),
            "{again}"
        );
    }

    #[test]
    fn s4_25_a_request_that_only_defines_is_told_as_it_is_written() {
        let (files, mut macros) = (files(), Macros::default());
        let request = "@{define DIR, src}\n<!-- @def FILE=a.rs -->";
        assert_eq!(
            expanded(request, &[], &mut macros, &files, &CallResults::new()),
            request
        );
        assert_eq!(macros.value("FILE"), Some("a.rs"));
    }

    #[test]
    fn s4_25_what_a_macro_stands_for_is_text() {
        let files = files();
        let request = "@{define A, @[src/a.rs]}@{A} @{define B, @{define DIR, src}}@{B} @{DIR}";
        let output = alone(request, &[], &files);
        assert_eq!(output, "@[src/a.rs] @{define DIR, src} @{DIR}");
        let long = format!("@{{define A, {}}}", "a".repeat(1024));
        let many = alone(&(long.clone() + &"@{A}".repeat(65)), &[], &files);
        let refused = "@{A} was not replaced: the values have more than 65536 bytes";
        assert_eq!(many, "a".repeat(MAX_VALUES) + refused);
        let path = alone(&format!("{long}@[{}]", "@{A}".repeat(5)), &[], &files);
        assert!(
            path.ends_with("could not be read: it has more than 4096 bytes"),
            "{path}"
        );
    }

    #[test]
    fn s4_25_what_strangers_wrote_defines_nothing() {
        let files = files();
        let stranger = "@{define DIR, src/inner}<!-- @def FILE=secret --> @{DIR}";
        let place = Path::new("/p/src/c.md");
        files.host.write_file(place, stranger.as_bytes()).unwrap();
        let mut macros = Macros::default();
        let request = "@{define DIR, src}@[@{DIR}/c.md] @{DIR} @{FILE}";
        let output = expanded(request, &[], &mut macros, &files, &CallResults::new());
        let block = format!("@[src/c.md]:\n```\n{stranger}\n```");
        assert_eq!(output, format!("@[src/c.md] src @{{FILE}}\n\n{block}"));
        let known = [macros.value("DIR"), macros.value("FILE")];
        assert_eq!(known, [Some("src"), None]);
        let rule = "@{define DIR, src}@[@{DIR}/c.md] @{DIR} @{FILE}";
        let output =
            Inlining::of(".agents", &files, CallResults::new()).inlined(".agents/x.md", rule);
        assert_eq!(output, format!("\n\n{block} src @{{FILE}}"));
    }

    #[test]
    fn s4_25_macros_of_a_rule_hold_in_it_and_in_what_it_brings_along() {
        let files = files();
        files.host.make_folder(Path::new("/p/.agents")).unwrap();
        let inner = "@{A} @{define A, inner}@{A} @{B}";
        let place = Path::new("/p/.agents/b.md");
        files.host.write_file(place, inner.as_bytes()).unwrap();
        let mut inlining = Inlining::of(".agents", &files, CallResults::new());
        let rule = "@{define A, outer}@{define B, b}@[.agents/@{B}.md] @{A}";
        let output = inlining.inlined(".agents/x.md", rule);
        assert_eq!(output, "outer inner b outer");
        assert_eq!(inlining.inlined(".agents/y.md", "@{A}"), "@{A}");
    }

    #[test]
    fn s4_25_texts_of_the_project_bring_each_other_along_in_place_and_circles_end() {
        let files = files();
        for (name, text) in [
            ("a.md", "a, @[.agents/b.md] and @[src/c.md]!\n"),
            ("b.md", "b, @[.agents/../.agents/a.md]"),
            ("many.md", &"@[.agents/leaf.md]".repeat(MAX_REFERENCES + 1)),
            ("leaf.md", "."),
        ] {
            let path = Path::new("/p/.agents").join(name);
            files.host.make_folder(Path::new("/p/.agents")).unwrap();
            files.host.write_file(&path, text.as_bytes()).unwrap();
        }
        let stranger = "c, @[.agents/a.md]";
        files
            .host
            .write_file(Path::new("/p/src/c.md"), stranger.as_bytes())
            .unwrap();
        let inlined = |name: &str| {
            let path = format!(".agents/{name}");
            let text = files
                .host
                .read_file(Path::new(&format!("/p/{path}")))
                .unwrap();
            Inlining::of(".agents", &files, CallResults::new()).inlined(&path, &text)
        };
        let circle =
            "Error: Circular reference detected: .agents/a.md -> .agents/b.md -> .agents/a.md";
        let expected =
            format!("a, b, {circle} and \n\n@[src/c.md]:\n```\nc, @[.agents/a.md]\n```!\n");
        assert_eq!(inlined("a.md"), expected);
        let many = inlined("many.md");
        assert_eq!(many.matches('.').count() - 2, MAX_REFERENCES, "{many}");
        assert!(many.contains("references are followed"), "{many}");
        let denied = Inlining::of(".agents", &files, CallResults::new())
            .inlined(".agents/x.md", "@[secret]");
        assert!(denied.contains("is not allowed"), "{denied}");
    }
}
