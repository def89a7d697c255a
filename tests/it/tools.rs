//! Calling tools: permissions, HTTP over loopback, files, programs.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::any;
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::permission::{Grant, Permissions};
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::Redactor;
use planrun_lang::types::{Effect, ErrorClass, Parameter, Signature, Type, check_value};
use planrun_lang::value::Value;
use planrun_tools::host::{MemoryHost, RealHost};
use planrun_tools::tools::app::{App, AppTool, Reason};
use planrun_tools::tools::{
    CallEvent, Catalog, Conversation, Identity, Progress, ProjectLimit, Request, Tool,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use crate::support::{folder, planrun};

/// Serves a router on a free port. Returns `127.0.0.1:PORT`.
async fn serve(router: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn grant(setting: &str, patterns: &[&str]) -> Grant {
    let patterns = patterns.iter().map(ToString::to_string).collect();
    match setting {
        "net" => Grant {
            net: patterns,
            ..Grant::default()
        },
        "read" => Grant {
            read: patterns,
            ..Grant::default()
        },
        "write" => Grant {
            write: patterns,
            ..Grant::default()
        },
        "run" => Grant {
            run: patterns,
            ..Grant::default()
        },
        other => panic!("`allow` has no `{other}`"),
    }
}

fn catalog(root: &Path, grant: &Grant) -> Catalog {
    let permissions = Permissions::new(grant, root, &RealHost).unwrap();
    Catalog::new(
        Arc::new(RealHost),
        root.to_path_buf(),
        &Arc::new(permissions),
    )
}

fn net(address: &str) -> Catalog {
    catalog(Path::new("/"), &grant("net", &[address]))
}

async fn finish(conversation: Conversation) -> CallOutcome {
    tokio::time::timeout(Duration::from_secs(20), conversation.outcome())
        .await
        .unwrap()
}

fn request(tool: &Tool, arguments: Value, cancel: CancellationToken) -> Request {
    Request {
        path: "step".into(),
        signature: tool.signature.clone(),
        arguments,
        idempotency_key: "key-1".into(),
        handle: None,
        cancel,
    }
}

async fn call(catalog: &Catalog, path: &str, arguments: Value) -> Result<Value, CallError> {
    let (namespace, name) = path.split_once('.').unwrap();
    let tool = catalog.tool(namespace, name).unwrap();
    let answer = finish(
        tool.transport
            .call(request(tool, arguments, CancellationToken::new())),
    )
    .await?;
    let value = match answer {
        Answer::Value(value) => value,
        Answer::Json(json) => Value::from_json(&json),
    };
    check_value(&value, &tool.signature.returns).unwrap();
    Ok(value)
}

async fn fetch(catalog: &Catalog, method: &str, url: String) -> Result<Value, CallError> {
    call(
        catalog,
        "http.fetch",
        Value::object([("url", Value::from(url)), ("method", Value::from(method))]),
    )
    .await
}

/// Collects the progress of a call. `heard` is called for each report.
async fn progress(
    catalog: &Catalog,
    path: &str,
    arguments: Value,
    mut on_progress: impl FnMut(),
) -> (Vec<Progress>, CallOutcome) {
    let (namespace, name) = path.split_once('.').unwrap();
    let tool = catalog.tool(namespace, name).unwrap();
    let request = request(tool, arguments, CancellationToken::new());
    let Conversation::Later(mut events) = tool.transport.call(request) else {
        panic!("{path} answers later")
    };
    let mut all = Vec::new();
    loop {
        match events.next().await.unwrap() {
            CallEvent::Progress(progress) => {
                all.push(progress);
                on_progress();
            }
            CallEvent::Done(outcome) => return (all, outcome),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_download_tells_how_much_has_come() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (proceed, mut may_proceed) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 1024]).await.unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
        socket
            .write_all(format!("{head}{}", "x".repeat(25)).as_bytes())
            .await
            .unwrap();
        // The rest is sent after the first quarter was reported.
        may_proceed.recv().await.unwrap();
        socket.write_all("y".repeat(75).as_bytes()).await.unwrap();
    });
    let arguments = Value::object([("url", Value::from(url))]);
    let report = || proceed.send(()).unwrap();
    let (reported, outcome) = progress(&net("127.0.0.1:*"), "http.fetch", arguments, report).await;
    assert_eq!(reported, [Progress::of(25, 100)]);
    assert!(outcome.is_ok());
}

#[tokio::test]
async fn a_program_tells_how_much_it_has_written_and_not_what() {
    let argv = Value::list(["sh", "-c", "echo secret"].map(Value::from));
    let catalog = catalog(Path::new("/"), &grant("run", &["sh"]));
    let arguments = Value::object([("argv", argv)]);
    let (reported, outcome) = progress(&catalog, "proc.run", arguments, || ()).await;
    assert_eq!(reported, [Progress::message("7 bytes of output")]);
    assert!(outcome.is_ok());
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn class_and_sent(error: &CallError) -> (String, Sent) {
    (error.class.to_string(), error.sent)
}

/// Answers with the status in the path, or with the request itself.
async fn echo(method: Method, headers: HeaderMap, uri: axum::http::Uri, body: String) -> Response {
    let path = uri.path().trim_start_matches('/');
    if let Some(status) = path.strip_prefix("status/") {
        let status = StatusCode::from_u16(status.parse().unwrap()).unwrap();
        return (status, [(header::RETRY_AFTER, "7")], "sorry").into_response();
    }
    let header = |name: &str| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let request = serde_json::json!({
        "method": method.as_str(), "query": uri.query(), "body": body, "path": path,
        "content_type": header("content-type"), "key": header("idempotency-key"), "secret": header("authorization"),
    });
    axum::Json(request).into_response()
}

#[tokio::test]
async fn fetch_sends_what_it_is_given_and_reads_json() {
    let address = serve(Router::new().fallback(any(echo))).await;
    let catalog = net(&address);
    let arguments = Value::object([
        ("url", Value::from(format!("http://{address}/a?x=1"))),
        ("method", Value::from("POST")),
        (
            "query",
            Value::object([
                ("y", Value::list([Value::Int(1), Value::from("ü&")])),
                ("z", Value::Null),
            ]),
        ),
        (
            "headers",
            Value::object([("Authorization", Value::from("Bearer t"))]),
        ),
        ("body", Value::object([("name", Value::from("名"))])),
    ]);
    let response = call(&catalog, "http.fetch", arguments).await.unwrap();
    assert_eq!(response.get("status"), Some(&Value::Int(200)));
    let body = response.get("body").unwrap();
    assert_eq!(text(body, "method"), "POST");
    assert_eq!(text(body, "query"), "x=1&y=1&y=%C3%BC%26");
    assert_eq!(text(body, "body"), r#"{"name":"名"}"#);
    assert_eq!(text(body, "content_type"), "application/json");
    assert_eq!(text(body, "key"), "key-1");
    assert_eq!(text(body, "secret"), "Bearer t");
    assert_eq!(
        text(response.get("headers").unwrap(), "content-type"),
        "application/json"
    );
}

#[tokio::test]
async fn statuses_become_classes_and_404_is_a_result() {
    let address = serve(Router::new().fallback(any(echo))).await;
    let catalog = net(&address);
    let cases = [
        (401, "auth.authentication", Sent::Answered),
        (403, "auth.authorization", Sent::Answered),
        (408, "transient.timeout", Sent::Maybe),
        (429, "transient.rate_limited", Sent::No),
        (500, "transient.unavailable", Sent::Maybe),
        (501, "tool.failed", Sent::Answered),
        (502, "transient.unavailable", Sent::Maybe),
        (503, "transient.unavailable", Sent::No),
        (504, "transient.timeout", Sent::Maybe),
    ];
    for (status, class, sent) in cases {
        let error = fetch(&catalog, "GET", format!("http://{address}/status/{status}"))
            .await
            .unwrap_err();
        assert_eq!(class_and_sent(&error), (class.to_owned(), sent), "{status}");
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
        assert!(error.message.contains("sorry"), "{}", error.message);
    }
    let missing = fetch(&catalog, "GET", format!("http://{address}/status/404"))
        .await
        .unwrap();
    assert_eq!(missing.get("status"), Some(&Value::Int(404)));
    assert_eq!(missing.get("body"), Some(&Value::from("sorry")));
}

#[tokio::test]
async fn what_never_left_and_what_broke_off_differ() {
    let refused = net("127.0.0.1:*");
    // Bound and dropped, so nothing listens on it.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let error = fetch(&refused, "POST", format!("http://127.0.0.1:{port}/"))
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("transient.network".into(), Sent::No),
        "{}",
        error.message
    );

    let names = net("*");
    let error = fetch(&names, "POST", "http://no-such-host.invalid/".into())
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("transient.network".into(), Sent::No),
        "{}",
        error.message
    );

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let _ = socket.read(&mut [0; 64]).await;
        }
    });
    let error = fetch(&refused, "POST", format!("http://{address}/"))
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("transient.network".into(), Sent::Maybe),
        "{}",
        error.message
    );
    let error = fetch(&refused, "POST", format!("https://{address}/"))
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("transient.network".into(), Sent::No),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn denied_hosts_are_never_asked() {
    let error = fetch(
        &net("example.com"),
        "GET",
        "http://127.0.0.1:1/x?token=t".into(),
    )
    .await
    .unwrap_err();
    assert_eq!(class_and_sent(&error), ("denied.policy".into(), Sent::No));
    assert!(
        error.message.contains(r#"allow { net: ["127.0.0.1:1"] }"#),
        "{}",
        error.message
    );
    for url in ["file:///etc/passwd", "banana", "http://"] {
        let error = fetch(&net("*"), "GET", url.into()).await.unwrap_err();
        assert_eq!(
            class_and_sent(&error),
            ("validation.arguments".into(), Sent::No),
            "{url}"
        );
    }
}

/// Starts two servers that count requests: one as `127.0.0.1`, which redirects to the other, as `localhost`.
async fn two_hosts() -> (String, String, Arc<AtomicUsize>) {
    let visits = Arc::new(AtomicUsize::new(0));
    let counter = visits.clone();
    let count = move || async move {
        counter.fetch_add(1, Ordering::SeqCst);
        "{}"
    };
    let private = serve(Router::new().fallback(any(count))).await;
    let private = private.replace("127.0.0.1", "localhost");
    let target = format!("http://{private}/there");
    let redirect = move || async move { Redirect::temporary(&target) };
    (
        serve(Router::new().fallback(any(redirect))).await,
        private,
        visits,
    )
}

#[tokio::test]
async fn a_redirect_to_another_host_or_a_private_address_needs_that_named() {
    let (first, private, visits) = two_hosts().await;
    let (name, port) = private.split_once(':').unwrap();
    let resolved = format!("127.0.0.1:{port}");
    for (net, may) in [
        (vec![&*first], false),
        // A pattern of names does not permit local addresses, and a name that resolves to one is checked again.
        (vec![&*first, "*"], false),
        (vec![&*first, "*:*"], false),
        (vec![&*first, "local*:*"], false),
        (vec![&*first, "*:*", &resolved], true),
        (vec![&*first, &private], true),
    ] {
        let before = visits.load(Ordering::SeqCst);
        let catalog = catalog(Path::new("/"), &grant("net", &net));
        let fetched = fetch(&catalog, "GET", format!("http://{first}/")).await;
        match fetched {
            Ok(_) => assert!(may, "{net:?}"),
            Err(error) => {
                assert!(!may, "{net:?}: {error}");
                assert_eq!(
                    class_and_sent(&error),
                    ("denied.policy".into(), Sent::Answered),
                    "{net:?}"
                );
                assert!(error.message.contains(name), "{error}");
            }
        }
        let visited = visits.load(Ordering::SeqCst) > before;
        assert_eq!(visited, may, "{net:?}");
    }
}

#[tokio::test]
async fn a_tool_of_the_project_is_not_redirected_to_another_host_whatever_is_allowed() {
    let (first, private, visits) = two_hosts().await;
    let mut catalog = catalog(Path::new("/"), &grant("net", &[&first, &private]));
    catalog.add_app(&app(&first), &ProjectLimit::default());
    let id = Value::object([("id", Value::from("x"))]);
    let error = call(&catalog, "hr.create", id).await.unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("denied.policy".into(), Sent::Answered)
    );
    assert!(
        error.message.contains("was redirected to localhost"),
        "{error}"
    );
    assert_eq!(visits.load(Ordering::SeqCst), 0);
}

/// `POST /orders` creates an order and redirects to its status, which cannot be read.
#[tokio::test]
async fn a_request_that_was_answered_with_a_redirect_may_have_happened_whatever_comes_then() {
    for (redirect, expected) in [
        (Redirect::to("/status"), Sent::Maybe),
        (Redirect::to("http://localhost:1/"), Sent::Maybe),
        (Redirect::to("/orders"), Sent::Maybe),
        // The request itself is sent again, and refused there.
        (Redirect::temporary("/status"), Sent::No),
    ] {
        let location = format!("{redirect:?}");
        let router = Router::new()
            .route("/orders", any(move || async move { redirect }))
            .fallback(any(|| async { StatusCode::SERVICE_UNAVAILABLE }));
        let address = serve(router).await;
        let fetched = fetch(&net(&address), "POST", format!("http://{address}/orders")).await;
        let error = fetched.unwrap_err();
        assert_eq!(error.sent, expected, "{location}: {error}");
    }
}

#[tokio::test]
async fn redirects_are_followed_under_the_permissions() {
    let other = serve(Router::new().fallback(any(echo))).await;
    let target = other.clone();
    let router = Router::new()
        .route(
            "/away",
            any(move || async move { Redirect::temporary(&format!("http://{target}/there")) }),
        )
        .route("/near", any(|| async { Redirect::to("/here") }))
        .route("/loop", any(|| async { Redirect::temporary("/loop") }))
        .route(
            "/file",
            any(|| async { Redirect::temporary("file:///etc/passwd") }),
        )
        .fallback(any(echo));
    let address = serve(router).await;

    let error = fetch(&net(&address), "GET", format!("http://{address}/file"))
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("denied.policy".into(), Sent::Answered)
    );
    let told = "the server redirected to file:///etc/passwd";
    assert!(error.message.starts_with(told), "{}", error.message);
    let error = fetch(&net(&address), "POST", format!("http://{address}/away"))
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("denied.policy".into(), Sent::Answered)
    );
    let both = catalog(Path::new("/"), &grant("net", &[&address, &other]));
    let arguments = Value::object([
        ("url", Value::from(format!("http://{address}/away"))),
        ("method", Value::from("POST")),
        (
            "headers",
            Value::object([("authorization", Value::from("secret"))]),
        ),
        ("body", Value::from("x")),
    ]);
    let response = call(&both, "http.fetch", arguments).await.unwrap();
    let body = response.get("body").unwrap();
    assert_eq!(
        (
            text(body, "method"),
            text(body, "body"),
            text(body, "secret")
        ),
        ("POST", "x", "")
    );

    let response = fetch(&net(&address), "POST", format!("http://{address}/near"))
        .await
        .unwrap();
    assert_eq!(text(response.get("body").unwrap(), "method"), "GET");
    let error = fetch(&net(&address), "GET", format!("http://{address}/loop"))
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("tool.failed".into(), Sent::Answered)
    );
}

#[tokio::test]
async fn bodies_are_bounded() {
    let large = serve(Router::new().route("/", any(|| async { vec![b'x'; 9 << 20] }))).await;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endless = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let _ = socket.read(&mut [0; 1024]).await;
        let _ = socket
            .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
        let chunk = [b"10000\r\n".as_slice(), &vec![b'x'; 0x10000], b"\r\n"].concat();
        while socket.write_all(&chunk).await.is_ok() {}
    });
    for address in [large, endless] {
        let error = fetch(&net(&address), "GET", format!("http://{address}/"))
            .await
            .unwrap_err();
        assert_eq!(
            class_and_sent(&error),
            ("validation.result".into(), Sent::Answered)
        );
    }
}

#[tokio::test]
async fn a_stopped_request_may_have_happened() {
    let hang = || async { std::future::pending::<()>().await };
    let address = serve(Router::new().route("/", any(hang))).await;
    let catalog = net(&address);
    let tool = catalog.tool("http", "fetch").unwrap();
    let cancel = CancellationToken::new();
    let arguments = Value::object([("url", Value::from(format!("http://{address}/")))]);
    let reply = tool
        .transport
        .call(request(tool, arguments, cancel.clone()));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(finish(reply), stop);
    assert_eq!(
        class_and_sent(&outcome.unwrap_err()),
        ("cancelled".into(), Sent::Maybe)
    );
}

/// Returns an app with one tool, `hr.create(id: string, note?: string)`, at this address.
fn app(address: &str) -> App {
    let parameter = |name: &str, required| Parameter {
        name: name.into(),
        ty: Type::String,
        required,
        description: None,
        schema: None,
        default: None,
    };
    let signature = Signature {
        parameters: vec![parameter("id", true), parameter("note", false)],
        returns: Type::Any,
        effect: Effect::Effect,
        effect_declared: true,
        raises: vec!["failed".into(), "busy".into()],
        key_argument: Some("request_key".into()),
        ..Signature::unknown("hr".into(), "create".into())
    };
    let reason = |reason: &str, class: &str, may_have_happened| Reason {
        reason: reason.into(),
        class: ErrorClass::find(class).unwrap(),
        may_have_happened,
    };
    let tool = AppTool {
        signature: Arc::new(signature),
        endpoint: format!("http://{address}/tool").into(),
        unset: None,
        rest: None,
        errors: vec![
            reason("busy", "tool.busy", false),
            reason("lost", "transient.unavailable", true),
        ],
        mock: None,
    };
    App {
        name: "hr".into(),
        display_name: None,
        system_context: None,
        file: "apps/hr.yaml".into(),
        tools: vec![tool],
        headers: HeaderMap::new(),
        unset: None,
        credentials: Redactor::default(),
    }
}

/// Calls `hr.create` on a server that answers with this status and body. An app needs no `allow`.
async fn answered(status: u16, body: &'static str) -> Result<Value, CallError> {
    let status = StatusCode::from_u16(status).unwrap();
    let answer = move || async move { (status, [(header::RETRY_AFTER, "7")], body) };
    let address = serve(Router::new().route("/tool", any(answer))).await;
    let mut catalog = catalog(Path::new("/"), &Grant::default());
    catalog.add_app(&app(&address), &ProjectLimit::default());
    call(
        &catalog,
        "hr.create",
        Value::object([("id", Value::from("WZ001"))]),
    )
    .await
}

#[tokio::test]
async fn an_app_gets_tool_and_args_and_a_null_is_left_out() {
    let echo = |headers: HeaderMap, body: String| async move {
        let data: serde_json::Value = serde_json::from_str(&body).unwrap();
        let key = headers["idempotency-key"].to_str().unwrap().to_owned();
        axum::Json(
            serde_json::json!({"success": true, "data": {"body": data, "key": key}, "message": "ok"}),
        )
    };
    let address = serve(Router::new().route("/mock", any(echo))).await;
    let mut catalog = catalog(Path::new("/"), &Grant::default());
    catalog.add_mocked_app(&app("127.0.0.1:1"), &format!("http://{address}/mock"));
    let arguments = Value::object([("id", Value::from("WZ001")), ("note", Value::Null)]);
    let data = call(&catalog, "hr.create", arguments).await.unwrap();
    let expected =
        r#"{"body":{"tool":"create","args":{"id":"WZ001","request_key":"key-1"}},"key":"key-1"}"#;
    assert_eq!(data.to_json_text(), expected);
}

#[tokio::test]
async fn an_app_says_when_to_call_again_whether_its_reason_is_listed_or_not() {
    for body in [
        r#"{"success": false, "reason": "lost"}"#,
        r#"{"success": false, "reason": "other"}"#,
    ] {
        let error = answered(503, body).await.unwrap_err();
        let class = error.class.to_string();
        assert_eq!(class, "transient.unavailable", "{body}");
        assert_eq!(error.retry_after, Some(Duration::from_secs(7)), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_rest_tool_says_when_to_call_again() {
    let busy = || async { ([(header::RETRY_AFTER, "1")], r#"{"error": "busy"}"#) };
    let address = serve(Router::new().route("/find", any(busy))).await;
    let app = format!(
        "name: hr
tools:
  - name: find
    endpoint: 'http://{address}'
    effect: read
    parameters: {{ type: object }}
    request: {{ method: GET, path: /find }}
    response: {{ error: /error }}
    errors: [{{ reason: busy, class: transient.rate_limited }}]
"
    );
    let plan =
        "use hr plan p() -> any { step found = hr.find() retry { attempts: 2 } reply found }";
    let place = folder([("p.plan", plan), ("apps/hr.yaml", &*app)]);
    let run = planrun(["run", "p.plan", "--format", "ndjson"]).within(place.path());
    let output = tokio::task::spawn_blocking(move || run.run())
        .await
        .unwrap();
    assert!(
        output.stdout.contains("\"retry_after\":\"1s\""),
        "{output:?}"
    );
}

#[tokio::test]
async fn answers_of_apps_become_results_and_classes() {
    assert_eq!(
        answered(200, r#"{"success": true}"#).await.unwrap(),
        Value::Null
    );
    assert_eq!(
        answered(200, r#"{"success": true, "data": [1]}"#)
            .await
            .unwrap()
            .to_json_text(),
        "[1]"
    );
    let cases = [
        (
            200,
            r#"{"success": false, "error": "no such person"}"#,
            "tool.failed",
            Sent::Answered,
            "no such person",
        ),
        (
            200,
            r#"{"success": false, "reason": "strange"}"#,
            "tool.failed",
            Sent::Answered,
            "strange",
        ),
        (
            200,
            r#"{"success": false, "reason": "busy", "error": "later"}"#,
            "tool.busy",
            Sent::Refused,
            "later",
        ),
        (
            409,
            r#"{"success": false, "reason": "busy"}"#,
            "tool.busy",
            Sent::Refused,
            "busy",
        ),
        (
            500,
            r#"{"success": false, "reason": "lost"}"#,
            "transient.unavailable",
            Sent::Maybe,
            "lost",
        ),
        (
            404,
            r#"{"detail": "Not Found"}"#,
            "tool.failed",
            Sent::Answered,
            "status 404: Not Found",
        ),
        (503, "", "transient.unavailable", Sent::No, "status 503"),
        (200, "<html>", "validation.result", Sent::Answered, "<html>"),
        (200, "[]", "validation.result", Sent::Answered, "`success`"),
        (
            200,
            "",
            "validation.result",
            Sent::Answered,
            "an empty body",
        ),
        (302, "", "tool.failed", Sent::Answered, "status 302"),
    ];
    for (status, body, class, sent, part) in cases {
        let error = answered(status, body).await.unwrap_err();
        assert_eq!(
            class_and_sent(&error),
            (class.to_owned(), sent),
            "{status} {body}"
        );
        assert!(
            error.message.contains(part) && error.message.starts_with("hr.create"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn an_app_does_not_lead_elsewhere() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let count = move || async move {
        counter.fetch_add(1, Ordering::SeqCst);
    };
    let other = serve(Router::new().fallback(any(count))).await;
    let redirect = move || async move { Redirect::temporary(&format!("http://{other}/")) };
    let address = serve(Router::new().route("/tool", any(redirect))).await;
    let mut catalog = catalog(Path::new("/"), &grant("net", &["*"]));
    catalog.add_app(&app(&address), &ProjectLimit::default());
    let error = call(
        &catalog,
        "hr.create",
        Value::object([("id", Value::from("x"))]),
    )
    .await
    .unwrap_err();
    assert_eq!(error.class.to_string(), "denied.policy");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn files_are_reached_inside_of_what_is_allowed_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir(root.join("data")).unwrap();
    std::fs::write(root.join("secret.txt"), "secret").unwrap();
    std::fs::write(root.join("data/名.txt"), "inhalt").unwrap();
    std::os::unix::fs::symlink(root.join("secret.txt"), root.join("data/link.txt")).unwrap();
    std::os::unix::fs::symlink(root, root.join("data/up")).unwrap();
    let both = Grant {
        read: vec!["data".into()],
        write: vec!["data/**".into()],
        ..Grant::default()
    };
    let catalog = catalog(root, &both);
    let at =
        |path: &str| Value::object([("path", Value::from(path)), ("content", Value::from("neu"))]);

    assert_eq!(
        call(&catalog, "fs.read", at("data/名.txt")).await.unwrap(),
        Value::from("inhalt")
    );
    let names = call(&catalog, "fs.list", at("data")).await.unwrap();
    assert_eq!(names.to_json_text(), r#"["link.txt","up","名.txt"]"#);
    call(&catalog, "fs.write", at("data/new.txt"))
        .await
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(root.join("data/new.txt")).unwrap(),
        "neu"
    );

    let outside = [
        "secret.txt",
        "data/link.txt",
        "data/up/secret.txt",
        "data/../secret.txt",
        "/etc/passwd",
    ];
    for path in outside {
        for tool in ["fs.read", "fs.write"] {
            let error = call(&catalog, tool, at(path)).await.unwrap_err();
            assert_eq!(
                class_and_sent(&error),
                ("denied.policy".into(), Sent::No),
                "{tool} {path}"
            );
            // Whoever follows the advice to permit a link has to know what that permits.
            let target = root.canonicalize().unwrap().join("secret.txt");
            let through = format!("; it leads through a link to {}", target.display());
            let is_link = ["data/link.txt", "data/up/secret.txt"].contains(&path);
            assert_eq!(error.message.ends_with(&through), is_link, "{error:?}");
        }
    }
    assert_eq!(
        std::fs::read_to_string(root.join("secret.txt")).unwrap(),
        "secret"
    );
    let hidden = call(&catalog, "fs.read", at("not/there.txt"))
        .await
        .unwrap_err();
    assert_eq!(
        hidden.class.to_string(),
        "denied.policy",
        "whether it exists is no business of the plan"
    );
    let up = call(&catalog, "fs.write", at("data/absent/../../secret.txt"))
        .await
        .unwrap_err();
    assert_eq!(up.class.to_string(), "denied.policy");

    let error = call(&catalog, "fs.read", at("data/absent.txt"))
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("tool.failed".into(), Sent::Answered)
    );
    assert_eq!(error.message, "data/absent.txt does not exist");
    let error = call(&catalog, "fs.read", at("data")).await.unwrap_err();
    assert_eq!(error.message, "data is a folder");
}

#[tokio::test]
async fn a_dangling_link_is_replaced_and_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir(root.join("data")).unwrap();
    std::os::unix::fs::symlink(root.join("outside.txt"), root.join("data/link.txt")).unwrap();
    let catalog = catalog(root, &grant("write", &["data"]));
    let arguments = Value::object([
        ("path", Value::from("data/link.txt")),
        ("content", Value::from("x")),
    ]);
    call(&catalog, "fs.write", arguments).await.unwrap();
    assert!(!root.join("outside.txt").exists());
    assert_eq!(
        std::fs::read_to_string(root.join("data/link.txt")).unwrap(),
        "x"
    );
}

fn argv(words: &[&str]) -> (&'static str, Value) {
    (
        "argv",
        Value::list(words.iter().map(|word| Value::from(*word))),
    )
}

#[tokio::test]
async fn programs_run_without_a_shell_and_see_only_what_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let catalog = catalog(
        folder.path(),
        &grant("run", &["sh", "cat", "no-such-program"]),
    );
    let run = |arguments: Vec<(&'static str, Value)>| {
        call(&catalog, "proc.run", Value::object(arguments))
    };

    let script = "echo \"$1\"; pwd; echo $PLANRUN_IDEMPOTENCY_KEY; echo ${HOME-unset} >&2; exit 3";
    let output = run(vec![
        argv(&["sh", "-c", script, "sh", "$(id); *"]),
        ("cwd", Value::from("sub")),
    ])
    .await
    .unwrap();
    let sub = folder.path().canonicalize().unwrap().join("sub");
    assert_eq!(
        text(&output, "stdout"),
        format!("$(id); *\n{}\nkey-1\n", sub.display())
    );
    assert_eq!(text(&output, "stderr"), "unset\n");
    assert_eq!(output.get("code"), Some(&Value::Int(3)));

    let big = "名".repeat(500_000);
    let output = run(vec![argv(&["cat"]), ("stdin", Value::from(big.as_str()))])
        .await
        .unwrap();
    assert_eq!(text(&output, "stdout").len(), big.len());

    let error = run(vec![argv(&["ls"])]).await.unwrap_err();
    assert_eq!(class_and_sent(&error), ("denied.policy".into(), Sent::No));
    assert!(error.message.contains(r#"allow { run: ["ls"] }"#));
    let error = run(vec![argv(&["no-such-program"])]).await.unwrap_err();
    assert_eq!(class_and_sent(&error), ("tool.failed".into(), Sent::No));
    let variable = Value::object([("LD_PRELOAD", Value::from("x.so"))]);
    let error = run(vec![argv(&["cat"]), ("env", variable)])
        .await
        .unwrap_err();
    assert_eq!(class_and_sent(&error), ("denied.policy".into(), Sent::No));
    let error = run(vec![argv(&["cat"]), ("cwd", Value::from(".."))])
        .await
        .unwrap_err();
    assert_eq!(error.class.to_string(), "denied.policy");
    let error = run(vec![argv(&["sh", "-c", "kill -9 $$"])])
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("transient.unavailable".into(), Sent::Maybe)
    );
    let error = run(vec![argv(&["sh", "-c", "head -c 9000000 /dev/zero"])])
        .await
        .unwrap_err();
    assert_eq!(
        class_and_sent(&error),
        ("validation.result".into(), Sent::Answered)
    );
}

#[tokio::test]
async fn a_stopped_program_takes_its_children_along() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = catalog(folder.path(), &grant("run", &["sh"]));
    let tool = catalog.tool("proc", "run").unwrap();
    let cancel = CancellationToken::new();
    let script = "trap '' TERM; (sleep 3; echo late > late.txt) & sleep 60";
    let reply = tool.transport.call(request(
        tool,
        Value::object([argv(&["sh", "-c", script])]),
        cancel.clone(),
    ));
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cancel.cancel();
    };
    let start = Instant::now();
    let (outcome, ()) = tokio::join!(finish(reply), stop);
    assert_eq!(
        class_and_sent(&outcome.unwrap_err()),
        ("cancelled".into(), Sent::Maybe)
    );
    assert!(start.elapsed() < Duration::from_secs(3));
    tokio::time::sleep(Duration::from_millis(3200).saturating_sub(start.elapsed())).await;
    assert!(!folder.path().join("late.txt").exists());
}

#[tokio::test(start_paused = true)]
async fn system_tools() {
    let host = Arc::new(MemoryHost::new(5));
    let catalog = Catalog::new(host.clone(), "/".into(), &Arc::default());
    assert_eq!(
        call(&catalog, "sys.nothing", Value::Null).await.unwrap(),
        Value::Null
    );
    let echoed = call(
        &catalog,
        "sys.echo",
        Value::object([("value", Value::Int(3))]),
    )
    .await
    .unwrap();
    assert_eq!(echoed, Value::Int(3));
    assert!(matches!(
        call(&catalog, "sys.now", Value::Null).await.unwrap(),
        Value::Timestamp(1_767_225_600_000_000_000)
    ));
    let id = call(&catalog, "sys.uuid", Value::Null).await.unwrap();
    let again = Catalog::new(Arc::new(MemoryHost::new(5)), "/".into(), &Arc::default());
    assert_eq!(
        call(&again, "sys.uuid", Value::Null).await.unwrap(),
        id,
        "equal for equal seeds"
    );
    assert_eq!(id.as_str().unwrap().len(), 36);
    let pause = Value::object([("duration", Value::Duration(10_000_000_000))]);
    let start = tokio::time::Instant::now();
    call(&catalog, "sys.sleep", pause).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 10);
    let fail = |class: &str| {
        call(
            &catalog,
            "sys.fail",
            Value::object([("class", Value::from(class))]),
        )
    };
    assert_eq!(
        class_and_sent(&fail("tool.busy").await.unwrap_err()),
        ("tool.busy".into(), Sent::Answered)
    );
    let error = fail("transient.timout").await.unwrap_err();
    assert_eq!(
        error.message,
        "`transient.timout` is not an error class; did you mean `transient.timeout`?"
    );
}

/// Returns the identity of `hr.create` in a catalog: the hash of its address and credentials, keyed with one byte.
fn identity(catalog: &Catalog, key: u8) -> [u8; 32] {
    let mut identity = Identity::new(&[key; 32]);
    let tool = catalog.tool("hr", "create").unwrap();
    tool.transport.identify(&mut identity);
    identity.hash()
}

#[test]
fn a_tool_is_another_one_elsewhere_and_with_other_credentials() {
    let of = |address: &str, token: Option<&str>| {
        let mut app = app(address);
        if let Some(token) = token {
            let header = format!("Bearer {token}").parse().unwrap();
            app.headers.insert("authorization", header);
        }
        let mut catalog = net(address);
        catalog.add_app(&app, &ProjectLimit::default());
        catalog
    };
    let place = "127.0.0.1:1";
    let own = of(place, Some("one"));
    assert_eq!(identity(&own, 1), identity(&of(place, Some("one")), 1));
    for other in [
        of(place, Some("two")),
        of(place, None),
        of("127.0.0.1:2", Some("one")),
    ] {
        assert_ne!(identity(&own, 1), identity(&other, 1));
    }
    // Without the key, the credentials cannot be derived from the hash.
    assert_ne!(identity(&own, 1), identity(&own, 2));
}
