//! The body of a request: its media type, and the arguments that it consists of.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::document::{At, Document};
use super::naming::Arguments;
use super::schema::{Schemas, bytes};
use crate::tools::http::Content;
use crate::tools::http::parameter::{Place, Serialization, Style};

/// Maximum depth of references and `allOf` in a schema that is split into fields.
const MAX_DEPTH: usize = 16;
/// The keywords of an object schema that can be split into fields. With any other keyword, the body is a single
/// argument, so that no constraint is lost.
const PLAIN: [&str; 15] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "allOf",
    "title",
    "description",
    "default",
    "deprecated",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "nullable",
    "xml",
];

/// The body of a request.
#[derive(Clone, Debug)]
pub struct Body {
    /// As written in the document.
    pub media_type: String,
    pub content: Content,
    pub shape: Shape,
    pub is_required: bool,
}

/// The arguments that a body consists of.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A single argument.
    Whole(Arc<str>),
    /// One argument for each field.
    Fields(Vec<BodyField>),
}

#[derive(Clone, Debug)]
pub struct BodyField {
    pub argument: Arc<str>,
    pub serialization: Serialization,
    /// The media type of its part, if the document declares one.
    pub media_type: Option<String>,
}

/// An argument before it becomes a parameter.
pub(super) struct Argument<'d> {
    pub name: Arc<str>,
    /// The schemas, all of which apply.
    pub schemas: Vec<At<'d>>,
    /// Replaces `schemas` if present.
    pub schema: Option<Json>,
    pub is_required: bool,
    pub description: Option<&'d str>,
}

impl BodyField {
    /// Creates a field without an encoding in the document. Its argument has the same name.
    pub(super) fn plain(name: &str) -> Self {
        Self {
            argument: name.into(),
            serialization: Serialization::field(name),
            media_type: None,
        }
    }
}

/// Selects one of several media types: JSON, otherwise a form, otherwise text, otherwise the first.
pub(super) fn preferred<'d>(content: &At<'d>) -> Option<(&'d str, Content, At<'d>)> {
    let order = [
        Content::Json,
        Content::Multipart,
        Content::Form,
        Content::Text,
        Content::Bytes,
    ];
    let all: Vec<_> = content.entries().collect();
    order.into_iter().find_map(|kind| {
        let (name, at) = all.iter().find(|(name, _)| Content::of(name) == kind)?;
        Some((*name, kind, at.clone()))
    })
}

/// Reads the body of an operation and adds its arguments.
pub(super) fn read<'d>(
    schemas: &Schemas<'d>,
    operation: &At<'d>,
    names: &mut Arguments,
    arguments: &mut Vec<Argument<'d>>,
) -> Result<Option<Body>, String> {
    let Some(at) = operation.get("requestBody") else {
        return Ok(None);
    };
    let at = schemas.document.follow(at)?;
    let is_required = at.flag("required");
    let Some((media_type, content, media)) = at.get("content").as_ref().and_then(preferred) else {
        return Ok(None);
    };
    let fields = media.get("schema").and_then(|schema| {
        let mut fields = Fields::default();
        let is_plain = fields.add(schemas.document, schema, 0) && !fields.all.is_empty();
        // If the body is optional, its fields cannot be required, so it is a single argument.
        (is_plain && (is_required || fields.required.is_empty())).then_some(fields)
    });
    let takes_fields = matches!(content, Content::Json | Content::Form | Content::Multipart);
    let shape = match fields {
        Some(fields) if takes_fields => {
            Shape::Fields(fields.arguments(schemas, &media, names, arguments)?)
        }
        Some(_) | None => {
            let name = names.claim("body", "body")?;
            let schema = match content {
                Content::Json | Content::Form | Content::Multipart => None,
                Content::Text => Some(json!({"type": "string"})),
                Content::Bytes => Some(bytes()),
            };
            arguments.push(Argument {
                name: name.clone(),
                schemas: media.get("schema").into_iter().collect(),
                schema,
                is_required,
                description: at.text("description"),
            });
            Shape::Whole(name)
        }
    };
    Ok(Some(Body {
        media_type: media_type.to_owned(),
        content,
        shape,
        is_required,
    }))
}

/// The fields of an object schema.
#[derive(Default)]
struct Fields<'d> {
    /// A field that several parts of an `allOf` declare has the schemas of all of them.
    all: Vec<(&'d str, Vec<At<'d>>)>,
    required: BTreeSet<&'d str>,
}

impl<'d> Fields<'d> {
    /// Adds the fields of a schema. Returns false if the schema is more than an object with fields.
    fn add(&mut self, document: &'d Document, schema: At<'d>, depth: usize) -> bool {
        let Ok(at) = document.follow(schema) else {
            return false;
        };
        let Json::Object(object) = at.json else {
            return false;
        };
        let is_other = |key: &str| !PLAIN.contains(&key) && !key.starts_with("x-");
        let is_object = object.get("type").is_none_or(|kind| kind == "object")
            && (object.contains_key("properties") || object.contains_key("allOf"));
        let is_closed = object
            .get("additionalProperties")
            .is_none_or(|rest| *rest == Json::Bool(false));
        if depth > MAX_DEPTH
            || !is_object
            || !is_closed
            || at.flag("nullable")
            || object.keys().any(|key| is_other(key))
        {
            return false;
        }
        for (name, property) in at.get("properties").iter().flat_map(At::entries) {
            match self.all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, schemas)) => schemas.push(property),
                None => self.all.push((name, vec![property])),
            }
        }
        let required = object.get("required").and_then(Json::as_array);
        self.required
            .extend(required.into_iter().flatten().filter_map(Json::as_str));
        let parts: Vec<At> = at.get("allOf").iter().flat_map(At::items).collect();
        parts
            .into_iter()
            .all(|part| self.add(document, part, depth + 1))
    }

    /// Adds an argument for each field that is sent to the server.
    fn arguments(
        self,
        schemas: &Schemas<'d>,
        media: &At<'d>,
        names: &mut Arguments,
        arguments: &mut Vec<Argument<'d>>,
    ) -> Result<Vec<BodyField>, String> {
        let mut fields = Vec::new();
        for (name, all) in self.all {
            if all.iter().any(|at| schemas.flagged(at.json, "readOnly")) {
                continue;
            }
            let argument = names.claim("body", name)?;
            let encoding = media.get("encoding").and_then(|all| all.get(name));
            fields.push(BodyField {
                argument: argument.clone(),
                serialization: field_serialization(name, encoding.as_ref()),
                media_type: encoding
                    .and_then(|encoding| encoding.text("contentType"))
                    .filter(|list| !list.contains([',', '*']))
                    .map(str::to_owned),
            });
            arguments.push(Argument {
                name: argument,
                schemas: all,
                schema: None,
                is_required: self.required.contains(name),
                description: None,
            });
        }
        Ok(fields)
    }
}

/// Returns the serialization of a form field. Lists repeat its name, unless its `encoding` declares something else.
fn field_serialization(name: &str, encoding: Option<&At>) -> Serialization {
    let style = encoding.and_then(|encoding| encoding.text("style"));
    let style = style.and_then(|style| Style::find(style, Place::Query));
    let explode = encoding.and_then(|encoding| encoding.json.get("explode")?.as_bool());
    let usual = Serialization::field(name);
    Serialization {
        style: style.unwrap_or(usual.style),
        explode: explode.unwrap_or(style.is_none_or(|style| style == Style::Form)),
        ..usual
    }
}

/// Returns the schema that requires all of several schemas.
pub(super) fn all_of(mut schemas: Vec<Json>) -> Json {
    if schemas.len() == 1 {
        return schemas.pop().unwrap_or_default();
    }
    let mut all = Map::new();
    all.insert("allOf".to_owned(), Json::Array(schemas));
    Json::Object(all)
}
