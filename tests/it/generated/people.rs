//! People who answer whatever a generated plan asks.

use planrun_core::journal::{Given, Waiting};
use planrun_core::run::Asking;
use serde_json::{Map, Value as Json, json};

use super::edges::answer;
use crate::generate::Dice;

/// An answer that fits; what it says hangs on the question alone.
pub fn given(asking: &Asking, seed: u64) -> Given {
    let question = &asking.question;
    let name = asking
        .path
        .bytes()
        .fold(u64::from(question.execution), |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
    let mut dice = Dice::new(seed ^ name.wrapping_mul(0x9e37));
    let value = match question.kind {
        Waiting::Confirm => json!(!dice.one_in(5)),
        // Somebody declines what a peer asks.
        Waiting::Peer if dice.one_in(5) => Json::Null,
        Waiting::Answer if dice.one_in(2) => json!({ "happened": false }),
        Waiting::Answer => {
            json!({ "happened": true, "value": answer(&question.form[0].schema, &mut dice) })
        }
        _ => {
            let mut fields = Map::new();
            for field in &question.form {
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
    Given {
        path: asking.path.clone(),
        value,
        by: question.by.clone(),
        note: None,
    }
}
