//! `planrun export`: converts a plan between its text and its JSON form, and derives plans with fixed inputs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{FileReport, human, visible_text};
use planrun_lang::format;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{self, json};

use super::arguments::key_value;
use super::plan_files::{self, PlanFile};
use super::{Exit, Failure, Result, Terminal, instance};
use planrun_runs::runs::{PlanText, Workspace};

const EXAMPLES: &str = "\
Examples:
  planrun export onboarding.plan > onboarding.plan.json
  planrun export - < onboarding.plan                      from standard input
  planrun export onboarding.plan.json                     back to text
  planrun export onboarding.plan --strict                 as an example for a model
  planrun export onboarding.plan --name hire_ada -i name=Ada    a plan with an input filled in";

/// Convert a plan between text and JSON, or fix some of its inputs
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Plan file, or `-` for standard input
    #[arg(value_name = "PLAN")]
    pub file: PathBuf,
    /// Output form [default: the form that the file does not have]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Print every key, with null for omitted ones, and values as expressions: the shape that `planrun schema
    /// --catalog` describes
    #[arg(long, conflicts_with = "format")]
    pub strict: bool,
    /// Fix an input to a value, parsed as its declared type; it becomes a value in the body of the plan (repeatable)
    #[arg(short = 'i', value_name = "KEY=VALUE", value_parser = key_value, conflicts_with = "strict")]
    pub inputs: Vec<(String, String)>,
    /// New name of the plan
    #[arg(long, value_name = "NAME", conflicts_with = "strict")]
    pub name: Option<String>,
    /// Plan to fix the inputs of, if the file has several
    #[arg(long, value_name = "NAME")]
    pub plan: Option<String>,
}

/// The forms of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// JSON, for programs and for models with structured output
    Json,
    /// Canonical text
    Text,
}

/// Prints a plan in its other form, or with some of its inputs fixed. Returns an error if the file cannot be read, the
/// project or an input cannot be used, or the output cannot be written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    if !arguments.inputs.is_empty() || arguments.name.is_some() {
        return fixed(arguments, project, terminal);
    }
    let source = match plan_files::load(&PlanFile::of(&arguments.file))? {
        PlanText::Text(source) => source,
        PlanText::Broken(report) => {
            terminal.eprint(&human(&[report], terminal.style));
            return Ok(Exit::Findings);
        }
    };
    let parsed = syntax::parse(&source);
    let other = if json::is_json(&source) && !arguments.strict {
        Format::Text
    } else {
        Format::Json
    };
    let mut findings: Vec<Diagnostic> = parsed
        .diagnostics
        .into_iter()
        .filter(Diagnostic::is_error)
        .collect();
    if findings.is_empty() && arguments.format.unwrap_or(other) == Format::Text {
        let text = format::print(&parsed.file);
        let text =
            text.ok_or_else(|| Failure::Environment("the plan is nested too deeply".to_owned()))?;
        terminal.print_exactly(&text)?;
        return Ok(Exit::Fine);
    }
    if findings.is_empty() {
        match json::encode(&parsed.file) {
            Ok(mut value) => {
                if arguments.strict {
                    let catalog = Workspace::open(&arguments.file, project)?.catalog(None);
                    let completed = json::complete(&value, catalog.signatures().map(AsRef::as_ref));
                    for misfit in &completed.misfits {
                        let note =
                            format!("note: `planrun schema --catalog` has no place for {misfit}");
                        terminal.note(&visible_text(&note));
                    }
                    value = completed.file;
                }
                terminal.print_json(&json::text(&value))?;
                return Ok(Exit::Fine);
            }
            Err(finding) => findings.push(*finding),
        }
    }
    json::fit_fixes(&source, &mut findings);
    terminal.eprint(&human(&[FileReport::new(source, findings)], terminal.style));
    Ok(Exit::Findings)
}

/// Prints a plan with some of its inputs fixed, in the form of its file unless `--format` is given.
fn fixed(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let workspace = Arc::new(Workspace::open(&arguments.file, project)?);
    let Some(checked) = plan_files::checked_plan(
        &workspace,
        &arguments.file,
        arguments.plan.as_deref(),
        terminal,
    )?
    else {
        return Ok(Exit::Findings);
    };
    let made = instance::of(&checked, &arguments.inputs, arguments.name.as_deref())?;
    for caller in &made.removed {
        let called = &checked.plan.name;
        let note = format!(
            "note: `{caller}` is not copied: directly or through another plan, it calls `{called}` with all its inputs"
        );
        terminal.note(&visible_text(&note));
    }
    let source = SourceFile::new(
        checked.source.name().replace(json::ENDING, ".plan"),
        made.text,
    );
    let mut findings = workspace.check(&source).diagnostics;
    findings.retain(Diagnostic::is_error);
    if !findings.is_empty() {
        terminal.eprint(&human(&[FileReport::new(source, findings)], terminal.style));
        return Ok(Exit::Findings);
    }
    let same = if json::is_json(&checked.source) {
        Format::Json
    } else {
        Format::Text
    };
    match arguments.format.unwrap_or(same) {
        Format::Text => terminal.print_exactly(source.text())?,
        Format::Json => match json::encode(&syntax::parse(&source).file) {
            Ok(value) => terminal.print_json(&json::text(&value))?,
            Err(finding) => {
                terminal.eprint(&human(
                    &[FileReport::new(source, vec![*finding])],
                    terminal.style,
                ));
                return Ok(Exit::Findings);
            }
        },
    }
    Ok(Exit::Fine)
}
