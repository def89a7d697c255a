//! Planrun's own expressions, checked once against the types of the data.

use std::hint::black_box;
use std::sync::Arc;

use planrun_lang::eval::{Environment, EvalError, evaluate};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::expr::{Checker, CheckedExpr};
use planrun_lang::sema::{Atom, Binding, Lookup, NameKind, Place, Scope};
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::syntax::parse_expression;
use planrun_lang::types::{Type, decode, from_schema};
use planrun_lang::value::Value;
use serde_json::{Value as Json, json};

/// A checked expression.
pub struct Ready {
    code: CheckedExpr,
    values: Vec<Value>,
}

/// The names of the data and their types.
struct Names(Vec<(&'static str, Type)>);

impl Ready {
    pub fn new(text: &str, data: &Json) -> Result<Self, String> {
        let names = Names(types());
        let source = SourceFile::new("expression", text);
        let (tree, mut found) = parse_expression(&source);
        let code = Checker::new(&names, &mut found).check(&tree);
        if let Some(found) = found.first() {
            return Err(format!("{}: {}", found.code.name, found.message));
        }
        let values = names
            .0
            .iter()
            .map(|(name, ty)| decode(&data[name], ty).map_err(|error| error.to_string()));
        Ok(Self {
            code,
            values: values.collect::<Result<_, _>>()?,
        })
    }

    pub fn evaluate(&self) {
        black_box(evaluate(black_box(&self.code), self)).unwrap();
    }

    pub fn json(&self) -> Result<Json, String> {
        evaluate(&self.code, self)
            .map(|value| value.to_json())
            .map_err(|error| error.to_string())
    }
}

fn types() -> Vec<(&'static str, Type)> {
    let object = |properties: Json, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required });
    let (text, whole, number) = (
        json!({ "type": "string" }),
        json!({ "type": "integer" }),
        json!({ "type": "number" }),
    );
    let order = object(
        json!({ "id": whole, "state": text, "total": number }),
        &["id", "state", "total"],
    );
    let user = object(
        json!({ "name": text, "level": text, "email": text, "nick": text }),
        &["name", "level", "email"],
    );
    let item = object(
        json!({ "code": text, "count": whole, "price": number }),
        &["code", "count", "price"],
    );
    let items = json!({ "type": "array", "items": item });
    vec![
        ("order", from_schema(&order)),
        ("user", from_schema(&user)),
        ("items", from_schema(&items)),
    ]
}

impl Scope for Names {
    fn lookup(&self, name: &str) -> Lookup {
        let Some(slot) = self.0.iter().position(|(known, _)| *known == name) else {
            return Lookup::Missing;
        };
        let place = Place {
            up: 0,
            slot: u32::try_from(slot).unwrap(),
        };
        Lookup::Found(Binding::always(
            NameKind::Step,
            place,
            self.0[slot].1.clone(),
            Span::default(),
        ))
    }

    fn visible(&self) -> Vec<Arc<str>> {
        self.0.iter().map(|(name, _)| Arc::from(*name)).collect()
    }

    fn facts(&self) -> &[Atom] {
        &[]
    }
}

impl Environment for Ready {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        Ok(self.values[place.slot as usize].clone())
    }

    fn state(&self, _: Place) -> StepState {
        StepState::Completed
    }

    fn winner(&self, _: Place) -> Option<Arc<str>> {
        None
    }
}
