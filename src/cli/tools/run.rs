//! `planrun tools run`: calls one tool once. The call is checked before it is made, and is a run like any other.

use std::path::Path;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use planrun_lang::call::sensitive_arguments;
use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::nearest;
use planrun_lang::diag::render::{FileReport, command, visible_line};
use planrun_lang::secrets::redact_json_paths;
use planrun_lang::sema::inputs_of_call;
use planrun_lang::value::Value;
use planrun_runs::runs::{
    CheckedPlan, Error, Inputs, Planrun, ResumeOptions, RunOptions, Workspace, call_status,
};
use planrun_tools::contract::ToolIndex;
use planrun_tools::tools::Catalog;
use serde_json::{Map, Value as Json, json};

use crate::cli::deferred;
use crate::cli::input::read_text;
use crate::cli::run::{
    OutputOptions, drive, drive_with_progress, exit_of, late_server_warning, print_messages, wait,
};
use crate::cli::{Exit, Failure, Result, Terminal};

/// Maximum size of the arguments, in bytes.
const MAX_INPUT: u64 = 64 * 1024 * 1024;
/// Maximum number of similar names suggested for an unknown one.
const MAX_SIMILAR: usize = 5;

/// Call one tool
///
/// The arguments are checked before anything is sent. The call is a run of its own: it is journaled, asks for
/// confirmation where the project requires it, is limited by `allow` of planrun.yaml, and can be resumed.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// Tool to call, such as `notes.search`
    #[arg(value_name = "TOOL")]
    tool: String,
    /// Arguments as a JSON object, `@FILE` to read them from a file, or `-` from standard input
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    /// Return at once, and print the name of the file that will contain the result
    #[arg(long)]
    defer: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// The value
    Human,
    /// One JSON object, also if the call is refused
    Json,
}

/// Why a call is not made.
struct Refusal {
    code: &'static str,
    message: String,
    suggestion: Option<String>,
    /// Similar names.
    similar: Vec<String>,
}

/// A call that can be made.
struct Call {
    plan: CheckedPlan,
    inputs: Inputs,
    /// The arguments, redacted.
    arguments: Json,
}

pub fn run(
    arguments: &RunArguments,
    workspace: &Arc<Workspace>,
    terminal: Terminal,
) -> Result<Exit> {
    let call = match Call::new(workspace, arguments)? {
        Ok(call) => call,
        Err(refusal) => return refusal.print(arguments.format, terminal),
    };
    let planrun = Planrun::at(workspace.host.clone(), workspace.location.clone());
    if arguments.defer {
        return defer(&planrun, arguments, call, terminal);
    }
    match wait(call.plan.verify_contracts())? {
        Err(Error::Obstacles(report)) => {
            let refusal = report.diagnostics.first().map(Refusal::of);
            return refusal.map_or(Ok(Exit::Findings), |refusal| {
                refusal.print(arguments.format, terminal)
            });
        }
        compared => {
            for server in compared? {
                terminal.note(&late_server_warning(&server));
            }
        }
    }
    match arguments.format {
        Format::Human => {
            let output = OutputOptions::plain(terminal);
            drive(
                &planrun,
                (ResumeOptions::default(), None),
                output,
                |drive| {
                    let options = RunOptions {
                        drive,
                        ..RunOptions::default()
                    };
                    planrun.start(&call.plan, call.inputs, options)
                },
            )
        }
        Format::Json => run_as_document(&planrun, call, &workspace.location.folder, terminal),
    }
}

/// Hands a call to a new process, and prints where its result will be.
fn defer(
    planrun: &Planrun,
    arguments: &RunArguments,
    call: Call,
    terminal: Terminal,
) -> Result<Exit> {
    let run = planrun.start(&call.plan, call.inputs, RunOptions::default());
    let called = (&*arguments.tool, call.arguments);
    let begun = run
        .map_err(Failure::from)
        .and_then(|run| deferred::begin(planrun, run, called));
    match begun {
        Err(Failure::Environment(message)) if matches!(arguments.format, Format::Json) => {
            let refusal = Refusal::new("environment", &message);
            terminal.print_document(&refusal.document())?;
            Ok(Exit::Environment)
        }
        begun => {
            terminal.print_document(&begun?)?;
            Ok(Exit::Fine)
        }
    }
}

/// Makes a call and prints one JSON object, also if it cannot be made here.
fn run_as_document(
    planrun: &Planrun,
    call: Call,
    folder: &Path,
    terminal: Terminal,
) -> Result<Exit> {
    let output = OutputOptions::plain(terminal);
    let options = RunOptions::default();
    let cancel = options.drive.cancel.clone();
    let run = planrun.start(&call.plan, call.inputs, options);
    // The progress is printed for people on standard error, the result for programs on standard output.
    let driven = run
        .map_err(Failure::from)
        .and_then(|run| drive_with_progress(run, cancel, output));
    let (driven, written) = match driven {
        Err(Failure::Environment(message)) => {
            let refusal = Refusal::new("environment", &message);
            terminal.print_document(&refusal.document())?;
            return Ok(Exit::Environment);
        }
        driven => driven?,
    };
    terminal.print_document(&call_status(&driven.outcome, folder))?;
    print_messages(&driven.outcome, None, output);
    written.map(|()| exit_of(&driven.outcome))
}

impl Call {
    fn new(workspace: &Arc<Workspace>, arguments: &RunArguments) -> Result<Result<Self, Refusal>> {
        let given = match given(&arguments.input)? {
            Ok(given) => given,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let catalog = workspace.catalog(None);
        let mut tools = catalog.signatures();
        let Some(tool) = tools.find(|tool| tool.path() == arguments.tool) else {
            return Ok(Err(unknown(&arguments.tool, &catalog)));
        };
        let names: Vec<&str> = given.keys().map(String::as_str).collect();
        let plan = match workspace.clone().checked_call(tool, &names).plan(None) {
            Ok(plan) => plan,
            Err(Error::Findings(reports)) => return Ok(Err(Refusal::of_findings(&reports))),
            Err(error) => return Err(error.into()),
        };
        let inputs = inputs_of_call(tool, given.clone()).collect();
        let ready = plan.ready().and_then(|()| plan.inputs(inputs));
        match ready {
            Ok(inputs) => {
                let mut arguments = Json::Object(given);
                let secret = sensitive_arguments(tool, &Value::from_json(&arguments));
                redact_json_paths(&mut arguments, &secret);
                Ok(Ok(Self {
                    plan,
                    inputs,
                    arguments,
                }))
            }
            Err(Error::Obstacles(report)) => Ok(Err(report.diagnostics.first().map_or_else(
                || Refusal::new("obstacle", "the call cannot be made"),
                Refusal::of,
            ))),
            Err(Error::Invalid(message)) => Ok(Err(Refusal::new("invalid-argument", &message))),
            Err(error) => Err(error.into()),
        }
    }
}

/// Reads the arguments as an object.
fn given(written: &str) -> Result<Result<Map<String, Json>, Refusal>> {
    let read = match (written, written.strip_prefix('@')) {
        ("-", _) => read_text(Path::new("-"), MAX_INPUT),
        (_, Some("-")) => read_text(Path::new("./-"), MAX_INPUT),
        (_, Some(path)) => read_text(Path::new(path), MAX_INPUT),
        (_, None) => Ok(written.to_owned()),
    };
    let text = read.map_err(|error| {
        Failure::Environment(format!(
            "cannot read the arguments from `{written}`: {error}"
        ))
    })?;
    // The message does not quote the text, which may contain secrets.
    Ok(match serde_json::from_str(&text) {
        Ok(Json::Object(given)) => Ok(given),
        Ok(_) => Err(Refusal::new(
            "invalid-input",
            "the arguments are not a JSON object",
        )),
        Err(error) => {
            let (line, column) = (error.line(), error.column());
            let message = format!("the arguments are not valid JSON: line {line}, column {column}");
            Err(Refusal::new("invalid-input", &message))
        }
    })
}

fn unknown(name: &str, catalog: &Catalog) -> Refusal {
    let paths: Vec<String> = catalog.signatures().map(|tool| tool.path()).collect();
    let near = nearest(name, paths.iter().map(String::as_str));
    let index = ToolIndex::new(catalog.signatures().cloned());
    let found = index.find(name);
    let mut similar: Vec<String> = near.iter().map(|near| near.name.to_owned()).collect();
    for path in found.iter().map(|tool| tool.path()) {
        if !similar.contains(&path) {
            similar.push(path);
        }
    }
    similar.truncate(MAX_SIMILAR);
    let suggestion = match similar.first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("`{}` lists all tools", command("tools list")),
    };
    Refusal {
        suggestion: Some(suggestion),
        similar,
        ..Refusal::new("unknown-tool", &format!("there is no tool `{name}`"))
    }
}

impl Refusal {
    /// Refuses because of errors: those in the call itself, which are in the last report, or those in the project.
    fn of_findings(reports: &[FileReport]) -> Self {
        let mut own = reports.last().into_iter().flat_map(|own| &own.diagnostics);
        own.find(|found| found.is_error()).map_or_else(
            || {
                let check = command("check");
                let message = format!("the project has errors; run `{check}` for details");
                Self::new("project", &message)
            },
            Self::of,
        )
    }

    fn new(code: &'static str, message: &str) -> Self {
        Self {
            code,
            message: message.to_owned(),
            suggestion: None,
            similar: Vec::new(),
        }
    }

    fn of(found: &Diagnostic) -> Self {
        let mut similar = found.available.clone();
        similar.truncate(MAX_SIMILAR);
        Self {
            code: found.code.name,
            message: found.message.clone(),
            suggestion: found.help.clone(),
            similar,
        }
    }

    fn print(self, format: Format, terminal: Terminal) -> Result<Exit> {
        match format {
            Format::Human => {
                let suggestion = self.suggestion.map(|words| format!("; {words}"));
                let text = self.message + &suggestion.unwrap_or_default();
                Err(Failure::Usage(visible_line(&text).into_owned()))
            }
            Format::Json => {
                terminal.print_document(&self.document())?;
                Ok(Exit::Usage)
            }
        }
    }

    fn document(&self) -> Json {
        let error = json!({
            "code": self.code,
            "message": self.message,
            "suggestion": self.suggestion,
            "similar": self.similar,
        });
        json!({ "success": false, "error": error })
    }
}
