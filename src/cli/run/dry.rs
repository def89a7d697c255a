//! `planrun run --dry-run`: prints what a run would do as far as it is known, without executing anything.

use std::fmt::Write as _;

use planrun_lang::bounds::{Undoing, Use};
use planrun_lang::diag::render::visible_line;
use planrun_lang::value::{Value, saturating_duration, shortened};

use super::drive::OutputOptions;
use crate::cli::arguments::RunFormat;
use crate::cli::{Exit, Failure, Result};
use planrun_core::run::short_duration;
use planrun_runs::forecast::{Forecast, Item, Known, Runs, Unknown};

/// Maximum number of characters printed of a value.
const MAX_VALUE_CHARS: usize = 100;

/// Prints what a run would do. Returns an error if the output cannot be written, or events were requested.
pub fn print(forecast: &Forecast, options: OutputOptions) -> Result<Exit> {
    match options.format {
        RunFormat::Human | RunFormat::Quiet => options.terminal.print(&render(forecast))?,
        RunFormat::Json => options.terminal.print_document(forecast)?,
        RunFormat::Ndjson => {
            let why = "a dry run has no events; use `--format json`".to_owned();
            return Err(Failure::Usage(why));
        }
    }
    Ok(Exit::Fine)
}

fn render(forecast: &Forecast) -> String {
    let mut text = format!(
        "dry run of {}: no tool is called\n",
        visible_line(&forecast.plan)
    );
    // Writing to a string cannot fail.
    for item in &forecast.steps {
        let _ = writeln!(text, "  {}", head(item));
        for line in body(item) {
            let _ = writeln!(text, "      {line}");
        }
    }
    if forecast.truncated {
        text.push_str("  and more steps\n");
    }
    text.push_str(if forecast.bounds.uses.is_empty() {
        "calls: none\n"
    } else {
        "calls:\n"
    });
    for used in &forecast.bounds.uses {
        let _ = writeln!(text, "  {}", bound(used));
    }
    if let Some(why) = &forecast.fails {
        let _ = writeln!(text, "fails: {}", visible_line(why));
    }
    if let Some(reply) = &forecast.reply {
        let _ = writeln!(text, "reply: {}", known(reply));
    }
    text
}

/// Formats the bound of a tool: `desk.close_ticket at most 50 effect; undone by desk.reopen_ticket`.
fn bound(used: &Use) -> String {
    let mut parts = vec![used.describe()];
    parts.extend(used.undo.as_ref().map(Undoing::describe));
    for argument in used
        .arguments
        .iter()
        .filter(|argument| !argument.strangers.is_empty())
    {
        let tools = argument.strangers.join(", ");
        parts.push(format!(
            "`{}` may contain untrusted text from {tools}",
            argument.name
        ));
    }
    visible_line(&parts.join("; ")).into_owned()
}

/// Formats the first line of a step: `mail  effect  email.send_email, perhaps`.
fn head(item: &Item) -> String {
    let mut parts = vec![visible_line(&item.path).into_owned()];
    parts.extend(item.effect.map(str::to_owned));
    parts.push(item.tool.as_deref().map_or_else(
        || item.kind.to_owned(),
        |tool| visible_line(tool).into_owned(),
    ));
    let fate = match (item.runs, item.reason) {
        (Runs::Yes, _) => None,
        (Runs::Maybe, _) => Some(", may run"),
        (Runs::No, Some("not needed")) => Some(", not needed"),
        (Runs::No, Some("replied")) => Some(", not reached after the reply"),
        (Runs::No, Some("failed")) => Some(", not reached after the failure"),
        (Runs::No, _) => Some(", skipped by its condition"),
    };
    format!("{}{}", parts.join("  "), fate.unwrap_or_default())
}

/// Returns the arguments of a step, its confirmation, and the permission it needs.
fn body(item: &Item) -> Vec<String> {
    let value = |(name, json): (&String, &serde_json::Value)| {
        format!("{}: {}", visible_line(name), short(&json.to_string()))
    };
    let mut lines: Vec<String> = item.arguments.iter().map(value).collect();
    lines.extend(
        item.unknown
            .iter()
            .map(|(name, unknown)| format!("{}: {}", visible_line(name), placeholder(unknown))),
    );
    if let Some(gate) = &item.confirm {
        let role = gate
            .by
            .as_ref()
            .map(|by| format!(" {}", known(by)))
            .unwrap_or_default();
        let expires = gate
            .expires
            .as_ref()
            .map(|expires| format!(", open for {}", format_duration(expires)))
            .unwrap_or_default();
        lines.push(format!("asks{role}{expires}: {}", known(&gate.text)));
    }
    if let Some(permission) = &item.permission {
        let granted = if permission.granted {
            "allowed"
        } else {
            "denied"
        };
        lines.push(format!(
            "allow {} {}: {granted}",
            permission.allow,
            visible_line(&permission.thing)
        ));
    }
    lines
}

fn format_duration(expires: &Known) -> String {
    let Known::Value {
        value: Value::Duration(nanoseconds),
    } = expires
    else {
        return known(expires);
    };
    short_duration(saturating_duration(*nanoseconds))
}

fn known(known: &Known) -> String {
    match known {
        Known::Value { value } => short(&value.to_json_text()),
        Known::Unknown { unknown } => placeholder(unknown),
    }
}

/// Returns the placeholder for an unknown value: `<profile.email> after profile`.
fn placeholder(unknown: &Unknown) -> String {
    let expression = unknown
        .expression
        .as_deref()
        .map_or("<unknown>".to_owned(), |text| format!("<{}>", short(text)));
    let after = if unknown.after.is_empty() {
        String::new()
    } else {
        format!(" after {}", unknown.after.join(", "))
    };
    let fails = unknown
        .fails
        .as_ref()
        .map(|why| format!(" fails: {}", short(why)))
        .unwrap_or_default();
    format!("{expression}{}{fails}", visible_line(&after))
}

fn short(text: &str) -> String {
    shortened(&visible_line(text), MAX_VALUE_CHARS)
}
