//! `planrun tools diff`: compares what servers offer now with the pinned contracts, and reports the effect on plans.

use std::collections::BTreeSet;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::{FileReport, Problem, human, json_findings, visible_line};
use planrun_lang::diag::{Diagnostic, Severity};
use planrun_runs::runs::{PlanText, Workspace};
use planrun_tools::contract::LockedServer;
use serde_json::{Value as Json, json};

use super::renewal::{ChangedTool, Renewal, differences};
use crate::cli::plan_files::{find, load};
use crate::cli::{Exit, Result, Terminal};

/// Compare the tools that servers offer now with the pinned contracts, and report which plans break
///
/// Nothing is written. The exit code is 1 if a plan has errors or warnings that it does not have with the pinned
/// contracts.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// Compare only these servers
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// One line for each changed tool, then the diagnostics of plans
    Human,
    /// One JSON document
    Json,
}

/// The effects of changed contracts on the plans of a project.
#[derive(Default)]
struct Consequences {
    /// By file.
    reports: Vec<FileReport>,
    /// Files and folders that could not be read.
    problems: Vec<Problem>,
}

pub fn run(arguments: &DiffArguments, workspace: &Workspace, terminal: Terminal) -> Result<Exit> {
    let renewal = Renewal::of(workspace, &arguments.servers)?;
    let nothing = LockedServer::default();
    let (before, after) = (&workspace.project.lock.servers, &renewal.lock.servers);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changes: Vec<ChangedTool> = names
        .into_iter()
        .flat_map(|name| {
            let version = |of| -> &LockedServer { of };
            let was = before.get(name).map_or(&nothing, version);
            differences(name, was, after.get(name).map_or(&nothing, version))
        })
        .collect();
    let consequences = if changes.is_empty() {
        Consequences::default()
    } else {
        let renewed = workspace.with_lock(renewal.lock.clone())?;
        Consequences::of(workspace, &renewed)?
    };
    match arguments.format {
        Format::Human => {
            let lines: String = changes
                .iter()
                .map(|change| change.sentence() + "\n")
                .collect();
            terminal.print(&(lines + &human(&consequences.reports, terminal.style)))?;
        }
        Format::Json => terminal.print_document(&document(&changes, &consequences.reports))?,
    }
    let problems = consequences.problems.iter().map(|problem| &problem.message);
    for problem in renewal.refused.iter().chain(problems) {
        terminal.error(&visible_line(problem));
    }
    Ok(
        if !renewal.refused.is_empty() || !consequences.problems.is_empty() {
            Exit::Environment
        } else if consequences.reports.is_empty() {
            Exit::Fine
        } else {
            Exit::Findings
        },
    )
}

impl Consequences {
    /// Returns the errors and warnings that the plans of a project have with the new contracts, but not with the
    /// pinned ones.
    fn of(before: &Workspace, after: &Workspace) -> Result<Self> {
        let files = find(std::slice::from_ref(&before.project.root))?;
        let mut consequences = Self {
            problems: files.problems,
            ..Self::default()
        };
        for file in &files.files {
            let source = match load(file) {
                Ok(PlanText::Text(source)) => source,
                // The file is invalid with either contract.
                Ok(PlanText::Broken(_)) => continue,
                Err(problem) => {
                    consequences.problems.push(problem);
                    continue;
                }
            };
            let was = before.check(&source).diagnostics;
            let is_new = |found: &Diagnostic| {
                let key = |one: &Diagnostic| (one.code.name, one.span, one.message.clone());
                found.severity <= Severity::Warning
                    && was.iter().all(|known| key(known) != key(found))
            };
            let found = after.check(&source).diagnostics.into_iter();
            let found: Vec<Diagnostic> = found.filter(is_new).collect();
            if !found.is_empty() {
                consequences.reports.push(FileReport::new(source, found));
            }
        }
        Ok(consequences)
    }
}

fn document(changes: &[ChangedTool], reports: &[FileReport]) -> Json {
    let tools: Vec<Json> = changes
        .iter()
        .map(|change| {
            let tool = format!("{}.{}", change.server, change.tool);
            json!({ "tool": tool, "change": change.word(), "why": change.why() })
        })
        .collect();
    json!({ "version": 1, "tools": tools, "diagnostics": json_findings(reports) })
}
