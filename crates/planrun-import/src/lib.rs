//! Imports plans of other systems into planrun's language, with a report of what was carried.
//!
//! A document is parsed with spans, its parts become a syntax tree, and [`planrun_lang::format`] prints the tree.
//! Plans are never assembled from text, so text from outside cannot become code.

mod aintegration;
mod arazzo;
pub mod asl;
mod calls;
mod control_flow;
pub mod document;
mod draft;
mod expression;
pub mod report;
mod serverless;
mod tree;

use planrun_lang::format;
use planrun_lang::sema::Tools;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::yaml::Node;

pub use document::Refused;
use draft::Draft;
use report::Report;

/// The supported formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// State machines of AWS Step Functions.
    Asl,
    /// Workflows of Arazzo.
    Arazzo,
    /// Workflows of Serverless Workflow.
    Serverless,
    /// Tasks and listeners of AIntegration.
    Aintegration,
    /// Payloads of the skeleton.
    Payload,
    /// Step graphs of SAGE.
    Graph,
    /// Step arrays of SAGE.
    Steps,
    /// Tool calls in the format of the OpenAI API.
    ToolCalls,
    /// Numbered plans of LLMCompiler.
    Numbered,
}

impl Format {
    /// All formats, in the order in which they are tried.
    pub const ALL: [Self; 9] = [
        Self::Asl,
        Self::Arazzo,
        Self::Serverless,
        Self::Aintegration,
        Self::Payload,
        Self::Graph,
        Self::Steps,
        Self::ToolCalls,
        Self::Numbered,
    ];

    /// Returns its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Asl => "asl",
            Self::Arazzo => "arazzo",
            Self::Serverless => "serverless-workflow",
            Self::Aintegration => "aintegration",
            Self::Payload => "payload",
            Self::Graph => "graph",
            Self::Steps => "steps",
            Self::ToolCalls => "tool-calls",
            Self::Numbered => "numbered",
        }
    }

    fn recognizes(self, root: &Node) -> bool {
        match self {
            Self::Asl => asl::recognizes(root),
            Self::Arazzo => arazzo::recognizes(root),
            Self::Serverless => serverless::recognizes(root),
            Self::Aintegration => aintegration::recognizes(root),
            Self::Payload => calls::payload::recognizes(root),
            Self::Graph => calls::sage::recognizes_graph(root),
            Self::Steps => calls::sage::recognizes_array(root),
            Self::ToolCalls => calls::openai::recognizes(root),
            // It is not a tree, so it is recognized from the text beforehand.
            Self::Numbered => false,
        }
    }
}

/// An imported plan.
#[derive(Debug)]
pub struct Imported {
    pub format: Format,
    /// The canonical text of the plan.
    pub text: String,
    pub report: Report,
}

/// Imports a plan of another system. `plan` is the name of the plan (workflows of Arazzo have names of their own),
/// `tools` are the tools of the project. Returns an error if the document cannot be parsed, is invalid or exceeds a
/// limit, or if its format is unknown.
pub fn import(
    source: &SourceFile,
    format: Option<Format>,
    plan: &str,
    tools: &Tools,
) -> Result<Imported, Refused> {
    let text = source.text();
    document::within_bounds(text)?;
    let mut draft = Draft::new(tools);
    let is_numbered = match format {
        Some(format) => format == Format::Numbered,
        None => calls::numbered::recognizes(text),
    };
    let (format, root) = if is_numbered {
        (Format::Numbered, None)
    } else {
        let (format, root) = tree_of(text, format)?;
        (format, Some(root))
    };
    let tree = root.as_ref().map(|tree| &tree.root);
    let file = match (format, tree) {
        (Format::Asl, Some(root)) => asl::import(root, plan, &mut draft),
        (Format::Arazzo, Some(root)) => arazzo::import(root, &mut draft),
        (Format::Serverless, Some(root)) => serverless::import(root, plan, &mut draft),
        (Format::Aintegration, Some(root)) => aintegration::import(root, text, plan, &mut draft),
        (Format::Payload, Some(root)) => calls::payload::import(root, plan, &mut draft),
        (Format::Graph, Some(root)) => calls::sage::import_graph(root, plan, &mut draft),
        (Format::Steps, Some(root)) => calls::sage::import_array(root, plan, &mut draft),
        (Format::ToolCalls, Some(root)) => calls::openai::import(root, plan, &mut draft),
        (Format::Numbered, _) | (_, None) => calls::numbered::import(text, plan, &mut draft),
    }?;
    for tool in draft.missing_tools() {
        let why = "is declared in the plan: the project has no such tool, so its result is unknown";
        draft.changed(Span::at(0), format!("the tool `{tool}`"), why);
    }
    if let Some(tree) = &root {
        if tree.is_in_prose {
            let why = "is omitted: only the document is imported";
            draft.changed(Span::at(0), "the text around the document", why);
        }
        draft.report_rounded(&tree.root, text, None);
    }
    let mut report = draft.report;
    report.sort();
    let text = format::print(&file).ok_or_else(|| {
        Refused::new(
            Span::at(0),
            "the plan is nested too deeply",
            "reduce the nesting",
        )
    })?;
    Ok(Imported {
        format,
        text,
        report,
    })
}

/// A document as a tree.
struct Parsed {
    root: Node,
    /// Whether the text contains more than the document.
    is_in_prose: bool,
}

/// Parses the document as a tree, and detects its format. Models may put it into a fence, and JSON into prose.
fn tree_of(text: &str, format: Option<Format>) -> Result<(Format, Parsed), Refused> {
    let read = document::read(text);
    let recognized = |root: &Node| {
        format.or_else(|| {
            Format::ALL
                .into_iter()
                .find(|format| format.recognizes(root))
        })
    };
    if let Ok(root) = &read
        && root.entries().is_some() | root.items().is_some()
        && let Some(format) = recognized(root)
    {
        let root = root.clone();
        let is_in_prose = false;
        return Ok((format, Parsed { root, is_in_prose }));
    }
    for (root, place) in calls::documents_in_prose(text) {
        let Some(format) = recognized(&root) else {
            continue;
        };
        let outside = [text.get(..place.start), text.get(place.end..)];
        let outside = outside.map(Option::unwrap_or_default);
        // A fence and the name of its language are not prose.
        let mut lines = outside.iter().flat_map(|part| part.lines());
        let is_in_prose = lines.any(|line| {
            let line = line.trim();
            let is_fence = line.starts_with("```") || line.starts_with("~~~");
            !is_fence && line.contains(char::is_alphanumeric)
        });
        return Ok((format, Parsed { root, is_in_prose }));
    }
    read?;
    let names: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
    let help = format!("specify the format with `--from`: {}", names.join(", "));
    Err(Refused::new(Span::at(0), "unknown document format", help))
}
