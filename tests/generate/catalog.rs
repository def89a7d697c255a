//! Random tools: app files with JSON Schemas, and `tool` items of the plan file.

use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Value as Json, json};

use super::Dice;
use super::ty::{self, Field, Object, Ty};
use super::words;

/// A tool as a test double needs to know it.
#[derive(Clone, Debug)]
pub struct Tool {
    pub namespace: String,
    pub name: String,
    /// The JSON Schema of what it gives.
    pub returns: Json,
    /// The names N of the errors `tool.N` that it may raise.
    pub fails: Vec<&'static str>,
}

/// A tool as plans are written with it.
pub struct Callable {
    pub namespace: &'static str,
    /// As it is written in a plan.
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub returns: Ty,
    pub effect: &'static str,
    pub fails: Vec<&'static str>,
    /// The text of its `tool` item, where it has one.
    pub item: Option<String>,
    schema: Json,
}

pub struct Parameter {
    pub name: &'static str,
    pub ty: Ty,
    pub required: bool,
    pub limit: Limit,
}

/// What a schema says of an argument beyond its type.
#[derive(Clone, Copy, PartialEq)]
pub enum Limit {
    None,
    /// From 1 to 100.
    Range,
    /// At least one character.
    NotEmpty,
    /// Two capital letters and three digits.
    Pattern,
}

pub struct Catalog {
    pub tools: Vec<Callable>,
    apps: Vec<App>,
}

struct App {
    name: &'static str,
    tools: Vec<Json>,
}

const NAMESPACES: [&str; 8] = ["desk", "hr", "shop", "库存", "mail", "calendar", "crm", "files"];
const VERBS: [&str; 12] =
    ["find", "list", "get", "close", "create", "send", "查询", "update", "count", "look-up", "move", "check"];
const ERRORS: [&str; 5] = ["busy", "locked", "sold_out", "not_found", "closed"];

impl Catalog {
    pub fn new(dice: &mut Dice) -> Self {
        let mut catalog = Self { tools: Vec::new(), apps: Vec::new() };
        let mut names = NAMESPACES.to_vec();
        for _ in 0..dice.between(1, 3) {
            let namespace = names.swap_remove(dice.below(names.len()));
            catalog.app(dice, namespace);
        }
        catalog
    }

    /// The app files: paths and texts.
    pub fn files(&self) -> Vec<(String, String)> {
        let file = |app: &App| {
            // JSON is YAML as well.
            let mut text = format!("# {}\n", app.name);
            let tools = serde_json::to_string_pretty(&app.tools).unwrap();
            writeln!(text, "name: {}\ntools: {tools}", app.name).unwrap();
            (format!("apps/{}.yaml", app.name), text)
        };
        self.apps.iter().map(file).collect()
    }

    pub fn tools(&self) -> Vec<Tool> {
        let tool = |tool: &Callable| Tool {
            namespace: tool.namespace.to_owned(),
            name: tool.name.trim_matches('`').to_owned(),
            returns: tool.schema.clone(),
            fails: tool.fails.clone(),
        };
        self.tools.iter().map(tool).collect()
    }

    fn app(&mut self, dice: &mut Dice, namespace: &'static str) {
        let mut verbs = VERBS.to_vec();
        let mut app = App { name: namespace, tools: Vec::new() };
        for number in 0..dice.between(2, 5) {
            let verb = verbs.swap_remove(dice.below(verbs.len()));
            let mut tool = callable(dice, namespace, verb);
            if number == 0 {
                // Each namespace has something that loops can run over.
                tool.effect = "read";
            }
            let (schema, errors) = (tool.input(dice), tool.errors());
            if dice.one_in(4) {
                tool.returns = ty::opened(&tool.returns);
                tool.schema = tool.returns.schema(dice, true);
                tool.item = Some(tool.written(dice));
            }
            let mut entry = json!({
                "name": verb, "description": words::sentence(dice), "endpoint": "http://127.0.0.1:8009/tool",
                "effect": tool.effect, "parameters": schema, "errors": errors,
            });
            if tool.item.is_none() {
                entry["returns"] = tool.schema.clone();
            }
            app.tools.push(entry);
            self.tools.push(tool);
        }
        self.apps.push(app);
    }
}

fn callable(dice: &mut Dice, namespace: &'static str, verb: &str) -> Callable {
    let count = dice.below(5);
    let parameters = words::fields(dice, count).into_iter().map(|name| parameter(dice, name)).collect();
    let returns = if dice.one_in(8) { ty::any(dice, 1, false) } else { result(dice) };
    let name = if verb.contains('-') { format!("`{verb}`") } else { verb.to_owned() };
    let effect = *dice.pick(&["read", "read", "read", "pure", "idempotent", "effect"]);
    let fails = ERRORS.iter().filter(|_| dice.one_in(4)).copied().collect();
    let schema = returns.schema(dice, true);
    Callable { namespace, name, parameters, returns, effect, fails, item: None, schema }
}

/// An object that is worth reading: among its fields a list, an enumeration and something that may be absent.
fn result(dice: &mut Dice) -> Ty {
    let count = dice.between(2, 5);
    let fields = words::fields(dice, count).into_iter().enumerate().map(|(place, name)| {
        let ty = match place {
            0 => ty::object(dice, 2, false).list(),
            1 => ty::words_type(dice),
            2 => ty::any(dice, 1, false).optional(),
            _ => ty::any(dice, 2, false),
        };
        Field { name, ty, required: place < 2 || !dice.one_in(3) }
    });
    let fields = fields.collect();
    Ty::Object(Rc::new(Object { fields, open: !dice.one_in(3) }))
}

fn parameter(dice: &mut Dice, name: &'static str) -> Parameter {
    let depth = if dice.one_in(3) { 2 } else { 0 };
    let ty = ty::any(dice, depth, false);
    let limit = match ty {
        Ty::Int if dice.one_in(3) => Limit::Range,
        Ty::Str if dice.one_in(4) => Limit::NotEmpty,
        Ty::Str if dice.one_in(6) => Limit::Pattern,
        _ => Limit::None,
    };
    Parameter { name, ty, required: !dice.one_in(3), limit }
}

impl Callable {
    pub fn path(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// Whether it only looks.
    pub fn floats(&self) -> bool {
        matches!(self.effect, "read" | "pure")
    }

    /// The JSON Schema of its arguments.
    fn input(&self, dice: &mut Dice) -> Json {
        let mut properties = serde_json::Map::new();
        for parameter in &self.parameters {
            // Formats belong to results: what a plan makes need not look like an address.
            let mut schema = parameter.ty.schema(dice, false);
            match parameter.limit {
                Limit::None => {}
                Limit::Range => schema = json!({"type": "integer", "minimum": 1, "maximum": 100}),
                Limit::NotEmpty => schema = json!({"type": "string", "minLength": 1}),
                Limit::Pattern => schema = json!({"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}),
            }
            properties.insert(parameter.name.to_owned(), schema);
        }
        let required = self.parameters.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name);
        let required: Vec<&str> = required.collect();
        json!({"type": "object", "properties": properties, "required": required})
    }

    fn errors(&self) -> Json {
        let error = |name: &&str| json!({"reason": name, "class": format!("tool.{name}"), "happened": "no"});
        self.fails.iter().map(error).collect()
    }

    /// Its contract as an item of the plan file.
    fn written(&mut self, dice: &mut Dice) -> String {
        for parameter in &mut self.parameters {
            parameter.ty = ty::closed(&parameter.ty);
        }
        let parameters = self.parameters.iter().map(|parameter| {
            let mark = if parameter.required { "" } else { "?" };
            format!("{}{mark}: {}", parameter.name, parameter.ty.text())
        });
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let mut text = format!("/// {}\n", words::sentence(dice));
        write!(text, "tool {}({parameters}) -> {} {}", self.path(), ty::closed(&self.returns).text(), self.effect)
            .unwrap();
        if !self.fails.is_empty() {
            write!(text, " fails {}", self.fails.join(", ")).unwrap();
        }
        text
    }
}
