//! `planrun export`: a plan in its JSON form.

use std::path::PathBuf;

use clap::Args;

use super::plan_files::{self, Loaded, PlanFile};
use super::{Exit, Failure, Terminal};
use crate::diag::Diagnostic;
use crate::diag::render::{FileReport, human};
use crate::syntax::{self, json};

const EXAMPLES: &str = "\
Examples:
  planrun export onboarding.plan > onboarding.plan.json
  planrun export - < onboarding.plan                      from standard input";

/// Print a plan in its JSON form, for programs and for models with structured output.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The plan file; `-` is standard input.
    #[arg(value_name = "PLAN")]
    pub file: PathBuf,
}

/// Prints a plan in its JSON form.
///
/// # Errors
/// When the file cannot be read, or the output cannot be written.
pub fn run(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let source = match plan_files::load(&PlanFile::of(&arguments.file))
        .map_err(|problem| Failure::Environment(problem.message))?
    {
        Loaded::Text(source) => source,
        Loaded::Broken(report) => {
            terminal.say_plainly(&human(&[report], terminal.look));
            return Ok(Exit::Findings);
        }
    };
    let parsed = syntax::parse(&source);
    let mut findings: Vec<Diagnostic> = parsed.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    if findings.is_empty() {
        match json::encode(&parsed.file) {
            Ok(value) => {
                terminal.print(&json::text(&value))?;
                return Ok(Exit::Fine);
            }
            Err(finding) => findings.push(*finding),
        }
    }
    json::fit_fixes(&source, &mut findings);
    terminal.say_plainly(&human(&[FileReport::new(source, findings)], terminal.look));
    Ok(Exit::Findings)
}
