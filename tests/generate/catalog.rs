//! Random tools: app files with JSON Schemas, and `tool` items of the plan file.

use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Value as Json, json};

use super::Dice;
use super::contracts::{PAIR_RULES, PairRule, ROWS, Row};
use super::ty::{self, Field, Object, Ty};
use super::words;

/// The data about a tool that a test double needs.
#[derive(Clone, Debug)]
pub struct Tool {
    pub namespace: String,
    pub name: String,
    /// The JSON Schema of its result.
    pub returns: Json,
    /// The names N of the errors `tool.N` that it may raise.
    pub fails: Vec<&'static str>,
}

/// The data about a tool that the generator needs to write calls.
pub struct Callable {
    pub namespace: &'static str,
    /// As written in a plan.
    pub name: String,
    pub parameters: Vec<Parameter>,
    pub returns: Ty,
    pub effect: &'static str,
    pub fails: Vec<&'static str>,
    /// The rule of its contract about two of its parameters.
    pub related_pair: Option<Pair>,
    /// The text of its `tool` item, if it has one.
    pub item: Option<String>,
    schema: Json,
}

pub struct Parameter {
    pub name: &'static str,
    pub ty: Ty,
    pub required: bool,
    /// The constraint in its schema that goes beyond its type.
    pub row: Option<&'static Row>,
}

/// Two parameters of a tool, by position, and the rule of its contract about them.
pub struct Pair {
    pub rule: &'static PairRule,
    pub first: usize,
    pub second: usize,
}

pub struct Catalog {
    pub tools: Vec<Callable>,
    apps: Vec<App>,
}

struct App {
    name: &'static str,
    tools: Vec<Json>,
}

const NAMESPACES: [&str; 8] = [
    "desk", "hr", "shop", "库存", "mail", "calendar", "crm", "files",
];
const VERBS: [&str; 12] = [
    "find", "list", "get", "close", "create", "send", "查询", "update", "count", "look-up", "move",
    "check",
];
const ERRORS: [&str; 5] = ["busy", "locked", "sold_out", "not_found", "closed"];

impl Catalog {
    pub fn new(dice: &mut Dice) -> Self {
        let mut catalog = Self {
            tools: Vec::new(),
            apps: Vec::new(),
        };
        let mut names = NAMESPACES.to_vec();
        for _ in 0..dice.between(1, 3) {
            let namespace = names.swap_remove(dice.below(names.len()));
            catalog.app(dice, namespace);
        }
        catalog
    }

    /// Returns the paths and texts of the app files.
    pub fn files(&self) -> Vec<(String, String)> {
        let file = |app: &App| {
            // JSON is valid YAML.
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
        let mut app = App {
            name: namespace,
            tools: Vec::new(),
        };
        for number in 0..dice.between(2, 5) {
            let verb = verbs.swap_remove(dice.below(verbs.len()));
            let mut tool = callable(dice, namespace, verb);
            if number == 0 {
                // Each namespace has a tool that returns something to loop over.
                tool.effect = "read";
            }
            let (schema, errors) = (tool.input(dice), tool.errors());
            // An item states no more about a type than the generator knows.
            let whole = tool
                .parameters
                .iter()
                .all(|parameter| parameter.row.is_none_or(|row| row.whole));
            if whole && dice.one_in(4) {
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
    let mut parameters: Vec<Parameter> = words::fields(dice, count)
        .into_iter()
        .map(|name| parameter(dice, name))
        .collect();
    let related_pair = if count > 1 && dice.one_in(4) {
        Some(pair(dice, &mut parameters))
    } else {
        None
    };
    let returns = if dice.one_in(8) {
        ty::any(dice, 1, false)
    } else {
        result(dice)
    };
    let name = if verb.contains('-') {
        format!("`{verb}`")
    } else {
        verb.to_owned()
    };
    let effect = *dice.pick(&["read", "read", "read", "pure", "idempotent", "effect"]);
    let fails = ERRORS.iter().filter(|_| dice.one_in(4)).copied().collect();
    let schema = returns.schema(dice, true);
    Callable {
        namespace,
        name,
        parameters,
        returns,
        effect,
        fails,
        related_pair,
        item: None,
        schema,
    }
}

/// Returns an object type that is worth reading: it has a list, an enumeration and an optional field.
fn result(dice: &mut Dice) -> Ty {
    let count = dice.between(2, 5);
    let fields = words::fields(dice, count)
        .into_iter()
        .enumerate()
        .map(|(place, name)| {
            let ty = match place {
                0 => ty::object(dice, 2, false).list(),
                1 => ty::words_type(dice),
                2 => ty::any(dice, 1, false).optional(),
                _ => ty::any(dice, 2, false),
            };
            Field {
                name,
                ty,
                required: place < 2 || !dice.one_in(3),
            }
        });
    let fields = fields.collect();
    Ty::Object(Rc::new(Object {
        fields,
        open: !dice.one_in(3),
    }))
}

fn parameter(dice: &mut Dice, name: &'static str) -> Parameter {
    let depth = if dice.one_in(3) { 2 } else { 0 };
    let row = dice.one_in(4).then(|| dice.pick(ROWS));
    let ty = row.map_or_else(|| ty::any(dice, depth, false), |row| (row.ty)());
    Parameter {
        name,
        ty,
        required: !dice.one_in(3),
        row,
    }
}

/// Adds a rule about two parameters, and makes both optional.
fn pair(dice: &mut Dice, parameters: &mut [Parameter]) -> Pair {
    let rule = dice.pick(PAIR_RULES);
    let first = dice.below(parameters.len());
    let second = (first + dice.between(1, parameters.len() - 1)) % parameters.len();
    for (parameter, truth) in [(first, rule.asks_truth()), (second, false)] {
        let parameter = &mut parameters[parameter];
        parameter.required = false;
        if truth {
            parameter.ty = Ty::Bool;
        } else if parameter.row.is_some() {
            parameter.ty = Ty::Str;
        }
        parameter.row = None;
    }
    Pair {
        rule,
        first,
        second,
    }
}

impl Callable {
    pub fn path(&self) -> String {
        format!("{}.{}", self.namespace, self.name)
    }

    /// Returns true if the tool has no effects.
    pub fn is_read_only(&self) -> bool {
        matches!(self.effect, "read" | "pure")
    }

    /// Returns the JSON Schema of its arguments.
    fn input(&self, dice: &mut Dice) -> Json {
        let (mut properties, mut definitions) = (serde_json::Map::new(), serde_json::Map::new());
        for parameter in &self.parameters {
            // Only rows and results have formats; other generated strings are not valid addresses or dates.
            let schema = parameter
                .row
                .map_or_else(|| parameter.ty.schema(dice, false), Row::schema);
            definitions.extend(
                parameter
                    .row
                    .and_then(Row::definition)
                    .map(|(name, schema)| (name.to_owned(), schema)),
            );
            properties.insert(parameter.name.to_owned(), schema);
        }
        let required = self
            .parameters
            .iter()
            .filter(|parameter| parameter.required)
            .map(|parameter| parameter.name);
        let required: Vec<&str> = required.collect();
        let mut schema = json!({"type": "object", "properties": properties, "required": required});
        if !definitions.is_empty() {
            schema["$defs"] = Json::Object(definitions);
        }
        if let Some(Pair {
            rule,
            first,
            second,
        }) = &self.related_pair
            && let Json::Object(more) =
                (rule.schema)(self.parameters[*first].name, self.parameters[*second].name)
        {
            schema.as_object_mut().unwrap().extend(more);
        }
        schema
    }

    fn errors(&self) -> Json {
        let error = |name: &&str| json!({"reason": name, "class": format!("tool.{name}"), "happened": "no"});
        self.fails.iter().map(error).collect()
    }

    /// Writes its contract as an item of the plan file.
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
        write!(
            text,
            "tool {}({parameters}) -> {} {}",
            self.path(),
            ty::closed(&self.returns).text(),
            self.effect
        )
        .unwrap();
        if !self.fails.is_empty() {
            write!(text, " fails {}", self.fails.join(", ")).unwrap();
        }
        text
    }
}
