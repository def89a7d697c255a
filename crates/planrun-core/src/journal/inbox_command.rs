//! Commands to a run from outside, one JSON object for each kind.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::deep;
use super::question::SubmittedAnswer;

/// A command in the inbox of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum InboxCommand {
    Signal(Signal),
    Move(Move),
    Answer(SubmittedAnswer),
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

/// `{"task": NAME, "status": STATUS, "context": {…}}`: moves an `external` task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    pub task: Arc<str>,
    pub status: Arc<str>,
    #[serde(default)]
    pub context: Json,
}

/// `{"cancel": true, "keep": …, "force": …}`: asks the run to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    pub cancel: bool,
    /// Whether the effects of the run are kept instead of undone.
    #[serde(default)]
    pub keep: bool,
    /// Whether the run ends even while its effects are being undone.
    #[serde(default)]
    pub force: bool,
}

impl InboxCommand {
    /// Parses a command.
    ///
    /// # Errors
    /// Returns a sentence that says what is wrong and how the command is written.
    pub fn read(text: &str) -> Result<Self, String> {
        let json: Json = deep::from_str(text)
            .map_err(|error| format!("the command is not valid JSON: {error}"))?;
        let has = |key: &str| json.get(key).is_some();
        if has("signal") {
            return form(
                &json,
                "a signal must have the form {\"signal\": NAME, \"payload\": …}",
            )
            .map(Self::Signal);
        }
        if has("task") {
            let written =
                "a move must have the form {\"task\": NAME, \"status\": STATUS, \"context\": {…}}";
            return form(&json, written).map(Self::Move);
        }
        if has("answer") {
            let written = "an answer must have the form {\"answer\": PATH, \"value\": …, \"by\": …, \"note\": …}";
            return form(&json, written).map(Self::Answer);
        }
        if has("cancel") {
            return form(
                &json,
                "a cancel must have the form {\"cancel\": true, \"keep\": BOOL, \"force\": BOOL}",
            )
            .map(Self::Cancel);
        }
        Err("a command must have one of the keys signal, task, answer, cancel".to_owned())
    }

    /// Returns the command as JSON text.
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
        let given = SubmittedAnswer {
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
        for command in [
            InboxCommand::Signal(signal),
            InboxCommand::Move(moved),
            InboxCommand::Answer(given),
            InboxCommand::Cancel(cancel),
        ] {
            assert_eq!(InboxCommand::read(&command.to_text()).unwrap(), command);
        }
        assert!(
            InboxCommand::read("{\"signal\": 1}")
                .unwrap_err()
                .starts_with("a signal must have the form")
        );
        assert!(
            InboxCommand::read("{\"sig\": \"go\"}")
                .unwrap_err()
                .contains("one of the keys")
        );
        assert!(
            InboxCommand::read("go")
                .unwrap_err()
                .contains("not valid JSON")
        );
    }
}
