//! Reads one operation of a document as a tool: its name, its arguments and their locations, and its contract.

use std::sync::Arc;

use planrun_lang::types::{
    Contract, Effect, Signature, Type, from_schema, method_effect, sensitive_paths,
};
use reqwest::Method;
use serde_json::{Map, Value as Json, json};

use super::body::{self, Argument, Body, all_of, preferred};
use super::document::At;
use super::naming;
use super::response::{self, Output, Responses};
use super::schema::{Bundle, Direction, Schemas};
use crate::contract::Arguments;
use crate::tools::http::parameter::{Place, Serialization, Style};
use crate::tools::http::{Content, path};

/// Headers that are not set by parameters: by the specification, and since they are those of the connection.
const NOT_PARAMETERS: [&str; 12] = [
    "accept",
    "content-type",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

#[derive(Clone)]
pub struct Operation {
    pub signature: Arc<Signature>,
    pub method: Method,
    /// With its parameters in braces.
    pub path: String,
    /// The address of the operation, if the document declares one only for it or its path.
    pub server: Option<Arc<str>>,
    pub parameters: Vec<Parameter>,
    pub body: Option<Body>,
    pub responses: Responses,
    pub security: Security,
}

/// Whether an operation is called with credentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Security {
    /// Without: `security: []`.
    Public,
    /// With those that there are: one of the alternatives in `security` is empty.
    Optional,
    #[default]
    Required,
}

impl std::fmt::Debug for Operation {
    /// Leaves out the address, which may contain credentials.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation")
            .field("signature", &self.signature)
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// An argument that is sent in the path, the query, a header or a cookie.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub argument: Arc<str>,
    pub place: Place,
    pub serialization: Serialization,
    pub is_required: bool,
}

/// The methods of operations that become tools.
pub(super) const METHODS: [(&str, Method); 7] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("options", Method::OPTIONS),
    ("head", Method::HEAD),
    ("patch", Method::PATCH),
];

/// The parts of a document that an operation is read from.
pub(super) struct Found<'d> {
    pub method: Method,
    pub path: &'d str,
    /// The declarations that all operations of the path share.
    pub item: At<'d>,
    pub operation: At<'d>,
    pub server: Option<Arc<str>>,
    pub security: Security,
}

/// A parameter whose argument has no name yet.
struct Unnamed<'d> {
    name: &'d str,
    place: Place,
    serialization: Serialization,
    at: At<'d>,
    schema: At<'d>,
}

/// Reads an operation as a tool. Fails with the reason in one sentence if it cannot be a tool.
pub(super) fn read(
    schemas: &Schemas,
    found: &Found,
    (namespace, name): (&Arc<str>, &str),
    class: Option<Effect>,
) -> Result<Operation, String> {
    let (mut names, mut arguments) = (naming::Arguments::default(), Vec::new());
    let parameters = parameters(schemas, found, &mut names, &mut arguments)?;
    check_path(found.path, &parameters)?;
    let body = body::read(schemas, &found.operation, &mut names, &mut arguments)?;
    let key_argument = parameters
        .iter()
        .find(|one| {
            one.place == Place::Header
                && one
                    .serialization
                    .name
                    .eq_ignore_ascii_case("idempotency-key")
        })
        .map(|one| one.argument.clone());
    let is_form = body.as_ref().is_some_and(|body| body.content.is_form());
    let bundle = schemas.bundle(Direction::Request).of_bytes(is_form);
    let input = input(bundle, arguments, key_argument.as_deref());
    let (responses, output) = response::read(schemas, &found.operation)?;
    // An answer to HEAD has no body, whatever is declared for it.
    let output = if found.method == Method::HEAD {
        Output::nothing()
    } else {
        output
    };
    let taken = Arguments::of(input.clone());
    let effect = class.unwrap_or_else(|| method_effect(found.method.as_str()));
    let signature = Signature {
        description: description(&found.operation).map(Into::into),
        parameters: taken.parameters,
        returns: output.schema.as_ref().map_or(Type::Any, from_schema),
        effect,
        effect_declared: true,
        raises: responses.raises(),
        sensitive: sensitive_paths(Some(&input), output.schema.as_ref()),
        deprecated: found.operation.flag("deprecated").then(Arc::default),
        key_argument,
        input_schema: Some(Arc::new(Contract::of_arguments(input))),
        output_schema: output
            .schema
            .map(|schema| Arc::new(Contract::of_result(schema))),
        received_schema: output.received.map(Arc::new),
        ..Signature::unknown(namespace.clone(), name.into())
    };
    Ok(Operation {
        signature: Arc::new(signature),
        method: found.method.clone(),
        path: found.path.to_owned(),
        server: found.server.clone(),
        parameters,
        body,
        responses,
        security: found.security,
    })
}

/// Returns the summary as the first line, followed by the description.
fn description(operation: &At) -> Option<String> {
    let text = |key: &str| {
        operation
            .text(key)
            .map(str::trim)
            .filter(|text| !text.is_empty())
    };
    match (text("summary"), text("description")) {
        (Some(summary), Some(description)) if description.starts_with(summary) => {
            Some(description.to_owned())
        }
        (Some(summary), Some(description)) => {
            let end = if summary.ends_with(['.', '!', '?', '。']) {
                ""
            } else {
                "."
            };
            Some(format!("{summary}{end}\n\n{description}"))
        }
        (one, other) => one.or(other).map(str::to_owned),
    }
}

fn parameters<'d>(
    schemas: &Schemas<'d>,
    found: &Found<'d>,
    names: &mut naming::Arguments,
    arguments: &mut Vec<Argument<'d>>,
) -> Result<Vec<Parameter>, String> {
    let mut unnamed: Vec<Unnamed> = Vec::new();
    // Parameters of the operation override those of the path.
    for owner in [&found.operation, &found.item] {
        for at in owner.get("parameters").iter().flat_map(At::items) {
            let at = schemas.document.follow(at)?;
            let Some(one) = parameter(at)? else { continue };
            let is_known = |known: &Unnamed| known.name == one.name && known.place == one.place;
            if !unnamed.iter().any(is_known) {
                unnamed.push(one);
            }
        }
    }
    unnamed.sort_by_key(|one| one.place);
    let mut parameters = Vec::new();
    for one in unnamed {
        let argument = names.claim(one.place.name(), one.name)?;
        let is_required = one.place == Place::Path || one.at.flag("required");
        arguments.push(Argument {
            name: argument.clone(),
            schemas: vec![one.schema],
            schema: None,
            is_required,
            description: one.at.text("description"),
        });
        parameters.push(Parameter {
            argument,
            place: one.place,
            serialization: one.serialization,
            is_required,
        });
    }
    Ok(parameters)
}

fn parameter(at: At) -> Result<Option<Unnamed>, String> {
    let Some(name) = at.text("name") else {
        return Err(format!("the parameter at {} has no `name`", at.pointer));
    };
    let place = at.text("in").unwrap_or_default();
    let Some(place) = Place::find(place) else {
        return Err(format!(
            "the parameter `{name}` is in `{place}`, but must be in path, query, header or cookie"
        ));
    };
    if place == Place::Header && NOT_PARAMETERS.contains(&name.to_ascii_lowercase().as_str()) {
        return Ok(None);
    }
    let is_header = reqwest::header::HeaderName::from_bytes(name.as_bytes()).is_ok();
    if place == Place::Header && !is_header {
        return Err(format!("`{name}` is not a valid header name"));
    }
    let style = match at.text("style") {
        Some(style) => Style::find(style, place)
            .ok_or_else(|| format!("the parameter `{name}` cannot have the style `{style}`"))?,
        None => place.usual_style(),
    };
    let explode = at.json.get("explode").and_then(Json::as_bool);
    let mut serialization = Serialization {
        name: name.to_owned(),
        style,
        explode: explode.unwrap_or(style == Style::Form),
        reserved: at.flag("allowReserved") && place == Place::Query,
    };
    let schema = match at.get("content").as_ref().and_then(preferred) {
        Some((_, content, media)) => {
            if content == Content::Json {
                serialization.style = Style::Json;
            }
            media.get("schema")
        }
        None => at.get("schema"),
    };
    let schema = schema.ok_or_else(|| format!("the parameter `{name}` has no `schema`"))?;
    Ok(Some(Unnamed {
        name,
        place,
        serialization,
        at,
        schema,
    }))
}

/// Checks that each name in braces is a parameter, and that each path parameter is a name in braces.
fn check_path(template: &str, parameters: &[Parameter]) -> Result<(), String> {
    let names: Vec<&str> = path::names(template).collect();
    let own = || parameters.iter().filter(|one| one.place == Place::Path);
    if let Some(name) = names
        .iter()
        .find(|name| !own().any(|one| one.serialization.name == **name))
    {
        return Err(format!(
            "its path contains {{{name}}}, but there is no such parameter"
        ));
    }
    match own().find(|one| !names.contains(&one.serialization.name.as_str())) {
        Some(one) => Err(format!(
            "its parameter `{}` is not in its path",
            one.serialization.name
        )),
        None => Ok(()),
    }
}

/// Returns the JSON Schema of all arguments.
fn input(mut bundle: Bundle, arguments: Vec<Argument>, key: Option<&str>) -> Json {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for argument in arguments {
        let mut schema = argument.schema.unwrap_or_else(|| {
            let all = argument
                .schemas
                .iter()
                .map(|at| bundle.add(at.json))
                .collect();
            all_of(all)
        });
        if let (Some(schema), Some(description)) = (schema.as_object_mut(), argument.description) {
            schema
                .entry("description")
                .or_insert_with(|| description.into());
        }
        // The engine passes the key, so a plan does not have to.
        if argument.is_required && key != Some(&*argument.name) {
            required.push(argument.name.to_string());
        }
        properties.insert(argument.name.to_string(), schema);
    }
    bundle.finish(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}
