//! Example answers to questions: valid ones, for commands that can be tried as they are.

use planrun_lang::example::{Choice, Examples};
use serde_json::{Map, Value as Json, json};

use super::question::{FormField, Question};
use super::words::Waiting;

impl Question {
    /// Returns an answer that is accepted: a yes, or a form with an example in every field that is not prefilled.
    #[must_use]
    pub fn example(&self) -> Json {
        let open = |field: &&FormField| self.prefill(field).is_none();
        let fields = self.form.iter().filter(open);
        let fields = fields.map(|field| {
            let value = field.example().unwrap_or_default();
            (field.name.to_string(), value)
        });
        match self.kind {
            Waiting::Confirm | Waiting::Approval => json!(true),
            Waiting::Answer => {
                let happened = ("happened".to_owned(), json!(true));
                Json::Object([happened].into_iter().chain(fields).collect())
            }
            Waiting::Input
            | Waiting::Peer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => Json::Object(fields.collect()),
        }
    }
}

impl FormField {
    /// Returns a value that the field accepts, if one is found.
    #[must_use]
    pub fn example(&self) -> Option<Json> {
        let parts: Vec<&Json> = [&self.schema].into_iter().chain(&self.contracts).collect();
        let whole = json!({ "allOf": parts });
        let schemas = [&whole, &self.schema];
        let made = schemas.into_iter().filter_map(|schema| {
            let examples = Examples::new(schema).ok()?;
            examples.make(&Map::new(), 0, Choice::Usual).ok()
        });
        let mut found = self.options.iter().flatten().cloned().chain(made);
        found.find(|value| self.read(Some(value)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planrun_lang::types::Type;

    fn form(fields: Vec<FormField>) -> Question {
        Question {
            form: fields,
            ..Question::plain(Waiting::Input, "?")
        }
    }

    #[test]
    fn an_example_is_an_answer_that_every_field_accepts() {
        let types = [
            Type::Int,
            Type::String,
            Type::Bool,
            Type::Double,
            Type::Duration,
            Type::Timestamp,
        ];
        let plain = types.iter().enumerate();
        let mut fields: Vec<FormField> = plain
            .map(|(number, ty)| FormField::plain(&format!("f{number}"), ty))
            .collect();
        fields.push(FormField {
            options: Some(vec![json!("low"), json!("high")]),
            ..FormField::plain("level", &Type::String)
        });
        fields.push(FormField {
            contracts: vec![json!({ "minimum": 1000 })],
            ..FormField::plain("amount", &Type::Int)
        });
        let question = form(fields);
        let example = question.example();
        for field in &question.form {
            let value = &example[&*field.name];
            assert!(field.read(Some(value)).is_ok(), "{}: {value}", field.name);
        }
        assert_eq!(example["level"], "low");
    }

    #[test]
    fn an_example_of_a_decision_is_a_yes() {
        assert_eq!(Question::plain(Waiting::Confirm, "?").example(), true);
        let lost = Question {
            kind: Waiting::Answer,
            ..form(vec![FormField::plain("value", &Type::Int)])
        };
        let example = lost.example();
        assert!(example["happened"] == true && example["value"].is_number());
    }
}
