//! Answers to questions that people fill in, and examples for single fields.

use planrun_lang::example::{Choice, Examples};
use serde_json::{Map, Value as Json, json};

use super::question::{FormField, Question};
use super::words::Waiting;

impl Question {
    /// Returns an answer of the right shape, as text: a yes, or a form with a placeholder in every field that has to be
    /// filled in. No placeholder is valid JSON, so that nothing is answered by accident.
    #[must_use]
    pub fn answer_to_fill_in(&self, placeholder: impl Fn(&FormField) -> String) -> String {
        let blank = |field: &FormField| {
            let name = Json::from(&*field.name);
            format!("{name}: <{}>", placeholder(field))
        };
        let open = |field: &&FormField| self.prefill(field).is_none();
        // Fields that may be left out are left out, unless nothing would have to be filled in.
        let required = |field: &&FormField| open(field) && field.read(None).is_err();
        let has_required = self.form.iter().any(|field| required(&field));
        let listed = |field: &&FormField| open(field) && (!has_required || required(field));
        let fields = self.form.iter().filter(listed).map(blank);
        let all: Vec<String> = match self.kind {
            Waiting::Confirm | Waiting::Approval => return "true".to_owned(),
            Waiting::Answer => ["\"happened\": <true | false>".to_owned()]
                .into_iter()
                .chain(fields)
                .collect(),
            Waiting::Input
            | Waiting::Peer
            | Waiting::Retry
            | Waiting::Poll
            | Waiting::Outcome
            | Waiting::Effects
            | Waiting::Time => fields.collect(),
        };
        format!("{{{}}}", all.join(", "))
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
        for field in &fields {
            let value = field.example().unwrap();
            assert!(field.read(Some(&value)).is_ok(), "{}: {value}", field.name);
            assert!(&*field.name != "level" || value == "low", "{value}");
        }
    }

    #[test]
    fn only_a_yes_needs_nothing_filled_in() {
        let of = |question: &Question| question.answer_to_fill_in(|field| field.ty.clone());
        assert_eq!(of(&Question::plain(Waiting::Confirm, "?")), "true");
        let lost = Question {
            kind: Waiting::Answer,
            ..form(vec![FormField::plain("value", &Type::Int)])
        };
        let answer = of(&lost);
        assert_eq!(answer, r#"{"happened": <true | false>, "value": <int>}"#);
        assert!(serde_json::from_str::<Json>(&answer).is_err());
    }
}
