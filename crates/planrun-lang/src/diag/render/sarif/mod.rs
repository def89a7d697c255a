//! Renders diagnostics as SARIF 2.1.0, the format that code hosts and editors read.

mod place;
mod result;
mod rule;

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Report, escape_json, visible_text};
use place::BASE;
use result::Finding;
use rule::Rule;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const HOME: &str = concat!("https://docs.rs/planrun/", env!("CARGO_PKG_VERSION"));

/// Returns the document that `check --format sarif` prints. Columns count Unicode code points, as the document
/// declares; paths are relative to `%SRCROOT%`, the folder in which the check ran.
#[must_use]
pub fn sarif(report: &Report) -> String {
    let rules = rule::used(&report.files);
    let places = rules
        .iter()
        .enumerate()
        .map(|(index, code)| (code.name, index))
        .collect::<BTreeMap<_, _>>();
    let results = report
        .files
        .iter()
        .flat_map(|file| result::of_file(file, &places))
        .collect();
    let driver = Driver {
        name: "planrun",
        version: env!("CARGO_PKG_VERSION"),
        semantic_version: env!("CARGO_PKG_VERSION"),
        information_uri: HOME,
        rules: rules.into_iter().map(Rule::of).collect(),
    };
    let notifications = report.problems.iter().map(|problem| Notification {
        level: "error",
        message: text(&problem.message),
    });
    let run = Run {
        tool: Tool { driver },
        column_kind: "unicodeCodePoints",
        original_uri_base_ids: BTreeMap::from([(
            BASE,
            Base {
                description: text("The folder of the check."),
            },
        )]),
        invocations: [Invocation {
            execution_successful: report.problems.is_empty(),
            tool_execution_notifications: notifications.collect(),
        }],
        results,
    };
    let document = Document {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [run],
    };
    // Cannot fail: the document consists of text, numbers and lists.
    escape_json(&serde_json::to_string_pretty(&document).unwrap_or_default()) + "\n"
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    column_kind: &'static str,
    original_uri_base_ids: BTreeMap<&'static str, Base>,
    invocations: [Invocation; 1],
    results: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    semantic_version: &'static str,
    information_uri: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
struct Base {
    description: Text,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Text,
}

/// A message.
#[derive(Serialize)]
struct Text {
    text: String,
}

fn text(message: &str) -> Text {
    Text {
        text: visible_text(message).into_owned(),
    }
}
