//! Generates the reference documents: commands, codes, built-in tools, functions and kinds of change.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use planrun_lang::builtins;
use planrun_lang::diag::codes;
use planrun_tools::tools::pages;

use super::CommandLine;
use planrun_test::breaking::kind;

/// Returns every command with its arguments and flags, in Markdown.
pub fn commands() -> String {
    let mut line = CommandLine::command();
    line.build();
    let mut text = String::new();
    for command in line
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        section(&mut text, command, command.get_name());
        let nested = command.get_subcommands();
        let nested = nested.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
        for inner in nested {
            let name = format!("{} {}", command.get_name(), inner.get_name());
            section(&mut text, inner, &name);
        }
    }
    let _ = write!(text, "### Global options\n\n{}", table(&everywhere(&line)));
    text
}

/// Returns every kind of change that `breaking` reports, as a Markdown table.
pub fn kinds() -> String {
    let mut text =
        "| kind | class | | who notices | what changed |\n| --- | --- | --- | --- | --- |\n"
            .to_owned();
    for kind in kind::ALL {
        let (name, class, severity) = (kind.name(), kind.class, kind.severity());
        let _ = writeln!(
            text,
            "| `{name}` | {class} | {severity} | {} | {} |",
            kind.concern,
            kind.meaning()
        );
    }
    text
}

/// Returns every code with its page, in Markdown.
pub fn codes() -> String {
    let mut text = String::new();
    for (title, group) in &codes::GROUPS {
        let _ = write!(text, "- {title}: ");
        let links = group
            .iter()
            .map(|code| format!("[`{0}`](#{0})", code.name))
            .collect::<Vec<_>>();
        let _ = writeln!(text, "{}", links.join(", "));
    }
    for (title, group) in &codes::GROUPS {
        let _ = write!(text, "\n## {title}\n");
        for code in *group {
            // The plans on these pages are wrong on purpose, so they must not be taken for examples of the language.
            let page = code
                .page
                .replace("```plan\n", "```text\n")
                .replace("```json\n", "```text\n");
            let _ = write!(text, "\n### {}\n\n*{}.* {}", code.name, code.severity, page);
        }
    }
    text
}

/// Returns every function and macro with its page, in Markdown.
pub fn functions() -> String {
    let subjects = builtins::SUBJECTS.iter().map(|(subject, functions)| {
        let pages = functions
            .iter()
            .map(|one| (one.title(), builtins::pages::of_function(one)));
        (*subject, pages.collect::<Vec<_>>())
    });
    let macros = builtins::MACROS
        .iter()
        .map(|one| (one.title(), builtins::pages::of_macro(one)));
    let mut text = String::new();
    for (subject, pages) in subjects.chain([("Macros", macros.collect())]) {
        let _ = write!(text, "\n## {subject}\n");
        for (title, page) in pages {
            let _ = write!(text, "\n### {title}\n\n{page}");
        }
    }
    text
}

/// Returns every built-in tool with its page, in Markdown.
pub fn tools() -> String {
    let tools = pages::built_in();
    let links = tools
        .iter()
        .map(|tool| format!("[`{0}`](#{1})", tool.path(), tool.path().replace('.', "")));
    let mut text = format!("{}\n", links.collect::<Vec<_>>().join(", "));
    for tool in &tools {
        let _ = write!(text, "\n## {}\n\n{}", tool.path(), pages::page(tool));
    }
    text + "\n" + pages::REST
}

fn section(text: &mut String, command: &Command, name: &str) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage
        .trim_start_matches("Usage: ")
        .replace(" [OPTIONS]", "");
    let usage = usage.lines().next().unwrap_or_default();
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let _ = write!(
        text,
        "### planrun {name}\n\n`{}`: {}.\n\n",
        usage.trim(),
        about.trim_end_matches('.')
    );
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !is_everywhere(arg))
        .collect();
    if !own.is_empty() {
        let _ = writeln!(text, "{}", table(&own));
    }
}

fn everywhere(line: &Command) -> Vec<&Arg> {
    line.get_arguments()
        .filter(|arg| is_everywhere(arg) || arg.get_id() == "version")
        .collect()
}

fn is_everywhere(arg: &Arg) -> bool {
    arg.is_global_set() || arg.is_hide_set() || matches!(arg.get_id().as_str(), "help" | "version")
}

fn table(arguments: &[&Arg]) -> String {
    let mut text = "| | |\n| --- | --- |\n".to_owned();
    for arg in arguments.iter().filter(|arg| !arg.is_hide_set()) {
        let help = arg
            .get_help()
            .map(|help| help.to_string().replace('\n', " "))
            .unwrap_or_default();
        let stop = if help.is_empty() || help.ends_with(['.', ':']) {
            ""
        } else {
            "."
        };
        let _ = writeln!(
            text,
            "| {} | {}{stop}{} |",
            spelled(arg),
            escaped(&help),
            escaped(&choices(arg))
        );
    }
    text
}

/// Returns the argument as it is typed.
fn spelled(arg: &Arg) -> String {
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let values: Vec<&str> = arg
        .get_value_names()
        .into_iter()
        .flatten()
        .map(clap::builder::Str::as_str)
        .collect();
    let value = if takes && !values.is_empty() {
        format!(" {}", values.join(" "))
    } else {
        String::new()
    };
    let text = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{value}"),
        (Some(short), None) => format!("-{short}{value}"),
        (None, Some(long)) => format!("--{long}{value}"),
        (None, None) => values.join(" "),
    };
    format!("`{}`", escaped(&text))
}

/// Returns the possible values and the default of an argument.
fn choices(arg: &Arg) -> String {
    if !matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) {
        return String::new();
    }
    let values: Vec<_> = arg
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    let default: Vec<_> = arg
        .get_default_values()
        .iter()
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    let mut text = String::new();
    if !values.is_empty() {
        let _ = write!(text, " One of {}.", values.join(", "));
    }
    if !default.is_empty() {
        let _ = write!(text, " Default: {}.", default.join(", "));
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
