//! `planrun graph`: draws the graph of a plan, or prints it as data.

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
use super::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::{CheckedPlan, Workspace};

const EXAMPLES: &str = "\
Examples:
  planrun graph onboarding.plan --format svg > onboarding.svg
  planrun graph onboarding.plan --format mermaid    for README files
  planrun graph onboarding.plan --format text
  planrun graph onboarding.plan | dot -Tpng         with Graphviz";

/// Draw the dependency graph of a plan
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Plan file, or `-` for standard input
    #[arg(value_name = "PLAN")]
    pub file: PathBuf,
    /// Plan to draw, if the file has several
    #[arg(long, value_name = "NAME")]
    pub plan: Option<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "dot")]
    pub format: Format,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Graphviz DOT
    Dot,
    /// Mermaid flowchart, which many Markdown viewers render
    Mermaid,
    /// SVG image
    Svg,
    /// Indented text
    Text,
    /// Nodes and edges as JSON
    Json,
}

/// Draws a plan. Returns an error if the plan cannot be loaded, or is too large for an image.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
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
    let plan = as_text(&workspace, &checked).unwrap_or_else(|| checked.plan.clone());
    let drawing = graph::drawing(&plan, &graph::build(&plan));
    terminal.print_exactly(&text(&drawing, arguments.format)?)?;
    Ok(Exit::Fine)
}

/// Converts a plan in the JSON form to text, so that the drawing contains the source text of its statements. Returns
/// `None` if the plan is text already or cannot be printed.
fn as_text(workspace: &Workspace, checked: &CheckedPlan) -> Option<Arc<Plan>> {
    let source = &checked.source;
    if !json::is_json(source) {
        return None;
    }
    let text = format::print(&syntax::parse(source).file)?;
    // In the folder of the file, so that imports resolve; with the extension of text plans.
    let name = Path::new(source.name()).with_extension("plan");
    let plans = workspace
        .check(&SourceFile::new(name.to_string_lossy(), text))
        .plans;
    plans
        .into_iter()
        .find(|plan| plan.name == checked.plan.name)
}

/// Renders the drawing in a format. Returns an error if the drawing is too large to be laid out as an image.
pub fn text(drawing: &Drawing, format: Format) -> Result<String> {
    match format {
        Format::Dot => Ok(dot(drawing)),
        Format::Mermaid => Ok(mermaid(drawing)),
        Format::Svg => svg(drawing).map_err(|too_large| Failure::Usage(too_large.to_string())),
        Format::Text => Ok(outline(drawing)),
        Format::Json => Ok(draw::json(drawing)),
    }
}
