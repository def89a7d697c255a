//! A tree as JSON. What `decode` reads of it is the same tree, but for places and the order of clauses.

use serde_json::{Map, Value};

use super::print_statements::write_block;
use super::values::{MAX_VALUE_DEPTH, TEXT};
use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{
    Argument, EntryKey, Expr, ExprKind, File, Item, ItemKind, LinkKind, Literal, MockOutcome,
    MockOutcomeKind, MockTarget, Name, Parameter, Plan, TemplatePart, Test, TestStatementKind, Use,
};
use crate::syntax::{canonical, canonical_name, canonical_type};

/// The file in its JSON form. Comments that document nothing are not kept.
///
/// # Errors
/// A finding where the tree holds what the form cannot say: text that could not be read, and arguments that are given
/// twice or without a name, which the checker refuses too.
pub fn encode(file: &File) -> Result<Value, Box<Diagnostic>> {
    Encoder {
        refused: None,
        documents: true,
    }
    .file(file)
}

/// The file in its JSON form, without what only documents it; nothing where the form cannot say all of it.
pub(super) fn meaning(file: &File) -> Option<Value> {
    Encoder {
        refused: None,
        documents: false,
    }
    .file(file)
    .ok()
}

/// Writes trees, and remembers the first that cannot be written.
pub(super) struct Encoder {
    refused: Option<Box<Diagnostic>>,
    documents: bool,
}

/// An object in the making.
pub(super) struct Object {
    map: Map<String, Value>,
}

impl Object {
    pub fn new() -> Self {
        Self { map: Map::new() }
    }

    pub fn kind(kind: &str) -> Self {
        let mut object = Self::new();
        object.put("kind", kind);
        object
    }

    pub fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.map.insert(key.to_owned(), value.into());
    }

    pub fn text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.put(key, text);
        }
    }

    pub fn name(&mut self, key: &str, name: Option<&Name>) {
        self.text(key, name.map(|name| &*name.text));
    }

    /// A flag that is left out where it is false.
    pub fn flag(&mut self, key: &str, flag: bool) {
        if flag {
            self.put(key, true);
        }
    }

    /// A list that is left out where it is empty.
    pub fn names(&mut self, key: &str, names: &[Name]) {
        self.list(
            key,
            names.iter().map(|name| Value::from(&*name.text)).collect(),
        );
    }

    pub fn list(&mut self, key: &str, list: Vec<Value>) {
        if !list.is_empty() {
            self.put(key, list);
        }
    }

    pub fn done(self) -> Value {
        Value::Object(self.map)
    }
}

impl Encoder {
    fn file(mut self, file: &File) -> Result<Value, Box<Diagnostic>> {
        let mut object = Object::new();
        object.text("doc", self.documentation(file.doc.as_ref()));
        let items = file.items.iter().map(|item| self.item(item)).collect();
        object.put("items", Value::Array(items));
        match self.refused {
            None => Ok(object.done()),
            Some(refused) => Err(refused),
        }
    }

    /// What documents something, where that is wanted.
    pub fn documentation<'d>(&self, doc: Option<&'d std::sync::Arc<str>>) -> Option<&'d str> {
        doc.filter(|_| self.documents).map(|doc| &**doc)
    }

    fn item(&mut self, item: &Item) -> Value {
        let object = match &item.kind {
            ItemKind::Use(Use::Namespaces(namespaces)) => {
                let names = namespaces.iter().map(|namespace| {
                    let mut object = Object::new();
                    object.name("name", Some(&namespace.name));
                    object.name("as", namespace.alias.as_ref());
                    object.done()
                });
                let mut object = documented("use", self.documentation(item.doc.as_ref()));
                object.put("namespaces", names.collect::<Vec<_>>());
                object
            }
            ItemKind::Use(Use::File { path, alias }) => {
                let mut object = documented("use_file", self.documentation(item.doc.as_ref()));
                object.put("path", &*path.text);
                object.name("as", Some(alias));
                object
            }
            ItemKind::Type(ty) => {
                let mut object = documented("type", self.documentation(item.doc.as_ref()));
                object.name("name", Some(&ty.name));
                object.put("type", canonical_type(&ty.definition));
                object
            }
            ItemKind::Tool(tool) => {
                let mut object = documented("tool", self.documentation(item.doc.as_ref()));
                object.put("tool", dotted(&tool.namespace, &tool.name));
                object.list("parameters", self.parameters(&tool.parameters));
                object.put("returns", canonical_type(&tool.returns));
                object.name("effect", tool.effect.as_ref());
                object.names("fails", &tool.fails);
                object.name("key", tool.key.as_ref());
                object
            }
            ItemKind::Plan(plan) => self.plan(plan, self.documentation(item.doc.as_ref())),
            ItemKind::Test(test) => self.test(test, self.documentation(item.doc.as_ref())),
            ItemKind::Error => self.unread(item.span),
        };
        object.done()
    }

    fn plan(&mut self, plan: &Plan, doc: Option<&str>) -> Object {
        let mut object = documented("plan", doc);
        object.name("name", Some(&plan.name));
        object.list("parameters", self.parameters(&plan.parameters));
        object.text(
            "returns",
            plan.returns.as_ref().map(canonical_type).as_deref(),
        );
        object.put("body", write_block(self, &plan.body));
        object
    }

    fn test(&mut self, test: &Test, doc: Option<&str>) -> Object {
        let mut object = documented("test", doc);
        object.put("name", &*test.name.text);
        object.name("namespace", test.namespace.as_ref());
        object.name("plan", Some(&test.plan));
        let lines = test
            .body
            .iter()
            .map(|line| self.test_statement(&line.kind, line.span));
        object.put("body", lines.collect::<Vec<_>>());
        object
    }

    fn parameters(&mut self, parameters: &[Parameter]) -> Vec<Value> {
        let written = parameters.iter().map(|parameter| {
            let mut object = Object::new();
            object.name("name", Some(&parameter.name));
            object.put("type", canonical_type(&parameter.ty));
            object.flag("optional", parameter.optional);
            self.optional(&mut object, "default", parameter.default.as_ref());
            object.done()
        });
        written.collect()
    }

    fn test_statement(&mut self, kind: &TestStatementKind, span: Span) -> Value {
        let object = match kind {
            TestStatementKind::Given(value) => self.only("given", "value", value),
            TestStatementKind::Expect(condition) => self.only("expect", "condition", condition),
            TestStatementKind::Mock {
                target,
                arguments,
                outcomes,
            } => self.mock(target, arguments.as_deref(), outcomes, span),
            TestStatementKind::Answer { path, outcome } => {
                let mut object = self.only("answer", "path", path);
                object.put("outcome", self.outcome(outcome));
                object
            }
            TestStatementKind::Signal { name, payload, at } => {
                let mut object = Object::kind("signal");
                object.put("name", &*name.text);
                self.optional(&mut object, "payload", payload.as_ref());
                object.put("at", self.value(at));
                object
            }
            TestStatementKind::ExpectDiagnostics(codes) => {
                let mut object = Object::kind("expect_diagnostics");
                object.put(
                    "codes",
                    codes
                        .iter()
                        .map(|code| Value::from(&*code.text))
                        .collect::<Vec<_>>(),
                );
                object
            }
            TestStatementKind::Snapshot(what) => {
                let mut object = Object::kind("snapshot");
                object.name("of", Some(what));
                object
            }
            TestStatementKind::Error => self.unread(span),
        };
        object.done()
    }

    fn mock(
        &mut self,
        target: &MockTarget,
        arguments: Option<&[Argument]>,
        outcomes: &[MockOutcome],
        span: Span,
    ) -> Object {
        let mut object = Object::kind("mock");
        if let MockTarget::Tool { namespace, tool } = target {
            object.put("tool", dotted(namespace, tool));
        }
        if let Some(arguments) = arguments {
            match named(arguments) {
                Some(arguments) => object.put("arguments", self.arguments(&arguments)),
                None => object = self.refuse(span, "arguments without a name have no JSON form"),
            }
        }
        let outcomes = outcomes.iter().map(|outcome| self.outcome(outcome));
        object.put("outcomes", outcomes.collect::<Vec<_>>());
        object
    }

    fn outcome(&mut self, outcome: &MockOutcome) -> Value {
        let mut object = match &outcome.kind {
            MockOutcomeKind::Value(value) => self.only("value", "value", value),
            MockOutcomeKind::Generated => Object::kind("generated"),
            MockOutcomeKind::Fail { class, message } => self.failure(class, message.as_ref()),
            MockOutcomeKind::Crash { after } => {
                let mut object = Object::kind("crash");
                object.put("moment", if *after { "after" } else { "before" });
                object
            }
        };
        self.optional(&mut object, "times", outcome.times.as_ref());
        self.optional(&mut object, "delay", outcome.delay.as_ref());
        object.done()
    }

    pub fn failure(&mut self, class: &Name, message: Option<&Expr>) -> Object {
        let mut object = Object::kind("fail");
        object.name("class", Some(class));
        self.optional(&mut object, "message", message);
        object
    }

    /// An object of one value.
    pub fn only(&mut self, kind: &str, key: &str, value: &Expr) -> Object {
        let mut object = Object::kind(kind);
        object.put(key, self.value(value));
        object
    }

    pub fn optional(&mut self, object: &mut Object, key: &str, value: Option<&Expr>) {
        if let Some(value) = value {
            object.put(key, self.value(value));
        }
    }

    pub fn value(&mut self, expr: &Expr) -> Value {
        self.written(expr, Null::BareInside, 0)
    }

    pub fn settings(&mut self, expr: &Expr) -> Value {
        self.written(expr, Null::NeverBare, 0)
    }

    fn written(&mut self, expr: &Expr, null: Null, depth: usize) -> Value {
        let inner = if null == Null::NeverBare {
            Null::NeverBare
        } else {
            Null::Bare
        };
        match &expr.kind {
            ExprKind::Literal(Literal::Bool(value)) => Value::Bool(*value),
            ExprKind::Literal(Literal::Int(value)) => Value::from(*value),
            ExprKind::Literal(Literal::Double(value)) => {
                number(*value).unwrap_or_else(|| canonical(expr).into())
            }
            ExprKind::Literal(Literal::Null) if null == Null::Bare => Value::Null,
            ExprKind::Literal(Literal::String(text)) => text_value(&text.replace("${", "\\${")),
            ExprKind::Template(parts) => match template(parts) {
                Some(text) => text_value(&text),
                None => canonical(expr).into(),
            },
            ExprKind::List(elements) if depth < MAX_VALUE_DEPTH => elements
                .iter()
                .map(|element| self.written(element, inner, depth + 1))
                .collect::<Vec<_>>()
                .into(),
            ExprKind::Object(entries) if depth < MAX_VALUE_DEPTH && plain_keys(entries) => {
                let mut object = Object::new();
                for entry in entries {
                    if let EntryKey::Name(name) = &entry.key {
                        object.put(&name.text, self.written(&entry.value, inner, depth + 1));
                    }
                }
                object.done()
            }
            ExprKind::Error => self.unread(expr.span).done(),
            ExprKind::Literal(_)
            | ExprKind::Name(_)
            | ExprKind::Call { .. }
            | ExprKind::Path { .. }
            | ExprKind::List(_)
            | ExprKind::Object(_)
            | ExprKind::Unary { .. }
            | ExprKind::Chain { .. }
            | ExprKind::Coalesce(_)
            | ExprKind::Conditional { .. }
            | ExprKind::Match { .. }
            | ExprKind::Is { .. }
            | ExprKind::Signal(_) => canonical(expr).into(),
        }
    }

    /// A call of a tool as tool and arguments, any other expression as it is.
    pub fn call(&mut self, expr: &Expr) -> Value {
        match tool_call(expr) {
            Some((namespace, name, arguments)) => {
                let mut object = Object::new();
                let namespace = canonical_name(namespace);
                object.put(
                    "tool",
                    format!("{namespace}.{}", canonical_name(&name.text)),
                );
                if !arguments.is_empty() {
                    object.put("arguments", self.arguments(&arguments));
                }
                object.done()
            }
            None if matches!(expr.kind, ExprKind::Error) => self.value(expr),
            None => self
                .plan_call(expr)
                .unwrap_or_else(|| canonical(expr).into()),
        }
    }

    /// A call of a plan of the file.
    fn plan_call(&mut self, expr: &Expr) -> Option<Value> {
        let ExprKind::Call {
            function,
            arguments,
        } = &expr.kind
        else {
            return None;
        };
        let arguments = named(arguments)?;
        let mut object = Object::new();
        object.put("tool", canonical_name(&function.text));
        if !arguments.is_empty() {
            object.put("arguments", self.arguments(&arguments));
        }
        Some(object.done())
    }

    pub fn arguments(&mut self, arguments: &[(&Name, &Expr)]) -> Value {
        let mut object = Object::new();
        for (name, value) in arguments {
            object.put(&name.text, self.value(value));
        }
        object.done()
    }

    /// Remembers a text that could not be read.
    pub fn unread(&mut self, span: Span) -> Object {
        self.refuse(span, "this text could not be read, so it has no JSON form")
    }

    /// Remembers that something cannot be written; the object stands in for it.
    pub fn refuse(&mut self, span: Span, message: &str) -> Object {
        let finding = || {
            Box::new(
                Diagnostic::new(&codes::JSON_SHAPE, span, message).help("correct the text first"),
            )
        };
        self.refused.get_or_insert_with(finding);
        Object::new()
    }
}

/// Whether the literal null is JSON's null, or an expression because JSON's null counts as left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    Bare,
    /// Here, but not inside of lists and objects.
    BareInside,
    /// Inside of objects too: settings that are null count as left out.
    NeverBare,
}

pub(super) fn documented(kind: &str, doc: Option<&str>) -> Object {
    let mut object = Object::kind(kind);
    object.text("doc", doc);
    object
}

/// The arguments, if each has a name of its own.
pub(super) fn named(arguments: &[Argument]) -> Option<Vec<(&Name, &Expr)>> {
    let mut named: Vec<(&Name, &Expr)> = Vec::new();
    for argument in arguments {
        let name = argument.name.as_ref()?;
        if named.iter().any(|(other, _)| other.text == name.text) {
            return None;
        }
        named.push((name, &argument.value));
    }
    Some(named)
}

/// What a call of a tool is made of.
type ToolCall<'e> = (&'e str, &'e Name, Vec<(&'e Name, &'e Expr)>);

/// The parts of an expression that has the shape of a tool's call.
pub(super) fn tool_call(expr: &Expr) -> Option<ToolCall<'_>> {
    let ExprKind::Path { base, links } = &expr.kind else {
        return None;
    };
    let (ExprKind::Name(namespace), [link]) = (&base.kind, links.as_slice()) else {
        return None;
    };
    match &link.kind {
        LinkKind::Call {
            name,
            safe: false,
            arguments,
        } => Some((namespace, name, named(arguments)?)),
        LinkKind::Call { .. } | LinkKind::Field { .. } | LinkKind::Index { .. } => None,
    }
}

fn dotted(namespace: &Name, name: &Name) -> String {
    format!(
        "{}.{}",
        canonical_name(&namespace.text),
        canonical_name(&name.text)
    )
}

fn text_value(text: &str) -> Value {
    let mut object = Object::new();
    object.put(TEXT, text);
    object.done()
}

/// A double as JSON, with the digits that read back as it.
fn number(value: f64) -> Option<Value> {
    serde_json::from_str(&format!("{value:?}")).ok()
}

/// A template as a text; `None` where a backslash stands before an interpolation, which would make it plain text.
fn template(parts: &[TemplatePart]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TemplatePart::Text(plain) => text.push_str(&plain.replace("${", "\\${")),
            TemplatePart::Expr(_) if text.ends_with('\\') => return None,
            TemplatePart::Expr(value) => {
                text.push_str("${");
                text.push_str(&canonical(value));
                text.push('}');
            }
        }
    }
    Some(text)
}

/// Whether JSON can say the keys: names, each once, and not the one that would make the object a text.
fn plain_keys(entries: &[crate::syntax::ast::Entry]) -> bool {
    let mut names: Vec<&str> = Vec::new();
    for entry in entries {
        let EntryKey::Name(name) = &entry.key else {
            return false;
        };
        if names.contains(&&*name.text) {
            return false;
        }
        names.push(&name.text);
    }
    names.as_slice() != [TEXT]
}
