//! The mock of app tools over real HTTP, with the numbers of the original system.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use planrun_lang::call::Answer as Answered;
use planrun_lang::types::{Contract, Effect, Parameter, Signature, Type, decode, from_schema};
use planrun_lang::value::Value;
use planrun_tools::host::{Host, MemoryHost, RealHost};
use planrun_tools::mock::{MockOptions, MockServer};
use planrun_tools::project::Project;
use planrun_tools::tools::Request;
use planrun_tools::tools::app::{App, AppTool, load_apps};
use reqwest::header::HeaderMap;
use serde_json::{Value as Json, json};

/// Returns a tool with these required string arguments, this `mock:` section and this schema of its result.
fn tool(
    app: &str,
    name: &str,
    required: &[&str],
    mock: Option<Json>,
    returns: Option<&Json>,
) -> AppTool {
    let parameter = |name: &&str| Parameter {
        name: (*name).into(),
        ty: Type::String,
        required: true,
        description: Some(format!("the {name}").into()),
        schema: Some(Arc::new(Contract::of_arguments(
            json!({"type": "string", "title": name.to_uppercase()}),
        ))),
        default: None,
    };
    let properties: serde_json::Map<String, Json> = required
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                json!({"type": "string", "maxLength": 20}),
            )
        })
        .collect();
    let signature = Signature {
        parameters: required.iter().map(parameter).collect(),
        returns: returns.map_or(Type::Any, from_schema),
        effect: Effect::Effect,
        effect_declared: true,
        raises: vec!["failed".into()],
        input_schema: Some(Arc::new(Contract::of_arguments(
            json!({"type": "object", "properties": properties, "required": required}),
        ))),
        output_schema: returns
            .cloned()
            .map(|schema| Arc::new(Contract::of_result(schema))),
        ..Signature::unknown(app.into(), name.into())
    };
    AppTool {
        signature: Arc::new(signature),
        endpoint: "http://127.0.0.1:8009/tool".into(),
        unset: None,
        rest: None,
        errors: Vec::new(),
        mock,
    }
}

fn app(name: &str, tools: Vec<AppTool>) -> App {
    let file = format!("apps/{name}.yaml").into();
    let (headers, credentials) = Default::default();
    App {
        name: name.into(),
        display_name: None,
        system_context: None,
        file,
        tools,
        headers,
        unset: None,
        credentials,
    }
}

async fn start(tools: Vec<AppTool>) -> MockServer {
    MockServer::start(
        &[app("access", tools)],
        MockOptions::default(),
        Arc::new(RealHost),
    )
    .await
    .unwrap()
}

async fn grant_access(options: MockOptions) -> MockServer {
    let mock = json!({"card_no": "CARD-{args.emp_id}"});
    let apps = [app(
        "access",
        vec![tool(
            "access",
            "grant_access",
            &["emp_id", "name"],
            Some(mock),
            None,
        )],
    )];
    MockServer::start(&apps, options, Arc::new(RealHost))
        .await
        .unwrap()
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Json,
}

async fn send(server: &MockServer, path: &str, body: &str, key: Option<&str>) -> Answer {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://{}{path}", server.address());
    let mut request = if body.is_empty() {
        client.get(url)
    } else {
        client.post(url).body(body.to_owned())
    };
    if let Some(key) = key {
        request = request.header("Idempotency-Key", key);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    Answer {
        status,
        headers,
        body: serde_json::from_str(&text).unwrap_or(Json::String(text)),
    }
}

async fn call(server: &MockServer, tool: &str, args: Json) -> Json {
    send(
        server,
        "/tool",
        &json!({"tool": tool, "args": args}).to_string(),
        None,
    )
    .await
    .body
}

fn will() -> Json {
    json!({"emp_id": "WZ001", "name": "will zhang"})
}

#[tokio::test]
async fn s3_21_the_first_calls_fail_as_configured_and_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("mock_tool_result.log");
    let server = grant_access(MockOptions {
        log: Some(log.clone()),
        ..MockOptions::default()
    })
    .await;
    let configured = send(
        &server,
        "/configure_failures",
        r#"{"failures": {"grant_access": 3}}"#,
        None,
    )
    .await
    .body;
    assert_eq!(
        configured,
        json!({"message": "Failure configuration updated", "config": {"grant_access": 3}})
    );
    for attempt in 1..=3 {
        let error = format!("Mock failure for grant_access (attempt {attempt}/3)");
        assert_eq!(
            call(&server, "grant_access", will()).await,
            json!({"success": false, "error": error})
        );
    }
    let answer = call(&server, "grant_access", will()).await;
    assert_eq!(answer["data"]["card_no"], "CARD-WZ001");
    assert_eq!(
        answer["message"],
        "Mock tool 'grant_access' executed and logged."
    );

    let lines: Vec<Json> = std::fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[2]["attempt"], 3);
    assert_eq!(lines[2]["status"], "failed");
    assert_eq!(
        lines[2]["error"],
        "Mock failure for grant_access (attempt 3/3)"
    );
    let names: Vec<&String> = lines[3].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "timestamp",
            "tool",
            "args",
            "source",
            "success",
            "attempt",
            "status"
        ]
    );
    assert_eq!(
        (&lines[3]["source"], &lines[3]["success"]),
        (&json!("mock_api"), &json!(true))
    );
    assert_eq!(lines[3]["args"], will());
    assert_eq!(server.calls().len(), 4);
    server.shutdown().await;
}

#[tokio::test]
async fn s3_22_configuring_replaces_the_map_and_counts_anew() {
    let failures = [("grant_access".to_owned(), 6)].into();
    let server = grant_access(MockOptions {
        failures,
        ..MockOptions::default()
    })
    .await;
    for _ in 0..6 {
        assert_eq!(
            call(&server, "grant_access", will()).await["success"],
            false
        );
    }
    let reset = send(&server, "/reset_failures", "{}", None).await.body;
    assert_eq!(reset, json!({"message": "Failure configuration reset"}));
    assert_eq!(call(&server, "grant_access", will()).await["success"], true);
    assert_eq!(server.calls().len(), 7);
    assert_eq!(server.calls()[6].attempt, 1);
    send(
        &server,
        "/configure_failures",
        r#"{"failures": {"grant_access": 1}}"#,
        None,
    )
    .await;
    assert_eq!(
        call(&server, "grant_access", will()).await["success"],
        false
    );
    assert_eq!(
        send(&server, "/configure_failures", "[]", None)
            .await
            .status,
        400
    );
    let misspelt = r#"{"failures": {"grant_acess": 1}}"#;
    let refused = send(&server, "/configure_failures", misspelt, None).await;
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .body
            .to_string()
            .contains("no app has a tool named `grant_acess`; did you mean `grant_access`?"),
        "{:?}",
        refused.body
    );
    assert_eq!(
        call(&server, "grant_access", will()).await["success"],
        true,
        "the count goes on"
    );
}

#[tokio::test]
async fn s3_25_missing_and_empty_arguments_are_asked_for() {
    let server = grant_access(MockOptions::default()).await;
    let answer = call(&server, "grant_access", json!({"emp_id": ""})).await;
    let expected = json!({
        "success": false, "reason": "missing_params",
        "required_params": {
            "emp_id": {"type": "input", "label": "EMP_ID", "description": "the emp_id", "required": true},
            "name": {"type": "input", "label": "NAME", "description": "the name", "required": true}},
        "error": "Missing required parameters: emp_id, name"});
    assert_eq!(answer, expected);
    let long = json!({"emp_id": "x".repeat(21), "name": "n"});
    assert_eq!(
        call(&server, "grant_access", long).await["reason"],
        "invalid_params"
    );
}

#[tokio::test]
async fn cases_are_tried_in_order() {
    let cases = json!([
        {"when": {"emp_id": "A"}, "fail": {"reason": "blocked", "error": "{args.emp_id} is blocked"}},
        {"status": 503, "retry_after": 1, "times": 1},
        {"data": {"n": 1}, "times": 2, "delay": "60ms"},
        {"when": {"name": "last"}, "data": ["{args.name}"], "message": "hello"},
    ]);
    let server = start(vec![tool(
        "access",
        "grant",
        &["emp_id", "name"],
        Some(cases),
        None,
    )])
    .await;
    let blocked = call(&server, "grant", json!({"emp_id": "A", "name": "x"})).await;
    assert_eq!(
        blocked,
        json!({"success": false, "error": "A is blocked", "reason": "blocked"})
    );
    let body = json!({"tool": "grant", "args": {"emp_id": "B", "name": "x"}}).to_string();
    let busy = send(&server, "/tool", &body, None).await;
    assert_eq!(
        (busy.status, &busy.headers["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    for _ in 0..2 {
        let start = Instant::now();
        assert_eq!(
            call(&server, "grant", will()).await["data"],
            json!({"n": 1})
        );
        assert!(start.elapsed() >= Duration::from_millis(60));
    }
    let last = call(&server, "grant", json!({"emp_id": "B", "name": "last"})).await;
    assert_eq!(
        last,
        json!({"success": true, "data": ["last"], "message": "hello"})
    );
    assert_eq!(call(&server, "grant", will()).await["reason"], "no_mock");
}

#[tokio::test]
async fn a_key_is_answered_once() {
    let cases = json!([{"status": 503, "times": 1}, {"data": 1, "times": 1}, {"data": 2}]);
    let server = start(vec![tool("access", "grant", &["name"], Some(cases), None)]).await;
    let body = |name: &str| json!({"tool": "grant", "args": {"name": name}}).to_string();
    let turned_away = send(&server, "/tool", &body("a"), Some("k")).await;
    assert_eq!(turned_away.status, 503);
    for _ in 0..3 {
        assert_eq!(
            send(&server, "/tool", &body("a"), Some("k")).await.body["data"],
            1
        );
    }
    assert_eq!(
        send(&server, "/tool", &body("b"), Some("k")).await.body["reason"],
        "key_reused"
    );
    assert_eq!(
        send(&server, "/tool", &body("a"), Some("other")).await.body["data"],
        2
    );
    assert_eq!(server.calls().len(), 3, "a repetition is no call");
}

#[tokio::test]
async fn without_a_mock_data_is_made_up_from_the_schema() {
    let schema = json!({"type": "object", "required": ["emp_id", "level"], "properties": {
        "emp_id": {"type": "string"}, "level": {"enum": ["L1", "L2"]}, "count": {"type": "integer", "minimum": 3}}});
    let tools = || {
        vec![
            tool("access", "grant", &["emp_id"], None, Some(&schema)),
            tool("access", "bare", &[], None, None),
        ]
    };
    let (one, other) = (start(tools()).await, start(tools()).await);
    let asked = json!({"emp_id": "WZ001"});
    let data = call(&one, "grant", asked.clone()).await["data"].clone();
    assert_eq!(data["emp_id"], "WZ001");
    assert!(
        planrun_lang::types::Validator::new(&schema)
            .unwrap()
            .is_valid(&data),
        "{data}"
    );
    assert_eq!(
        call(&other, "grant", asked).await["data"],
        data,
        "equal for equal seeds"
    );
    assert_eq!(call(&one, "bare", json!({})).await["data"], Json::Null);
}

#[tokio::test]
async fn the_address_tells_apps_with_equal_tools_apart() {
    let apps = ["hr", "人事"].map(|name| {
        app(
            name,
            vec![tool(name, "query", &[], Some(json!(name)), None)],
        )
    });
    let server = MockServer::start(&apps, MockOptions::default(), Arc::new(RealHost))
        .await
        .unwrap();
    assert_eq!(call(&server, "query", json!({})).await["data"], "hr");
    let endpoint = server.endpoint("人事");
    let path = endpoint
        .strip_prefix(&format!("http://{}", server.address()))
        .unwrap();
    let answer = send(&server, path, r#"{"tool": "query"}"#, None).await;
    assert_eq!(answer.body["data"], "人事");
    let unknown = call(&server, "qury", json!({})).await;
    assert_eq!(
        unknown["error"],
        "no app has a tool qury; did you mean query?"
    );
}

#[tokio::test]
async fn hostile_requests_are_answered() {
    let server = grant_access(MockOptions::default()).await;
    assert_eq!(
        send(&server, "/health", "", None).await.body["status"],
        "healthy"
    );
    for body in [
        "{",
        "[]",
        r#"{"tool": 3}"#,
        r#"{"tool": "x", "args": []}"#,
        &"[".repeat(10_000),
    ] {
        assert_eq!(send(&server, "/tool", body, None).await.status, 400);
    }
    assert_eq!(
        send(&server, "/tool", &"x".repeat(9 << 20), None)
            .await
            .status,
        413
    );
    assert_eq!(call(&server, "grant_access", will()).await["success"], true);
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let first = grant_access(MockOptions::default()).await;
    let options = MockOptions {
        bind: first.address(),
        ..MockOptions::default()
    };
    let taken = MockServer::start(&[], options, Arc::new(RealHost))
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(taken.starts_with(&first.address().to_string()), "{taken}");
    let log = Some("/no/such/folder/mock.log".into());
    let options = MockOptions {
        log,
        ..MockOptions::default()
    };
    assert!(
        MockServer::start(&[], options, Arc::new(RealHost))
            .await
            .is_err()
    );
    let broken = app(
        "hr",
        vec![tool(
            "hr",
            "query",
            &[],
            Some(json!([{"data": 1, "status": 503}])),
            None,
        )],
    );
    let error = MockServer::start(&[broken], MockOptions::default(), Arc::new(RealHost))
        .await
        .err()
        .unwrap();
    assert_eq!(
        error.to_string(),
        "apps/hr.yaml: mock of hr.query: case 1: `data` and `status` cannot be combined"
    );
}

#[tokio::test]
async fn stopping_waits_for_no_held_back_answer() {
    let server = start(vec![tool(
        "access",
        "slow",
        &[],
        Some(json!([{"data": 1, "delay": "30m"}])),
        None,
    )])
    .await;
    let url = format!("http://{}/tool", server.address());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let waiting = tokio::spawn(
        reqwest::Client::new()
            .post(url)
            .body(r#"{"tool": "slow"}"#)
            .send(),
    );
    tokio::time::sleep(Duration::from_millis(100)).await;
    let start = Instant::now();
    server.shutdown().await;
    assert!(start.elapsed() < Duration::from_secs(10));
    waiting.abort();
}

const HR: &str = r#"
name: 人事
tools:
  - name: create
    endpoint: ${MOCK_API_URL:http://127.0.0.1:1}/tool
    parameters:
      type: object
      properties:
        id: { type: string }
        level: { type: string, default: L1 }
        note: { type: string }
        request_key: { type: string }
      required: [id, level, request_key]
    returns: { type: object, properties: { emp_id: { type: string }, level: { type: string } }, required: [emp_id, level] }
    key: { argument: request_key, ttl: 1h }
    errors: [{ reason: taken, class: tool.taken }]
    mock:
      - when: { id: WZ000 }
        fail: { reason: taken, error: "{args.id} is taken" }
      - data: { emp_id: "{args.id}", level: "{args.level}" }
"#;

/// From an app file to its mock, through the catalog, as in `planrun run --mock`.
#[tokio::test]
async fn an_app_file_its_mock_and_its_transport_agree() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("apps")).unwrap();
    std::fs::write(folder.path().join("apps/hr.yaml"), HR).unwrap();
    std::fs::write(
        folder.path().join("apps/planner.yaml"),
        "app_name: planner\n",
    )
    .unwrap();
    let host: Arc<dyn Host> = Arc::new(RealHost);
    let plan = folder.path().join("a.plan");
    let (project, findings) = Project::load(host.as_ref(), Some(&plan), None).unwrap();
    assert_eq!(
        findings.len(),
        1,
        "the file without a name is told of, and the other loads"
    );
    assert_eq!(
        &*project.apps[0].tools[0].endpoint,
        "http://127.0.0.1:1/tool"
    );

    let server = MockServer::start(&project.apps, MockOptions::default(), host.clone())
        .await
        .unwrap();
    let catalog = project.catalog(&host, &Arc::default(), Some(&|app| server.endpoint(app)));
    let tool = catalog.tool("人事", "create").unwrap();
    let call = |id: &str, key: &str| {
        let arguments = Value::object([
            ("id", Value::from(id)),
            ("level", Value::from("L1")),
            ("note", Value::Null),
        ]);
        let signature = tool.signature.clone();
        let request = Request::new("step", signature, arguments, key);
        tool.transport.call(request).outcome()
    };
    for _ in 0..2 {
        let Answered::Json(json) = call("WZ001", "key-1").await.unwrap() else {
            panic!("apps answer in JSON")
        };
        let value = decode(&json, &tool.signature.returns).unwrap();
        assert_eq!(value.to_json_text(), r#"{"emp_id":"WZ001","level":"L1"}"#);
    }
    let error = call("WZ000", "key-2").await.unwrap_err();
    assert_eq!(
        (error.class.to_string().as_str(), error.message.as_str()),
        ("tool.taken", "人事.create: WZ000 is taken")
    );
    let arguments = json!({"id": "WZ001", "level": "L1", "request_key": "key-1"});
    assert_eq!(Json::Object(server.calls()[0].args.clone()), arguments);
    assert_eq!(
        server.calls().len(),
        2,
        "the repetition with the same key was not done again"
    );
}

#[test]
fn s3_2_variables_come_from_the_environment_or_their_default() {
    let endpoint = |host: &MemoryHost| {
        let loaded = load_apps(
            host,
            &["hr.yaml".into()],
            &BTreeSet::from(["MOCK_API_URL".to_owned()]),
        );
        loaded.apps[0].tools[0].endpoint.to_string()
    };
    let host = MemoryHost::default().with_file("hr.yaml", HR);
    assert_eq!(endpoint(&host), "http://127.0.0.1:1/tool");
    let host = host.with_variable("MOCK_API_URL", "http://10.0.0.7:80");
    assert_eq!(endpoint(&host), "http://10.0.0.7:80/tool");
}

/// A web page sends its own origin, or uses a host name that it has rebound to this address.
#[tokio::test]
async fn f26_no_page_of_another_place_calls_the_mock() {
    let server = grant_access(MockOptions::default()).await;
    let address = server.address();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = json!({"tool": "grant_access", "args": {"emp_id": "1", "name": "a"}}).to_string();
    let ask = |headers: &[(&'static str, String)]| {
        let request = client
            .post(format!("http://{address}/tool"))
            .body(body.clone());
        let add = |request: reqwest::RequestBuilder, (name, value): &(&'static str, String)| {
            request.header(*name, value)
        };
        let request = headers.iter().fold(request, add);
        async { request.send().await.unwrap().status().as_u16() }
    };
    let own = format!("http://{address}");
    assert_eq!(ask(&[]).await, 200);
    assert_eq!(ask(&[("origin", own)]).await, 200);
    assert_eq!(
        ask(&[("host", format!("localhost:{}", address.port()))]).await,
        200
    );
    for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        assert_eq!(ask(&[("origin", origin.to_owned())]).await, 403, "{origin}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example:80", "10.0.0.1"] {
        assert_eq!(ask(&[("host", host.to_owned())]).await, 403, "{host}");
    }
    assert_eq!(server.calls().len(), 3);
}
