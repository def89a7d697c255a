//! `planrun graph`: the plan as a picture, or as data for programs that draw.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::workspace::Workspace;
use super::{Exit, Failure, Terminal};
use crate::graph;
use crate::graph::draw::{Drawing, dot, json, mermaid, svg};

const EXAMPLES: &str = "\
Examples:
  planrun graph onboarding.plan --format svg > onboarding.svg
  planrun graph onboarding.plan --format mermaid    for README files
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
    /// Nodes and edges as data.
    Json,
}

/// Draws a plan.
///
/// # Errors
/// When the plan cannot be had, or is too large for a picture.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit, Failure> {
    let workspace = Workspace::open(&arguments.file, project)?;
    let Some(checked) = workspace.plan(&arguments.file, arguments.plan.as_deref(), terminal)? else {
        return Ok(Exit::Findings);
    };
    let drawing = graph::drawing(&checked.plan, &graph::build(&checked.plan));
    terminal.print_exactly(&text(&drawing, arguments.format)?)?;
    Ok(Exit::Fine)
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
        Format::Json => Ok(json(drawing)),
    }
}
