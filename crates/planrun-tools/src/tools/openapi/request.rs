//! Builds the request of a call: the path, query, headers and cookies from their arguments, and the body.

use planrun_lang::call::CallError;
use planrun_lang::value::Value;
use reqwest::Url;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value as Json};

use super::access::Access;
use super::body::{Body, BodyField, Shape};
use super::multipart::Multipart;
use super::operation::{Operation, Security};
use crate::tools::http::parameter::{Place, Style, text};
use crate::tools::http::{Content, HttpRequest, from_utf8, path, percent};
use crate::tools::invalid_arguments;

/// The parts of a request.
pub(super) struct Call<'a> {
    pub operation: &'a Operation,
    /// The original argument values, for bytes.
    pub values: &'a Value,
    /// The arguments as JSON, without those that are left out.
    pub arguments: &'a Map<String, Json>,
    pub key: &'a str,
}

impl Call<'_> {
    /// Returns the request for this base address and these credentials. Returns an error if an argument cannot be sent.
    /// Nothing was sent then.
    pub(super) fn request(&self, base: &str, access: &Access) -> Result<HttpRequest, CallError> {
        let path = self.path()?;
        let mut url = Url::parse(&format!("{}{path}", base.trim_end_matches('/')))
            .map_err(|problem| self.invalid_argument(format!("its URL is invalid: {problem}")))?;
        let access: &[_] = if self.operation.security == Security::Public {
            &[]
        } else {
            &access.entries
        };
        let fixed: Vec<&str> = url.query().into_iter().collect();
        let mut query: Vec<String> = fixed.into_iter().map(str::to_owned).collect();
        for (parameter, value) in self.given(Place::Query) {
            query.extend(parameter.serialization.query(value));
        }
        let secret = access.iter().filter(|one| one.place == Place::Query);
        query.extend(secret.map(|one| {
            let escape = |text: &str| percent::encode(text, percent::RESERVED);
            format!("{}={}", escape(&one.name), escape(&one.value))
        }));
        url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
        let mut headers = self.headers()?;
        for one in access.iter().filter(|one| one.place == Place::Header) {
            let name = HeaderName::from_bytes(one.name.as_bytes());
            let value = HeaderValue::from_str(&one.value);
            let (Ok(name), Ok(mut value)) = (name, value) else {
                return Err(self.invalid_argument(
                    "its credential contains characters that are not valid in a header",
                ));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        self.add_cookies(&mut headers, access)?;
        let body = self.body(&mut headers)?;
        Ok(HttpRequest {
            method: self.operation.method.clone(),
            url,
            headers,
            body,
        })
    }

    /// Returns the parameters in a location that have a value.
    fn given(&self, place: Place) -> impl Iterator<Item = (&super::operation::Parameter, &Json)> {
        let parameters = self.operation.parameters.iter();
        let own = parameters.filter(move |one| one.place == place);
        own.filter_map(|one| {
            let value = self.arguments.get(&*one.argument)?;
            (!value.is_null()).then_some((one, value))
        })
    }

    fn path(&self) -> Result<String, CallError> {
        let value = |name: &str| {
            let mut given = self.given(Place::Path);
            let (parameter, value) = given.find(|(one, _)| one.serialization.name == name)?;
            Some(parameter.serialization.path(value))
        };
        path::fill(&self.operation.path, value).map_err(|problem| self.invalid_argument(problem))
    }

    fn headers(&self) -> Result<HeaderMap, CallError> {
        let mut headers = HeaderMap::new();
        if let Ok(accept) = HeaderValue::from_str(&self.operation.responses.accept()) {
            headers.insert(header::ACCEPT, accept);
        }
        if let Ok(key) = HeaderValue::from_str(self.key) {
            headers.insert("idempotency-key", key);
        }
        for (parameter, value) in self.given(Place::Header) {
            let name = HeaderName::from_bytes(parameter.serialization.name.as_bytes());
            let line = HeaderValue::from_str(&parameter.serialization.line(value));
            let (Ok(name), Ok(line)) = (name, line) else {
                let message = format!(
                    "`{}` contains characters that are not valid in a header",
                    parameter.argument
                );
                return Err(self.invalid_argument(message));
            };
            headers.insert(name, line);
        }
        Ok(headers)
    }

    fn add_cookies(
        &self,
        headers: &mut HeaderMap,
        access: &[super::access::Credential],
    ) -> Result<(), CallError> {
        let escape = |text: &str| percent::encode(text, percent::IN_COOKIE);
        let pair = |name: &str, value: &str| format!("{name}={}", escape(value));
        let given = self.given(Place::Cookie);
        let given =
            given.map(|(one, value)| pair(&one.serialization.name, &one.serialization.line(value)));
        let secret = access.iter().filter(|one| one.place == Place::Cookie);
        let secret = secret.map(|one| pair(&one.name, &one.value));
        let cookies: Vec<String> = given.chain(secret).collect();
        if cookies.is_empty() {
            return Ok(());
        }
        let mut line = HeaderValue::from_str(&cookies.join("; ")).map_err(|_| {
            self.invalid_argument("its cookies contain characters that are not valid in a header")
        })?;
        line.set_sensitive(true);
        headers.insert(header::COOKIE, line);
        Ok(())
    }

    fn body(&self, headers: &mut HeaderMap) -> Result<Option<Vec<u8>>, CallError> {
        let Some(body) = &self.operation.body else {
            return Ok(None);
        };
        let (media_type, bytes) = match &body.shape {
            Shape::Whole(argument) => {
                let Some(json) = self.arguments.get(&**argument) else {
                    return Ok(None);
                };
                self.whole(body, argument, json)
            }
            Shape::Fields(fields) => {
                let is_given = |field: &BodyField| self.arguments.contains_key(&*field.argument);
                if !body.is_required && !fields.iter().any(is_given) {
                    return Ok(None);
                }
                let fields = fields.iter().filter(|field| is_given(field));
                self.fields(body, fields.map(|field| (field.clone(), &*field.argument)))
            }
        };
        let bytes = match body.content {
            Content::Json | Content::Text => from_utf8(&media_type, bytes).ok_or_else(|| {
                let message = format!("`{media_type}` cannot express its body");
                self.invalid_argument(message)
            })?,
            Content::Form | Content::Multipart | Content::Bytes => bytes,
        };
        let media_type = HeaderValue::from_str(&media_type).map_err(|_| {
            self.invalid_argument(
                "its media type contains characters that are not valid in a header",
            )
        })?;
        headers.insert(header::CONTENT_TYPE, media_type);
        Ok(Some(bytes))
    }

    fn whole(&self, body: &Body, argument: &str, json: &Json) -> (String, Vec<u8>) {
        let media_type = body.media_type.clone();
        match body.content {
            Content::Json => (media_type, json.to_string().into_bytes()),
            Content::Text => (with_charset(media_type), text(json).into_bytes()),
            Content::Bytes => {
                let bytes = match self.values.get(argument) {
                    Some(Value::Bytes(bytes)) => bytes.to_vec(),
                    Some(_) | None => text(json).into_bytes(),
                };
                (media_type, bytes)
            }
            Content::Form | Content::Multipart => {
                let fields = json.as_object().into_iter().flatten();
                let fields = fields.map(|(name, _)| BodyField::plain(name));
                let whole = self.values.get(argument).cloned().unwrap_or(Value::Null);
                let call = Call {
                    values: &whole,
                    arguments: json.as_object().unwrap_or(self.arguments),
                    ..*self
                };
                call.fields(
                    body,
                    fields.map(|field| {
                        let name = field.serialization.name.clone();
                        (field, name)
                    }),
                )
            }
        }
    }

    /// Returns the media type and content of a body of fields. Each field is paired with the name of its argument.
    fn fields<N: AsRef<str>>(
        &self,
        body: &Body,
        fields: impl Iterator<Item = (BodyField, N)>,
    ) -> (String, Vec<u8>) {
        let given = fields.filter_map(|(field, argument)| {
            let json = self.arguments.get(argument.as_ref())?;
            Some((field, argument, json))
        });
        match body.content {
            Content::Multipart => {
                let mut parts = Multipart::new(self.key);
                for (field, argument, json) in given {
                    parts.add(&field, self.values.get(argument.as_ref()), json);
                }
                parts.finish()
            }
            Content::Form => {
                let pairs = given.flat_map(|(field, _, json)| form_pairs(&field, json));
                let pairs: Vec<String> = pairs.collect();
                (body.media_type.clone(), pairs.join("&").into_bytes())
            }
            Content::Json | Content::Text | Content::Bytes => {
                let object = given.map(|(field, _, json)| (field.serialization.name, json.clone()));
                let object = Json::Object(object.collect());
                (body.media_type.clone(), object.to_string().into_bytes())
            }
        }
    }

    fn invalid_argument(&self, message: impl AsRef<str>) -> CallError {
        let path = self.operation.signature.path();
        invalid_arguments(format!("{path}: {}", message.as_ref()))
    }
}

/// Returns the pairs of one form field. Objects are JSON unless their style is another one.
fn form_pairs(field: &BodyField, json: &Json) -> Vec<String> {
    match json {
        Json::Null => Vec::new(),
        Json::Object(_) if field.serialization.style == Style::Form => {
            field.serialization.query(&Json::String(json.to_string()))
        }
        other => field.serialization.query(other),
    }
}

fn with_charset(media_type: String) -> String {
    if media_type.contains("charset") {
        media_type
    } else {
        format!("{media_type}; charset=utf-8")
    }
}
