//! The type system of the generator: only what is necessary to write well-typed plans.

use std::rc::Rc;

use serde_json::{Map, Value as Json, json};

use super::Dice;
use super::words;

#[derive(Clone, Debug, PartialEq)]
pub enum Ty {
    Str,
    /// One of several string literals.
    Words(Rc<[&'static str]>),
    Int,
    Double,
    Bool,
    Time,
    Span,
    /// `int | string`
    Mix,
    List(Rc<Ty>),
    Map(Rc<Ty>),
    Object(Rc<Object>),
    /// May be null; a field may also be missing.
    Opt(Rc<Ty>),
    Result(Rc<Ty>),
    Error,
}

#[derive(Debug, PartialEq)]
pub struct Object {
    pub fields: Vec<Field>,
    /// Whether further fields are allowed.
    pub open: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: &'static str,
    pub ty: Ty,
    pub required: bool,
}

impl Ty {
    pub fn list(self) -> Self {
        Self::List(Rc::new(self))
    }

    /// Returns the type with null added.
    pub fn optional(self) -> Self {
        match self {
            Self::Opt(_) => self,
            other => Self::Opt(Rc::new(other)),
        }
    }

    /// Returns the type without null.
    pub fn present(&self) -> Self {
        match self {
            Self::Opt(inner) => (**inner).clone(),
            other => other.clone(),
        }
    }

    /// Returns true for strings, numbers and booleans: the types that a template interpolates.
    pub fn is_scalar(&self) -> bool {
        matches!(
            self,
            Self::Str | Self::Words(_) | Self::Int | Self::Double | Self::Bool
        )
    }

    /// Returns true if an expression can construct a value of this type.
    pub fn can_be_made(&self) -> bool {
        match self {
            Self::Result(_) | Self::Error => false,
            Self::List(inner) | Self::Map(inner) | Self::Opt(inner) => inner.can_be_made(),
            Self::Object(object) => object.fields.iter().all(|field| field.ty.can_be_made()),
            Self::Str
            | Self::Words(_)
            | Self::Int
            | Self::Double
            | Self::Bool
            | Self::Time
            | Self::Span
            | Self::Mix => true,
        }
    }

    /// Returns true if every value of this type may be used where `to` is expected, and the checker accepts it.
    pub fn fits(&self, to: &Self) -> bool {
        match (self, to) {
            (from, Self::Opt(to)) if !matches!(from, Self::Opt(_)) => from.fits(to),
            (Self::Words(_), Self::Str | Self::Mix)
            | (Self::Str | Self::Int, Self::Mix)
            | (Self::Int, Self::Double) => true,
            (Self::Words(from), Self::Words(to)) => from.iter().all(|word| to.contains(word)),
            (Self::Opt(from), Self::Opt(to))
            | (Self::List(from), Self::List(to))
            | (Self::Map(from), Self::Map(to))
            | (Self::Result(from), Self::Result(to)) => from.fits(to),
            (Self::Object(from), Self::Object(to)) => from.fits(to),
            (from, to) => from == to,
        }
    }

    /// Returns the type as a plan writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Str => "string".to_owned(),
            Self::Words(words) => words
                .iter()
                .map(|word| format!("\"{word}\""))
                .collect::<Vec<_>>()
                .join(" | "),
            Self::Int => "int".to_owned(),
            Self::Double => "double".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Time => "timestamp".to_owned(),
            Self::Span => "duration".to_owned(),
            Self::Mix => "int | string".to_owned(),
            Self::List(inner) => format!("{}[]", inner.operand()),
            Self::Map(inner) => format!("map<string, {}>", inner.text()),
            Self::Object(object) => {
                let fields = object.fields.iter().map(|field| {
                    let mark = if field.required { "" } else { "?" };
                    format!("{}{mark}: {}", field.name, field.ty.text())
                });
                format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
            }
            Self::Opt(inner) => format!("{}?", inner.operand()),
            Self::Result(inner) => format!("Result<{}>", inner.text()),
            Self::Error => "Error".to_owned(),
        }
    }

    /// Returns the type as written before `[]` or `?`.
    fn operand(&self) -> String {
        match self {
            Self::Words(words) if words.len() > 1 => format!("({})", self.text()),
            Self::Mix => format!("({})", self.text()),
            _ => self.text(),
        }
    }

    /// Returns a value of this type that reads nothing.
    pub fn literal(&self) -> String {
        match self {
            Self::Str => "\"x\"".to_owned(),
            Self::Words(words) => format!("\"{}\"", words[0]),
            Self::Int | Self::Mix => "1".to_owned(),
            Self::Double => "1.5".to_owned(),
            Self::Bool => "true".to_owned(),
            Self::Time => "timestamp(\"2026-01-31T09:00:00Z\")".to_owned(),
            Self::Span => "1s".to_owned(),
            Self::List(_) => "[]".to_owned(),
            Self::Map(_) => "{}".to_owned(),
            Self::Object(object) => {
                let fields = object.fields.iter().filter(|field| field.required);
                let fields: Vec<String> = fields
                    .map(|field| format!("{}: {}", field.name, field.ty.literal()))
                    .collect();
                format!("{{ {} }}", fields.join(", "))
            }
            Self::Opt(inner) => inner.literal(),
            Self::Result(_) | Self::Error => unreachable!("nobody wants an error to be made"),
        }
    }

    /// Returns the type as a JSON Schema, with `formats` of strings if requested.
    pub fn schema(&self, dice: &mut Dice, formats: bool) -> Json {
        match self {
            Self::Str => match dice.below(8) {
                0 if formats => {
                    json!({"type": "string", "format": dice.pick(&["email", "uri", "date", "uuid"])})
                }
                1 => json!({"type": "string", "description": words::sentence(dice)}),
                _ => json!({"type": "string"}),
            },
            Self::Words(words) if words.len() == 1 => json!({"const": words[0]}),
            Self::Words(words) => json!({"type": "string", "enum": words.as_ref()}),
            Self::Int => json!({"type": "integer"}),
            Self::Double => json!({"type": "number"}),
            Self::Bool => json!({"type": "boolean"}),
            Self::Time => json!({"x-planrun-type": "timestamp"}),
            Self::Span => json!({"x-planrun-type": "duration"}),
            Self::Mix => json!({"type": ["integer", "string"]}),
            Self::List(inner) => json!({"type": "array", "items": inner.schema(dice, formats)}),
            Self::Map(inner) => {
                json!({"type": "object", "additionalProperties": inner.schema(dice, formats)})
            }
            Self::Object(object) => object.schema(dice, formats),
            Self::Opt(inner) => match inner.schema(dice, formats) {
                Json::Object(mut schema)
                    if schema.get("type").is_some_and(Json::is_string)
                        && !schema.contains_key("enum") =>
                {
                    schema["type"] = json!([schema["type"], "null"]);
                    Json::Object(schema)
                }
                other => json!({"anyOf": [other, {"type": "null"}]}),
            },
            Self::Result(_) | Self::Error => Json::Null,
        }
    }
}

impl Object {
    fn fits(&self, to: &Self) -> bool {
        let expected = to
            .fields
            .iter()
            .all(|expected| match self.field(expected.name) {
                Some(given) if expected.required => given.required && given.ty.fits(&expected.ty),
                Some(given) => given.ty.fits(&expected.ty),
                None => !expected.required && !self.open,
            });
        let extra = self
            .fields
            .iter()
            .all(|given| to.open || to.field(given.name).is_some());
        expected && extra && (to.open || !self.open)
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    fn schema(&self, dice: &mut Dice, formats: bool) -> Json {
        let properties: Map<String, Json> = self
            .fields
            .iter()
            .map(|field| (field.name.to_owned(), field.ty.schema(dice, formats)))
            .collect();
        let required: Vec<&str> = self
            .fields
            .iter()
            .filter(|field| field.required)
            .map(|field| field.name)
            .collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if !self.open {
            schema["additionalProperties"] = json!(false);
        }
        schema
    }
}

/// Returns a random type of arguments and results. With `native`, timestamps and durations too, which only contracts in
/// a plan file have.
pub fn any(dice: &mut Dice, depth: usize, native: bool) -> Ty {
    let compound = usize::from(depth > 0);
    let own = usize::from(native);
    match dice.weighed(&[
        6,
        5,
        3,
        4,
        3,
        own,
        own,
        1,
        4 * compound,
        compound,
        5 * compound,
        3 * compound,
    ]) {
        0 => Ty::Str,
        1 => Ty::Int,
        2 => Ty::Double,
        3 => words_type(dice),
        4 => Ty::Bool,
        5 => Ty::Time,
        6 => Ty::Span,
        7 => Ty::Mix,
        8 => any(dice, depth - 1, native).list(),
        9 => Ty::Map(Rc::new(any(dice, depth - 1, native))),
        10 => object(dice, depth, native),
        _ => any(dice, depth - 1, native).optional(),
    }
}

pub fn words_type(dice: &mut Dice) -> Ty {
    let count = dice.between(2, 4);
    Ty::Words(words::literals(dice, count).into())
}

/// Returns a random object type.
pub fn object(dice: &mut Dice, depth: usize, native: bool) -> Ty {
    let count = dice.between(1, 4);
    let fields = words::fields(dice, count).into_iter().map(|name| {
        let ty = any(dice, depth.saturating_sub(1), native);
        Field {
            name,
            ty,
            required: !dice.one_in(3),
        }
    });
    let fields = fields.collect();
    Ty::Object(Rc::new(Object {
        fields,
        open: !dice.one_in(3),
    }))
}

/// Returns the type as a plan declares it: objects are closed.
pub fn closed(ty: &Ty) -> Ty {
    reopened(ty, false)
}

/// Returns the type as a `tool` item returns it: objects are open.
pub fn opened(ty: &Ty) -> Ty {
    reopened(ty, true)
}

fn reopened(ty: &Ty, open: bool) -> Ty {
    let inner = |ty: &Rc<Ty>| Rc::new(reopened(ty, open));
    match ty {
        Ty::List(element) => Ty::List(inner(element)),
        Ty::Map(value) => Ty::Map(inner(value)),
        Ty::Opt(present) => Ty::Opt(inner(present)),
        Ty::Result(value) => Ty::Result(inner(value)),
        Ty::Object(object) => {
            let field = |field: &Field| Field {
                ty: reopened(&field.ty, open),
                ..field.clone()
            };
            Ty::Object(Rc::new(Object {
                fields: object.fields.iter().map(field).collect(),
                open,
            }))
        }
        Ty::Str
        | Ty::Words(_)
        | Ty::Int
        | Ty::Double
        | Ty::Bool
        | Ty::Time
        | Ty::Span
        | Ty::Mix
        | Ty::Error => ty.clone(),
    }
}
