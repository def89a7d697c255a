//! The chat completions API of `OpenAI`, including the variants of other servers.

use serde_json::{Map, Value as Json, json};

use super::fault::{in_stream, unreadable};
use super::{Addressee, Decoder};
use crate::model::{
    AnswerShape, MAX_CALLS, Message, ModelError, OfferedTool, Part, Request, StopReason, ToolCall,
    Usage,
};

/// The host of the only server that names the token limit `max_completion_tokens`: its newer models reject
/// `max_tokens`, which is the only name that other servers know.
const OPENAI: &str = "api.openai.com";

pub(super) fn body(addressee: Addressee, request: &Request) -> Json {
    let mut body = Map::new();
    body.insert("model".into(), addressee.model.into());
    let messages = request.messages.iter().map(message);
    body.insert("messages".into(), messages.collect());
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    if !request.tools.is_empty() {
        body.insert("tools".into(), request.tools.iter().map(tool).collect());
    }
    if let AnswerShape::Json {
        name,
        schema,
        strict,
    } = &request.answer
    {
        let schema = json!({"name": name, "schema": schema, "strict": strict});
        let format = json!({"type": "json_schema", "json_schema": schema});
        body.insert("response_format".into(), format);
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".into(), temperature.into());
    }
    if let Some(most) = request.max_tokens {
        let name = match addressee.endpoint.host_str() {
            Some(OPENAI) => "max_completion_tokens",
            Some(_) | None => "max_tokens",
        };
        body.insert(name.into(), most.into());
    }
    Json::Object(body)
}

fn message(message: &Message) -> Json {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Tool {
            call, name, text, ..
        } => json!({"role": "tool", "tool_call_id": call, "name": name, "content": text}),
        Message::Assistant {
            text,
            reasoning,
            calls,
            ..
        } => {
            let content = Some(text).filter(|text| !text.is_empty() || calls.is_empty());
            let mut message = json!({"role": "assistant", "content": content});
            if !calls.is_empty() {
                message["tool_calls"] = calls.iter().map(call).collect();
                // Servers that return their reasoning require it back between calls and their results; others never
                // receive this field.
                if !reasoning.is_empty() {
                    message["reasoning_content"] = reasoning.as_str().into();
                }
            }
            message
        }
    }
}

fn call(call: &ToolCall) -> Json {
    let function = json!({"name": call.name, "arguments": call.arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

fn tool(tool: &OfferedTool) -> Json {
    json!({"type": "function", "function": {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }})
}

/// Decodes the events of one answer.
#[derive(Default)]
pub(super) struct ChatDecoder {
    /// The calls, in the order in which they started.
    calls: Vec<StartedCall>,
    /// Index of the call of the last fragment.
    last: usize,
    stopped: bool,
    done: bool,
    /// Whether the model has refused.
    refused: bool,
}

/// A call of which a fragment has arrived.
struct StartedCall {
    /// The index that the server gives it.
    key: u64,
    id: Option<String>,
}

impl Decoder for ChatDecoder {
    fn event(&mut self, data: &[u8], parts: &mut Vec<Part>) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if data == b"[DONE]" {
            self.done = true;
            self.add_missing_stop(parts);
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        let chunk: Json = serde_json::from_slice(data)
            .map_err(|_| unreadable("an event of its answer is not valid JSON", data))?;
        self.read(&chunk, "delta", parts)
    }

    fn whole(&mut self, body: &Json, parts: &mut Vec<Part>) -> Result<(), ModelError> {
        if body
            .get("choices")
            .is_none_or(|choices| !choices.is_array())
            && !has_error(body)
        {
            let text = body.to_string();
            return Err(unreadable("its answer has no `choices`", text.as_bytes()));
        }
        self.read(body, "message", parts)?;
        self.add_missing_stop(parts);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done
    }

    fn end(&mut self, _: &mut Vec<Part>) -> bool {
        self.stopped
    }
}

impl ChatDecoder {
    /// Reads a chunk of a stream or a whole answer. They differ in the field that holds the content.
    fn read(&mut self, chunk: &Json, field: &str, parts: &mut Vec<Part>) -> Result<(), ModelError> {
        if has_error(chunk) {
            return Err(in_stream(chunk));
        }
        let choices = chunk.get("choices").and_then(Json::as_array);
        let first = |choice: &&Json| choice.get("index").and_then(Json::as_u64).unwrap_or(0) == 0;
        for choice in choices.into_iter().flatten().filter(first) {
            if let Some(content) = choice.get(field) {
                self.add_content(content, parts);
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Json::as_str)
                && !self.stopped
            {
                self.stopped = true;
                parts.push(Part::Stop(self.stop(reason)));
            }
        }
        parts.extend(chunk.get("usage").and_then(usage).map(Part::Usage));
        Ok(())
    }

    fn add_content(&mut self, content: &Json, parts: &mut Vec<Part>) {
        let text = |name: &str| content.get(name)?.as_str().filter(|text| !text.is_empty());
        let reasoning = text("reasoning_content").or_else(|| text("reasoning"));
        parts.extend(reasoning.map(|delta| Part::Reasoning(delta.to_owned())));
        let refusal = text("refusal");
        self.refused |= refusal.is_some();
        let answer = text("content").or(refusal);
        parts.extend(answer.map(|delta| Part::Text(delta.to_owned())));
        let calls = content.get("tool_calls").and_then(Json::as_array);
        let calls = calls.map(Vec::as_slice).unwrap_or_default();
        for (position, fragment) in calls.iter().enumerate() {
            let part = self.fragment(fragment, position, calls.len());
            parts.push(part);
        }
    }

    /// Reads a fragment of a call. Some servers omit its index; others give the same index to several calls, each
    /// with its own id and name.
    fn fragment(&mut self, fragment: &Json, position: usize, of: usize) -> Part {
        let function = fragment.get("function").unwrap_or(&Json::Null);
        let text = |json: &Json, name: &str| {
            let text = json.get(name)?.as_str()?;
            Some(text.to_owned()).filter(|text| !text.is_empty())
        };
        let (id, name) = (text(fragment, "id"), text(function, "name"));
        let arguments = match function.get("arguments") {
            Some(Json::String(text)) => text.clone(),
            // Some servers send the arguments as an object instead of text.
            Some(object @ Json::Object(_)) => object.to_string(),
            Some(_) | None => String::new(),
        };
        let written = fragment.get("index").and_then(Json::as_u64);
        let continues = written.is_none() && of == 1 && id.is_none() && name.is_none();
        let key = written.unwrap_or(position as u64);
        let is_it = |begun: &StartedCall| {
            let other = id.is_some() && begun.id.is_some() && begun.id != id && name.is_some();
            continues || (begun.key == key && !other)
        };
        let known = if continues {
            Some(self.last).filter(|last| *last < self.calls.len())
        } else {
            self.calls.iter().rposition(is_it)
        };
        let index = known.unwrap_or(self.calls.len());
        self.last = index;
        // The reader rejects calls beyond the maximum.
        if known.is_none() && index < MAX_CALLS {
            let id = id.clone();
            self.calls.push(StartedCall { key, id });
        }
        Part::Call {
            index,
            id,
            name,
            arguments,
        }
    }

    /// Adds a stop reason if the server has not sent one.
    fn add_missing_stop(&mut self, parts: &mut Vec<Part>) {
        if !std::mem::replace(&mut self.stopped, true) {
            parts.push(Part::Stop(self.stop("stop")));
        }
    }

    fn stop(&self, reason: &str) -> StopReason {
        match reason {
            "stop" if self.refused => StopReason::Refused,
            // Some servers send this even if the model waits for results.
            "stop" if !self.calls.is_empty() => StopReason::Calls,
            "stop" => StopReason::End,
            "tool_calls" | "function_call" => StopReason::Calls,
            "length" => StopReason::Length,
            "content_filter" => StopReason::Refused,
            other => StopReason::Other(other.to_owned()),
        }
    }
}

fn has_error(chunk: &Json) -> bool {
    chunk.get("error").is_some_and(|error| !error.is_null())
}

fn usage(json: &Json) -> Option<Usage> {
    let count = |path: &str| json.pointer(path).and_then(Json::as_u64);
    Some(Usage {
        input: count("/prompt_tokens")?,
        output: count("/completion_tokens").unwrap_or(0),
        cached: count("/prompt_tokens_details/cached_tokens").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use planrun_tools::project::ModelApi;
    use proptest::prelude::*;
    use url::Url;

    use super::*;
    use crate::model::{ErrorKind, Turn};
    use crate::wire::Reader;

    /// Reads an answer that arrives in pieces of these sizes, repeated.
    fn read(answer: &[u8], sizes: &[usize]) -> (Turn, Option<ModelError>) {
        let mut reader = Reader::new(ModelApi::Chat);
        let (mut parts, mut rest) = (Vec::new(), answer);
        let mut sizes = sizes.iter().cycle();
        let mut ended = Ok(());
        while !rest.is_empty() && ended.is_ok() && !reader.is_complete() {
            let (piece, behind) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
            rest = behind;
            ended = reader.add(piece, &mut parts);
        }
        let ended = ended.and_then(|()| reader.end(&mut parts));
        let mut turn = Turn::default();
        for part in parts {
            turn.add(part);
        }
        (turn, ended.err())
    }

    fn stream(chunks: &[Json]) -> String {
        let mut text = String::new();
        for chunk in chunks {
            write!(text, "data: {chunk}\n\n").unwrap();
        }
        text + "data: [DONE]\n\n"
    }

    fn delta(delta: &Json) -> Json {
        json!({"choices": [{"index": 0, "delta": delta}]})
    }

    fn calls(fragments: &Json) -> Json {
        delta(&json!({"tool_calls": fragments}))
    }

    fn called(chunks: &[Json]) -> Vec<(String, String, String)> {
        let (turn, error) = read(stream(chunks).as_bytes(), &[4096]);
        assert_eq!(error, None);
        assert_eq!(turn.stop, Some(StopReason::Calls));
        let calls = turn.calls.into_iter();
        calls
            .map(|call| (call.id, call.name, call.arguments))
            .collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn fragments_find_their_call() {
        let a = json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}});
        let b = json!({"index": 1, "id": "b", "function": {"name": "y", "arguments": "{}"}});
        let more = json!({"index": 0, "function": {"arguments": "{\"n\":1}"}});
        let several = called(&[calls(&json!([a, b])), calls(&json!([more]))]);
        assert_eq!(several, [call("a", "x", "{\"n\":1}"), call("b", "y", "{}")]);
        // Without an index: one call in fragments, two whole calls in one chunk, and two in separate chunks.
        let begin = json!({"id": "a", "function": {"name": "x", "arguments": "{"}});
        let end = json!({"function": {"arguments": "}"}});
        assert_eq!(
            called(&[calls(&json!([begin])), calls(&json!([end]))]),
            [call("a", "x", "{}")]
        );
        let whole = |id: &str, index: Option<u64>| json!({"index": index, "id": id, "function": {"name": "x", "arguments": "{}"}});
        let two = [call("a", "x", "{}"), call("b", "x", "{}")];
        let together = calls(&json!([whole("a", None), whole("b", None)]));
        assert_eq!(called(&[together]), two);
        for index in [None, Some(0)] {
            let apart = [
                calls(&json!([whole("a", index)])),
                calls(&json!([whole("b", index)])),
            ];
            assert_eq!(called(&apart), two);
        }
        // Arguments that are not text, and a missing id.
        let object = json!({"index": 0, "function": {"name": "x", "arguments": {"n": 1}}});
        assert_eq!(
            called(&[calls(&json!([object]))]),
            [call("call_0", "x", "{\"n\":1}")]
        );
    }

    #[test]
    fn what_comes_is_no_answer() {
        let error = |answer: &str| read(answer.as_bytes(), &[7]).1.map(|error| error.kind);
        assert_eq!(error("data: {\"oops\n\n"), Some(ErrorKind::Protocol));
        assert_eq!(error("<html>no</html>"), Some(ErrorKind::Protocol));
        assert_eq!(error("upstream is not ready"), Some(ErrorKind::Protocol));
        assert_eq!(error(": ping\n\n"), Some(ErrorKind::Network));
        assert_eq!(error("\u{feff}\r\nev"), Some(ErrorKind::Network));
        assert_eq!(error("{\"choices\": "), Some(ErrorKind::Protocol));
        assert_eq!(error("{}"), Some(ErrorKind::Protocol));
        assert_eq!(error(""), Some(ErrorKind::Network));
        let begun = format!("data: {}\n\n", delta(&json!({"content": "Hel"})));
        assert_eq!(error(&begun), Some(ErrorKind::Network));
        let failed =
            begun + "event: error\ndata: {\"error\": {\"code\": 429, \"message\": \"slow\"}}\n\n";
        assert_eq!(error(&failed), Some(ErrorKind::RateLimited));
        assert_eq!(read(failed.as_bytes(), &[1]).0.text, "Hel");
    }

    #[test]
    fn endless_answers_end() {
        let many: Vec<Json> = (0..200)
            .map(|index| calls(&json!([{"index": index, "function": {"name": "x"}}])))
            .collect();
        let (turn, error) = read(stream(&many).as_bytes(), &[4096]);
        assert_eq!(turn.calls.len(), MAX_CALLS);
        assert_eq!(error.unwrap().kind, ErrorKind::Protocol);
        let mut reader = Reader::new(ModelApi::Chat);
        let mut fed = 0;
        let line = vec![b'x'; 65536];
        while reader.add(&line, &mut Vec::new()).is_ok() {
            fed += line.len();
            assert!(fed <= crate::wire::MAX_EVENT_BYTES, "{fed}");
        }
        let mut reader = Reader::new(ModelApi::Chat);
        let ping = ": ping\n\n".repeat(100_000);
        let times = (0..1000).take_while(|_| reader.add(ping.as_bytes(), &mut Vec::new()).is_ok());
        assert!(times.count() < 100);
    }

    #[test]
    fn one_json_is_an_answer_too() {
        let body = json!({
            "choices": [{"message": {"content": "Hi", "reasoning": "hm", "tool_calls": [
                {"id": "a", "function": {"name": "x", "arguments": "{}"}},
                {"id": "b", "function": {"name": "y", "arguments": "{}"}},
            ]}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}},
        });
        let (turn, error) = read(format!("\n {body}").as_bytes(), &[1, 30]);
        assert_eq!(error, None);
        assert_eq!((&*turn.text, &*turn.reasoning), ("Hi", "hm"));
        assert_eq!(turn.calls.len(), 2);
        assert_eq!(turn.stop, Some(StopReason::Calls));
        let usage = Usage {
            input: 5,
            output: 2,
            cached: 3,
        };
        assert_eq!(turn.usage, Some(usage));
    }

    #[test]
    fn requests_are_written_as_servers_read_them() {
        let endpoint = |host: &str| Url::parse(&format!("https://{host}/v1")).unwrap();
        let request = Request {
            messages: vec![
                Message::System { text: "Be".into() },
                Message::Assistant {
                    text: String::new(),
                    reasoning: "hm".into(),
                    calls: vec![ToolCall {
                        id: "a".into(),
                        name: "x".into(),
                        arguments: "{}".into(),
                    }],
                    opaque: Vec::new(),
                },
                Message::Tool {
                    call: "a".into(),
                    name: "x".into(),
                    text: "7".into(),
                    is_error: false,
                },
            ],
            tools: vec![OfferedTool {
                name: "x".into(),
                description: "X.".into(),
                parameters: json!({"type": "object"}),
            }],
            answer: AnswerShape::Json {
                name: "out".into(),
                schema: json!({"type": "object"}),
                strict: true,
            },
            temperature: Some(0.5),
            max_tokens: Some(9),
        };
        let local = endpoint("a");
        let addressee = Addressee {
            model: "m",
            endpoint: &local,
        };
        let expected = json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "x", "arguments": "{}"}},
                ], "reasoning_content": "hm"},
                {"role": "tool", "tool_call_id": "a", "name": "x", "content": "7"},
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {
                "name": "x", "description": "X.", "parameters": {"type": "object"},
            }}],
            "response_format": {"type": "json_schema", "json_schema": {
                "name": "out", "schema": {"type": "object"}, "strict": true,
            }},
            "temperature": 0.5,
            "max_tokens": 9,
        });
        assert_eq!(body(addressee, &request), expected);
        let endpoint = endpoint(OPENAI);
        let addressee = Addressee {
            model: "m",
            endpoint: &endpoint,
        };
        assert_eq!(body(addressee, &request)["max_completion_tokens"], 9);
    }

    /// Generates any kind of chunk.
    fn chunk() -> impl Strategy<Value = Json> {
        let text = "[a-z\"\\\\ \n你😀]{0,12}";
        prop_oneof![
            text.prop_map(|text| delta(&json!({"content": text}))),
            text.prop_map(|text| delta(&json!({"reasoning_content": text}))),
            (0..3_u64, text).prop_map(|(index, text)| calls(
                &json!([{"index": index, "function": {"name": "x", "arguments": text}}])
            )),
            (0..9_u64).prop_map(|n| json!({"choices": [], "usage": {"prompt_tokens": n}})),
            Just(json!({"choices": [{"delta": {}, "finish_reason": "length"}]})),
            Just(json!({"error": {"message": "no"}})),
        ]
    }

    proptest! {
        #[test]
        fn an_answer_is_the_same_for_every_cutting(
            chunks in prop::collection::vec(chunk(), 0..12),
            end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            comment in any::<bool>(),
            sizes in prop::collection::vec(1..20_usize, 1..8),
        ) {
            let mut text = stream(&chunks).replace('\n', end);
            if comment {
                text = format!(": ping{end}{end}{text}");
            }
            let whole = read(text.as_bytes(), &[text.len()]);
            prop_assert_eq!(read(text.as_bytes(), &sizes), whole);
        }
    }
}
