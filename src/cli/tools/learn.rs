//! `planrun tools learn`: records the observed result types of tools whose contracts declare none, next to the
//! contracts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use planrun_lang::diag::render::visible_line;
use planrun_lang::types::{Shape, Type, to_schema};
use planrun_runs::runs::{Planrun, Workspace};
use planrun_test::plantest::recording::{Recorded, Recording};
use planrun_tools::contract::{Lock, ObservedResults};
use planrun_tools::project::journal_file;

use super::lock::write;
use super::show::unknown_tool;
use crate::cli::{Exit, Failure, Result, Terminal};

/// Record the observed result types of tools whose contracts declare none
///
/// Reads the runs in the journal of the project, and the given recordings. Types and names of fields are written to
/// planrun.lock, but no values. `planrun check` then reports a plan that reads a field which no observed result had
/// (`observed-read`).
#[derive(Debug, Args)]
pub struct LearnArguments {
    /// Learn only these tools, such as `notes.search`
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    /// Also learn from this recording (repeatable)
    #[arg(long, value_name = "FILE")]
    recording: Vec<PathBuf>,
}

pub fn run(arguments: &LearnArguments, workspace: &Workspace, terminal: Terminal) -> Result<Exit> {
    let shapes = arguments.shapes(workspace)?;
    let catalog = workspace.catalog(None);
    let paths: Vec<String> = catalog.signatures().map(|tool| tool.path()).collect();
    if let Some(name) = arguments.tools.iter().find(|name| !paths.contains(name)) {
        return Err(unknown_tool(name, &paths));
    }
    let mut lock = Lock::clone(&workspace.project.lock);
    let mut lines = Vec::new();
    for tool in catalog.signatures() {
        let path = tool.path();
        let is_selected = arguments.tools.is_empty() || arguments.tools.contains(&path);
        let shape = shapes
            .get(&*path)
            .filter(|_| is_selected && tool.returns == Type::Any);
        let Some(shape) = shape else { continue };
        let ty = shape.ty();
        if ty == Type::Any {
            continue;
        }
        let returns = to_schema(&ty);
        let results = shape.seen;
        lines.push(format!("{}: {ty} ({results} seen)\n", visible_line(&path)));
        lock.observed
            .insert(path, ObservedResults { results, returns });
    }
    if lines.is_empty() {
        terminal
            .note("no results were observed of tools whose contracts do not declare a result type");
    }
    terminal.print(&lines.concat())?;
    write(workspace, &lock)?;
    Ok(Exit::Fine)
}

impl LearnArguments {
    fn shapes(&self, workspace: &Workspace) -> Result<BTreeMap<Arc<str>, Shape>> {
        let has_journal = workspace
            .host
            .kind(&journal_file(&workspace.location.folder))
            .is_ok();
        let mut shapes = if has_journal {
            Planrun::at(workspace.host.clone(), workspace.location.clone()).learned()?
        } else {
            BTreeMap::new()
        };
        for path in &self.recording {
            let unusable = |problem: &dyn std::fmt::Display| {
                Failure::Environment(format!("`{}` cannot be used: {problem}", path.display()))
            };
            let text = workspace
                .host
                .read_file(path)
                .map_err(|error| unusable(&error))?;
            let recording = Recording::read(path, &text).map_err(|error| unusable(&error))?;
            for call in recording.calls() {
                if let Recorded::Value(value) = &call.outcome {
                    shapes.entry(call.tool.clone()).or_default().add(value);
                }
            }
        }
        Ok(shapes)
    }
}
