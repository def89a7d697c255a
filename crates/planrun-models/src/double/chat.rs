//! The chat completions API of the test double.

use serde_json::{Value as Json, json};

use super::event::{Event, fragments, model, text, words};
use super::requests::RequestSummary;
use super::script::{Answer, Failure};
use crate::model::Usage;

pub(super) fn parse_request(body: &Json) -> RequestSummary {
    let messages = body.get("messages").and_then(Json::as_array);
    let messages = messages.map(Vec::as_slice).unwrap_or_default();
    let role = |message: &Json, role: &str| message.get("role").is_some_and(|own| own == role);
    let user = messages.iter().rfind(|message| role(message, "user"));
    let tool = messages.last().filter(|message| role(message, "tool"));
    let content = |message: &Json| text(message.get("content"));
    RequestSummary {
        user: user.map(content).unwrap_or_default(),
        tool: tool.map(content),
        streams: body.get("stream") == Some(&Json::Bool(true)),
    }
}

/// Returns the streamed events of an answer.
pub(super) fn events(answer: &Answer, body: &Json) -> Vec<Event> {
    let head = |choices: Json| {
        json!({
            "id": "double",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": model(body),
            "choices": choices,
        })
    };
    let choice = |delta: Json, reason: Json| {
        head(json!([{"index": 0, "delta": delta, "finish_reason": reason}]))
    };
    let token = |delta: Json| Event::data(&choice(delta, Json::Null)).token();
    let begin = json!({"role": "assistant", "content": ""});
    let mut events = vec![Event::data(&choice(begin, Json::Null))];
    let reasoning = words(&answer.reasoning);
    events.extend(reasoning.map(|word| token(json!({"reasoning_content": word}))));
    events.extend(words(&answer.text).map(|word| token(json!({"content": word}))));
    for (index, call) in answer.calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let begin =
            json!({"index": index, "id": call.id, "type": "function", "function": function});
        events.push(token(json!({"tool_calls": [begin]})));
        for fragment in fragments(&call.arguments) {
            let more = json!({"index": index, "function": {"arguments": fragment}});
            events.push(token(json!({"tool_calls": [more]})));
        }
    }
    if let Some(error) = &answer.failure {
        events.push(Event::data(&failure(error, 500)));
        return events;
    }
    events.push(Event::data(&choice(json!({}), stop(answer).into())));
    let asks = body.pointer("/stream_options/include_usage") == Some(&Json::Bool(true));
    if let Some(used) = answer.usage(body).filter(|_| asks) {
        let mut last = head(json!([]));
        last["usage"] = usage(&used);
        events.push(Event::data(&last));
    }
    events.push(Event {
        text: "data: [DONE]\n\n".to_owned(),
        is_token: false,
    });
    events
}

/// Returns the answer as one JSON document.
pub(super) fn whole(answer: &Answer, body: &Json) -> Json {
    let calls = answer.calls.iter().map(|call| {
        let function = json!({"name": call.name, "arguments": call.arguments});
        json!({"id": call.id, "type": "function", "function": function})
    });
    let calls: Vec<Json> = calls.collect();
    let text = Some(&answer.text).filter(|text| !text.is_empty() || calls.is_empty());
    let mut message = json!({"role": "assistant", "content": text, "refusal": null});
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if !answer.reasoning.is_empty() {
        message["reasoning_content"] = answer.reasoning.as_str().into();
    }
    let choice = json!({
        "index": 0,
        "message": message,
        "finish_reason": stop(answer),
        "logprobs": null,
    });
    let mut whole = json!({
        "id": "double",
        "object": "chat.completion",
        "created": 0,
        "model": model(body),
        "choices": [choice],
    });
    if let Some(used) = answer.usage(body) {
        whole["usage"] = usage(&used);
    }
    whole
}

/// Returns the body of an error response with this status.
pub(super) fn failure(failure: &Failure, status: u16) -> Json {
    let kind = match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let message = failure.message.as_deref();
    let message = message.unwrap_or("an error from the script of this double");
    json!({"error": {"message": message, "type": kind, "param": null, "code": failure.code}})
}

fn stop(answer: &Answer) -> &str {
    let natural = if answer.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    answer.stop.as_deref().unwrap_or(natural)
}

fn usage(usage: &Usage) -> Json {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    })
}
