//! Converts questions to forms of the protocol, and the results to outcomes.

use std::time::Duration;

use planrun_core::journal::{APPROVE, FormField, GrantScope, SCOPE, Waiting};
use planrun_lang::types::{from_schema, to_schema};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, PrimitiveSchemaDefinition,
};
use serde::Deserialize as _;
use serde_json::{Map, Value as Json, json};

use crate::asking::{AskChannel, AskOutcome, PendingQuestion};

/// The displayed names of the scopes.
const ONCE: &str = "once";
const FOR_A_DAY: &str = "this plan for 24h";

/// Returns true if a form of the protocol can express every field of a question.
pub(super) fn can_be_elicited(question: &PendingQuestion) -> bool {
    let own = &question.question;
    match own.kind {
        Waiting::Confirm | Waiting::Approval => true,
        Waiting::Input | Waiting::Peer => {
            let mut fields = own.form.iter();
            fields.all(|field| !field.secret && property(own.kind, field).is_some())
        }
        Waiting::Answer
        | Waiting::Retry
        | Waiting::Poll
        | Waiting::Outcome
        | Waiting::Effects
        | Waiting::Time => false,
    }
}

/// Returns the request that asks a question through a channel; `None` if no form can express it.
pub(super) fn request(
    question: &PendingQuestion,
    channel: &AskChannel,
) -> Option<ElicitRequestParams> {
    match channel {
        AskChannel::Form => form(question),
        AskChannel::Page(address) => Some(ElicitRequestParams::UrlElicitationParams {
            meta: None,
            message: format!(
                "{}\nAnswer on a page of planrun on this machine.",
                question.text
            ),
            url: address.clone(),
            elicitation_id: elicitation_id(question),
        }),
    }
}

/// Returns the id by which the client is notified that the page of a question is done.
pub(super) fn elicitation_id(question: &PendingQuestion) -> String {
    format!("{}/{}", question.run, question.path)
}

fn form(question: &PendingQuestion) -> Option<ElicitRequestParams> {
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
                let mut property = property(own.kind, field)?;
                if let Some(current) = own.prefill(field) {
                    property.insert("default".to_owned(), field.written(current));
                } else if !from_schema(&field.schema).admits_null() {
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

/// Returns a field of the protocol: a text, a number, a boolean, or a choice from a list of texts; `None` if it is
/// anything else.
fn property(kind: Waiting, field: &FormField) -> Option<Map<String, Json>> {
    // The schema of a peer's question is passed on unchanged.
    if let (Waiting::Peer, Some(Json::Object(own))) = (kind, field.contracts.first()) {
        let is_known = PrimitiveSchemaDefinition::deserialize(own).is_ok();
        return is_known.then(|| own.clone());
    }
    let mut property = Map::new();
    let schema = to_schema(&from_schema(&field.schema).without_null());
    let choices = field.options.as_ref();
    let choices = choices.or_else(|| schema.get("enum").and_then(Json::as_array));
    if let Some(choices) = choices {
        if !choices.iter().all(Json::is_string) {
            return None;
        }
        property.insert("type".to_owned(), "string".into());
        property.insert("enum".to_owned(), choices.clone().into());
    } else {
        let kind = schema.get("type")?.as_str()?;
        if !["string", "integer", "number", "boolean"].contains(&kind) {
            return None;
        }
        property.insert("type".to_owned(), kind.into());
    }
    if let Some(label) = &field.label {
        property.insert("title".to_owned(), (&**label).into());
    }
    Some(property)
}

/// Returns the outcome of a question that was answered after this duration.
pub(super) fn outcome_of(
    question: &PendingQuestion,
    by_page: bool,
    answer: ElicitResult,
    after: Duration,
) -> AskOutcome {
    match answer.action {
        // The person agrees to open the page; the answer is given there.
        ElicitationAction::Accept if by_page => AskOutcome::Opened,
        ElicitationAction::Accept => {
            let Json::Object(content) = answer.content.unwrap_or_default() else {
                return AskOutcome::Nothing;
            };
            match question.question.kind {
                Waiting::Confirm => match agrees(&content) {
                    Some(agrees) => AskOutcome::Answer(agrees.into()),
                    None => AskOutcome::Nothing,
                },
                Waiting::Approval => match (agrees(&content), scope(&content)) {
                    (Some(agrees), Some(scope)) => {
                        AskOutcome::Answer(json!({ APPROVE: agrees, SCOPE: scope.name() }))
                    }
                    (Some(_) | None, _) => AskOutcome::Nothing,
                },
                _ => AskOutcome::Answer(Json::Object(content)),
            }
        }
        ElicitationAction::Decline => AskOutcome::Declined(after),
        _ => AskOutcome::Nothing,
    }
}

/// Returns the decision in a form; `None` if it is none, so that the person is asked through another channel. A form in
/// which nothing was selected is a refusal.
fn agrees(content: &Map<String, Json>) -> Option<bool> {
    match content.get(APPROVE) {
        None | Some(Json::Null) => Some(false),
        Some(decision) => decision.as_bool(),
    }
}

/// Returns the scope in a form; `None` if there is no such scope.
fn scope(content: &Map<String, Json>) -> Option<GrantScope> {
    match content.get(SCOPE) {
        None | Some(Json::Null) => Some(GrantScope::Once),
        Some(scope) => match scope.as_str()? {
            ONCE => Some(GrantScope::Once),
            FOR_A_DAY => Some(GrantScope::Plan),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use planrun_core::journal::Question;
    use planrun_lang::types::{Type, from_schema};

    use super::*;

    fn asked(kind: Waiting, form: Vec<FormField>) -> PendingQuestion {
        let question = Question {
            form,
            ..Question::plain(kind, "Which?")
        };
        PendingQuestion::new("r", &"given.asked".into(), question.into())
    }

    fn schema(question: &PendingQuestion) -> Json {
        assert!(can_be_elicited(question));
        let form = serde_json::to_value(form(question).unwrap()).unwrap();
        form["requestedSchema"].clone()
    }

    #[test]
    fn a_form_that_is_not_filled_in_as_it_asks_is_no_answer() {
        let outcome = |kind: Waiting, content: Json| {
            let answer = ElicitResult::new(ElicitationAction::Accept).with_content(content);
            outcome_of(&asked(kind, Vec::new()), false, answer, Duration::ZERO)
        };
        for (content, agrees, scope) in [
            (json!({ "approve": true }), true, "once"),
            (json!({ "approve": true, "scope": FOR_A_DAY }), true, "plan"),
            (json!({ "approve": false, "scope": null }), false, "once"),
            (json!({}), false, "once"),
        ] {
            let approval = AskOutcome::Answer(json!({ APPROVE: agrees, SCOPE: scope }));
            assert_eq!(outcome(Waiting::Approval, content.clone()), approval);
            let confirmed = AskOutcome::Answer(agrees.into());
            assert_eq!(outcome(Waiting::Confirm, content), confirmed);
        }
        let unknown = json!({ "approve": true, "scope": "for ever" });
        assert_eq!(outcome(Waiting::Approval, unknown), AskOutcome::Nothing);
        for kind in [Waiting::Approval, Waiting::Confirm] {
            let unclear = json!({ "approve": "yes" });
            assert_eq!(outcome(kind, unclear), AskOutcome::Nothing);
        }
    }

    #[test]
    fn what_a_peer_asks_is_passed_on_with_its_titles() {
        let titled =
            json!([{ "const": "a", "title": "First" }, { "const": "b", "title": "Second" }]);
        let fields = json!({
            "one": { "type": "string", "oneOf": titled },
            "several": { "type": "array", "items": { "anyOf": titled } },
            "named": { "type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"] },
        });
        let form = fields.as_object().unwrap().iter().map(|(name, schema)| {
            let optional = json!({ "anyOf": [schema, { "type": "null" }] });
            FormField {
                schema: optional,
                contracts: vec![schema.clone()],
                ..FormField::plain(name, &from_schema(schema))
            }
        });
        let schema = schema(&asked(Waiting::Peer, form.collect()));
        assert_eq!(schema["properties"], fields);
        assert_eq!(schema["required"], json!([]));
    }

    #[test]
    fn a_list_of_texts_is_a_choice_and_what_may_be_null_may_be_left_out() {
        let choice = from_schema(&json!({ "enum": ["a", "b"] }));
        let form = vec![
            FormField::plain("choice", &choice),
            FormField::plain("note", &from_schema(&json!({ "type": ["string", "null"] }))),
        ];
        let schema = schema(&asked(Waiting::Input, form));
        let choice = json!({ "type": "string", "enum": ["a", "b"] });
        assert_eq!(schema["properties"]["choice"], choice);
        assert_eq!(schema["properties"]["note"], json!({ "type": "string" }));
        assert_eq!(schema["required"], json!(["choice"]));
    }

    #[test]
    fn what_no_form_has_is_not_put() {
        let list = FormField::plain("list", &Type::list(Type::Int));
        assert!(!can_be_elicited(&asked(Waiting::Input, vec![list])));
        let object = json!({ "type": "object" });
        let nested = FormField {
            contracts: vec![object.clone()],
            ..FormField::plain("nested", &from_schema(&object))
        };
        assert!(!can_be_elicited(&asked(Waiting::Peer, vec![nested])));
    }
}
