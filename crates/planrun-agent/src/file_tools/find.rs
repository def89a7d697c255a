//! `files.glob`, `files.grep` and `files.outline`: search and list files, as far as they may be read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use planrun_lang::call::CallError;
use planrun_lang::permission::local_path;
use planrun_tools::host::FileKind;
use planrun_tools::tools::FileAccess;
use regex::RegexBuilder;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Search, display_path, failed, walk};

const MAX_PATHS: usize = 1_000;
const MAX_MATCHES: usize = 200;
/// Maximum number of bytes returned of a line.
const MAX_LINE: usize = 400;
/// Maximum size of a file that is searched, in bytes.
const MAX_SEARCHED: u64 = 4 * 1024 * 1024;
/// Maximum memory of a compiled expression, in bytes.
const MAX_EXPRESSION: usize = 1024 * 1024;
const MAX_DEPTH: usize = 4;
const MAX_OUTLINED: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct Glob {
    pattern: String,
}

pub(super) fn glob(search: &Search<'_>, Glob { pattern }: Glob) -> Result<Json, CallError> {
    let files = search.files;
    let (folder, rest) = split_base(&pattern);
    let matcher = matcher(rest)?;
    let start = search_root(files, folder)?;
    let (mut paths, mut more) = (Vec::new(), false);
    walk(search, start.clone(), &mut |path, kind, _| {
        let inner = path.strip_prefix(&start).unwrap_or(path);
        if kind == FileKind::File && matcher.is_match(inner) {
            more = paths.len() == MAX_PATHS;
            if !more {
                paths.push(display_path(files, path));
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

pub(super) fn grep(search: &Search<'_>, arguments: &Grep) -> Result<Json, CallError> {
    let files = search.files;
    let expression = RegexBuilder::new(&arguments.pattern)
        .size_limit(MAX_EXPRESSION)
        .build();
    let expression = expression.map_err(|error| {
        failed(format!(
            "the pattern is not a valid regular expression: {error}"
        ))
    })?;
    let glob = arguments.glob.as_deref().map(matcher).transpose()?;
    let start = search_root(files, &arguments.path)?;
    let (mut matches, mut more) = (Vec::new(), false);
    walk(search, start.clone(), &mut |path, kind, _| {
        let inner = path.strip_prefix(&start).unwrap_or(path);
        let fits = |glob: &GlobMatcher| {
            glob.is_match(inner) || path.file_name().is_some_and(|name| glob.is_match(name))
        };
        if kind != FileKind::File || !glob.as_ref().is_none_or(fits) {
            return true;
        }
        // Binary files have no lines.
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
            matches.push(
                json!({ "path": display_path(files, path), "line": number + 1, "text": line }),
            );
        }
        true
    });
    denied_where_empty(files, &arguments.path, matches.is_empty())?;
    Ok(json!({ "matches": matches, "more": more }))
}

#[derive(Deserialize)]
pub(super) struct Outline {
    path: String,
}

pub(super) fn outline(
    search: &Search<'_>,
    Outline { path: written }: Outline,
) -> Result<Json, CallError> {
    let files = search.files;
    let start = search_root(files, &written)?;
    let mut text = String::new();
    let mut lines = 0;
    walk(search, start, &mut |path, kind, depth| {
        let is_visible = files
            .host
            .canonical(path)
            .is_ok_and(|place| files.permissions.read(&place, "").is_ok());
        if depth > MAX_DEPTH || !is_visible {
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

/// Splits a pattern into the folder that it begins with, and the rest.
fn split_base(pattern: &str) -> (&str, &str) {
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
    let glob = glob.map_err(|error| failed(format!("`{pattern}` is not a valid glob: {error}")))?;
    Ok(glob.compile_matcher())
}

/// Returns the start of a search: a file that may be read, or a folder. The folder itself need not be allowed, as
/// with `allow { read: ["src/*.rs"] }`: only what may be read in it is returned.
fn search_root(files: &FileAccess, written: &str) -> Result<PathBuf, CallError> {
    let local = local_path(written);
    let local = local.ok_or_else(|| failed(format!("{written} is not a file on this machine")))?;
    let is_folder = |path: &Path| {
        let kind = files.host.kind(path);
        kind.is_ok_and(|kind| kind == FileKind::Folder)
    };
    match files.host.canonical(&files.root.join(&*local)) {
        Ok(path) if is_folder(&path) => Ok(path),
        Ok(_) | Err(_) => files.existing(written),
    }
}

/// Denies access to the start of a search that found nothing and may not be read itself, as if it did not exist.
fn denied_where_empty(files: &FileAccess, written: &str, is_empty: bool) -> Result<(), CallError> {
    if is_empty {
        files.existing(written)?;
    }
    Ok(())
}
