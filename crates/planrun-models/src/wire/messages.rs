//! The messages API of `Anthropic`: content is in blocks, and signed reasoning has to be sent back.

use serde_json::{Map, Value as Json, json};

use super::fault::{in_stream, unreadable};
use super::{Addressee, Decoder};
use crate::model::{
    AnswerShape, MAX_CALLS, Message, ModelError, OfferedTool, Part, Request, StopReason, ToolCall,
    Usage,
};

/// Maximum number of tokens of an answer if none is configured: this API requires a value.
const MAX_TOKENS: u64 = 8192;

pub(super) fn body(addressee: Addressee, request: &Request) -> Json {
    let mut body = Map::new();
    body.insert("model".into(), addressee.model.into());
    let most = request.max_tokens.unwrap_or(MAX_TOKENS);
    body.insert("max_tokens".into(), most.into());
    let system = request.messages.iter().filter_map(|message| match message {
        Message::System { text } => Some(text.as_str()),
        Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    let system: Vec<&str> = system.collect();
    if !system.is_empty() {
        body.insert("system".into(), system.join("\n\n").into());
    }
    body.insert("messages".into(), messages(&request.messages).into());
    body.insert("stream".into(), true.into());
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    if let AnswerShape::Json { schema, .. } = &request.answer {
        let format = json!({"type": "json_schema", "schema": schema});
        body.insert("output_config".into(), json!({"format": format}));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    Json::Object(body)
}

/// Converts the messages to turns. Consecutive messages of the same role are merged, since all results of calls have
/// to be in the message after them.
fn messages(messages: &[Message]) -> Vec<Json> {
    let mut turns: Vec<(&str, Vec<Json>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::System { .. } => continue,
            Message::User { text } => ("user", vec![json!({"type": "text", "text": text})]),
            Message::Tool {
                call,
                text,
                is_error,
                ..
            } => {
                let result = json!({
                    "type": "tool_result",
                    "tool_use_id": call,
                    "content": text,
                    "is_error": is_error,
                });
                ("user", vec![result])
            }
            Message::Assistant {
                text,
                calls,
                opaque,
                ..
            } => ("assistant", assistant_blocks(text, calls, opaque)),
        };
        match turns.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            Some(_) | None => turns.push((role, blocks)),
        }
    }
    let turns = turns.into_iter().filter(|(_, content)| !content.is_empty());
    turns
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect()
}

fn assistant_blocks(text: &str, calls: &[ToolCall], opaque: &[Json]) -> Vec<Json> {
    let own = |block: &&Json| is(block, "thinking") || is(block, "redacted_thinking");
    let mut blocks: Vec<Json> = opaque.iter().filter(own).cloned().collect();
    if !text.is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks.extend(calls.iter().map(|call| {
        let input = serde_json::from_str::<Map<String, Json>>(&call.arguments);
        let input = input.unwrap_or_default();
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    }));
    blocks
}

fn tool(tool: &OfferedTool) -> Json {
    json!({
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.parameters,
    })
}

/// Decodes the events of one answer.
#[derive(Default)]
pub(super) struct MessagesDecoder {
    block: Block,
    calls: usize,
    usage: TokenCounts,
    stopped: bool,
    done: bool,
}

/// The block being written; there is at most one at a time.
#[derive(Default)]
enum Block {
    #[default]
    Other,
    Thinking {
        thinking: String,
        signature: String,
    },
    Call(usize),
}

/// The token counts reported so far.
#[derive(Default)]
struct TokenCounts {
    input: Option<u64>,
    written: u64,
    cached: u64,
    output: u64,
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, data: &[u8], parts: &mut Vec<Part>) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if data.is_empty() {
            return Ok(());
        }
        let event: Json = serde_json::from_slice(data)
            .map_err(|_| unreadable("an event of its answer is not valid JSON", data))?;
        match event.get("type").and_then(Json::as_str).unwrap_or_default() {
            "message_start" => self.used(event.pointer("/message/usage"), parts),
            "content_block_start" => {
                self.begin(event.get("content_block").unwrap_or(&Json::Null), parts);
            }
            "content_block_delta" => {
                self.delta(event.get("delta").unwrap_or(&Json::Null), parts);
            }
            "content_block_stop" => self.end_block(parts),
            "message_delta" => {
                self.used(event.get("usage"), parts);
                self.stop(event.pointer("/delta/stop_reason"), parts);
            }
            "message_stop" => self.done = true,
            "error" => return Err(in_stream(&event)),
            // A ping, or an event added in a later version of the API.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Json, parts: &mut Vec<Part>) -> Result<(), ModelError> {
        if is(body, "error") {
            return Err(in_stream(body));
        }
        let Some(content) = body.get("content").and_then(Json::as_array) else {
            let text = body.to_string();
            return Err(unreadable("its answer has no `content`", text.as_bytes()));
        };
        for block in content {
            self.begin(block, parts);
            if let (Block::Call(_), Some(input)) = (&self.block, block.get("input")) {
                let fragment = self.fragment(&input.to_string());
                parts.extend(fragment);
            }
            self.end_block(parts);
        }
        self.used(body.get("usage"), parts);
        self.stop(body.get("stop_reason"), parts);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn end(&mut self, _: &mut Vec<Part>) -> bool {
        self.stopped
    }
}

impl MessagesDecoder {
    /// Starts a block, which may already have content.
    fn begin(&mut self, block: &Json, parts: &mut Vec<Part>) {
        let text = |name: &str| block.get(name).and_then(Json::as_str).unwrap_or_default();
        self.block = match block.get("type").and_then(Json::as_str) {
            Some("thinking") => Block::Thinking {
                thinking: text("thinking").to_owned(),
                signature: text("signature").to_owned(),
            },
            Some("tool_use") => {
                let index = self.calls;
                self.calls = MAX_CALLS.min(index + 1);
                parts.push(Part::Call {
                    index,
                    id: Some(text("id").to_owned()),
                    name: Some(text("name").to_owned()),
                    arguments: String::new(),
                });
                Block::Call(index)
            }
            Some("redacted_thinking") => {
                parts.push(Part::Opaque(block.clone()));
                Block::Other
            }
            Some(_) | None => Block::Other,
        };
        let kinds = [
            ("text", Part::Text as fn(String) -> Part),
            ("thinking", Part::Reasoning),
        ];
        for (name, part) in kinds.into_iter().filter(|(name, _)| is(block, name)) {
            parts.extend(
                Some(text(name))
                    .filter(|text| !text.is_empty())
                    .map(|text| part(text.to_owned())),
            );
        }
    }

    fn delta(&mut self, delta: &Json, parts: &mut Vec<Part>) {
        let text = |name: &str| delta.get(name).and_then(Json::as_str).unwrap_or_default();
        match delta.get("type").and_then(Json::as_str) {
            Some("text_delta") => parts.push(Part::Text(text("text").to_owned())),
            Some("thinking_delta") => {
                if let Block::Thinking { thinking, .. } = &mut self.block {
                    thinking.push_str(text("thinking"));
                }
                parts.push(Part::Reasoning(text("thinking").to_owned()));
            }
            Some("signature_delta") => {
                if let Block::Thinking { signature, .. } = &mut self.block {
                    text("signature").clone_into(signature);
                }
            }
            Some("input_json_delta") => parts.extend(self.fragment(text("partial_json"))),
            Some(_) | None => {}
        }
    }

    /// Returns a fragment of the arguments of the current call; `None` if the current block is not a call.
    fn fragment(&self, arguments: &str) -> Option<Part> {
        match self.block {
            Block::Call(index) => Some(Part::Call {
                index,
                id: None,
                name: None,
                arguments: arguments.to_owned(),
            }),
            Block::Other | Block::Thinking { .. } => None,
        }
    }

    fn end_block(&mut self, parts: &mut Vec<Part>) {
        match std::mem::take(&mut self.block) {
            Block::Thinking {
                thinking,
                signature,
            } if !signature.is_empty() => parts.push(Part::Opaque(json!({
                "type": "thinking",
                "thinking": thinking,
                "signature": signature,
            }))),
            Block::Thinking { .. } | Block::Call(_) | Block::Other => {}
        }
    }

    /// Updates the token counts. Each reported count is a running total; a missing one is unchanged.
    fn used(&mut self, usage: Option<&Json>, parts: &mut Vec<Part>) {
        let count = |name: &str| usage?.get(name)?.as_u64();
        let counts = &mut self.usage;
        counts.input = count("input_tokens").or(counts.input);
        counts.written = count("cache_creation_input_tokens").unwrap_or(counts.written);
        counts.cached = count("cache_read_input_tokens").unwrap_or(counts.cached);
        counts.output = count("output_tokens").unwrap_or(counts.output);
        if let (Some(input), Some(_)) = (counts.input, usage) {
            parts.push(Part::Usage(Usage {
                input: input
                    .saturating_add(counts.written)
                    .saturating_add(counts.cached),
                output: counts.output,
                cached: counts.cached,
            }));
        }
    }

    fn stop(&mut self, reason: Option<&Json>, parts: &mut Vec<Part>) {
        let Some(reason) = reason.and_then(Json::as_str) else {
            return;
        };
        self.stopped = true;
        parts.push(Part::Stop(match reason {
            "end_turn" | "stop_sequence" => StopReason::End,
            "tool_use" => StopReason::Calls,
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => StopReason::Refused,
            other => StopReason::Other(other.to_owned()),
        }));
    }
}

fn is(block: &Json, kind: &str) -> bool {
    block.get("type").is_some_and(|own| own == kind)
}
