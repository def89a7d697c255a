//! `agents` and `tool_sets` of planrun.yaml: the types of agents and what each of them may do.

use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::codes::contracts::CONFIG_KEY;
use planrun_lang::sema::Tools;
use planrun_lang::source::Span;
use planrun_lang::yaml::{Entry, Node};

use super::models::ModelList;
use crate::tools::app::section::{Mistakes, Section};

/// The namespace of the file tools that every agent has in addition to the tools of its project.
pub const AGENT_FILES: &str = "files";
/// The type that always exists. Unless the project redefines it, it may do everything that the project allows and may
/// dispatch itself.
const GENERAL: &str = "general";
/// The key that names the type of the first agent if no other type is requested.
const DEFAULT: &str = "default";
const KEYS: [&str; 6] = [
    "description",
    "tools",
    "model",
    "children",
    "rules",
    "skills",
];

/// The agent types of a project: the built-in one and those that the project defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentTypes {
    /// The built-in type first, then in the order of the file.
    pub types: Vec<AgentType>,
    /// The type of the first agent if no other type is requested.
    pub default: Arc<str>,
    /// Every tool pattern in the file with its span.
    patterns: Vec<(String, Span)>,
}

/// One type of agent, by the name that the project gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentType {
    pub name: Arc<str>,
    /// Its purpose, for agents that may dispatch it.
    pub description: Option<String>,
    /// The tools that it may call, such as `desk.find` or `desk.*`; `None` for all that the project allows.
    pub tools: Option<Vec<String>>,
    /// The name of a model in `models`; `None` for the model of the dispatching agent.
    pub model: Option<String>,
    /// The types that it may dispatch.
    pub children: Vec<Arc<str>>,
    /// The rules that it is given, by path below the rules folder; `None` for all.
    pub rules: Option<Vec<String>>,
    /// The skills that it can use, by name; `None` for all.
    pub skills: Option<Vec<String>>,
}

impl Default for AgentTypes {
    fn default() -> Self {
        let general = AgentType {
            name: GENERAL.into(),
            children: vec![GENERAL.into()],
            ..AgentType::default()
        };
        Self {
            types: vec![general],
            default: GENERAL.into(),
            patterns: Vec::new(),
        }
    }
}

impl AgentTypes {
    pub fn find(&self, name: &str) -> Option<&AgentType> {
        self.types.iter().find(|one| &*one.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.types.iter().map(|one| &*one.name)
    }

    /// Reports every listed tool that does not exist in `tools`.
    pub fn unknown_tools(&self, tools: &Tools) -> Vec<Diagnostic> {
        let patterns = self.patterns.iter();
        let found = patterns.filter_map(|(pattern, span)| unknown_tool(pattern, *span, tools));
        found.collect()
    }
}

/// Checks a pattern such as `desk.find`, `desk.*` or `*`. Returns a diagnostic if nothing matches it.
fn unknown_tool(pattern: &str, span: Span, tools: &Tools) -> Option<Diagnostic> {
    let (namespace, name) = pattern.split_once('.')?;
    if tools.unlocked.iter().any(|server| **server == *namespace) {
        // The server is not in the lock file yet, so its tools are unknown.
        return None;
    }
    let message = format!("there is no tool `{pattern}`, but it is listed for agents");
    if tools.has_namespace(namespace) {
        if name == "*" || tools.find(namespace, name).is_some() {
            return None;
        }
        let names = tools
            .names(namespace)
            .map(|one| format!("{namespace}.{one}"));
        let names: Vec<String> = names.collect();
        return Some(unknown((message, span), pattern, &names));
    }
    if namespace == AGENT_FILES {
        // These tools are not in the catalog. Agents check these patterns themselves.
        return None;
    }
    let names = tools.namespaces().map(|one| format!("{one}.{name}"));
    let names: Vec<String> = names.collect();
    Some(unknown((message, span), pattern, &names))
}

/// Builds a diagnostic for a name that is not one of `names`.
fn unknown(
    (message, span): (String, Span),
    written: &str,
    names: &[impl AsRef<str>],
) -> Diagnostic {
    let names = || names.iter().map(AsRef::as_ref);
    let finding = Diagnostic::new(&CONFIG_KEY, span, message).available(names());
    let otherwise = match names().next() {
        Some(_) => "use one of the available names",
        None => "remove it: there are none to choose from",
    };
    finding.suggest(written, names(), otherwise)
}

/// Reads the types and adds them to the built-in one.
pub(super) fn agent_types(
    (agents, tool_sets): (Option<&Node>, Option<&Node>),
    models: &ModelList,
    found: &Mistakes,
) -> AgentTypes {
    let mut types = AgentTypes::default();
    let mut reader = Reader {
        sets: Vec::new(),
        names: vec![GENERAL.into()],
        models,
        patterns: Vec::new(),
        found,
    };
    if let Some(node) = tool_sets {
        reader.tool_sets(node);
    }
    let Some(agents) = agents else {
        types.patterns = reader.patterns;
        return types;
    };
    let Some(section) = Section::new("`agents`", agents, found) else {
        return types;
    };
    let written = agents.entries().unwrap_or_default().iter();
    let written: Vec<&Entry> = written.filter(|entry| entry.name != DEFAULT).collect();
    let own = written.iter().filter(|entry| entry.name != GENERAL);
    reader.names.extend(own.map(|entry| (&*entry.name).into()));
    for entry in written {
        let known = types.types.iter_mut().find(|one| *one.name == *entry.name);
        if let Some(known) = known {
            reader.agent_type(entry, known);
            continue;
        }
        let mut new = AgentType {
            name: (&*entry.name).into(),
            ..AgentType::default()
        };
        reader.agent_type(entry, &mut new);
        types.types.push(new);
    }
    if let (Some(name), Some(node)) = (section.text(DEFAULT), section.get(DEFAULT)) {
        let name = reader.type_name(&name, node.span, "`default`");
        types.default = name.unwrap_or(types.default);
    }
    types.patterns = reader.patterns;
    types
}

struct Reader<'a> {
    /// The tool sets with their patterns.
    sets: Vec<(String, Vec<String>)>,
    names: Vec<Arc<str>>,
    models: &'a ModelList,
    patterns: Vec<(String, Span)>,
    found: &'a Mistakes,
}

impl Reader<'_> {
    /// Reads the tool sets, such as `look: [desk.find, "files.*"]`.
    fn tool_sets(&mut self, node: &Node) {
        let Some(section) = Section::new("`tool_sets`", node, self.found) else {
            return;
        };
        for entry in node.entries().unwrap_or_default() {
            if is_pattern(&entry.name) {
                let message = format!("`{}` is not a valid name for a tool set", entry.name);
                let help = "use a name without a `.`, which would be read as a tool";
                self.found.explain(entry.span, message, help);
            }
            let (tools, others): (Vec<_>, Vec<_>) = section
                .texts(&entry.name)
                .into_iter()
                .partition(|(text, _)| is_pattern(text));
            for (text, span) in others {
                let message = format!("`{text}` is not the name of a tool");
                let help = "write `desk.find`, `desk.*` for all of a namespace, or `*`";
                self.found.explain(span, message, help);
            }
            let set = tools.iter().map(|(text, _)| text.clone()).collect();
            self.sets.push((entry.name.clone(), set));
            self.patterns.extend(tools);
        }
    }

    fn agent_type(&mut self, entry: &Entry, read: &mut AgentType) {
        let what = format!("the agent type `{}`", entry.name);
        let Some(section) = Section::new(&*what, &entry.value, self.found) else {
            return;
        };
        section.expect_keys(&KEYS);
        read.description = section.text("description");
        let list = |name: &str| section.get(name).map(|_| section.texts(name));
        let (tools, children) = (list("tools"), list("children"));
        let (rules, skills) = (list("rules"), list("skills"));
        let names = |list: Vec<(String, Span)>| list.into_iter().map(|(text, _)| text).collect();
        read.rules = rules.map(names);
        read.skills = skills.map(names);
        read.tools = tools.map(|tools| self.tools(tools, &what));
        if let Some(children) = children {
            let children = children.iter();
            let types = children.filter_map(|(name, span)| self.type_name(name, *span, &what));
            read.children = types.collect();
        }
        if let (Some(model), Some(node)) = (section.text("model"), section.get("model")) {
            read.model = self.model(model, node.span, &what);
        }
    }

    /// Replaces the names of tool sets in a list by their patterns.
    fn tools(&mut self, written: Vec<(String, Span)>, what: &str) -> Vec<String> {
        let mut tools = Vec::new();
        for (text, span) in written {
            if is_pattern(&text) {
                self.patterns.push((text.clone(), span));
                tools.push(text);
            } else if let Some((_, set)) = self.sets.iter().find(|(name, _)| *name == text) {
                tools.extend(set.iter().cloned());
            } else {
                let message = format!("there is no tool set `{text}`, but {what} lists it");
                let names: Vec<&String> = self.sets.iter().map(|(name, _)| name).collect();
                self.found.push(unknown((message, span), &text, &names));
            }
        }
        tools
    }

    /// Returns the type's name, or reports it and returns `None` if there is no such type.
    fn type_name(&mut self, written: &str, span: Span, whose: &str) -> Option<Arc<str>> {
        let known = self.names.iter().find(|name| &***name == written).cloned();
        if known.is_none() {
            let message = format!("there is no agent type `{written}`, but {whose} names it");
            let finding = unknown((message, span), written, &self.names);
            self.found.push(finding);
        }
        known
    }

    /// Returns the model's name, or reports it and returns `None` if the project lists other models. If it lists none,
    /// any name is accepted because only the server knows them.
    fn model(&mut self, written: String, span: Span, whose: &str) -> Option<String> {
        let models = self.models.models.iter();
        let names: Vec<&str> = models.map(|model| &*model.name).collect();
        if names.is_empty() || names.contains(&&*written) {
            return Some(written);
        }
        let message = format!("there is no model `{written}` under `models`, but {whose} names it");
        let finding = unknown((message, span), &written, &names);
        self.found.push(finding);
        None
    }
}

/// Returns true if a text is a tool pattern: `desk.find`, `desk.*` or `*`.
fn is_pattern(text: &str) -> bool {
    let named = text.split_once('.');
    text == "*" || named.is_some_and(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
}
