//! The wire formats of model APIs: each gets the request it requires, and all of them yield the same turn.

use planrun_models::model::{
    AnswerShape, ErrorKind, Message, Model, ModelError, OfferedTool, Part, Request, StopReason,
    Turn,
};
use planrun_models::wire::Reader;
use planrun_tools::project::ModelApi;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::models::{answer, ask, double, model, parts};
use crate::support::on;

/// The formats: their names in `planrun.yaml`, and their paths.
const SHAPES: [(&str, ModelApi, &str); 3] = [
    ("chat", ModelApi::Chat, "/v1/chat/completions"),
    ("responses", ModelApi::Responses, "/v1/responses"),
    ("messages", ModelApi::Messages, "/v1/messages"),
];

/// A turn with every kind of content.
const TURN: &str = "reasoning: '好的, let me…', text: 'Zwölf 🦊 \"x\"', usage: { input: 9, output: 2, cached: 5 }, \
                    calls: [{ name: a, arguments: { t: é } }, { name: b, id: own, arguments: { n: [1, 2] } }]";

fn shaped(word: &str) -> String {
    format!(", api: {word}")
}

#[tokio::test]
async fn all_shapes_tell_the_same_turn_however_its_bytes_come() {
    let mut turns = Vec::new();
    for (word, ..) in SHAPES {
        let settings = shaped(word);
        let script = |more: &str| format!("- {{ {TURN}{more} }}");
        let whole = answer(&script(""), &settings).await.0.unwrap();
        let cuts = [
            "1",
            "3",
            "[7, 1, 64]",
            "100000",
            "{ seed: 1 }",
            "{ seed: 2 }",
        ];
        for cut in cuts {
            let turn = answer(&script(&format!(", chunks: {cut}")), &settings).await;
            assert_eq!(turn.0.unwrap(), whole, "{word}: {cut}");
        }
        let at_once = answer(&script(", stream: false, chunks: 5"), &settings).await;
        assert_eq!(at_once.0.unwrap(), whole, "{word}");
        assert_eq!(whole.opaque.is_empty(), word == "chat", "{whole:?}");
        turns.push(Turn {
            opaque: Vec::new(),
            ..whole
        });
    }
    assert_eq!(turns[0].text, "Zwölf 🦊 \"x\"");
    assert_eq!(turns[0].reasoning, "好的, let me…");
    assert_eq!(turns[0].stop, Some(StopReason::Calls));
    let usage = turns[0].usage.unwrap();
    assert_eq!((usage.input, usage.output, usage.cached), (9, 2, 5));
    assert_eq!(turns[0].calls[1].id, "own");
    assert_eq!(turns[0].calls[1].arguments, r#"{"n":[1,2]}"#);
    assert_eq!((&turns[1], &turns[2]), (&turns[0], &turns[0]));
}

/// Returns the bytes of an answer as the double sends them.
async fn bytes(turn: &str, path: &str) -> Vec<u8> {
    let double = double(turn).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}{path}", double.address());
    let body = json!({"stream": true, "stream_options": {"include_usage": true}});
    let response = client
        .post(url)
        .body(body.to_string())
        .send()
        .await
        .unwrap();
    response.bytes().await.unwrap().to_vec()
}

/// Reads bytes in pieces of these sizes, repeated cyclically. Returns the parts and the error, if any.
fn read(api: ModelApi, bytes: &[u8], sizes: &[usize]) -> (Vec<Part>, Option<ModelError>) {
    let mut reader = Reader::new(api);
    let (mut parts, mut rest) = (Vec::new(), bytes);
    let mut sizes = sizes.iter().cycle();
    let mut ended = Ok(());
    while !rest.is_empty() && ended.is_ok() {
        let (piece, behind) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
        rest = behind;
        ended = reader.add(piece, &mut parts);
    }
    let ended = ended.and_then(|()| reader.end(&mut parts));
    (parts, ended.err())
}

#[tokio::test]
async fn the_parts_are_the_same_for_every_cutting() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (word, api, path) in SHAPES {
        let more = ["", ", error: busy", ", stream: false"];
        for more in more {
            let bytes = bytes(&format!("- {{ {TURN}{more} }}"), path).await;
            let whole = read(api, &bytes, &[bytes.len()]);
            assert!(
                more == ", stream: false" || whole.0.len() > 8,
                "{word}: {whole:?}"
            );
            for at in 1..bytes.len() {
                assert_eq!(
                    read(api, &bytes, &[at, bytes.len()]),
                    whole,
                    "{word} at {at}"
                );
            }
            // If the end is missing, the parts are a prefix of the complete ones.
            for end in (0..bytes.len()).step_by(7) {
                let (begun, error) = read(api, &bytes[..end], &[11]);
                let has_stopped = begun.iter().any(|part| matches!(part, Part::Stop(_)));
                assert!(error.is_some() || has_stopped, "{word} until {end}");
                assert!(whole.0.starts_with(&begun), "{word} until {end}");
            }
            let sizes = prop::collection::vec(1..40_usize, 1..9);
            let mut runner = proptest::test_runner::TestRunner::new(on(64));
            runner
                .run(&sizes, |sizes| {
                    prop_assert_eq!(&read(api, &bytes, &sizes), &whole);
                    Ok(())
                })
                .unwrap();
        }
    }
}

#[test]
fn any_bytes_are_an_answer_or_an_error() {
    let pieces = [
        "data: ",
        "event: x\n",
        "\n\n",
        "\r",
        "{",
        "}",
        "[",
        "\"",
        "null",
        "{\"type\":\"content_block_start\"}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":99999999999}]}}]}",
        "{\"type\":\"response.completed\"}",
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"x\"}}",
        "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":7,\"delta\":\"x\"}",
        "{\"choices\":7}",
        "{\"error\":{}}",
        "[DONE]",
        ": c\n",
        "\u{feff}",
        "é",
    ];
    let text = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..30);
    let mut runner = proptest::test_runner::TestRunner::new(on(512));
    runner
        .run(&text, |text| {
            let text = text.concat();
            for (_, api, _) in SHAPES {
                let whole = read(api, text.as_bytes(), &[text.len().max(1)]);
                prop_assert_eq!(read(api, text.as_bytes(), &[1]), whole);
            }
            Ok(())
        })
        .unwrap();
}

/// Returns a conversation in which a tool was called.
fn conversation(turn: &Turn) -> Request {
    let results = turn.calls.clone().into_iter().map(|call| Message::Tool {
        call: call.id,
        name: call.name,
        text: "7 degrees".into(),
        is_error: false,
    });
    let system = Message::System {
        text: "Be brief.".into(),
    };
    let user = Message::User {
        text: "Is it cold?".into(),
    };
    let messages = [system, user, turn.clone().into_message()];
    Request {
        messages: messages.into_iter().chain(results).collect(),
        tools: vec![OfferedTool {
            name: "weather".into(),
            description: "The weather.".into(),
            parameters: json!({"type": "object"}),
        }],
        answer: AnswerShape::Json {
            name: "verdict".into(),
            schema: json!({"type": "object"}),
            strict: true,
        },
        temperature: Some(0.5),
        max_tokens: Some(99),
    }
}

/// Returns the body and the headers of the second request of a conversation.
async fn second_request(word: &str) -> (Json, std::collections::BTreeMap<String, String>) {
    let turns = "
- { reasoning: hm, text: One moment., calls: [{ name: weather, arguments: { city: Oslo } }, { name: time }] }
- { when: { user: cold, tool: degrees }, json: { cold: true }, usage: none }";
    let double = double(turns).await;
    let model = model(&double, &shaped(word));
    let turn = Turn::collect(model.answer(ask("Is it cold?")))
        .await
        .unwrap();
    let turn = Turn::collect(model.answer(conversation(&turn)))
        .await
        .unwrap();
    assert_eq!(
        (&*turn.text, turn.usage),
        (r#"{"cold":true}"#, None),
        "{word}"
    );
    assert_eq!(turn.stop, Some(StopReason::End));
    let last = double.requests().pop().unwrap();
    assert_eq!(last.key.as_deref(), Some("sk-hunter2-is-secret"), "{word}");
    (last.body, last.headers)
}

#[tokio::test]
async fn chat_is_sent_what_it_asks_for() {
    let (body, headers) = second_request("chat").await;
    assert_eq!(headers["authorization"], "[redacted]");
    assert_eq!(body["messages"].as_array().unwrap().len(), 5);
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "Be brief."})
    );
    assert_eq!(body["messages"][2]["reasoning_content"], "hm");
    assert_eq!(body["max_tokens"], 99);
    assert_eq!(
        body["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "verdict", "schema": {"type": "object"}, "strict": true}})
    );
}

#[tokio::test]
async fn responses_are_sent_what_they_ask_for() {
    let (body, headers) = second_request("responses").await;
    assert_eq!(headers["authorization"], "[redacted]");
    let summary = json!([{"type": "summary_text", "text": "hm"}]);
    let call = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments});
    let result =
        |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "7 degrees"});
    let expected = json!({
        "model": "tiny",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Is it cold?"},
            {"id": "rs_double", "type": "reasoning", "summary": summary, "encrypted_content": "sealed"},
            {"role": "assistant", "content": "One moment."},
            call("call_1", "weather", "{\"city\":\"Oslo\"}"),
            call("call_2", "time", "{}"),
            result("call_1"),
            result("call_2"),
        ],
        "stream": true,
        "store": false,
        "tools": [{"type": "function", "name": "weather", "description": "The weather.", "parameters": {"type": "object"}, "strict": false}],
        "text": {"format": {"type": "json_schema", "name": "verdict", "schema": {"type": "object"}, "strict": true}},
        "temperature": 0.5,
        "max_output_tokens": 99,
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn messages_are_sent_what_they_ask_for() {
    let (body, headers) = second_request("messages").await;
    assert_eq!(headers["x-api-key"], "[redacted]");
    assert_eq!(headers["anthropic-version"], "2023-06-01");
    assert!(!headers.contains_key("authorization"));
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "7 degrees", "is_error": false});
    let expected = json!({
        "model": "tiny",
        "max_tokens": 99,
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Is it cold?"}]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "signed"},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}},
                {"type": "tool_use", "id": "call_2", "name": "time", "input": {}},
            ]},
            {"role": "user", "content": [result("call_1"), result("call_2")]},
        ],
        "stream": true,
        "tools": [{"name": "weather", "description": "The weather.", "input_schema": {"type": "object"}}],
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
        "temperature": 0.5,
    });
    assert_eq!(body, expected);
}

/// With `messages`, the usage of the prompt comes before the failure.
#[tokio::test]
async fn a_failure_before_the_answer_begins_is_retried_in_every_shape() {
    for (word, ..) in SHAPES {
        for first in [
            "error: busy, code: overloaded_error",
            "status: 529, code: overloaded_error",
            "status: 503, code: overloaded_error",
        ] {
            let turns = format!("- {{ {first}, repeat: 2 }}\n- {{ text: Hi }}");
            let (turn, requests) = answer(&turns, &shaped(word)).await;
            let turn = turn.unwrap_or_else(|error| panic!("{word}: {first}: {error}"));
            assert_eq!((&*turn.text, requests.len()), ("Hi", 3), "{word}: {first}");
        }
        let turns = "- { text: Hel lo, error: busy, code: overloaded_error }\n- { text: Hi }";
        let (text, error) = parts(turns, &shaped(word)).await;
        assert_eq!(
            (&*text, error.map(|error| error.kind)),
            ("Hel lo", Some(ErrorKind::Unavailable)),
            "{word}: what was passed on cannot be taken back"
        );
    }
}

#[tokio::test]
async fn failures_have_their_kind_in_every_shape() {
    for (word, ..) in SHAPES {
        let settings = format!("{}, retries: 0", shaped(word));
        let cases = [
            (
                "text: Hel lo, error: busy, code: overloaded_error",
                "Hel lo",
                ErrorKind::Unavailable,
            ),
            (
                "text: Hel lo, error: slow, code: rate_limit_exceeded",
                "Hel lo",
                ErrorKind::RateLimited,
            ),
            ("raw: 'data: 7x'", "", ErrorKind::Network),
            ("raw: \"data: 7x\\n\\n\"", "", ErrorKind::Protocol),
            ("raw: '{\"id\": 1}'", "", ErrorKind::Protocol),
            ("status: 529, error: busy", "", ErrorKind::Unavailable),
            (
                "status: 400, error: 'prompt is too long'",
                "",
                ErrorKind::TooLong,
            ),
            ("status: 401", "", ErrorKind::Authentication),
        ];
        for (turn, text, kind) in cases {
            let (came, error) = parts(&format!("- {{ {turn} }}"), &settings).await;
            let error = error.unwrap();
            assert_eq!(
                (&*came, error.kind),
                (text, kind),
                "{word}: {turn}: {error}"
            );
        }
        let stops = match word {
            "chat" => [
                ("length", StopReason::Length),
                ("content_filter", StopReason::Refused),
            ],
            "responses" => [
                ("max_output_tokens", StopReason::Length),
                ("content_filter", StopReason::Refused),
            ],
            _ => [
                ("max_tokens", StopReason::Length),
                ("refusal", StopReason::Refused),
            ],
        };
        for (stop, reason) in stops {
            let turn = answer(&format!("- {{ text: Hi, stop: {stop} }}"), &settings).await;
            assert_eq!(turn.0.unwrap().stop, Some(reason), "{word}: {stop}");
        }
    }
}
