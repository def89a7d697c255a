//! Mocks operations of `OpenAPI` documents: requests are validated against the document, and answers are generated from
//! it.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use planrun_lang::example::{Choice, Examples};
use planrun_lang::types::Type;
use reqwest::header;
use serde_json::{Map, Value as Json, json};

use super::multipart::parts;
use crate::tools::app::Received;
use crate::tools::http::parameter::{Place, scalar};
use crate::tools::http::{Content, path};
use crate::tools::openapi::{Api, Body, BodyField, Declared, Operation, Parameter, Shape, Status};

/// Answers requests for the operations of a set of documents.
pub(super) struct ApiResponder {
    apis: Vec<Api>,
    seed: u64,
    /// Generators of answers by operation and status. Each is prepared on first use.
    examples: Mutex<HashMap<(String, Status), Prepared>>,
}

/// `None` if no answer can be generated.
type Prepared = Option<Arc<Examples>>;

/// An answer as it is sent.
pub(super) struct ApiAnswer {
    pub status: u16,
    pub media_type: Option<String>,
    pub body: Vec<u8>,
    /// The methods of the path, if the request's method is not one of them.
    pub allow: Option<String>,
}

/// The reason for which a request is invalid.
struct InvalidRequest(String);

impl ApiResponder {
    pub(super) fn new(apis: Vec<Api>, seed: u64) -> Self {
        Self {
            apis,
            seed,
            examples: Mutex::default(),
        }
    }

    /// Answers a request whose path starts with the name of one of the documents; returns `None` for any other request.
    pub(super) fn answer(&self, received: &Received) -> Option<ApiAnswer> {
        let (name, _) = received.path.trim_start_matches('/').split_once('/')?;
        let api = self.apis.iter().find(|api| *api.name == *name)?;
        let own = received.path.get(1 + name.len()..)?;
        // An address that replaces the address of an app ends with `/tool`.
        let own = match own.strip_prefix("/tool") {
            Some(rest) if rest.starts_with('/') => rest,
            Some(_) | None => own,
        };
        let mut here: Vec<(&Arc<Operation>, _)> = api
            .operations
            .iter()
            .filter_map(|operation| Some((operation, path::matched(&operation.path, own)?)))
            .collect();
        // Literal path segments take precedence over parameters.
        here.sort_by_key(|(_, arguments)| arguments.len());
        if here.is_empty() {
            return Some(plain(404, "the document has no such path"));
        }
        let found = here
            .iter()
            .find(|(operation, _)| operation.method == received.method);
        let Some((operation, in_path)) = found else {
            let methods: Vec<&str> = here.iter().map(|(one, _)| one.method.as_str()).collect();
            let mut answer = plain(405, "the path has no such method");
            answer.allow = Some(methods.join(", "));
            return Some(answer);
        };
        Some(match arguments(operation, in_path, received) {
            Ok(arguments) => self.success(operation, &arguments),
            Err(InvalidRequest(why)) => self.refusal(operation, &why),
        })
    }

    fn success(&self, operation: &Operation, arguments: &Map<String, Json>) -> ApiAnswer {
        let Some(declared) = operation.responses.successes().next() else {
            return ApiAnswer::empty(200);
        };
        let status = match declared.status {
            Status::Exactly(status) => status,
            Status::Range(_) | Status::Default => 200,
        };
        self.generate(operation, declared, status, arguments)
            .unwrap_or_else(|problem| plain(500, &problem))
    }

    /// Answers an invalid request with status 422 if the document declares it, otherwise with 400.
    fn refusal(&self, operation: &Operation, why: &str) -> ApiAnswer {
        let declared = &operation.responses.declared;
        let has = |status: u16| {
            declared
                .iter()
                .any(|one| one.status == Status::Exactly(status))
        };
        let status = [422, 400]
            .into_iter()
            .find(|status| has(*status))
            .unwrap_or(400);
        // The usual names of the field that contains the reason.
        let names = ["message", "error", "detail", "msg", "title", "reason"];
        let words: Map<String, Json> = names
            .map(|name| (name.to_owned(), why.into()))
            .into_iter()
            .collect();
        let declared = operation.responses.of(status);
        let made = declared.and_then(|one| self.generate(operation, one, status, &words).ok());
        made.filter(|answer| !answer.body.is_empty())
            .unwrap_or_else(|| plain(status, why))
    }

    fn generate(
        &self,
        operation: &Operation,
        declared: &Declared,
        status: u16,
        arguments: &Map<String, Json>,
    ) -> Result<ApiAnswer, String> {
        let Some((media_type, content, schema)) = &declared.content else {
            return Ok(ApiAnswer::empty(status));
        };
        let body = match (content, schema) {
            (Content::Json, Some(schema)) => {
                let examples = self.examples(operation, declared.status, schema);
                let examples = examples.ok_or("its schema cannot be used")?;
                let made =
                    examples.make(arguments, self.seed_of(operation, arguments), Choice::Usual);
                made.map_err(|problem| problem.to_string())?.to_string()
            }
            (Content::Json, None) => "null".to_owned(),
            (Content::Text | Content::Bytes | Content::Form | Content::Multipart, _) => {
                format!("{} of {}", media_type, operation.signature.name)
            }
        };
        Ok(ApiAnswer {
            status,
            media_type: Some(media_type.clone()),
            body: body.into_bytes(),
            allow: None,
        })
    }

    fn examples(
        &self,
        operation: &Operation,
        status: Status,
        schema: &Json,
    ) -> Option<Arc<Examples>> {
        let key = (operation.signature.path(), status);
        let mut known = self.examples.lock();
        let prepare = || Examples::new(schema).ok().map(Arc::new);
        known.entry(key).or_insert_with(prepare).clone()
    }

    fn seed_of(&self, operation: &Operation, arguments: &Map<String, Json>) -> u64 {
        let arguments = Json::Object(arguments.clone());
        let text = format!("{} {} {arguments}", self.seed, operation.signature.path());
        let hash = blake3::hash(text.as_bytes());
        let first = hash.as_bytes().first_chunk::<8>();
        first.map_or(self.seed, |bytes| u64::from_le_bytes(*bytes))
    }
}

impl ApiAnswer {
    fn empty(status: u16) -> Self {
        Self {
            status,
            media_type: None,
            body: Vec::new(),
            allow: None,
        }
    }
}

fn plain(status: u16, error: &str) -> ApiAnswer {
    ApiAnswer {
        status,
        media_type: Some("application/json".to_owned()),
        body: json!({ "error": error }).to_string().into_bytes(),
        allow: None,
    }
}

/// Reads the arguments of a request and validates them against the document.
fn arguments(
    operation: &Operation,
    in_path: &[(&str, &str)],
    received: &Received,
) -> Result<Map<String, Json>, InvalidRequest> {
    let ty = |argument: &str| {
        let parameter = operation.signature.parameter(argument);
        parameter.map_or(Type::Any, |parameter| parameter.ty.clone())
    };
    let mut arguments = Map::new();
    for parameter in &operation.parameters {
        let value = parse_argument(parameter, &ty(&parameter.argument), in_path, received);
        arguments.extend(value.map(|value| (parameter.argument.to_string(), value)));
    }
    if let Some(body) = &operation.body {
        add_body(body, &ty, received, &mut arguments)?;
        if let Shape::Fields(fields) = &body.shape
            && body.content.is_form()
        {
            add_empty_lists(fields, operation, &mut arguments);
        }
    }
    let contract = operation.signature.input_schema.as_ref();
    let json = Json::Object(arguments);
    let violation = contract.and_then(|contract| contract.violations(&json).into_iter().next());
    match (violation, json) {
        (Some(violation), _) => Err(InvalidRequest(violation.to_string())),
        (None, Json::Object(arguments)) => Ok(arguments),
        (None, _) => Ok(Map::new()),
    }
}

/// Adds empty lists for missing required list fields, because a form can express an empty list only by omitting the
/// field.
fn add_empty_lists(fields: &[BodyField], operation: &Operation, arguments: &mut Map<String, Json>) {
    for field in fields {
        let parameter = operation.signature.parameter(&field.argument);
        if parameter.is_some_and(|one| one.required && matches!(one.ty, Type::List(_))) {
            let list = arguments.entry(field.argument.to_string());
            list.or_insert_with(|| Json::Array(Vec::new()));
        }
    }
}

fn parse_argument(
    parameter: &Parameter,
    ty: &Type,
    in_path: &[(&str, &str)],
    received: &Received,
) -> Option<Json> {
    let name = parameter.serialization.name.as_str();
    match parameter.place {
        Place::Path => {
            let (_, text) = in_path.iter().find(|(known, _)| *known == name)?;
            Some(parameter.serialization.from_text(text, ty))
        }
        Place::Query => parameter.serialization.from_pairs(&received.query, ty),
        Place::Header => {
            let line = received.headers.get(name)?.to_str().ok()?;
            Some(parameter.serialization.from_text(line, ty))
        }
        Place::Cookie => {
            let lines = received.headers.get_all(header::COOKIE).iter();
            let lines = lines.filter_map(|line| line.to_str().ok());
            let mut pairs = lines
                .flat_map(|line| line.split("; "))
                .filter_map(|pair| pair.split_once('='));
            let (_, text) = pairs.find(|(known, _)| *known == name)?;
            Some(parameter.serialization.from_text(text, ty))
        }
    }
}

fn add_body(
    body: &Body,
    ty: &dyn Fn(&str) -> Type,
    received: &Received,
    arguments: &mut Map<String, Json>,
) -> Result<(), InvalidRequest> {
    if received.body.is_empty() {
        return if body.is_required {
            Err(InvalidRequest("the request has no body".to_owned()))
        } else {
            Ok(())
        };
    }
    let media_type = received
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|line| line.to_str().ok());
    let media_type = media_type.unwrap_or_default();
    let is_other = !media_type.is_empty() && Content::of(media_type) != body.content;
    if body.content != Content::Bytes && is_other {
        return Err(InvalidRequest(format!(
            "the body must be {}",
            body.media_type
        )));
    }
    let given = match &body.shape {
        Shape::Whole(name) => {
            let value = whole_body(body, media_type, &received.body)?;
            vec![(name.to_string(), value)]
        }
        Shape::Fields(fields) if body.content.is_form() => {
            let pairs = form_pairs(body.content, media_type, &received.body)?;
            let value =
                |field: &BodyField| field.serialization.from_pairs(&pairs, &ty(&field.argument));
            let given = fields.iter();
            given
                .filter_map(|field| Some((field.argument.to_string(), value(field)?)))
                .collect()
        }
        Shape::Fields(fields) => {
            let Json::Object(object) = json_of(&received.body)? else {
                return Err(InvalidRequest("the body must be an object".to_owned()));
            };
            let value = |field: &BodyField| object.get(&field.serialization.name).cloned();
            let given = fields.iter();
            given
                .filter_map(|field| Some((field.argument.to_string(), value(field)?)))
                .collect()
        }
    };
    arguments.extend(given);
    Ok(())
}

/// Reads a body that is a single argument.
fn whole_body(body: &Body, media_type: &str, received: &[u8]) -> Result<Json, InvalidRequest> {
    match body.content {
        Content::Json => json_of(received),
        Content::Form | Content::Multipart => {
            let pairs = form_pairs(body.content, media_type, received)?;
            let read = |(name, value): (String, String)| (name, scalar(&value, &Type::Any));
            Ok(Json::Object(pairs.into_iter().map(read).collect()))
        }
        Content::Text => Ok(String::from_utf8_lossy(received).into()),
        Content::Bytes => Ok(STANDARD.encode(received).into()),
    }
}

fn json_of(body: &[u8]) -> Result<Json, InvalidRequest> {
    serde_json::from_slice(body)
        .map_err(|problem| InvalidRequest(format!("the body is not valid JSON: {problem}")))
}

/// Returns the fields of a form. The value of a file is its content as base64.
fn form_pairs(
    content: Content,
    media_type: &str,
    body: &[u8],
) -> Result<Vec<(String, String)>, InvalidRequest> {
    if content == Content::Form {
        return Ok(Received::pairs(&String::from_utf8_lossy(body)));
    }
    let parts = parts(media_type, body)
        .ok_or_else(|| InvalidRequest("the body is not valid multipart/form-data".to_owned()))?;
    let text = |part: &super::multipart::Part| {
        if part.is_file {
            STANDARD.encode(&part.content)
        } else {
            String::from_utf8_lossy(&part.content).into_owned()
        }
    };
    Ok(parts
        .iter()
        .map(|part| (part.name.clone(), text(part)))
        .collect())
}
