//! `planrun explain`: what a code means, why it hurts, how it looks wrong and right.

use clap::Args;
use owo_colors::OwoColorize;
use planrun_lang::diag::render::{Look, visible_line};
use planrun_lang::diag::{Code, closest, code_named, codes};
use planrun_lang::types::Signature;
use planrun_tools::tools::{BUILT_IN, pages};

use super::page::page;
use super::{Exit, Failure, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun explain                 every code, a line each
  planrun explain unknown-field   one code's page
  planrun explain http.fetch      the page of a built-in tool
  planrun explain http            the built-in tools of a namespace
  planrun explain --language      the language in 4,000 tokens";

/// Explain a code that `check` reports, or a built-in tool.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The code, a tool such as `http.fetch`, or a namespace such as `http`; without one, all are listed.
    #[arg(value_name = "CODE|TOOL")]
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
        Some(name) => match tools(name, terminal.look) {
            Some(told) => told,
            None => explanation(find(name)?, terminal.look),
        },
        None => format!("{}\n{}", list(terminal.look), all_tools(terminal.look)),
    };
    terminal.print(&text)?;
    Ok(Exit::Fine)
}

/// The code, also where it was copied together with its severity, as in `error[unknown-field]`.
fn find(name: &str) -> Result<&'static Code, Failure> {
    let bare = name
        .split_once('[')
        .map_or(name, |(_, rest)| rest.trim_end_matches(']'));
    code_named(bare).map_err(|unknown| {
        let built_in = pages::built_in();
        let paths: Vec<String> = built_in.iter().map(|tool| tool.path()).collect();
        let names = paths.iter().map(String::as_str).chain(BUILT_IN);
        Failure::Usage(match closest(bare, names) {
            Some(near) if bare.contains('.') || unknown.nearest.is_none() => {
                format!(
                    "there is no code or built-in tool `{}`; did you mean `{near}`?",
                    visible_line(bare)
                )
            }
            _ => unknown.to_string(),
        })
    })
}

/// The page of a built-in tool, or the tools of a namespace, where the name is one.
fn tools(name: &str, look: Look) -> Option<String> {
    let tools = pages::built_in();
    if let Some(tool) = tools.iter().find(|tool| tool.path() == name) {
        let title = if look.color {
            name.bold().to_string()
        } else {
            name.to_owned()
        };
        return Some(format!(
            "{title} (built-in tool)\n\n{}",
            page(&pages::page(tool), look)
        ));
    }
    let own: Vec<_> = tools
        .iter()
        .filter(|tool| &*tool.namespace == name)
        .collect();
    (!own.is_empty()).then(|| own.into_iter().map(|tool| tool_line(tool)).collect())
}

fn all_tools(look: Look) -> String {
    let title = if look.color {
        "Built-in tools".bold().to_string()
    } else {
        "Built-in tools".to_owned()
    };
    format!(
        "{title}\n{}",
        pages::built_in()
            .iter()
            .map(|tool| tool_line(tool))
            .collect::<String>()
    )
}

fn tool_line(tool: &Signature) -> String {
    format!(
        "  {:<12}  {:<10}  {}\n",
        tool.path(),
        tool.effect.name(),
        tool.description.as_deref().unwrap_or_default()
    )
}

fn explanation(code: &Code, look: Look) -> String {
    let name = if look.color {
        code.name.bold().to_string()
    } else {
        code.name.to_owned()
    };
    format!("{name} ({})\n\n{}", code.severity, page(code.page, look))
}

fn list(look: Look) -> String {
    let widest = codes::all().map(|code| code.name.len()).max().unwrap_or(0);
    let groups = codes::GROUPS.iter().map(|(title, codes)| {
        let title = if look.color {
            title.bold().to_string()
        } else {
            (*title).to_owned()
        };
        let lines: String = codes.iter().map(|code| line(code, widest)).collect();
        format!("{title}\n{lines}")
    });
    groups.collect::<Vec<_>>().join("\n")
}

fn line(code: &Code, widest: usize) -> String {
    let meaning = code.page.lines().next().unwrap_or("");
    let severity = code.severity.to_string();
    format!("  {:<widest$}  {severity:<7}  {meaning}", code.name)
        .trim_end()
        .to_owned()
        + "\n"
}
