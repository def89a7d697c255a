//! Converts questions that a peer asks during a call to forms for people, and their answers to the JSON that the peer
//! expects.

use std::sync::Arc;

use planrun_core::journal::FormField;
use planrun_core::run::PeerReply;
use planrun_lang::types::{Type, encode, from_schema, is_sensitive};
use planrun_lang::value::{Key, Map, Value};
use planrun_tools::tools::Ask;
use serde_json::{Value as Json, json};

/// Name of the only field if the answer is not an object.
const VALUE: &str = "value";

/// A question of a peer that waits for its reply.
pub(super) struct OpenAsk {
    ask: Ask,
    fields: Vec<Field>,
    /// Whether the answer is an object of the fields, instead of the value of the only field.
    is_object: bool,
}

/// One field of the answer.
struct Field {
    form: FormField,
    ty: Type,
    required: bool,
    /// The prefilled value.
    prefilled: Option<Value>,
}

impl OpenAsk {
    /// Creates a form from the question's JSON Schema: with a field for each of its `properties`, or with the single
    /// field `value` if it has none.
    pub(super) fn new(ask: Ask) -> Self {
        let schema = ask.question().schema();
        let properties = schema.get("properties").and_then(Json::as_object);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Json::as_array)
            .map(|names| names.iter().filter_map(Json::as_str).collect())
            .unwrap_or_default();
        let fields = match properties {
            Some(properties) => properties
                .iter()
                .map(|(name, field)| Field::new(name, (field, schema), required.contains(&&**name)))
                .collect(),
            None => vec![Field::new(VALUE, (schema, schema), true)],
        };
        let is_object = properties.is_some();
        Self {
            ask,
            fields,
            is_object,
        }
    }

    pub(super) fn text(&self) -> Arc<str> {
        self.ask.question().message().into()
    }

    pub(super) fn form(&self) -> Vec<FormField> {
        self.fields.iter().map(|field| field.form.clone()).collect()
    }

    pub(super) fn prefilled(&self) -> Value {
        let filled = self.fields.iter().filter_map(|field| {
            let value = field.prefilled.clone()?;
            Some((Key::String(field.form.name.clone()), value))
        });
        Value::Map(Arc::new(filled.collect::<Map>()))
    }

    pub(super) fn reply(self, reply: &PeerReply) {
        match reply {
            PeerReply::Given(value) => {
                let content = self.content(value);
                self.ask.answer(content);
            }
            PeerReply::Declined => self.ask.decline(),
            // Dropping the question leaves it unanswered.
            PeerReply::Unanswered => {}
        }
    }

    /// Encodes the answer of a person as JSON. Optional fields without a value are left out.
    fn content(&self, given: &Value) -> Json {
        let value = |field: &Field| {
            let value = given.get(&field.form.name).unwrap_or(&Value::Null);
            (!value.is_null() || field.required).then(|| encode(value, &field.ty))
        };
        if !self.is_object {
            return self.fields.first().and_then(value).unwrap_or(Json::Null);
        }
        let fields = self.fields.iter();
        fields
            .filter_map(|field| Some((field.form.name.to_string(), value(field)?)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

impl Field {
    fn new(name: &str, (schema, document): (&Json, &Json), required: bool) -> Self {
        let text = |key: &str| schema.get(key).and_then(Json::as_str);
        let asked = if required {
            schema.clone()
        } else {
            json!({ "anyOf": [schema, { "type": "null" }] })
        };
        let ty = from_schema(schema);
        let prefilled = schema
            .get("default")
            .and_then(|default| planrun_lang::types::decode(default, &ty).ok());
        let form = FormField {
            label: text("description")
                .or_else(|| text("title"))
                .map(Into::into),
            ty: from_schema(&asked).to_string(),
            schema: asked,
            // A null is left out of the answer, so no contract applies to it.
            contracts: vec![schema.clone()],
            secret: is_sensitive(schema, document),
            ..FormField::plain(name, &ty)
        };
        Self {
            form,
            ty,
            required,
            prefilled,
        }
    }
}
