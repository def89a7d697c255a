//! The two evaluators to compare with.

use std::hint::black_box;

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, unwrap_valr};
use jaq_json::Val;
use serde_json::Value as Json;

/// An expression of the crate `cel`.
pub struct Cel {
    program: cel::Program,
    context: cel::Context<'static, 'static>,
}

impl Cel {
    pub fn new(text: &str, data: &Json) -> Result<Self, String> {
        let program = cel::Program::compile(text).map_err(|error| error.to_string())?;
        let mut context = cel::Context::default();
        for (name, value) in data.as_object().into_iter().flatten() {
            context.add_variable_from_value(name.clone(), convert(value));
        }
        Ok(Self { program, context })
    }

    pub fn evaluate(&self) {
        black_box(self.program.execute(black_box(&self.context))).unwrap();
    }

    pub fn json(&self) -> Result<Json, String> {
        let value = self
            .program
            .execute(&self.context)
            .map_err(|error| error.to_string())?;
        value.json().map_err(|error| error.to_string())
    }
}

/// Converts a JSON value for `cel`; integers become ints.
fn convert(json: &Json) -> cel::Value {
    match json {
        Json::Null => cel::Value::Null,
        Json::Bool(truth) => (*truth).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Json::String(text) => text.clone().into(),
        Json::Array(elements) => elements.iter().map(convert).collect::<Vec<_>>().into(),
        Json::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(name, value)| (name.clone(), convert(value)));
            entries
                .collect::<std::collections::HashMap<String, cel::Value>>()
                .into()
        }
    }
}

/// A filter of the crates `jaq`.
pub struct Jaq {
    filter: Filter<JustLut<Val>>,
    input: Val,
}

impl Jaq {
    pub fn new(code: &str, data: &Json) -> Result<Self, String> {
        let definitions = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs());
        let functions = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(definitions).load(&arena, File { code, path: () });
        let modules = modules.map_err(|errors| format!("{errors:?}"))?;
        let filter = Compiler::default()
            .with_funs(functions)
            .compile(modules)
            .map_err(|errors| format!("{errors:?}"))?;
        let input = jaq_json::read::parse_single(data.to_string().as_bytes())
            .map_err(|error| error.to_string())?;
        Ok(Self { filter, input })
    }

    fn run(&self) -> Result<Val, String> {
        let context = Ctx::<JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let mut results = self
            .filter
            .id
            .run((context, self.input.clone()))
            .map(unwrap_valr);
        let first = results.next().ok_or("no result")?;
        first.map_err(|error| error.to_string())
    }

    pub fn evaluate(&self) {
        black_box(black_box(self).run()).unwrap();
    }

    pub fn json(&self) -> Result<Json, String> {
        serde_json::from_str(&self.run()?.to_string()).map_err(|error| error.to_string())
    }
}
