//! The documentation pages of the built-in tools: what their contracts cannot express, each with an example that a test
//! runs.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::permission::Permissions;
use planrun_lang::types::Signature;

use super::files::{MAX_ENTRIES, MAX_FILE_BYTES};
use super::http::{CONNECT_TIMEOUT, MAX_BODY_BYTES, MAX_REDIRECTS, failure};
use super::process::{GRACE, KEY_VARIABLE, MAX_OUTPUT_BYTES};
use super::{BUILT_IN, Catalog};
use crate::host::MemoryHost;

/// The text of each tool's page.
const PROSE: [(&str, &str); 11] = [
    ("fs.list", include_str!("fs.list.md")),
    ("fs.read", include_str!("fs.read.md")),
    ("fs.write", include_str!("fs.write.md")),
    ("http.fetch", include_str!("http.fetch.md")),
    ("proc.run", include_str!("proc.run.md")),
    ("sys.echo", include_str!("sys.echo.md")),
    ("sys.fail", include_str!("sys.fail.md")),
    ("sys.nothing", include_str!("sys.nothing.md")),
    ("sys.now", include_str!("sys.now.md")),
    ("sys.sleep", include_str!("sys.sleep.md")),
    ("sys.uuid", include_str!("sys.uuid.md")),
];

/// Returns the contracts of all built-in tools, by namespace and name.
pub fn built_in() -> Vec<Arc<Signature>> {
    let nothing = Arc::new(Permissions::none());
    let catalog = Catalog::new(Arc::new(MemoryHost::default()), PathBuf::new(), &nothing);
    catalog
        .signatures()
        .filter(|signature| BUILT_IN.contains(&&*signature.namespace))
        .cloned()
        .collect()
}

/// Returns the Markdown page of a built-in tool: its contract, then the text.
pub fn page(signature: &Signature) -> String {
    let mut text = format!(
        "{}\n\n```text\n{}```\n",
        signature.description.as_deref().unwrap_or_default(),
        declared(signature)
    );
    let arguments: Vec<String> = signature
        .parameters
        .iter()
        .filter_map(|parameter| {
            let description = parameter.description.as_ref()?;
            Some(format!("{}: {description}\n", parameter.name))
        })
        .collect();
    if !arguments.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nArguments:\n\n```text\n{}```\n", arguments.concat());
    }
    if &*signature.path() == "http.fetch" {
        let _ = write!(text, "\nFailures:\n\n```text\n{}```\n", statuses());
    }
    text + "\n" + &prose(&signature.path())
}

/// How a tool of an app file is called with a request of its own.
pub const REST: &str = include_str!("rest.md");

/// Returns the contract as a plan would declare it.
fn declared(signature: &Signature) -> String {
    let mut parameters = String::new();
    for parameter in &signature.parameters {
        let optional = if parameter.required { "" } else { "?" };
        let _ = write!(
            parameters,
            "\n    {}{optional}: {},",
            parameter.name, parameter.ty
        );
    }
    if !parameters.is_empty() {
        parameters.push('\n');
    }
    let raises: String = if signature.raises.is_empty() {
        String::new()
    } else {
        format!(" fails {}", signature.raises.join(", "))
    };
    format!(
        "tool {}({parameters}) -> {} {}{raises}\n",
        signature.path(),
        signature.returns,
        signature.effect
    )
}

/// Lists the statuses that are failures with their classes. Consecutive statuses with equal classes share one line.
fn statuses() -> String {
    let failure_of = |status: u16| {
        let error = failure(status, &reqwest::header::HeaderMap::new(), 0, "", "")?;
        Some((error.class.to_string(), error.sent.name()))
    };
    let failing: Vec<(u16, (String, &str))> = (100..600)
        .filter_map(|status| failure_of(status).map(|failure| (status, failure)))
        .collect();
    let lines = failing
        .chunk_by(|(one, failure), (next, other)| one + 1 == *next && failure == other)
        .map(|same| {
            let (Some((first, (class, sent))), Some((last, _))) = (same.first(), same.last())
            else {
                return String::new();
            };
            let range = if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            };
            format!("{range:<9}{class:<24}sent: {sent}\n")
        });
    lines.collect()
}

/// Returns the text of a tool's page with the limits filled in.
fn prose(path: &str) -> String {
    let text = PROSE
        .iter()
        .find(|(known, _)| *known == path)
        .map_or("", |(_, text)| text);
    let mebibytes = |bytes: usize| format!("{} MiB", bytes / (1024 * 1024));
    let facts = [
        ("{REDIRECTS}", MAX_REDIRECTS.to_string()),
        ("{CONNECT}", format!("{} s", CONNECT_TIMEOUT.as_secs())),
        ("{BODY}", mebibytes(MAX_BODY_BYTES)),
        ("{FILE}", format!("{} MiB", MAX_FILE_BYTES / (1024 * 1024))),
        ("{ENTRIES}", MAX_ENTRIES.to_string()),
        ("{OUTPUT}", mebibytes(MAX_OUTPUT_BYTES)),
        ("{GRACE}", format!("{} s", GRACE.as_secs())),
        ("{KEY}", KEY_VARIABLE.to_owned()),
    ];
    facts.iter().fold(text.to_owned(), |text, (mark, fact)| {
        text.replace(mark, fact)
    })
}
