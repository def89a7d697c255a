//! Answers to all questions of generated plans.

use std::sync::Arc;

use planrun_core::journal::{APPROVE, Question, SubmittedAnswer, Waiting};
use serde_json::{Map, Value as Json, json};

use super::edges::answer;
use crate::generate::Dice;

/// Returns an answer that fits the question at a path. It depends only on these.
pub fn given(path: &Arc<str>, question: &Question, seed: u64) -> SubmittedAnswer {
    let name = path
        .bytes()
        .fold(u64::from(question.execution), |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
    let mut dice = Dice::new(seed ^ name.wrapping_mul(0x9e37));
    let value = match question.kind {
        Waiting::Confirm => json!(!dice.one_in(5)),
        // Questions of a peer are sometimes declined.
        Waiting::Peer if dice.one_in(5) => Json::Null,
        Waiting::Answer if dice.one_in(2) => json!({ "happened": false }),
        Waiting::Answer => {
            json!({ "happened": true, "value": answer(&question.form[0].schema, &mut dice) })
        }
        _ => {
            let mut fields = Map::new();
            for field in &question.form {
                if *field.name == *APPROVE {
                    fields.insert(APPROVE.to_owned(), json!(!dice.one_in(8)));
                    continue;
                }
                let choice = field
                    .options
                    .as_ref()
                    .and_then(|options| options.first().cloned());
                fields.insert(
                    field.name.to_string(),
                    choice.unwrap_or_else(|| answer(&field.schema, &mut dice)),
                );
            }
            Json::Object(fields)
        }
    };
    SubmittedAnswer {
        path: path.clone(),
        value,
        by: question.by.clone(),
        note: None,
    }
}
