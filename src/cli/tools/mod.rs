//! `planrun tools`: inspects the tools of a project, calls them, and pins their contracts.

mod diff;
mod learn;
mod list;
mod lock;
mod login;
mod renewal;
mod run;
mod show;

use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand};
use planrun_runs::runs::Workspace;

use super::{Exit, Result, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun tools list                    every tool that plans of this project can call
  planrun tools list --query 'customers by name'    tools that match these words
  planrun tools show notes.search       its contract, in the language of plans
  planrun tools run notes.search --input '{\"query\": \"plans\"}'    one call
  planrun tools lock                    connect to the servers and pin what they offer
  planrun tools lock --check            in CI: fail if a server offers something else
  planrun tools learn                   infer the result types that contracts do not declare
  planrun tools diff                    what has changed at the servers, and which plans that breaks
  planrun tools login notes             let planrun call a server on your behalf";

/// Inspect the tools of the project, call one, and pin their contracts
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Diff(diff::DiffArguments),
    Learn(learn::LearnArguments),
    List(list::ListArguments),
    Lock(lock::LockArguments),
    Login(login::LoginArguments),
    #[command(alias = "call")]
    Run(run::RunArguments),
    Show(show::ShowArguments),
}

/// Runs the subcommand. Returns an error if the project cannot be opened, a server cannot be reached, or the output
/// cannot be written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let workspace = &Arc::new(Workspace::open(Path::new("-"), project)?);
    match &arguments.command {
        Command::Diff(arguments) => diff::run(arguments, workspace, terminal),
        Command::Learn(arguments) => learn::run(arguments, workspace, terminal),
        Command::List(arguments) => list::run(arguments, workspace, terminal),
        Command::Run(arguments) => run::run(arguments, workspace, terminal),
        Command::Lock(arguments) => lock::run(arguments, workspace, terminal),
        Command::Login(arguments) => login::run(arguments, workspace, terminal),
        Command::Show(arguments) => show::run(arguments, workspace, terminal),
    }
}
