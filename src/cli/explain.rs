//! `planrun explain`: what a code means, why it hurts, how it looks wrong and right.

use clap::Args;
use owo_colors::OwoColorize;

use super::page::page;
use super::{Exit, Failure, Terminal};
use crate::diag::render::Look;
use crate::diag::{Code, code_named, codes};

const EXAMPLES: &str = "\
Examples:
  planrun explain                 every code, a line each
  planrun explain unknown-field   one code's page
  planrun explain --language      the language in 4,000 tokens";

/// Explain a code that `check` reports.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The code; without one, all are listed.
    #[arg(value_name = "CODE")]
    pub code: Option<String>,
    /// Print the whole language in 4,000 tokens, for the prompt of a model.
    #[arg(long, conflicts_with = "code")]
    pub language: bool,
}

/// The language, as short as it can be told.
const LANGUAGE: &str = include_str!("language.md");

/// Prints a code's page, or the list of codes.
///
/// # Errors
/// When there is no such code, or the output cannot be written.
pub fn run(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    if arguments.language {
        terminal.print(LANGUAGE)?;
        return Ok(Exit::Fine);
    }
    let text = match &arguments.code {
        Some(name) => explanation(find(name)?, terminal.look),
        None => list(terminal.look),
    };
    terminal.print(&text)?;
    Ok(Exit::Fine)
}

/// The code, also where it was copied together with its severity, as in `error[unknown-field]`.
fn find(name: &str) -> Result<&'static Code, Failure> {
    let bare = name.split_once('[').map_or(name, |(_, rest)| rest.trim_end_matches(']'));
    code_named(bare).map_err(|unknown| Failure::Usage(unknown.to_string()))
}

fn explanation(code: &Code, look: Look) -> String {
    let name = if look.color { code.name.bold().to_string() } else { code.name.to_owned() };
    format!("{name} ({})\n\n{}", code.severity, page(code.page, look))
}

fn list(look: Look) -> String {
    let widest = codes::all().map(|code| code.name.len()).max().unwrap_or(0);
    let groups = codes::GROUPS.iter().map(|(title, codes)| {
        let title = if look.color { title.bold().to_string() } else { (*title).to_owned() };
        let lines: String = codes.iter().map(|code| line(code, widest)).collect();
        format!("{title}\n{lines}")
    });
    groups.collect::<Vec<_>>().join("\n")
}

fn line(code: &Code, widest: usize) -> String {
    let meaning = code.page.lines().next().unwrap_or("");
    let severity = code.severity.to_string();
    format!("  {:<widest$}  {severity:<7}  {meaning}", code.name).trim_end().to_owned() + "\n"
}
