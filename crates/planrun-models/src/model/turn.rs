//! A turn: the assembled parts of an answer.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Message, ModelError, Part, Parts, StopReason, ToolCall, Usage, next};

/// Maximum number of calls in one turn.
pub const MAX_CALLS: usize = 128;

/// The output of a model in one turn, as far as it has arrived.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    pub text: String,
    pub reasoning: String,
    /// The calls, in the order of their index.
    pub calls: Vec<ToolCall>,
    pub opaque: Vec<Json>,
    /// `None` if the server did not report it.
    pub usage: Option<Usage>,
    /// `None` if the answer has not ended.
    pub stop: Option<StopReason>,
}

impl Turn {
    /// Collects a whole answer. Fails with the error that ended the answer early. To keep the parts before it, use
    /// [`Self::add`].
    pub async fn collect(mut parts: Parts) -> Result<Self, ModelError> {
        let mut turn = Self::default();
        while let Some(part) = next(&mut parts).await {
            turn.add(part?);
        }
        Ok(turn)
    }

    /// Adds a part: texts and arguments are appended, an id or a name replaces the previous one. Calls beyond
    /// [`MAX_CALLS`] are dropped; the readers of answers reject them.
    pub fn add(&mut self, part: Part) {
        match part {
            Part::Reasoning(delta) => self.reasoning.push_str(&delta),
            Part::Text(delta) => self.text.push_str(&delta),
            Part::Call {
                index,
                id,
                name,
                arguments,
            } => {
                if index >= MAX_CALLS {
                    return;
                }
                while self.calls.len() <= index {
                    let id = format!("call_{}", self.calls.len());
                    self.calls.push(ToolCall {
                        id,
                        ..ToolCall::default()
                    });
                }
                if let Some(call) = self.calls.get_mut(index) {
                    if let Some(id) = id {
                        call.id = id;
                    }
                    if let Some(name) = name {
                        call.name = name;
                    }
                    call.arguments.push_str(&arguments);
                }
            }
            Part::Opaque(opaque) => self.opaque.push(opaque),
            Part::Usage(usage) => self.usage = Some(usage),
            Part::Stop(reason) => self.stop = Some(reason),
            Part::Retry { .. } => {}
        }
    }

    /// Converts the turn to a message for the next request.
    #[must_use]
    pub fn into_message(self) -> Message {
        Message::Assistant {
            text: self.text,
            reasoning: self.reasoning,
            calls: self.calls,
            opaque: self.opaque,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: usize, name: Option<&str>, arguments: &str) -> Part {
        Part::Call {
            index,
            id: None,
            name: name.map(str::to_owned),
            arguments: arguments.to_owned(),
        }
    }

    #[test]
    fn s4_7_fragments_merge_by_index() {
        let mut turn = Turn::default();
        for part in [
            Part::Reasoning("I ".into()),
            Part::Text("Let".into()),
            call(0, Some("dra"), "{\"a\""),
            call(1, Some("other"), "{}"),
            Part::Reasoning("see".into()),
            call(0, Some("draft"), ":1}"),
            Part::Text(" me".into()),
        ] {
            turn.add(part);
        }
        assert_eq!((&*turn.text, &*turn.reasoning), ("Let me", "I see"));
        let calls: Vec<_> = turn
            .calls
            .iter()
            .map(|call| (&*call.id, &*call.name, &*call.arguments))
            .collect();
        let expected = [("call_0", "draft", "{\"a\":1}"), ("call_1", "other", "{}")];
        assert_eq!(calls, expected);
    }

    #[test]
    fn an_index_makes_no_more_calls_than_there_may_be() {
        let mut turn = Turn::default();
        turn.add(call(usize::MAX, Some("x"), ""));
        assert_eq!(turn.calls, []);
    }
}
