//! `planrun tools show`: prints the contract of one tool, as a plan would declare it.

use clap::Args;
use planrun_lang::diag::render::{command, visible_text};
use planrun_lang::format::format;
use planrun_lang::sema::declaration;
use planrun_lang::source::SourceFile;
use planrun_lang::types::Signature;
use planrun_runs::runs::Workspace;

use crate::cli::suggest::did_you_mean;
use crate::cli::{Exit, Failure, Result, Terminal};

/// Show the contract of a tool, in the language of plans
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// Tool to show, such as `notes.search`
    #[arg(value_name = "TOOL")]
    tool: String,
}

pub fn run(arguments: &ShowArguments, workspace: &Workspace, terminal: Terminal) -> Result<Exit> {
    let catalog = workspace.catalog(None);
    let name = &arguments.tool;
    let Some(tool) = catalog.signatures().find(|tool| tool.path() == *name) else {
        let paths: Vec<String> = catalog.signatures().map(|tool| tool.path()).collect();
        return Err(unknown_tool(name, &paths));
    };
    terminal.print(&contract(tool))?;
    Ok(Exit::Fine)
}

/// Returns the error for a tool that is none of these.
pub(super) fn unknown_tool(name: &str, known: &[String]) -> Failure {
    let mut hint = did_you_mean(name, known.iter().map(String::as_str));
    if hint.is_empty() {
        hint = format!("; `{}` lists all tools", command("tools list"));
    }
    Failure::Usage(format!("there is no tool `{name}`{hint}"))
}

/// Returns the contract of a tool with its documentation, as a plan would declare it.
pub(super) fn contract(tool: &Signature) -> String {
    let text = declaration(tool);
    let formatted = format(&SourceFile::new("contract", text.clone()));
    // The documentation comes from a server, so control characters are escaped.
    visible_text(&formatted.unwrap_or(text)).into_owned()
}
