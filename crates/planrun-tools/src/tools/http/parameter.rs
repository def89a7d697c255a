//! Serializes parameters into a path, a query, a header or a cookie, and parses them.

use planrun_lang::types::{FieldLookup, Type, field};
use planrun_lang::words;
use serde_json::{Map, Value as Json};

use super::percent;

words! {
    /// The location of a parameter. If parameters have the same name, the one in the first location keeps it as the name of
    /// its argument.
    #[derive(PartialOrd, Ord)]
    Place {
        Path = "path",
        Query = "query",
        Header = "header",
        Cookie = "cookie",
    }
}

/// The serialization style of lists and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Form,
    Simple,
    Label,
    Matrix,
    Space,
    Pipe,
    DeepObject,
    /// As one JSON text: the parameter has `content` instead of `schema`.
    Json,
}

#[derive(Clone, Debug)]
pub struct Serialization {
    /// The name that the server uses.
    pub name: String,
    pub style: Style,
    pub explode: bool,
    /// Whether reserved characters such as `/` are not escaped.
    pub reserved: bool,
}

impl Place {
    /// Returns the default style of parameters in this location.
    #[must_use]
    pub const fn usual_style(self) -> Style {
        match self {
            Self::Path | Self::Header => Style::Simple,
            Self::Query | Self::Cookie => Style::Form,
        }
    }
}

impl Style {
    /// Returns the style with this name; `None` if parameters in this location cannot have it.
    pub fn find(name: &str, place: Place) -> Option<Self> {
        let found = match name {
            "form" => (Self::Form, [Place::Query, Place::Cookie]),
            "simple" => (Self::Simple, [Place::Path, Place::Header]),
            "label" => (Self::Label, [Place::Path; 2]),
            "matrix" => (Self::Matrix, [Place::Path; 2]),
            "spaceDelimited" => (Self::Space, [Place::Query; 2]),
            "pipeDelimited" => (Self::Pipe, [Place::Query; 2]),
            "deepObject" => (Self::DeepObject, [Place::Query; 2]),
            _ => return None,
        };
        found.1.contains(&place).then_some(found.0)
    }
}

impl Serialization {
    /// Creates the serialization of a form field: lists repeat its name, and objects are JSON.
    pub fn field(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            style: Style::Form,
            explode: true,
            reserved: false,
        }
    }

    /// Creates the serialization of a path segment or header: lists and objects are separated by commas.
    pub fn simple(name: &str) -> Self {
        Self {
            style: Style::Simple,
            explode: false,
            ..Self::field(name)
        }
    }

    /// Returns the escaped `name=value` parts of a query.
    pub fn query(&self, value: &Json) -> Vec<String> {
        let pair = |name: &str, value: &str| {
            format!("{}={value}", percent::encode(name, percent::RESERVED))
        };
        let joined = |separator: &str| {
            let parts: Vec<String> = flat(value).iter().map(|part| self.escape(part)).collect();
            vec![pair(&self.name, &parts.join(separator))]
        };
        match (self.style, value) {
            (Style::DeepObject, Json::Object(fields)) => {
                let mut pairs = Vec::new();
                for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                    self.deep(&format!("{}[{key}]", self.name), value, &mut pairs);
                }
                pairs
            }
            (Style::Json, _) => vec![pair(&self.name, &self.escape(&value.to_string()))],
            (_, Json::Array(items)) if items.is_empty() => Vec::new(),
            (Style::Space, Json::Array(_) | Json::Object(_)) if !self.explode => joined("%20"),
            (Style::Pipe, Json::Array(_) | Json::Object(_)) if !self.explode => joined("%7C"),
            (_, Json::Array(_) | Json::Object(_)) if !self.explode => joined(","),
            (_, Json::Array(items)) => {
                let items = items.iter();
                items
                    .map(|item| pair(&self.name, &self.escape(&text(item))))
                    .collect()
            }
            (_, Json::Object(fields)) => {
                let fields = fields.iter().filter(|(_, value)| !value.is_null());
                fields
                    .map(|(key, value)| pair(key, &self.escape(&text(value))))
                    .collect()
            }
            (_, value) => vec![pair(&self.name, &self.escape(&text(value)))],
        }
    }

    /// Returns the escaped text in a path.
    pub fn path(&self, value: &Json) -> String {
        let escape = |part: &String| percent::encode(part, percent::RESERVED);
        let join = |separator: &str| {
            flat(value)
                .iter()
                .map(escape)
                .collect::<Vec<_>>()
                .join(separator)
        };
        let pairs = |separator: &str| {
            let fields = value.as_object().into_iter().flatten();
            let pairs =
                fields.map(|(key, value)| format!("{}={}", escape(key), escape(&text(value))));
            pairs.collect::<Vec<_>>().join(separator)
        };
        let exploded = self.explode && value.is_object();
        let name = escape(&self.name);
        match self.style {
            Style::Json => escape(&value.to_string()),
            Style::Label if exploded => format!(".{}", pairs(".")),
            Style::Label if self.explode => format!(".{}", join(".")),
            Style::Label => format!(".{}", join(",")),
            Style::Matrix if exploded => format!(";{}", pairs(";")),
            Style::Matrix if self.explode && value.is_array() => {
                let items = value.as_array().into_iter().flatten();
                let items = items.map(|item| format!(";{name}={}", escape(&text(item))));
                items.collect()
            }
            Style::Matrix => format!(";{name}={}", join(",")),
            _ if exploded => pairs(","),
            _ => join(","),
        }
    }

    /// Returns the value of a header or cookie.
    pub fn line(&self, value: &Json) -> String {
        match (self.style, value) {
            (Style::Json, _) => value.to_string(),
            (_, Json::Object(fields)) if self.explode => {
                let pairs = fields
                    .iter()
                    .map(|(key, value)| format!("{key}={}", text(value)));
                pairs.collect::<Vec<_>>().join(",")
            }
            _ => flat(value).join(","),
        }
    }

    fn deep(&self, name: &str, value: &Json, pairs: &mut Vec<String>) {
        match value {
            Json::Object(fields) => {
                for (key, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
                    self.deep(&format!("{name}[{key}]"), value, pairs);
                }
            }
            Json::Array(items) => items.iter().for_each(|item| self.deep(name, item, pairs)),
            other => {
                let value = self.escape(&text(other));
                pairs.push(format!(
                    "{}={value}",
                    percent::encode(name, percent::RESERVED)
                ));
            }
        }
    }

    fn escape(&self, text: &str) -> String {
        percent::encode(
            text,
            if self.reserved {
                percent::IN_QUERY
            } else {
                percent::RESERVED
            },
        )
    }
}

/// Returns a text as it is, and any other value as JSON; null is empty.
pub fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

/// Returns the elements of a list, the keys and values of an object, or the single value.
fn flat(value: &Json) -> Vec<String> {
    match value {
        Json::Array(items) => items.iter().map(text).collect(),
        Json::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| [key.clone(), text(value)])
            .collect(),
        other => vec![text(other)],
    }
}

/// Parses serialized values by their types. A text that cannot be parsed stays text, so that validation against a
/// schema reports it.
impl Serialization {
    /// Parses the value from the decoded pairs of a query or form; `None` if it is not among them.
    pub fn from_pairs(&self, pairs: &[(String, String)], ty: &Type) -> Option<Json> {
        let own = || pairs.iter().filter(|(name, _)| *name == self.name);
        if self.style == Style::Json {
            let (_, value) = own().next()?;
            return Some(serde_json::from_str(value).unwrap_or_else(|_| value.as_str().into()));
        }
        if self.style == Style::DeepObject {
            return self.deep_object(pairs, ty);
        }
        let separator = match self.style {
            Style::Space => " ",
            Style::Pipe => "|",
            _ => ",",
        };
        match kind(ty) {
            Kind::List(element) if self.explode => {
                let items: Vec<Json> = own().map(|(_, value)| scalar(value, &element)).collect();
                (!items.is_empty()).then_some(Json::Array(items))
            }
            Kind::Object if self.explode => {
                let names = planrun_lang::types::field_names(ty);
                let fields = pairs
                    .iter()
                    .filter(|(name, _)| names.iter().any(|known| **known == **name));
                let fields: Map<String, Json> = fields
                    .map(|(name, value)| (name.clone(), scalar(value, &field_type(ty, name))))
                    .collect();
                (!fields.is_empty()).then_some(Json::Object(fields))
            }
            Kind::List(_) | Kind::Object => Some(split(&own().next()?.1, separator, false, ty)),
            Kind::Scalar => Some(scalar(&own().next()?.1, ty)),
        }
    }

    /// Parses the value from an escaped path segment, a header or a cookie.
    pub fn from_text(&self, written: &str, ty: &Type) -> Json {
        self.from_line(&percent::decode(written), ty)
    }

    /// Parses the value from a header that is not escaped, as [`Self::line`] writes it.
    #[must_use]
    pub fn from_line(&self, written: &str, ty: &Type) -> Json {
        match self.style {
            Style::Json => serde_json::from_str(written).unwrap_or_else(|_| written.into()),
            Style::Label => {
                let rest = written.strip_prefix('.').unwrap_or(written);
                split(rest, if self.explode { "." } else { "," }, self.explode, ty)
            }
            Style::Matrix => {
                let prefix = format!(";{}=", self.name);
                let rest = written.strip_prefix(&prefix).unwrap_or(written);
                match kind(ty) {
                    Kind::Object if self.explode => {
                        split(rest.trim_start_matches(';'), ";", true, ty)
                    }
                    Kind::List(_) if self.explode => split(rest, &prefix, false, ty),
                    _ => split(rest, ",", false, ty),
                }
            }
            _ => split(written, ",", self.explode, ty),
        }
    }

    fn deep_object(&self, pairs: &[(String, String)], ty: &Type) -> Option<Json> {
        let mut fields = Map::new();
        for (name, value) in pairs {
            let inner = name
                .strip_prefix(&self.name)
                .and_then(|rest| rest.strip_prefix('[')?.strip_suffix(']'));
            let Some(inner) = inner else { continue };
            let ty = field_type(ty, inner);
            if let Kind::List(element) = kind(&ty) {
                let list = fields
                    .entry(inner)
                    .or_insert_with(|| Json::Array(Vec::new()));
                if let Some(list) = list.as_array_mut() {
                    list.push(scalar(value, &element));
                }
            } else {
                fields.insert(inner.to_owned(), scalar(value, &ty));
            }
        }
        (!fields.is_empty()).then_some(Json::Object(fields))
    }
}

/// How a type parses a text.
enum Kind {
    List(Type),
    Object,
    Scalar,
}

fn kind(ty: &Type) -> Kind {
    for member in ty.members() {
        match member {
            Type::List(element) => return Kind::List((**element).clone()),
            Type::Object(_) | Type::Map(_) => return Kind::Object,
            _ => {}
        }
    }
    Kind::Scalar
}

fn field_type(ty: &Type, name: &str) -> Type {
    match field(ty, name) {
        FieldLookup::Found { ty, .. } => ty,
        FieldLookup::Any | FieldLookup::Missing | FieldLookup::NotAnObject => Type::Any,
    }
}

/// Parses a list, or an object as `k,v,k,v` or as `k=v,k=v`.
fn split(written: &str, separator: &str, is_exploded: bool, ty: &Type) -> Json {
    let parts: Vec<&str> = written.split(separator).collect();
    match kind(ty) {
        Kind::List(element) => parts.iter().map(|part| scalar(part, &element)).collect(),
        Kind::Object => {
            let pairs: Vec<(&str, &str)> = if is_exploded {
                parts
                    .iter()
                    .filter_map(|part| part.split_once('='))
                    .collect()
            } else {
                let pairs = parts.chunks(2);
                pairs
                    .filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)))
                    .collect()
            };
            let fields = pairs.into_iter();
            fields
                .map(|(name, value)| (name.to_owned(), scalar(value, &field_type(ty, name))))
                .collect()
        }
        Kind::Scalar => scalar(written, ty),
    }
}

/// Parses a text as a single value of a type. It stays text if the type accepts that.
pub fn scalar(written: &str, ty: &Type) -> Json {
    use planrun_lang::types::Literal;
    let read = || serde_json::from_str::<Json>(written).ok();
    let mut fitting = None;
    for member in ty.members() {
        let found = match member {
            Type::String => return written.into(),
            Type::Literal(Literal::String(text)) => (**text == *written).then(|| written.into()),
            Type::Int | Type::Uint | Type::Double | Type::Literal(Literal::Int(_)) => {
                read().filter(Json::is_number)
            }
            Type::Bool | Type::Literal(Literal::Bool(_)) => read().filter(Json::is_boolean),
            Type::Object(_) | Type::Map(_) | Type::List(_) => {
                read().filter(|json| json.is_object() || json.is_array())
            }
            Type::Null => written.is_empty().then_some(Json::Null),
            _ => None,
        };
        fitting = fitting.or(found);
    }
    fitting.unwrap_or_else(|| written.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use planrun_lang::types::from_schema;

    fn written(style: Style, explode: bool) -> Serialization {
        Serialization {
            name: "color".into(),
            style,
            explode,
            reserved: false,
        }
    }

    /// The table of the specification, for a text, a list and an object.
    fn values() -> [Json; 3] {
        [
            json!("blue"),
            json!(["blue", "black", "brown"]),
            json!({"R": 100, "G": 200, "B": 150}),
        ]
    }

    fn types() -> [Type; 3] {
        let number = json!({"type": "integer"});
        let object =
            json!({"type": "object", "properties": {"R": number, "G": number, "B": number}});
        let list = json!({"type": "array", "items": {"type": "string"}});
        [json!({"type": "string"}), list, object].map(|schema| from_schema(&schema))
    }

    #[test]
    fn paths_are_written_as_the_specification_has_it() {
        let cases = [
            (
                Style::Simple,
                false,
                ["blue", "blue,black,brown", "R,100,G,200,B,150"],
            ),
            (
                Style::Simple,
                true,
                ["blue", "blue,black,brown", "R=100,G=200,B=150"],
            ),
            (
                Style::Label,
                false,
                [".blue", ".blue,black,brown", ".R,100,G,200,B,150"],
            ),
            (
                Style::Label,
                true,
                [".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
            ),
            (
                Style::Matrix,
                false,
                [
                    ";color=blue",
                    ";color=blue,black,brown",
                    ";color=R,100,G,200,B,150",
                ],
            ),
            (
                Style::Matrix,
                true,
                [
                    ";color=blue",
                    ";color=blue;color=black;color=brown",
                    ";R=100;G=200;B=150",
                ],
            ),
        ];
        for (style, explode, expected) in cases {
            let parameter = written(style, explode);
            for ((value, ty), expected) in values().iter().zip(types()).zip(expected) {
                assert_eq!(parameter.path(value), expected);
                assert_eq!(parameter.from_text(expected, &ty), *value, "{expected}");
            }
        }
        assert_eq!(
            written(Style::Simple, false).path(&json!("a/b c")),
            "a%2Fb%20c"
        );
    }

    #[test]
    fn queries_are_written_as_the_specification_has_it() {
        let (list, object) = ("color=blue,black,brown", "color=R,100,G,200,B,150");
        let cases = [
            (
                Style::Form,
                true,
                [
                    "color=blue",
                    "color=blue&color=black&color=brown",
                    "R=100&G=200&B=150",
                ],
            ),
            (Style::Form, false, ["color=blue", list, object]),
            (
                Style::Space,
                false,
                [
                    "color=blue",
                    "color=blue%20black%20brown",
                    "color=R%20100%20G%20200%20B%20150",
                ],
            ),
            (
                Style::Pipe,
                false,
                [
                    "color=blue",
                    "color=blue%7Cblack%7Cbrown",
                    "color=R%7C100%7CG%7C200%7CB%7C150",
                ],
            ),
        ];
        for (style, explode, expected) in cases {
            let parameter = written(style, explode);
            for ((value, ty), expected) in values().iter().zip(types()).zip(expected) {
                assert_eq!(parameter.query(value).join("&"), expected);
                let pairs = pairs(expected);
                assert_eq!(
                    parameter.from_pairs(&pairs, &ty).as_ref(),
                    Some(value),
                    "{expected}"
                );
            }
        }
        let [_, _, object] = values();
        let deep = written(Style::DeepObject, true);
        let text = "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150";
        assert_eq!(deep.query(&object).join("&"), text);
        assert_eq!(deep.from_pairs(&pairs(text), &types()[2]), Some(object));
        let reserved = Serialization {
            reserved: true,
            ..written(Style::Form, true)
        };
        assert_eq!(reserved.query(&json!("a/b&c")), ["color=a/b%26c"]);
    }

    fn pairs(query: &str) -> Vec<(String, String)> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(name, value)| (percent::decode(name), percent::decode(value)))
            .collect()
    }

    #[test]
    fn texts_are_read_by_their_type() {
        let ty = |schema: Json| from_schema(&schema);
        assert_eq!(scalar("7", &ty(json!({"type": "integer"}))), json!(7));
        assert_eq!(scalar("7", &ty(json!({"type": "string"}))), json!("7"));
        assert_eq!(scalar("x", &ty(json!({"type": "integer"}))), json!("x"));
        assert_eq!(
            scalar("true", &ty(json!({"type": ["boolean", "null"]}))),
            json!(true)
        );
        assert_eq!(
            scalar("", &ty(json!({"type": ["integer", "null"]}))),
            json!(null)
        );
    }
}
