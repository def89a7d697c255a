//! Programs as tools: the `process` entries of `planrun.yaml`.

use std::sync::Arc;

use planrun_lang::diag::codes::contracts::AMBIGUOUS_TOOL;
use planrun_lang::diag::{Diagnostic, nearest};
use planrun_lang::source::Span;
use planrun_lang::types::Signature;
use planrun_lang::value::{parse_duration, saturating_duration};

use super::servers::{ServerReader, command_of};
use crate::tools::app::section::Section;
use crate::tools::app::tool::{CONTRACT_KEYS, Shared, arguments, contract};
use crate::tools::process::{Bounds, Input, Output, Program, ProgramContext, ProgramTool, Word};
use planrun_lang::yaml::Node;

const KEYS: [&str; 7] = [
    "command", "env", "cwd", "input", "output", "limits", "tools",
];
/// The keys of a tool in addition to those of its contract.
const OWN_KEYS: [&str; 3] = ["arguments", "input", "output"];

impl ServerReader<'_> {
    /// Reads the program with this name and its tools.
    pub(super) fn program(&self, name: &str, node: &Node) -> Option<Program> {
        let section = Section::new(format!("the program `{name}`"), node, self.found)?;
        section.expect_keys(&KEYS);
        let mut secrets = self.secrets(node);
        let Some(command) = section.get("command") else {
            section.required("command");
            return None;
        };
        let command = command_of(command, &section)?;
        let environment = self.environment(&section, &mut secrets);
        let context = ProgramContext {
            root: self.root.to_owned(),
            folder: self.folder(&section),
            environment,
        };
        secrets.extend(context.credentials());
        let name: Arc<str> = name.into();
        let tools = tools(&section, &name);
        Some(Program {
            command,
            context,
            bounds: bounds(&section),
            tools,
            secrets,
            name,
        })
    }
}

fn tools(section: &Section, namespace: &Arc<str>) -> Vec<ProgramTool> {
    let mut tools: Vec<ProgramTool> = Vec::new();
    if section.get("tools").is_none() {
        let message = format!("the program `{namespace}` has no tools");
        let help = "list them under `tools`, each with `name`, `parameters`, `returns`, `effect` and `arguments`";
        section.found.explain(section.span(), message, help);
    }
    for node in section.list("tools") {
        let Some(tool) = tool(section, node, namespace) else {
            continue;
        };
        let is_same = |other: &ProgramTool| other.signature.name == tool.signature.name;
        if tools.iter().any(is_same) {
            let message = format!("the tool {} is defined twice", tool.signature.path());
            let help = "only the first is used; rename the other";
            section
                .found
                .push(Diagnostic::new(&AMBIGUOUS_TOOL, node.span, message).help(help));
            continue;
        }
        tools.push(tool);
    }
    tools
}

fn tool(program: &Section, node: &Node, namespace: &Arc<str>) -> Option<ProgramTool> {
    let what = format!("a tool of {namespace}");
    let mut section = Section::new(what, node, program.found)?;
    let name: Arc<str> = section.required("name")?.into();
    section.rename(format!("the tool {namespace}.{name}"));
    let keys = [&CONTRACT_KEYS[..], &OWN_KEYS].concat();
    section.expect_keys(&keys);
    let parts = (arguments(&section), "exit", None);
    let (signature, errors) = contract(&section, (&Shared { namespace }, name), parts);
    let words = section.texts("arguments").into_iter();
    let words: Vec<(Word, Span)> = words
        .filter_map(|(text, span)| Some((word(&section, &text, span)?, span)))
        .collect();
    // A tool without its own input or output has that of the program.
    let owner = |key: &str| section.get(key).map_or(program, |_| &section);
    let (input, input_span) = input(owner("input"));
    let output = owner("output").word("output", &["text", "json"], output);
    let mut used: Vec<_> = words.iter().map(|(word, span)| (word, *span)).collect();
    if let Input::Text(word) = &input {
        used.push((word, input_span));
    }
    unknown_arguments(&signature, &used, &section);
    if input != Input::Arguments {
        unused_parameters(&signature, &used, &section);
    }
    Some(ProgramTool {
        arguments: words.into_iter().map(|(word, _)| word).collect(),
        signature: Arc::new(signature),
        input,
        output: output.unwrap_or(Output::Text),
        errors,
    })
}

fn word(section: &Section, text: &str, span: Span) -> Option<Word> {
    Word::parse(text)
        .map_err(|problem| section.report(span, problem))
        .ok()
}

/// Reads `input: stdin`, which sends all arguments as JSON, or `input: "{text}"`, which sends text with arguments.
fn input(section: &Section) -> (Input, Span) {
    let Some(node) = section.get("input") else {
        return (Input::Nothing, section.span());
    };
    let input = match section.text("input").as_deref() {
        Some("stdin") => Input::Arguments,
        Some(text) if text.contains('{') => {
            word(section, text, node.span).map_or(Input::Nothing, Input::Text)
        }
        Some(text) => {
            let message = format!(
                "`input` must be `stdin`, for all arguments as one JSON object, or a string with arguments such as \
                 `\"{{text}}\"`, but is `{text}`"
            );
            section.report(node.span, message);
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
fn unknown_arguments(signature: &Signature, words: &[(&Word, Span)], section: &Section) {
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
            let finding = section.found.at(*span, message).available(names());
            section.found.push(match nearest(name, names()) {
                Some(near) => finding.help(format!("did you mean `{{{}}}`?", near.name)),
                None => finding.help(format!(
                    "list it under `parameters`, or write `{{{{{name}}}}}` for literal braces"
                )),
            });
        }
    }
}

/// Warns about parameters that are never passed to the program.
fn unused_parameters(signature: &Signature, words: &[(&Word, Span)], section: &Section) {
    let used = |name: &str| {
        words
            .iter()
            .any(|(word, _)| word.arguments().any(|used| used == name))
    };
    let names = signature
        .parameters
        .iter()
        .map(|parameter| &*parameter.name);
    for name in names.filter(|name| !used(name)) {
        let path = signature.path();
        let message = format!("the parameter `{name}` of {path} is never passed to the program");
        let help = format!(
            "add `{{{name}}}` to `arguments`, or use `input: stdin` to pass all arguments as JSON"
        );
        section.found.warn(section.span(), message, help);
    }
}

/// Reads `limits: { time: 30s, output: 1MiB, memory: 512MiB }`.
fn bounds(section: &Section) -> Bounds {
    let usual = Bounds::default();
    let Some(limits) = section.inner("limits", &["time", "output", "memory"]) else {
        return usual;
    };
    let size = |name: &str| {
        let (node, text) = (limits.get(name)?, limits.text(name)?);
        let size = size(&text);
        if size.is_none() {
            let message =
                format!("`{name}` of `limits` must be a size such as 64MiB, but is `{text}`");
            limits.report(node.span, message);
        }
        size
    };
    let (output, memory) = (size("output"), size("memory"));
    let output = output.and_then(|bytes| usize::try_from(bytes).ok());
    let time = limits.get("time").and_then(|node| {
        let length = limits.text("time")?;
        let nanoseconds = parse_duration(&length).filter(|length| *length > 0);
        if nanoseconds.is_none() {
            let message =
                format!("`time` of `limits` must be a duration such as 30s, but is `{length}`");
            limits.report(node.span, message);
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
