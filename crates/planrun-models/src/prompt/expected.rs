//! The expected answer to a prompt: text, or JSON of a type.

use std::sync::Arc;

use planrun_lang::call::Answer;
use planrun_lang::types::{Signature, Type, decode};
use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

use crate::arguments;
use crate::model::AnswerShape;

/// APIs require an object: any other JSON is wrapped in this field.
const FIELD: &str = "value";
/// Maximum number of violations reported to the model.
const MAX_OBJECTIONS: usize = 5;

pub(super) struct ExpectedAnswer {
    signature: Arc<Signature>,
}

impl ExpectedAnswer {
    pub(super) fn of(signature: &Arc<Signature>) -> Self {
        let signature = signature.clone();
        Self { signature }
    }

    fn is_text(&self) -> bool {
        matches!(self.signature.returns, Type::String | Type::Any)
    }

    /// Returns the schema of the answer, and whether the value is wrapped in an object.
    fn schema(&self) -> (Json, bool) {
        let contract = self.signature.output_schema.as_ref();
        let schema = contract.map_or(Json::Bool(true), |contract| contract.schema().clone());
        if schema.get("type").and_then(Json::as_str) == Some("object") {
            return (schema, false);
        }
        let wrapped = json!({
            "type": "object", "properties": { FIELD: schema }, "required": [FIELD], "additionalProperties": false,
        });
        (wrapped, true)
    }

    pub(super) fn shape(&self) -> AnswerShape {
        if self.is_text() {
            return AnswerShape::Text;
        }
        AnswerShape::Json {
            name: "answer".to_owned(),
            schema: self.schema().0,
            strict: false,
        }
    }

    /// Returns the instructions for the model, since servers enforce a schema to different degrees.
    pub(super) fn instructions(&self) -> String {
        if self.is_text() {
            return "Answer with the text that is asked for, and nothing around it.".to_owned();
        }
        let (schema, _) = self.schema();
        format!("Answer with JSON alone that conforms to this JSON Schema:\n{schema}")
    }

    /// Parses and validates an answer. Fails with what is wrong with it, as a message for the model.
    pub(super) fn read(&self, text: &str) -> Result<Answer, String> {
        if self.is_text() {
            return Ok(Answer::Value(Value::from(text.trim())));
        }
        let json = arguments::value(text)?;
        let json = match (self.schema(), json) {
            ((_, true), Json::Object(mut object)) if object.contains_key(FIELD) => {
                object.remove(FIELD).unwrap_or_default()
            }
            (_, json) => json,
        };
        let contract = self.signature.output_schema.as_ref();
        let violations = contract.map(|contract| contract.violations(&json));
        let violations = violations.unwrap_or_default();
        if !violations.is_empty() {
            let messages = violations.iter().take(MAX_OBJECTIONS);
            return Err(messages
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join("; "));
        }
        match decode(&json, &self.signature.returns) {
            Ok(_) => Ok(Answer::Json(json)),
            Err(mismatch) => Err(mismatch.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use planrun_lang::types::{Contract, Field, Rest, to_schema};

    use super::*;

    fn expected(returns: Type) -> ExpectedAnswer {
        ExpectedAnswer::of(&Arc::new(Signature {
            output_schema: Some(Arc::new(Contract::of_result(to_schema(&returns)))),
            returns,
            ..Signature::unknown("model".into(), "infer".into())
        }))
    }

    fn read(returns: Type, text: &str) -> Result<Json, String> {
        expected(returns).read(text).map(|answer| match answer {
            Answer::Json(json) => json,
            Answer::Value(value) => value.to_json(),
        })
    }

    #[test]
    fn json_is_found_where_models_put_it() {
        for text in [
            "{\"value\": [1, 2]}",
            "[1, 2]",
            "```json\n{\"value\": [1, 2]}\n```",
            "Here it is:\n```\n[1, 2]\n```\nAnything else?",
            "The list is [1, 2].",
        ] {
            let list = Type::list(Type::Int);
            assert_eq!(read(list, text), Ok(json!([1, 2])), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_to_whoever_answers_anew() {
        let field = |name: &str, ty| Field {
            name: name.into(),
            ty,
            required: true,
        };
        let ty = Type::object(vec![field("n", Type::Int)], Rest::Closed);
        assert_eq!(read(ty.clone(), "{\"n\": 1}"), Ok(json!({ "n": 1 })));
        let message = read(ty.clone(), "{\"n\": \"one\"}").unwrap_err();
        assert!(message.contains("integer"), "{message}");
        let message = read(ty, "it is one").unwrap_err();
        assert!(
            message.starts_with("the answer is not valid JSON"),
            "{message}"
        );
    }

    #[test]
    fn a_text_is_taken_as_it_is() {
        assert_eq!(read(Type::String, " {\"a\": 1}\n"), Ok(json!("{\"a\": 1}")));
        assert_eq!(expected(Type::String).shape(), AnswerShape::Text);
    }
}
