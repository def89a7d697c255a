//! The rules of a SARIF document: the codes with their pages.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Text;
use crate::diag::render::FileReport;
use crate::diag::{Code, Severity};

/// The URL of the folder with the pages.
const PAGES: &str = concat!(
    "https://docs.rs/crate/planrun-lang/",
    env!("CARGO_PKG_VERSION"),
    "/source/src/diag/codes/pages/"
);

/// Returns the codes of the diagnostics, each once, in order of name.
pub(super) fn used(files: &[FileReport]) -> Vec<&'static Code> {
    let found = files.iter().flat_map(|file| &file.diagnostics);
    found
        .map(|diagnostic| (diagnostic.code.name, diagnostic.code))
        .collect::<BTreeMap<_, _>>()
        .into_values()
        .collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    id: &'static str,
    name: String,
    short_description: Text,
    full_description: Text,
    help: Help,
    help_uri: String,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Help {
    text: &'static str,
    markdown: &'static str,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

impl Rule {
    pub(super) fn of(code: &'static Code) -> Self {
        let mut paragraphs = code
            .page
            .split("\n\n")
            .map(|paragraph| paragraph.replace('\n', " ").trim().to_owned());
        let first = paragraphs.next().unwrap_or_default();
        let why = paragraphs.next().unwrap_or_default();
        Self {
            id: code.name,
            name: camel(code.name),
            full_description: Text {
                text: format!("{first} {why}"),
            },
            short_description: Text { text: first },
            help: Help {
                text: code.page,
                markdown: code.page,
            },
            help_uri: format!("{PAGES}{}.md", code.name),
            default_configuration: Configuration {
                level: level(code.severity),
            },
        }
    }
}

pub(super) fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// Converts `unknown-field` to `UnknownField`, the form that viewers display next to the code.
fn camel(name: &str) -> String {
    let mut out = String::new();
    for word in name.split('-') {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.extend(letters);
    }
    out
}
