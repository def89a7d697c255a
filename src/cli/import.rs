//! `planrun import`: converts a plan of another system, and reports what was converted.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use planrun_import::report::{Conversion, Note};
use planrun_import::{Format, Imported, Refused, document};
use planrun_lang::diag::render::{FileReport, human, json_findings, visible_text};
use planrun_lang::sema::Tools;
use planrun_lang::source::SourceFile;
use serde_json::{Value as Json, json};

use super::input::read_bytes;
use super::plan_files::STDIN_NAME;
use super::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::Workspace;

const EXAMPLES: &str = "\
Examples:
  planrun import machine.json                     prints the plan; the report on standard error
  planrun import machine.json --output order.plan
  planrun import - --from asl < machine.json      from standard input
  planrun import plan.yaml --format json          plan, report and findings as one JSON document";

/// Convert a plan of another system, and report what was carried over, changed, or not carried over
///
/// A part without a counterpart becomes a name that does not exist, so that the plan cannot be run by accident. The
/// exit code is 1 if a part was not carried over, or if the check finds errors.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Document to convert, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of the document [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub from: Option<Format>,
    /// Write the plan to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the output file if it exists
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: Printed,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Printed {
    /// Plan on standard output, report on standard error
    Text,
    /// One JSON document with the plan, the report and the diagnostics
    Json,
}

fn formats() -> impl clap::builder::TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| {
        let known = Format::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or("unknown format")
    })
}

/// Converts the document that the arguments name. Returns an error if the document cannot be read, or the plan cannot
/// be written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let source = read(&arguments.file)?;
    let plan_path = arguments.output.as_deref().unwrap_or(&arguments.file);
    let workspace = Workspace::open(plan_path, project)?;
    let tools: Tools = workspace.catalog(None).signatures().cloned().collect();
    let made = match planrun_import::import(&source, arguments.from, &plan_name(plan_path), &tools)
    {
        Ok(made) => made,
        Err(refused) => return Err(Failure::Findings(describe_refusal(&source, &refused))),
    };
    let name = arguments.output.as_ref().map_or_else(
        || format!("{}.plan", plan_name(plan_path)),
        |path| path.display().to_string(),
    );
    let plan = SourceFile::new(name, made.text.as_str());
    let findings = workspace.check(&plan).diagnostics;
    let is_sound = findings.iter().all(|finding| !finding.is_error());
    if let Some(path) = &arguments.output {
        write(path, &made.text, arguments.force)?;
    }
    let report = FileReport::new(plan, findings);
    match arguments.format {
        Printed::Json => terminal.print_document(&document_of(&source, &made, &report))?,
        Printed::Text => {
            if arguments.output.is_none() {
                terminal.print_exactly(&made.text)?;
            }
            terminal.note(made.report.lines(&source).trim_end());
            if !report.diagnostics.is_empty() {
                terminal.eprint(&human(&[report], terminal.style));
            }
            terminal.note(&format!("{}: {}", made.format.name(), made.report.sum()));
        }
    }
    let is_whole = made.report.count(Conversion::NotCarried) == 0;
    Ok(Exit::fine_if(is_sound && is_whole))
}

/// Reads the document, up to one byte more than the size limit of the importer.
fn read(path: &Path) -> Result<SourceFile> {
    let bytes = read_bytes(path, document::MAX_BYTES as u64 + 1)
        .map_err(|error| Failure::cannot_read(path, &error))?;
    let display = path.display();
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::Findings(format!("`{display}` is not valid UTF-8")))?;
    let name = if path.as_os_str() == "-" {
        STDIN_NAME.to_owned()
    } else {
        display.to_string()
    };
    Ok(SourceFile::new(name, text))
}

/// Derives the name of the plan from the name of its file.
fn plan_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    if matches!(stem, "" | "-") {
        "imported".to_owned()
    } else {
        stem.to_owned()
    }
}

fn write(path: &Path, text: &str, overwrites: bool) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    if overwrites {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let display = path.display();
    let written = options
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::Usage(format!(
            "`{display}` already exists, so nothing was written; choose another name, or overwrite it with `--force`"
        )),
        _ => Failure::cannot_write(path, &error),
    })
}

fn describe_refusal(source: &SourceFile, refused: &Refused) -> String {
    let Refused {
        span,
        message,
        help,
    } = refused;
    let place = source.place(*span);
    visible_text(&format!("{place}: {message}\n  help: {help}")).into_owned()
}

fn document_of(source: &SourceFile, made: &Imported, report: &FileReport) -> Json {
    let note = |note: &Note| {
        let place = source.position(note.span.start);
        json!({
            "fate": note.fate.word().replace(' ', "_"),
            "line": place.line,
            "column": place.column,
            "what": note.what,
            "why": note.why,
        })
    };
    json!({
        "version": 1,
        "from": made.format.name(),
        "plan": made.text,
        "report": made.report.notes.iter().map(note).collect::<Vec<_>>(),
        "diagnostics": json_findings(std::slice::from_ref(report)),
    })
}
