//! Parses a submitted form into the value of an answer.

use planrun_core::journal::{APPROVE, FormField, GrantScope, SCOPE, Waiting};
use serde_json::{Map, Value as Json, json};
use url::form_urlencoded;

use crate::asking::PendingQuestion;

/// The name of the buttons.
pub(super) const DECISION: &str = "decision";
pub(super) const YES: &str = "yes";
pub(super) const YES_FOR_THE_PLAN: &str = "plan";
pub(super) const NO: &str = "no";
/// The prefix of the names of the plan's own fields.
pub(super) const FIELD: &str = "field.";

/// Returns the answer in a submitted form. Fails with a message that describes what is wrong.
pub(super) fn read(question: &PendingQuestion, body: &[u8]) -> Result<Json, String> {
    let sent: Vec<(String, String)> = form_urlencoded::parse(body).into_owned().collect();
    let value = |name: &str| {
        let found = sent.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    };
    let decision = value(DECISION).unwrap_or_default();
    if ![YES, YES_FOR_THE_PLAN, NO].contains(&decision) {
        return Err("no button was pressed".to_owned());
    }
    let agrees = decision != NO;
    match question.question.kind {
        Waiting::Confirm => Ok(agrees.into()),
        Waiting::Approval => {
            let scope = if decision == YES_FOR_THE_PLAN {
                GrantScope::Plan
            } else {
                GrantScope::Once
            };
            Ok(json!({ APPROVE: agrees, SCOPE: scope.name() }))
        }
        Waiting::Peer if !agrees => Ok(Json::Null),
        Waiting::Answer if !agrees => Ok(json!({ "happened": false })),
        kind => {
            let mut fields = Map::new();
            for field in &question.question.form {
                if let Some(text) = value(&format!("{FIELD}{}", field.name)) {
                    fields.extend(
                        read_field(field, text)?.map(|value| (field.name.to_string(), value)),
                    );
                }
            }
            if kind == Waiting::Answer {
                fields.insert("happened".to_owned(), true.into());
            }
            Ok(Json::Object(fields))
        }
    }
}

/// Parses a field: one of its options, a text as it is, or any other type as JSON. Returns `None` if the text is none
/// of the options, or if the field is empty and not a text.
fn read_field(field: &FormField, text: &str) -> Result<Option<Json>, String> {
    let option = |options: &Vec<Json>| options.iter().find(|one| field_text(one) == text).cloned();
    if let Some(options) = &field.options {
        return Ok(option(options));
    }
    let is_text = field.schema.get("type") == Some(&"string".into());
    if is_text {
        return Ok(Some(text.into()));
    }
    if text.trim().is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text)
        .map(Some)
        .map_err(|error| format!("{} is not a valid {}: {error}", field.name, field.ty))
}

/// Formats a value for a field: a text as it is, any other value as JSON.
pub(super) fn field_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
