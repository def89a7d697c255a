//! The responses API of `OpenAI`: items of input and output, and named events. Nothing is stored on the server.

use serde_json::{Map, Value as Json, json};

use super::fault::{in_stream, unreadable};
use super::{Addressee, Decoder};
use crate::model::{
    AnswerShape, MAX_CALLS, Message, ModelError, OfferedTool, Part, Request, StopReason, Usage,
};

pub(super) fn body(addressee: Addressee, request: &Request) -> Json {
    let mut body = Map::new();
    body.insert("model".into(), addressee.model.into());
    let input = request.messages.iter().flat_map(items);
    body.insert("input".into(), input.collect());
    body.insert("stream".into(), true.into());
    body.insert("store".into(), false.into());
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    if let AnswerShape::Json {
        name,
        schema,
        strict,
    } = &request.answer
    {
        let format =
            json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict});
        body.insert("text".into(), json!({"format": format}));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        body.insert("max_output_tokens".into(), most.into());
    }
    Json::Object(body)
}

/// Returns the items of a message: one, or several for an answer of the model.
fn items(message: &Message) -> Vec<Json> {
    match message {
        Message::System { text } => vec![json!({"role": "system", "content": text})],
        Message::User { text } => vec![json!({"role": "user", "content": text})],
        Message::Tool { call, text, .. } => {
            vec![json!({"type": "function_call_output", "call_id": call, "output": text})]
        }
        Message::Assistant {
            text,
            calls,
            opaque,
            ..
        } => {
            let own = |item: &&Json| item.get("type").is_some_and(|kind| kind == "reasoning");
            let mut items: Vec<Json> = opaque.iter().filter(own).cloned().collect();
            if !text.is_empty() {
                items.push(json!({"role": "assistant", "content": text}));
            }
            items.extend(calls.iter().map(|call| {
                json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                })
            }));
            items
        }
    }
}

fn tool(tool: &OfferedTool) -> Json {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": false,
    })
}

/// Decodes the events of one answer.
#[derive(Default)]
pub(super) struct ResponsesDecoder {
    /// The calls in the order in which they started: the output index of each, and whether any arguments have
    /// arrived.
    calls: Vec<(u64, bool)>,
    refused: bool,
    done: bool,
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, data: &[u8], parts: &mut Vec<Part>) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if data.is_empty() || data == b"[DONE]" {
            return Ok(());
        }
        let event: Json = serde_json::from_slice(data)
            .map_err(|_| unreadable("an event of its answer is not valid JSON", data))?;
        let kind = event.get("type").and_then(Json::as_str).unwrap_or_default();
        let delta = || {
            event
                .get("delta")
                .and_then(Json::as_str)
                .unwrap_or_default()
        };
        let place = event
            .get("output_index")
            .and_then(Json::as_u64)
            .unwrap_or(0);
        let item = event.get("item").unwrap_or(&Json::Null);
        match kind {
            "response.output_text.delta" => parts.push(Part::Text(delta().to_owned())),
            "response.refusal.delta" => {
                self.refused = true;
                parts.push(Part::Text(delta().to_owned()));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                parts.push(Part::Reasoning(delta().to_owned()));
            }
            "response.output_item.added" if is(item, "function_call") => {
                // Arguments that are already present here are repeated by later events.
                parts.push(self.begin(place, item, ""));
            }
            "response.function_call_arguments.delta" => {
                parts.push(self.fragment(place, delta()));
            }
            "response.output_item.done" => self.item_done(place, item, parts),
            "response.completed" | "response.incomplete" => {
                self.end_with(event.get("response").unwrap_or(&Json::Null), parts);
            }
            "response.failed" => return Err(in_stream(event.get("response").unwrap_or(&event))),
            "error" => return Err(in_stream(&event)),
            // Events that repeat the content of others, and events of tools that the server runs.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Json, parts: &mut Vec<Part>) -> Result<(), ModelError> {
        if body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(in_stream(body));
        }
        let Some(output) = body.get("output").and_then(Json::as_array) else {
            let text = body.to_string();
            return Err(unreadable("its answer has no `output`", text.as_bytes()));
        };
        for (place, item) in output.iter().enumerate() {
            for field in ["summary", "content"] {
                let texts = item.get(field).and_then(Json::as_array);
                for part in texts.into_iter().flatten() {
                    self.add_content(part, parts);
                }
            }
            self.item_done(place as u64, item, parts);
        }
        self.end_with(body, parts);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn end(&mut self, _: &mut Vec<Part>) -> bool {
        false
    }
}

impl ResponsesDecoder {
    /// Adds a part of an item of an answer that is not streamed.
    fn add_content(&mut self, part: &Json, parts: &mut Vec<Part>) {
        let text = |name: &str| part.get(name).and_then(Json::as_str).map(str::to_owned);
        match part.get("type").and_then(Json::as_str) {
            Some("output_text") => parts.extend(text("text").map(Part::Text)),
            Some("refusal") => {
                self.refused = true;
                parts.extend(text("refusal").map(Part::Text));
            }
            Some("summary_text" | "reasoning_text") => {
                parts.extend(text("text").map(Part::Reasoning));
            }
            Some(_) | None => {}
        }
    }

    fn begin(&mut self, place: u64, item: &Json, arguments: &str) -> Part {
        let text = |name: &str| item.get(name).and_then(Json::as_str).map(str::to_owned);
        let index = self.calls.len();
        // The reader rejects calls beyond the maximum.
        if index < MAX_CALLS {
            self.calls.push((place, !arguments.is_empty()));
        }
        Part::Call {
            index,
            id: text("call_id").or_else(|| text("id")),
            name: text("name"),
            arguments: arguments.to_owned(),
        }
    }

    fn fragment(&mut self, place: u64, arguments: &str) -> Part {
        let known = self.calls.iter().rposition(|(own, _)| *own == place);
        let Some(index) = known else {
            return self.begin(place, &Json::Null, arguments);
        };
        if let Some((_, has_arguments)) = self.calls.get_mut(index) {
            *has_arguments = true;
        }
        Part::Call {
            index,
            id: None,
            name: None,
            arguments: arguments.to_owned(),
        }
    }

    /// Ends an item: its reasoning is kept for the next request, and a call that did not arrive in fragments is
    /// added.
    fn item_done(&mut self, place: u64, item: &Json, parts: &mut Vec<Part>) {
        let is_sealed = item.get("encrypted_content").is_some_and(Json::is_string);
        if is(item, "reasoning") && is_sealed {
            parts.push(Part::Opaque(item.clone()));
        }
        if !is(item, "function_call") {
            return;
        }
        let arguments = item
            .get("arguments")
            .and_then(Json::as_str)
            .unwrap_or_default();
        match self.calls.iter().find(|(own, _)| *own == place) {
            None => parts.push(self.begin(place, item, arguments)),
            Some((_, false)) if !arguments.is_empty() => {
                parts.push(self.fragment(place, arguments));
            }
            Some(_) => {}
        }
    }

    fn end_with(&mut self, response: &Json, parts: &mut Vec<Part>) {
        self.done = true;
        parts.extend(response.get("usage").and_then(usage).map(Part::Usage));
        let cut = response.pointer("/incomplete_details/reason");
        parts.push(Part::Stop(match cut.and_then(Json::as_str) {
            Some("max_output_tokens") => StopReason::Length,
            Some("content_filter") => StopReason::Refused,
            Some(other) => StopReason::Other(other.to_owned()),
            None if self.refused => StopReason::Refused,
            None if self.calls.is_empty() => StopReason::End,
            None => StopReason::Calls,
        }));
    }
}

fn is(item: &Json, kind: &str) -> bool {
    item.get("type").is_some_and(|own| own == kind)
}

fn usage(json: &Json) -> Option<Usage> {
    let count = |path: &str| json.pointer(path).and_then(Json::as_u64);
    Some(Usage {
        input: count("/input_tokens")?,
        output: count("/output_tokens").unwrap_or(0),
        cached: count("/input_tokens_details/cached_tokens").unwrap_or(0),
    })
}
