//! The plan under construction: its names, its tools and its report.

use std::collections::{BTreeMap, BTreeSet};

use planrun_lang::characters::is_hidden;
use planrun_lang::diag::closest;
use planrun_lang::sema::Tools;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{
    Expr, File, Item, ItemKind, Parameter, Plan, Statement, Tool, TypeExpr, Use, UseNamespace,
};
use planrun_lang::syntax::is_reserved;
use planrun_lang::types::{BUILT_IN, Signature};
use planrun_lang::value::shortened;
use planrun_lang::yaml::{Content, Node};
use unicode_ident::{is_xid_continue, is_xid_start};

use crate::report::{Conversion, Report};
use crate::tree::{self, NOWHERE};

mod keys;
mod unused;

pub use unused::expressions;

/// The maximum length of a name, in characters; longer names are truncated.
const MAX_NAME: usize = 60;
/// Names with another meaning in expressions: types, functions, the namespaces of functions, and the element of a
/// comprehension.
const TAKEN: [&str; 20] = [
    "match",
    "signal",
    "any",
    "string",
    "int",
    "double",
    "bool",
    "bytes",
    "timestamp",
    "duration",
    "uint",
    "secret",
    "map",
    "Result",
    "Error",
    "type",
    "one",
    "math",
    "base64",
    "lists",
];
/// Words with a meaning in statements.
const WORDS: [&str; 7] = ["plan", "input", "wait", "each", "repeat", "race", "max"];

/// How the document calls a tool.
#[derive(Default)]
struct Used {
    calls: usize,
    /// Number of calls that pass each argument.
    arguments: BTreeMap<String, usize>,
    /// The arguments in the order of their first use.
    order: Vec<String>,
    fails: BTreeSet<String>,
}

/// The state that all formats share.
pub struct Draft<'t> {
    pub report: Report,
    catalog: &'t Tools,
    names: BTreeSet<String>,
    used: BTreeMap<(String, String), Used>,
    types: BTreeMap<(String, String), TypeExpr>,
    holes: usize,
}

/// The head and the body of a plan.
pub struct Made {
    pub doc: Option<String>,
    pub parameters: Vec<Parameter>,
    pub returns: Option<TypeExpr>,
    pub body: Vec<Statement>,
}

impl<'t> Draft<'t> {
    pub fn new(catalog: &'t Tools) -> Self {
        Self {
            report: Report::default(),
            catalog,
            names: catalog.namespaces().map(str::to_owned).collect(),
            used: BTreeMap::new(),
            types: BTreeMap::new(),
            holes: 0,
        }
    }

    /// Returns the tools of the project.
    pub fn catalog(&self) -> &'t Tools {
        self.catalog
    }

    /// Returns true if an input of a plan may have this name.
    pub fn can_be_named(&self, name: &str) -> bool {
        let is_taken = is_reserved(name) || TAKEN.contains(&name);
        !is_taken && !self.catalog.has_namespace(name) && !self.is_namespace(name)
    }

    /// Returns true if an input may have this name and nothing else has it.
    pub fn is_free(&self, name: &str) -> bool {
        self.can_be_named(name) && is_writable(name) && !self.names.contains(name)
    }

    fn is_namespace(&self, name: &str) -> bool {
        self.used.keys().any(|(namespace, _)| namespace == name)
    }

    /// Reserves a name, so that no value gets it.
    pub fn reserve(&mut self, name: &str) {
        self.names.insert(name.to_owned());
    }

    /// Returns the names that are taken.
    pub fn names(&self) -> BTreeSet<String> {
        self.names.clone()
    }

    /// Restores the names that were taken before, to start another plan.
    pub fn restore(&mut self, names: BTreeSet<String>) {
        self.names = names;
    }

    /// Returns an unused name that is as similar as possible to the requested one, and takes it.
    pub fn name(&mut self, requested: &str) -> String {
        let plain = identifier(requested);
        let mut name = plain.clone();
        let mut number = 1;
        let is_word =
            |name: &str| is_reserved(name) || TAKEN.contains(&name) || WORDS.contains(&name);
        while is_word(&name) || self.names.contains(&name) {
            number += 1;
            name = format!("{plain}_{number}");
        }
        self.names.insert(name.clone());
        name
    }

    /// Does the same for a part of the document, and reports if the name differs from that of the part.
    pub fn name_of(&mut self, requested: &str, span: Span, what: &str) -> String {
        let name = self.name(requested);
        if name != requested {
            let why = format!("is called `{name}` in the plan");
            self.report.add(
                Conversion::Changed,
                span,
                format!("{what} `{requested}`"),
                why,
            );
        }
        name
    }

    /// Reports a part that has an exact counterpart in the plan.
    pub fn carried(&mut self, span: Span, what: impl Into<String>, why: impl Into<String>) {
        self.report.add(Conversion::Carried, span, what, why);
    }

    /// Reports a part whose counterpart in the plan differs.
    pub fn changed(&mut self, span: Span, what: impl Into<String>, why: impl Into<String>) {
        self.report.add(Conversion::Changed, span, what, why);
    }

    /// Reports a part without a counterpart in the plan.
    pub fn lost(&mut self, span: Span, what: impl Into<String>, why: impl Into<String>) {
        self.report.add(Conversion::NotCarried, span, what, why);
    }

    /// Reports whole numbers in the text of a document that do not fit into 64 bits and are therefore rounded. `whole` is
    /// the place of the text if it is not the document itself.
    pub fn report_rounded(&mut self, node: &Node, text: &str, whole: Option<Span>) {
        match &node.content {
            Content::Number(number) if number.as_i64().is_none() => {
                let written = text.get(node.span.range()).unwrap_or("").trim();
                let digits = written.strip_prefix('-').unwrap_or(written);
                let is_whole =
                    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                // A number with leading zeros may be no JSON number but still fit, such as the id `001`.
                if is_whole && written.parse::<i64>().is_err() {
                    let what = format!("the number {}", excerpt(written));
                    let why = "is rounded: the whole numbers of a plan have 64 bits";
                    self.changed(whole.unwrap_or(node.span), what, why);
                }
            }
            Content::List(items) => {
                for item in items {
                    self.report_rounded(item, text, whole);
                }
            }
            Content::Map(entries) => {
                for entry in entries {
                    self.report_rounded(&entry.value, text, whole);
                }
            }
            Content::Null | Content::Bool(_) | Content::Number(_) | Content::Text(_) => {}
        }
    }

    /// Returns a hole for a part that has no counterpart: an undefined name, so that the plan cannot run before it is
    /// replaced.
    pub fn hole(&mut self, span: Span, what: impl Into<String>, why: impl AsRef<str>) -> Expr {
        self.holes += 1;
        let name = format!("not_carried_{}", self.holes);
        let why = format!("{}; replace `{name}` in the plan", why.as_ref());
        self.report.add(Conversion::NotCarried, span, what, why);
        tree::variable(&name)
    }

    /// Returns the contract of a tool of the project; `None` if there is no such tool.
    pub fn signature(&self, namespace: &str, tool: &str) -> Option<&'t Signature> {
        self.catalog.find(namespace, tool).map(|found| &**found)
    }

    /// Returns the tools of the project with this name, in all namespaces.
    pub fn tools_named(&self, tool: &str) -> Vec<(String, String)> {
        let all = self.catalog.namespaces().flat_map(|namespace| {
            let names = self.catalog.names(namespace);
            names.map(move |name| (namespace.to_owned(), name.to_owned()))
        });
        all.filter(|(_, name)| name == tool).collect()
    }

    /// Returns the namespace of the only system of the project that has an operation with this name. Built-in tools
    /// do not count.
    pub fn system_with(&self, operation: &str) -> Option<String> {
        let mut found = self.tools_named(operation);
        found.retain(|(namespace, _)| !BUILT_IN.contains(&namespace.as_str()));
        match found.as_slice() {
            [(namespace, _)] => Some(namespace.clone()),
            _ => None,
        }
    }

    /// Returns the most similar tool name of the project.
    pub fn near_tool(&self, tool: &str) -> Option<String> {
        let all = self.catalog.namespaces();
        let names = all.flat_map(|namespace| self.catalog.names(namespace));
        closest(tool, names).map(str::to_owned)
    }

    /// Returns a call of a tool, which the plan declares if the project does not have it.
    pub fn call(
        &mut self,
        namespace: &str,
        tool: &str,
        arguments: Vec<(String, Expr)>,
        fails: &BTreeSet<String>,
    ) -> Expr {
        let used = self
            .used
            .entry((namespace.to_owned(), tool.to_owned()))
            .or_default();
        used.calls += 1;
        used.fails.extend(fails.iter().cloned());
        for (argument, _) in &arguments {
            if !used.arguments.contains_key(argument) {
                used.order.push(argument.clone());
            }
            *used.arguments.entry(argument.clone()).or_default() += 1;
        }
        tree::call(namespace, tool, arguments)
    }

    /// Sets the result type of a declared tool.
    pub fn gives(&mut self, namespace: &str, tool: &str, ty: TypeExpr) {
        self.types
            .insert((namespace.to_owned(), tool.to_owned()), ty);
    }

    /// Returns the file, with the `use` and `tool` items that its plan needs.
    pub fn file(&mut self, plan: &str, made: Made) -> File {
        self.file_of(vec![(identifier(plan), made)])
    }

    /// Returns a file with several plans, each with its name.
    pub fn file_of(&mut self, plans: Vec<(String, Made)>) -> File {
        let mut items = Vec::new();
        let namespaces: BTreeSet<&String> =
            self.used.keys().map(|(namespace, _)| namespace).collect();
        if !namespaces.is_empty() {
            let namespaces = namespaces.into_iter().map(|namespace| UseNamespace {
                name: tree::name(namespace),
                alias: None,
            });
            items.push(item(ItemKind::Use(Use::Namespaces(namespaces.collect()))));
        }
        for ((namespace, name), used) in &self.used {
            if self.catalog.find(namespace, name).is_none() {
                let returns = self.types.get(&(namespace.clone(), name.clone()));
                items.push(item(declared(namespace, name, used, returns)));
            }
        }
        items.extend(plans.into_iter().map(|(name, made)| plan(&name, made)));
        File {
            items,
            ..File::default()
        }
    }

    /// Returns the tools that the plan calls but the project does not have, as dotted names.
    pub fn missing_tools(&self) -> Vec<String> {
        let used = self.used.keys();
        let missing = used.filter(|(namespace, name)| self.catalog.find(namespace, name).is_none());
        missing
            .map(|(namespace, name)| format!("{namespace}.{name}"))
            .collect()
    }
}

fn item(kind: ItemKind) -> Item {
    Item {
        span: Span::new(0, 1),
        doc: None,
        kind,
    }
}

fn plan(name: &str, made: Made) -> Item {
    let mut body = tree::block(made.body);
    unused::remove(&mut body);
    let doc = made
        .doc
        .map(|doc| one_line(&doc))
        .filter(|doc| !doc.is_empty());
    Item {
        doc: doc.map(Into::into),
        ..item(ItemKind::Plan(Plan {
            name: tree::name(name),
            parameters: made.parameters,
            returns: made.returns,
            body,
        }))
    }
}

fn declared(namespace: &str, name: &str, used: &Used, returns: Option<&TypeExpr>) -> ItemKind {
    let parameters = used.order.iter().map(|argument| {
        let named = used.arguments.get(argument).copied().unwrap_or_default();
        parameter(argument, named < used.calls)
    });
    ItemKind::Tool(Tool {
        namespace: tree::name(namespace),
        name: tree::name(name),
        parameters: parameters.collect(),
        returns: returns.cloned().unwrap_or_else(|| tree::type_named("any")),
        effect: Some(tree::name("effect")),
        fails: used.fails.iter().map(|name| tree::name(name)).collect(),
        key: None,
    })
}

/// Returns a parameter of type `any`.
pub fn parameter(name: &str, optional: bool) -> Parameter {
    Parameter {
        span: NOWHERE,
        name: tree::name(name),
        optional,
        ty: tree::type_named("any"),
        default: None,
    }
}

/// Returns a text on one line, without control characters.
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || is_hidden(c));
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns true if a name can be written as an argument or a field, in backquotes if necessary.
pub fn is_writable(name: &str) -> bool {
    !name.is_empty() && !name.contains('`') && !name.chars().any(is_hidden)
}

/// Returns a part of a document for use in a message: on one line and truncated.
pub fn excerpt(text: &str) -> String {
    shortened(&one_line(text), MAX_NAME)
}

/// Converts a text to an identifier: invalid characters become underscores.
pub fn identifier(text: &str) -> String {
    let letters = text
        .chars()
        .take(MAX_NAME)
        .map(|c| if is_xid_continue(c) { c } else { '_' });
    let name: String = letters.collect();
    if name.trim_matches('_').is_empty() {
        return "part".to_owned();
    }
    if !name.starts_with(|c: char| c == '_' || is_xid_start(c)) {
        return format!("_{name}");
    }
    name
}

/// Converts the name of an error to that of a class: `Lambda.TooLarge` to `lambda_too_large`.
pub fn error_name(name: &str) -> String {
    let characters: Vec<char> = name.chars().take(MAX_NAME).collect();
    let mut snake = String::new();
    for (index, character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            snake.push('_');
            continue;
        }
        let before = index
            .checked_sub(1)
            .and_then(|before| characters.get(before));
        let next = characters.get(index + 1);
        let opens = next.is_some_and(|next| next.is_lowercase())
            && before.is_some_and(|before| before.is_uppercase());
        let begins = before.is_some_and(|before| before.is_lowercase()) || opens;
        if character.is_uppercase() && begins {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    let snake = identifier(&snake);
    if snake == "part" {
        "failed".to_owned()
    } else {
        snake
    }
}
