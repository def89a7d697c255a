//! `planrun tools learn`: what results looked like that no contract describes, written down beside the contracts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use planrun_lang::diag::render::visible_line;
use planrun_lang::types::{Shape, Type, to_schema};
use planrun_runs::runs::{Planrun, Workspace};
use planrun_test::plantest::recording::{Recorded, Recording};
use planrun_tools::contract::{Lock, ObservedResults};
use planrun_tools::project::journal_file;

use super::lock::write;
use crate::cli::{Exit, Failure, Terminal};

/// Write down what results of tools looked like whose contracts do not say what they give.
///
/// It goes by the runs in the journal of the project, and by recordings that are named. Kinds and the names of fields are
/// written to planrun.lock, and no values. Checks then tell where a plan reads what was in none of them (`observed-read`).
#[derive(Debug, Args)]
pub struct LearnArguments {
    /// Only these tools, such as `notes.search`.
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    /// Recordings to go by, beside the runs in the journal.
    #[arg(long, value_name = "FILE")]
    recording: Vec<PathBuf>,
}

pub(super) fn run(
    arguments: &LearnArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Workspace::open(Path::new("-"), project)?;
    let shapes = arguments.shapes(&workspace)?;
    let catalog = workspace.catalog(None);
    let mut lock = Lock::clone(&workspace.project.lock);
    let mut lines = Vec::new();
    for tool in catalog.signatures() {
        let path = tool.path();
        let wanted = arguments.tools.is_empty() || arguments.tools.contains(&path);
        let shape = shapes
            .get(&*path)
            .filter(|_| wanted && tool.returns == Type::Any);
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
        terminal.say("nothing was seen of what tools give whose contracts do not say it");
    }
    terminal.print(&lines.concat())?;
    write(&workspace, &lock)?;
    Ok(Exit::Fine)
}

impl LearnArguments {
    fn shapes(&self, workspace: &Workspace) -> Result<BTreeMap<Arc<str>, Shape>, Failure> {
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
