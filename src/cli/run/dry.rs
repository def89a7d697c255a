//! `planrun run --dry-run`: what would be done, as far as it is known, and nothing is done.

use std::fmt::Write as _;
use std::time::Duration;

use planrun_lang::bounds::{Undoing, Use};
use planrun_lang::diag::render::visible_line;
use planrun_lang::value::{Value, shortened};

use super::drive::OutputOptions;
use crate::cli::arguments::RunFormat;
use crate::cli::{Exit, Failure};
use planrun_core::run::short_duration;
use planrun_runs::forecast::{Forecast, Item, Known, Runs, Unknown};

/// Characters of a value that people are shown.
const MAX_OF_A_VALUE: usize = 100;

/// Prints what a run would do.
///
/// # Errors
/// When it cannot be written, or events were asked for.
pub fn print(forecast: &Forecast, look: OutputOptions) -> Result<Exit, Failure> {
    match look.format {
        RunFormat::Human | RunFormat::Quiet => look.terminal.print(&shown(forecast))?,
        RunFormat::Json => {
            let text = serde_json::to_string_pretty(forecast).unwrap_or_default();
            look.terminal.print_json(&format!("{text}\n"))?;
        }
        RunFormat::Ndjson => {
            let why = "a dry run has no events; write `--format json`".to_owned();
            return Err(Failure::Usage(why));
        }
    }
    Ok(Exit::Fine)
}

fn shown(forecast: &Forecast) -> String {
    let mut text = format!(
        "dry run of {}: nothing is called\n",
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

/// `desk.close_ticket at most 50 effect; undone by desk.reopen_ticket`
fn bound(used: &Use) -> String {
    let mut parts = vec![used.told()];
    parts.extend(used.undo.as_ref().map(Undoing::told));
    for argument in used
        .arguments
        .iter()
        .filter(|argument| !argument.strangers.is_empty())
    {
        let tools = argument.strangers.join(", ");
        parts.push(format!(
            "`{}` may hold what strangers write in {tools}",
            argument.name
        ));
    }
    visible_line(&parts.join("; ")).into_owned()
}

/// `mail  effect  email.send_email, perhaps`
fn head(item: &Item) -> String {
    let mut parts = vec![visible_line(&item.path).into_owned()];
    parts.extend(item.effect.map(str::to_owned));
    parts.push(item.tool.as_deref().map_or_else(
        || item.kind.to_owned(),
        |tool| visible_line(tool).into_owned(),
    ));
    let fate = match (item.runs, item.reason) {
        (Runs::Yes, _) => None,
        (Runs::Maybe, _) => Some(", perhaps"),
        (Runs::No, Some("not needed")) => Some(", not needed"),
        (Runs::No, Some("replied")) => Some(", not after the reply"),
        (Runs::No, _) => Some(", not under its condition"),
    };
    format!("{}{}", parts.join("  "), fate.unwrap_or_default())
}

/// Arguments, the gate before it, and what it needs to be allowed.
fn body(item: &Item) -> Vec<String> {
    let value = |(name, json): (&String, &serde_json::Value)| {
        format!("{}: {}", visible_line(name), short(&json.to_string()))
    };
    let mut lines: Vec<String> = item.arguments.iter().map(value).collect();
    lines.extend(
        item.unknown
            .iter()
            .map(|(name, unknown)| format!("{}: {}", visible_line(name), stands(unknown))),
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
            .map(|expires| format!(", for {}", spoken(expires)))
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

/// A length of time as people say it.
fn spoken(expires: &Known) -> String {
    let Known::Value {
        value: Value::Duration(nanoseconds),
    } = expires
    else {
        return known(expires);
    };
    short_duration(Duration::from_nanos(
        u64::try_from(*nanoseconds).unwrap_or(0),
    ))
}

fn known(known: &Known) -> String {
    match known {
        Known::Value { value } => short(&value.to_json_text()),
        Known::Unknown { unknown } => stands(unknown),
    }
}

/// What stands for something that is not known: `<profile.email> after profile`.
fn stands(unknown: &Unknown) -> String {
    let expression = unknown
        .expression
        .as_deref()
        .map_or("<not known>".to_owned(), |text| {
            format!("<{}>", short(text))
        });
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
    shortened(&visible_line(text), MAX_OF_A_VALUE)
}
