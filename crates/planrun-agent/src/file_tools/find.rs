//! `files.glob`, `files.grep` and `files.outline`: what there is, as far as it may be read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use planrun_lang::call::CallError;
use planrun_lang::permission::local_path;
use planrun_tools::host::FileKind;
use planrun_tools::tools::FileWorld;
use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{failed, shown, walk};

const MAX_PATHS: usize = 1_000;
const MAX_MATCHES: usize = 200;
/// Bytes of a line that are told.
const MAX_LINE: usize = 400;
/// A larger file is not searched.
const MAX_SEARCHED: u64 = 4 * 1024 * 1024;
/// The most memory that a compiled expression may take.
const MAX_EXPRESSION: usize = 1024 * 1024;
const MAX_DEPTH: usize = 4;
const MAX_OUTLINED: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct Glob {
    pattern: String,
}

pub(super) fn glob(files: &FileWorld, Glob { pattern }: Glob) -> Result<Json, CallError> {
    let (folder, rest) = fixed(&pattern);
    let matcher = matcher(rest)?;
    let start = beginning(files, folder)?;
    let (mut paths, mut more) = (Vec::new(), false);
    walk(files, start.clone(), &mut |path, kind, _| {
        let inner = path.strip_prefix(&start).unwrap_or(path);
        if kind == FileKind::File && matcher.is_match(inner) {
            more = paths.len() == MAX_PATHS;
            if !more {
                paths.push(shown(files, path));
            }
        }
        !more
    });
    denied_where_empty(files, folder, paths.is_empty())?;
    paths.sort();
    Ok(json!({ "paths": paths, "more": more }))
}

#[derive(Deserialize)]
pub(super) struct Grep {
    pattern: String,
    path: String,
    glob: Option<String>,
}

pub(super) fn grep(files: &FileWorld, wanted: &Grep) -> Result<Json, CallError> {
    let expression = RegexBuilder::new(&wanted.pattern)
        .size_limit(MAX_EXPRESSION)
        .build();
    let expression = expression
        .map_err(|error| failed(format!("the pattern is no regular expression: {error}")))?;
    let glob = wanted.glob.as_deref().map(matcher).transpose()?;
    let start = beginning(files, &wanted.path)?;
    let (mut matches, mut more) = (Vec::new(), false);
    walk(files, start.clone(), &mut |path, kind, _| {
        let inner = path.strip_prefix(&start).unwrap_or(path);
        let fits = |glob: &GlobMatcher| {
            glob.is_match(inner) || path.file_name().is_some_and(|name| glob.is_match(name))
        };
        if kind != FileKind::File || !glob.as_ref().is_none_or(fits) {
            return true;
        }
        // What is no text has no lines.
        let Ok(text) = files.host.read_bounded(path, MAX_SEARCHED) else {
            return true;
        };
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| expression.is_match(line))
        {
            if matches.len() == MAX_MATCHES {
                more = true;
                return false;
            }
            let line = line
                .get(..line.floor_char_boundary(MAX_LINE))
                .unwrap_or_default();
            matches.push(json!({ "path": shown(files, path), "line": number + 1, "text": line }));
        }
        true
    });
    denied_where_empty(files, &wanted.path, matches.is_empty())?;
    Ok(json!({ "matches": matches, "more": more }))
}

#[derive(Deserialize)]
pub(super) struct Outline {
    path: String,
}

pub(super) fn outline(
    files: &FileWorld,
    Outline { path: written }: Outline,
) -> Result<Json, CallError> {
    let start = beginning(files, &written)?;
    let mut text = String::new();
    let mut lines = 0;
    walk(files, start, &mut |path, kind, depth| {
        let is_told = files
            .host
            .canonical(path)
            .is_ok_and(|place| files.permissions.read(&place, "").is_ok());
        if depth > MAX_DEPTH || !is_told {
            return true;
        }
        if lines == MAX_OUTLINED {
            text.push_str("…\n");
            return false;
        }
        lines += 1;
        let name = path
            .file_name()
            .map_or_else(|| ".".into(), |name| name.to_string_lossy());
        let end = match kind {
            FileKind::Folder => "/",
            FileKind::File => "",
        };
        let _ = writeln!(text, "{}{name}{end}", "  ".repeat(depth));
        true
    });
    denied_where_empty(files, &written, text.is_empty())?;
    Ok(Json::String(text))
}

/// The folder that a pattern begins with, and the rest of it.
fn fixed(pattern: &str) -> (&str, &str) {
    let first = pattern.find(['*', '?', '[', '{', '\\']);
    let before = first
        .and_then(|first| pattern.get(..first))
        .unwrap_or(pattern);
    match before.rfind('/') {
        Some(0) => ("/", pattern.get(1..).unwrap_or_default()),
        Some(end) => (
            before.get(..end).unwrap_or_default(),
            pattern.get(end + 1..).unwrap_or_default(),
        ),
        None => (".", pattern),
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, CallError> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob = glob.map_err(|error| failed(format!("`{pattern}` is no pattern: {error}")))?;
    Ok(glob.compile_matcher())
}

/// Where a search begins: a file that may be read, or a folder. A folder itself need not be allowed, as with
/// `allow { read: ["src/*.rs"] }`: nothing is told of it but what may be read in it.
fn beginning(files: &FileWorld, written: &str) -> Result<PathBuf, CallError> {
    let local = local_path(written);
    let local = local.ok_or_else(|| failed(format!("{written} names no file of this machine")))?;
    let is_folder = |path: &Path| {
        let kind = files.host.kind(path);
        kind.is_ok_and(|kind| kind == FileKind::Folder)
    };
    match files.host.canonical(&files.root.join(&*local)) {
        Ok(path) if is_folder(&path) => Ok(path),
        Ok(_) | Err(_) => files.existing(written),
    }
}

/// Denies a folder that may not be read where nothing in it may be, as if it were not there.
fn denied_where_empty(files: &FileWorld, written: &str, is_empty: bool) -> Result<(), CallError> {
    if is_empty {
        files.existing(written)?;
    }
    Ok(())
}
