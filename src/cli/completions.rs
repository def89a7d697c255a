//! `planrun completions` and `planrun man`: shell completions and manual pages.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use planrun_tools::host::{Host, RealHost};

use super::suggest::did_you_mean;
use super::{CommandLine, Exit, Failure, Result, Terminal};

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  planrun completions bash > ~/.local/share/bash-completion/completions/planrun
  planrun completions zsh > ~/.zfunc/_planrun
  planrun completions fish > ~/.config/fish/completions/planrun.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  planrun man check | man -l -    one page
  planrun man --out man/man1      all pages, for packages";

/// Generate a shell completion script
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct CompletionsArguments {
    /// Shell to generate the script for
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Generate the manual page of a command
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArguments {
    /// Command to describe, such as `runs list`; without one, print the page of planrun itself
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Prints the completion script of a shell. Returns an error if the output cannot be written.
pub fn completions(arguments: &CompletionsArguments, terminal: Terminal) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut CommandLine::command(),
        "planrun",
        &mut script,
    );
    terminal.print_exactly(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}

/// Prints one manual page, or writes all of them into a folder. Returns an error if there is no such command, or the
/// pages cannot be written.
pub fn man(arguments: &ManArguments, terminal: Terminal) -> Result<Exit> {
    match &arguments.out {
        None => {
            let (name, command) = command(&arguments.command)?;
            terminal.print_exactly(&page(&name, command)?)?;
        }
        Some(folder) => {
            for (name, command) in all() {
                write(&folder.join(format!("{name}.1")), &page(&name, command)?)?;
            }
        }
    }
    Ok(Exit::Fine)
}

/// Returns the command line and each of its commands, including nested ones, by the names of their pages.
fn all() -> Vec<(String, Command)> {
    let mut pages = Vec::new();
    add_pages("planrun", whole(), &mut pages);
    pages
}

fn add_pages(name: &str, mut command: Command, pages: &mut Vec<(String, Command)>) {
    if command.find_subcommand("help").is_some() {
        // `help` has no page that another page could refer to.
        command = command.mut_subcommand("help", |help| help.hide(true));
    }
    pages.push((name.to_owned(), command.clone()));
    let visible = |inner: &&Command| !inner.is_hide_set();
    for inner in command.get_subcommands().filter(visible) {
        let name = format!("{name}-{}", inner.get_name());
        add_pages(&name, inner.clone(), pages);
    }
}

/// Returns the name of the page and the command it describes.
fn command(words: &[String]) -> Result<(String, Command)> {
    if words.is_empty() {
        return Ok(("planrun".to_owned(), whole()));
    }
    // The page of a nested command has the names of both.
    let name = &*words.join("-").replace(' ', "-");
    let pages = all();
    let names = || {
        pages
            .iter()
            .filter_map(|(name, _)| name.strip_prefix("planrun-"))
    };
    let found = pages
        .iter()
        .find(|(page, _)| page.strip_prefix("planrun-") == Some(name));
    found.cloned().ok_or_else(|| {
        let hint = did_you_mean(name, names());
        Failure::Usage(format!("there is no command `{name}`{hint}"))
    })
}

/// Returns the command line with the flags of every command resolved.
fn whole() -> Command {
    let mut line = CommandLine::command();
    line.build();
    line
}

fn page(name: &str, command: Command) -> Result<String> {
    let mut page = Vec::new();
    let source = concat!("planrun ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).title(name).source(source);
    let written = man.render(&mut page);
    written.map_err(|error| Failure::Environment(format!("cannot write the page: {error}")))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

fn write(path: &Path, page: &str) -> Result<()> {
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = made.and_then(|()| RealHost.write_file(path, page.as_bytes()));
    written.map_err(|error| Failure::cannot_write(path, &error))
}
