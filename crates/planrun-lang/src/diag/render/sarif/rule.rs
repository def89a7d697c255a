//! The codes of a SARIF document, each with its page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Text;
use crate::diag::render::FileReport;
use crate::diag::{Code, Severity};

/// Where the source of the pages is read; the file of a page is behind it.
const PAGES: &str = concat!(
    "https://docs.rs/crate/planrun-lang/",
    env!("CARGO_PKG_VERSION"),
    "/source/src/diag/codes/pages/"
);

/// The codes that were found, by name, each once.
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

/// `unknown-field` as `UnknownField`, the form that viewers show beside the code.
fn camel(name: &str) -> String {
    let mut out = String::new();
    for word in name.split('-') {
        let mut letters = word.chars();
        out.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        out.extend(letters);
    }
    out
}
