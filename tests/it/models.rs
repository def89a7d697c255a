//! Models over real HTTP: requests, responses split at any byte, retries, and timeouts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::source::SourceFile;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_models::client::{DEFAULT_RETRIES, HttpModel, MAX_WAIT, Models};
use planrun_models::double::{DoubleOptions, ModelDouble, Script};
use planrun_models::model::{
    ErrorKind, Message, Model, ModelError, OfferedTool, Part, Request, StopReason, Turn, Usage,
    next,
};
use planrun_tools::host::{Host, MemoryHost, VirtualHost};
use planrun_tools::project::{Location, Project};
use serde_json::{Value as Json, json};

use crate::support::{Mock, folder, planrun};

const KEY: &str = "sk-hunter2-is-secret";

/// Starts a double with the turns of a script.
pub async fn double(turns: &str) -> ModelDouble {
    let source = SourceFile::new("script.yaml", format!("turns:\n{turns}"));
    let script = Script::read(&source).unwrap();
    let host: Arc<dyn Host> = Arc::new(MemoryHost::default());
    ModelDouble::start(script, DoubleOptions::default(), host)
        .await
        .unwrap()
}

/// Opens the models of a project with this file, on the clock of the runtime.
fn models(file: &str, variables: &[(&str, &str)]) -> Models {
    let host = MemoryHost::default().with_file("/p/planrun.yaml", file);
    let host = variables
        .iter()
        .fold(host, |host, (name, value)| host.with_variable(name, value));
    let host: Arc<dyn Host> = Arc::new(VirtualHost::new(host));
    let location = Location::of(&*host, None, Some(Path::new("/p"))).unwrap();
    let (project, found) = Project::open(&*host, &location).unwrap();
    assert!(found.is_empty(), "{found:?}");
    Models::of(&project, &host)
}

/// Returns a model that sends its requests to a double, with additional settings.
pub fn model(double: &ModelDouble, settings: &str) -> HttpModel {
    let base = double.base_url();
    let file = format!(
        "env: [KEY]\nmodels: {{ m: {{ base_url: '{base}', model: tiny, key: KEY{settings} }} }}"
    );
    models(&file, &[("KEY", KEY)]).open(None).unwrap()
}

pub fn ask(text: &str) -> Request {
    Request {
        messages: vec![Message::User { text: text.into() }],
        ..Request::default()
    }
}

/// Returns the answer of a model with these settings to a question, and the requests that the double got.
pub async fn answer(turns: &str, settings: &str) -> (Result<Turn, ModelError>, Vec<Json>) {
    let double = double(turns).await;
    let answer = Turn::collect(model(&double, settings).answer(ask("Hello?"))).await;
    let requests = double.requests().into_iter().map(|request| request.body);
    (answer, requests.collect())
}

async fn failure(turns: &str, settings: &str) -> (ModelError, usize) {
    let (answer, requests) = answer(turns, settings).await;
    (answer.unwrap_err(), requests.len())
}

#[tokio::test]
async fn variables_of_the_environment_are_enough() {
    let double = double("- { text: Hello there!, repeat: forever }").await;
    let root = format!("http://{}", double.address());
    let addresses = ["", "/", "/v1", "/v1/", "/v1/chat/completions"];
    for address in addresses.map(|path| format!("{root}{path}")) {
        let variables = [
            ("OPENAI_BASE_URL", &*address),
            ("OPENAI_API_KEY", KEY),
            ("OPENAI_MODEL", "tiny"),
        ];
        let model = models("", &variables).open(None).unwrap();
        let turn = Turn::collect(model.answer(ask("Hello?"))).await.unwrap();
        assert_eq!(turn.text, "Hello there!", "{address}");
        assert_eq!(turn.stop, Some(StopReason::End));
        assert!(turn.usage.is_some());
    }
    let sent = double.requests();
    assert_eq!(sent.len(), addresses.len());
    for request in sent {
        assert_eq!(request.key.as_deref(), Some(KEY));
        assert_eq!(request.headers["authorization"], "[redacted]");
        let expected = json!({
            "model": "tiny",
            "messages": [{"role": "user", "content": "Hello?"}],
            "stream": true,
            "stream_options": {"include_usage": true},
        });
        assert_eq!(request.body, expected);
    }
    let error = |variables: &[(&str, &str)]| models("", variables).open(None).unwrap_err().message;
    assert_eq!(
        error(&[]),
        "no model is configured: set OPENAI_MODEL, or add one under `models` in planrun.yaml"
    );
    let wrong = [("OPENAI_MODEL", "m"), ("OPENAI_BASE_URL", "u:p@x")];
    assert_eq!(error(&wrong), "OPENAI_BASE_URL is not an HTTP or HTTPS URL");
}

#[tokio::test]
async fn a_project_names_its_models() {
    let double = double("- { text: Hi, repeat: forever }").await;
    let base = double.base_url();
    let file = format!(
        "env: [KEY]
models:
  fast: {{ base_url: '{base}', model: small, temperature: 0.5, max_tokens: 7 }}
  best: {{ base_url: '{base}', model: large, key: KEY, price: {{ input: 2, output: 8 }} }}
"
    );
    let named = models(&file, &[("KEY", KEY)]);
    let best = named.open(Some("best")).unwrap();
    let turn = Turn::collect(best.answer(ask("Hello?"))).await.unwrap();
    let cost = turn.usage.unwrap().cost(best.price().unwrap());
    assert!(cost > 0.0 && cost < 0.01, "{cost}");
    let fast = named.open(Some("fast")).unwrap();
    let mut request = ask("Hello?");
    request.max_tokens = Some(3);
    Turn::collect(fast.answer(request)).await.unwrap();
    let [one, other] = &*double.requests() else {
        panic!("two requests")
    };
    assert_eq!(
        (&one.body["model"], &one.key),
        (&json!("large"), &Some(KEY.to_owned()))
    );
    assert_eq!((&other.body["model"], &other.key), (&json!("small"), &None));
    assert_eq!(other.body["temperature"], 0.5);
    assert_eq!(other.body["max_tokens"], 3);

    let wrong = |models: &Models, name| models.open(name).unwrap_err().message;
    assert_eq!(
        wrong(&named, None),
        "planrun.yaml has several models (fast, best) and no `default`: name one"
    );
    assert_eq!(
        wrong(&named, Some("fats")),
        "planrun.yaml has no model `fats`; available: fast, best; did you mean `fast`?"
    );
    let unset = models(&file, &[]);
    let error = unset.open(Some("best")).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Authentication);
    assert_eq!(
        error.message,
        "the environment variable KEY, which holds the key of the model `best`, is not set"
    );
    let default = models(&format!("{file}  default: fast\n"), &[("KEY", KEY)]);
    assert_eq!(default.open(None).unwrap().name(), "fast");
}

#[tokio::test]
async fn a_project_says_what_may_be_reached() {
    let file = "allow: { net: [api.example.com] }\nmodels: { m: { base_url: 'http://127.0.0.1:1', model: x } }";
    let error = models(file, &[]).open(None).unwrap_err();
    assert_eq!(error.kind.class(), ErrorClass::Denied(Denied::Policy));
    assert_eq!(
        error.message,
        "the model `m` (x at 127.0.0.1:1): `allow` in planrun.yaml does not permit it; \
         add \"127.0.0.1:1\" to `allow.net` there"
    );
}

#[tokio::test]
async fn a_model_calls_tools_and_reads_what_they_give() {
    let double = double(
        "
- when: { tool: degrees }
  text: It is cold.
- reasoning: I should look.
  text: One moment.
  calls: [{ name: weather, arguments: { city: Ålesund } }, { name: time, id: own }]
  usage: { input: 40, output: 9, cached: 32 }
",
    )
    .await;
    let model = model(&double, "");
    let mut request = ask("Is it cold?");
    request.tools.push(OfferedTool {
        name: "weather".into(),
        description: "The weather.".into(),
        parameters: json!({"type": "object"}),
    });
    let turn = Turn::collect(model.answer(request.clone())).await.unwrap();
    assert_eq!(turn.reasoning, "I should look.");
    assert_eq!(turn.text, "One moment.");
    assert_eq!(turn.stop, Some(StopReason::Calls));
    let usage = Usage {
        input: 40,
        output: 9,
        cached: 32,
    };
    assert_eq!(turn.usage, Some(usage));
    let calls = turn.calls.iter();
    let calls: Vec<_> = calls
        .map(|call| (&*call.id, &*call.name, &*call.arguments))
        .collect();
    let expected = [
        ("call_1", "weather", r#"{"city":"Ålesund"}"#),
        ("own", "time", "{}"),
    ];
    assert_eq!(calls, expected);
    request.messages.push(turn.into_message());
    for (call, name, text) in [
        ("call_1", "weather", "-4 degrees"),
        ("own", "time", "9 degrees"),
    ] {
        request.messages.push(Message::Tool {
            call: call.into(),
            name: name.into(),
            text: text.into(),
            is_error: false,
        });
    }
    let turn = Turn::collect(model.answer(request)).await.unwrap();
    assert_eq!(
        (&*turn.text, turn.stop),
        ("It is cold.", Some(StopReason::End))
    );
    let sent = &double.requests()[1].body["messages"];
    assert_eq!(sent[1]["content"], "One moment.");
    assert_eq!(sent[1]["reasoning_content"], "I should look.");
    assert_eq!(sent[1]["tool_calls"][0]["function"]["name"], "weather");
    assert_eq!(
        sent[3],
        json!({"role": "tool", "tool_call_id": "own", "name": "time", "content": "9 degrees"})
    );
}

/// Returns the parts of an answer as text, and the error that ended it, if any.
pub async fn parts(turns: &str, settings: &str) -> (String, Option<ModelError>) {
    let double = double(turns).await;
    let mut parts = model(&double, settings).answer(ask("Hello?"));
    let mut text = String::new();
    while let Some(part) = next(&mut parts).await {
        match part {
            Ok(Part::Text(delta)) => text.push_str(&delta),
            Ok(_) => {}
            Err(error) => return (text, Some(error)),
        }
    }
    (text, None)
}

#[tokio::test]
async fn what_breaks_off_has_a_kind_and_what_came_stays() {
    let prefix = r#"data: {\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\n"#;
    let cases = [
        (
            "- { text: Hello there, error: busy, code: overloaded_error }".to_owned(),
            "Hello there",
            ErrorKind::Unavailable,
            "reported an error in its answer: busy",
        ),
        (
            "- { text: Hello there, cut: 400 }".to_owned(),
            "Hello ",
            ErrorKind::Network,
            "was interrupted",
        ),
        (
            format!("- {{ raw: \"{prefix}\" }}"),
            "Hel",
            ErrorKind::Network,
            "ended prematurely",
        ),
        (
            format!("- {{ raw: \"{prefix}data: {{oops\\n\\n\", chunks: 1 }}"),
            "Hel",
            ErrorKind::Protocol,
            "not valid JSON: {oops",
        ),
    ];
    for (turns, expected, kind, message) in cases {
        let (text, error) = parts(&format!("{turns}\n- {{ text: again }}"), "").await;
        let error = error.unwrap();
        assert_eq!((&*text, error.kind), (expected, kind), "{turns}: {error}");
        assert!(error.message.contains(message), "{error}");
    }
    let done = format!(
        "- {{ raw: \": hi\\r\\n\\r\\n{prefix}data: [DONE]\\r\\n\\r\\ndata: {{oops\\n\\n\" }}"
    );
    assert_eq!(parts(&done, "").await, ("Hel".to_owned(), None));
}

#[tokio::test]
async fn what_can_pass_is_tried_again() {
    for first in [
        "status: 500",
        "status: 529, code: overloaded_error",
        "status: 429, retry_after: 1",
        "status: 429, retry_after: 'Thu, 01 Jan 2026 00:00:01 GMT'",
        "error: busy, code: server_error",
        "text: a, cut: 0",
    ] {
        let begun = tokio::time::Instant::now();
        let (answer, requests) = answer(&format!("- {{ {first} }}\n- {{ text: Hi }}"), "").await;
        assert_eq!(answer.unwrap().text, "Hi", "{first}");
        assert_eq!(requests.len(), 2, "{first}");
        assert!(begun.elapsed() >= Duration::from_millis(250), "{first}");
    }
    let (error, requests) = failure("- { status: 503, repeat: forever }", "").await;
    assert_eq!(
        (error.kind, error.status),
        (ErrorKind::Unavailable, Some(503))
    );
    assert_eq!(requests, 1 + DEFAULT_RETRIES as usize);
    let (_, requests) = failure("- { status: 503, repeat: forever }", ", retries: 0").await;
    assert_eq!(requests, 1);
    let closed = models(
        "models: { m: { base_url: 'http://127.0.0.1:1', model: x } }",
        &[],
    );
    let answered = Turn::collect(closed.open(None).unwrap().answer(ask("Hello?"))).await;
    let error = answered.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Network);
    assert!(
        error.can_retry() && error.message.contains("cannot be reached"),
        "{error}"
    );
}

#[tokio::test]
async fn a_long_wait_before_a_retry_is_reported() {
    let double = double("- { status: 503, retry_after: 2, error: busy }\n- { text: Hi }").await;
    let mut parts = model(&double, ", api: messages").answer(ask("Hello?"));
    let mut came = Vec::new();
    while let Some(part) = next(&mut parts).await {
        match part.unwrap() {
            Part::Retry { after, why } => {
                let range = Duration::from_secs(2)..=Duration::from_millis(2_500);
                assert!(range.contains(&after), "{after:?}");
                came.push(why);
            }
            Part::Text(text) => came.push(text),
            _ => {}
        }
    }
    assert_eq!(came[1..], ["Hi"]);
    assert!(
        came[0].starts_with("the model `m` (tiny at 127.0.0.1:"),
        "{came:?}"
    );
    assert!(
        came[0].ends_with("it answered with status 503: busy"),
        "{came:?}"
    );
}

#[tokio::test]
async fn what_cannot_pass_is_not_tried_again() {
    let too_long = MAX_WAIT.as_secs() + 1;
    let cases = [
        ("status: 400".to_owned(), ErrorKind::InvalidRequest),
        (
            "status: 400, code: context_length_exceeded".to_owned(),
            ErrorKind::TooLong,
        ),
        ("status: 401".to_owned(), ErrorKind::Authentication),
        ("status: 403".to_owned(), ErrorKind::Authorization),
        (
            "status: 429, code: insufficient_quota".to_owned(),
            ErrorKind::Quota,
        ),
        (
            format!("status: 429, retry_after: {too_long}"),
            ErrorKind::RateLimited,
        ),
    ];
    for (turn, kind) in &cases {
        let (error, requests) = failure(&format!("- {{ {turn} }}\n- {{ text: Hi }}"), "").await;
        assert_eq!((error.kind, requests), (*kind, 1), "{turn}: {error}");
        if turn.contains("retry_after") {
            assert_eq!(error.retry_after, Some(Duration::from_secs(too_long)));
            assert!(error.message.contains("a wait of 61s"), "{error}");
        }
    }
    let (error, requests) = failure("- { raw: <html>Log in</html> }\n- { text: Hi }", "").await;
    assert_eq!((error.kind, requests), (ErrorKind::Protocol, 1));
    assert!(error.message.contains("<html>Log in</html>"), "{error}");
    let (error, _) = failure("- { status: 302 }", "").await;
    assert_eq!(error.kind, ErrorKind::Denied);
    assert!(
        error.message.contains("redirects are not followed"),
        "{error}"
    );
}

#[tokio::test]
async fn each_limit_of_time_says_which_it_is() {
    let limits = ", first_token: 300ms, between_tokens: 200ms, timeout: 2s";
    let begins = "did not begin within 300ms (`first_token`)";
    let continues = "stalled for 200ms (`between_tokens`)";
    let cases = [
        ("stall: 0", begins),
        ("delay: 1h", begins),
        ("stall: 2", continues),
    ];
    for (held_back, message) in cases {
        let turns = format!("- {{ text: a b c d e f g h, {held_back} }}");
        let (error, requests) = failure(&turns, limits).await;
        assert_eq!(error.kind, ErrorKind::Timeout, "{error}");
        assert!(error.message.contains(message), "{error}");
        assert_eq!(requests, 1, "{held_back}");
    }
    let again = "- { status: 429, retry_after: 40, repeat: forever }";
    let (error, _) = failure(again, limits).await;
    assert!(
        error.message.contains("longer than 2s (`timeout`)"),
        "{error}"
    );
}

#[tokio::test]
async fn no_error_tells_the_key() {
    for text in [
        KEY.to_owned(),
        format!("https://x/?k={KEY}&x"),
        "x".repeat(480) + KEY,
    ] {
        let turns = format!("- {{ status: 401, error: 'no such key: {text}' }}");
        let (error, _) = failure(&turns, "").await;
        assert!(!error.message.contains("hunter2"), "{error}");
        let turns = format!("- {{ text: a, error: 'no such key: {text}' }}");
        let (error, _) = failure(&turns, "").await;
        assert!(!error.message.contains("hunter2"), "{error}");
    }
    let model = model(&double("  []").await, "");
    assert!(!format!("{model:?}").contains("hunter2"));
    assert_eq!(model.secrets().text(KEY), "[redacted]");
}

#[tokio::test]
async fn no_answer_tells_the_key() {
    let turns = format!(
        "- {{ reasoning: 'Is it {KEY}?', text: 'It is {KEY}.', calls: [{{ name: a, arguments: {{ k: {KEY} }} }}] }}"
    );
    for api in ["chat", "responses", "messages"] {
        let (answer, _) = answer(&turns, &format!(", api: {api}")).await;
        let turn = answer.unwrap();
        assert_eq!(turn.text, "It is [redacted].", "{api}");
        assert_eq!(turn.calls[0].arguments, "{\"k\":\"[redacted]\"}", "{api}");
        assert!(!format!("{turn:?}").contains("hunter2"), "{api}: {turn:?}");
    }
}

#[test]
fn what_models_are_sent_is_secret() {
    let file = "env: [KEY]\nmodels: { m: { base_url: 'http://a/v1', model: tiny, key: KEY } }\n";
    assert_eq!(models(file, &[("KEY", KEY)]).secrets(), [KEY]);
    let url = ("OPENAI_BASE_URL", "http://ann:hunter2@a/v1");
    let variables = [url, ("OPENAI_API_KEY", KEY)];
    assert_eq!(models("", &variables).secrets(), ["hunter2", KEY]);
    let placeholder = [("OPENAI_API_KEY", "none")];
    assert_eq!(models("", &placeholder).secrets(), [""; 0]);
}

#[tokio::test]
async fn a_double_says_which_turns_are_left() {
    let turns = "
- when: { user: weather }
  text: Cold.
  repeat: 2
- { text: Hi }";
    let double = double(turns).await;
    let model = model(&double, "");
    let text = async |text| {
        let answer = Turn::collect(model.answer(ask(text))).await;
        answer.map_or_else(|error| error.message, |turn| turn.text)
    };
    assert_eq!(text("Hello?").await, "Hi");
    assert_eq!(text("What of the weather?").await, "Cold.");
    let refused = text("Hello?").await;
    let expected = "it answered with status 400: the script has no turn for this request, with the last user message \
                    \"Hello?\": remaining: turn 1 when the user says \"weather\"";
    assert!(refused.ends_with(expected), "{refused}");
    assert_eq!(text("And the weather now?").await, "Cold.");
    assert!(text("weather").await.ends_with("no turns remain"));
    let turns: Vec<_> = double
        .requests()
        .iter()
        .map(|request| request.turn)
        .collect();
    assert_eq!(turns, [Some(2), Some(1), None, Some(1), None]);
}

#[tokio::test]
async fn the_command_plays_a_script_and_logs_what_it_is_asked() {
    let files = folder([("s.yaml", "turns: [{ text: Hi, chunks: { seed: 1 } }]")]);
    let script = files.path().join("s.yaml");
    let mock = Mock::of(["model", "--script", script.to_str().unwrap()]);
    let variables = [
        ("OPENAI_BASE_URL", mock.address()),
        ("OPENAI_API_KEY", KEY),
        ("OPENAI_MODEL", "tiny"),
    ];
    let model = models("", &variables).open(None).unwrap();
    let turn = Turn::collect(model.answer(ask("Hello?"))).await.unwrap();
    assert_eq!(turn.text, "Hi");
    let log = mock.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["turn"], 1);
    assert_eq!(log[0]["path"], "/v1/chat/completions");
    assert_eq!(log[0]["body"]["messages"][0]["content"], "Hello?");
    assert_eq!(log[0]["headers"]["authorization"], "[redacted]");
    assert!(!log[0].to_string().contains("hunter2"), "{}", log[0]);
}

#[test]
fn a_script_that_cannot_be_played_is_told_with_places() {
    let files = folder([(
        "s.yaml",
        "turns:\n  - txt: Hi\n  - text: Hi\n    status: 500\n",
    )]);
    let script = files.path().join("s.yaml");
    let script = script.to_str().unwrap();
    let output = planrun(["mock", "model", "--script", script]).run();
    assert_eq!(output.status, 3);
    let expected = format!("{script}:2:5: turn 1 has no key `txt`");
    assert!(output.stderr.contains(&expected), "{}", output.stderr);
    assert!(
        output.stderr.contains(&format!(
            "{script}:3:11: a turn cannot have both `status` and `text`"
        )),
        "{}",
        output.stderr
    );
}
