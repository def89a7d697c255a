//! `planrun tools show`: prints the contract of one tool, as a plan would declare it.

use std::path::Path;

use clap::Args;
use planrun_lang::diag::nearest;
use planrun_lang::diag::render::visible_text;
use planrun_lang::format::format;
use planrun_lang::sema::declaration;
use planrun_lang::source::SourceFile;
use planrun_lang::types::Signature;
use planrun_runs::runs::Workspace;

use crate::cli::{Exit, Failure, Terminal};

/// Show the contract of a tool, in the language of plans
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// Tool to show, such as `notes.search`
    #[arg(value_name = "TOOL")]
    tool: String,
}

pub(super) fn run(
    arguments: &ShowArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Workspace::open(Path::new("-"), project)?;
    let catalog = workspace.catalog(None);
    let name = &arguments.tool;
    let Some(tool) = catalog.signatures().find(|tool| tool.path() == *name) else {
        let paths: Vec<String> = catalog.signatures().map(|tool| tool.path()).collect();
        let near = nearest(name, paths.iter().map(String::as_str));
        let near = near.map(|near| format!("; did you mean `{}`?", near.name));
        let near = near.unwrap_or_else(|| "; `planrun tools list` lists all tools".to_owned());
        return Err(Failure::Usage(format!("there is no tool `{name}`{near}")));
    };
    terminal.print(&contract(tool))?;
    Ok(Exit::Fine)
}

/// Returns the contract of a tool with its documentation, as a plan would declare it.
pub(super) fn contract(tool: &Signature) -> String {
    let text = declaration(tool);
    let formatted = format(&SourceFile::new("contract", text.clone()));
    // The documentation comes from a server, so control characters are escaped.
    visible_text(&formatted.unwrap_or(text)).into_owned()
}
