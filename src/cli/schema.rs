//! `planrun schema`: the JSON Schema of the JSON form.

use clap::Args;

use super::{Exit, Failure, Terminal};
use crate::syntax::json;

const EXAMPLES: &str = "\
Examples:
  planrun schema > plan.schema.json    for editors and validators";

/// Print the JSON Schema of the JSON form of plans.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {}

/// Prints the schema.
///
/// # Errors
/// When the output cannot be written.
pub fn run(_: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    terminal.print(&json::text(&json::schema()))?;
    Ok(Exit::Fine)
}
