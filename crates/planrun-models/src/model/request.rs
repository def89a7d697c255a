//! What a model is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// One request: the conversation so far, and how the model should go on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<OfferedTool>,
    pub answer: AnswerShape,
    /// Where it is missing, that of the configuration, else the server's own.
    pub temperature: Option<f64>,
    /// The most tokens of the answer, its reasoning included; missing as above.
    pub max_tokens: Option<u64>,
}

impl Request {
    /// Puts the calls of the last message in other words, those by which they were understood.
    pub fn restate(&mut self, understood: Vec<ToolCall>) {
        if let Some(Message::Assistant { calls, .. }) = self.messages.last_mut() {
            *calls = understood;
        }
    }
}

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    System {
        text: String,
    },
    User {
        text: String,
    },
    /// What the model said.
    Assistant {
        #[serde(default)]
        text: String,
        #[serde(default)]
        reasoning: String,
        #[serde(default)]
        calls: Vec<ToolCall>,
        /// The opaque parts of its answer, in their order.
        #[serde(default)]
        opaque: Vec<Json>,
    },
    /// What came of a call.
    Tool {
        /// The id of the call.
        call: String,
        /// The name of the tool.
        name: String,
        text: String,
        /// Whether the call failed.
        #[serde(default)]
        is_error: bool,
    },
}

/// A call that a model asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// As the model wrote it: JSON where it was careful.
    pub arguments: String,
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Most servers take letters, digits, `_` and `-`, at most 64.
    pub name: String,
    pub description: String,
    /// The JSON Schema of its arguments, of an object.
    pub parameters: Json,
}

/// The most characters of the name of a tool that servers take.
const MAX_NAME: usize = 64;

/// A name for a tool that servers take, and that is none of those which are taken already.
#[must_use]
pub fn offered_name(name: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let plain = name.chars().map(|found| match found {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => found,
        _ => '_',
    });
    let plain: String = plain.take(MAX_NAME).collect();
    if !is_taken(&plain) {
        return plain;
    }
    let mut number = 2_usize;
    loop {
        let ending = format!("_{number}");
        let kept = plain.len().min(MAX_NAME - ending.len());
        let numbered = format!("{}{ending}", plain.get(..kept).unwrap_or_default());
        if !is_taken(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

/// What the answer has to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerShape {
    #[default]
    Text,
    /// JSON under a schema, by what the API has for it. Servers differ in how well they keep to it: check what comes.
    Json {
        /// What the schema is called: letters, digits, `_` and `-`.
        name: String,
        schema: Json,
        /// Whether the server must keep to the schema exactly; it takes fewer schemas then.
        strict: bool,
    },
}
