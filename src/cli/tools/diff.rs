//! `planrun tools diff`: what servers offer now against what is pinned, and what that means for the plans of the project.

use std::collections::BTreeSet;
use std::path::Path;

use clap::{Args, ValueEnum};
use planrun_lang::diag::render::{FileReport, Problem, human, json_findings, visible_line};
use planrun_lang::diag::{Diagnostic, Severity};
use planrun_runs::runs::{PlanText, Workspace};
use planrun_tools::contract::LockedServer;
use serde_json::{Value as Json, json};

use super::renewal::{ChangedTool, Renewal, differences};
use crate::cli::plan_files::{find, load};
use crate::cli::{Exit, Failure, Terminal};

/// Tell what the servers of the project offer now in place of what is pinned, and which plans that breaks.
///
/// Nothing is written. Ends with 1 where a plan has findings that it has not with the contracts that are pinned.
#[derive(Debug, Args)]
pub struct DiffArguments {
    /// Only these servers.
    #[arg(value_name = "SERVER")]
    servers: Vec<String>,
    /// How changes are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// How changes of contracts are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// A line for each tool, then the findings in plans.
    Human,
    /// One document.
    Json,
}

/// What changes for the plans of a project.
#[derive(Default)]
struct Consequences {
    /// By file.
    reports: Vec<FileReport>,
    /// Files and folders that could not be read.
    problems: Vec<Problem>,
}

pub(super) fn run(
    arguments: &DiffArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Workspace::open(Path::new("-"), project)?;
    let renewal = Renewal::of(&workspace, &arguments.servers)?;
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
        Consequences::of(&workspace, &renewed)?
    };
    match arguments.format {
        Format::Human => {
            let lines: String = changes
                .iter()
                .map(|change| change.sentence() + "\n")
                .collect();
            terminal.print(&(lines + &human(&consequences.reports, terminal.look)))?;
        }
        Format::Json => {
            let text = serde_json::to_string_pretty(&document(&changes, &consequences.reports));
            terminal.print_json(&format!("{}\n", text.unwrap_or_default()))?;
        }
    }
    let problems = consequences.problems.iter().map(|problem| &problem.message);
    for problem in renewal.refused.iter().chain(problems) {
        terminal.complain(&visible_line(problem));
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
    /// The errors and warnings that the plans of a project have with other contracts, and have not with those that are
    /// pinned.
    fn of(before: &Workspace, after: &Workspace) -> Result<Self, Failure> {
        let files = find(std::slice::from_ref(&before.project.root))?;
        let mut consequences = Self {
            problems: files.problems,
            ..Self::default()
        };
        for file in &files.files {
            let source = match load(file) {
                Ok(PlanText::Text(source)) => source,
                // It is as broken as it was.
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
