//! `planrun explain`: pages about diagnostic codes, built-in tools and functions.

use clap::Args;
use owo_colors::Style;
use planrun_lang::builtins;
use planrun_lang::diag::render::{Appearance, command, quoted, visible_line};
use planrun_lang::diag::{Code, closest, code_named, codes};
use planrun_lang::syntax::ast::CLAUSE_WORDS;
use planrun_lang::types::Signature;
use planrun_tools::tools::{BUILT_IN, pages};

use super::page::page;
use super::terminal::styled;
use super::{Exit, Failure, Result, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun explain                 every code, one per line
  planrun explain unknown-field   the page of a code
  planrun explain http.fetch      the page of a built-in tool
  planrun explain http            the built-in tools of a namespace
  planrun explain slice           the page of a function
  planrun explain functions       every function, one per line
  planrun explain --language      the language in 4,000 tokens";

/// Explain a diagnostic code, a built-in tool or a function
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Code, tool such as `http.fetch`, namespace such as `http`, function such as `slice`, or `functions`; without one, list
    /// all codes and tools
    #[arg(value_name = "CODE|TOOL|FUNCTION")]
    pub code: Option<String>,
    /// Print a description of the whole language in 4,000 tokens, for the prompt of a model
    #[arg(long, conflicts_with = "code")]
    pub language: bool,
}

/// The short description of the language.
const LANGUAGE: &str = include_str!("language.md");

/// The words that begin items, settings, statements and values of steps.
const STATEMENTS: [&str; 26] = [
    "use", "type", "tool", "plan", "test", "policy", "allow", "task", "listener", "set", "step",
    "let", "if", "else", "each", "repeat", "race", "do", "match", "wait", "input", "infer", "ask",
    "ensure", "fail", "reply",
];

/// Prints the page of a code or tool, or the list of codes and tools. Returns an error if there is no such code or
/// tool, or the output cannot be written.
pub fn run(arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    if arguments.language {
        terminal.print(LANGUAGE)?;
        return Ok(Exit::Fine);
    }
    let text = match &arguments.code {
        Some(name) if name == "functions" => all_functions(terminal.style),
        Some(name) => {
            match tools(name, terminal.style).or_else(|| function(name, terminal.style)) {
                Some(text) => text,
                None => explanation(find(name)?, terminal.style),
            }
        }
        None => format!("{}\n{}", list(terminal.style), all_tools(terminal.style)),
    };
    terminal.print(&text)?;
    Ok(Exit::Fine)
}

/// Finds a code by name, or by the form copied from a diagnostic, such as `error[unknown-field]`.
fn find(name: &str) -> Result<&'static Code> {
    let bare = name
        .split_once('[')
        .map_or(name, |(_, rest)| rest.trim_end_matches(']'));
    code_named(bare).map_err(|unknown| {
        if let Some(what) = word_of_language(bare) {
            let word = visible_line(bare);
            let language = command("explain --language");
            return Failure::Usage(format!(
                "`{word}` is no code: it is {what}; `{language}` describes the whole language"
            ));
        }
        Failure::Usage(match not_a_code(bare, unknown.nearest.is_some()) {
            Some(message) => message,
            None => unknown.to_string(),
        })
    })
}

/// Says that there is no code, tool or function of a name that rather looks like one of a tool or function; `like_code`:
/// it looks like that of a code.
fn not_a_code(name: &str, like_code: bool) -> Option<String> {
    let dotted = name.contains('.');
    if like_code && !dotted {
        return None;
    }
    let tools = pages::built_in().into_iter().map(|tool| tool.path());
    let functions = builtins::all().map(builtins::Function::title);
    let macros = builtins::MACROS.iter().map(builtins::Macro::title);
    let names: Vec<String> = tools.chain(functions).chain(macros).collect();
    let near = closest(name, names.iter().map(String::as_str).chain(BUILT_IN));
    let shown = visible_line(name);
    let more = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if dotted => {
            let tool = command(&format!("tools show {}", quoted(name)));
            format!("for a tool of the project: `{tool}`")
        }
        None => return None,
    };
    Some(format!(
        "there is no code, built-in tool or function `{shown}`; {more}"
    ))
}

/// Says what a word of the language is: the beginning of a statement or an item, or a clause. Such words have no pages
/// of their own.
fn word_of_language(word: &str) -> Option<String> {
    if STATEMENTS.contains(&word) {
        Some("the beginning of a statement or of a part of a plan file".to_owned())
    } else if CLAUSE_WORDS.contains(&word) || word == "expires" {
        Some("a clause of a step".to_owned())
    } else {
        None
    }
}

/// Returns the page of a built-in tool or the tools of a namespace; `None` if the name is neither.
fn tools(name: &str, style: Appearance) -> Option<String> {
    let tools = pages::built_in();
    if let Some(tool) = tools.iter().find(|tool| tool.path() == name) {
        let title = styled(name, Style::new().bold(), style);
        return Some(format!(
            "{title} (built-in tool)\n\n{}",
            page(&pages::page(tool), style)
        ));
    }
    let own: Vec<_> = tools
        .iter()
        .filter(|tool| &*tool.namespace == name)
        .collect();
    (!own.is_empty()).then(|| own.into_iter().map(|tool| tool_line(tool)).collect())
}

/// Returns the page of a function or macro; `None` if the name is neither.
fn function(name: &str, style: Appearance) -> Option<String> {
    let text = builtins::pages::page(name)?;
    let title = styled(name, Style::new().bold(), style);
    Some(format!("{title} (function)\n\n{}", page(&text, style)))
}

/// Returns all functions by subject, then the macros.
fn all_functions(style: Appearance) -> String {
    let line = |title: String, text: &str| format!("  {title:<18}  {text}\n");
    let subjects = builtins::SUBJECTS.iter().map(|(subject, functions)| {
        let lines = functions
            .iter()
            .map(|function| line(function.title(), function.description));
        (*subject, lines.collect::<String>())
    });
    let macros = builtins::MACROS
        .iter()
        .map(|one| line(one.title(), one.description));
    let sections = subjects.chain([("Macros", macros.collect())]);
    let sections = sections.map(|(subject, lines)| {
        let title = styled(subject, Style::new().bold(), style);
        format!("{title}\n{lines}")
    });
    sections.collect::<Vec<_>>().join("\n")
}

fn all_tools(style: Appearance) -> String {
    let title = styled("Built-in tools", Style::new().bold(), style);
    format!(
        "{title}\n{}",
        pages::built_in()
            .iter()
            .map(|tool| tool_line(tool))
            .collect::<String>()
    )
}

fn tool_line(tool: &Signature) -> String {
    format!(
        "  {:<12}  {:<10}  {}\n",
        tool.path(),
        tool.effect.name(),
        tool.description.as_deref().unwrap_or_default()
    )
}

fn explanation(code: &Code, style: Appearance) -> String {
    let name = styled(code.name, Style::new().bold(), style);
    format!("{name} ({})\n\n{}", code.severity, page(code.page, style))
}

fn list(style: Appearance) -> String {
    let widest = codes::all().map(|code| code.name.len()).max().unwrap_or(0);
    let groups = codes::GROUPS.iter().map(|(title, codes)| {
        let title = styled(title, Style::new().bold(), style);
        let lines: String = codes.iter().map(|code| line(code, widest)).collect();
        format!("{title}\n{lines}")
    });
    groups.collect::<Vec<_>>().join("\n")
}

fn line(code: &Code, widest: usize) -> String {
    let meaning = code.page.lines().next().unwrap_or("");
    let severity = code.severity.to_string();
    format!("  {:<widest$}  {severity:<7}  {meaning}", code.name)
        .trim_end()
        .to_owned()
        + "\n"
}
