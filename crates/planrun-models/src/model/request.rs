//! Requests to a model.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A request: the conversation so far, and the options for the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Request {
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<OfferedTool>,
    pub answer: AnswerShape,
    /// If missing, the temperature of the configuration, or else the server's default.
    pub temperature: Option<f64>,
    /// Maximum number of tokens of the answer, including its reasoning; defaults as for `temperature`.
    pub max_tokens: Option<u64>,
}

impl Request {
    /// Replaces the calls of the last message by the calls as they were interpreted.
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
    /// An answer of the model.
    Assistant {
        #[serde(default)]
        text: String,
        #[serde(default)]
        reasoning: String,
        #[serde(default)]
        calls: Vec<ToolCall>,
        /// The opaque parts of the answer, in order.
        #[serde(default)]
        opaque: Vec<Json>,
    },
    /// The result of a tool call.
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// The text that the model wrote, which may be invalid JSON.
    pub arguments: String,
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// Most servers accept letters, digits, `_` and `-`, at most 64.
    pub name: String,
    pub description: String,
    /// The JSON Schema of its arguments, which is that of an object.
    pub parameters: Json,
}

/// Maximum length of a tool name that servers accept, in characters.
const MAX_NAME: usize = 64;

/// Returns a name for a tool that servers accept and that is not taken yet.
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

/// The required form of the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerShape {
    #[default]
    Text,
    /// JSON that conforms to a schema, using the structured output of the API. Servers enforce it to different
    /// degrees, so the answer must be validated.
    Json {
        /// The name of the schema: letters, digits, `_` and `-`.
        name: String,
        schema: Json,
        /// Whether the server must enforce the schema exactly, in which case it supports fewer schemas.
        strict: bool,
    },
}
