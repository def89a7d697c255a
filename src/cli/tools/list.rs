//! `planrun tools list`: lists the tools that plans of the project can call, optionally filtered by a query.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::visible_line;
use planrun_lang::types::{Signature, to_schema};
use planrun_runs::runs::Workspace;
use planrun_tools::contract::ToolIndex;
use serde_json::{Map, Value as Json, json};

use super::show::contract;
use crate::cli::columns::{padded, widest};
use crate::cli::{Exit, Result, Terminal};

/// Maximum number of tools listed for a query.
const MAX_FOUND: usize = 20;

/// List the tools that plans of the project can call
#[derive(Debug, Args)]
pub struct ListArguments {
    /// List only tools that match these words, best match first, at most 20
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,
    /// Print only names
    #[arg(long, conflicts_with = "full")]
    brief: bool,
    /// Print complete contracts
    #[arg(long)]
    full: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// One line for each tool
    Human,
    /// One JSON object of descriptions and JSON Schemas, by tool
    Json,
}

pub fn run(arguments: &ListArguments, workspace: &Workspace, terminal: Terminal) -> Result<Exit> {
    let catalog = workspace.catalog(None);
    // A query without words matches every tool.
    let query = arguments
        .query
        .as_ref()
        .filter(|query| !query.trim().is_empty());
    let mut tools: Vec<Arc<Signature>> = match query {
        Some(query) => {
            let index = ToolIndex::new(catalog.signatures().cloned());
            index.find(query).into_iter().cloned().collect()
        }
        None => catalog.signatures().cloned().collect(),
    };
    if query.is_some() {
        tools.truncate(MAX_FOUND);
    }
    if tools.is_empty() {
        terminal.note("no tools match");
    }
    match arguments.format {
        Format::Human => terminal.print(&arguments.lines(&tools))?,
        Format::Json => terminal.print_document(&arguments.document(&tools))?,
    }
    Ok(Exit::Fine)
}

impl ListArguments {
    fn lines(&self, tools: &[Arc<Signature>]) -> String {
        if self.full {
            let contracts: Vec<String> = tools.iter().map(|tool| contract(tool)).collect();
            return contracts.join("\n");
        }
        let paths = tools
            .iter()
            .map(|tool| visible_line(&tool.path()).into_owned());
        let paths: Vec<String> = paths.collect();
        let width = widest(paths.iter().map(|path| &**path));
        let lines = tools.iter().zip(&paths).map(|(tool, path)| {
            if self.brief {
                return format!("{path}\n");
            }
            let line = format!(
                "{}  {:12}  {}",
                padded(path, width),
                tool.effect.name(),
                visible_line(tool.first_sentence())
            );
            format!("{}\n", line.trim_end())
        });
        lines.collect()
    }

    /// Returns each tool by its name: its first sentence with `--brief`, everything with `--full`, otherwise what
    /// models see.
    fn document(&self, tools: &[Arc<Signature>]) -> Map<String, Json> {
        let entry = |tool: &Signature| {
            if self.brief {
                return Json::from(tool.first_sentence());
            }
            let mut entry =
                json!({ "description": tool.description, "input": tool.arguments_schema() });
            if self.full {
                let declared = tool.output_schema.as_ref();
                let output = declared.map_or_else(
                    || to_schema(&tool.returns),
                    |contract| contract.schema().clone(),
                );
                entry["output"] = output;
                entry["effect"] = tool.effect.name().into();
                entry["contract"] = tool.digest().into();
            }
            entry
        };
        tools
            .iter()
            .map(|tool| (tool.path(), entry(tool)))
            .collect()
    }
}
