//! `planrun graph`: the plan as a picture, or as data for programs that draw.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use planrun_lang::format;
use planrun_lang::graph;
use planrun_lang::graph::draw::{self, Drawing, dot, mermaid, outline, svg};
use planrun_lang::sema::Plan;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::{self, json};

use super::plan_files::checked_plan;
use super::{Exit, Failure, Terminal};
use planrun_runs::runs::{CheckedPlan, Workspace};

const EXAMPLES: &str = "\
Examples:
  planrun graph onboarding.plan --format svg > onboarding.svg
  planrun graph onboarding.plan --format mermaid    for README files
  planrun graph onboarding.plan --format text
  planrun graph onboarding.plan | dot -Tpng         with Graphviz";

/// Draw what waits for what.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The plan file; `-` is standard input.
    #[arg(value_name = "PLAN")]
    pub file: PathBuf,
    /// Which plan of the file, where it has several.
    #[arg(long, value_name = "NAME")]
    pub plan: Option<String>,
    /// How it is drawn.
    #[arg(long, value_name = "FORMAT", default_value = "dot")]
    pub format: Format,
}

/// How a graph is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For Graphviz.
    Dot,
    /// A flowchart that many Markdown viewers show.
    Mermaid,
    /// A picture.
    Svg,
    /// Indented text.
    Text,
    /// Nodes and edges as data.
    Json,
}

/// Draws a plan.
///
/// # Errors
/// When the plan cannot be had, or is too large for a picture.
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Arc::new(Workspace::open(&arguments.file, project)?);
    let Some(checked) = checked_plan(
        &workspace,
        &arguments.file,
        arguments.plan.as_deref(),
        terminal,
    )?
    else {
        return Ok(Exit::Findings);
    };
    let plan = in_words(&workspace, &checked).unwrap_or_else(|| checked.plan.clone());
    let drawing = graph::drawing(&plan, &graph::build(&plan));
    terminal.print_exactly(&text(&drawing, arguments.format)?)?;
    Ok(Exit::Fine)
}

/// A plan of the JSON form as the text that it stands for, whose words a drawing shows.
fn in_words(workspace: &Workspace, checked: &CheckedPlan) -> Option<Arc<Plan>> {
    let source = &checked.source;
    if !json::is_json(source) {
        return None;
    }
    let text = format::print(&syntax::parse(source).file)?;
    // Beside the file, so that what it uses is found; under an ending of texts.
    let name = Path::new(source.name()).with_extension("plan");
    let plans = workspace
        .check(&SourceFile::new(name.to_string_lossy(), text))
        .plans;
    plans
        .into_iter()
        .find(|plan| plan.name == checked.plan.name)
}

/// The drawing as text of this format.
///
/// # Errors
/// When it is too large to be laid out as a picture.
pub fn text(drawing: &Drawing, format: Format) -> Result<String, Failure> {
    match format {
        Format::Dot => Ok(dot(drawing)),
        Format::Mermaid => Ok(mermaid(drawing)),
        Format::Svg => svg(drawing).map_err(|too_large| Failure::Usage(too_large.to_string())),
        Format::Text => Ok(outline(drawing)),
        Format::Json => Ok(draw::json(drawing)),
    }
}
