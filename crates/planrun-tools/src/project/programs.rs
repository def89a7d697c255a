//! Programs as tools: the `process` entries of `planrun.yaml`.

use std::sync::Arc;

use planrun_lang::diag::codes::contracts::{AMBIGUOUS_TOOL, CONFIG_KEY};
use planrun_lang::diag::{Diagnostic, Severity, nearest};
use planrun_lang::source::Span;
use planrun_lang::types::Signature;
use planrun_lang::value::{parse_duration, saturating_duration};

use super::servers::{ServerReader, command_of};
use crate::tools::app::section::Section;
use crate::tools::app::tool::{CONTRACT_KEYS, Shared, arguments, contract};
use crate::tools::app::variables::Variable;
use crate::tools::process::{Bounds, Input, Output, Program, ProgramContext, ProgramTool, Word};
use planrun_lang::yaml::Node;

const KEYS: [&str; 7] = [
    "command", "env", "cwd", "input", "output", "limits", "tools",
];
/// The keys of a tool in addition to those of its contract.
const OWN_KEYS: [&str; 3] = ["arguments", "input", "output"];

impl ServerReader<'_> {
    /// Reads the program with this name and its tools.
    pub(super) fn program(
        &self,
        name: &str,
        node: &Node,
        filled: &[Variable],
        found: &mut Vec<Diagnostic>,
    ) -> Option<Program> {
        let section = Section::new(format!("the program `{name}`"), node, &CONFIG_KEY, found)?;
        section.expect_keys(&KEYS, &CONFIG_KEY, Severity::Error, found);
        let mut secrets = self.secrets(node, filled, found);
        let Some(command) = section.get("command") else {
            section.required("command", found);
            return None;
        };
        let command = command_of(command, &section, found)?;
        let environment = self.environment(&section, &mut secrets, found);
        let context = ProgramContext {
            root: self.root.to_owned(),
            folder: self.folder(&section, found),
            environment,
        };
        secrets.extend(context.credentials());
        let name: Arc<str> = name.into();
        let tools = tools(&section, &name, found);
        Some(Program {
            command,
            context,
            bounds: bounds(&section, found),
            tools,
            secrets,
            name,
        })
    }
}

fn tools(section: &Section, namespace: &Arc<str>, found: &mut Vec<Diagnostic>) -> Vec<ProgramTool> {
    let mut tools: Vec<ProgramTool> = Vec::new();
    if section.get("tools").is_none() {
        let message = format!("the program `{namespace}` has no tools");
        let help = "list them under `tools`, each with `name`, `parameters`, `returns`, `effect` and `arguments`";
        found.push(Diagnostic::new(&CONFIG_KEY, section.span(), message).help(help));
    }
    for node in section.list("tools", found) {
        let Some(tool) = tool(section, node, namespace, found) else {
            continue;
        };
        let is_same = |other: &ProgramTool| other.signature.name == tool.signature.name;
        if tools.iter().any(is_same) {
            let message = format!("the tool {} is defined twice", tool.signature.path());
            let help = "only the first is used; rename the other";
            found.push(Diagnostic::new(&AMBIGUOUS_TOOL, node.span, message).help(help));
            continue;
        }
        tools.push(tool);
    }
    tools
}

fn tool(
    program: &Section,
    node: &Node,
    namespace: &Arc<str>,
    found: &mut Vec<Diagnostic>,
) -> Option<ProgramTool> {
    let mut section = Section::new(format!("a tool of {namespace}"), node, &CONFIG_KEY, found)?;
    let name: Arc<str> = section.required("name", found)?.into();
    section.rename(format!("the tool {namespace}.{name}"));
    let keys = [&CONTRACT_KEYS[..], &OWN_KEYS].concat();
    section.expect_keys(&keys, &CONFIG_KEY, Severity::Error, found);
    let parts = (arguments(&section, found), "exit", None);
    let (signature, errors) = contract(&section, (&Shared { namespace }, name), parts, found);
    let words = section.texts("arguments", found).into_iter();
    let words: Vec<(Word, Span)> = words
        .filter_map(|(text, span)| Some((word(&section, &text, span, found)?, span)))
        .collect();
    let owner = if section.get("input").is_some() {
        &section
    } else {
        program
    };
    let (input, input_span) = input(owner, found);
    let owner = if section.get("output").is_some() {
        &section
    } else {
        program
    };
    let output = owner.word("output", &["text", "json"], output, found);
    let mut used = words
        .iter()
        .map(|(word, span)| (word, *span))
        .collect::<Vec<_>>();
    if let Input::Text(word) = &input {
        used.push((word, input_span));
    }
    unknown_arguments(&signature, &used, &section, found);
    if input != Input::Arguments {
        unused_parameters(&signature, &used, &section, found);
    }
    Some(ProgramTool {
        arguments: words.into_iter().map(|(word, _)| word).collect(),
        signature: Arc::new(signature),
        input,
        output: output.unwrap_or(Output::Text),
        errors,
    })
}

fn word(section: &Section, text: &str, span: Span, found: &mut Vec<Diagnostic>) -> Option<Word> {
    Word::parse(text)
        .map_err(|problem| section.report(span, problem, found))
        .ok()
}

/// Reads `input: stdin`, which sends all arguments as JSON, or `input: "{text}"`, which sends text with arguments.
fn input(section: &Section, found: &mut Vec<Diagnostic>) -> (Input, Span) {
    let Some(node) = section.get("input") else {
        return (Input::Nothing, section.span());
    };
    let input = match section.text("input", found).as_deref() {
        Some("stdin") => Input::Arguments,
        Some(text) if text.contains('{') => {
            word(section, text, node.span, found).map_or(Input::Nothing, Input::Text)
        }
        Some(text) => {
            let message = format!(
                "`input` must be `stdin`, for all arguments as one JSON object, or a string with arguments such as \
                 `\"{{text}}\"`, but is `{text}`"
            );
            section.report(node.span, message, found);
            Input::Nothing
        }
        None => Input::Nothing,
    };
    (input, node.span)
}

fn output(word: &str) -> Option<Output> {
    match word {
        "text" => Some(Output::Text),
        "json" => Some(Output::Json),
        _ => None,
    }
}

/// Reports placeholders that do not name a parameter.
fn unknown_arguments(
    signature: &Signature,
    words: &[(&Word, Span)],
    section: &Section,
    found: &mut Vec<Diagnostic>,
) {
    let names = || {
        signature
            .parameters
            .iter()
            .map(|parameter| &*parameter.name)
    };
    for (word, span) in words {
        for name in word
            .arguments()
            .filter(|name| names().all(|known| known != *name))
        {
            let message = format!("`{{{name}}}` is not a parameter of {}", signature.path());
            let finding = Diagnostic::new(section.code(), *span, message).available(names());
            found.push(match nearest(name, names()) {
                Some(near) => finding.help(format!("did you mean `{{{}}}`?", near.name)),
                None => finding.help(format!(
                    "list it under `parameters`, or write `{{{{{name}}}}}` for literal braces"
                )),
            });
        }
    }
}

/// Warns about parameters that are never passed to the program.
fn unused_parameters(
    signature: &Signature,
    words: &[(&Word, Span)],
    section: &Section,
    found: &mut Vec<Diagnostic>,
) {
    let parameters = signature
        .parameters
        .iter()
        .map(|parameter| &*parameter.name);
    for name in parameters {
        if words
            .iter()
            .any(|(word, _)| word.arguments().any(|used| used == name))
        {
            continue;
        }
        let message = format!(
            "the parameter `{name}` of {} is never passed to the program",
            signature.path()
        );
        let mut finding = Diagnostic::new(section.code(), section.span(), message);
        finding.severity = Severity::Warning;
        found.push(finding.help(format!(
            "add `{{{name}}}` to `arguments`, or use `input: stdin` to pass all arguments as JSON"
        )));
    }
}

/// Reads `limits: { time: 30s, output: 1MiB, memory: 512MiB }`.
fn bounds(section: &Section, found: &mut Vec<Diagnostic>) -> Bounds {
    let usual = Bounds::default();
    let Some(node) = section.get("limits") else {
        return usual;
    };
    let Some(limits) = Section::new("`limits`", node, &CONFIG_KEY, found) else {
        return usual;
    };
    limits.expect_keys(
        &["time", "output", "memory"],
        &CONFIG_KEY,
        Severity::Error,
        found,
    );
    let mut size = |name: &str| {
        let (node, text) = (limits.get(name)?, limits.text(name, found)?);
        let size = size(&text);
        if size.is_none() {
            let message =
                format!("`{name}` of `limits` must be a size such as 64MiB, but is `{text}`");
            limits.report(node.span, message, found);
        }
        size
    };
    let (output, memory) = (size("output"), size("memory"));
    let output = output.and_then(|bytes| usize::try_from(bytes).ok());
    let time = limits.get("time").and_then(|node| {
        let length = limits.text("time", found)?;
        let nanoseconds = parse_duration(&length).filter(|length| *length > 0);
        if nanoseconds.is_none() {
            let message =
                format!("`time` of `limits` must be a duration such as 30s, but is `{length}`");
            limits.report(node.span, message, found);
        }
        nanoseconds.map(saturating_duration)
    });
    Bounds {
        output: output.unwrap_or(usual.output),
        time,
        memory,
    }
}

/// Parses a size in bytes: `512KiB`, `64MiB`, `2GiB`.
fn size(text: &str) -> Option<u64> {
    let (digits, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let unit = match unit.trim() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    digits
        .parse::<u64>()
        .ok()?
        .checked_mul(unit)
        .filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::host::MemoryHost;
    use crate::project::Project;

    #[test]
    fn sizes_have_a_unit() {
        let sizes = [
            "512KiB",
            "64 MiB",
            "2GiB",
            "64",
            "0MiB",
            "64MB",
            "-1KiB",
            "99999999999999GiB",
        ];
        let expected = [Some(512 << 10), Some(64 << 20), Some(2 << 30)];
        assert_eq!(sizes.map(size)[..3], expected);
        assert_eq!(sizes.map(size)[3..], [None; 5]);
    }

    #[test]
    fn the_class_of_a_tool_is_said_where_the_tool_is() {
        let text = "tools: { text: { process: { command: [x], tools: [{ name: a }] }, classes: { a: read } } }";
        let host = MemoryHost::default().with_file("/p/planrun.yaml", text);
        let (project, found) = Project::load(&host, Some(Path::new("/p/a.plan")), None).unwrap();
        assert_eq!(project.programs[0].tools.len(), 1);
        let messages: Vec<&str> = found[0]
            .diagnostics
            .iter()
            .map(|one| &*one.message)
            .collect();
        assert_eq!(
            messages,
            ["`classes` applies to tools of servers, but these belong to a program"]
        );
    }
}
