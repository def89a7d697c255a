//! Plans of other systems, read into planrun's language with a report of what was carried.
//!
//! A document is read with its places, its parts become a syntax tree, and [`planrun_lang::format`] prints that: no text
//! of a plan is ever glued together, so text from outside cannot become code.

pub mod asl;
pub mod document;
mod draft;
pub mod report;
mod tree;

use planrun_lang::format;
use planrun_lang::sema::Tools;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::yaml::Node;

pub use document::Refused;
use draft::Draft;
use report::{Fate, Report};

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// State machines of AWS Step Functions.
    Asl,
}

impl Format {
    /// Every format, in the order in which a document is tried.
    pub const ALL: [Self; 1] = [Self::Asl];

    /// The word for it on a command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Asl => "asl",
        }
    }

    fn recognizes(self, root: &Node) -> bool {
        match self {
            Self::Asl => asl::recognizes(root),
        }
    }
}

/// A plan that was read, and how.
#[derive(Debug)]
pub struct Imported {
    pub format: Format,
    /// The canonical text of the plan.
    pub text: String,
    pub report: Report,
}

/// Reads a plan of another system. `plan` is what the plan is to be called, `tools` are those of the project.
///
/// # Errors
/// Where the document cannot be read, or is of no format that is known.
pub fn import(
    source: &SourceFile,
    format: Option<Format>,
    plan: &str,
    tools: &Tools,
) -> Result<Imported, Refused> {
    let root = document::read(source.text())?;
    let format = match format {
        Some(format) => format,
        None => recognized(&root)?,
    };
    let mut draft = Draft::new(tools);
    let file = match format {
        Format::Asl => asl::import(&root, plan, &mut draft)?,
    };
    for tool in draft.missing_tools() {
        let why =
            "is declared in the plan: the project has no such tool, and what it gives is not known";
        draft.report.add(
            Fate::Changed,
            Span::at(0),
            format!("the tool `{tool}`"),
            why,
        );
    }
    let mut report = draft.report;
    report.sort();
    let text = format::print(&file).ok_or_else(|| {
        Refused::new(
            Span::at(0),
            "the plan nests too deeply for this machine",
            "nest less deeply",
        )
    })?;
    Ok(Imported {
        format,
        text,
        report,
    })
}

fn recognized(root: &Node) -> Result<Format, Refused> {
    let known = Format::ALL
        .into_iter()
        .find(|format| format.recognizes(root));
    known.ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.into_iter().map(Format::name).collect();
        let help = format!("say what it is with `--from`: {}", names.join(", "));
        Refused::new(
            Span::at(0),
            "this is a document of no format that is known",
            help,
        )
    })
}
