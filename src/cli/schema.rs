//! `planrun schema`: prints the JSON Schema of plans in the JSON form, for all plans or for the tools of a project.

use std::path::Path;

use clap::Args;
use planrun_lang::diag::render::human;
use planrun_lang::syntax::json::{self, Breadth};

use super::{Exit, Result, Terminal};
use planrun_runs::runs::Workspace;

const EXAMPLES: &str = "\
Examples:
  planrun schema > plan.schema.json             for editors and validators
  planrun schema --catalog --project plans      for the structured output of a model
  planrun schema --catalog --lean               where nullable keys are counted";

/// Print the JSON Schema of plans in the JSON form
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Restrict the schema to the tools of the project, in the subset that structured output supports
    #[arg(long)]
    pub catalog: bool,
    /// Omit every optional key, so that no key is nullable
    #[arg(long, requires = "catalog")]
    pub lean: bool,
}

/// Prints the schema. Returns an error if the project cannot be opened, or the output cannot be written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    if !arguments.catalog {
        terminal.print_json(&json::text(&json::schema()))?;
        return Ok(Exit::Fine);
    }
    let workspace = Workspace::open(Path::new("-"), project)?;
    if !workspace.findings().is_empty() {
        terminal.eprint(&human(&workspace.findings(), terminal.style));
    }
    let breadth = if arguments.lean {
        Breadth::Lean
    } else {
        Breadth::Full
    };
    let catalog = workspace.catalog(None);
    terminal.print_json(&json::text(&json::narrowed(
        catalog.signatures().map(AsRef::as_ref),
        breadth,
    )))?;
    Ok(Exit::Fine)
}
