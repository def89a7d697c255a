//! Messages to a run from outside, one JSON object for each kind.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::question::Given;

/// What somebody says to a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum InboxCommand {
    Signal(Signal),
    Move(Move),
    Answer(Given),
    Cancel(Cancel),
}

/// `{"signal": NAME, "payload": …}`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    #[serde(rename = "signal")]
    pub name: Arc<str>,
    #[serde(default)]
    pub payload: Json,
}

/// `{"task": NAME, "status": STATUS, "context": {…}}`: the move of an `external` task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    pub task: Arc<str>,
    pub status: Arc<str>,
    #[serde(default)]
    pub context: Json,
}

/// `{"cancel": true, "keep": …, "force": …}`: the run shall end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    pub cancel: bool,
    /// What it did shall not be taken back.
    #[serde(default)]
    pub keep: bool,
    /// Even while it is being taken back.
    #[serde(default)]
    pub force: bool,
}

impl InboxCommand {
    /// Reads a message.
    ///
    /// # Errors
    /// What is wrong with it, in one sentence that says how it is written.
    pub fn read(text: &str) -> Result<Self, String> {
        let json: Json = serde_json::from_str(text)
            .map_err(|error| format!("what was said is no JSON: {error}"))?;
        let has = |key: &str| json.get(key).is_some();
        if has("signal") {
            return form(&json, "a signal is {\"signal\": NAME, \"payload\": …}").map(Self::Signal);
        }
        if has("task") {
            let written = "a move is {\"task\": NAME, \"status\": STATUS, \"context\": {…}}";
            return form(&json, written).map(Self::Move);
        }
        if has("answer") {
            let written = "an answer is {\"answer\": PATH, \"value\": …, \"by\": …, \"note\": …}";
            return form(&json, written).map(Self::Answer);
        }
        if has("cancel") {
            return form(
                &json,
                "a cancel is {\"cancel\": true, \"keep\": BOOL, \"force\": BOOL}",
            )
            .map(Self::Cancel);
        }
        Err("what is said to a run has one of the keys signal, task, answer, cancel".to_owned())
    }

    /// The message as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

fn form<T: for<'de> Deserialize<'de>>(json: &Json, written: &str) -> Result<T, String> {
    T::deserialize(json).map_err(|error| format!("{written}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_as_it_was_written() {
        let signal = Signal {
            name: "go".into(),
            payload: serde_json::json!({ "n": 1 }),
        };
        let moved = Move {
            task: "sent".into(),
            status: "done".into(),
            context: Json::Null,
        };
        let given = Given {
            path: "a.confirm".into(),
            value: true.into(),
            by: Some("desk".into()),
            note: None,
        };
        let cancel = Cancel {
            cancel: true,
            keep: true,
            force: false,
        };
        for said in [
            InboxCommand::Signal(signal),
            InboxCommand::Move(moved),
            InboxCommand::Answer(given),
            InboxCommand::Cancel(cancel),
        ] {
            assert_eq!(InboxCommand::read(&said.to_text()).unwrap(), said);
        }
        assert!(
            InboxCommand::read("{\"signal\": 1}")
                .unwrap_err()
                .starts_with("a signal is")
        );
        assert!(
            InboxCommand::read("{\"sig\": \"go\"}")
                .unwrap_err()
                .contains("one of the keys")
        );
        assert!(InboxCommand::read("go").unwrap_err().contains("no JSON"));
    }
}
