//! `planrun tools list`: every tool that plans of the project can call.

use std::path::Path;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::visible_line;
use planrun_lang::types::Signature;
use planrun_runs::runs::Workspace;
use serde_json::{Map, Value as Json, json};

use crate::cli::{Exit, Failure, Terminal};

/// List every tool that plans of the project can call.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// How the list is printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// How a list of tools is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// A line for each tool.
    Human,
    /// An object of descriptions and JSON Schemas, by tool.
    Json,
}

pub(super) fn run(
    arguments: &ListArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Workspace::open(Path::new("-"), project)?;
    let catalog = workspace.catalog(None);
    if arguments.format == Format::Json {
        let tools: Map<String, Json> = catalog
            .signatures()
            .map(|tool| (tool.path(), described(tool)))
            .collect();
        let text = serde_json::to_string_pretty(&tools).unwrap_or_default();
        terminal.print_json(&text)?;
        return Ok(Exit::Fine);
    }
    let width = catalog.signatures().map(|tool| tool.path().chars().count());
    let width = width.max().unwrap_or_default();
    let lines = catalog.signatures().map(|tool| {
        let (path, class) = (tool.path(), tool.effect.name());
        let line = format!("{path:width$}  {class:12}  {}", first_sentence(tool));
        format!("{}\n", line.trim_end())
    });
    terminal.print(&lines.collect::<String>())?;
    Ok(Exit::Fine)
}

/// A tool as models are shown it.
fn described(tool: &Signature) -> Json {
    json!({ "description": tool.description, "input": tool.arguments_schema() })
}

/// What the tool is for, in one line.
fn first_sentence(tool: &Signature) -> String {
    let text = tool.description.as_deref().unwrap_or_default();
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    visible_line(&line[..end]).to_string()
}
