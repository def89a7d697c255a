//! Runs commands `planrun run …` of headers and sessions in this process.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use planrun_core::journal::SubmittedAnswer;
use planrun_lang::sema::Plan;
use planrun_lang::types::{Type, decode};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use crate::support::words;

/// The arguments of a command.
#[derive(Default, Debug, PartialEq)]
pub struct Command {
    pub file: String,
    pub plan: Option<String>,
    inputs: Vec<(String, String)>,
    input: Option<String>,
    answers: Vec<(String, String)>,
    by: Option<String>,
}

impl Command {
    /// Parses a command. `None` if it is not a `run`.
    pub fn read(text: &str) -> Option<Self> {
        let mut words = words(text)
            .into_iter()
            .skip_while(|word| word != "planrun")
            .skip(1);
        (words.next()? == "run").then_some(())?;
        let mut command = Self {
            file: words.next()?,
            ..Self::default()
        };
        let pair = |text: Option<String>| {
            text.and_then(|text| {
                text.split_once('=')
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
            })
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--plan" => command.plan = words.next(),
                "--by" => command.by = words.next(),
                "--input" => command.input = words.next(),
                "-i" => command.inputs.push(pair(words.next())?),
                "--answer" => command.answers.push(pair(words.next())?),
                "--format" | "--output" | "--run-id" => drop(words.next()),
                _ => {}
            }
        }
        Some(command)
    }

    /// Returns the inputs with the types of a plan. `None` if some are missing or do not fit, so that no run would
    /// start.
    pub fn inputs(&self, plan: &Plan, folder: &Path) -> Option<BTreeMap<Arc<str>, Value>> {
        let mut inputs = BTreeMap::new();
        let known = |name: &str| {
            plan.parameters
                .iter()
                .find(|parameter| *parameter.name == *name)
        };
        if let Some(file) = &self.input {
            let json: Json =
                serde_json::from_str(&std::fs::read_to_string(folder.join(file)).ok()?).ok()?;
            for (name, json) in json.as_object()? {
                let parameter = known(name)?;
                inputs.insert(parameter.name.clone(), decode(json, &parameter.ty).ok()?);
            }
        }
        for (name, text) in &self.inputs {
            let parameter = known(name)?;
            inputs.insert(parameter.name.clone(), value(text, &parameter.ty)?);
        }
        plan.parameters
            .iter()
            .all(|one| !one.required || inputs.contains_key(&one.name))
            .then_some(inputs)
    }

    pub fn answers(&self) -> Vec<SubmittedAnswer> {
        let given = |(path, text): &(String, String)| SubmittedAnswer {
            path: path.as_str().into(),
            value: serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
            by: self.by.as_deref().map(Into::into),
            note: None,
        };
        self.answers.iter().map(given).collect()
    }
}

/// Parses a string as itself if the type is a string, else as JSON.
fn value(text: &str, ty: &Type) -> Option<Value> {
    let plain = decode(&text.into(), ty);
    plain
        .or_else(|mismatch| {
            serde_json::from_str(text).map_or(Err(mismatch), |json: Json| decode(&json, ty))
        })
        .ok()
}
