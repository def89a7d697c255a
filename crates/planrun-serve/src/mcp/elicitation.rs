//! Questions as forms of the protocol, and what comes back.

use std::time::Duration;

use planrun_core::journal::{APPROVE, FormField, GrantScope, SCOPE, Waiting};
use rmcp::model::{ElicitRequestParams, ElicitationAction};
use serde_json::{Map, Value as Json, json};

use crate::asking::{PutQuestion, Said};

/// What a person reads in place of the names of scopes.
const ONCE: &str = "once";
const FOR_A_DAY: &str = "this plan for 24h";

/// Whether every field of a question is one that forms of the protocol have.
pub(super) fn can_be_elicited(question: &PutQuestion) -> bool {
    match question.question.kind {
        Waiting::Confirm | Waiting::Approval => true,
        Waiting::Input | Waiting::Peer => {
            let mut fields = question.question.form.iter();
            fields.all(|field| !field.secret && property(field).is_some())
        }
        Waiting::Answer | Waiting::Retry | Waiting::Poll | Waiting::Outcome | Waiting::Time => {
            false
        }
    }
}

/// The form of a question.
pub(super) fn form(question: &PutQuestion) -> Option<ElicitRequestParams> {
    let own = &question.question;
    let mut properties = Map::new();
    let mut required = Vec::new();
    match own.kind {
        Waiting::Approval => {
            properties.insert(APPROVE.to_owned(), yes_or_no());
            let scope = json!({ "type": "string", "title": "For", "enum": [ONCE, FOR_A_DAY], "default": ONCE });
            properties.insert(SCOPE.to_owned(), scope);
            required.push(APPROVE.to_owned());
        }
        Waiting::Confirm => {
            properties.insert(APPROVE.to_owned(), yes_or_no());
            required.push(APPROVE.to_owned());
        }
        _ => {
            for field in &own.form {
                let mut property = property(field)?;
                if let Some(stands) = own.prefill(field) {
                    property.insert("default".to_owned(), field.written(stands));
                } else {
                    required.push(field.name.to_string());
                }
                properties.insert(field.name.to_string(), Json::Object(property));
            }
        }
    }
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.text.clone(),
        requested_schema: serde_json::from_value(schema).ok()?,
    })
}

fn yes_or_no() -> Json {
    json!({ "type": "boolean", "title": "Approve", "default": false })
}

/// A field as the protocol has it: a text, a number, a yes or no, or one of a list of texts.
fn property(field: &FormField) -> Option<Map<String, Json>> {
    let mut property = Map::new();
    if let Some(options) = &field.options {
        if !options.iter().all(Json::is_string) {
            return None;
        }
        property.insert("type".to_owned(), "string".into());
        property.insert("enum".to_owned(), options.clone().into());
    } else {
        let kind = field.schema.get("type")?.as_str()?;
        if !["string", "integer", "number", "boolean"].contains(&kind) {
            return None;
        }
        property.insert("type".to_owned(), kind.into());
        let values = field.schema.get("enum");
        if let Some(values) = values {
            property.insert("enum".to_owned(), values.clone());
        }
    }
    if let Some(label) = &field.label {
        property.insert("title".to_owned(), (&**label).into());
    }
    Some(property)
}

/// What somebody has said to a form, after so long.
pub(super) fn said(
    question: &PutQuestion,
    action: &ElicitationAction,
    content: Option<Json>,
    after: Duration,
) -> Said {
    match action {
        ElicitationAction::Accept => {
            let Json::Object(mut content) = content.unwrap_or_default() else {
                return Said::Nothing;
            };
            match question.question.kind {
                // A form that nobody has ticked is a no.
                Waiting::Confirm => {
                    Said::Answer(content.remove(APPROVE).unwrap_or(Json::Bool(false)))
                }
                Waiting::Approval => {
                    let agrees = content.remove(APPROVE) == Some(Json::Bool(true));
                    let scope = if content.get(SCOPE).and_then(Json::as_str) == Some(FOR_A_DAY) {
                        GrantScope::Plan
                    } else {
                        GrantScope::Once
                    };
                    Said::Answer(json!({ APPROVE: agrees, SCOPE: scope.name() }))
                }
                _ => Said::Answer(Json::Object(content)),
            }
        }
        ElicitationAction::Decline => Said::Declined(after),
        _ => Said::Nothing,
    }
}
