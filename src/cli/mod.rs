//! The command line: one file per subcommand. Only this module prints, colours, and chooses exit codes.

#[cfg(feature = "agent")]
pub mod agent;
pub mod arguments;
mod ask;
pub mod breaking;
pub mod check;
mod columns;
pub mod completions;
pub mod deferred;
mod echo;
mod eval;
mod exit;
pub mod explain;
pub mod export;
pub mod fmt;
pub mod graph;
pub mod import;
pub mod init;
mod input;
mod instance;
mod journals;
mod logging;
pub mod manual;
pub mod mock;
pub mod mutate;
mod page;
mod plan_files;
pub mod plans;
pub mod progress;
mod projects;
mod question;
pub mod review;
pub mod run;
pub mod runs;
pub mod schema;
#[cfg(feature = "serve")]
pub mod serve;
mod shell;
mod signals;
mod suggest;
mod terminal;
pub mod test;
pub mod tools;
mod watch;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use planrun_tools::project::Location;

pub use exit::{Exit, Failure, Result};
pub use terminal::{Color, Terminal};

const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    findings, a failed or stalled run, a failed test
  2    incorrect usage
  3    a problem with the environment or the configuration
  4    the run is paused and waits for a person, an event or a time
  130  interrupted, or the run was cancelled

Environment:
  NO_COLOR     disable colors, unless --color is given
  PLANRUN_LOG  log to standard error: `debug` logs runs, steps, attempts and commits";

/// Check, run and test plans that call tools
#[derive(Debug, Parser)]
#[command(name = "planrun", version, after_help = EXIT_CODES)]
pub struct CommandLine {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every command accepts.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// When to colour output
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print more details; repeat (`-vv`) for all details
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Folder of planrun.yaml, instead of the nearest one above the plan
    #[arg(long, global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[cfg(feature = "agent")]
    Agent(agent::Arguments),
    Breaking(breaking::Arguments),
    Check(check::Arguments),
    Completions(completions::CompletionsArguments),
    Eval(arguments::EvalArguments),
    Explain(explain::Arguments),
    Export(export::Arguments),
    Fmt(fmt::Arguments),
    Graph(graph::Arguments),
    Import(import::Arguments),
    Init(init::Arguments),
    Man(completions::ManArguments),
    Mock(arguments::MockArguments),
    Mutate(mutate::Arguments),
    Plans(plans::Arguments),
    Run(arguments::RunArguments),
    Runs(runs::Arguments),
    Schema(schema::Arguments),
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    Test(test::Arguments),
    Tools(tools::Arguments),
}

/// Runs the command given on the command line of this process.
pub fn main() -> ExitCode {
    let line = match CommandLine::try_parse() {
        Ok(line) => line,
        Err(answer) => return print_clap_error(answer).into(),
    };
    let terminal = Terminal::new(line.global.color, line.global.quiet, line.global.verbose);
    if let Some(folder) = &line.global.project {
        let (folder, file) = (folder.clone(), None);
        shell::set_project(&Location { folder, file });
    }
    let exit = logging::install(terminal)
        .and_then(|()| dispatch(&line, terminal))
        .unwrap_or_else(|failure| report_failure(&failure, terminal));
    echo::restore();
    exit.into()
}

/// Prints a clap error: invalid usage, or the text of help and version, which clap also returns as an error.
fn print_clap_error(mut answer: clap::Error) -> Exit {
    suggest::redact_value(&mut answer);
    suggest::suggest_commands(&mut answer, std::env::args().skip(1));
    let printed = answer.print().and_then(|()| io::stdout().flush());
    match (answer.use_stderr(), terminal::written(printed)) {
        (true, _) => Exit::Usage,
        (false, Ok(())) => Exit::Fine,
        (false, Err(failure)) => report_failure(&failure, Terminal::new(Color::Auto, false, 0)),
    }
}

fn report_failure(failure: &Failure, terminal: Terminal) -> Exit {
    terminal.error(&failure.to_string());
    Exit::from(failure)
}

fn dispatch(line: &CommandLine, terminal: Terminal) -> Result<Exit> {
    let project = line.global.project.as_deref();
    match &line.command {
        #[cfg(feature = "agent")]
        Command::Agent(arguments) => agent::run(arguments, project, terminal),
        Command::Breaking(arguments) => breaking::run(arguments, project, terminal),
        Command::Check(arguments) => check::run(arguments, project, terminal),
        Command::Eval(arguments) => eval::command(arguments, terminal),
        Command::Explain(arguments) => explain::run(arguments, terminal),
        Command::Export(arguments) => export::run(arguments, project, terminal),
        Command::Fmt(arguments) => fmt::run(arguments, terminal),
        Command::Graph(arguments) => graph::run(arguments, project, terminal),
        Command::Import(arguments) => import::run(arguments, project, terminal),
        Command::Mock(arguments) => mock::command(arguments),
        Command::Mutate(arguments) => mutate::run(arguments, project, terminal),
        Command::Plans(arguments) => plans::run(arguments, project, terminal),
        Command::Run(arguments) => run::run(arguments, project, terminal),
        Command::Runs(arguments) => runs::run(arguments, project, terminal),
        Command::Schema(arguments) => schema::run(arguments, project, terminal),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(arguments, project, terminal),
        Command::Test(arguments) => test::run(arguments, project, terminal),
        Command::Tools(arguments) => tools::run(arguments, project, terminal),
        Command::Completions(arguments) => completions::completions(arguments, terminal),
        Command::Init(arguments) => init::run(arguments, terminal),
        Command::Man(arguments) => completions::man(arguments, terminal),
    }
}
