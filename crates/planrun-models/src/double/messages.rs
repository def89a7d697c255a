//! The messages API of the test double.

use serde_json::{Map, Value as Json, json};

use super::event::{Event, fragments, model, text, words};
use super::requests::RequestSummary;
use super::script::{Answer, Failure};
use crate::model::{ToolCall, Usage};

/// Parses the request. Results of tools are in messages of the user.
pub(super) fn parse_request(body: &Json) -> RequestSummary {
    let messages = body.get("messages").and_then(Json::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let of_user = |message: &&Json| message.get("role").is_some_and(|role| role == "user");
    let texts = messages.iter().filter(of_user).rev();
    let mut texts = texts.map(|message| text(message.get("content")));
    let content = messages.last().and_then(|message| message.get("content"));
    let result = content
        .and_then(Json::as_array)
        .and_then(|blocks| blocks.last());
    let result = result.filter(|block| block.get("type").is_some_and(|kind| kind == "tool_result"));
    RequestSummary {
        user: texts.find(|text| !text.is_empty()).unwrap_or_default(),
        tool: result.map(|block| text(block.get("content"))),
        streams: body.get("stream") == Some(&Json::Bool(true)),
    }
}

/// Returns the streamed events of an answer.
pub(super) fn events(answer: &Answer, body: &Json) -> Vec<Event> {
    let used = answer.usage(body);
    let begun = message(
        &[],
        None,
        used.map(|usage| Usage { output: 0, ..usage }),
        body,
    );
    let mut events = vec![
        Event::named(&json!({"type": "message_start", "message": begun})),
        Event::named(&json!({"type": "ping"})),
    ];
    let blocks = blocks(answer);
    for (index, Block { empty, deltas, .. }) in blocks.iter().enumerate() {
        let start = json!({"type": "content_block_start", "index": index, "content_block": empty});
        events.push(Event::named(&start));
        events.extend(deltas.iter().map(|delta| {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            Event::named(&data).token()
        }));
        if answer.failure.is_none() {
            let end = json!({"type": "content_block_stop", "index": index});
            events.push(Event::named(&end));
        }
    }
    if let Some(error) = &answer.failure {
        events.push(Event::named(&failure(error, 500)));
        return events;
    }
    let delta = json!({"stop_reason": stop(answer), "stop_sequence": null});
    let mut last = json!({"type": "message_delta", "delta": delta});
    if let Some(used) = used {
        last["usage"] = json!({"output_tokens": used.output});
    }
    events.push(Event::named(&last));
    events.push(Event::named(&json!({"type": "message_stop"})));
    events
}

/// Returns the answer as one JSON document.
pub(super) fn whole(answer: &Answer, body: &Json) -> Json {
    let blocks: Vec<Json> = blocks(answer)
        .into_iter()
        .map(|block| block.whole)
        .collect();
    message(&blocks, Some(stop(answer)), answer.usage(body), body)
}

/// Returns the body of an error response with this status.
pub(super) fn failure(failure: &Failure, status: u16) -> Json {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    let kind = failure.code.as_deref().unwrap_or(kind);
    let message = failure.message.as_deref();
    let message = message.unwrap_or("an error from the script of this double");
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "double"})
}

/// A block of an answer: its start, its deltas, and the complete block.
struct Block {
    empty: Json,
    deltas: Vec<Json>,
    whole: Json,
}

fn blocks(answer: &Answer) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !answer.reasoning.is_empty() {
        let of = |text: &str, signature: &str| json!({"type": "thinking", "thinking": text, "signature": signature});
        let deltas = words(&answer.reasoning);
        let deltas = deltas.map(|word| json!({"type": "thinking_delta", "thinking": word}));
        let signature = json!({"type": "signature_delta", "signature": "signed"});
        blocks.push(Block {
            empty: of("", ""),
            deltas: deltas.chain([signature]).collect(),
            whole: of(&answer.reasoning, "signed"),
        });
    }
    if !answer.text.is_empty() {
        let of = |text: &str| json!({"type": "text", "text": text, "citations": null});
        let deltas = words(&answer.text).map(|word| json!({"type": "text_delta", "text": word}));
        blocks.push(Block {
            empty: of(""),
            deltas: deltas.collect(),
            whole: of(&answer.text),
        });
    }
    blocks.extend(answer.calls.iter().map(call));
    blocks
}

fn call(call: &ToolCall) -> Block {
    let of = |input: Map<String, Json>| {
        json!({
            "type": "tool_use",
            "id": call.id,
            "name": call.name,
            "input": input,
            "caller": {"type": "direct"},
        })
    };
    let deltas = fragments(&call.arguments).into_iter();
    let deltas = deltas.map(|json| json!({"type": "input_json_delta", "partial_json": json}));
    Block {
        empty: of(Map::new()),
        deltas: deltas.collect(),
        // Arguments that are not an object cannot be represented in a complete block.
        whole: of(serde_json::from_str(&call.arguments).unwrap_or_default()),
    }
}

fn message(content: &[Json], stop: Option<&str>, used: Option<Usage>, body: &Json) -> Json {
    let mut message = json!({
        "id": "msg_double",
        "type": "message",
        "role": "assistant",
        "model": model(body),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
    });
    if let Some(used) = used {
        message["usage"] = json!({
            "input_tokens": used.input.saturating_sub(used.cached),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": used.cached,
            "output_tokens": used.output,
        });
    }
    message
}

fn stop(answer: &Answer) -> &str {
    let natural = if answer.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    answer.stop.as_deref().unwrap_or(natural)
}
