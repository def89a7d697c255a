//! The responses API of the test double.

use serde_json::{Value as Json, json};

use super::event::{Event, fragments, model, text, words};
use super::requests::RequestSummary;
use super::script::{Answer, Failure};
use crate::model::Usage;

pub(super) fn parse_request(body: &Json) -> RequestSummary {
    let streams = body.get("stream") == Some(&Json::Bool(true));
    let input = body.get("input");
    let Some(items) = input.and_then(Json::as_array) else {
        return RequestSummary {
            user: text(input),
            tool: None,
            streams,
        };
    };
    let is = |item: &Json, key: &str, value: &str| item.get(key).is_some_and(|own| own == value);
    let user = items.iter().rfind(|item| is(item, "role", "user"));
    let tool = items.last();
    let tool = tool.filter(|item| is(item, "type", "function_call_output"));
    RequestSummary {
        user: user
            .map(|item| text(item.get("content")))
            .unwrap_or_default(),
        tool: tool.map(|item| text(item.get("output"))),
        streams,
    }
}

/// Returns the streamed events of an answer.
pub(super) fn events(answer: &Answer, body: &Json) -> Vec<Event> {
    let begun = response("in_progress", &[], None, body);
    let mut events: Vec<(Json, bool)> = vec![
        (
            json!({"type": "response.created", "response": begun}),
            false,
        ),
        (
            json!({"type": "response.in_progress", "response": begun}),
            false,
        ),
    ];
    let items = items(answer);
    for (place, (item, empty)) in items.iter().enumerate() {
        let added =
            json!({"type": "response.output_item.added", "output_index": place, "item": empty});
        events.push((added, false));
        let id = item["id"].clone();
        match item["type"].as_str() {
            Some("reasoning") => reasoning(&answer.reasoning, place, &id, &mut events),
            Some("message") => message(&answer.text, place, &id, &mut events),
            Some(_) | None => call(item["arguments"].as_str(), place, &id, &mut events),
        }
        if answer.failure.is_none() {
            let done =
                json!({"type": "response.output_item.done", "output_index": place, "item": item});
            events.push((done, false));
        }
    }
    events.push((last(answer, items, body), false));
    let numbered = events
        .into_iter()
        .enumerate()
        .map(|(number, (mut data, is_token))| {
            data["sequence_number"] = number.into();
            let event = Event::named(&data);
            if is_token { event.token() } else { event }
        });
    numbered.collect()
}

/// Returns the event that ends an answer.
fn last(answer: &Answer, items: Vec<(Json, Json)>, body: &Json) -> Json {
    if let Some(Failure { message, code }) = &answer.failure {
        return json!({"type": "error", "code": code, "message": message, "param": null});
    }
    let items: Vec<Json> = items.into_iter().map(|(item, _)| item).collect();
    let response = response(status(answer), &items, Some(answer), body);
    let kind = format!("response.{}", status(answer));
    json!({"type": kind, "response": response})
}

/// Returns the answer as one JSON document.
pub(super) fn whole(answer: &Answer, body: &Json) -> Json {
    let items: Vec<Json> = items(answer).into_iter().map(|(item, _)| item).collect();
    response(status(answer), &items, Some(answer), body)
}

fn reasoning(text: &str, place: usize, id: &Json, events: &mut Vec<(Json, bool)>) {
    let of = |kind: &str, key: &str, value: Json| {
        json!({
            "type": format!("response.reasoning_summary_{kind}"),
            "item_id": id,
            "output_index": place,
            "summary_index": 0,
            key: value,
        })
    };
    let part = |text: &str| json!({"type": "summary_text", "text": text});
    events.push((of("part.added", "part", part("")), false));
    let deltas = words(text).map(|word| (of("text.delta", "delta", word.into()), true));
    events.extend(deltas);
    events.push((of("text.done", "text", text.into()), false));
    events.push((of("part.done", "part", part(text)), false));
}

fn message(text: &str, place: usize, id: &Json, events: &mut Vec<(Json, bool)>) {
    let of = |kind: &str, key: &str, value: Json| {
        json!({
            "type": format!("response.{kind}"),
            "item_id": id,
            "output_index": place,
            "content_index": 0,
            key: value,
        })
    };
    events.push((of("content_part.added", "part", output_text("")), false));
    for word in words(text) {
        let mut delta = of("output_text.delta", "delta", word.into());
        delta["logprobs"] = json!([]);
        events.push((delta, true));
    }
    let mut done = of("output_text.done", "text", text.into());
    done["logprobs"] = json!([]);
    events.push((done, false));
    events.push((of("content_part.done", "part", output_text(text)), false));
}

fn call(arguments: Option<&str>, place: usize, id: &Json, events: &mut Vec<(Json, bool)>) {
    let arguments = arguments.unwrap_or_default();
    let of = |kind: &str, key: &str, value: &str| {
        json!({
            "type": format!("response.function_call_arguments.{kind}"),
            "item_id": id,
            "output_index": place,
            key: value,
        })
    };
    let deltas = fragments(arguments).into_iter();
    events.extend(deltas.map(|fragment| (of("delta", "delta", &fragment), true)));
    events.push((of("done", "arguments", arguments), false));
}

/// Returns the items of an answer, each complete and as it starts.
fn items(answer: &Answer) -> Vec<(Json, Json)> {
    let mut items = Vec::new();
    if !answer.reasoning.is_empty() {
        let of = |summary: Json, sealed: &str| json!({"id": "rs_double", "type": "reasoning", "summary": summary, "encrypted_content": sealed});
        let summary = json!([{"type": "summary_text", "text": answer.reasoning}]);
        items.push((of(summary, "sealed"), of(json!([]), "")));
    }
    if !answer.text.is_empty() {
        let of = |status: &str, content: Json| {
            json!({
                "id": "msg_double",
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": content,
            })
        };
        let content = json!([output_text(&answer.text)]);
        items.push((of("completed", content), of("in_progress", json!([]))));
    }
    for one in &answer.calls {
        let of = |status: &str, arguments: &str| {
            json!({
                "id": format!("fc_{}", one.id),
                "type": "function_call",
                "call_id": one.id,
                "name": one.name,
                "status": status,
                "arguments": arguments,
            })
        };
        items.push((of("completed", &one.arguments), of("in_progress", "")));
    }
    items
}

fn output_text(text: &str) -> Json {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn response(status: &str, items: &[Json], answer: Option<&Answer>, body: &Json) -> Json {
    let cut = (status == "incomplete")
        .then(|| json!({"reason": answer.and_then(|one| one.stop.as_ref())}));
    let used = answer.and_then(|answer| answer.usage(body));
    json!({
        "id": "resp_double",
        "object": "response",
        "created_at": 0,
        "model": model(body),
        "status": status,
        "error": null,
        "incomplete_details": cut,
        "instructions": body.get("instructions"),
        "metadata": {},
        "output": items,
        "parallel_tool_calls": true,
        "temperature": body.get("temperature"),
        "text": body.get("text"),
        "tool_choice": "auto",
        "tools": body.get("tools").cloned().unwrap_or_else(|| json!([])),
        "top_p": null,
        "usage": used.as_ref().map(usage),
    })
}

/// Returns the status of an answer: one with a `stop` is incomplete.
fn status(answer: &Answer) -> &'static str {
    if answer.stop.is_some() {
        "incomplete"
    } else {
        "completed"
    }
}

fn usage(usage: &Usage) -> Json {
    json!({
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    })
}
